"""The folder of one fit, read back: the model, its record, and what to do next."""

import dataclasses
import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robustirl._runtime import is_folder
from robustirl.irl import RobustIRL
from robustirl.reports.fit_record import NAME, FitRecord, read_record

MODEL = "model.npz"


@dataclasses.dataclass(frozen=True, eq=False)
class FitFolder:
    """What `robustirl fit` has written.

    Attributes:
        folder: Where.
        model: What was learned.
        record: World, demonstrations and α's curves; None in folders of version 0.1.
    """

    folder: Path
    model: RobustIRL
    record: FitRecord | None


@dataclasses.dataclass(frozen=True)
class NextStep:
    """Something to try, with the command to copy."""

    what: str
    command: str


def is_fit_folder(folder: Path) -> bool:
    """Return whether a folder is one that `robustirl fit` has written."""
    return is_folder(folder) and (folder / MODEL).is_file()


def read_fit_folder(folder: Path) -> FitFolder:
    """Read a folder that `robustirl fit` has written."""
    model = RobustIRL.load(folder / MODEL)
    states, actions = model.fit_.player.shape
    return FitFolder(folder, model, read_record(folder / NAME, states, actions))


def next_steps(found: FitFolder) -> list[NextStep]:
    """Return what to try after a fit, in the order of what is to be gained."""
    steps = [] if found.record is None else _commands(found, list(found.record.command))
    path = str(found.folder / MODEL)
    python = f"from robustirl import RobustIRL\nmodel = RobustIRL.load({path!r})\nprint(model.predict([0, 1]))"
    return [*steps, NextStep("Use the policy in Python: the most likely action in states 0 and 1.", python)]


def _commands(found: FitFolder, words: list[str]) -> list[NextStep]:
    assert found.record is not None
    if words[:2] != ["robustirl", "fit"] or _value(words, "--env") is None:
        return []
    out, alpha = str(found.folder), np.asarray(found.model.alpha_)
    chosen = found.model.alpha_estimate_ is not None
    steps = []
    if found.record.interrupted:
        steps.append(NextStep("Let the fit run to its end.", _changed(words, out=f"{out}-whole")))
    if not chosen:
        what = "Let the data choose α: thirteen candidates are fitted and compared."
        steps.append(NextStep(what, _changed(words, alpha="auto", out=f"{out}-auto")))
    elif float(alpha.min()) < 1:
        what = "Compare with the standard learner, which has no opponent (α = 1)."
        steps.append(NextStep(what, _changed(words, alpha="1", out=f"{out}-standard")))
    else:
        what = "See what a little robustness would change (α = 0.95); the data did not ask for it."
        steps.append(NextStep(what, _changed(words, alpha="0.95", out=f"{out}-robust")))
    what = "Ask whether any policy of this world can match the expert, and how closely."
    return [*steps, NextStep(what, _theory(words, out))]


def _theory(words: Sequence[str], out: str) -> str:
    """Return the command that says what the learner's world allows for the expert's occupancy."""
    env = _value(words, "--env") or ""
    command = ["robustirl", "theory", env, "--occupancy", out]
    for theirs, ours in (("--noise", "--learner-noise"), ("--noise-model",) * 2, ("--discount",) * 2):
        if (value := _value(words, theirs)) is not None:
            command += [ours, value]
    for place, word in enumerate(words[:-1]):
        if word == "--env-arg":
            command += [word, words[place + 1]]
    return shlex.join([*command, *(["--allow-import"] if "--allow-import" in words else [])])


def _changed(words: Sequence[str], **options: str) -> str:
    """Return the command with other values of some options."""
    words = list(words)
    for name, value in options.items():
        option = f"--{name}"
        if option in words[:-1]:
            words[words.index(option) + 1] = value
        else:
            words += [option, value]
    return shlex.join(words)


def _value(words: Sequence[str], option: str) -> str | None:
    """Return what follows an option, if it is given."""
    return words[words.index(option) + 1] if option in words[:-1] else None
