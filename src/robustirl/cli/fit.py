"""`robustirl fit` learns from a file of demonstrations; `robustirl page` makes the page of a fit anew."""

import csv
import dataclasses
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from robustirl.cli.options import Output, Table, World, parse_columns
from robustirl.errors import InvalidInputError

MODEL, REPORT, PAGE = "model.npz", "report.json", "page.html"


@dataclasses.dataclass(frozen=True)
class Fit(Output, Table, World):
    """Learn a reward and a policy from demonstrations.

    As in

        robustirl fit --env gridworld-1 --demos walks.csv --out found
        robustirl fit --env world.npz --demos trips.csv --columns episode=trip state=link --out found
        robustirl fit --env world.npz --demos log.csv --objective likelihood --reward linear --out found
        robustirl fit --env FrozenLake-v1 --env-arg is_slippery=false --demos minari:me/lake-v0 --out found

    The folder gets model.npz (read it with RobustIRL.load), page.html, report.json, report.txt, weights.csv and
    states.csv, or nothing at all. The exit status is 1 if a check failed. Ctrl-C keeps the best fit so
    far in the folder, if there is one, with exit status 130.
    """

    demos: Path
    """The demonstrations: .npz, .jsonl, .csv or .parquet, a folder of imitation's trajectories, or minari:ID."""
    out: Path
    """The folder to write to; a new or an empty one."""
    alpha: Literal["auto"] | float = "auto"
    """The player's chance of control: 1 is standard MCE IRL, auto chooses it from the demonstrations."""
    objective: Literal["occupancy", "likelihood"] = "occupancy"
    """What to learn by: occupancy matches where the expert goes, likelihood makes the recorded actions as probable as
    possible and gives standard errors."""
    penalty: float = 0.0
    """With --objective likelihood, the precision of a Gaussian prior on every parameter."""
    reward: Literal["tabular", "tabular-action", "linear", "network"] | None = None
    """The reward model; what the environment calls for if omitted."""
    classes: str | None = None
    """Learn one weight for all states of a class: the column of the demonstrations that names the class of each state,
    or `env` for the classes that the environment knows."""
    steps: int | None = None
    """The largest number of parameter updates."""

    def run(self) -> int:
        """Learn, and write the folder."""
        import robustirl
        from robustirl._files import new_folder
        from robustirl.irl import RobustIRL
        from robustirl.report import report_fit

        robustirl.enable_cache()
        options: dict[str, Any] = {} if self.steps is None else {"steps": self.steps}
        with new_folder(self.out) as folder:
            environment = self.environment()
            world = environment.mdp(self.noise, self.noise_model)
            demonstrations, note = self.load(self.demos, environment)
            reward = self._reward(environment, world, demonstrations)
            model = RobustIRL(
                self.alpha, reward=reward, objective=self.objective, penalty=self.penalty,
                progress=self.shows_progress, throw=False, **options,
            )  # fmt: skip
            interrupted = False
            try:
                model.fit(world, demonstrations)
            except KeyboardInterrupt:
                if not hasattr(model, "fit_"):
                    raise
                interrupted = True
            report = report_fit(model, title=environment.name, facts={"demonstrations": note})
            _write(folder, model, report, environment)
        self.say(f"{report}\nwrote {self.out}; open {self.out / PAGE} in a browser")
        self.answer(interrupted=interrupted, files=sorted(str(path) for path in self.out.iterdir()))
        self.answer(report=report.to_dict())
        if interrupted:
            raise KeyboardInterrupt
        return 1 if report.failed else 0

    def _reward(self, environment: Any, world: Any, demonstrations: Any) -> Any:
        from robustirl import rewards

        if self.classes is not None:
            if self.reward is not None:
                raise InvalidInputError("--classes and --reward both say what is learned; give one of them.")
            labels = self._labels(environment, world, demonstrations)
            return rewards.classes(labels)
        return rewards.make_reward_model(
            self.reward or environment.reward_model, world.num_states, environment.features,
            num_actions=world.num_actions, feature_names=environment.feature_names,
            world=environment.name,
        )  # fmt: skip

    def _labels(self, environment: Any, world: Any, demonstrations: Any) -> list[str]:
        """Return the class of every state."""
        if self.classes == "env":
            if environment.classes is None:
                raise InvalidInputError(f"--classes env: {environment.name} knows no classes; name a column instead.")
            return list(environment.classes)
        return class_labels(self.demos, str(self.classes), self.columns, demonstrations.state_names, world.num_states)


