"""Callbacks that send a fit's progress to TensorBoard or to Weights & Biases.

The one file that imports tensorboardX and wandb, and only when a logger is made. Both loggers serve either kind of fit:

    with TensorBoardLogger("runs/first") as logger:
        fit(world, occupancy, callbacks=[logger])
"""

import os
import types
from typing import Any, TypeVar

import jax.numpy as jnp

from robustirl._runtime import one_line
from robustirl.errors import InvalidInputError
from robustirl.irl.mce.callbacks import Step
from robustirl.irl.relative_entropy.callbacks import RelativeEntropyStep
from robustirl.mdp import as_count


def scalars(step: Step | RelativeEntropyStep) -> tuple[int, dict[str, float]]:
    """Return where a fit stands as a place on the axis and named numbers.

    Every logger needs these. Rounds of later attempts follow those of earlier ones, so that the axis never runs
    backwards.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> from robustirl.irl import fit
        >>> seen = []
        >>> _ = fit(ThreeState().mdp(), [0.1, 0.8, 0.1], steps=3, callbacks=[lambda step: seen.append(scalars(step))])
        >>> len(seen), seen[-1][0], sorted(seen[0][1])
        (4, 3, ['dual', 'largest_reward', 'occupancy_gap'])
    """
    if isinstance(step, Step):
        largest = float(jnp.max(jnp.abs(step.reward)))  # Steps times rate: a sign that nothing matches the expert.
        return step.step, {"occupancy_gap": step.occupancy_gap, "dual": step.dual, "largest_reward": largest}
    if isinstance(step, RelativeEntropyStep):
        numbers = {"feature_gap": step.feature_gap, "effective": step.effective, "finished": step.finished}
        return step.attempt * step.rounds + step.round, {**numbers, "attempt": float(step.attempt)}
    raise InvalidInputError(f"a logger was given {type(step).__name__}, but it takes the steps of a fit.")


Me = TypeVar("Me")


class _Logger:
    """The part that all loggers share.

    It logs every so many steps, and ends once, also when the fit breaks off.
    """

    def __init__(self, prefix: str, every: int):
        self._prefix = f"{prefix}/" if prefix else ""
        self._every = as_count("every", every, 1)
        self._open = True

    def __call__(self, step: Step | RelativeEntropyStep) -> None:
        if not self._open:
            raise InvalidInputError("this logger is closed; make a new one for another fit.")
        if isinstance(step, Step) and step.step % self._every:
            return
        place, numbers = scalars(step)
        self._write(place, {self._prefix + name: value for name, value in numbers.items()})

    def close(self) -> None:
        """Write what is left; nothing can be logged afterwards."""
        if self._open:
            self._open = False
            self._end()

    def __enter__(self: Me) -> Me:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        self.close()

    def _write(self, place: int, numbers: dict[str, float]) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        raise NotImplementedError


class TensorBoardLogger(_Logger):
    """A callback that writes TensorBoard's event files, without TensorFlow or PyTorch.

    Needs the extra `tensorboard`, which is tensorboardX. `tensorboard --logdir FOLDER` shows the curves.

    Args:
        folder: Where the event file goes; made if it is missing.
        prefix: Put before the names of the curves, with a slash.
        every: Log a tabular fit at multiples of this step. (Relative-entropy fits report every few rounds anyway.)

    Example:
        >>> from robustirl.envs import ThreeState
        >>> from robustirl.irl import fit
        >>> folder = getfixture("tmp_path")
        >>> with TensorBoardLogger(folder, every=10) as logger:
        ...     result = fit(ThreeState().mdp(), [0.1, 0.8, 0.1], alpha=0.9, callbacks=[logger])
        >>> len(list(folder.glob("events.out.tfevents.*")))
        1
    """

    def __init__(self, folder: str | os.PathLike[str], *, prefix: str = "", every: int = 1):
        super().__init__(prefix, every)
        try:
            import tensorboardX
        except ImportError:
            raise _missing("tensorboard", "tensorboardX") from None
        try:
            self._writer = tensorboardX.SummaryWriter(os.fspath(folder))
        except OSError as error:
            raise InvalidInputError(
                f"no events can be written to {os.fspath(folder)} ({one_line(error)}); choose another folder."
            ) from None

    def _write(self, place: int, numbers: dict[str, float]) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, place)

    def _end(self) -> None:
        self._writer.close()


class WandbLogger(_Logger):
    """A callback that logs to Weights & Biases.

    Needs the extra `wandb`. The logger finishes a run that it began, and leaves one that was given open.

    Args:
        run: A run of yours, as `wandb.init` returns it; a new one is begun if omitted.
        prefix: Put before the names of the curves, with a slash.
        every: Log a tabular fit at multiples of this step.
        options: For `wandb.init` when a run is begun, as `project="grids"` or `mode="offline"`.
    """

    def __init__(self, run: Any = None, *, prefix: str = "", every: int = 1, **options: Any):
        super().__init__(prefix, every)
        if run is not None and options:
            raise InvalidInputError(
                f"{', '.join(options)} would begin a new run, but one was given; leave one of the two out."
            )
        wandb = _wandb()
        self._own = run is None
        try:
            self.run: Any = wandb.init(**options) if run is None else run
        except (wandb.Error, TypeError) as error:
            raise InvalidInputError(
                f"Weights & Biases began no run ({one_line(error)}); log in with `wandb login`, or pass mode='offline'."
            ) from None

    def _write(self, place: int, numbers: dict[str, float]) -> None:
        self.run.log(numbers, step=place)

    def _end(self) -> None:
        if self._own:
            self.run.finish()


def _wandb() -> types.ModuleType:
    try:
        import wandb
    except ImportError:
        raise _missing("wandb", "wandb") from None
    return wandb


def _missing(extra: str, package: str) -> InvalidInputError:
    return InvalidInputError(f"{package} is not installed; get it with `pip install 'robustirl[{extra}]'`.")
