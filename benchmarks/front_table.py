"""The README's table of speed beside the peers, from the result files; no number in it is typed by hand."""

import math
import re

from reading import LOCAL, Place, Results, Row, cell, count, one_run, seconds, table
from targets import HUNDRED_THOUSAND, MILLION, best_peer

BEGIN, END = "<!-- speed: written by benchmarks/report.py -->", "<!-- end of speed -->"
HEAD = ("work", "robustirl", "others", "times faster")
NONE = "–"
SOLUTIONS = ((HUNDRED_THOUSAND, 0.99), (HUNDRED_THOUSAND, 0.999), (MILLION, 0.99))
"""Which solutions on a processor are shown: states and γ."""


def front_table(results: Results) -> str:
    """Tabulate learning beside imitation, planning beside QuantEcon and NumPy, and what a GPU does."""
    return table(HEAD, [*_learning(results), *_planning(results.cpu), *_accelerator(results.gpu)])


def _learning(results: Results) -> list[list[str]]:
    small = results.small
    if small is None:
        return []
    standard, robust = (one_run(small, alpha) for alpha in ("alpha=1", "alpha=0.9"))
    others, factor = NONE, NONE
    if peer := small.get("imitation"):
        theirs = peer["seconds_for_200_steps"]
        others, factor = f"imitation: ~\u00a0{seconds(theirs)}", times(theirs, standard)
    return [
        ["standard MCE IRL, 100 states, 200 steps, one core", seconds(standard), others, factor],
        ["robust MCE IRL, the same, α = 0.9", seconds(robust), "none has it", NONE],
    ]


def _planning(place: Place | None) -> list[list[str]]:
    rows = []
    for states, discount in SOLUTIONS:
        labels = {"states": states, "discount": discount}
        ours = place.one("solve", noise_model=LOCAL, alpha=0.9, auto=True, **labels) if place else None
        if place is None or ours is None:
            continue
        others, factors = [], []
        best = best_peer(place, "quantecon", states, discount)
        if (shown := quantecon(place, ours["states"], discount)) != NONE:
            others.append(f"QuantEcon: {shown}")
            factors.append(times(best[0], ours["seconds"]) if best else NONE)
        if numpy := place.one("peer", peer="numpy", **labels):
            others.append(f"NumPy: {cell(numpy)}")
            factors.append(times(numpy["seconds"], ours["seconds"]))
        cores = place.machine["cores"]
        where = {1: "one core", 2: "two cores"}.get(cores, f"{cores} cores")
        whole = [text.replace(" ", "\u00a0") for text in others]  # A time is not torn from its unit.
        rows.append([_solution(ours, where), cell(ours), ", ".join(whole) or NONE, ", ".join(factors) or NONE])
    return rows


def _accelerator(place: Place | None) -> list[list[str]]:
    if place is None:
        return []
    rows, where = [], place.name.removeprefix("NVIDIA ")
    if solved := place.one("solve", states=MILLION, discount=0.99, alpha=0.9, auto=True, noise_model=LOCAL):
        rows.append([_solution(solved, where), cell(solved), NONE, NONE])
    learned = place.one("irl", states=MILLION)
    if learned and learned["steps"] >= 200:
        what = f"robust MCE IRL, {_about(learned['states'])} states, {learned['steps']} steps, {where}"
        rows.append([what, seconds(learned["seconds"]), NONE, NONE])
    return rows


def _solution(row: Row, where: str) -> str:
    return f"robust planning, {_about(row['states'])} states, γ = {row['discount']:g}, {where}"


def _about(states: int) -> str:
    """Return a power of ten where it is one, give or take five percent: grids are squares."""
    power = round(math.log10(states))
    near = abs(math.log(states / 10**power)) < 0.05
    return f"10{''.join('⁰¹²³⁴⁵⁶⁷⁸⁹'[int(digit)] for digit in str(power))}" if near else count(states)


def quantecon(place: Place, states: int, discount: float) -> str:
    """Return QuantEcon's fastest method, or what they all took at least."""
    best = best_peer(place, "quantecon", states, discount)
    if best:
        short = {"modified_policy_iteration": "MPI", "value_iteration": "VI", "policy_iteration": "PI"}
        return f"{seconds(best[0])} ({short[best[1]]})"
    rows = place.find("peer", peer="quantecon", states=states, discount=discount)
    return f"> {seconds(min(row['more_than'] for row in rows))}" if rows else NONE


def times(theirs: float, ours: float) -> str:
    """Return a ratio to two digits, which is what it is worth.

    Example:
        >>> times(52.0, 0.0389), times(1.5, 0.25)
        ('1300', '6')
    """
    digits = f"{theirs / ours:.2g}"
    return f"{float(digits):.0f}" if float(digits) >= 10 else digits


def renew(readme: str, results: Results) -> str:
    """Return the README with this table between its marks, or as it is where it has none."""
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.S)
    return pattern.sub(lambda _: f"{BEGIN}\n\n{front_table(results)}\n\n{END}", readme)
