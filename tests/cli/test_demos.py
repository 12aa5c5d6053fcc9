"""`robustirl demos`: what an expert is recorded with, and what is said of recordings."""

import json

import jax
import pytest

from robustirl.cli import demos
from robustirl.demonstrations import Demonstrations, save
from tests.cli.running import run_and_answer
from tests.commands import robustirl


def test_one_episode_is_recorded_as_it_was_asked_for(tmp_path, monkeypatch):
    asked = []
    walks = Demonstrations.from_arrays([[0, 1]], terminated=True)

    def sample(world, policy, *, key, **options):
        asked.append((policy, options, jax.random.key_data(key).tolist()))
        return walks

    monkeypatch.setattr(demos, "expert_policy", lambda world, reward, kind: kind)
    monkeypatch.setattr(demos.demonstrations, "sample_demonstrations", sample)
    for place, changes in enumerate(({}, {"expert": "optimal", "states_only": True, "seed": 5})):
        out = tmp_path / f"{place}.npz"
        request = demos.Make(env="gridworld-4", out=out, episodes=1, horizon=0, noise=0.1, **changes)
        status, said, answers = run_and_answer(demos.run_demos, demos.Demos(request))
        assert status == 0
        assert said == f"wrote {out}: {walks.describe()}\n"  # What noise does there is no news.
        assert answers == {"episodes": 1, "transitions": 1, "files": [str(out)]}
    usual = {"episodes": 1, "horizon": 0, "with_actions": True}
    assert asked == [("soft", usual, [0, 0]), ("optimal", usual | {"with_actions": False}, [0, 5])]


@pytest.mark.parametrize(("known", "ended"), [(True, 1), (None, None)])
def test_the_json_of_inspect_counts_ends_that_are_known(here, capsys, known, ended):
    ends = {} if known is None else {"terminated": [True, False]}
    save(Demonstrations.from_arrays([[0, 1], [0, 2, 1]], **ends), here / "walks.npz")
    _, out, _ = robustirl("demos inspect walks.npz --json", capsys)
    found = json.loads(out)
    assert (found["episodes"], found["transitions"], found["has_actions"]) == (2, 3, False)
    assert found["terminated"] == ended
    assert robustirl("convert walks.npz walks.csv", capsys)[0] == 0
