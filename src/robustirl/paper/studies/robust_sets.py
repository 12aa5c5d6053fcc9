"""IRL against sets of kernels beside Algorithm 1: returns, certified returns, and what they cost.

Algorithm 1 has an opponent whose moves are the learner's own. A robust MDP has a set of kernels in its place.
Inequality (7) says that the opponent is the weaker of the two. This study shows what that does to a policy, judged by
the true reward.
"""

import dataclasses
import time
from collections.abc import Iterator

import numpy as np

from robustirl import envs
from robustirl.irl import Fit, fit
from robustirl.mdp import MDP, absorbing_states, dynamics_distance
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.planning import discounted_return, expert_policy, state_occupancy
from robustirl.theory import as_uncertainty, certify


@dataclasses.dataclass(frozen=True)
class Row:
    """One way to learn, and what became of it.

    Attributes:
        method: The set, or Algorithm 1, or standard IRL.
        gap: The occupancy gap at the saddle point, which learning closes.
        player_gap: That of the player alone in the learner's world.
        nominal: The player's discounted return in the learner's world, true reward.
        worst: The lowest over the ℓ1 ball of the true distance; states that are never left are as they are.
        seconds: Of the fit, compiled.
    """

    method: str
    gap: float
    player_gap: float
    nominal: float
    worst: float
    seconds: float


def compare(learner: MDP, expert: MDP, reward: np.ndarray, steps: int) -> Iterator[Row]:
    """Learn in all ways from a soft expert of another world, given the worlds' true distance."""
    distance = float(dynamics_distance(learner, expert))
    rho = state_occupancy(expert, expert_policy(expert, reward, temperature=1.0))
    ends = absorbing_states(learner)[:, None]
    radius = np.where(ends, 0.0, np.full(np.asarray(learner.mask).shape, distance))

    def row(method: str, **options) -> Row:
        def learn(count: int) -> Fit:
            return fit(learner, rho, steps=count, throw=False, **options)

        learn(1)  # Compiles.
        begun = time.perf_counter()
        found = learn(steps)
        seconds = time.perf_counter() - begun
        certificate = certify(learner, found.player, reward, radius=radius)
        return Row(
            method,
            float(found.verdict.occupancy_gap),
            float(found.diagnosis.player_gap),
            float(certificate.nominal_return),
            float(certificate.worst_return),
            seconds,
        )

    yield row("standard, α = 1", alpha=1.0)
    yield row("Algorithm 1, α = 1 - d/2", alpha=1 - distance / 2)
    yield row("ℓ1 ball, d", uncertainty=as_uncertainty(learner, radius=radius))
    # Pinsker's inequality: within the relative entropy d²/2 a row moves by at most d in ℓ1.
    yield row("KL ball, d²/2", uncertainty=as_uncertainty(learner, radius=radius**2 / 2, kind="kl"))
    yield row("shared ℓ1 budget, d", uncertainty=as_uncertainty(learner, radius=radius, kind="shared"))


HEADINGS = ("learned against", "occupancy gap", "player's gap", "return", "worst return within d", "seconds")


@register_study("robust-sets")
@dataclasses.dataclass(frozen=True)
class RobustSetsStudy:
    """Compare IRL against ℓ1, KL and s-rectangular sets of kernels with Algorithm 1."""

    environment: str = "gridworld-4"
    """Which environment."""
    learner_noise: float = 0.05
    """The learner's noise."""
    expert_noises: tuple[float, ...] = (0.1, 0.2)
    """The expert's noises."""
    steps: int = 200
    """Parameter updates of a fit."""

    def run(self, frame: Frame) -> None:
        """Write a table for every noise of the expert."""
        env = envs.make(self.environment)
        learner, reward = env.mdp(self.learner_noise), np.asarray(env.reward)
        best = float(discounted_return(learner, expert_policy(learner, reward, temperature=0), reward))
        for done, noise in enumerate(self.expert_noises):
            frame.progress("noises of the expert", done, len(self.expert_noises))
            expert = env.mdp(noise)
            rows = list(compare(learner, expert, reward, self.steps))
            distance = float(dynamics_distance(learner, expert))
            title = (
                f"{env.name}, noises {self.learner_noise:g} and {noise:g}, d = {distance:.3g}, best return {best:.4g}"
            )
            cells = ((row.method, *(f"{value:.4g}" for value in dataclasses.astuple(row)[1:])) for row in rows)
            frame.write_table(f"robust-sets-{noise:g}", HEADINGS, cells, title)
