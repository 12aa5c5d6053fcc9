"""A device that was named and cannot be used is a sentence."""

from types import SimpleNamespace

import pytest

from robustirl.cli import devices


def test_a_device_that_cannot_be_used_is_a_sentence_if_it_was_named(monkeypatch, refused):
    def fail():
        raise error

    monkeypatch.setattr(devices.jax, "devices", fail)
    monkeypatch.setattr(devices, "os", SimpleNamespace(environ={"JAX_PLATFORMS": "cuda"}))
    error = RuntimeError("no driver.\nMore.")
    with refused("JAX_PLATFORMS is 'cuda', but JAX cannot compute there (no driver); unset it"):
        devices.require_device()
    error = RuntimeError()
    with refused("cannot compute there; unset it"):
        devices.require_device()
    monkeypatch.setattr(devices, "os", SimpleNamespace(environ={}))
    with pytest.raises(RuntimeError):
        devices.require_device()
