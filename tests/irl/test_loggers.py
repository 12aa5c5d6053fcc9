"""What is logged is what the fit saw, in files that TensorBoard and Weights & Biases read."""

import subprocess
import sys
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control import linear_policy
from robustirl.envs import ThreeState
from robustirl.irl import RelativeEntropyStep, TensorBoardLogger, WandbLogger, fit

STEPS = 20  # As in the examples of the docstrings, so that one compilation serves all.


def run(*callbacks):
    return fit(ThreeState().mdp(), [0.1, 0.8, 0.1], alpha=0.9, steps=STEPS, callbacks=callbacks)


def events(folder):
    """The curves in a folder of event files: read as the record format says, by another reader than the writer's."""
    from tensorboardX.proto import event_pb2

    curves = {}
    for path in folder.glob("events.out.tfevents.*"):
        raw = path.read_bytes()
        while raw:  # Length, its checksum, the event, its checksum.
            size = int.from_bytes(raw[:8], "little")
            event = event_pb2.Event.FromString(raw[12 : 12 + size])  # pyright: ignore[reportAttributeAccessIssue]
            raw = raw[16 + size :]
            for value in event.summary.value:
                curves.setdefault(value.tag, []).append((event.step, value.simple_value))
    return curves


def test_tensorboard_holds_every_step(tmp_path):
    with TensorBoardLogger(tmp_path / "new", prefix="grid") as logger:
        result = run(logger)
    curves = events(tmp_path / "new")
    assert set(curves) == {"grid/occupancy_gap", "grid/dual", "grid/largest_reward"}
    assert [step for step, _ in curves["grid/dual"]] == list(range(STEPS + 1))
    logged = [value for _, value in curves["grid/occupancy_gap"]]
    assert np.allclose(logged, result.history.occupancy_gap, rtol=1e-6)
    best = int(result.verdict.best_step)  # What is returned is the best step, not the last.
    assert curves["grid/largest_reward"][best][1] == pytest.approx(float(np.abs(result.reward).max()), rel=1e-6)


def test_every_so_many_steps(tmp_path):
    with TensorBoardLogger(tmp_path, every=5) as logger:
        run(logger)
    assert [step for step, _ in events(tmp_path)["dual"]] == [0, 5, 10, 15, 20]


def test_the_file_is_whole_when_the_fit_breaks_off(tmp_path):
    def stumble(step):
        if step.step == 3:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"), TensorBoardLogger(tmp_path) as logger:
        run(logger, stumble)
    assert [step for step, _ in events(tmp_path)["dual"]] == [0, 1, 2, 3]


def test_a_closed_logger_says_so(tmp_path, refused):
    logger = TensorBoardLogger(tmp_path)
    logger.close()
    logger.close()
    with refused("closed"):
        run(logger)


def test_bad_requests(tmp_path, refused):
    (tmp_path / "file").write_text("mine")
    with refused("every is 0"):
        TensorBoardLogger(tmp_path, every=0)
    with refused("file", "choose another folder"):
        TensorBoardLogger(tmp_path / "file")
    with refused("project would begin a new run"):
        WandbLogger(object(), project="grids")


def test_a_relative_entropy_fit_is_one_axis_over_its_attempts(tmp_path):
    told = [(0, 3), (0, 6), (0, 7), (1, 3), (1, 6), (1, 7)]  # As tests/irl/relative_entropy/test_callbacks.py sees it.
    theta, player = jnp.zeros(5), linear_policy(5, 1)
    with TensorBoardLogger(tmp_path, every=2) as logger:
        for attempt, rounds in told:
            logger(RelativeEntropyStep(attempt, rounds, 7, 2, 0.5, 20.0, 1.0, theta, player))
    curves = events(tmp_path)
    assert set(curves) == {"feature_gap", "effective", "finished", "attempt"}
    assert [step for step, _ in curves["feature_gap"]] == [3, 6, 7, 10, 13, 14]
    assert [value for _, value in curves["attempt"]] == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("package", "logger", "extra"),
    [("tensorboardX", TensorBoardLogger, "tensorboard"), ("wandb", WandbLogger, "wandb")],
)
def test_a_missing_extra_is_named(monkeypatch, refused, package, logger, extra):
    monkeypatch.setitem(sys.modules, package, None)  # As where it is not installed.
    with refused(f"{package} is not installed; get it with `pip install 'robustirl[{extra}]'`."):
        logger("here")


OFFLINE = """
import wandb
from robustirl.envs import ThreeState
from robustirl.irl import WandbLogger, fit
with WandbLogger(project="grids", mode="offline", dir=".") as logger:
    fit(ThreeState().mdp(), [0.1, 0.8, 0.1], alpha=0.9, steps=3, callbacks=[logger])
    print(sorted(k for k in logger.run.summary.keys() if not k.startswith("_")), logger.run.step)
print(wandb.run is None)
mine = wandb.init(project="grids", mode="offline", dir=".")
with WandbLogger(mine, prefix="a") as logger:
    fit(ThreeState().mdp(), [0.1, 0.8, 0.1], alpha=0.9, steps=3, callbacks=[logger])
print(wandb.run is mine, "a/dual" in mine.summary.keys())
mine.finish()
"""


@pytest.mark.slow
def test_wandb_offline(tmp_path):
    pytest.importorskip("wandb", reason="the logger for Weights & Biases needs the extra robustirl[wandb]")
    command = [sys.executable, "-c", OFFLINE]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said == ["['dual', 'largest_reward', 'occupancy_gap'] 3", "True", "True True"], done.stdout + done.stderr
    assert len(list(tmp_path.glob("wandb/offline-run-*/*.wandb"))) == 2


class Run:
    """Keeps what it is told, as a run of Weights & Biases; the real one is in the test above."""

    def __init__(self):
        self.told, self.finished = [], 0

    def log(self, numbers, step):
        self.told.append((step, numbers))

    def finish(self):
        self.finished += 1


def test_a_run_is_finished_by_whoever_began_it(monkeypatch, refused):
    begun, mine, asked = Run(), Run(), []
    module = SimpleNamespace(Error=RuntimeError, init=lambda **options: asked.append(options) or begun)
    monkeypatch.setitem(sys.modules, "wandb", module)
    report = RelativeEntropyStep(0, 3, 7, 2, 0.5, 20.0, 1.0, jnp.zeros(5), linear_policy(5, 1))
    for logger in (WandbLogger(project="grids"), WandbLogger(mine)):
        with logger:
            logger(report)
    assert asked == [{"project": "grids"}]
    assert (begun.finished, mine.finished) == (1, 0)
    assert begun.told == mine.told == [(3, {"feature_gap": 0.5, "effective": 20.0, "finished": 1.0, "attempt": 0})]
    module.init = lambda **_: (_ for _ in ()).throw(RuntimeError("no key"))
    with refused(
        "Weights & Biases began no run (no key); log in with `wandb login`, or pass mode='offline'.",
    ):
        WandbLogger()
