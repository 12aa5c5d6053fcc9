# %% [markdown]
# # Mice in a labyrinth: what do they want?
#
# 238 bouts of 500 steps by mice in a tree of corridors (Rosenberg et al., 2021). One of the 64 dead ends has a water
# port. We look for the reward that makes their choices most likely, and ask how far a single reward that never changes
# goes. The data come with the package.

# %%
import sys

import matplotlib.pyplot as plt
import numpy as np

from robustirl import envs, irl
from robustirl.demonstrations import Choices, recorded
from robustirl.rewards import TabularReward

QUICK = "--quick" in sys.argv  # A smaller run, for tests.
plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})

bouts = recorded(envs.make("labyrinth"))
if QUICK:
    bouts = bouts[:40]
held_out = np.arange(len(bouts)) % 5 == 4  # Every fifth bout.
train, test = Choices.of(bouts[~held_out]), Choices.of(bouts[held_out])
print(train, "to learn from,", test, "to judge by")

# %% [markdown]
# ## One reward for every place
#
# A parameter per node, learned by the likelihood of the recorded moves. Rewards of places that a mouse can hardly
# choose between are poorly told apart, so that a penalty holds all of them near zero; it and the discount are chosen by
# bouts that were not learned from. They are the bouts that judge below, too, so that the best of these settings is
# flattered.


# %%
def per_step(policy, rows):
    return float(np.log(np.asarray(policy)[rows.states, rows.actions]).mean())


fits = {}
for discount in (0.8,) if QUICK else (0.5, 0.8, 0.95):
    world = envs.make("labyrinth", discount=discount).mdp()
    for penalty in (10.0,) if QUICK else (1.0, 10.0, 100.0):
        found = irl.fit(world, train, alpha=1.0, reward=TabularReward(127), objective="likelihood", penalty=penalty)
        fits[discount, penalty] = found
        print(f"γ = {discount:g}, penalty {penalty:g}: {per_step(found.player, test):.4f} a step on held-out bouts")
best = max(fits, key=lambda key: per_step(fits[key].player, test))

# %% [markdown]
# ## How good is that?
#
# Beside it: choices at random among the corridors of a node, and a first-order Markov chain, that is, how often each
# corridor was taken at each node (with one imagined visit to each). A policy is a first-order chain, too, so that no
# reward of places can beat the best one. The last line is a chain that remembers the node before.

# %%
mask = np.asarray(world.mask)
uniform = mask / mask.sum(-1, keepdims=True)
counts = train.counts(world) + mask
chain = counts / counts.sum(-1, keepdims=True)


def remembering(rows):
    """Return the pairs of nodes before and at each choice, as one number, the node itself, and the action."""
    same = rows.groups[1:] == rows.groups[:-1]
    state = rows.states[1:][same]
    return 127 * rows.states[:-1][same] + state, state, rows.actions[1:][same]


def second_order(rows, seen):
    pair, _, action = remembering(rows)
    counted = np.zeros((127 * 127, 4))
    np.add.at(counted, (pair, action), 1)
    pair, state, action = remembering(seen)
    chances = counted[pair] + mask[state]
    return float(np.log(chances[np.arange(pair.size), action] / chances.sum(-1)).mean())


scores = {
    "uniform": per_step(uniform, test),
    f"one reward (γ = {best[0]:g})": per_step(fits[best].player, test),
    "first-order chain": per_step(chain, test),
    "second-order chain": second_order(train, test),
}
for name, score in scores.items():
    print(f"{name:<24} {score:.4f} a step, {np.exp(-score):.3f} corridors")

# %% [markdown]
# ## The map
#
# The learned reward, drawn where the nodes are. The water port is the circled end node.
#
# A single reward goes as far as any model that knows only where the mouse is: on held-out bouts it is level with the
# first-order chain, with 127 numbers instead of one for every corridor. It does not go further. Where the mouse came
# from tells far more than where it is: mice rarely turn back, which no reward of places can say. Nor can one reward say
# that a mouse which has drunk leaves the port and explores: the water is a goal for some of the time only, and the map
# shows an average of goals that change.

# %%
reward, places = np.asarray(fits[best].reward), envs.make("labyrinth").positions
figure, axes = plt.subplots(figsize=(5.6, 4.6))
for node in range(1, 127):
    parent = (node - 1) // 2
    axes.plot(*places[[node, parent]].T, color="0.8", linewidth=1, zorder=1)
dots = axes.scatter(*places.T, c=reward, s=30, cmap="cividis", zorder=2)
axes.scatter(*places[116], s=160, facecolors="none", edgecolors="tab:red", linewidths=1.5, zorder=3)
axes.set(xticks=[], yticks=[], aspect="equal")
for side in axes.spines.values():
    side.set_visible(False)
figure.colorbar(dots, label="learned reward", shrink=0.8)
plt.show()

order = np.argsort(-reward)[:5]
print("the highest rewards:", ", ".join(f"node {node} ({reward[node]:.2f})" for node in order))
