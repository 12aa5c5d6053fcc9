"""`results.csv`: one row a run, written whole or not at all."""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

from robustirl.errors import InvalidInputError
from robustirl.experiments.specs import Record, RunSpec

COLUMNS = (
    "environment",
    "noise_model",
    "learner_noise",
    "expert_noise",
    "alpha",
    "seed",
    "return",
    "optimal_return",
    "occupancy_gap",
    "steps",
    "seconds",
    "verdict",
)


def results_csv(records: Sequence[Record]) -> str:
    """The table as text, numbers in full precision."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for record in records:
        spec = record.spec
        writer.writerow(
            (
                spec.environment,
                spec.noise_model,
                repr(spec.learner_noise),
                repr(spec.expert_noise),
                repr(spec.alpha),
                spec.seed,
                repr(record.total_return),
                repr(record.optimal_return),
                repr(record.occupancy_gap),
                record.steps,
                f"{record.seconds:.6f}",
                record.verdict,
            )
        )
    return buffer.getvalue()


def read_results(path: Path, specs: Sequence[RunSpec]) -> list[Record]:
    """The records of a table written by `results_csv`, as far as they are of these specs; none if there is no table."""
    if not path.exists():
        return []
    known = {_identity(spec): spec for spec in specs}
    records = []
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")), strict=True))
        if rows and tuple(rows[0]) != COLUMNS:
            raise ValueError("its columns are others")
        for row in rows:
            noises = float(row["learner_noise"]), float(row["expert_noise"])
            identity = row["environment"], row["noise_model"], *noises, float(row["alpha"]), int(row["seed"])
            records.append(
                Record(
                    spec=known[identity],
                    total_return=float(row["return"]),
                    optimal_return=float(row["optimal_return"]),
                    occupancy_gap=float(row["occupancy_gap"]),
                    steps=int(row["steps"]),
                    seconds=float(row["seconds"]),
                    verdict=row["verdict"],
                )
            )
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise InvalidInputError(
            f"{path} is damaged ({error}); move it away to start over, or choose another --out."
        ) from None
    return records


def _identity(spec: RunSpec) -> tuple[str, str, float, float, float, int]:
    return (spec.environment, spec.noise_model, spec.learner_noise, spec.expert_noise, spec.alpha, spec.seed)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace the file by one with this content, or leave it as it was: no reader ever sees half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
