# %% [markdown]
# # A continuous world: robust relative-entropy IRL
#
# A point crosses a square, from the upper left to the lower right corner; in the middle is a pit. In the expert's
# world one action in five is not heard, and the point is drawn towards the pit instead. The learner's world does what
# it is told. Neither is given as a table: both are known by sampling alone.

# %%
import dataclasses
import sys

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import BoundaryNorm

from robustirl.control import EXPERT, collect, evaluate, train_expert
from robustirl.envs import GaussianGrid
from robustirl.irl import RelativeEntropyConfig, fit_relative_entropy

QUICK = "--quick" in sys.argv  # A smaller run, for tests.
plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})

# %% [markdown]
# ## An expert, trained on the true reward
#
# At a small budget: one attempt at half the episodes, where `train_expert` takes the best of eight by default, since
# one in five or so settles for waiting at the start. With the key below it does not.

# %%
expert_world, world = GaussianGrid(noise=0.2), GaussianGrid(noise=0.0)
steps, episodes = (5, 16) if QUICK else (400, 64)
config = dataclasses.replace(EXPERT, steps=steps, episodes=episodes, horizon=200)
expert = train_expert(expert_world, config=config, attempts=1, key=jax.random.key(1)).player
at_home = evaluate(expert_world, expert, key=jax.random.key(0))
carried_over = evaluate(world, expert, key=jax.random.key(0))
print(f"the expert at home: return {float(at_home.mean_return):.0f}, at the goal {float(at_home.goal_share):.0%}")
print(f"its policy, here:   return {float(carried_over.mean_return):.0f}")

# %% [markdown]
# ## Demonstrations, and two learners
#
# What the learner gets of each trajectory is the discounted sum of seven features: x², y², x, y, a bump over the pit,
# an indicator of the goal, and one. The opponent of the robust learner acts with probability 0.15. Of three attempts
# at a fit the one with the smallest feature gap counts, and everything is drawn, so there are three fits each.

# %%
demos = collect(expert_world, expert, episodes=100, horizon=300, key=jax.random.key(2))
config = RelativeEntropyConfig(summary="discounted", center="none", attempts=3, rounds=3 if QUICK else 300)
config = dataclasses.replace(config, game=dataclasses.replace(config.game, episodes=episodes))
alphas = {"standard": 1.0, "robust": 0.85}
tries = {
    name: [fit_relative_entropy(world, demos, alpha=alpha, config=config, key=jax.random.key(key)) for key in (3, 4, 5)]
    for name, alpha in alphas.items()
}
measured = {name: [evaluate(world, fit.player, key=jax.random.key(6)) for fit in tries[name]] for name in tries}
for name, found in measured.items():
    returns = ", ".join(f"{float(one.mean_return):.1f}" for one in found)
    gap = max(float(fit.verdict.feature_gap) for fit in tries[name])
    reached = min(float(one.goal_share) for one in found)
    print(f"{name:8s} returns {returns}; episodes at the goal {reached:.0%}, feature gap at most {gap:.3f}")

# %% [markdown]
# All six arrive, and do better than the expert does at home: they learned what it was after, and need not fight the
# pull of the pit. The standard learner must have the expert's features itself, and goes its long way round; the robust
# one leaves to its opponent what the pull does, and its player is ahead in all three. Twenty seeds and fifteen pairs of
# worlds say the same: it pays where the expert's world is the noisier one, and hurts or does nothing where it is not
# ([Continuous worlds](../docs/continuous.md)).
#
# ## What was learned
#
# A learned reward is one up to a factor and a constant, and need not look like the true one: at the end of a fit it is
# what is left to match. The policy is what transfers.

# %%
line = np.linspace(-1, 1, 81)
states = jnp.asarray(np.stack(np.meshgrid(line, line), -1).reshape(-1, 2))
features = jax.vmap(world.features)(states)
without_goal = features.at[:, 5].set(0.0)  # The goal's own jump is left out, or it would be all of the scale.
panels = [("the true reward, and the expert\nin its world", world.true_weights, expert_world, expert)]
for name, alpha in alphas.items():
    fit, found = tries[name][0], measured[name][0]
    title = f"{name}, α = {alpha:g}: learned reward\nand player, return {float(found.mean_return):.0f}"
    panels.append((title, fit.parameters, world, fit.player))

figure, axes = plt.subplots(1, 3, figsize=(11.5, 4.5), layout="constrained")
for axis, (title, weights, home, policy) in zip(axes, panels, strict=True):
    values = np.asarray(without_goal @ weights).reshape(81, 81)
    levels = np.unique(np.quantile(values, np.linspace(0, 1, 16)))  # By rank: the pit is deep and small.
    axis.contourf(line, line, values, levels=levels, cmap="cividis", norm=BoundaryNorm(levels, 256), extend="both")
    paths = collect(home, policy, episodes=200, horizon=1000, mean_action=True, key=jax.random.key(7))
    for episode in range(6):  # Six of them; more would be a thicket.
        path = np.asarray(paths.states)[: int(paths.lengths[episode]) + 1, episode]
        axis.plot(*path.T, color="black", linewidth=2.2, alpha=0.5)
        axis.plot(*path.T, color="white", linewidth=1.0)
    axis.plot(-1, 1, marker="o", color="white", markeredgecolor="black", clip_on=False)
    axis.plot(0.975, -0.975, marker="*", markersize=14, color="#D55E00", markeredgecolor="white", clip_on=False)
    axis.set_title(title)
    axis.set_aspect("equal")
    axis.set_axis_off()
plt.show()

# %%
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
for (name, fits), color, high in zip(tries.items(), ("black", "#D55E00"), (0.9, 0.8), strict=True):
    for fit in fits:
        axis.plot(np.asarray(fit.history.feature_gap), color=color, linewidth=0.9, alpha=0.8)
    axis.text(0.98, high, name, transform=axis.transAxes, ha="right", color=color)
axis.set(xlabel="round", ylabel="feature gap of the sampled episodes", yscale="log")
plt.show()
