"""The three-state example of Section 4.4, and the answers its closed form gives (proof of Theorem 4).

From s0 the action a1 leads to the good absorbing state s1 with probability 1-ε and otherwise to the bad
absorbing state s2, where a2 leads for certain. The learner's world has ε = 0, the expert's ε_E, so that
d_dyn = 2 ε_E. The expert is optimal: it always takes a1.
"""

import dataclasses

import numpy as np

from robustirl.envs.registry import Environment, register
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.mdp.mdp import require_discount


@dataclasses.dataclass(frozen=True, eq=False)
class ThreeState(Environment):
    """The example as an environment whose noise is ε.

    Example:
        >>> import jax.numpy as jnp
        >>> ThreeState().mdp(0.25).kernel.expect(jnp.array([0.0, 1.0, -1.0]))[0].tolist()
        [0.5, -1.0]
    """

    name: str = "three-state"
    discount: float = 0.9

    def __post_init__(self) -> None:
        require_discount(self.discount)

    @property
    def reward(self) -> np.ndarray:
        return np.array([0.0, 1.0, -1.0])

    @property
    def noise_models(self) -> tuple[str, ...]:
        return ("slip",)

    def mdp(self, noise: float = 0.0, noise_model: str | None = None) -> MDP:
        self.choose_noise_model(noise, noise_model)
        kernel = np.zeros((3, 2, 3))
        kernel[0, 0] = (0, 1 - noise, noise)
        kernel[0, 1] = (0, 0, 1)
        kernel[1, :, 1] = kernel[2, :, 2] = 1
        return MDP(kernel, discount=self.discount, initial=[1.0, 0.0, 0.0], **self._labels)

    def player_probability(self, expert_noise: float, alpha: float) -> float:
        """π_pl(a1|s0) = (1-ε_E)/α, the policy that robust MCE IRL learns; defined for α >= 1-ε_E."""
        if alpha < 1 - expert_noise:
            raise InvalidInputError(
                f"alpha {alpha!r} is below 1 - ε_E = {1 - expert_noise!r}: no player can match the expert's occupancy;"
                " choose a larger alpha."
            )
        return (1 - expert_noise) / alpha

    def performance_gap(self, expert_noise: float, alpha: float) -> float:
        """|V^{π_1} - V^{π_pl}| in the learner's world: 2γ/(1-γ) · (α - (1-ε_E))/α.

        It vanishes at α = 1-ε_E, and at α = 1 it is γ/(1-γ) · d_dyn (Theorem 4).
        """
        shortfall = 1 - self.player_probability(expert_noise, alpha)
        return 2 * self.discount / (1 - self.discount) * shortfall


register("three-state", ThreeState)
