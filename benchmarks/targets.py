"""The speeds that were aimed at, what was measured, and where an aim is missed, the profile that says why."""

import dataclasses
import math
from collections.abc import Callable

from reading import FULL, LOCAL, Place, Results, Row, count, one_run, seconds, size_of

MILLION, HUNDRED_THOUSAND = 1_000_000, 100_000
SWEEPS = 10  # Between Newton steps, where a row does not say: runs on file from before the number hung on the device.


@dataclasses.dataclass
class Target:
    """One aim: a number that should be at most (or at least) so much.

    Attributes:
        name: What is measured.
        goal: The number aimed at.
        measured: The number, nothing if it was not measured.
        show: How to write the numbers.
        why: Where the aim is missed, the reason, from the measurements.
        at_least: Whether larger is better.
    """

    name: str
    goal: float
    measured: float | None
    show: Callable[[float], str] = seconds
    why: str = ""
    at_least: bool = False

    @property
    def verdict(self) -> str:
        """Whether the aim is met."""
        if self.measured is None:
            return "not measured"
        return "met" if (self.measured >= self.goal if self.at_least else self.measured <= self.goal) else "**missed**"


def targets(results: Results) -> list[Target]:
    """Return all aims."""
    found = _small(results)
    for place, device in ((results.cpu, "CPU"), (results.gpu, "GPU")):
        goals = {75: (2.5, 0.2), 450: (15.0, 0.5)}
        for runs, pair in goals.items():
            name = f"{runs} runs of 200 steps, {device}"
            found.append(Target(name, pair[device == "GPU"], _batch(place, runs), why=_why_batch(place, runs)))
    for discount, goal in ((0.99, 0.5), (0.999, 2.0)):
        time = solve_seconds(results.cpu, HUNDRED_THOUSAND, discount)
        why = _why_solve(results.cpu, HUNDRED_THOUSAND, discount)
        found.append(Target(f"robust soft solve, 10⁵ states, γ = {discount:g}, CPU", goal, time, why=why))
        best = best_peer(results.cpu, "quantecon", HUNDRED_THOUSAND, discount)
        ratio = None if best is None or time is None else best[0] / time
        name = f"the same against QuantEcon's best method, γ = {discount:g} (times faster)"
        why = f"it takes {seconds(best[0])} by {best[1]}, and ours {seconds(time)}." if best else ""
        found.append(Target(name, 1.0, ratio, lambda x: f"{x:.3g}", why, at_least=True))
    for place, device, goal, steepest in ((results.cpu, "CPU", 5.0, 1.15), (results.gpu, "GPU", 0.1, 1.0)):
        time = solve_seconds(place, MILLION, 0.99)
        name = f"robust soft solve, 10⁶ states, γ = 0.99, {device}"
        found.append(Target(name, goal, time, why=_why_solve(place, MILLION, 0.99)))
        name = f"growth of that from 10⁴ to 10⁶ states, {device} (exponent)"
        found.append(Target(name, steepest, exponent(place, 0.99), lambda x: f"{x:.2f}", why=_why_growth(place)))
    million = results.gpu.one("irl", states=MILLION) if results.gpu else None
    whole = million if million and million["steps"] >= 200 else None
    name = "robust IRL, 200 steps, 10⁶ states, GPU"
    found.append(Target(name, 10.0, whole["seconds"] if whole else None, why=_why_irl(results.gpu)))
    return found


def _small(results: Results) -> list[Target]:
    small = results.small
    if small is None:
        return [Target("one run, 200 steps, 100 states, one core", 0.05, None)]
    times = {alpha: one_run(small, alpha) for alpha in ("alpha=0.9", "alpha=1")}
    found = [
        Target(f"one run, 200 steps, 100 states, one core, {alpha.replace('alpha=', 'α = ')}", 0.05, time)
        for alpha, time in times.items()
    ]
    if "imitation" in small:
        theirs = small["imitation"]["seconds_for_200_steps"]
        needed, timed = theirs / 3000, small["imitation"]["steps_timed"]
        why = (
            f"imitation itself takes some {seconds(theirs)} for the 200 steps (scaled from {timed}), so that a ratio"
            " of 3000 would ask for"
            f" {seconds(needed)} a run, {seconds(needed / 200)} a step, where the aim in seconds is {seconds(0.05)}."
        )
        for alpha, ratio in small["ratio"].items():
            ours = alpha.replace("alpha=", "α = ")
            name = (
                f"the same at {ours} against imitation {small['imitation']['version']}, which has α = 1 (times faster)"
            )
            found.append(Target(name, 3000.0, ratio, lambda x: f"{x:.0f}", why, at_least=True))
    return found


def solve_seconds(place: Place | None, states: float, discount: float, alpha: float = 0.9) -> float | None:
    """Warm seconds of the solver that `auto` takes, the slower of the two noise models."""
    row = solve_row(place, states, discount, alpha)
    return row["seconds"] if row else None


def solve_row(place: Place | None, states: float, discount: float, alpha: float = 0.9) -> Row | None:
    """Return the row of that."""
    labels = {"states": states, "discount": discount, "alpha": alpha, "auto": True}
    rows = [place.one("solve", noise_model=model, **labels) for model in (LOCAL, FULL)] if place else []
    return max((row for row in rows if row), key=lambda row: row["seconds"], default=None)


