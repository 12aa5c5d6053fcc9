"""The discriminator on a few steps, beside values computed by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control import Segment
from robustirl.control.networks import Network, Scale
from robustirl.irl.adversarial import discriminator as module
from robustirl.irl.adversarial.config import ImitationConfig
from robustirl.irl.adversarial.discriminator import Discriminator, LearnedReward, _loss, inputs_of
from robustirl.irl.adversarial.result import states_gap

SCALE = Scale(jnp.array([1.0]), jnp.array([4.0]), jnp.array(5.0))


def _line(*weights: float, bias: float) -> Network:
    """A network without hidden layers: a line."""
    network = Network.create(len(weights), (), key=jax.random.key(0))
    parts = (jnp.array([weights]), jnp.array([bias]))
    return eqx.tree_at(lambda n: (n.layers[0].weight, n.layers[0].bias), network, parts)


def test_what_is_seen_of_a_step():
    before, after = jnp.array([[3.0], [-50.0]]), jnp.array([[-1.0], [50.0]])
    np.testing.assert_allclose(inputs_of(SCALE, "transitions", before, after), [[1, -1], [-10, 10]])
    np.testing.assert_allclose(inputs_of(SCALE, "states", before, after), [[-1], [10]])


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("logit", lambda x: x),
        ("positive", lambda x: np.log1p(np.exp(x))),
        ("negative", lambda x: -np.log1p(np.exp(-x))),
    ],
)
def test_the_three_forms_of_a_reward(form, expected):
    reward = LearnedReward(_line(0.5, -2.0, bias=0.25), SCALE, "transitions", form)
    logit = 0.5 * 1.0 - 2.0 * -1.0 + 0.25
    np.testing.assert_allclose(reward(jnp.array([[3.0]]), jnp.array([[-1.0]])), [expected(logit)], rtol=1e-6)


def test_the_loss_is_logistic_with_a_penalty_on_slopes():
    network = _line(3.0, -4.0, bias=0.5)
    expert = jnp.array([[1.0, 0.0], [0.0, 2.0], [2.0, 0.0]])
    mixture = jnp.array([[0.0, 0.0], [0.0, 0.5], [1.0, 0.0]])
    loss, right = _loss(network, expert, mixture, (expert + mixture) / 2, 0.7)
    real, made = np.array([3.5, -7.5, 6.5]), np.array([0.5, -1.5, 3.5])
    plain = np.log1p(np.exp(-real)).mean() + np.log1p(np.exp(made)).mean()
    np.testing.assert_allclose(loss, plain + 0.7 * (5 - 1) ** 2, rtol=1e-6)  # The slope is (3, -4) everywhere.
    assert float(right) == pytest.approx((2 / 3 + 1 / 3) / 2)  # Two of the expert's steps, and one of the others.
    assert float(_loss(_line(0.0, 0.0, bias=0.0), expert, mixture, expert, 0.0)[1]) == 0  # Zero tells nothing.


@pytest.mark.parametrize(("sees", "width"), [("transitions", 2), ("states", 1)])
def test_what_a_discriminator_begins_with(sees, width):
    steps = jnp.zeros((3, 1))
    judge = Discriminator(
        steps, steps, jnp.array(2), SCALE, ImitationConfig(sees=sees, reward="logit", hidden=(4,), learning_rate=0.02)
    )
    network, _ = judge.create(jax.random.key(0))
    assert network.layers[0].weight.shape == (4, width)
    rule = judge._rule()
    state, changes = rule.init(jnp.zeros(1)), []
    for slope in (1.0, -1.0):
        change, state = rule.update(jnp.array([slope]), state)
        changes.append(float(jnp.asarray(change)[0]))
    # Adam's mean of slopes with b1 = ½: ½ of ½ is 1, and (¼ - ½) / ¾ is -⅓.
    np.testing.assert_allclose(changes, [-0.02, 0.02 / 3], rtol=1e-4)


def test_the_distance_of_samples_in_one_dimension():
    first, second = np.linspace(-1, 1, 401)[:, None], np.linspace(-2, 4, 401)[:, None]
    # Quantiles are 2q - 1 and 6q - 2: the mean of |4q - 1| is 2 · ¼² + 2 · ¾² = 5/4, in deviations of the first.
    assert states_gap(first, second) == pytest.approx(1.25 / first.std(), rel=1e-3)
    still = np.zeros((5, 1))  # A deviation is at least a thousandth.
    assert states_gap(still, still + 0.002) == pytest.approx(2.0)


def test_slopes_are_asked_for_between_the_expert_and_the_mixture(monkeypatch):
    def loss(network, expert, mixture, middle, penalty):
        nothing = 0 * sum(leaf.sum() for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_array)))
        # Shares of the way from the mixture to the expert, the smallest and the largest.
        share = (middle - mixture) / (expert - mixture)
        return nothing + penalty * share.min(), share.max()

    monkeypatch.setattr(module, "_loss", loss)
    config = ImitationConfig(
        sees="states", reward="positive", hidden=(4,), batch=200, discriminator_steps=1, penalty=2.0
    )
    steps = jnp.full((3, 1), 5.0)  # Of which the last one is no step of the expert.
    judge = Discriminator(steps, steps.at[2].set(1e3), jnp.array(2), SCALE, config)
    seen, numbers = jnp.full((4, 2, 1), -1.0), jnp.zeros((4, 2))
    flags = numbers > 0
    segment = Segment(seen, seen, seen, flags, numbers, numbers, flags, flags, numbers, numbers.astype(int))
    _, rewards, report = judge.judge(judge.create(jax.random.key(0)), segment, jax.random.key(1))
    assert rewards.shape == (4, 2)
    assert 0 <= float(report["loss"]) / 2 < 0.05
    assert 0.95 < float(report["accuracy"]) <= 1
