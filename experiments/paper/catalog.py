"""The finite experiments of the paper as data: for each, which runs it needs and what is drawn from them.

An experiment is a list of run specs and its figures. Runs that several experiments need are the same specs, and so are
run once.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from experiments.paper.finite import PAPER_ENVIRONMENTS, PAPER_EXPERT_NOISES, Record, RunSpec, grid_of_specs
from experiments.paper.summary import best_alpha
from robustirl import envs
from robustirl.errors import InvalidInputError
from robustirl.irl.fit import PAPER_STEPS

MORE = 10  # Times as many steps, where learning goes on.
TRAJECTORIES = 1000
STUDY_ENVIRONMENT = "gridworld-1"
MAIN = ("best-alpha", "all-alphas")

Figures = dict[str, Callable[[], Any]]
"""What makes each figure, by the name of its file; made late and elsewhere, since only that needs matplotlib."""


@dataclasses.dataclass(frozen=True)
class Grid:
    """The cells asked for: which environments, α and noises the experiments range over."""

    environments: tuple[str, ...] = PAPER_ENVIRONMENTS
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def specs(self, name: str, model: str, **changes: Any) -> tuple[RunSpec, ...]:
        """Return the cells of one environment."""
        return grid_of_specs(name, model, **{**self.options, **changes})

    def main(self, model: str) -> tuple[RunSpec, ...]:
        """Return the cells of all environments."""
        return tuple(spec for name in self.environments for spec in self.specs(name, model))

    @property
    def steps(self) -> int:
        """Parameter updates per run."""
        return self.options.get("steps", PAPER_STEPS)

    @property
    def study(self) -> str:
        """The environment for experiments that need but one."""
        grids = [name for name in self.environments if isinstance(envs.make(name), envs.GridWorld)]
        return STUDY_ENVIRONMENT if STUDY_ENVIRONMENT in grids or not grids else grids[0]


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One experiment of the paper.

    Attributes:
        title: Its heading.
        source: Where the paper has it.
        question: What one looks for in the figure.
        specs: Its runs, for an environment grid and a noise model.
        figure: The name of its figure in `experiments.figures.finite`.
        kept: The options of `Grid` that it sets itself, whatever is asked for; all others it follows.
    """

    title: str
    source: str
    question: str
    specs: Callable[[Grid, str], tuple[RunSpec, ...]]
    figure: str
    kept: Mapping[str, object] = dataclasses.field(default_factory=dict)

    def figures(self, grid: Grid, model: str, records: Sequence[Record]) -> Figures:
        """Return its figures from records of its runs (and perhaps others) under a noise model."""
        own = of(self.specs(grid, model), records)
        if self.figure not in ("best", "all"):
            return {"study": functools.partial(draw, self.figure, own, note=f"noise model: {model}")} if own else {}
        by_name = {name: [r for r in own if r.spec.environment == name] for name in grid.environments}
        return {
            name: functools.partial(
                draw, "returns", records, note=f"noise model: {model}", best_only=self.figure == "best", known=True
            )
            for name, records in by_name.items()
            if records
        }


def draw(figure: str, *given: Any, **options: Any) -> Any:
    """Return a figure of `experiments.figures.finite` by its name."""
    from experiments.figures import finite  # Here, so that only drawing loads matplotlib.

    return getattr(finite, f"figure_{figure}")(*given, **options)


def of(specs: Sequence[RunSpec], records: Sequence[Record]) -> list[Record]:
    """Return of these records those of these runs."""
    wanted = set(specs)
    return [record for record in records if record.spec in wanted]


def maps(grid: Grid, model: str, records: Sequence[Record]) -> Figures:
    """Return maps of the cell of largest mismatch in each grid: standard and the best robust α."""
    found: Figures = {}
    for name in grid.environments:
        own = of(grid.specs(name, model), records)
        if not own or not isinstance(envs.make(name), envs.GridWorld):
            continue
        layouts = len({r.spec.seed for r in own})
        own = [r for r in own if r.spec.seed == own[0].spec.seed]
        far = max((r.spec.expert_noise - r.spec.learner_noise, r.spec.expert_noise, r.spec.learner_noise) for r in own)
        cell = {r.spec.alpha: r for r in own if (r.spec.expert_noise, r.spec.learner_noise) == far[1:]}
        best = best_alpha(list(cell.values()))
        if best is not None and 1.0 in cell:
            note = f"noise model: {model}" + (f"; layout {own[0].spec.seed}, one of {layouts}" if layouts > 1 else "")
            found[name] = functools.partial(draw, "maps", cell[1.0], cell[best], note=note)
    return found


# What the studies set themselves, whatever is asked for: each shows one thing, and these are what it shows it by.
ONE_LAYOUT: dict[str, Any] = {"seeds": None}
STILL_LEARNER: dict[str, Any] = {"learner_noises": (0.0,), **ONE_LAYOUT}
ALPHA_STUDY: dict[str, Any] = {"alphas": (1.0, 0.95, 0.9), "learner_noises": (0.05,), **ONE_LAYOUT}
TRANSFER: dict[str, Any] = {**STILL_LEARNER, "expert": "optimal"}  # The theorems are about optimal experts.
SAMPLED: dict[str, Any] = {"alphas": (1.0, 0.9), **STILL_LEARNER}
CONVERGENCE: dict[str, Any] = {"alphas": (1.0, 0.9, 0.8), **STILL_LEARNER}