def best_peer(place: Place | None, peer: str, states: float, discount: float) -> tuple[float, str] | None:
    """Return the fastest method of a peer that came to an end, and its name."""
    rows = place.find("peer", peer=peer, states=states, discount=discount) if place else []
    return min(((row["seconds"], row["method"]) for row in rows if row.get("seconds")), default=None)


def exponent(place: Place | None, discount: float, low: float = 1e4, high: float = 1e6) -> float | None:
    """Return p of seconds ~ Sᵖ between two sizes, the worse of the two noise models."""
    found = []
    for model in (LOCAL, FULL):
        rows = [
            place.one("solve", states=s, discount=discount, alpha=0.9, auto=True, noise_model=model) if place else None
            for s in (low, high)
        ]
        if rows[0] and rows[1]:
            growth = math.log(rows[1]["seconds"] / rows[0]["seconds"])
            found.append(growth / math.log(rows[1]["states"] / rows[0]["states"]))
    return max(found, default=None)


def _batch(place: Place | None, runs: int) -> float | None:
    row = place.one("batch", runs=runs) if place else None
    return row["seconds"] if row else None


def _why_batch(place: Place | None, runs: int) -> str:
    row = place.one("batch", runs=runs) if place else None
    if place is None or row is None:
        return ""
    step = row["seconds"] / row["steps"] / row["calls"]
    text = f"{seconds(row['seconds'])} are {seconds(step)} for a step of all runs of a call (calls: {row['calls']})."
    launch, early = place.one("product", states=100, precision="float64"), place.one("early")
    if place.machine["backend"] == "cpu" or launch is None:
        return text
    text += (
        f" A product at 100 states, which is all launch and no work, takes {seconds(launch['seconds'])}: a step takes"
        f" as long as {step / launch['seconds']:.0f} of them, one after the other."
    )
    figure = place.one("batch", runs=early["runs"]) if early else None
    if early is None or figure is None:
        return text
    share = 100 * early["seconds"] / figure["seconds"]
    return (
        f"{text} Steps are not alike: of the {seconds(figure['seconds'])} of {early['runs']} runs the first"
        f" {early['steps']} steps take {seconds(early['seconds'])} ({share:.0f} %). There the reward moves most, the"
        " old inverse of some run does not serve, and all others of the call wait for its new one or its sweeps."
    )


def _why_solve(place: Place | None, states: float, discount: float) -> str:
    row = solve_row(place, states, discount)
    if place is None or row is None:
        return ""
    product = place.one("product", states=states, precision="float64")
    stream = place.one("bandwidth")
    if product is None or stream is None:
        return ""
    time, rate, top = row["seconds"], product["bytes_a_second"], stream["bytes_a_second"]
    text = (
        f"one product moves {size_of(product['bytes'])} in {seconds(product['seconds'])},"
        f" {size_of(rate)} a second, where a·x + y on long vectors reaches {size_of(top)} a second. The solve takes as"
        f" long as {time / product['seconds']:.0f} products"
    )
    sweep = place.one("sweep", states=states, precision="float32")
    if sweep is None or "steps" not in row:
        return text + "."
    sweeps = row.get("sweeps", SWEEPS)
    return (
        f"{text}; a sweep in float32, with its exponentials, takes {seconds(sweep['seconds'])}, and {sweeps} of them"
        f" for each of the {row['steps']} Newton steps would take {seconds(sweeps * row['steps'] * sweep['seconds'])}"
        f" of the {seconds(time)}."
    )


def _why_growth(place: Place | None) -> str:
    if place is None:
        return ""
    rates = [place.one("product", states=s, precision="float64") for s in (1e4, 1e6)]
    if not (rates[0] and rates[1]):
        return ""
    longer = "a grid of 1000 x 1000 cells is ten times as long as one of 100 x 100, and information has further to go"
    rows = [solve_row(place, states, 0.99) for states in (1e4, 1e6)]
    if rows[0] and rows[1] and "steps" in rows[0] and "steps" in rows[1]:
        longer += f" ({rows[0]['steps']} Newton steps there, {rows[1]['steps']} here)"
    longer += "."
    if rates[0]["bytes_a_second"] < rates[1]["bytes_a_second"]:
        return longer
    return (
        f"at 10⁴ states the vectors of a product lie in the cache and move at {size_of(rates[0]['bytes_a_second'])} a"
        f" second, at 10⁶ they do not and move at {size_of(rates[1]['bytes_a_second'])} a second; and {longer}"
    )


def _why_irl(place: Place | None) -> str:
    row = place.one("irl", states=MILLION) if place else None
    product = place.one("product", states=MILLION, precision="float32") if place else None
    if row is None or product is None:
        return ""
    step = row["seconds_a_step"]
    return (
        f"a step takes {seconds(step)}, the time of {step / product['seconds']:.0f} products in float32; it solves two"
        f" linear systems, for the value and for the occupancy, over {count(row['states'])} states."
    )
