"""Learn what drivers avoid from trips on a real road graph, and predict their routes after closures.

    python benchmarks/roads.py NY.gr.xz --destinations 4 --draws 0 --out roads-ny.json
    python benchmarks/roads.py NY.gr.xz --destinations 1 --draws 10 --out closures-ny.json --map roads-ny.npz

The graph is one of the ninth DIMACS challenge without weights or coordinates. No public trips go with it, so that the
trips are drawn from a planted reward of links, by drivers who take one turn in ten at random. States are links, with a
copy of the graph for each destination; the reward has three features of a link, shared by all copies.

In every draw other turns are closed, and other trips are drawn before the closure. Two learners live in the closed
graph: one that takes wrong turns as the drivers do, and one that never takes any.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

import measuring
import robustirl
from roads_world import FEATURES, PLANTED, Roads, close_turns, follow, read_roads, shared_links
from robustirl import envs
from robustirl.demonstrations import Demonstrations, estimate_occupancy, sample_demonstrations, shown_contributions
from robustirl.irl import LBFGS, SETTLING_ADAM, Fit, fit, matching_covariance
from robustirl.mdp import MDP, WrongActionKernel, replace_parts
from robustirl.planning import policy_value, solve, state_occupancy
from robustirl.rewards import LinearReward

WRONG_TURNS, HORIZON = 0.1, 1000
ROUTES, ROUTE_LENGTH = 300, 400
START = np.array([-1.0, 0.0, 0.0])  # At zero, going round in circles would pay: see the page.
PLAN_TOLERANCE = 1e-7  # Far below the error of the trips.


def main() -> None:
    """Run everything on one graph, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--destinations", type=int, default=2)
    parser.add_argument("--trips", type=int, default=5000)
    parser.add_argument("--reach", type=int, default=60, help="links from the center within which trips begin and end")
    parser.add_argument("--from-nothing", action="store_true", help="no starting values from the links in reach")
    parser.add_argument("--draws", type=int, default=3, help="of closures and trips")
    parser.add_argument("--first-draw", type=int, default=0, help="its number, for several processes")
    parser.add_argument("--draws-only", action="store_true", help="no fit of the whole with standard errors before")
    parser.add_argument("--closures", type=int, default=100, help="links whose entries are closed in a draw")
    parser.add_argument("--alphas", type=float, nargs="*", default=[0.98, 0.95])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--robust-steps", type=int, default=200)
    parser.add_argument("--nodes", type=int, help="keep only so many nodes around the center, for a quick look")
    parser.add_argument("--solve-once", action="store_true", help="do not time a second solve")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no further draw after so long")
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
        self.options, self.found, self.begin = options, found, time.perf_counter()

    def run(self) -> None:
        """Do everything in turn; the file is written after every part."""
        given = self.options
        sizes = {"destinations": given.destinations, "reach": given.reach, "nodes": given.nodes, "seed": given.seed}
        roads = self.timed("reading and building the graph", lambda: read_roads(given.graph, **sizes))
        env = roads.env
        world = self.timed("building the world", lambda: env.mdp(WRONG_TURNS))
        self.note(links=len(roads.links), links_in_reach=int(roads.near.size), destinations=len(env.destinations))
        self.note(states=world.num_states, actions=world.num_actions)
        drivers = self.timed("first solve, with compilation", lambda: solve(world, env.reward))
        if not given.solve_once:
            self.timed("solve", lambda: solve(world, env.reward))
        if given.draws_only:
            return self.draw(roads, world, drivers.player)
        trips, visits, _ = self.timed("drawing trips", lambda: self.trips(env, world, drivers.player, given.seed))
        self.note(trips=len(trips), arrived=float(np.mean(trips.terminated)))
        model = LinearReward(np.asarray(env.features))
        start = START
        if not given.from_nothing:
            start = self.timed("starting values from the links in reach", lambda: self.starting_values(roads, visits))
            self.note(starting_values=start.tolist())
        standard = self.timed("fit, with compilation", lambda: self.fit(world, visits, model, 1.0, start))
        covariance = self.timed(
            "standard errors, with compilation", lambda: matching_covariance(standard, world, trips, model)
        )
        rows = zip(FEATURES, PLANTED, np.asarray(standard.parameters), np.sqrt(np.diag(covariance)), strict=True)
        names = ("feature", "planted", "estimate", "standard_error")
        self.note(coefficients=[dict(zip(names, row, strict=True)) for row in rows])
        self.note(gap=float(standard.diagnosis.matching_gap), steps=int(standard.verdict.steps))
        return self.draw(roads, world, drivers.player)

    def draw(self, roads: Roads, world: MDP, drivers: Any) -> None:
        """Make the draws of trips and closures, as long as there is time."""
        for draw in range(self.options.first_draw, self.options.first_draw + self.options.draws):
            if time.perf_counter() - self.begin <= self.options.seconds:
                self.closures(roads, world, drivers, draw)

    def timed(self, name: str, work: Any) -> Any:
        """Do a part, and note its seconds and the largest memory so far."""
        begin = time.perf_counter()
        result = jax.block_until_ready(work())
        self.found.setdefault("seconds", {})[name] = time.perf_counter() - begin
        self.found.setdefault("memory_peak_bytes", {})[name] = measuring.memory_peak()
        print(f"{name}: {self.found['seconds'][name]:.2f} s, {measuring.memory_peak() / 1e9:.2f} GB", flush=True)
        self.note()
        return result

    def note(self, **facts: Any) -> None:
        """Write down what is known so far."""
        self.found.update(facts, host_memory_peak_bytes=measuring.resident_peak())
        self.options.out.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")

    def trips(
        self, env: envs.GraphWorld, world: MDP, policy: Any, seed: int
    ) -> tuple[Demonstrations, np.ndarray, float]:
        """Return drawn trips, their occupancy, and the sum of the standard errors of their mean features."""
        given: Any = {"episodes": self.options.trips, "horizon": HORIZON, "key": jax.random.key(seed)}
        trips = sample_demonstrations(world, policy, **given, with_actions=False)
        sums = np.asarray(shown_contributions(trips, world)[0] @ np.asarray(env.features))
        scatter = float((sums.std(0) / np.sqrt(len(trips))).sum())
        return trips, estimate_occupancy(trips, world, tail="hold").occupancy, scatter

    def starting_values(self, roads: Roads, visits: np.ndarray) -> np.ndarray:
        """Return coefficients learned from the links in reach alone: near those of the whole graph, in seconds."""
        small, inside = roads.part()
        seen = visits.reshape(small.copies, -1)[:, inside].ravel()
        found = self.fit(
            small.mdp(WRONG_TURNS), seen / seen.sum(), LinearReward(np.asarray(small.features)), 1.0, START
        )
        return np.asarray(found.parameters)

    def fit(
        self, world: MDP, visits: np.ndarray, model: LinearReward, alpha: float, start: Any, gap: float | None = None
    ) -> Fit:
        """Return a fit: at alpha = 1 by L-BFGS, and below it, where its line search may stall, by Adam."""
        options: Any = {"optimizer": LBFGS, "planner_tolerance": PLAN_TOLERANCE, "steps": self.options.steps}
        if alpha < 1:
            options = {"optimizer": SETTLING_ADAM, "steps": self.options.robust_steps}
        options["initial_parameters"] = np.asarray(start)
        return fit(world, visits, alpha=alpha, reward=model, tolerance=gap, throw=False, **options)

    def closures(self, roads: Roads, world: MDP, drivers: Any, draw: int) -> None:
        """Close turns, and compare what is predicted there with what drivers of the planted reward do."""
        env, begin = roads.env, time.perf_counter()
        _, visits, scatter = self.trips(env, world, drivers, 1000 + draw)
        model = LinearReward(np.asarray(env.features))
        before = self.fit(world, visits, model, 1.0, START, scatter / 10)
        learned = {"parameters": np.asarray(before.parameters).tolist(), "steps": int(before.verdict.steps)}
        facts: dict[str, Any] = {"draw": draw, "scatter": scatter, "before": learned, "rows": []}
        facts["before_seconds"] = time.perf_counter() - begin
        closed = close_turns(env, visits, count=self.options.closures, seed=draw)
        facts["closed_turns"] = len(env.edges) - len(closed.edges)
        self.found.setdefault("closures", []).append(facts)
        for noise in (0.0, WRONG_TURNS):
            after = with_noise(closed.mdp(WRONG_TURNS), noise)
            judge = Judge(env, after, np.random.default_rng(draw))
            rows = [judge.row("drivers", judge.truth)]
            rows.append(judge.row("reward carried over", solve(after, before.reward).player))
            if draw == self.options.first_draw and noise == 0 and self.options.map:
                self.save_map(roads, closed, world, drivers, judge, visits)
            for alpha in (1.0, *self.options.alphas):
                begun = time.perf_counter()
                # Where no policy of the closed graph has the features of the old trips, costs would grow without end;
                # learning stops once the gap is within the scatter of the trips.
                found = self.fit(after, visits, model, alpha, START, scatter)
                row = judge.row(f"learned in the closed graph, alpha = {alpha:g}", found.player)
                row |= {"parameters": np.asarray(found.parameters).tolist(), "steps": int(found.verdict.steps)}
                seconds = time.perf_counter() - begun
                rows.append(row | {"gap": float(found.diagnosis.matching_gap), "seconds": seconds})
                print(f"draw {draw}, wrong turns {noise:g}, alpha {alpha:g}: {seconds:.1f} s", flush=True)
            facts["rows"] += rows
            facts["seconds"] = time.perf_counter() - begin
            self.note()
        print(f"draw {draw}: {facts['closed_turns']} turns closed, {facts['seconds']:.1f} s", flush=True)

    def save_map(
        self, roads: Roads, closed: envs.GraphWorld, world: MDP, drivers: Any, judge: "Judge", visits: np.ndarray
    ) -> None:
        """Save links, their use, what is closed, and the routes of drivers before and after, for `roads_map.py`."""
        starts = judge.starts[:60]
        gone = roads.env.edges[~np.isin(_codes(roads.env), _codes(closed))]
        np.savez_compressed(
            self.options.map,
            links=roads.links.astype(np.int32),
            used=visits.reshape(roads.env.copies, -1).sum(0).astype(np.float32),
            closed=gone.astype(np.int32),
            before=follow(world, drivers, starts, ROUTE_LENGTH).astype(np.int32),
            after=judge.routes[:, : len(starts)].astype(np.int32),
            destinations=np.array(roads.env.destinations),
        )


