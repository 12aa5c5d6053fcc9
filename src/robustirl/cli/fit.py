"""`robustirl fit` learns from a file of demonstrations; `robustirl page` makes the page of a fit anew."""

import csv
import dataclasses
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from robustirl.cli.options import Output, Table, World
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

    The folder gets model.npz (read it with RobustIRL.load), page.html, report.json, report.txt, weights.csv,
    policy.csv and reward.csv, or nothing at all. The exit status is 1 if a check failed. Ctrl-C keeps the best fit so
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
    tolerance: float | None = None
    """Stop once the occupancy gap is this small."""
    tail: Literal["chain", "hold", "renormalize"] = "chain"
    """What follows the last state of a truncated episode: chain continues with the empirical transition rates, hold
    repeats the last state, renormalize drops what is unseen."""
    seed: int = 0
    """For the first weights of a reward network."""

    def run(self) -> int:
        """Learn, and write the folder."""
        import robustirl
        from robustirl._files import new_folder
        from robustirl.irl import RobustIRL
        from robustirl.report import report_fit

        robustirl.enable_cache()
        options = {name: getattr(self, name) for name in ("steps", "tolerance") if getattr(self, name) is not None}
        with new_folder(self.out) as folder:
            environment = self.environment()
            world = environment.mdp(self.noise, self.noise_model)
            demonstrations, note = self.load(self.demos, environment)
            reward = self._reward(environment, world, demonstrations)
            model = RobustIRL(
                self.alpha, reward=reward, objective=self.objective, penalty=self.penalty, tail=self.tail,
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
            num_actions=world.num_actions, feature_names=environment.feature_names, seed=self.seed,
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
    from robustirl.cli.options import parse_columns

    if path.suffix not in (".csv", ".tsv", ".parquet"):
        raise InvalidInputError(f"--classes {column} needs a table (.csv, .parquet), but {path} is none.")
    import pandas

    read = pandas.read_parquet if path.suffix == ".parquet" else lambda p: pandas.read_csv(p, comment="#", sep=None, engine="python")  # fmt: skip  # noqa: E501
    table = read(path)
    own = (parse_columns(columns) or {}).get("state", "state")
    if column not in table:
        raise InvalidInputError(f"--classes is {column!r}, but {path} has the columns {', '.join(map(str, table))}.")
    pairs = table[[own, column]].astype(str).drop_duplicates()
    twice = pairs[own].duplicated()
    if twice.any():
        raise InvalidInputError(
            f"state {pairs[own][twice].iloc[0]} is in two classes of the column {column!r} of {path}."
        )
    labels = dict(zip(pairs[own], pairs[column], strict=True))
    numbered = [str(state) for state in range(size)] if names is None else list(names)
    return [labels.get(name, "not in the demonstrations") for name in numbered]


def _write(folder: Path, model: Any, report: Any, environment: Any) -> None:
    """Fill the folder of a fit."""
    from robustirl._files import write_atomically

    model.save(folder / MODEL)
    write_atomically(folder / REPORT, report.to_json())
    write_atomically(folder / "report.txt", f"{report}\n")
    report.page(folder / PAGE)
    rows = [dataclasses.astuple(weight) for weight in report.weights]
    _write_csv(folder / "weights.csv", [field.name for field in dataclasses.fields(report.weights[0])], rows)
    policy = np.asarray(model.policy_, dtype=float)
    states, actions = environment.state_names, environment.action_names
    names = [str(s) for s in range(len(policy))] if states is None else states
    words = [f"probability_{a}" for a in range(policy.shape[1])] if actions is None else [f"p({a})" for a in actions]
    _write_csv(folder / "policy.csv", ["state", *words], ([name, *row] for name, row in zip(names, policy.tolist(), strict=True)))  # fmt: skip  # noqa: E501
    reward = np.asarray(model.reward_, dtype=float).reshape(len(policy), -1)
    paid = ["reward"] if reward.shape[1] == 1 else [f"reward_{a}" for a in range(reward.shape[1])]
    numbers = np.column_stack([reward, model.fit_.expert_occupancy, model.fit_.occupancy]).tolist()
    head = ["state", *paid, "expert_occupancy", "occupancy"]
    _write_csv(folder / "reward.csv", head, ([name, *row] for name, row in zip(names, numbers, strict=True)))


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
