# %% [markdown]
# # Roads: what do drivers avoid, and where do they go after a closure?
#
# We learn one reward of links from trips to two destinations, read its coefficients with standard errors, close some
# turns, and predict the new routes. The script runs in a minute on 1,500 crossings of New York that lie beside it;
# `python examples/roads.py --graph NY.gr.xz` takes all 264,346 of them, or any other DIMACS graph.
#
# No public trips go with these graphs. The trips are drawn from a reward that we plant, by drivers who take one turn in
# ten at random, so that all below can be compared with the truth.

# %%
import sys
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse
from matplotlib.collections import LineCollection
from scipy.sparse.csgraph import dijkstra

from robustirl import envs, irl, planning
from robustirl.demonstrations import estimate_occupancy, sample_demonstrations
from robustirl.errors import InvalidInputError
from robustirl.rewards import LinearReward

QUICK = "--quick" in sys.argv  # A smaller run, for tests.
WHOLE = "--graph" in sys.argv
PATH = Path(sys.argv[sys.argv.index("--graph") + 1] if WHOLE else Path(__file__).parent / "roads-part.gr.xz")
REACH, TRIPS, CLOSED = (60, 5000, 100) if WHOLE else (20, 500 if QUICK else 3000, 15)

streets, crossings = envs.graphs.read_graph(PATH)
links, following = envs.graphs.link_graph(streets, num_nodes=crossings)
print(f"{crossings} crossings, {len(streets)} streets, {len(links)} links, {len(following)} turns")

# %% [markdown]
# ## A world of links
#
# A link is one direction of a street, and an action is the link that follows. The cost of a link depends on what lies
# ahead: a bend (two streets meet) or a crossing of four streets and more. Trips begin and end within reach of a center.
# With several destinations the world holds one copy of the graph for each, and one reward serves all.

# %%
ahead = np.bincount(streets.ravel(), minlength=crossings)[links[:, 1]]
features = np.stack([np.ones(len(links)), ahead == 2, ahead >= 4], axis=1).astype(float)
names = ["link", "bend ahead", "crossing ahead"]
planted = np.array([-2.0, 0.5, -1.0])

