r"""Learn a reward and what is unknown of the dynamics at once, by the full likelihood.

The probability of what was recorded is that of the choices times that of their outcomes. Rust (1987) maximizes both
together: the choices depend on the dynamics, too, because an agent that chooses looks ahead. `JointModel` puts a reward
model and a `MixtureDynamics` together, and is given to `fit` in place of a reward model.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from robustirl._check import as_floats
from robustirl._jax import DeviceModule, as_float
from robustirl.errors import InvalidInputError
from robustirl.mdp import MarkovGame
from robustirl.mdp.dense import DenseKernel
from robustirl.rewards import AbstractReward
from robustirl.types import AnyArray, ArrayLike, FloatTree


class MixtureDynamics(DeviceModule):
    r"""Dynamics T_ψ = Σ_j ψ_j K_j of known kernels K_j with unknown probabilities ψ_1, ..., ψ_J.

    The last probability is one less the others, so that J - 1 parameters are free.

    Args:
        kernels: `[J, S, A, S]`, K_j.
        outcomes: `[N]`, which of the J kernels moved the world, for every recorded choice.
        names: A name for each of the J - 1 free probabilities.

    Example:
        >>> stay, move = [[[1.0, 0.0]], [[0.0, 1.0]]], [[[0.0, 1.0]], [[0.0, 1.0]]]
        >>> drift = MixtureDynamics([stay, move], outcomes=[0, 1, 1, 1])
        >>> drift.initial_parameters().tolist(), drift.kernel(jnp.array([0.25])).probabilities[0].tolist()
        ([0.25], [[0.25, 0.75]])
    """

    kernels: Float[Array, "J S A S"]
    counts: Float[Array, " J"]
    outcomes: Int[np.ndarray, " N"] = eqx.field(converter=np.asarray)
    names: tuple[str, ...] = eqx.field(static=True)

    def __init__(self, kernels: ArrayLike, outcomes: ArrayLike, names: Sequence[str] | None = None):
        array = as_floats("the array of kernels", kernels)
        if array.ndim != 4 or array.shape[1] != array.shape[3] or len(array) < 2:
            raise InvalidInputError(
                f"the array of kernels has shape {array.shape}, but (J, S, A, S) is needed with at least two kernels."
            )
        for kernel in array:
            DenseKernel(kernel)  # Refuses rows that are not distributions.
        which = np.asarray(outcomes)
        if which.dtype.kind not in "iu" or which.ndim != 1 or not which.size:
            raise InvalidInputError("the outcomes are no row of whole numbers; give one for every recorded choice.")
        beyond = (which < 0) | (which >= len(array))
        if beyond.any():
            row = int(np.argmax(beyond))
            raise InvalidInputError(
                f"row {row} of the outcomes is {int(which[row])}, which none of the {len(array)} kernels explains;"
                " its probability would be zero. Correct the row, or add a kernel."
            )
        counts = np.bincount(which, minlength=len(array))
        if not counts.all():
            raise InvalidInputError(
                f"outcome {int(np.argmin(counts))} never occurs, so that its probability cannot be told from zero;"
                " leave its kernel out."
            )
        self.kernels, self.counts, self.outcomes = as_float(array), as_float(counts), which
        given = tuple(f"probability[{j}]" for j in range(len(array) - 1)) if names is None else tuple(names)
        if len(given) != len(array) - 1:
            raise InvalidInputError(f"{len(given)} names were given for {len(array) - 1} free probabilities.")
        self.names = given

    def initial_parameters(self) -> Float[Array, " parameters"]:
        """Return the shares of the outcomes, the maximum of their own likelihood."""
        return self.counts[:-1] / self.counts.sum()

    def probabilities(self, parameters: Float[AnyArray, " parameters"]) -> Float[Array, " J"]:
        """Return ψ, the last one included."""
        return jnp.append(parameters, 1 - parameters.sum())

    def kernel(self, parameters: Float[AnyArray, " parameters"]) -> DenseKernel:
        """Return T_ψ."""
        return DenseKernel(jnp.tensordot(self.probabilities(parameters), self.kernels, 1))


class JointModel(AbstractReward):
    """A reward model and dynamics that are learned together.

    The parameters are those of both, in this order.

    Attributes:
        reward: The reward model.
        dynamics: What is unknown of the world; its kernel takes the place of the kernel of the world given to `fit`.

    Example:
        >>> from robustirl.rewards import TabularReward
        >>> stay, move = [[[1.0, 0.0]], [[0.0, 1.0]]], [[[0.0, 1.0]], [[0.0, 1.0]]]
        >>> model = JointModel(TabularReward(2), MixtureDynamics([stay, move], outcomes=[0, 1], names=["stays"]))
        >>> model.parameter_names()
        ('reward[0]', 'reward[1]', 'stays')
    """

    reward: AbstractReward
    dynamics: MixtureDynamics

    def initial_parameters(self) -> tuple[FloatTree, Float[Array, " parameters"]]:
        return self.reward.initial_parameters(), self.dynamics.initial_parameters()

    def __call__(self, parameters: FloatTree) -> Float[Array, " S"] | Float[Array, "S A"]:
        return self.reward(parameters[0])

    def parameter_names(self) -> tuple[str, ...]:
        return (*self.reward.parameter_names(), *self.dynamics.names)

    def game(self, game: MarkovGame, parameters: FloatTree) -> MarkovGame:
        """Return the game with the dynamics of these parameters."""
        return eqx.tree_at(lambda g: g.mdp.kernel, game, self.dynamics.kernel(parameters[1]))

    def further_log_likelihood(self, parameters: FloatTree) -> Float[Array, ""]:
        """Return the mean log-probability of a recorded outcome."""
        counts = self.dynamics.counts
        return counts @ jnp.log(self.dynamics.probabilities(parameters[1])) / counts.sum()

    def further_scores(self, parameters: FloatTree) -> Float[Array, "N d"]:
        """Return the derivative of the log-probability of every recorded outcome in all parameters."""
        by_outcome = jax.jacfwd(lambda psi: jnp.log(self.dynamics.probabilities(psi)))(parameters[1])
        before = sum(leaf.size for leaf in jax.tree.leaves(parameters[0]))
        return jnp.pad(by_outcome, ((0, 0), (before, 0)))[self.dynamics.outcomes]
