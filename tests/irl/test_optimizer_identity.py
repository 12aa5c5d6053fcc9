"""Equal optimizers are found to be one, and those that differ anywhere are not."""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from robustirl.irl import ADAM, LBFGS
from robustirl.irl import _optimizer_identity as identity
from robustirl.irl._optimizer_identity import canonical_optimizer

RATE = 0.1


def schedule(rate):
    def at(step):
        return rate / (1 + step)

    return at


MAKERS = {
    "adam": lambda rate: optax.adam(rate, b2=0.99),
    "sgd": lambda rate: optax.sgd(rate, momentum=0.9, nesterov=True),
    "chain": lambda rate: optax.chain(optax.clip(0.01), optax.add_decayed_weights(0.01), optax.adamw(rate)),
    "decay": lambda rate: optax.adam(optax.exponential_decay(rate, 300, 0.4)),
    "own schedule": lambda rate: optax.adam(schedule(rate)),
    "lambda": lambda rate: optax.sgd(lambda step: rate * 0.5**step),
    "array": lambda rate: optax.adam(jnp.asarray(rate)),
    "lbfgs": lambda rate: optax.lbfgs(rate, memory_size=5),
    "injected": lambda rate: optax.inject_hyperparams(optax.adam)(learning_rate=rate),
    "masked": lambda rate: optax.masked(optax.sgd(rate), {"a": True, "b": False}),
}


@pytest.mark.parametrize("name", MAKERS)
def test_equal_optimizers_are_one_and_another_rate_makes_another(name):
    make = MAKERS[name]
    first = canonical_optimizer(make(0.1))
    assert canonical_optimizer(make(0.1)) is first
    assert canonical_optimizer(make(0.2)) is not first
    assert canonical_optimizer(make(0.1)) is first


def test_kinds_of_numbers_are_told_apart():
    first = canonical_optimizer(optax.sgd(1.0))
    assert canonical_optimizer(optax.sgd(1)) is not first
    assert canonical_optimizer(optax.sgd(0.0)) is not canonical_optimizer(optax.sgd(-0.0))


def test_named_optimizers_are_equal_to_themselves_made_anew():
    assert canonical_optimizer(ADAM) is canonical_optimizer(optax.adam(0.5, b1=0.9, b2=0.99, eps=1e-7))
    assert canonical_optimizer(LBFGS) is canonical_optimizer(optax.lbfgs(memory_size=20))


def global_schedule(step):
    return RATE / (1 + step)


def test_a_global_that_a_function_reads_counts(monkeypatch):
    first = canonical_optimizer(optax.sgd(global_schedule))
    assert canonical_optimizer(optax.sgd(global_schedule)) is first
    monkeypatch.setitem(globals(), "RATE", 0.2)
    assert canonical_optimizer(optax.sgd(global_schedule)) is not first


class Setting:
    rate = 0.1


def test_an_object_that_may_change_makes_an_optimizer_equal_to_itself_alone():
    setting = Setting()
    one, two = (optax.sgd(lambda step: setting.rate) for _ in range(2))
    assert canonical_optimizer(one) is one
    assert canonical_optimizer(two) is two


def test_few_are_remembered(monkeypatch):
    monkeypatch.setattr(identity, "MAX_REMEMBERED", 3)
    first = canonical_optimizer(optax.sgd(1.25))
    for rate in (1.5, 1.75, 2.0):
        canonical_optimizer(optax.sgd(rate))
    assert len(identity._known) == 3
    assert canonical_optimizer(optax.sgd(1.25)) is not first


@dataclasses.dataclass(frozen=True)
class Fixed:
    rate: float


def test_contents_are_compared_all_the_way_down():
    def content(value):
        return identity._content(value, {})

    assert content({1, 2}) == content({2, 1}) != content(frozenset({1, 2}))
    assert content([1, (2, "a")]) == content([1, (2, "a")]) != content([1, [2, "a"]])
    assert content({"a": 1}) != content({"a": 1.0})
    assert content(np.arange(3)) == content(jnp.arange(3).astype(int)) != content(np.arange(3).reshape(1, 3))
    assert (
        content(functools.partial(max, 1)) == content(functools.partial(max, 1)) != content(functools.partial(max, 2))
    )
    assert content(Fixed(0.5)) == content(Fixed(0.5)) != content(Fixed(0.25))
    assert content(Fixed(0.5).__eq__) == content(Fixed(0.5).__eq__) != content(Fixed(0.25).__eq__)
    assert content(np.tanh) == content(np.tanh) != content(np.sin)
    endless = [1]
    endless.append(endless)
    assert content(endless) == (list, ((int, "1"), ("seen before", 0)))
    for changing in (Setting(), dataclasses.make_dataclass("Loose", [("rate", float)])(0.5), pytest):
        with pytest.raises(identity._OpaqueError):
            content(changing)
