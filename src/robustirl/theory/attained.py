r"""A shortfall that does occur: the inner side of `robustirl.theory.guarantee`.

For an occupancy ρ_E that a policy has in the learner's own world and that the demonstrations allow, the rewards it is
optimal for, within ε, are a polytope by duality (`guarantee_program.py` with κ = 0), and for an occupancy ρ of the
learner's policy in some world of the radius

    max_R ⟨ρ_E - ρ, R⟩

is a linear program. Its reward explains the expert, with T^E = T. For the next reward ρ becomes the occupancy in the
worst world for this one, which only raises the shortfall. Each of them is attained; none is claimed to be the largest.
"""

import numpy as np
from jaxtyping import Float

from robustirl.errors import InvalidInputError
from robustirl.theory.guarantee_program import ExpertRegion, LearnerRegion
from robustirl.theory.linear_program import DIGITS, Rows, largest
from robustirl.theory.reachable import Surroundings

ROUNDS = 3


def attained_shortfall(
    around: Surroundings,
    learner: LearnerRegion,
    expert: ExpertRegion,
    reward: Float[np.ndarray, " S"],
    suboptimality: float,
) -> float | None:
    """Return a shortfall that occurs, from a reward to begin with.

    It is None if the learner's world has no such expert.
    """
    best = None
    for _ in range(ROUNDS):
        chosen = _favorite(around, expert, reward)
        if chosen is None:
            return best
        against = around.lowest_return(learner.policy, reward).occupancy
        reward = _explaining(around, chosen, chosen - against, suboptimality)
        found = float(chosen @ reward - around.lowest_return(learner.policy, reward).occupancy @ reward)
        if best is not None and found <= best + DIGITS:
            return best
        best = found
    return best


def _favorite(
    around: Surroundings, expert: ExpertRegion, reward: Float[np.ndarray, " S"]
) -> Float[np.ndarray, " S"] | None:
    """Return the occupancy of the learner's world that earns most.

    Only those within the error of the demonstrations are considered.
    """
    program, owner, moves = _world(around)
    count = len(around.start)
    program.variable("off", count)
    one = np.eye(count)
    program.equal.append(({"x": owner - around.discount * moves.T}, (1 - around.discount) * around.start))
    program.below += [
        ({"x": owner, "off": -one}, expert.occupancy + DIGITS / count),
        ({"x": -owner, "off": -one}, DIGITS / count - expert.occupancy),
        ({"off": np.ones((1, count))}, np.array([expert.error])),
        ({"x": owner}, expert.upper + DIGITS / count),
        ({"x": -owner}, DIGITS / count - expert.lower),
    ]
    try:
        _, variables = largest(program, {"x": owner.T @ reward})
    except InvalidInputError:
        return None  # The expert's world is not the learner's.
    return owner @ variables["x"]


def _explaining(
    around: Surroundings,
    occupancy: Float[np.ndarray, " S"],
    direction: Float[np.ndarray, " S"],
    suboptimality: float,
) -> Float[np.ndarray, " S"]:
    """Return the reward with the largest ⟨direction, R⟩ for which an occupancy is optimal."""
    program, owner, moves = _world(around)
    count = len(around.start)
    program.variable("reward", count, high=1.0)
    program.variable("value", count)
    slack = suboptimality + DIGITS  # The occupancy is one of this world up to the solver's tolerance.
    program.below += [
        ({"reward": owner.T, "value": around.discount * moves - owner.T}, np.zeros(len(moves))),
        ({"value": (1 - around.discount) * around.start[None], "reward": -occupancy[None]}, np.array([slack])),
    ]
    return largest(program, {"reward": direction})[1]["reward"]


def _world(around: Surroundings) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Return an empty program with the measure x(s,a), the state of each pair, and its row.

    The states are `[S, n]` and the rows `[n, S]`.
    """
    program, pairs = Rows(), np.argwhere(around.mask)
    program.variable("x", len(pairs))
    owner = np.zeros((len(around.start), len(pairs)))
    owner[pairs[:, 0], np.arange(len(pairs))] = 1
    return program, owner, around.rows[around.mask]
