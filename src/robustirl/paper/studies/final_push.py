"""Where an opponent's push is final, and where it teaches caution: the tables of docs/demonstrations.md, exactly.

On FrozenLake a slipping expert waits beside a hole. Against an opponent every waiting step is a push into the hole with
probability 1-α, so that from some α on no player can wait as long as the expert did. On CliffWalking the opponent's
pushes keep the player off the edge. From exact occupancies, without sampling.
"""

import dataclasses

import jax.numpy as jnp
import numpy as np

from robustirl import envs
from robustirl.irl import PAPER_SETTINGS, Fit, fit_many
from robustirl.mdp import MDP
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.planning import discounted_return, expert_policy, state_occupancy, total_return
from robustirl.theory import closest_occupancy

WAITING = (47, 55)  # The cells (5, 7) and (6, 7) of the 8x8 lake, beside a hole.
CLIFF = np.arange(37, 47)
LAKE_ALPHAS = (1.0, 0.98, 0.95, 0.92, 0.91, 0.9, 0.8)
CLIFF_ALPHAS = (1.0, 0.95, 0.9, 0.8, 0.7)
HORIZON = 1000


def against(world: MDP, fit: Fit) -> MDP:
    """Return the player's world when the fit's opponent keeps its policy: α T + (1-α) T_op."""
    pushed = world.kernel.policy_matrix(fit.opponent)[:, None, :]
    kernel = fit.alpha * world.kernel.to_array() + (1 - fit.alpha) * pushed
    return MDP(kernel, discount=world.discount, initial=world.initial, mask=world.mask)


def frozen_lake(slip: float, alphas: tuple[float, ...] = LAKE_ALPHAS) -> list[dict[str, float]]:
    """Return what each α reaches on the lake, and what any player could.

    The expert slips, and the learner does not.
    """
    env = envs.make("frozen-lake-8x8")
    learner, expert, reward = env.mdp(0.0, "slip"), env.mdp(slip, "slip"), jnp.asarray(env.reward)
    rho = state_occupancy(expert, expert_policy(expert, reward, kind="optimal"))
    there = jnp.zeros(learner.num_states).at[jnp.array(WAITING)].set(1.0)
    rows = []
    for fit in fit_many([learner] * len(alphas), [rho] * len(alphas), alphas, throw=False, **PAPER_SETTINGS):
        game = against(learner, fit)
        rows.append(
            {
                "slip": slip,
                "alpha": float(fit.alpha),
                "return": float(total_return(learner, fit.player, reward)),
                "gap": float(fit.verdict.occupancy_gap),
                "smallest gap": closest_occupancy(game, rho).gap,
                "expert waits": float(rho @ there / (1 - learner.discount)),
                "longest wait": float(discounted_return(game, expert_policy(game, there, kind="optimal"), there)),
            }
        )
    return rows


def cliff_walking(wind: float, alphas: tuple[float, ...] = CLIFF_ALPHAS) -> list[dict[str, float]]:
    """Return a calm expert, a learner in the wind: returns, and falls an episode."""
    env = envs.make("cliff-walking")
    learner, expert, reward = env.mdp(wind, "wind"), env.mdp(0.0, "wind"), jnp.asarray(env.reward)
    rho = state_occupancy(expert, expert_policy(expert, reward, kind="optimal"))
    fallen = jnp.zeros(learner.num_states).at[CLIFF].set(1.0)
    fits = fit_many([learner] * len(alphas), [rho] * len(alphas), alphas, throw=False, **PAPER_SETTINGS)
    return [
        {
            "wind": wind,
            "alpha": float(fit.alpha),
            "return": float(total_return(learner, fit.player, reward)),
            "falls": float(total_return(learner, fit.player, fallen, horizon=HORIZON)),
        }
        for fit in fits
    ]


@register_study("final-push")
@dataclasses.dataclass(frozen=True)
class FinalPushStudy:
    """Show where an opponent's push is final (FrozenLake) or teaches caution (CliffWalking)."""

    slips: tuple[float, ...] = (0.2, 0.4)
    """The expert's slip on the lake; the learner does not slip."""
    winds: tuple[float, ...] = (0.1, 0.2, 0.4)
    """The learner's wind on the cliff; the expert has none."""

    def run(self, frame: Frame) -> None:
        """Write both tables."""
        tables = {
            "frozen-lake": [lambda slip=slip: frozen_lake(slip) for slip in self.slips],
            "cliff-walking": [lambda wind=wind: cliff_walking(wind) for wind in self.winds],
        }
        for name, parts in tables.items():
            rows: list[dict[str, float]] = []
            for done, part in enumerate(parts):
                frame.progress(name, done, len(parts))
                rows += part()
            cells = ([f"{value:.4g}" for value in row.values()] for row in rows)
            frame.write_table(name, list(rows[0]) if rows else [], cells, name)
