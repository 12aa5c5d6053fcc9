"""The finite experiments of the paper as data: for each, which runs it needs and what is drawn from them.

An experiment is a list of run specs and a drawing. Runs that several experiments need are the same specs, and so are
run once.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from robustirl import envs
from robustirl.envs.noise import PUBLISHED
from robustirl.errors import InvalidInputError
from robustirl.irl import PAPER_STEPS
from robustirl.paper.finite.specs import PAPER_ENVIRONMENTS, PAPER_EXPERT_NOISES, Record, RunSpec, grid_of_specs
from robustirl.paper.published import published_returns

MORE = 10  # Times as many steps, where learning goes on.
TRAJECTORIES = 1000
STUDY_ENVIRONMENT = "gridworld-1"


@dataclasses.dataclass(frozen=True)
class Drawing:
    """A figure to be made: a name for its file, and the function that makes it.

    It is made late, since only that needs matplotlib.
    """

    name: str
    make: Callable[[], object]


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One experiment of the paper.

    Attributes:
        name: What to ask for it by.
        title: Its heading.
        source: Where the paper has it.
        question: What one looks for in the figure.
        specs: Its runs, for an environment grid and a noise model.
        draw: Its figures, from records of those runs (and perhaps others) under that noise model.
        kept: The options of `Grid` that it sets itself, whatever is asked for; all others it follows.
    """

    name: str
    title: str
    source: str
    question: str
    specs: Callable[["Grid", str], tuple[RunSpec, ...]]
    draw: Callable[["Grid", str, Sequence[Record]], list[Drawing]]
    kept: Mapping[str, object] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Grid:
    """The cells asked for: which environments, α and noises the experiments range over."""

    environments: tuple[str, ...] = PAPER_ENVIRONMENTS
    options: tuple[tuple[str, object], ...] = ()

    def specs(self, name: str, model: str, **changes: Any) -> tuple[RunSpec, ...]:
        """Return the cells of one environment."""
        return grid_of_specs(name, model, **{**dict(self.options), **changes})

    @property
    def expert_noises(self) -> tuple[float, ...]:
        """The expert's noises, along the axis of every figure."""
        return dict(self.options).get("expert_noises", PAPER_EXPERT_NOISES)  # pyright: ignore[reportReturnType]

    @property
    def steps(self) -> int:
        """Parameter updates per run."""
        return dict(self.options).get("steps", PAPER_STEPS)  # pyright: ignore[reportReturnType]

    @property
    def study(self) -> str:
        """The environment for studies that need but one."""
        grids = [name for name in self.environments if isinstance(envs.make(name), envs.GridWorld)]
        return STUDY_ENVIRONMENT if STUDY_ENVIRONMENT in grids or not grids else grids[0]


def _main(grid: Grid, model: str) -> tuple[RunSpec, ...]:
    return tuple(spec for name in grid.environments for spec in grid.specs(name, model))


def main_records(grid: "Grid", model: str, records: Sequence[Record]) -> list[Record]:
    """Return of these records those of the paper's main grid."""
    return _of(_main(grid, model), records)


def _returns(grid: Grid, model: str, records: Sequence[Record], *, best_only: bool) -> list[Drawing]:
    published = published_returns() if model == PUBLISHED else None
    drawings = []
    for name in grid.environments:
        own = _of(grid.specs(name, model), records)
        if not own:
            continue

        def make(own=own):
            from robustirl.paper import figures

            environment = own[0].spec.make_environment()
            known = None if isinstance(environment, envs.objectworld.ObjectWorld) else published
            note = f"noise model: {model}" + layouts_note(own)
            return figures.figure_returns(environment, own, known, note, best_only=best_only)

        drawings.append(Drawing(name, make))
    return drawings


def layouts_note(records: Sequence[Record]) -> str:
    """Return what a figure of means over several layouts has to say; nothing for one layout."""
    count = len({record.spec.seed for record in records})
    return f"; means of {count} layouts, 95 % bands" if count > 1 else ""


