"""Where commands compute: options that several of them share."""

import dataclasses
from typing import Literal

from robustirl.errors import InvalidInputError
from robustirl.sweeps import Engine


@dataclasses.dataclass(frozen=True)
class Where:
    """Where to compute."""

    engine: Literal["local", "ray"] = "local"
    """What does the runs: processes of this machine, or tasks on a Ray cluster (pip install 'robustirl[ray]')."""
    address: str | None = None
    """The Ray cluster, host:port or auto; left out, Ray is started on this machine alone."""


HERE = Where()


def engine_of(where: Where) -> Engine | None:
    """The engine that was asked for; nothing stands for processes of this machine.

    Example:
        >>> engine_of(Where("ray", "10.0.0.1:6379")).address
        '10.0.0.1:6379'
    """
    if where.engine == "local":
        if where.address is not None:
            raise InvalidInputError(f"--address is {where.address!r}, but only Ray has one; add --engine ray.")
        return None
    from robustirl.sweeps import RayEngine

    return RayEngine(where.address)
