"""Fits run in stretches: the same numbers as in one go, a bar, and an answer to Ctrl-C with the fit so far."""

import signal
import threading
import time
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import robustirl
from robustirl import envs, irl
from robustirl.irl.mce import programs, stretches

WORLD = envs.ThreeState().mdp()
RHO = [0.1, 0.8, 0.1]


@pytest.mark.parametrize(("stop_at", "steps"), [(None, 5), (2, 2), (5, 5)])
def test_stretches_end_with_the_fit_or_when_a_callback_says_so(stop_at, steps, monkeypatch):
    taken = []

    def advance(problem, state, until):
        assert until == len(taken) + 1 <= 5  # Nothing is left after that.
        taken.append(until)
        return SimpleNamespace(step=until)

    monkeypatch.setattr(stretches, "advance_compiled", advance)
    monkeypatch.setattr(stretches, "next_length", lambda *_: 1)
    loop = SimpleNamespace(
        is_over=lambda state: state.step == 5,
        report=lambda state: state.step,
        finish=lambda state, stopped: (state.step, stopped),
    )
    given = [] if stop_at is None else [lambda step: step < stop_at]
    monkeypatch.setattr(stretches, "ask", lambda callbacks, step: not callbacks[0](step))
    found = stretches.run_in_stretches(SimpleNamespace(steps=4), loop, SimpleNamespace(step=0), given)
    assert found == (steps, steps < 5)  # Stopped at its end, it was over anyway.
    assert taken == list(range(1, steps + 1))


def test_stretches_give_the_numbers_of_single_steps():
    before = len(programs.advance_compiled)
    whole = robustirl.fit(WORLD, RHO, alpha=0.9, **irl.PAPER_SETTINGS)
    stepped = robustirl.fit(WORLD, RHO, alpha=0.9, **irl.PAPER_SETTINGS, callbacks=[lambda _: None])
    for mine, theirs in zip(jax.tree.leaves(whole), jax.tree.leaves(stepped), strict=True):
        assert np.array_equal(mine, theirs)
    assert len(programs.advance_compiled) <= before + 1  # One program serves the first stretch and all others.


def test_an_occasional_callback_sees_a_few_steps_and_can_end_the_fit(monkeypatch):
    monkeypatch.setattr(stretches, "next_length", lambda *_: 5)
    seen = []
    options = {"alpha": 0.9, **irl.PAPER_SETTINGS, "steps": 12}
    watched = robustirl.fit(WORLD, RHO, **options, callbacks=[irl.Occasional(lambda step: seen.append(step.step))])
    assert seen == [0, 5, 10, 12]  # The start, two stretches of five steps, and the rest.
    for mine, theirs in zip(
        jax.tree.leaves(robustirl.fit(WORLD, RHO, **options)), jax.tree.leaves(watched), strict=True
    ):
        assert np.array_equal(mine, theirs)
    ended = robustirl.fit(WORLD, RHO, **options, callbacks=[irl.Occasional(lambda step: step.step < 5)])
    assert (ended.verdict.status, ended.verdict.steps) == ("stopped", 5)
    # Beside a callback that sees every step, it does so too.
    robustirl.fit(WORLD, RHO, **options, callbacks=[irl.Occasional(lambda _: seen.clear()), seen.append])
    assert [step.step for step in seen] == [12]


def test_ctrl_c_raises_the_fit_so_far(monkeypatch):
    lengths = iter([3, 3])

    def interrupt_after_two(*_):
        return next(lengths, None) or signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(stretches, "next_length", interrupt_after_two)
    with pytest.raises(KeyboardInterrupt) as caught:
        robustirl.fit(WORLD, RHO, alpha=0.9, **irl.PAPER_SETTINGS)
    assert isinstance(caught.value, irl.Interrupted)
    found = caught.value.fit
    assert found.verdict.status == "stopped"
    assert found.verdict.steps == 6  # The start, and two stretches of three.
    assert len(found.history.occupancy_gap) == 7
    assert isinstance(found.player, np.ndarray)