# What the studies set themselves, whatever is asked for: each shows one thing, and these are what it shows it by.
ONE_LAYOUT: dict[str, object] = {"seeds": None}
STILL_LEARNER: dict[str, object] = {"learner_noises": (0.0,), **ONE_LAYOUT}
ALPHA_STUDY: dict[str, object] = {"alphas": (1.0, 0.95, 0.9), "learner_noises": (0.05,), **ONE_LAYOUT}
TRANSFER: dict[str, object] = {**STILL_LEARNER, "expert": "optimal"}  # The theorems are about optimal experts.
SAMPLED: dict[str, object] = {"alphas": (1.0, 0.9), **STILL_LEARNER}
CONVERGENCE: dict[str, object] = {"alphas": (1.0, 0.9, 0.8), **STILL_LEARNER}


def _alpha_study_specs(grid: Grid, model: str) -> tuple[RunSpec, ...]:
    return grid.specs(grid.study, model, **ALPHA_STUDY)


def _of(specs: Sequence[RunSpec], records: Sequence[Record]) -> list[Record]:
    wanted = set(specs)
    return [record for record in records if record.spec in wanted]


def _study(
    specs: Callable[[Grid, str], tuple[RunSpec, ...]], figure: str, *, titled: bool = False
) -> Callable[[Grid, str, Sequence[Record]], list[Drawing]]:
    """Return a drawing of one figure from the study's own records."""

    def draw(grid: Grid, model: str, records: Sequence[Record]) -> list[Drawing]:
        own = _of(specs(grid, model), records)
        if not own:
            return []

        def make():
            from robustirl.paper import figures

            names = dict.fromkeys(record.spec.environment for record in own)
            if titled:
                return getattr(figures, figure)(own[0].spec.make_environment(), own, note=f"noise model: {model}")
            where = f"{', '.join(names)}; " if len(names) == 1 else ""
            return getattr(figures, figure)(own, note=f"{where}noise model: {model}")

        return [Drawing("study", make)]

    return draw


def _gap(grid: Grid, model: str, records: Sequence[Record]) -> list[Drawing]:
    own = main_records(grid, model, records)

    def make():
        from robustirl.paper import figures

        count = len({record.spec.seed for record in own})
        return figures.figure_gap(own, note=f"noise model: {model}" + (f"; {count} layouts" if count > 1 else ""))

    return [Drawing("study", make)] if own else []


def _transfer_specs(grid: Grid, model: str) -> tuple[RunSpec, ...]:
    direct = grid.specs(grid.study, model, **TRANSFER)
    trains = [noise for noise in grid.expert_noises if noise > 0] or grid.expert_noises
    moved = tuple(
        spec for train in trains for spec in grid.specs(grid.study, model, **TRANSFER, alphas=(1.0,), train_noise=train)
    )
    return direct + moved


def _fixed_start_specs(grid: Grid, model: str) -> tuple[RunSpec, ...]:
    return grid.specs(grid.study, model, **ONE_LAYOUT, start="fixed")


def _robust_expert_specs(grid: Grid, model: str) -> tuple[RunSpec, ...]:
    return tuple(
        spec
        for strength in (1.0, 0.95, 0.9, 0.85)
        for spec in grid.specs(grid.study, model, **STILL_LEARNER, expert_alpha=strength)
    )


def _sampled_specs(grid: Grid, model: str) -> tuple[RunSpec, ...]:
    return grid.specs(grid.study, model, **SAMPLED, sampled=TRAJECTORIES)


def _convergence_specs(grid: Grid, model: str) -> tuple[RunSpec, ...]:
    names = [name for name in (STUDY_ENVIRONMENT, "gridworld-l", "objectworld") if name in grid.environments]
    return tuple(
        spec
        for name in names or [grid.study]
        for steps in (grid.steps, MORE * grid.steps)
        for spec in grid.specs(name, model, **CONVERGENCE, steps=steps)
    )