turns = scipy.sparse.coo_array((np.ones(len(following)), following.T), shape=(len(links),) * 2).tocsr()
hops = dijkstra(turns + turns.T, indices=len(links) // 2, unweighted=True, limit=REACH)
near = np.flatnonzero(np.isfinite(hops))
rng = np.random.default_rng(1)
town = envs.from_graph(
    following,
    num_nodes=len(links),
    directed=True,
    destinations=rng.choice(near, 2, replace=False).tolist(),
    features=features,
    rewards=features @ planted,
    start=np.isin(np.arange(len(links)), near) / near.size,
)
world = town.mdp(noise=0.1)  # One turn in ten is a random one.
drivers = planning.solve(world, town.reward)
trips = sample_demonstrations(world, drivers.player, episodes=TRIPS, horizon=1000, key=jax.random.key(0))
visits = estimate_occupancy(trips, world).occupancy
print(
    f"{world.num_states} states, {len(trips)} trips of {np.median(trips.lengths):.0f} links, {near.size} links in reach"
)

# %% [markdown]
# ## What drivers avoid
#
# `infer` gives standard errors: how much the coefficients would vary with other trips.

# %%
model = LinearReward(town.features, names=names)
start = np.array(
    [-1.0, 0.0, 0.0]
)  # At zero, going round in circles would pay: every choice has the value of its entropy.
options = {"reward": model, "initial_parameters": start, "throw": False}
fit = irl.fit(world, visits, alpha=1.0, planner_tolerance=1e-7, **options)
errors = irl.infer(fit, world, trips, model).standard_errors()
print("feature          planted  learned  standard error")
for name, true, found, error in zip(names, planted, np.asarray(fit.parameters), errors, strict=True):
    print(f"{name:<16} {true:7.2f} {found:8.2f} {error:15.2f}")

# %% [markdown]
# ## A closure
#
# Turns into some of the busiest links are closed. The learner never takes wrong turns, and it has the trips from before
# the closure alone. What it learns is compared with what drivers of the planted reward do in the closed graph:
#
# - the excess log-loss of predicting their next turn, in nats a choice; zero for the drivers themselves,
# - the discounted return by the planted reward,
# - the share of the links of their most likely routes that the predicted routes have, too.

# %%
busy = np.argsort(-visits.reshape(2, -1).sum(0) * ~np.isin(np.arange(len(links)), town.destinations))[: 20 * CLOSED]
choices = np.bincount(following[:, 0], minlength=len(links))
closed = town
for link in rng.choice(busy, CLOSED, replace=False):
    entries = following[(following[:, 1] == link) & (choices[following[:, 0]] > 1)]
    try:
        closed = closed.without(entries)
    except InvalidInputError:
        continue  # Somebody would be cut off, or it is closed already.
gone = len(town.edges) - len(closed.edges)
after = closed.mdp()
truth = planning.solve(after, town.reward)
weight = np.asarray(planning.state_occupancy(after, truth.player))
choosing = weight[np.asarray(after.mask).sum(1) > 1].sum()
origins = rng.choice(after.num_states, 60, p=np.asarray(after.initial))


def routes(world, policy):
    """Return the most likely route from each origin."""
    best = np.asarray(policy).argmax(axis=1)
    moves = np.asarray(getattr(world.kernel, "base", world.kernel).next_states)[np.arange(len(best)), best, 0]
    path = [origins]
    for _ in range(5 * REACH):
        path.append(moves[path[-1]])
    return np.stack(path, axis=1)


def compare(policy):
    own, other = (np.log(np.maximum(np.asarray(p), 1e-300)) for p in (truth.player, policy))
    excess = (weight[:, None] * np.asarray(truth.player) * (own - other)).sum() / choosing
    earned = np.asarray(after.initial) @ np.asarray(planning.policy_value(after, policy, town.reward))
    pairs = zip(routes(after, truth.player), routes(after, policy), strict=True)
    return excess, earned, np.mean([np.isin(np.unique(a), b).mean() for a, b in pairs])


scores = {"the drivers themselves": compare(truth.player)}
scores["reward carried over"] = compare(planning.solve(after, fit.reward).player)
scatter = 0.1 / np.sqrt(len(trips))  # About that of the mean features of the trips; a smaller gap says nothing.
for alpha in (1.0, 0.98, 0.95):
    learned = irl.fit(after, visits, alpha=alpha, tolerance=scatter, **options)
    scores[f"learned there, α = {alpha:g}"] = compare(learned.player)
print(f"{gone} turns are closed")
print(f"{'who predicts':<24} {'log-loss':>8} {'return':>8} {'routes':>7}")
for name, (excess, earned, shared) in scores.items():
    print(f"{name:<24} {excess:8.3f} {earned:8.2f} {shared:7.0%}")

# %% [markdown]
# Carrying the reward over is best, but it was learned in the old graph, with the drivers' noise known. Who has the
# closed graph alone takes wrong turns for wishes at α = 1 and believes links to be cheap: the return is low. An
# opponent takes the blame for wrong turns, so that costs come out higher and routes shorter.
# [Roads](../docs/roads.md) has ten draws of trips and closures, with and without wrong turns of the learner.
#
# ## The map
#
# The graphs have no coordinates. `envs.graphs.graph_positions` makes some from distances: neighbors lie close
# together, gaps are rivers and parks, and compass directions mean nothing.

# %%
places = envs.graphs.graph_positions(streets, num_nodes=crossings)
figure, axes = plt.subplots(1, 2, figsize=(11, 5.6), layout="constrained", sharex=True, sharey=True)
shut = np.unique(town.edges[~np.isin(town.edges @ [len(links), 1], closed.edges @ [len(links), 1]), 1])
inside = near if WHOLE else np.arange(len(links))
for axis, title, way in (
    (axes[0], "before", routes(world, drivers.player)),
    (axes[1], f"after {gone} turns are closed", routes(after, truth.player)),
):
    axis.add_collection(LineCollection(list(places[links[inside]]), colors="#c8c8c8", linewidths=0.5))
    for destination, color in ((0, "#1f77b4"), (1, "#e6850e")):
        traveled = np.unique(way[origins // len(links) == destination] % len(links))
        axis.add_collection(LineCollection(list(places[links[traveled]]), colors=color, linewidths=1.6))
        axis.plot(*places[links[town.destinations[destination], 1]], "*", color=color, ms=16, mec="black", zorder=5)
    axis.plot(*places[links[shut]].mean(1).T, "x", color="#d62728", ms=5 if axis is axes[1] else 0, mew=1.6, zorder=4)
    axis.set_title(f"most likely routes {title}")
    axis.autoscale()
    axis.set_aspect("equal")
    axis.axis("off")
plt.show()
