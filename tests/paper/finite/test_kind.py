"""Which runs of the finite experiments share a batch, a program and a context."""

import dataclasses

from robustirl.envs.noise import PUBLISHED
from robustirl.paper.finite.kind import FINITE
from robustirl.paper.finite.specs import RunSpec

SPEC = RunSpec("gridworld-1", PUBLISHED, 0.0, 0.0, 1.0, steps=7)
OTHER = dataclasses.replace(
    SPEC, learner_noise=0.1, expert_noise=0.2, alpha=0.9, sampled=3, demonstrations=20, draw=4, auto="states"
)
TRANSFER = dataclasses.replace(SPEC, train_noise=0.0)


def test_a_batch_has_all_noises_alphas_and_draws():
    assert FINITE.batch_key(OTHER) == FINITE.batch_key(SPEC) == SPEC
    assert FINITE.batch_key(dataclasses.replace(OTHER, train_noise=0.3)) == FINITE.batch_key(TRANSFER) == TRANSFER
    assert FINITE.batch_key(dataclasses.replace(SPEC, steps=8)) != SPEC


def test_a_context_has_one_environment_kernel_layout_and_expert():
    alone = dataclasses.replace(SPEC, steps=0)
    assert FINITE.context_key(OTHER) == FINITE.context_key(TRANSFER) == alone
    for change in ({"environment": "gridworld-2"}, {"seed": 1}, {"expert": "optimal"}, {"expert_alpha": 0.9}):
        assert FINITE.context_key(dataclasses.replace(SPEC, **change)) != alone


def test_grids_of_one_size_share_a_program():
    assert FINITE.program_key(SPEC) == (((10, 10), "tabular"), True, 7, False)
    assert FINITE.program_key(dataclasses.replace(OTHER, environment="gridworld-2")) == (
        ((10, 10), "tabular"),
        True,
        7,
        True,
    )
    other = dataclasses.replace(SPEC, environment="three-state", noise_model="slip")
    assert FINITE.program_key(other) == ("three-state", False, 7, False)
