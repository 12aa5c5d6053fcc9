"""Whether a fork matters follows from what JAX had done before it."""

from types import SimpleNamespace

import pytest

from robustirl._runtime import forks
from robustirl.errors import RobustIRLError


@pytest.mark.parametrize(
    ("bridge", "before", "refuses"),
    [
        (None, False, False),
        (SimpleNamespace(), False, False),
        (SimpleNamespace(backends_are_initialized=lambda: False), False, False),
        (SimpleNamespace(backends_are_initialized=lambda: True), False, True),
        (SimpleNamespace(backends_are_initialized=lambda: False), True, True),
    ],
)
def test_a_fork_matters_once_jax_has_threads(monkeypatch, bridge, before, refuses):
    modules = {} if bridge is None else {"jax._src.xla_bridge": bridge}
    monkeypatch.setattr(forks, "sys", SimpleNamespace(modules=modules))
    monkeypatch.setattr(forks, "_forked", before)
    forks._note_fork()
    assert forks._forked is refuses
    if refuses:
        with pytest.raises(RobustIRLError, match="this process was forked from one in which JAX was at work"):
            forks.require_no_fork()
    else:
        forks.require_no_fork()
