"""Wait for compiled programs so that Ctrl-C is answered.

A program that XLA runs cannot be interrupted, and Python sees no signal while it is blocked in one. XLA computes in
threads of its own, so that this thread can look at the result from time to time and be interrupted in between. The
program then runs to its end in the background. Programs of few operations a step (worlds of about ten states) are run
by XLA in the calling thread, and are still waited for.
"""

import time
from typing import TypeVar

import jax
from jax.core import Tracer

Values = TypeVar("Values")

SPIN_SECONDS = 0.002  # Most small programs end within this time, for which sleeping would be too coarse.
LONGEST_SLEEP = 0.05


def wait_interruptibly(values: Values) -> Values:
    """Return values once they are computed; a KeyboardInterrupt is raised at once.

    What is not an array on a device, or is being traced, is passed over.

    Example:
        >>> float(wait_interruptibly(jax.numpy.ones(())))
        1.0
    """
    waiting = [leaf for leaf in jax.tree.leaves(values) if isinstance(leaf, jax.Array) and not isinstance(leaf, Tracer)]
    begun, pause = time.monotonic(), 1e-4
    for leaf in waiting:
        while not leaf.is_ready():  # pyright: ignore[reportAttributeAccessIssue]
            if time.monotonic() - begun < SPIN_SECONDS:
                time.sleep(0)
            else:
                time.sleep(pause)
                pause = min(1.5 * pause, LONGEST_SLEEP)
    return values
