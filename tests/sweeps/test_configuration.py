"""What decides digits is recorded: settings of libraries, too, where they are not the usual ones."""

import jax

from robustirl.sweeps.configuration import configuration, difference


def test_settings_that_change_digits_are_recorded(monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    usual = configuration()
    assert not {"openblas_coretype", "jax_disable_jit"} & usual.keys()
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    with jax.disable_jit():
        found = configuration()
    assert found == {**usual, "openblas_coretype": "Nehalem", "jax_disable_jit": "True"}
    assert (
        difference(usual, found) == "openblas_coretype None there, Nehalem here; jax_disable_jit None there, True here"
    )
