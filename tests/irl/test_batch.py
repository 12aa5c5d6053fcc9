"""Batches: what is given several times is handed over once, and stacks come apart again."""

import jax
import jax.numpy as jnp
import numpy as np

from robustirl.irl._batch import make_once, one_for_each, stack, unstack


def test_what_is_given_several_times_is_stacked_in_its_places(refused):
    one, two = (jnp.zeros(2), jnp.asarray(1.0)), (jnp.ones(2), jnp.asarray(2.0))
    vectors, numbers = stack([one, two, one], "world")
    assert vectors.tolist() == [[0, 0], [1, 1], [0, 0]]
    assert numbers.tolist() == [1, 2, 1]
    assert stack([one, two], "world")[1].tolist() == [1, 2]
    with refused("the worlds of one batch differ in shape or kind"):
        stack([one, two, (jnp.zeros(3), jnp.asarray(1.0))], "world")


def test_the_same_arguments_are_checkedmake_once():
    made = make_once(lambda first, second: [first, second], ["a", "b", "a", "a"], ["c", "c", "c", "d"])
    assert made == [["a", "c"], ["b", "c"], ["a", "c"], ["a", "d"]]
    assert made[0] is made[2]
    assert made[0] is not made[3]


def test_a_stack_comes_apart_into_its_items():
    one, two = (jnp.zeros(2), jnp.asarray(1.0)), (jnp.ones(2), jnp.asarray(2.0))
    first, second = unstack(stack([one, two], "world"), 2)
    assert [first[0].tolist(), first[1].item()] == [[0, 0], 1]
    assert [second[0].tolist(), second[1].item()] == [[1, 1], 2]


def test_one_value_serves_all_and_a_list_is_taken_as_it_is():
    assert one_for_each(0.9, 2) == [0.9, 0.9]
    assert one_for_each("auto", 2) == ["auto", "auto"]
    assert one_for_each([1.0], 2) == [1.0]
    assert list(one_for_each(np.array([1.0, 0.5]), 2)) == [1.0, 0.5]


def test_random_keys_are_stacked_on_the_device():
    first, second = jax.random.key(1), jax.random.key(2)
    for keys in ([first, second], [first, second, first]):
        found = stack(keys, "key")
        assert jax.random.key_data(found).tolist() == [jax.random.key_data(key).tolist() for key in keys]
