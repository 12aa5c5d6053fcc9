"""Compiled programs: arrays traced, the rest static, and the oldest released."""

import gc
import weakref

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl._runtime import BoundedJit


def counted(**options):
    """A compiled function, and the list of the shapes that it was traced for."""
    traced = []

    def function(x, factor):
        traced.append((np.shape(x), factor))
        return {"product": factor * x, "word": "kept", "nothing": None}

    return BoundedJit(function, **options), traced


def test_a_program_serves_all_numbers_of_one_shape():
    program, traced = counted()
    for number in (1.0, 2.0, 3.0):
        assert program(jnp.full(2, number), 3)["product"].tolist() == [3 * number] * 2
    assert traced == [((2,), 3)]
    program(np.ones(2, np.float32), 3)
    program(jnp.ones(2), 4)
    program(jnp.ones(3), 4)
    assert traced[-2:] == [((2,), 4), ((3,), 4)]


def test_what_is_not_an_array_comes_back_as_it_is():
    program, _ = counted()
    for _ in range(2):
        found = program(jnp.ones(1), 2)
        assert (found["word"], found["nothing"]) == ("kept", None)


def test_the_program_not_used_for_longest_is_released():
    program, traced = counted(max_programs=2)
    for size in (1, 2, 1, 3, 1):
        program(jnp.ones(size), 1)
    assert len(program) == 2
    assert [shape for shape, _ in traced] == [(1,), (2,), (3,)]
    program(jnp.ones(2), 1)
    assert [shape for shape, _ in traced][3:] == [(2,)]


def test_a_released_program_lets_go_of_what_it_was_compiled_for():
    class Setting:
        pass

    setting = Setting()
    program = BoundedJit(lambda x, setting: x + 1)
    program(jnp.ones(2), setting)
    alive = weakref.ref(setting)
    del setting
    gc.collect()
    assert alive() is not None
    program.clear()
    assert alive() is None  # At once: a command looks for garbage rarely.
    assert len(program) == 0


def test_arguments_go_by_position():
    with pytest.raises(TypeError, match="by position"):
        counted()[0](x=jnp.ones(2), factor=1)
