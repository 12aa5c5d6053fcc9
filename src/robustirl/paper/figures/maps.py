"""What was learned in one cell of a figure, standard and robust, beside the truth."""

import matplotlib
import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from robustirl.envs import GridWorld
from robustirl.plotting import STYLE, bare, draw_policy, draw_reward_map, landmarks, occupancy_bar, plain_text, scaled
from robustirl.sweeps import RunResult


def figure_maps(environment: GridWorld, standard: RunResult, robust: RunResult, note: str = "") -> Figure:
    """Draw what was learned in one cell of a figure, standard and robust, beside the truth.

    Reward, policy, occupancy.
    """
    shape = environment.shape
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(12.4, 6.6), layout=ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.06))
        (top, bottom) = figure.subplots(2, 4)
        draw_reward_map(top[0], environment)
        for axis, result in zip(top[1:3], (standard, robust), strict=True):
            name = "standard" if result is standard else rf"robust, α = {result.record.spec.alpha:g}"
            title = f"learned reward and policy\n{name} (return {result.record.total_return:.4g})"
            bare(axis, title)
            scaled(axis, result.arrays["reward"].reshape(shape), "cividis")
            draw_policy(axis, result.arrays["player"], shape)
            landmarks(axis, environment)
        bare(top[3], "its opponent")
        scaled(top[3], robust.arrays["reward"].reshape(shape), "cividis")
        draw_policy(top[3], robust.arrays["opponent"], shape)
        landmarks(top[3], environment)
        occupancies = (
            ("expert's occupancy", standard.arrays["expert_occupancy"]),
            ("standard player's", standard.arrays["player_occupancy"]),
            ("robust player's", robust.arrays["player_occupancy"]),
            ("robust mixture's", robust.arrays["occupancy"]),
        )
        ceiling = max(float(values.max()) for _, values in occupancies)
        floor = min(float(values[values > 0].min()) for _, values in occupancies)
        smallest = max(floor, ceiling * 1e-4)
        norm = LogNorm(vmin=smallest, vmax=ceiling)
        for axis, (title, values) in zip(bottom, occupancies, strict=True):
            apart = np.abs(values - standard.arrays["expert_occupancy"]).sum()
            bare(axis, title if axis is bottom[0] else f"{title}\n" + r"ℓ₁ from the expert's: " + f"{apart:.3f}")
            axis.imshow(np.maximum(values, smallest).reshape(shape), cmap="viridis", norm=norm)
            landmarks(axis, environment, "#ffffff")
        occupancy_bar(figure, norm, bottom)
        spec = robust.record.spec
        where = rf"$\epsilon_L = {spec.learner_noise:g}$, $\epsilon_E = {spec.expert_noise:g}$"
        figure.suptitle(f"{plain_text(environment.name)}, {where}" + (f"   ({note})" if note else ""), fontsize=11)
    return figure
