# %% [markdown]
# # FrozenLake, from trajectories of your own
#
# The way from a Gymnasium environment to a policy for another one: collect episodes, keep them in a file, learn from
# the file. The expert's ice is slippery, the learner's is not, and a fall is final. It needs `robustirl[gymnasium]` and
# a Gymnasium whose FrozenLake has a `success_rate` (1.4 does).

# %%
import sys
from pathlib import Path

import gymnasium
import matplotlib.pyplot as plt
import numpy as np
from gymnasium.envs.toy_text.frozen_lake import MAPS

from robustirl import envs, irl, planning
from robustirl.demonstrations import Demonstrations, load, rollout_gymnasium, save
from robustirl.envs import from_gymnasium

QUICK = "--quick" in sys.argv  # A smaller run, for tests.
plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})

# %% [markdown]
# ## Collect
#
# Any environment with discrete observations and actions will do, and any policy, as an array or as a function. Here
# the expert knows the slippery lake and is optimal on it; yours may be a person.

# %%
slippery = {"map_name": "8x8", "is_slippery": True, "success_rate": 0.8}  # One step in five goes astray.
expert_lake = from_gymnasium("FrozenLake-v1", **slippery)
expert = planning.expert_policy(expert_lake.mdp(), expert_lake.reward, kind="optimal")

env = gymnasium.make("FrozenLake-v1", max_episode_steps=200, **slippery)
save(rollout_gymnasium(env, np.asarray(expert), episodes=200 if QUICK else 1000, horizon=200, seed=0), "walks.csv")
env.close()

walks = load("walks.csv")
lengths = [len(walk.states) - 1 for walk in walks]
ends = np.array([walk.states[-1] for walk in walks])
print(f"{len(walks)} episodes of {min(lengths)} to {max(lengths)} steps; {np.mean(ends == 63):.0%} end at the goal")
print("\n".join(Path("walks.csv").read_text("utf-8").splitlines()[:4]))

# %% [markdown]
# A row is a step; a file like this one can be written by anything (the first line may be omitted).
#
# ## Where does an episode go when it is over?
#
# Learning matches where the expert is at every step. If it stayed in the goal or in a hole at every later step, that
# would be most of what there is to match. So our lake has one more state, numbered last, where all episodes are over: a
# hole or the goal is visited once.

# %%
lake = envs.make("frozen-lake-8x8")
world = lake.mdp(noise=0.0)  # The learner's ice does not slip; it is all that is needed besides the file.
over = world.num_states - 1


def ended(walk, entries, last):
    """What was recorded of a walk, with one more entry if it has ended."""
    return [*entries, last] if walk.terminated else [*entries]


walks = Demonstrations.from_arrays(
    [ended(walk, walk.states, over) for walk in walks],
    [ended(walk, walk.actions, 0) for walk in walks],  # Whatever is done leads there.
    terminated=[walk.terminated for walk in walks],
)
walks.check_possible(world, lake.mdp(noise=0.2))  # A move that neither world allows would be refused here.

# %% [markdown]
# ## Learn
#
# How strong an opponent? `auto` fits 13 candidates. It goes below α = 1 only as far as the opponent explains more of
# the expert's visits than it misses, only if the player arrives as soon as that of standard IRL, and only if it earns
# more by rewards learned from either half of the walks.

# %%
steps = 60 if QUICK else 200
auto = irl.RobustIRL(alpha="auto", steps=steps).fit(world, walks)
print(auto.summary())

# %% [markdown]
# ## Compare
#
# The true reward is 1 for reaching the goal, so the return is the chance of arriving; the learner has not seen it.

# %%
fixed = (1.0, 0.95, 0.8) if QUICK else (1.0, 0.99, 0.98, 0.97, 0.96, 0.95, 0.94, 0.93, 0.92, 0.91, 0.9, 0.85, 0.8)
models = {alpha: irl.RobustIRL(alpha=alpha, steps=steps).fit(world, walks) for alpha in fixed}
models[auto.alpha_] = auto


def arrival(model):
    """Return the chance that the learned policy reaches the goal of the learner's lake."""
    return float(planning.total_return(world, model.policy_, lake.reward))


arrives = {alpha: arrival(model) for alpha, model in models.items()}
print("    α  arrives     gap")
for alpha in sorted(models, reverse=True):
    mark = "  auto" if models[alpha] is auto else "  standard" if alpha == 1 else ""
    print(f"{alpha:.3f}  {arrives[alpha]:7.0%}  {float(models[alpha].fit_.verdict.occupancy_gap):6.4f}{mark}")

# %% [markdown]
# The standard learner falls as often as the expert did, on purpose, since that matches the visits. A weak opponent
# takes the blame for the falls, and the player keeps away from the holes. One as strong as the slips (α near 0.8) is
# too strong: the expert waits beside a hole, where no slip is dangerous, until it slides on, but an opponent does not
# slip by chance. Each step of waiting is a chance 1 - α of being pushed in, and that is final. Such a player never
# arrives, and the occupancy gap shows it: `auto` refuses such an α. It also stops short of α = 0.95, where the player
# arrives more often, but so much later that the discounted return falls.

# %%
figure, axes = plt.subplots(1, 4, figsize=(12, 3.5), layout="constrained")
letters = np.array([list(row) for row in MAPS["8x8"]])
strong = min(models)
shown = {
    "the expert's visits": np.asarray(auto.expert_occupancy_),
    "standard, α = 1": np.asarray(planning.state_occupancy(world, models[1.0].policy_)),
    f"auto, α = {auto.alpha_:.2f}": np.asarray(planning.state_occupancy(world, auto.policy_)),
    f"too strong, α = {strong:.2f}": np.asarray(planning.state_occupancy(world, models[strong].policy_)),
}
for axis, (title, visits) in zip(axes, shown.items(), strict=True):
    final = np.isin(letters, ["H", "G"])
    steps_taken = np.maximum(visits[:64].reshape(8, 8) / (1 - float(world.discount)), 0.01)
    axis.imshow(np.where(final, np.nan, steps_taken), cmap="viridis", norm="log", vmin=0.01, vmax=20)
    for row, column in np.argwhere(final):
        mark, color = ("●", "#555555") if letters[row, column] == "H" else ("★", "#D55E00")
        axis.text(column, row, mark, ha="center", va="center", color=color)
    axis.set_title(title)
    axis.set_axis_off()
figure.colorbar(axes[0].images[0], ax=axes, shrink=0.8, pad=0.01, label="discounted visits")
plt.show()

# %%
figure, axis = plt.subplots(figsize=(7, 3.9), layout="constrained")
order = sorted(arrives)
axis.plot(order, [arrives[alpha] for alpha in order], marker="o", color="#0072B2")
for model, name, color, away in (
    (models[1.0], "standard", "black", (0, -18)),
    (auto, "auto", "#009E73", (0, 10)),
):
    place = (model.alpha_, arrives[model.alpha_])
    axis.plot(*place, marker="o", markersize=9, color=color)
    axis.annotate(name, place, away, textcoords="offset points", ha="center", color=color)
axis.set(xlabel="α, the player's chance of control", ylabel="chance of arriving", ylim=(-0.05, 1.08))
plt.show()

# %% [markdown]
# [Choosing α](../docs/choosing-alpha.md) says what `auto` does, and where it leaves something on the table.
