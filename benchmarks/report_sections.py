"""The later sections of `docs/benchmarks.md`: memory, what solving is made of, learning, continuous worlds."""

import plots
from reading import LOCAL, NOISES, Results, cell, count, places, seconds, size_of, table


def memory(results: Results, names: dict[str, str]) -> str:
    """Return bytes by kernel and size."""
    body = []
    for device, place in places(results):
        for noise_model in NOISES:
            for row in place.find("memory", noise_model=noise_model):
                world = place.one("world", states=row["states"], noise_model=noise_model) or {}
                kernel = world.get("kernel_bytes", 0)
                entry = [device, f"`{world.get('kernel', '–')}`", count(row["states"]), count(kernel / row["states"])]
                entry += [count(row["bytes_a_state"]), size_of(row["solving_bytes"]), size_of(row["process_bytes"])]
                body.append(entry)
    head = ("device", "kernel", "states", "kernel, bytes a state", "solving, bytes a state", "solving", "process")
    return (
        "## Memory\n\nSolving is the world's arrays and what a warm solve adds to them at its peak; the process is the"
        " peak of a fresh one beyond its imports, with the making of the world and the compiler in it. On a GPU both"
        f" are the peak of bytes in use there.\n\n![bytes over states]({names['scale-memory']})\n\n{table(head, body)}"
    )


def profile(results: Results) -> str:
    """Return products and sweeps against the speed of memory."""
    parts = [
        "## What solving is made of",
        "A product is P x for the chain of a policy, five diagonals on a grid; a sweep is one backup of value"
        " iteration. Bytes are those of the diagonals, of x and of the result, read and written once.",
    ]
    for device, place in places(results):
        stream = place.one("bandwidth")
        body = []
        for row in place.find("product"):
            sweep = place.one("sweep", states=row["states"], precision=row["precision"])
            rate = row["bytes_a_second"]
            share = f"{100 * rate / stream['bytes_a_second']:.0f} %" if stream else "–"
            line = [count(row["states"]), row["precision"], seconds(row["seconds"]), size_of(row["bytes"])]
            body.append([*line, f"{size_of(rate)}/s", share, cell(sweep)])
        head = ("states", "precision", "product", "moved", "speed", "of a·x + y", "sweep")
        speed = (
            f" (a·x + y on {count(stream['doubles'])} doubles: {size_of(stream['bytes_a_second'])}/s)" if stream else ""
        )
        parts.append(f"{device}{speed}:\n\n" + table(head, body))
    return "\n\n".join(parts)


def learning(results: Results, names: dict[str, str]) -> str:
    """Tabulate IRL by the step, many small runs, and the occupancy solve."""
    body, batches, visits = [], [], []
    for device, place in places(results):
        for row in place.find("irl"):
            line = [
                device,
                count(row["states"]),
                str(row["steps"]),
                seconds(row["seconds_a_step"]),
                seconds(row["seconds"]),
            ]
            body.append([*line, f"{row['first_gap']:.3g} → {row['gap']:.3g}", row["status"]])
        for row in place.find("batch"):
            line = [
                device,
                str(row["runs"]),
                str(row["calls"]),
                seconds(row["seconds"]),
                seconds(row["seconds"] / row["runs"]),
            ]
            batches.append([*line, seconds(row["compilation"]), str(row["failed"])])
        for states in place.sizes():
            labels = {"states": states, "noise_model": LOCAL}
            found = [place.one("occupancy", discount=d, **labels) for d in plots.DISCOUNTS]
            visits.append([device, count(states), *map(cell, found)])
    parts = [
        "## Learning",
        "Robust IRL with α = 0.9 and γ = 0.99, from the occupancy of an expert whose noise is 0.1 to a learner without"
        " noise; one reward a state, the paper's Adam.",
        table(("device", "states", "steps", "a step", "in all", "occupancy gap", "verdict"), body),
    ]
    if "scale-learned" in names:
        parts.append(f"![what is learned in the largest world]({names['scale-learned']})")
    if batches:
        head = ("device", "runs", "calls", "in all", "a run", "compilation", "ended early")
        parts.append("The runs of the paper's figures (75 an environment, 200 steps each):\n\n" + table(head, batches))
        parts.append(
            "A run ends early, and its verdict says so, when float64 can no longer promise the policy of its next"
            " reward; that happens where a network's reward grows to 10⁷."
        )
    head = ("device", "states", *(f"γ = {d:g}" for d in plots.DISCOUNTS))
    parts.append("The occupancy of one policy, local noise:\n\n" + table(head, visits))
    return "\n\n".join(parts)


def continuous(results: Results) -> str:
    """Return the continuous experiment, where it was run."""
    body = []
    for found in results.continuous:
        machine = found["machine"]
        for kind, row in found["kinds"].items():
            line = [str(machine["device_kind"]), machine["date"][:10], found["algorithm"], kind, count(row["runs"])]
            body.append([*line, str(row["failed"]), seconds(row["warm_seconds_a_run"])])
        line = [str(machine["device_kind"]), machine["date"][:10], found["algorithm"], "all", "", "", ""]
        body.append(
            [*line[:-1], f"{seconds(found['warm_seconds'])} + {seconds(found['compilation_seconds'])} compiling"]
        )
    if not body:
        return ""
    head = ("device", "date", "algorithm", "kind", "runs", "failed", "warm, a run")
    return "## The continuous experiment\n\n" + table(head, body)
