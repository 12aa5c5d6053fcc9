# %% [markdown]
# # A gridworld, standard and robust
#
# An expert walks where the ground plays tricks: one step in ten ends in any cell, wherever it was meant to go. The
# learner's ground is firm. It sees where the expert has been and nothing else: no reward, no actions, no expert's
# world. What does it make of visits to dangerous cells that nobody meant to pay?

# %%
import sys

import jax
import matplotlib.pyplot as plt
import numpy as np

from robustirl import demonstrations, envs, irl, planning, theory
from robustirl.demonstrations.alpha import estimate_alpha

QUICK = "--quick" in sys.argv  # A smaller run, for tests.
plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})

# %% [markdown]
# ## Two worlds and an expert
#
# The paper's first grid: -1 a step, -100 in every inner cell, and a goal in the corner. The way is along the border.
# How good a policy is we measure in the learner's world, by the true reward, which the learner never sees. (Nothing
# does better here than the expert's own policy, but that is not given either.)

# %%
SHAPE = (10, 10)
env = envs.make("gridworld-1")
expert_world, world = env.mdp(noise=0.1), env.mdp(noise=0.0)
expert = planning.expert_policy(expert_world, env.reward)
walks = demonstrations.sample_demonstrations(
    expert_world, expert, episodes=300 if QUICK else 1000, horizon=300, key=jax.random.key(0), with_actions=False
)


def measure(policy):
    """The expected return in the learner's world."""
    return float(planning.total_return(world, policy, env.reward))


carried_over = measure(expert)
print(f"the expert at home             {float(planning.total_return(expert_world, expert, env.reward)):7.1f}")
print(f"its own policy, in this world  {carried_over:7.1f}")

# %% [markdown]
# ## α, from the walks
#
# An opponent who takes control with probability 1 - α can stand for what the expert's ground did to it. How strong it
# should be can be read off the steps that no move of the learner's explains.

# %%
estimate = estimate_alpha(world, walks)
print(f"α = {estimate.alpha:.3f}, between {estimate.low:.3f} and {estimate.high:.3f} with 95 % confidence")
print(estimate.note)

# %% [markdown]
# ## Learn, at many α in one call
#
# α = 1 is standard MCE IRL. The gap is the distance between the expert's visits and those of the mixture of player and
# opponent: it is what learning brings down, and all that a learner can see of its own success.

# %%
rho = demonstrations.estimate_occupancy(walks, num_states=world.num_states, discount=float(world.discount))
fixed = (1.0, 0.9, 0.8) if QUICK else (1.0, 0.99, 0.97, 0.95, 0.925, 0.9, 0.85, 0.8, 0.7)
chosen = estimate.alpha
alphas = sorted({*fixed, chosen}, reverse=True)
count = len(alphas)
fits = dict(
    zip(alphas, irl.fit_many([world] * count, [rho.occupancy] * count, alphas, steps=50 if QUICK else 200), strict=True)
)
returns = {alpha: measure(fit.player) for alpha, fit in fits.items()}
print("    α    return      gap")
for alpha, fit in fits.items():
    mark = "  estimated from the walks" if alpha == chosen else "  standard" if alpha == 1 else ""
    print(f"{alpha:.3f}  {returns[alpha]:8.1f}  {float(fit.verdict.occupancy_gap):7.4f}{mark}")

# %% [markdown]
# The standard learner matches the expert's visits best and does worst: the only way to be where the expert was is to
# walk there, through the danger. The robust one leaves those visits to its opponent. An even stronger opponent than
# the estimated one does better still in this grid, where caution costs nothing; that is luck of the world and not a
# rule.

# %%
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.9), layout="constrained")
arrows = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)])  # Up, right, down, left, as matplotlib draws them.


def draw_map(axis, reward, policy, title):
    """Rewards as shades, and where the policy goes from each cell on average as an arrow."""
    rows, columns = np.indices(SHAPE)
    shades = axis.imshow(np.asarray(reward).reshape(SHAPE), cmap="cividis")
    figure.colorbar(shades, ax=axis, orientation="horizontal", shrink=0.7, pad=0.02, aspect=25)
    across, up = (np.asarray(policy) @ arrows).T.reshape(2, *SHAPE)
    axis.quiver(columns, rows, across, up, color="white", pivot="mid", scale=13, width=0.009)
    axis.plot(0, 0, marker="*", markersize=13, color="#D55E00", markeredgecolor="white")
    axis.set_title(title)
    axis.set_axis_off()


draw_map(axes[0], env.reward, expert, "the true reward,\nand the expert")
for axis, (name, alpha) in zip(axes[1:], {"standard": 1.0, f"robust, α = {chosen:.2f}": chosen}.items(), strict=True):
    draw_map(axis, fits[alpha].reward, fits[alpha].player, f"{name}:\nlearned reward, return {returns[alpha]:.0f}")
plt.show()

# %% [markdown]
# ## What is sure, should the ground be other than we think
#
# A certificate is the exact worst return of a policy over all worlds whose rows differ from ours by at most a radius.
# It is asked for the policies as they are; nobody promised that the robust learner's would be better. Here it is, at
# every radius, and the expert's own is better still.

# %%
radii = np.linspace(0.0, 0.2, 3 if QUICK else 9)
worst = {
    name: [float(theory.certify(world, policy, env.reward, radius=float(radius)).worst_return) for radius in radii]
    for name, policy in {"standard": fits[1.0].player, "robust": fits[chosen].player, "the expert's": expert}.items()
}
for name, values in worst.items():
    print(f"{name:13s} discounted return {values[0]:8.1f} here, {values[-1]:8.1f} at worst within {radii[-1]:g}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.9), layout="constrained")
left.plot(alphas, [returns[alpha] for alpha in alphas], marker="o", color="#0072B2")
left.plot(1.0, returns[1.0], marker="o", color="black", markersize=9)
left.annotate("standard", (1.0, returns[1.0]), (-12, -3), textcoords="offset points", ha="right")
left.plot(chosen, returns[chosen], marker="P", color="#D55E00", markersize=11)
left.annotate("α from the walks", (chosen, returns[chosen]), (-10, -8), textcoords="offset points", ha="right")
left.axhline(carried_over, color="#777777", linestyle="--", linewidth=1)
left.annotate("the expert's policy", (1, carried_over), (0, 4), textcoords="offset points", ha="right", color="#555555")
left.set(xlabel="α, the player's chance of control", ylabel="return in the learner's world")
for (name, values), color in zip(worst.items(), ("black", "#D55E00", "#777777"), strict=True):
    right.plot(radii, values, color=color)
    right.annotate(name, (radii[-1], values[-1]), (5, -3), textcoords="offset points", color=color)
right.set_xticks(radii[:: max(1, len(radii) // 4)])
right.set(xlabel="how far the world may be from ours (ℓ1, per row)", ylabel="certified worst discounted return")
plt.show()

# %% [markdown]
# Read on: [choosing α](../docs/choosing-alpha.md), [what robust costs](../docs/cost.md), and
# [theory](../docs/theory.md) for what certificates and the paper's bounds are worth.
