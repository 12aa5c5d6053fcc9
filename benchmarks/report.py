"""Write `docs/benchmarks.md` and its figures from the result files; no number on the page is typed by hand.

python benchmarks/report.py --results benchmarks/results --page docs/benchmarks.md
"""

import argparse
import sys
from pathlib import Path

import plots
from front_table import BEGIN, quantecon, renew
from reading import LOCAL, NOISES, Results, cell, count, places, read, table
from report_sections import continuous, learning, memory, profile
from robustirl._runtime import write_atomically
from targets import targets

METHODS = ("value-iteration", "newton", "newton-krylov", "newton-sparse")
REPEAT = """## To repeat

```
make bench                                   # the processor, with the peers in environments of their own
python benchmarks/scale.py --budget 230 --out benchmarks/results/scale-gpu.json --picture benchmarks/results/irl-gpu.npz
python benchmarks/continuous.py --seeds 20   # the continuous experiment, on whatever device is there
python benchmarks/report.py                  # this page, from the files in benchmarks/results
```

`scale.py` measures the GPU where JAX finds one, and needs no more there than JAX, Equinox, Optax, NumPy and SciPy. A
time is the smallest of several warm calls, float64, to 1e-10; compilation is apart. Ratios are of numbers from one run
on one machine.
"""

SHOWN = {"scale-time": "seconds over states", "scale-memory": "bytes over states"}


def main() -> None:
    """Read, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"), help="folder of result files")
    parser.add_argument("--page", type=Path, default=Path("docs/benchmarks.md"), help="the page to write")
    options = parser.parse_args()
    results = read(options.results)
    if not (results.cpu or results.gpu):
        sys.exit(f"{options.results} holds no result of scale.py; run that first, with --out in that folder.")
    figures = plots.draw(results, options.page.parent / "images")
    data = options.page.parent / "data" / f"{options.page.stem}.md"
    data.parent.mkdir(exist_ok=True)
    write_atomically(options.page, page(results, figures))
    write_atomically(data, tables(results, figures))
    written = [options.page, data, *figures]
    readme = options.page.resolve().parents[1] / "README.md"  # Its table of speed is made of the same files.
    if readme.exists() and BEGIN in readme.read_text(encoding="utf-8"):
        write_atomically(readme, renew(readme.read_text(encoding="utf-8"), results))
        written.append(readme)
    print(f"wrote {', '.join(str(path) for path in written)}")


def page(results: Results, figures: list[Path]) -> str:
    """Return the page: machines, aims, and the figures; the tables behind them are a file of their own."""
    names = {path.stem: f"images/{path.name}" for path in figures}
    parts = [
        "# Benchmarks",
        "Written by `benchmarks/report.py` from the files in `benchmarks/results`; change those, not this page.",
        machines(results),
        aims(results),
        "## Size",
        *(f"![{title}]({names[name]})" for name, title in SHOWN.items() if name in names),
        "All tables (time and memory over size, which solver wins where, what solving is made of, learning, the"
        " continuous experiment) are in `docs/data/benchmarks.md`.",
        REPEAT.strip(),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def tables(results: Results, figures: list[Path]) -> str:
    """Return the tables behind the page."""
    names = {path.stem: f"../images/{path.name}" for path in figures}
    parts = [
        "# Benchmarks: all tables",
        "Written by `benchmarks/report.py` from the files in `benchmarks/results`; change those, not this file.",
        growth(results, names),
        solvers(results),
        memory(results, names),
        profile(results),
        learning(results, names),
        continuous(results),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def machines(results: Results) -> str:
    """Return what was measured on what, and when."""
    body = []
    for device, place in places(results):
        machine = place.machine
        versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
        body.append([device, place.name, machine["date"][:10], f"Python {machine['python']}, {versions}"])
        for peer in ("numpy", "quantecon"):
            if row := place.one("peer", peer=peer):
                body.append([device, f"peer: {peer}", machine["date"][:10], row["version"]])
    small = results.small
    if small:
        date, version = small["machine"]["date"], small.get("imitation", {}).get("version", "not run")
        body.append(["CPU", "peer: imitation", date, version])
    return "## Machines\n\n" + table(("device", "what", "date", "versions"), body)


def aims(results: Results) -> str:
    """Return aims against measurements, and a profile for each that is missed."""
    found = targets(results)
    body = []
    for aim in found:
        shown = "–" if aim.measured is None else aim.show(aim.measured)
        body.append([aim.name, ("≥ " if aim.at_least else "≤ ") + aim.show(aim.goal), shown, aim.verdict])
    reasons = [f"- {aim.name}: {aim.why}" for aim in found if "missed" in aim.verdict and aim.why]
    text = "## Aims and measurements\n\n" + table(("what", "aim", "measured", ""), body)
    note = "A solve is of the slower of two noise models (local, and one that fills all rows), α = 0.9."
    note += " [Large worlds](data/large-worlds.md) has newer times of the largest, measured by themselves."
    return text + f"\n\n{note}" + ("\n\nWhere an aim is missed:\n\n" + "\n".join(reasons) if reasons else "")


def growth(results: Results, names: dict[str, str]) -> str:
    """Return seconds of one solution over sizes."""
    parts = [
        "## Time over size",
        "One robust soft solution (a soft one for α = 1) of the paper's first grid at any size, noise 0.1, to 1e-10."
        " Local noise draws one of the cell's own moves; noise that fills rows leads to any state, and is kept as a"
        " rank-one term. Hollow marks in the figure and `~` in tables are extrapolated from some sweeps.",
        f"![seconds over states]({names['scale-time']})",
    ]
    head = ["states", *(f"γ = {d:g}, α = {a:g}" for d in plots.DISCOUNTS for a in (1.0, 0.9))]
    for device, place in places(results):
        for noise_model, noise in NOISES.items():
            body = []
            for states in place.sizes():
                labels = {"states": states, "noise_model": noise_model, "auto": True}
                found = [place.one("solve", discount=d, alpha=a, **labels) for d in plots.DISCOUNTS for a in (1.0, 0.9)]
                body += [[count(states), *map(cell, found)]] if any(found) else []
            parts += [f"{device}, {noise}:\n\n" + table(head, body)] if body else []
    return "\n\n".join([*parts, *peers(results)])


def peers(results: Results) -> list[str]:
    """Return ours beside others', in one run on one machine."""
    body = []
    for discount in plots.DISCOUNTS:
        for states in results.cpu.sizes() if results.cpu else []:
            assert results.cpu is not None
            labels = {"states": states, "discount": discount}
            ours = results.cpu.one("solve", noise_model=LOCAL, alpha=0.9, auto=True, **labels)
            numpy = results.cpu.one("peer", peer="numpy", **labels)
            if ours and numpy:
                line = [
                    f"{discount:g}",
                    count(states),
                    cell(ours),
                    cell(numpy),
                    quantecon(results.cpu, states, discount),
                ]
                body.append([*line, f"{numpy['seconds'] / ours['seconds']:.3g}"])
    if not body:
        return []
    text = (
        "Peers on the same processor, local noise, ours at α = 0.9. NumPy iterates over lists of successors, to the"
        " same 1e-10. QuantEcon solves an easier problem, one player and a hard maximum, to 1e-8; its fastest method is"
        " named (value iteration, policy iteration, modified policy iteration)."
    )
    return [text, table(("γ", "states", "robustirl", "NumPy", "QuantEcon", "NumPy / ours"), body)]


