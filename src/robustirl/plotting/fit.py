"""What one fit has learned: reward, player and occupancies, as maps where the world is a grid."""

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from robustirl.envs import Environment, GridWorld
from robustirl.irl import RobustIRL
from robustirl.plotting.arrows import MAX_ARROWS, draw_moves
from robustirl.plotting.layouts import layout_of
from robustirl.plotting.maps import bare, landmarks, occupancy_bar, scaled
from robustirl.plotting.style import ROBUST, STANDARD, STYLE, plain_text


def figure_fit(environment: Environment, model: RobustIRL, player_occupancy: Float[np.ndarray, " S"]) -> Figure:
    """Draw the learned reward, the player's moves, and occupancies of expert, mixture, player.

    Args:
        environment: Where the learner's world comes from; its shape is used, and its reward is not.
        model: What was learned.
        player_occupancy: `[S]`, ρ of the player alone in the learner's world.
    """
    occupancies = (
        ("expert's occupancy", np.asarray(model.expert_occupancy_)),
        ("mixture's", np.asarray(model.occupancy_)),
        ("player's", player_occupancy),
    )
    shape = getattr(environment, "shape", None)
    with matplotlib.rc_context(STYLE):
        if shape is None:
            figure = _by_state(collected_reward(model), occupancies)
        else:
            figure = _maps(environment, shape, model, occupancies)
        figure.suptitle(rf"{plain_text(environment.name)}, α = {_alpha(model)}", fontsize=11)
    return figure


def collected_reward(model: RobustIRL) -> Float[np.ndarray, " S"]:
    """Return what the player collects in each state: R(s), or Σ_a π(a|s) R(s,a).

    The second is for a reward of states and actions.
    """
    reward = np.asarray(model.reward_)
    return reward if reward.ndim == 1 else (np.asarray(model.policy_) * reward).sum(1)


def _maps(environment: Environment, shape: tuple[int, int], model: RobustIRL, occupancies) -> Figure:
    cells = shape[0] * shape[1]
    figure = Figure(figsize=(12.4, 3.7), layout=ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.06))
    axes = figure.subplots(1, 4)
    bare(axes[0], "learned reward and player's moves")
    scaled(axes[0], collected_reward(model)[:cells].reshape(shape), "cividis")
    if cells <= MAX_ARROWS:
        policy = np.asarray(model.policy_)
        draw_moves(axes[0], policy[:cells], layout_of(environment, len(policy), shape).directions(), shape)
    ceiling = max(float(values[:cells].max()) for _, values in occupancies)
    norm = LogNorm(vmin=ceiling * 1e-4, vmax=ceiling)
    expert = occupancies[0][1]
    for axis, (title, values) in zip(axes[1:], occupancies, strict=True):
        apart = np.abs(values - expert).sum()
        bare(axis, title if values is expert else f"{title}\n" + r"ℓ₁ from the expert's: " + f"{apart:.3f}")
        axis.imshow(np.maximum(values[:cells], ceiling * 1e-4).reshape(shape), cmap="viridis", norm=norm)
    if isinstance(environment, GridWorld):
        landmarks(axes[0], environment)
        for axis in axes[1:]:
            landmarks(axis, environment, "#ffffff")
    occupancy_bar(figure, norm, axes[1:])
    return figure


def _by_state(reward: np.ndarray, occupancies) -> Figure:
    """Draw numbers by state, for worlds that are no grid."""
    figure = Figure(figsize=(9.0, 5.2), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    states = np.arange(len(reward))
    top.vlines(states, 0, reward, color=STANDARD, linewidth=0.8)
    top.axhline(0, color="#999999", linewidth=0.6)
    top.set_ylabel("learned reward")
    looks = zip((STANDARD, ROBUST[1], ROBUST[3]), "o+x", occupancies, strict=True)
    for color, marker, (title, values) in looks:
        bottom.plot(states, values, marker, color=color, markersize=4, fillstyle="none", label=title)
    bottom.set_yscale("symlog", linthresh=1e-4)
    bottom.set_ylabel("occupancy")
    bottom.set_xlabel("state")
    bottom.legend(fontsize=8)
    return figure


def _alpha(model: RobustIRL) -> str:
    """Return α as text: a number, or its range where it differs by state and action."""
    alpha = np.asarray(model.alpha_)
    smallest, largest = float(alpha.min()), float(alpha.max())
    return f"{smallest:.4g}" if smallest == largest else f"{smallest:.4g}-{largest:.4g}"
