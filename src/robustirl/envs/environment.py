"""What every finite environment offers: a true reward, and its world at any level of noise."""

import abc
import dataclasses

import numpy as np

from robustirl._runtime import ShortRepr, joined, short_value
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP


@dataclasses.dataclass(frozen=True, eq=False)
class Environment(ShortRepr, abc.ABC):
    """A family of worlds that share states, actions and true reward, and differ in their noise.

    The learner's world is `mdp(ε_L)` and the expert's `mdp(ε_E)`: the paper's mismatch (Section 5).
    """

    name: str

    def __repr__(self) -> str:
        return joined(type(self).__name__, [repr(self.name), *self._in_words()])

    def _in_words(self) -> list[str]:
        """Return what a repr says after the name: size, discount, noise models, if there are any."""
        shape, discount = getattr(self, "shape", None), getattr(self, "discount", None)
        words = [] if shape is None else [f"{shape[0]} × {shape[1]} cells"]
        words += [] if discount is None else [f"γ = {short_value(discount)}"]
        return [*words, f"noise: {' or '.join(self.noise_models)}"]

    @property
    @abc.abstractmethod
    def reward(self) -> np.ndarray:
        """Return the true reward R(s) `[S]`, or R(s,a) `[S, A]` where actions are paid for.

        It is known to the expert alone.
        """

    @property
    def features(self) -> np.ndarray | None:
        """Return reward features φ(s) `[S, d]` or φ(s,a) `[S, A, d]`; None means one-hot features."""
        return None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Return a name for each feature, if features have names."""
        return None

    @property
    def state_names(self) -> tuple[str, ...] | None:
        """Return the name of each state, by its number, if states have names."""
        return None

    @property
    def action_names(self) -> tuple[str, ...] | None:
        """Return the name of each action, by its number, if actions have names."""
        return None

    @property
    def layout(self) -> int:
        """Return the seed that this layout was drawn with, where layouts are random."""
        return 0

    @property
    def expert(self) -> str:
        """Return which expert the published runs have here: `soft` or `optimal`.

        See `planning.expert_policy`.
        """
        return "soft"

    @property
    def reward_model(self) -> str:
        """Return what the reward is learned with here: `tabular`, `linear` or `network`.

        The last two are models of the features.
        """
        return "tabular" if self.features is None else "linear"

    @property
    @abc.abstractmethod
    def noise_models(self) -> tuple[str, ...]:
        """Return the noise models this environment knows, its default first."""

    @abc.abstractmethod
    def mdp(self, noise: float = 0.0, noise_model: str | None = None) -> MDP:
        """Return the world at noise ε, in which policies are planned and demonstrations are made."""

    def evaluation_mdp(self, noise: float = 0.0, noise_model: str | None = None) -> MDP:
        """Return the world in which returns are measured.

        It is `mdp` itself, unless a noise model says otherwise.
        """
        return self.mdp(noise, noise_model)

    def choose_noise_model(self, noise: float, noise_model: str | None) -> str:
        """Return the noise model to use, after checking the request."""
        if isinstance(noise, bool) or not (isinstance(noise, int | float | np.number) and 0 <= noise <= 1):
            raise InvalidInputError(f"the noise is {noise!r}, but a probability between 0 and 1 is needed.")
        if noise_model is None:
            return self.noise_models[0]
        if noise_model not in self.noise_models:
            raise InvalidInputError(
                f"{self.name} has no noise model {noise_model!r}; choose one of {', '.join(self.noise_models)}."
            )
        return noise_model
