"""`results.csv`: one row a run, written whole or not at all."""

import csv
import io
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from robustirl.experiments.specs import Record

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


def write_atomically(path: Path, text: str) -> None:
    """Replace the file by one with this text, or leave it as it was: no reader ever sees half of it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
