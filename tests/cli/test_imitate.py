"""`robustirl imitate`: refusals before any work, and a small run to its film."""

import pytest

from robustirl.cli import imitate, main


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--alpha", "1.2"], "--alpha is 1.2, but a number between 0 and 1 is needed."),
        (["--physics", "mass"], "--physics has 'mass', but name=number is needed, such as mass=0.2."),
        (["--physics", "self=1"], "--physics has 'self=1', but name=number is needed, such as mass=0.2."),
        (["--attempts", "1000000000"], "--attempts is 1000000000, but at most 1,000 is possible."),
        (["--episodes", "999999999"], "--episodes 999999999 needs about 93,132 GiB of memory"),
        (["--physics", "weight=2"], "cart-pole-swing-up has no parameter 'weight'"),
        (["--steps", "10"], "--steps and --expert-steps need at least 4096 steps, one update."),
        (["--demos", "nowhere.npz"], "nowhere.npz"),
        (
            ["--env", "hoper"],
            "--env is 'hoper', which is neither a model file nor a world with bodies: acrobot, cart-pole",
        ),
    ],
)
def test_refusals(words, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(imitate, "_imitate", None)  # Nothing is trained.
    assert main(["imitate", *words, "--out", str(tmp_path / "out")]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_small_run_ends_with_a_film(capsys, tmp_path):
    out = tmp_path / "out"
    given = ["--physics", "mass=0.2", "--steps", "8192", "--expert-steps", "8192", "--episodes", "2"]
    assert main(["imitate", *given, "--out", str(out)]) == 0
    written = {path.name for path in out.iterdir()}
    assert {"demos.npz", "fit-alpha-1.npz", "fit-alpha-0.95.npz", "film.png", "film.gif"} <= written
    assert "no learner saw a reward" in capsys.readouterr().out
    again = tmp_path / "again"
    assert main(["imitate", "--demos", str(out / "demos.npz"), "--steps", "8192", "--out", str(again)]) == 0
