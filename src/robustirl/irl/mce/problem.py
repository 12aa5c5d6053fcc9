"""What a fit is given, checked: the world, the occupancy, the reward model and the settings of the loop."""

import equinox as eqx
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from robustirl.irl.mce.certifiable import WORST_ERROR, WORST_ERROR_SINGLE
from robustirl.irl.mce.matching import Matching
from robustirl.irl.mce.objective import AbstractObjective
from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import Solution, Temperatures
from robustirl.rewards import AbstractReward
from robustirl.theory import AbstractUncertainty

DEFAULT_TOLERANCE = 1e-4  # Of the expert's mass in states that can be left.
STAYS = 1e-9  # A state from which no more than this leaves is never left.
LIKELIHOOD_TOLERANCE = 1e-9  # Of the gradient of the mean log-likelihood.
OCCUPANCY, LIKELIHOOD = "occupancy", "likelihood"
SMALLEST_HISTORY = 256
HISTORY_BYTES = 24  # An entry: two floats and an integer.


class Problem(eqx.Module):
    """What a fit is given; the arguments of `robustirl.irl.fit`, checked.

    Attributes:
        game: The learner's world and α.
        uncertainty: A set of kernels whose worst member takes the opponent's place, at α = 1; None for the game.
        expert: ρ, what is to be matched; for a likelihood the shares of the recorded choices, `[S, A]`.
        model: The reward model.
        tolerance: The gap at which the fit is finished,
        relative: or the share of the expert's mass in states that can be left; see `threshold`.
        keep_last: Return the last iterate instead of the one with the smallest gap.
        steps: The largest number of parameter updates.
        planner_tolerance: Accuracy of every planner call; None for the default.
        optimizer: What moves the parameters.
        capacity: How many entries the history has room for; more than `steps`.
        soft: Entropy weights of player and opponent, None for zero: that there is one is part of the program, its size
            is not; see `temperatures`.
        objective: What is minimized.
    """

    game: MarkovGame
    tolerance: Float[Array, "*batch"]  # Before `expert`: an `[S, A]` alone would pass for a batch of `[S]`.
    expert: Float[Array, "*batch S"] | Float[Array, "*batch S A"]
    model: AbstractReward
    relative: Bool[Array, "*batch"]
    keep_last: Bool[Array, "*batch"]
    steps: Int[Array, "*batch"]
    planner_tolerance: Float[Array, "*batch"] | None
    optimizer: optax.GradientTransformation = eqx.field(static=True)
    capacity: int = eqx.field(static=True)
    soft: tuple[Float[Array, "*batch"] | None, Float[Array, "*batch"] | None]
    uncertainty: AbstractUncertainty | None = None
    objective: AbstractObjective = eqx.field(default_factory=Matching)

    @property
    def temperatures(self) -> Temperatures:
        """Return the entropy weights of player and opponent: a zero as a number, others as arrays."""
        player, opponent = self.soft
        return Temperatures(0.0 if player is None else player, 0.0 if opponent is None else opponent)  # pyright: ignore

    @property
    def objective_name(self) -> str:
        """Return what is minimized, in one word."""
        return OCCUPANCY if isinstance(self.objective, Matching) else LIKELIHOOD

    def vouched(self, solution: Solution) -> Bool[Array, ""]:
        """Return whether a plan is exact enough for its policies to be relied on."""
        worst = WORST_ERROR if solution.value.dtype == jnp.float64 else WORST_ERROR_SINGLE
        player, _ = self.soft
        largest = jnp.inf if player is None else worst * player
        return solution.verdict.converged & (solution.verdict.error_bound <= largest)


def leavable_states(mdp: MDP) -> Bool[Array, " S"]:
    """Return the states that some available action leaves.

    They are all but those where an episode has ended for good.
    """
    return jnp.any((mdp.kernel.self_transitions() < 1 - STAYS) & mdp.mask, -1)


def threshold(problem: Problem) -> Float[Array, ""]:
    """Return the gap at which a fit is finished.

    By default it is a share of the expert's mass in states that can be left: in a world with an end and γ close to 1,
    nearly all mass is in the end, and a gap that is small beside 1 may be all that happens before.
    """
    visits = problem.expert if problem.expert.ndim == 1 else problem.expert.sum(-1)
    mass = jnp.where(leavable_states(problem.game.mdp), visits, 0).sum()
    return jnp.where(problem.relative, problem.tolerance * mass, problem.tolerance)


def history_capacity(steps: int) -> int:
    """Return the length of a history with room for `steps` updates.

    It is one of few lengths, since each is a compilation.

    Example:
        >>> history_capacity(0), history_capacity(200), history_capacity(256), history_capacity(5000)
        (256, 256, 1024, 16384)
    """
    capacity = SMALLEST_HISTORY
    while capacity <= steps:
        capacity *= 4
    return capacity
