"""Options that several commands share: where to compute, and with how many processes."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from robustirl.cli.console import run_with_progress
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count
from robustirl.sweeps import Engine, Outcome, check_specs, compute


@dataclasses.dataclass(frozen=True)
class Where:
    """Where to compute."""

    engine: Literal["local", "ray"] = "local"
    """What does the runs: processes of this machine, or tasks on a Ray cluster (pip install 'robustirl[ray]')."""
    address: str | None = None
    """The Ray cluster, host:port or auto; if omitted, Ray is started on this machine alone."""
    workers: int | None = None
    """Processes of this machine; if omitted, one per core for long sweeps on a CPU, otherwise one."""


HERE = Where()


def engine_of(where: Where) -> Engine | None:
    """Return the engine that was asked for; None stands for processes of this machine.

    Example:
        >>> engine_of(Where("ray", "10.0.0.1:6379")).address
        '10.0.0.1:6379'
    """
    if where.workers is not None:
        as_count("--workers", where.workers, 1)
    if where.engine == "local":
        if where.address is not None:
            raise InvalidInputError(f"--address is {where.address!r}, but only Ray has one; add --engine ray.")
        return None
    if where.workers is not None:
        raise InvalidInputError(
            f"--workers is {where.workers}, but a Ray cluster has its own number of workers; omit it, or --engine ray."
        )
    from robustirl.sweeps import RayEngine

    return RayEngine(where.address)


def run_specs(specs: Sequence[Any], out: Path, where: Where) -> Outcome:
    """Check runs and do those that a folder lacks, with bars; say what was done and written."""
    check_specs(specs)
    engine = engine_of(where)
    return run_with_progress(
        lambda progress: compute(specs, out, progress, engine=engine, workers=where.workers), len(specs)
    )
