"""Robust imitation from observation in worlds whose bodies differ: when does an opponent pay?

The expert acts in the usual world, the learner in one whose mass (or friction, ...) is a multiple of that. Beside
robust imitation at several α stand imitation without an opponent (α = 1, GAIfO), domain randomization, behavior
cloning, and the expert's own policy carried over. Every policy is measured in both worlds: the learner's, as in the
paper, and the expert's, as in sim to real. Returns are normalized by a policy that does nothing (0) and the expert of
the judged world (1).
"""

import dataclasses
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robustirl._runtime import is_file
from robustirl.envs import physics
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count
from robustirl.paper.studies import physics_published, physics_rules
from robustirl.paper.studies.physics_experts import EXPERT_COLUMNS, PhysicsExpertSpec, expert_rows, read_experts
from robustirl.paper.studies.physics_results import COLUMNS, RUN_COLUMNS, read_runs, rows_of, run_rows, sampled_runs
from robustirl.paper.studies.physics_runs import PhysicsRecord, PhysicsSpec, specs_of
from robustirl.paper.studies.physics_worlds import make_world, scale_of
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.sweeps import Spec, Store, check_specs, unpack_store


@register_study("physics")
@dataclasses.dataclass(frozen=True)
class PhysicsStudy:
    """Compare robust imitation with GAIfO, domain randomization, cloning and carrying over.

    They are compared across changed bodies.
    """

    worlds: tuple[str, ...] = ("cart-pole-swing-up",)
    """cart-pole-swing-up, double-pendulum; by MuJoCo inverted-double-pendulum, hopper, half-cheetah, walker-2d."""
    parameters: tuple[str, ...] = ("mass",)
    """What differs, one at a time: mass, friction, damping, length, gravity."""
    factors: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0)
    """The learner's value as multiples of the expert's."""
    alphas: tuple[float, ...] = (1.0, 0.98, 0.95)
    """Values of α."""
    episodes: int = 16
    """Demonstrations, of states alone."""
    fewer: tuple[int, ...] = ()
    """Further numbers of demonstrations, for the first parameter."""
    seeds: int = 10
    """Seeds of every cell."""
    expert_steps: int | None = None
    """Steps of an expert's training; by world if omitted."""
    steps: int | None = None
    """Steps of an imitation; by world if omitted."""
    experts: bool = False
    """Train the experts alone; the same command without this option and with --extend does the rest."""
    experts_from: Path | None = None
    """Take the experts that this folder of the study has, or a file that it was packed into, wherever they were
    trained; only the others are trained."""
    stores: tuple[Path, ...] = ()
    """Compute nothing: write the tables and figures of these folders of the study, wherever they were computed, of
    files that they were packed into, or of tables such as physics.csv. A run that several of them have is taken from
    the last one."""

    def run(self, frame: Frame) -> None:
        """Run what is missing, and write tables and a figure for each world."""
        if self.experts and not self.stores:
            trained = self._compute(frame, self._needed(self.requested()))
            frame.write_table("physics-experts", EXPERT_COLUMNS, expert_rows(trained))
            return
        records = _read(self.stores) if self.stores else self._computed(frame)
        frame.write_table("physics", COLUMNS, rows_of(records))
        title = "All levels but 1 together, and rules for α"
        frame.write_table("physics-alpha", physics_rules.COLUMNS, physics_rules.choice_rows(records), title)
        if sampled := sampled_runs(records):
            title = "The same of drawn actions"
            frame.write_table("physics-sampled", physics_rules.COLUMNS, physics_rules.choice_rows(sampled), title)
        frame.write_table(
            "physics-published",
            physics_published.COLUMNS,
            physics_published.published_rows(records),
            "Returns in the expert's world beside the published ones",
        )
        frame.write_csv("physics", RUN_COLUMNS, run_rows(records))
        from robustirl.paper.figures.physics import figure_physics  # Here, so that only drawing loads matplotlib.

        for world in dict.fromkeys(record.spec.world for record in records):
            own = [record for record in records if record.spec.world == world]
            frame.save_figure(f"physics-{world}", figure_physics(own))

    def _computed(self, frame: Frame) -> list[PhysicsRecord]:
        runs = self.requested()
        self._compute(frame, [*self._needed(runs), *runs])
        # Of a store that was extended, the earlier runs as well.
        return [record for record in frame.outcomes[-1].records if isinstance(record, PhysicsRecord)]

    def _compute(self, frame: Frame, specs: Sequence[Spec]) -> list[Any]:
        """Run what is missing, after adding experts from elsewhere, if any, to the store."""
        found = {}
        if self.experts_from is not None:
            found = read_experts(self.experts_from, [spec for spec in specs if isinstance(spec, PhysicsExpertSpec)])
            check_specs(specs)
            with Store.open(frame.out, specs, extend=frame.extend) as store:
                if missing := [result for spec, result in found.items() if spec not in store]:
                    store.append(missing)
        return frame.compute(specs, given=found)

    @staticmethod
    def _needed(runs: list[PhysicsSpec]) -> list[PhysicsExpertSpec]:
        """Return the experts of some runs, each once, in order."""
        return list(dict.fromkeys(expert for spec in runs for expert in (*spec.shown_experts, *spec.local_experts)))

    def requested(self) -> list[PhysicsSpec]:
        """Return the runs that the options ask for; refuse options that ask for none."""
        as_count("--seeds", self.seeds, 1)
        as_count("--episodes", self.episodes, 1)
        for episodes in self.fewer:
            as_count("--fewer", episodes, 1)
        if not (self.worlds and self.parameters and self.factors and self.alphas):
            raise InvalidInputError("--worlds, --parameters, --factors and --alphas need at least one value each.")
        for name in self.worlds:
            scale = scale_of(name)
            if name in physics.names():  # Others need MuJoCo, and seconds.
                make_world(name, **dict.fromkeys(self.parameters, 1.0))
            needed = (("--expert-steps", self.expert_steps, scale.expert_ppo), ("--steps", self.steps, scale.ppo))
            for option, steps, config in needed:
                if steps is not None:
                    as_count(option, steps, config.batch)
        cases = [(parameter, self.episodes) for parameter in self.parameters]
        cases += [(self.parameters[0], episodes) for episodes in self.fewer if episodes != self.episodes]
        lengths = (self.expert_steps, self.steps)
        return [
            spec
            for name in self.worlds
            for parameter, episodes in cases
            for spec in specs_of(name, parameter, self.factors, self.alphas, episodes, self.seeds, *lengths)
        ]


def _read(stores: tuple[Path, ...]) -> list[PhysicsRecord]:
    """Return the finished runs of stores and files; of a run in several, the last one."""
    parts = [read_runs(path) if path.suffix == ".csv" else _stored(path) for path in stores]
    found = [record for part in parts for record in part]
    runs = list({record.spec: record for record in found if isinstance(record, PhysicsRecord)}.values())
    if not runs:
        names = ", ".join(map(str, stores))
        raise InvalidInputError(f"{names} hold no finished run of this study; give folders that --out named.")
    return runs


def _stored(path: Path) -> list[Any]:
    """Return the finished runs of a folder, or of a file that it was packed into."""
    if not is_file(path):
        return Store.read(path).records()
    with tempfile.TemporaryDirectory() as scratch:
        return unpack_store(path, Path(scratch) / "store").records()
