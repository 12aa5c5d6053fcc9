"""Learn what drivers avoid from trips on a real road graph, and predict their routes after closures.

    python benchmarks/roads.py NY.gr.xz --destinations 2 --out benchmarks/results/roads-ny.json --map roads-ny.npz

The graph is one of the ninth DIMACS challenge without weights or coordinates. No public trips go with it, so that the
trips are drawn from a planted reward of links, by drivers who take one turn in ten at random. States are links, with a
copy of the graph for each destination; the reward has three features of a link, shared by all copies.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import measuring
import robustirl
from robustirl import envs
from robustirl.errors import InvalidInputError
from robustirl.irl import LBFGS, fit
from robustirl.irl.mce.curvature import Curvature
from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import policy_value, solve, state_occupancy
from robustirl.rewards import LinearReward

FEATURES = ("link", "bend ahead", "crossing ahead")
PLANTED = np.array([-2.0, 0.5, -1.0])
WRONG_TURNS, DISCOUNT, HORIZON = 0.1, 0.99, 600


def main() -> None:
    """Run everything on one graph, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--destinations", type=int, default=2)
    parser.add_argument("--trips", type=int, default=5000)
    parser.add_argument("--reach", type=int, default=60, help="links from the center within which trips begin and end")
    parser.add_argument("--closures", type=int, default=100)
    parser.add_argument("--alpha", type=float, default=0.9)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--robust-steps", type=int, default=200)
    parser.add_argument("--nodes", type=int, help="keep only so many nodes around the center, for a quick look")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/roads.json"))
    parser.add_argument("--map", type=Path, help="an .npz file of what a map is drawn from")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    robustirl.enable_x64()
    found: dict[str, Any] = {"benchmark": "roads", "graph": options.graph.name, "machine": measuring.describe_machine()}
    Study(options, found).run()


