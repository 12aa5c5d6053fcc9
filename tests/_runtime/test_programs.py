"""Compiled programs: arrays traced, the rest static, and the oldest released."""

import gc
import pathlib
import weakref

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl._runtime import BoundedJit, programs


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


def test_where_most_maps_are_taken_the_older_half_of_all_programs_is_released(monkeypatch):
    one, other = BoundedJit(lambda x: x + 1), BoundedJit(lambda x: x + 2)
    monkeypatch.setattr(programs, "_FUNCTIONS", {one, other})
    for function, size in ((one, 1), (one, 2), (other, 1), (other, 2), (one, 1)):
        function(np.ones(size))
    monkeypatch.setattr(programs, "count_maps", lambda: 0.6 * programs._most_maps())
    one(np.ones(3))
    assert (len(one), len(other)) == (3, 2)  # There is room still.
    monkeypatch.setattr(programs, "count_maps", lambda: 0.6 * programs._most_maps() + 1)
    other(np.ones(2))  # Known already: nothing is compiled or released.
    assert (len(one), len(other)) == (3, 2)
    other(np.ones(3))  # The last used of five were of 1 and 3 in the first function, and of 2 in the second.
    assert (len(one), len(other)) == (2, 2)
    assert other(np.ones(1)).tolist() == [3.0]  # Compiled again.


def test_maps_are_counted():
    maps = pathlib.Path("/proc/self/maps")
    found, listed = programs.count_maps(), len(maps.read_text().splitlines()) if maps.exists() else 0
    assert abs(found - listed) < 50
