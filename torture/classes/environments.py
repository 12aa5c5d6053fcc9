"""Environments in which a command cannot start: variables that JAX, XLA and their companions refuse or die of.

Each is tried in a process of its own, as a user would have it.
"""

import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from robustirl.errors import RobustIRLError
from torture.classes import SLOWEST, BadInput
from torture.targets import UnclearError

VARIABLES: dict[str, tuple[str, ...]] = {
    "XLA_FLAGS": (
        *("--xla_nonsense=1", "--xla_a --xla_b", "nonsense", "/etc", " ", "--help", "'--xla", "\x1b[31m", "9" * 5000),
        *("--xla_cpu_use_fusion_emitters=maybe", "--xla_backend_optimization_level=abc"),
        *(f"--xla_force_host_platform_device_count={count}" for count in ("0", "-3", "100000", "x")),
    ),
    "JAX_PLATFORMS": ("abacus", ",", "cpu,abacus", "\x1b[31m"),
    "JAX_NUM_CPU_DEVICES": ("0", "x"),  # Below 0 JAX takes its default.
    "JAX_ENABLE_X64": ("maybe",),
    "JAX_DEFAULT_MATMUL_PRECISION": ("wild",),
    "JAX_LOGGING_LEVEL": ("LOUD",),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": ("soon",),
    "JAX_DEFAULT_PRNG_IMPL": ("dice",),
    "JAX_TRACEBACK_FILTERING": ("x" * 5000,),
    "EQX_ON_ERROR": ("wild",),
    "JAXTYPING_DISABLE": ("maybe",),
}


def bad_environments() -> Iterator[BadInput]:
    """Yield every variable with every value that nothing can be computed with."""
    for name, values in VARIABLES.items():
        for value in values:
            yield BadInput(f"{name}={value!r:.60}", functools.partial(_start, name, value))


def _start(name: str, value: str) -> object:
    """Start a command that computes a little; raise what it says."""
    command = [sys.executable, "-m", "robustirl", "doctor"]
    done = subprocess.run(
        command,
        env={"XLA_FLAGS": "", **os.environ, name: value},
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        timeout=SLOWEST,
        check=False,
    )
    if done.returncode == 0:
        return done.stdout
    if done.returncode != 2 or done.stdout or any(Path().iterdir()):
        raise UnclearError(f"status {done.returncode}, printed {done.stdout!r:.200}, said {done.stderr!r:.500}")
    raise RobustIRLError(done.stderr.removeprefix("robustirl: ").removesuffix("\n"))
