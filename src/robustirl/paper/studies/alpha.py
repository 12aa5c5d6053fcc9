"""Every way to choose α against the best α in hindsight, over worlds, mismatches, amounts of data and draws.

On each draw of demonstrations the learner is fitted at every candidate α. Beside them stand the automatic choice
(`irl.select_alpha`), the estimates from moves with and without actions (`demonstrations.estimate_alpha`), and transfer:
learn in the expert's world as estimated from recorded actions, plan in the learner's with the reward found. Returns are
exact, in the learner's world. The share of a choice is the part of standard IRL's loss that it removes,

    1 - (optimum - return) / (optimum - return at α = 1):        0 is α = 1, 1 is optimal, negative is worse.
"""

import dataclasses
from pathlib import Path

from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count
from robustirl.paper.studies.alpha_cells import cell_names, layout_names
from robustirl.paper.studies.alpha_results import AUTO, rule_points, shares, units_of
from robustirl.paper.studies.alpha_runs import AlphaRecord, AlphaSpec, specs_of
from robustirl.paper.studies.alpha_tables import CELL_COLUMNS, COLUMNS, cell_rows, rows_of, summary_of
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.sweeps import Store


@register_study("alpha")
@dataclasses.dataclass(frozen=True)
class AlphaStudy:
    """Compare the automatic α, the estimates from moves and transfer with every fixed α.

    The best α in hindsight is compared, too.
    """

    draws: int = 10
    """How many draws of the demonstrations."""
    episodes: tuple[int, ...] = (20, 100, 1000)
    """Numbers of episodes."""
    cells: tuple[str, ...] = ()
    """Beginnings of the names of cells, such as gridworld-1 or random; all cells if omitted. "grid layout" and "object
    layout" are further worlds that no rule was tuned on, which are run only if named."""

    first_draw: int = 0
    """The first draw, so that parts of the study can be run on several machines."""
    stores: tuple[Path, ...] = ()
    """Stores of runs that were computed before, in parts; their tables are written, and nothing is computed."""
    first_seed: int = 0
    """The first seed of the random worlds; the rules were not looked at with seeds from 100 on."""

    def run(self, frame: Frame) -> None:
        """Run what is missing, and write a table of groups and one of all cells."""
        as_count("--draws", self.draws, 1)
        for count in self.episodes:
            as_count("--episodes", count, 1)
        as_count("--first-seed", self.first_seed, 0)
        as_count("--first-draw", self.first_draw, 0)
        units = units_of(self._join() if self.stores else self._compute(frame))
        groups = rows_of(units)
        head, *short = summary_of(groups)
        for name, columns, rows in (
            ("alpha-summary", head, short),
            ("alpha", COLUMNS, groups),
            ("alpha-cells", CELL_COLUMNS, cell_rows(units)),
        ):
            frame.write_table(name, columns, rows)
            frame.write_csv(name, columns, rows)
        from robustirl.paper.figures.alpha import figure_alpha_rule  # Here, so that only drawing loads matplotlib.

        auto = [one[AUTO] for one in shares(units).values()]
        frame.save_figure("alpha", figure_alpha_rule(rule_points(units), auto))

    def _compute(self, frame: Frame) -> list[AlphaRecord]:
        """Run what is missing."""
        names = cell_names(self.first_seed)
        if self.cells:
            names = [name for name in (*names, *layout_names(self.first_seed)) if name.startswith(self.cells)]
        if not names:
            raise InvalidInputError(
                f"no cell begins with {', '.join(self.cells)}; choose from {cell_names()[0]!r} etc."
            )
        draws = range(self.first_draw, self.first_draw + self.draws)
        return frame.compute(specs_of(names, self.episodes, draws))

    def _join(self) -> list[AlphaRecord]:
        """Return the runs of the stores."""
        found: dict[AlphaSpec, AlphaRecord] = {}
        for store in self.stores:
            found |= {record.spec: record for record in Store.read(store, strict=True).records()}
        if not found:
            raise InvalidInputError(f"there are no runs in {', '.join(map(str, self.stores))}.")
        return list(found.values())