@pytest.mark.slow
def test_ctrl_c_is_answered_within_two_seconds():
    settings = {**irl.PAPER_SETTINGS, "steps": 3_000_000}
    robustirl.fit(WORLD, RHO, alpha=0.9, **settings, callbacks=[lambda _: False])
    pressed = []

    def press():
        time.sleep(2.0)
        pressed.append(time.process_time())  # Not the clock: others may use the machine.
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(irl.Interrupted) as caught:
        robustirl.fit(WORLD, RHO, alpha=0.9, **settings)
    answered = time.process_time()
    thread.join()
    assert 0 < caught.value.fit.verdict.steps < 3_000_000
    assert answered - pressed[0] < 2


def test_an_interrupted_batch_keeps_its_fits(monkeypatch):
    calls = []

    def interrupt(*given):
        calls.append(given)
        if len(calls) == 3:
            raise irl.Interrupted(None)
        return finished(*given)

    finished = stretches.learn_one
    monkeypatch.setattr(stretches, "learn_one", interrupt)
    with pytest.raises(irl.Interrupted) as caught:
        robustirl.fit_many([WORLD] * 4, [RHO] * 4, [0.9, 0.8, 0.7, 0.6], **irl.PAPER_SETTINGS, progress=True)
    assert [float(one.alpha) for one in caught.value.fit] == [0.9, 0.8]


def test_an_interrupted_choice_of_alpha_leaves_the_fit_at_one(monkeypatch):
    demos = robustirl.demonstrations.Demonstrations.from_arrays([[0, 1, 1], [0, 2, 2]] * 4, terminated=True)
    done = robustirl.fit(WORLD, RHO, alpha=1, **irl.PAPER_SETTINGS)

    def interrupt(*_, **__):
        raise irl.Interrupted([done])

    monkeypatch.setattr("robustirl.irl.evidence.select_alpha", interrupt)
    model = robustirl.RobustIRL()
    with pytest.raises(irl.Interrupted):
        model.fit(WORLD, demos)
    assert model.alpha_ == 1
    assert model.predict(0) in (0, 1)


def test_a_bar_is_shown_on_standard_error_and_only_when_asked(capsys):
    robustirl.fit(WORLD, RHO, alpha=0.9, **irl.PAPER_SETTINGS)
    assert capsys.readouterr() == ("", "")
    robustirl.fit(WORLD, RHO, alpha=0.9, **irl.PAPER_SETTINGS, progress=True)
    out, shown = capsys.readouterr()
    assert out == ""
    assert "learning" in shown
    assert "100%" in shown
    assert "gap" in shown


def test_batches_one_by_one_are_the_single_fits(capsys):
    several = robustirl.fit_many([WORLD] * 2, [RHO] * 2, [1.0, 0.9], **irl.PAPER_SETTINGS, progress=True)
    assert "2 fits" in capsys.readouterr().err
    for alpha, found in zip([1.0, 0.9], several, strict=True):
        assert np.array_equal(found.player, robustirl.fit(WORLD, RHO, alpha=alpha, **irl.PAPER_SETTINGS).player)


def test_transformations_of_jax_are_refused_in_one_sentence(refused):
    for transform in (jax.jit, jax.vmap, jax.grad):
        with refused("jax.jit, jax.vmap or jax.grad", "fit_many"):
            transform(lambda rho: robustirl.fit(WORLD, rho).reward)(np.array([RHO] * 2, dtype=np.float32))


@pytest.mark.parametrize(
    "given",
    [
        robustirl.demonstrations.Demonstrations.from_arrays([[0, 1]]),
        [[0, 1], [0, 2]],
        "walks.csv",
    ],
)
def test_demonstrations_in_the_place_of_an_occupancy_get_the_remedy(refused, given):
    with refused("RobustIRL().fit(world, demonstrations)", "estimate_occupancy"):
        robustirl.fit(WORLD, given)