class Judge:
    """What drivers of the planted reward do in the closed graph, and how others compare with it."""

    def __init__(self, env: envs.GraphWorld, world: MDP, rng: np.random.Generator):
        self.world, self.reward = world, env.reward
        self.truth = np.asarray(solve(world, env.reward).player)
        self.visits = np.asarray(state_occupancy(world, self.truth))
        self.choice = (np.asarray(world.mask).sum(1) > 1) * self.visits
        self.starts = rng.choice(world.num_states, ROUTES, p=np.asarray(world.initial))
        self.routes = follow(world, self.truth, self.starts, ROUTE_LENGTH)

    def row(self, name: str, policy: Any) -> dict[str, Any]:
        """Return how well a policy predicts the drivers, and what it would earn by their reward."""
        chosen = np.where(self.truth > 0, np.log(np.maximum(np.asarray(policy), 1e-300)), 0)
        own = np.where(self.truth > 0, np.log(np.maximum(self.truth, 1e-300)), 0)
        excess = float((self.visits[:, None] * self.truth * (own - chosen)).sum() / self.choice.sum())
        value = np.asarray(policy_value(self.world, policy, self.reward))
        routes = follow(self.world, policy, self.starts, ROUTE_LENGTH)
        return {
            "policy": name,
            "wrong_turns": float(np.asarray(self.world.kernel.noise).max()),  # pyright: ignore
            "excess_log_loss": excess,
            "discounted_return": float(np.asarray(self.world.initial) @ value),
            "shared_links": float(shared_links(self.routes, routes).mean()),
        }


def with_noise(world: MDP, noise: float) -> MDP:
    """Return the world with another share of wrong turns, in the same form, so that programs are shared."""
    return replace_parts(world, kernel=WrongActionKernel(world.kernel.base, noise))  # pyright: ignore


def _codes(env: envs.GraphWorld) -> np.ndarray:
    return env.edges[:, 0] * env.num_nodes + env.edges[:, 1]


if __name__ == "__main__":
    main()
