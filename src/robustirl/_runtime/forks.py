"""Refuse to compute in a process that was forked from one in which JAX was at work.

JAX computes with threads. A fork copies the process without them, so that the first computation of the child waits for
threads that do not exist, without end. Processes that are spawned are not concerned.
"""

import os
import sys

from robustirl.errors import RobustIRLError

_forked = False


def jax_is_at_work() -> bool:
    """Return whether JAX has started its threads.

    If JAX cannot be asked, the answer is False.
    """
    bridge = sys.modules.get("jax._src.xla_bridge")
    started = getattr(bridge, "backends_are_initialized", None)
    return started is not None and bool(started())


def _note_fork() -> None:
    global _forked
    _forked = _forked or jax_is_at_work()  # A fork before JAX has started its threads does no harm.


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def require_no_fork() -> None:
    """Refuse to go on in a process in which no computation would ever end."""
    if _forked:
        raise RobustIRLError(
            "this process was forked from one in which JAX was at work, and JAX's threads are not in it, so that no"
            ' computation would end; start processes with multiprocessing.get_context("spawn"), or fork before'
            " anything is computed."
        )
