"""A fit from a file of demonstrations, and the folder that tells of it: model, tables, summary and picture."""

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optax

from robustirl import envs
from robustirl._runtime import OutputFolder, filled_whole, write_atomically
from robustirl.demonstrations import Demonstrations
from robustirl.demonstrations.tables import TableOptions
from robustirl.errors import InvalidInputError
from robustirl.irl import ADAM, LBFGS, NEWTON, PAPER_STEPS, SETTLING_ADAM, Callback, Inference, RobustIRL, adam
from robustirl.mdp import MDP, as_alpha, as_count, as_positive
from robustirl.planning import state_occupancy
from robustirl.reports.fit_record import NAME as RECORD
from robustirl.reports.fit_record import describe_demonstrations, encode_record, make_record
from robustirl.reports.logs import read_demonstrations
from robustirl.reports.worlds import explain_noise, find_environment
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
        noise_model: Which kernel the noise means; the environment's default if omitted.
        discount: γ; the environment's if omitted.
        objective: `occupancy` or `likelihood`; see `irl.fit`.
        penalty: For a likelihood; see `irl.fit`.
        reward: `tabular`, `tabular-action`, `linear`, `network`; what the environment calls for if omitted.
        steps: The largest number of parameter updates.
        tolerance: Stop once the occupancy gap is this small.
        tail: What follows the last state of a truncated episode; see `estimate_occupancy`.
        seed: For the first weights of a network.
        allow_import: Whether `module:function` as the environment may import that module.
        arguments: Go to whatever makes the environment.
        optimizer: One of `OPTIMIZERS`; the default of `RobustIRL` if omitted.
        rate: The learning rate of `adam`.
        attempts: How many networks to start from, of which the one with the smallest gap is kept.
        table: How the file is to be read, if it is a table.
    """

    environment: str
    demonstrations: Path
    alpha: float | str = "auto"
    noise: float = 0.0
    noise_model: str | None = None
    discount: float | None = None
    objective: str = "occupancy"
    penalty: float = 0.0
    reward: str | None = None
    steps: int = PAPER_STEPS
    tolerance: float | None = None
    tail: str = "chain"
    seed: int = 0
    allow_import: bool = False
    arguments: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    optimizer: str | None = None
    rate: float | None = None
    attempts: int = 1
    table: TableOptions = dataclasses.field(default_factory=TableOptions)


@dataclasses.dataclass(frozen=True, eq=False)
class FitJob:
    """All that a request names, read and checked.

    It holds an environment, the learner's world in it, and what is learned from.
    """

    environment: envs.Environment
    world: MDP
    demonstrations: Demonstrations
    model: RobustIRL
    understood: str
    file: Path
    further: tuple[RobustIRL, ...] = ()

    def run(self, callbacks: Sequence[Callback] = ()) -> None:
        """Learn, and keep the best of several attempts.

        A fit that fails is kept all the same. Its summary says so.
        """
        for attempt in (self.model, *self.further):
            attempt.fit(self.world, self.demonstrations, callbacks=callbacks)
        self.keep_best()

    def keep_best(self) -> bool:
        """Keep the best attempt that has learned something, and return whether there is one.

        Interrupted attempts count, too.
        """
        for attempt in self.further:
            if not hasattr(attempt, "fit_"):
                continue
            better = attempt.fit_.verdict.valid and attempt.occupancy_gap_ < self.model.occupancy_gap_
            if better:
                object.__setattr__(self, "model", attempt)
        return hasattr(self.model, "fit_")


def prepare_fit(request: FitRequest) -> FitJob:
    """Find the world and read the demonstrations, after all checks that do not need them."""
    if request.alpha != "auto":
        as_alpha(request.alpha)
    if request.tolerance is not None:
        as_positive("the tolerance", request.tolerance)
    optimizer = choose_optimizer(request.optimizer, request.rate)
    environment = find_environment(
        request.environment, request.discount, allow_import=request.allow_import, arguments=request.arguments
    )
    size = environment.mdp(0.0).num_states if request.noise else 0
    noise = explain_noise(environment, request.noise, request.noise_model, size)
    world = environment.mdp(request.noise, request.noise_model)
    given, understood = read_demonstrations(request.demonstrations, request.table, environment)
    understood = understood if noise is None else f"{understood} {noise}"
    given.check_against(world)
    kind = request.reward or environment.reward_model
    if request.attempts > 1 and kind != "network":
        raise InvalidInputError(
            f"--attempts {request.attempts} is for reward networks, which start at random, but the reward is {kind} and"
            " every attempt would be the same; leave it out, or choose --reward network."
        )
    models = [
        RobustIRL(
            request.alpha,  # pyright: ignore[reportArgumentType]
            reward=make_reward_model(
                kind,
                world.num_states,
                environment.features,
                num_actions=world.num_actions,
                feature_names=environment.feature_names,
                seed=request.seed + attempt,
                world=environment.name,
            ),
            objective=request.objective,  # pyright: ignore[reportArgumentType]
            penalty=request.penalty,
            optimizer=optimizer,
            steps=request.steps,
            tolerance=request.tolerance,
            tail=request.tail,
            throw=False,
        )
        for attempt in range(as_count("--attempts", request.attempts, 1))
    ]
    return FitJob(environment, world, given, models[0], understood, request.demonstrations, tuple(models[1:]))


INTERRUPTED = (
    "  note           interrupted: this is the best so far; the same command, with a new --out, runs to its end\n"
)
"""What is added to the summary of a fit that was interrupted."""
OPTIMIZERS = ("newton", "adam", "settling-adam", "lbfgs")
"""What `--optimizer` may be."""


def choose_optimizer(name: str | None, rate: float | None) -> optax.GradientTransformation | None:
    """Return an optimizer by its name on the command line.

    Example:
        >>> choose_optimizer(None, None) is None
        True
    """
    if rate is not None:
        if name not in (None, "adam"):
            raise InvalidInputError(f"--rate {rate:g} is for --optimizer adam, not for {name}; leave it out.")
        return adam(float(as_positive("the rate", rate)))
    if name is None:
        return None
    known = {"newton": NEWTON, "adam": ADAM, "settling-adam": SETTLING_ADAM, "lbfgs": LBFGS}
    if name not in known:
        raise InvalidInputError(f"--optimizer is {name!r}, but one of {', '.join(OPTIMIZERS)} is needed.")
    return known[name]


def write_fit(
    job: FitJob, out: Path | OutputFolder, *, command: Sequence[str] = (), interrupted: bool = False
) -> list[Path]:
    """Write the folder, all of it or nothing, and return what is in it.

    Args:
        job: What was learned.
        out: The folder, reserved or not.
        command: The words of the command, which the record keeps.
        interrupted: Whether the fit was interrupted, and this is the best so far.
    """
    with filled_whole(out) as building:
        names = [path.name for path in _fill(job, building, command, interrupted)]
    return [(out.out if isinstance(out, OutputFolder) else out) / name for name in names]


def _fill(job: FitJob, folder: Path, command: Sequence[str], interrupted: bool) -> list[Path]:
    from robustirl.plotting import (
        figure_fit,  # Here, so that only a figure loads matplotlib.
        save_figure,
    )

    model = job.model
    model.save(folder / "model.npz")
    texts = {
        "policy.csv": policy_csv(model, job.environment.state_names, job.environment.action_names),
        "reward.csv": reward_csv(model, job.environment.state_names),
        **({} if model.inference_ is None else {"parameters.csv": parameters_csv(model.inference_, model.confidence)}),
        "summary.txt": f"{job.environment.name}\n\n{model.summary()}\n{INTERRUPTED if interrupted else ''}",
    }
    for name, text in texts.items():
        write_atomically(folder / name, text)
    player = np.asarray(state_occupancy(job.world, model.policy_))
    record = make_record(
        job.environment,
        job.world,
        describe_demonstrations(job.demonstrations, job.world, job.file, job.understood),
        model.alpha_selection_,
        player,
        command=command,
        interrupted=interrupted,
    )
    write_atomically(folder / RECORD, encode_record(record))
    figures = save_figure(figure_fit(job.environment, model, player), folder / "fit")
    return [folder / "model.npz", *(folder / name for name in texts), folder / RECORD, *figures]


def policy_csv(
    model: RobustIRL, state_names: Sequence[str] | None = None, action_names: Sequence[str] | None = None
) -> str:
    """Write one row per state: the most likely action, and the probability of each.

    Names of states and actions follow if there are any.
    """
    policy = np.asarray(model.policy_, dtype=np.float64)
    best = policy.argmax(1)
    rows = [[s, int(best[s]), *map(repr, policy[s].tolist())] for s in range(len(policy))]
    header = ["state", "action", *(f"probability_{a}" for a in range(policy.shape[1]))]
    if state_names is not None:
        header, rows = [*header, "state_name"], [[*row, state_names[row[0]]] for row in rows]
    if action_names is not None:
        header, rows = [*header, "action_name"], [[*row, action_names[row[1]]] for row in rows]
    return _csv(header, rows)


def reward_csv(model: RobustIRL, state_names: Sequence[str] | None = None) -> str:
    """Write one row per state: the learned reward, the expert's occupancy, the mixture's.

    The state's name follows if there is one. A reward of states and actions has a column for every action.
    """
    reward, expert, own = (
        np.asarray(x, dtype=np.float64) for x in (model.reward_, model.expert_occupancy_, model.occupancy_)
    )
    paid = reward if reward.ndim == 2 else reward[:, None]
    rows = [[s, *map(repr, numbers)] for s, numbers in enumerate(np.column_stack([paid, expert, own]).tolist())]
    names = ["reward"] if reward.ndim == 1 else [f"reward_{a}" for a in range(paid.shape[1])]
    header = ["state", *names, "expert_occupancy", "occupancy"]
    if state_names is not None:
        header, rows = [*header, "state_name"], [[*row, state_names[row[0]]] for row in rows]
    return _csv(header, rows)


def parameters_csv(inference: Inference, confidence: float) -> str:
    """Write one row per parameter: name, estimate, standard errors of every kind, and interval."""
    kinds = ("hessian", "outer", "sandwich", "grouped")
    numbers = [inference.parameters, *(inference.standard_errors(kind) for kind in kinds)]
    numbers = np.column_stack([*numbers, inference.confidence_intervals(confidence)]).tolist()
    rows = [[name, *map(repr, row)] for name, row in zip(inference.names, numbers, strict=True)]
    return _csv(["parameter", "estimate", *(f"standard_error_{kind}" for kind in kinds), "low", "high"], rows)


def _csv(header: list[str], rows: list[list]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue()
