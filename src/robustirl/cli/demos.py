"""`robustirl demos` makes, inspects and converts files of demonstrations."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from robustirl.cli.options import WORLDS, Output, Table, World, find_environment
from robustirl.errors import InvalidInputError


@dataclasses.dataclass(frozen=True)
class Make(Output, World):
    """Let an expert act in its world, and record it.

    As in

        robustirl demos make --env gridworld-1 --noise 0.1 --episodes 200 --out walks.csv
    """

    out: Path
    """The file to write: .npz, .jsonl, .csv or .parquet, or minari:ID, or imitation:FOLDER."""
    episodes: int = 1000
    """How many episodes."""
    horizon: int = 1000
    """The most transitions of one."""
    expert: Literal["soft", "optimal"] | None = None
    """The expert's policy for the true reward; that of the published runs if omitted."""
    states_only: bool = False
    """Record no actions."""
    seed: int = 0
    """Decides what is drawn."""

    def run(self) -> int:
        """Let the expert act, and save what it did."""
        import jax

        import robustirl
        from robustirl._check import as_seed
        from robustirl.demonstrations import sample_demonstrations
        from robustirl.planning import expert_policy

        robustirl.enable_cache()
        _require_new(self.out)
        environment = self.environment()
        world = environment.mdp(self.noise, self.noise_model)
        policy = expert_policy(world, environment.reward, kind=self.expert or environment.expert)
        demonstrations = sample_demonstrations(
            environment.evaluation_mdp(self.noise, self.noise_model), policy, episodes=self.episodes,
            horizon=self.horizon, key=jax.random.key(as_seed("--seed", self.seed)), with_actions=not self.states_only,
        )  # fmt: skip
        _save(self, demonstrations, self.out)
        return 0


@dataclasses.dataclass(frozen=True)
class Inspect(Output, Table):
    """Say what demonstrations hold, and whether they go with a world.

    As in

        robustirl demos inspect trips.csv --columns episode=trip state=link --env world.npz
    """

    file: Annotated[Path, tyro.conf.Positional]
    """The file, a folder of imitation's trajectories, or minari:ID."""
    env: Annotated[str | None, tyro.conf.arg(help=f"A world to check them against: {WORLDS}.")] = None
    allow_import: bool = False
    """Let `--env module:function` import that module, which runs its code."""

    def run(self) -> int:
        """Print what the demonstrations hold."""
        environment = None if self.env is None else find_environment(self.env, None, self.allow_import, {})
        demonstrations, note = self.load(self.file, environment)
        self.say(note)
        self.answer(
            episodes=len(demonstrations),
            transitions=demonstrations.num_transitions,
            has_actions=demonstrations.has_actions,
            terminated=int(demonstrations.terminated.sum()) if demonstrations.ends_known else None,
            state_names=demonstrations.state_names,
            action_names=demonstrations.action_names,
        )
        if environment is not None:
            from robustirl.demonstrations import estimate_occupancy

            world = environment.mdp()
            estimate = estimate_occupancy(demonstrations.in_world(world), world)
            self.say(
                f"{self.env}: they go with this world of {world.num_states} states; the occupancy at γ ="
                f" {estimate.discount:g} is known to within {estimate.error:.3g} in l1 (95 %; 2 is the most possible),"
                f" to which truncated episodes may add {estimate.bias:.3g}."
            )
            self.answer(error=float(estimate.error), bias=float(estimate.bias))
        return 0


@dataclasses.dataclass(frozen=True)
class Convert(Output, Table):
    """Write demonstrations in another format, which the suffix of the target names.

    Read are .npz, .jsonl, .csv, .parquet, folders of imitation's trajectories and minari:ID; written are the files,
    minari:ID and imitation:FOLDER.

    As in

        robustirl demos convert trips.csv trips.parquet
        robustirl demos convert minari:me/lake-v0 lake.csv
    """

    source: Annotated[Path, tyro.conf.Positional]
    """What to read."""
    target: Annotated[Path, tyro.conf.Positional]
    """What to write."""

    def run(self) -> int:
        """Read, and write anew."""
        _require_new(self.target)
        demonstrations, note = self.load(self.source)
        self.say(note)
        _save(self, demonstrations, self.target)
        return 0


def _save(command: Output, demonstrations: Any, path: Path) -> None:
    from robustirl.demonstrations import save

    save(demonstrations, path)
    command.say(f"wrote {path}: {demonstrations.describe()}")
    command.answer(episodes=len(demonstrations), transitions=demonstrations.num_transitions, files=[str(path)])


def _require_new(path: Path) -> None:
    """Refuse a path at which something is, or that cannot be written to."""
    from robustirl.demonstrations.formats import require_place

    if path.exists():
        raise InvalidInputError(f"{path} exists already; choose another name, or remove it first.")
    require_place(path)
