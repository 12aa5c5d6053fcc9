"""A fit from a file of demonstrations, and the folder that tells of it: model, tables, summary and picture."""

import csv
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robustirl import demonstrations, envs
from robustirl._runtime import filled_whole, write_atomically
from robustirl.demonstrations import Demonstrations, TableOptions
from robustirl.envs import SUFFIX
from robustirl.errors import InvalidInputError
from robustirl.irl import PAPER_STEPS, Callback, RobustIRL
from robustirl.mdp import MDP, as_alpha, as_positive
from robustirl.planning import state_occupancy
from robustirl.rewards import make_reward_model


@dataclasses.dataclass(frozen=True)
class FitRequest:
    """What to learn from what.

    Attributes:
        environment: The name of an environment, a file with a world (.npz), or the id of a Gymnasium environment that
            has a table.
        demonstrations: The file.
        alpha: α, or "auto".
        noise: Of the learner's world.
        noise_model: Which kernel the noise means; the environment's default when left out.
        discount: γ; the environment's when left out.
        reward: `tabular`, `linear`, `network`; what the environment calls for when left out.
        steps: The largest number of parameter updates.
        tolerance: Stop once the occupancy gap is this small.
        tail: What follows the last state of a truncated episode; see `estimate_occupancy`.
        seed: For the first weights of a network.
        allow_import: Whether `module:Id` as the environment may import that module.
        table: How the file is to be read, if it is a table.
    """

    environment: str
    demonstrations: Path
    alpha: float | str = "auto"
    noise: float = 0.0
    noise_model: str | None = None
    discount: float | None = None
    reward: str | None = None
    steps: int = PAPER_STEPS
    tolerance: float | None = None
    tail: str = "chain"
    seed: int = 0
    allow_import: bool = False
    table: TableOptions = dataclasses.field(default_factory=TableOptions)


@dataclasses.dataclass(frozen=True, eq=False)
class FitJob:
    """All that a request names, read and checked: an environment, the learner's world in it, what is learnt from."""

    environment: envs.Environment
    world: MDP
    demonstrations: Demonstrations
    model: RobustIRL
    understood: str

    def run(self, callbacks: Sequence[Callback] = ()) -> None:
        """Learn. A fit that fails is kept all the same; its summary says so."""
        self.model.fit(self.world, self.demonstrations, callbacks=callbacks)


def find_environment(name: str, discount: float | None = None, *, allow_import: bool = False) -> envs.Environment:
    """Return the environment of that name, the world in that file, or the one that Gymnasium has under that id.

    An id of the form `module:Id` has Gymnasium import that module, which runs it, so that it is refused unless
    `allow_import` says that the module can be trusted.

    Example:
        >>> find_environment("gridworld-4").name
        'gridworld-4'
    """
    options: dict[str, Any] = {} if discount is None else {"discount": discount}
    if name in envs.names():
        return envs.make(name, **options)
    if name.endswith(SUFFIX):
        return envs.from_file(name, **options)
    if ":" in name and not allow_import:
        module = name.partition(":")[0]
        raise InvalidInputError(
            f"the environment {name!r} would import and run the module {module!r}; pass --allow-import if you trust it."
        )
    from robustirl.envs import from_gymnasium

    try:
        return from_gymnasium(name, **options)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"there is no environment {name!r} here ({', '.join(envs.names())}), and as a Gymnasium id it will not do:"
            f" {error}"
        ) from None


def prepare_fit(request: FitRequest) -> FitJob:
    """Find the world and read the demonstrations, after checking what can be checked without them."""
    if request.alpha != "auto":
        as_alpha(request.alpha)
    if request.tolerance is not None:
        as_positive("the tolerance", request.tolerance)
    environment = find_environment(request.environment, request.discount, allow_import=request.allow_import)
    world = environment.mdp(request.noise, request.noise_model)
    given, understood = _read(request, environment)
    given.check_against(world)
    kind = request.reward or environment.reward_model
    reward = make_reward_model(kind, world.num_states, environment.features, seed=request.seed, world=environment.name)
    model = RobustIRL(
        request.alpha,  # pyright: ignore[reportArgumentType]
        reward=reward,
        steps=request.steps,
        tolerance=request.tolerance,
        tail=request.tail,
        throw=False,
    )
    return FitJob(environment, world, given, model, understood)


def _read(request: FitRequest, environment: envs.Environment) -> tuple[Demonstrations, str]:
    """Read the demonstrations; where they have names, number them as the environment does."""
    given, understood = demonstrations.load_with_note(request.demonstrations, request.table)
    used = {name: words for name, words in given.names.items() if words is not None}
    if not used:
        return given, understood
    known = {name: getattr(environment, name) for name in used}
    for name in used:
        if known[name] is None:
            kind = name.removesuffix("_names")
            raise InvalidInputError(
                f"{request.demonstrations} names its {kind}s, as {used[name][0]!r}, but {environment.name} has no names"
                f" for them; number them from 0, or save the world with an array {name!r}."
            )
    return given.renumber(**known), understood


def write_fit(job: FitJob, out: Path) -> list[Path]:
    """Write the folder, all of it or nothing, and return what is in it."""
    with filled_whole(out) as building:
        names = [path.name for path in _fill(job, building)]
    return [out / name for name in names]


def _fill(job: FitJob, folder: Path) -> list[Path]:
    from robustirl.plotting import (
        figure_fit,  # Here, so that only a figure loads matplotlib.
        save_figure,
    )

    model = job.model
    model.save(folder / "model.npz")
    texts = {
        "policy.csv": policy_csv(model, job.environment.state_names, job.environment.action_names),
        "reward.csv": reward_csv(model, job.environment.state_names),
        "summary.txt": f"{job.environment.name}\n\n{model.summary()}\n",
    }
    for name, text in texts.items():
        write_atomically(folder / name, text)
    player = np.asarray(state_occupancy(job.world, model.policy_))
    figures = save_figure(figure_fit(job.environment, model, player), folder / "fit")
    return [folder / "model.npz", *(folder / name for name in texts), *figures]


def policy_csv(
    model: RobustIRL, state_names: Sequence[str] | None = None, action_names: Sequence[str] | None = None
) -> str:
    """Write one row per state: the most likely action, the probability of each, and their names if there are any."""
    policy = np.asarray(model.policy_, dtype=np.float64)
    best = policy.argmax(-1)
    rows = [[s, int(best[s]), *map(repr, policy[s].tolist())] for s in range(len(policy))]
    header = ["state", "action", *(f"probability_{a}" for a in range(policy.shape[1]))]
    if state_names is not None:
        header, rows = [*header, "state_name"], [[*row, state_names[row[0]]] for row in rows]
    if action_names is not None:
        header, rows = [*header, "action_name"], [[*row, action_names[row[1]]] for row in rows]
    return _csv(header, rows)


def reward_csv(model: RobustIRL, state_names: Sequence[str] | None = None) -> str:
    """Write one row per state: the learnt reward, the expert's occupancy, the mixture's, and the state's name."""
    columns = [np.asarray(x, dtype=np.float64) for x in (model.reward_, model.expert_occupancy_, model.occupancy_)]
    rows = [[s, *map(repr, numbers)] for s, numbers in enumerate(np.stack(columns, -1).tolist())]
    header = ["state", "reward", "expert_occupancy", "occupancy"]
    if state_names is not None:
        header, rows = [*header, "state_name"], [[*row, state_names[row[0]]] for row in rows]
    return _csv(header, rows)


def _csv(header: list[str], rows: list[list]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue()