def _transfer(grid: Grid, model: str) -> tuple[RunSpec, ...]:
    noises = grid.options.get("expert_noises", PAPER_EXPERT_NOISES)
    trains = [noise for noise in noises if noise > 0] or noises
    moved = [grid.specs(grid.study, model, **TRANSFER, alphas=(1.0,), train_noise=train) for train in trains]
    return sum(moved, grid.specs(grid.study, model, **TRANSFER))


def _robust_experts(grid: Grid, model: str) -> tuple[RunSpec, ...]:
    strengths = (1.0, 0.95, 0.9, 0.85)
    return sum((grid.specs(grid.study, model, **STILL_LEARNER, expert_alpha=a) for a in strengths), ())


def _convergence(grid: Grid, model: str) -> tuple[RunSpec, ...]:
    names = [name for name in (STUDY_ENVIRONMENT, "gridworld-l", "objectworld") if name in grid.environments]
    return tuple(
        spec
        for name in names or [grid.study]
        for steps in (grid.steps, MORE * grid.steps)
        for spec in grid.specs(name, model, **CONVERGENCE, steps=steps)
    )


EXPERIMENTS: dict[str, Experiment] = {
    "best-alpha": Experiment(
        "Standard against the best robust learner",
        "Figure 1 and its full form in the appendix; GridWorld-L: low-dimensional features",
        "Standard MCE IRL (black) should fall as the expert's noise moves to the right of the learner's; the robust"
        " learner should hold.",
        Grid.main,
        "best",
    ),
    "all-alphas": Experiment(
        "Every α",
        "appendix, different values of α",
        "A stronger opponent should pay when the expert is noisier than the learner, and cost when it is not.",
        Grid.main,
        "all",
    ),
    "alpha-study": Experiment(
        "α over- and underestimated",
        "appendix, impact of the opponent strength",
        "Inside a bar the opponent is as strong as the mismatch or stronger (overestimated), outside it is too weak"
        " (underestimated).",
        lambda grid, model: grid.specs(grid.study, model, **ALPHA_STUDY),
        "alpha_study",
        ALPHA_STUDY,
    ),
    "gap": Experiment(
        "Gap between learner and expert",
        "Section 5, as the mismatch grows",
        "The learner's return in its world minus the expert's in its own; dots are cells, lines their means.",
        Grid.main,
        "gap",
    ),
    "transfer": Experiment(
        "Reward transfer",
        "Section 3.3 and its bound in the appendix",
        "Learn the reward in another world and act on it here: what the learner could do if it had the expert's world,"
        " and what it loses with a wrong one.",
        _transfer,
        "transfer",
        TRANSFER,
    ),
    "fixed-start": Experiment(
        "A fixed start",
        "a variant of the main figure",
        "Every trajectory starts in the cell farthest from the goal.",
        lambda grid, model: grid.specs(grid.study, model, **ONE_LAYOUT, start="fixed"),
        "returns",
        ONE_LAYOUT,
    ),
    "robust-experts": Experiment(
        "Robust experts",
        "a variant of the main figure (α_E)",
        "The expert plays a game of its own against an opponent of strength 1 - α_E, and so keeps further from danger.",
        _robust_experts,
        "robust_experts",
        STILL_LEARNER,
    ),
    "sampled": Experiment(
        "Exact against sampled evaluation",
        "the paper's evaluation: 1000 trajectories per start state",
        "Sampled returns should scatter around the exact ones by their standard error.",
        lambda grid, model: grid.specs(grid.study, model, **SAMPLED, sampled=TRAJECTORIES),
        "sampled",
        SAMPLED,
    ),
    "convergence": Experiment(
        "More steps",
        f"beyond the paper: {MORE} times its {PAPER_STEPS} steps",
        "Dotted: the paper's number of steps. Where no policy matches the expert, the gap stays and the rewards grow"
        " without end.",
        _convergence,
        "convergence",
        CONVERGENCE,
    ),
}


def choose(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the experiments asked for; `all` stands for every one."""
    unknown = [name for name in names if name not in EXPERIMENTS and name != "all"]
    if unknown:
        raise InvalidInputError(f"there is no experiment {unknown[0]!r}; choose from all, {', '.join(EXPERIMENTS)}.")
    return tuple(name for name in EXPERIMENTS if "all" in names or name in names)


def collect_specs(names: Sequence[str], grid: Grid, models: Sequence[str]) -> tuple[RunSpec, ...]:
    """Return all runs of some experiments under some noise models, each once."""
    return tuple(
        dict.fromkeys(spec for model in models for name in names for spec in EXPERIMENTS[name].specs(grid, model))
    )
