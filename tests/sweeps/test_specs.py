"""A spec is named by its content, and by nothing else."""

import dataclasses

from robustirl.paper.finite import RunSpec
from robustirl.sweeps import require_runs
from tests.sweeps.store.stores import SPECS


def test_equal_specs_have_equal_identities():
    spec = dataclasses.replace(SPECS[0])
    object.__setattr__(spec, "alpha", 1)  # As a caller without type checks would pass it.
    spec.__post_init__()
    assert spec.identity == SPECS[0].identity


def test_a_spec_has_the_same_identity_everywhere_and_no_other_spec_has_it():
    assert SPECS[0].identity == "6aa4752f397431a2"  # Changing it orphans every store there is.
    changes = {
        "environment": "gridworld-1", "noise_model": "uniform-state", "learner_noise": 0.3, "expert_noise": 0.3,
        "alpha": 0.5, "seed": 1, "steps": 1, "expert": "optimal", "expert_alpha": 0.5, "start": "fixed",
        "train_noise": 0.0, "sampled": 1, "demonstrations": 1, "draw": 1, "auto": "states",
    }  # fmt: skip
    assert set(changes) == {field.name for field in dataclasses.fields(RunSpec)}
    changed = {dataclasses.replace(SPECS[0], **{name: value}).identity for name, value in changes.items()}
    assert len(changed | {SPECS[0].identity}) == len(changes) + 1


def test_the_most_runs_of_a_sweep_are_taken_and_one_more_is_refused(refused):
    require_runs({"seeds": 10**5, "alphas": 10})
    with refused("there are 1000001 runs (1000001 seeds, 1 alphas), but a sweep takes at most 1000000"):
        require_runs({"seeds": 10**6 + 1, "alphas": 1})