def solvers(results: Results) -> str:
    """Return all methods side by side, the fastest in bold and the one `auto` takes marked."""
    parts = [
        "## Which solver wins where",
        "Cold starts, local noise, α = 0.9. The fastest is in bold, the choice of `planning.solve` has a dagger."
        " Methods that would take much longer were not run. Inside IRL, where every solve starts next to the last,"
        " small worlds profit from the inverse that `newton` keeps.",
    ]
    for device, place in places(results):
        discounts = sorted({row["discount"] for row in place.find("solve", noise_model=LOCAL)})
        shown = [method for method in METHODS if place.find("solve", method=method)]
        body = []
        for discount in discounts:
            for states in place.sizes():
                labels = {"noise_model": LOCAL, "discount": discount, "alpha": 0.9, "states": states}
                rows = {method: place.one("solve", method=method, **labels) for method in shown}
                there = [row["seconds"] for row in rows.values() if row]
                if not there:
                    continue
                line = [f"{discount:g}", count(states)]
                for row in rows.values():
                    text = cell(row) + (" †" if row and row.get("auto") else "")
                    line.append(f"**{text}**" if row and row["seconds"] == min(there) else text)
                body.append(line)
        parts.append(f"{device}:\n\n" + table(("γ", "states", *(f"`{method}`" for method in shown)), body))
    return "\n\n".join(parts)


if __name__ == "__main__":
    main()