MAIN = ("best-alpha", "all-alphas")

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "best-alpha",
            "Standard against the best robust learner",
            "Figure 1 and its full form in the appendix; GridWorld-L: low-dimensional features",
            "Standard MCE IRL (black) should fall as the expert's noise moves to the right of the"
            " learner's; the robust learner should hold.",
            _main,
            lambda grid, model, records: _returns(grid, model, records, best_only=True),
        ),
        Experiment(
            "all-alphas",
            "Every α",
            "appendix, different values of α",
            "A stronger opponent should pay when the expert is noisier than the learner, and cost when it is not.",
            _main,
            lambda grid, model, records: _returns(grid, model, records, best_only=False),
        ),
        Experiment(
            "alpha-study",
            "α over- and underestimated",
            "appendix, impact of the opponent strength",
            "Inside a bar the opponent is as strong as the mismatch or stronger (overestimated), outside"
            " it is too weak (underestimated).",
            _alpha_study_specs,
            _study(_alpha_study_specs, "figure_alpha_study", titled=True),
            ALPHA_STUDY,
        ),
        Experiment(
            "gap",
            "Gap between learner and expert",
            "Section 5, as the mismatch grows",
            "The learner's return in its world minus the expert's in its own; dots are cells, lines their means.",
            _main,
            _gap,
        ),
        Experiment(
            "transfer",
            "Reward transfer",
            "Section 3.3 and its bound in the appendix",
            "Learn the reward in another world and act on it here: what the learner could do if it had"
            " the expert's world, and what it loses with a wrong one.",
            _transfer_specs,
            _study(_transfer_specs, "figure_transfer"),
            TRANSFER,
        ),
        Experiment(
            "fixed-start",
            "A fixed start",
            "a variant of the main figure",
            "Every trajectory starts in the cell farthest from the goal.",
            _fixed_start_specs,
            _study(_fixed_start_specs, "figure_returns", titled=True),
            ONE_LAYOUT,
        ),
        Experiment(
            "robust-experts",
            "Robust experts",
            "a variant of the main figure (α_E)",
            "The expert plays a game of its own against an opponent of strength 1 - α_E, and so keeps"
            " further from danger.",
            _robust_expert_specs,
            _study(_robust_expert_specs, "figure_robust_experts"),
            STILL_LEARNER,
        ),
        Experiment(
            "sampled",
            "Exact against sampled evaluation",
            "the paper's evaluation: 1000 trajectories per start state",
            "Sampled returns should scatter around the exact ones by their standard error.",
            _sampled_specs,
            _study(_sampled_specs, "figure_sampled"),
            SAMPLED,
        ),
        Experiment(
            "convergence",
            "More steps",
            f"beyond the paper: {MORE} times its {PAPER_STEPS} steps",
            "Dotted: the paper's number of steps. Where no policy matches the expert, the gap stays and the"
            " rewards grow without end.",
            _convergence_specs,
            _study(_convergence_specs, "figure_convergence"),
            CONVERGENCE,
        ),
    )
}


def choose(names: Sequence[str]) -> tuple[Experiment, ...]:
    """Return the experiments of these names; `all` stands for every one."""
    unknown = [name for name in names if name not in EXPERIMENTS and name != "all"]
    if unknown:
        raise InvalidInputError(f"there is no experiment {unknown[0]!r}; choose from all, {', '.join(EXPERIMENTS)}.")
    return tuple(item for item in EXPERIMENTS.values() if "all" in names or item.name in names)


def collect_specs(experiments: Sequence[Experiment], grid: Grid, models: Sequence[str]) -> tuple[RunSpec, ...]:
    """Return all runs of some experiments under some noise models, each once."""
    return tuple(dict.fromkeys(spec for model in models for item in experiments for spec in item.specs(grid, model)))
