"""Small arrays are made on the host, also beside an accelerator."""

import pytest

from robustirl._runtime import placement


@pytest.mark.usefixtures("mistyped")
def test_small_arrays_are_made_beside_an_accelerator(monkeypatch):
    asked = []
    monkeypatch.setattr(placement.jax, "default_device", asked.append)
    monkeypatch.setattr(placement.jax, "local_devices", lambda backend: [f"first {backend}", "second"])
    placement.on_host()
    assert asked == []  # Here the CPU is what computes.
    monkeypatch.setattr(placement.jax, "default_backend", lambda: "gpu")
    placement.on_host()
    assert asked == ["first cpu"]

    def none(backend):
        raise RuntimeError("no CPU")

    monkeypatch.setattr(placement.jax, "local_devices", none)
    with placement.on_host():
        assert asked == ["first cpu"]