def class_labels(path: Path, column: str, columns: Sequence[str], names: Sequence[str] | None, size: int) -> list[str]:
    """Return the class of every state by a column of a table; states that it does not show are a class of their own."""
    from robustirl.demonstrations.tables import pandas_module

    if path.suffix not in (".csv", ".parquet"):
        raise InvalidInputError(f"--classes {column} needs a table (.csv, .parquet), but {path} is none.")
    pandas = pandas_module()
    table = pandas.read_parquet(path) if path.suffix == ".parquet" else pandas.read_csv(path, comment="#")
    if column not in table:
        raise InvalidInputError(f"--classes is {column!r}, but {path} has the columns {', '.join(map(str, table))}.")
    state = (parse_columns(columns) or {}).get("state", "state")
    labels: dict[str, str] = {}
    for name, label in table[[state, column]].drop_duplicates().astype(str).itertuples(index=False):
        if labels.setdefault(name, label) != label:
            raise InvalidInputError(f"state {name} of {path} is in two classes, {labels[name]!r} and {label!r}.")
    numbered = range(size) if names is None else names
    return [labels.get(str(name), "not in the demonstrations") for name in numbered]


def _write(folder: Path, model: Any, report: Any, environment: Any) -> None:
    """Fill the folder of a fit."""
    from robustirl._files import write_atomically

    model.save(folder / MODEL)
    write_atomically(folder / REPORT, report.to_json())
    write_atomically(folder / "report.txt", f"{report}\n")
    report.page(folder / PAGE)
    rows = [dataclasses.astuple(weight) for weight in report.weights]
    _write_csv(folder / "weights.csv", [field.name for field in dataclasses.fields(report.weights[0])], rows)
    policy, reward = (np.asarray(x, dtype=float) for x in (model.policy_, model.reward_))
    size, count = policy.shape
    states, actions = environment.state_names or range(size), environment.action_names or range(count)
    paid = ["reward"] if reward.ndim == 1 else [f"reward({action})" for action in actions]
    head = ["state", *(f"probability({action})" for action in actions), *paid, "expert_occupancy", "occupancy"]
    numbers = np.column_stack([policy, reward, model.fit_.expert_occupancy, model.fit_.occupancy]).tolist()
    _write_csv(folder / "states.csv", head, ([name, *row] for name, row in zip(states, numbers, strict=True)))


def _write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    from robustirl._files import write_atomically

    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([head, *rows])
    write_atomically(path, buffer.getvalue())


@dataclasses.dataclass(frozen=True)
class Page(Output):
    """Make the web page of a fit, all in one file, from the folder that `robustirl fit` wrote.

    As in

        robustirl page found --out fit.html
    """

    source: Annotated[Path, tyro.conf.Positional]
    """The folder, or its report.json."""
    out: Path | None = None
    """The file to write; page.html in the folder if omitted."""

    def run(self) -> int:
        """Write the page."""
        from robustirl._files import read_regular
        from robustirl.report import Report

        path = self.source / REPORT if self.source.is_dir() else self.source
        try:
            content = read_regular(path)
        except OSError as error:
            raise InvalidInputError(f"{path} cannot be read ({error.strerror}); give the folder of a fit.") from None
        out = path.with_name(PAGE) if self.out is None else self.out
        Report.from_json(content).page(out)
        self.say(f"wrote {out}")
        self.answer(files=[str(out)])
        return 0