class Study:
    """One graph, its trips and what is learned from them."""

    def __init__(self, options: argparse.Namespace, found: dict[str, Any]):
        self.options, self.found = options, found
        self.rng = np.random.default_rng(options.seed)

    def run(self) -> None:
        """Do everything in turn; the file is written after every part."""
        env = self.timed("reading and building the graph", self.graph)
        world = self.timed("building the world", lambda: env.mdp(WRONG_TURNS))
        self.note(states=world.num_states, actions=world.num_actions, destinations=len(env.destinations))
        self.timed("first solve, with compilation", lambda: solve(world, env.reward))
        expert = self.timed("cold solve", lambda: solve(world, env.reward))
        visits, moments, spread, arrived = self.timed("drawing trips", lambda: self.trips(env, world, expert.player))
        self.note(trips=self.options.trips, arrived=arrived)
        model = LinearReward(env.features)
        standard = self.timed("fit, alpha = 1", lambda: self.fit(world, visits, model, 1.0, self.options.steps))
        errors = self.timed("standard errors", lambda: self.errors(world, standard, env.features, spread))
        names = [
            {"feature": n, "planted": p, "estimate": e, "standard_error": s}
            for n, p, e, s in zip(FEATURES, PLANTED, np.asarray(standard.parameters), errors, strict=True)
        ]
        self.note(coefficients=names, gap=float(standard.diagnosis.matching_gap), moments=moments.tolist())
        if self.options.map:
            self.timed("map", lambda: self.save_map(env, standard))
        self.closures(env, visits, model, standard)
        self.note(memory_peak_bytes=measuring.memory_peak())

    def timed(self, name: str, work: Any) -> Any:
        """Do a part, and note its seconds."""
        import jax

        begin = time.perf_counter()
        result = jax.block_until_ready(work())
        self.found.setdefault("seconds", {})[name] = time.perf_counter() - begin
        print(f"{name}: {self.found['seconds'][name]:.2f} s", flush=True)
        self.note()
        return result

    def note(self, **facts: Any) -> None:
        """Write down what is known so far."""
        self.found.update(facts)
        self.options.out.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")

    def graph(self) -> envs.GraphWorld:
        """Return the world of links around a center, with destinations and starts in reach of it."""
        import scipy.sparse.csgraph

        edges, nodes = envs.read_graph(self.options.graph)
        self.note(nodes=nodes, edges=len(edges))
        matrix = scipy.sparse.coo_array((np.ones(len(edges)), edges.T), shape=(nodes, nodes)).tocsr()
        _, part = scipy.sparse.csgraph.connected_components(matrix, directed=False)
        kept = np.flatnonzero(part == np.bincount(part).argmax())
        center = int(kept[self.rng.integers(len(kept))])
        if self.options.nodes:
            near = scipy.sparse.csgraph.breadth_first_order(matrix, center, False, return_predecessors=False)
            kept = np.sort(near[: self.options.nodes])
        number = np.full(nodes, -1)
        number[kept] = np.arange(len(kept))
        inside = number[edges].min(1) >= 0
        edges, nodes, center = number[edges[inside]], len(kept), int(number[center])
        links, following = envs.link_graph(edges, num_nodes=nodes)
        degree = np.bincount(edges.ravel(), minlength=nodes)[links[:, 1]]
        features = np.stack([np.ones(len(links)), degree == 2, degree >= 4], -1).astype(float)
        self.links, self.num_nodes, self.edges = links, nodes, edges
        after = scipy.sparse.coo_array((np.ones(len(following)), following.T), shape=(len(links),) * 2).tocsr()
        first = int(np.searchsorted(links[:, 0], center))
        hops = scipy.sparse.csgraph.dijkstra(after + after.T, indices=first, unweighted=True, limit=self.options.reach)
        near = np.flatnonzero(np.isfinite(hops))
        start = np.zeros(len(links))
        start[near] = 1 / near.size
        ends = self.rng.choice(near, self.options.destinations, replace=False).tolist()
        self.note(links=len(links), links_in_reach=int(near.size))
        self.near = near
        return envs.from_graph(
            following,
            num_nodes=len(links),
            directed=True,
            destinations=ends,
            features=features,
            rewards=features @ PLANTED,
            start=start,
            discount=DISCOUNT,
            name=self.options.graph.name,
        )

    def trips(self, env: envs.GraphWorld, world: MDP, policy: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return the discounted visits of drawn trips, mean and covariance of their features, and how many arrived."""
        import equinox as eqx
        import jax
        import jax.numpy as jnp

        count, states = self.options.trips, world.num_states

        @eqx.filter_jit
        def walk(kernel: Any, policy: Any, begin: Any, key: Any) -> Any:
            def step(state: Any, key: Any) -> Any:
                act, move = jax.random.split(key)
                action = jax.random.categorical(act, jnp.log(policy[state]))
                following = kernel.sample(state, action, key=move)
                return following, state

            last, path = jax.lax.scan(step, begin, jax.random.split(key, HORIZON))
            return path, last

        begin = self.rng.choice(states, count, p=np.asarray(world.initial))
        path, last = walk(
            world.kernel, jnp.asarray(policy), jnp.asarray(begin, jnp.int32), jax.random.key(self.options.seed)
        )
        path, last = np.asarray(path), np.asarray(last)
        weights = (1 - DISCOUNT) * DISCOUNT ** np.arange(HORIZON)
        visits = np.bincount(path.ravel(), np.repeat(weights, count), states)
        visits += np.bincount(last, minlength=states) * DISCOUNT**HORIZON
        features = np.asarray(env.features)
        sums = np.einsum("t,tnd->nd", weights, features[path]) + DISCOUNT**HORIZON * features[last]
        ends = [copy * env.num_nodes + node for copy, node in enumerate(env.destinations)]
        spread = np.cov(sums.T) / count
        return visits / count, sums.mean(0), spread, float(np.isin(last, ends).mean())

    def fit(self, world: MDP, visits: np.ndarray, model: LinearReward, alpha: float, steps: int) -> Any:
        """Return a fit; at alpha = 1 by L-BFGS, with plans to seven digits, far below the error of the trips.

        NEWTON, the default, solves some twenty systems a step for the curvature: on 17,000 links it had a gap of 0.015
        after 6 steps, and L-BFGS one of 3e-5 after 12 in less than half of the time.
        """
        options = {"optimizer": LBFGS, "planner_tolerance": 1e-7} if alpha == 1 else {}
        return fit(world, visits, alpha=alpha, reward=model, steps=steps, throw=False, **options)

    def errors(self, world: MDP, found: Any, features: Any, spread: np.ndarray) -> np.ndarray:
        """Return standard errors: H⁻¹ Σ H⁻¹, with H the curvature of the dual and Σ the covariance of the mean."""
        import equinox as eqx
        import jax.numpy as jnp

        curvature = Curvature(
            game=MarkovGame(world, 1.0),
            player=jnp.asarray(found.player),
            opponent=jnp.asarray(found.opponent),
            mixture=jnp.asarray(found.mixture),
            occupancy=jnp.asarray(found.occupancy),
            features=jnp.asarray(features),
            temperature=1.0,
        )
        apply = eqx.filter_jit(lambda c, d: c.apply(d))
        inverse = np.linalg.inv(np.stack([np.asarray(apply(curvature, row)) for row in jnp.eye(len(PLANTED))]))
        return np.sqrt(np.diag(inverse @ spread @ inverse.T))

    def closures(self, env: envs.GraphWorld, visits: np.ndarray, model: LinearReward, standard: Any) -> None:
        """Close links in reach, and compare what is predicted there with what drivers of the planted reward do."""
        closed = self.closed(env, visits)
        world = closed.mdp(WRONG_TURNS)
        best = solve(world, env.reward)
        rows = []

        def judge(name: str, policy: Any) -> None:
            occupancy = np.asarray(state_occupancy(world, best.player))
            chosen = np.log(np.maximum(np.asarray(policy), 1e-300))
            loss = -float((occupancy[:, None] * np.asarray(best.player) * np.where(best.player > 0, chosen, 0)).sum())
            earned = float(np.asarray(world.initial) @ np.asarray(policy_value(world, policy, env.reward)))
            rows.append({"policy": name, "discounted_return": earned, "log_loss": loss})

        judge("drivers", best.player)
        judge("standard, reward carried over", solve(world, standard.reward).player)
        for alpha, steps in ((1.0, self.options.steps), (self.options.alpha, self.options.robust_steps)):
            name = f"learned in the closed graph, alpha = {alpha:g}"
            found = self.timed(name, lambda a=alpha, n=steps: self.fit(world, visits, model, a, n))
            judge(name, found.player)
            rows[-1] |= {"parameters": np.asarray(found.parameters).tolist(), "steps": int(found.verdict.steps)}
            self.note(after_closure=rows)

    def closed(self, env: envs.GraphWorld, visits: np.ndarray) -> envs.GraphWorld:
        """Return the graph without entries to some of the links that trips use most, as far as ways remain."""
        used = visits.reshape(env.copies, -1).sum(0)
        used[list(env.destinations)] = 0
        busy = np.argsort(-used)[: 20 * self.options.closures]
        chosen = self.rng.choice(busy, self.options.closures, replace=False)
        entries = env.edges[np.isin(env.edges[:, 1], chosen)]
        choices = np.bincount(env.edges[:, 0], minlength=env.num_nodes)
        entries = entries[choices[entries[:, 0]] > 1]
        closed = env
        for part in np.array_split(entries, max(len(entries) // 5, 1)):
            try:
                closed = closed.without(part)
            except InvalidInputError:
                continue  # It would cut somebody off.
        self.note(closed_turns=len(env.edges) - len(closed.edges))
        return closed

    def save_map(self, env: envs.GraphWorld, standard: Any) -> None:
        """Save the edges in reach with a layout, how much they are used, and the destinations."""
        tails = np.unique(self.links[self.near].ravel())
        number = np.full(self.num_nodes, -1)
        number[tails] = np.arange(len(tails))
        inside = number[self.links].min(1) >= 0
        used = np.asarray(standard.expert_occupancy).reshape(env.copies, -1).sum(0)
        predicted = np.asarray(standard.occupancy).reshape(env.copies, -1).sum(0)
        np.savez_compressed(
            self.options.map,
            edges=number[self.links[inside]],
            used=used[inside],
            predicted=predicted[inside],
            destinations=number[self.links[list(env.destinations), 1]],
            positions=layout(number[self.links[inside]], len(tails)),
        )


def layout(edges: np.ndarray, count: int) -> np.ndarray:
    """Return positions `[N, 2]` of nodes: eigenvectors of the graph's Laplacian, of the lowest frequencies but zero."""
    import scipy.sparse.linalg

    adjacency = scipy.sparse.coo_array((np.ones(len(edges)), edges.T), shape=(count, count)).tocsr()
    adjacency = ((adjacency + adjacency.T) > 0).astype(float)
    degree = np.asarray(adjacency.sum(1)).ravel()
    laplacian = scipy.sparse.diags_array(degree) - adjacency
    start = np.random.default_rng(0).normal(size=count)
    _, vectors = scipy.sparse.linalg.eigsh(laplacian.tocsc(), k=3, sigma=-1e-4, v0=start)
    return vectors[:, 1:3]


if __name__ == "__main__":
    main()
