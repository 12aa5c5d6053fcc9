"""`robustirl imitate`: robust imitation from observation in a world with bodies."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import jax
import numpy as np

from robustirl._runtime import filled_whole, require_memory, reserved_folder, short_repr, single_precision
from robustirl.cli.console import PhaseBars, console, say_files
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, as_seed

MOST_ATTEMPTS = 1000
LARGEST_PARAMETER = 1e6  # Beyond, steps in single precision end in infinities.
NO_PARAMETERS = ("self", "which", "discount", "fast", "iterations", "engine")  # Arguments of those who make worlds.
BYTES_PER_STEP = 400  # Of a recorded or learned step, roughly: what is seen, done and paid, with copies.
EXPERTS = 2
"""Experts that are trained side by side, of which the better is shown: of six single ones one failed to swing up."""
LAST = 20
"""The updates at the end of training by which they are compared."""


@dataclasses.dataclass(frozen=True)
class Imitate:
    """Learn from an observed expert in a world with another body.

    Without --demos an expert is trained in the world that --expert-physics describes, and recorded. Two learners are
    trained side by side: without an opponent (α = 1), and with one (--alpha).

    As in

        robustirl imitate --env cart-pole-swing-up --physics mass=0.2 --alpha 0.95
        robustirl imitate --env hopper --demos minari:mujoco/hopper/expert-v0 --physics mass=1.5
    """

    env: str = "cart-pole-swing-up"
    """acrobot, cart-pole, cart-pole-swing-up, double-pendulum, mountain-car or pendulum; with MuJoCo installed also
    inverted-double-pendulum, inverted-pendulum, hopper, half-cheetah, walker-2d, or the path of a model file."""
    demos: str | None = None
    """What was seen of the expert: a file of `Recordings` (.npz), or minari:ID; made on the spot if omitted."""
    alpha: float = 0.95
    """α of the learner that is robust, between 0 and 1."""
    physics: tuple[str, ...] = ()
    """Parameters of the learner's world, such as mass=0.2 length=0.6."""
    expert_physics: tuple[str, ...] = ()
    """Parameters of the expert's world, where it is trained here."""
    steps: int = 600_000
    """Steps in the learner's world."""
    expert_steps: int = 600_000
    """Steps of the expert's training."""
    episodes: int = 16
    """Demonstrations to record."""
    attempts: int = 1
    """Trainings from different draws, of which the one closest to the expert is kept."""
    seed: int = 0
    """Decides all draws."""
    out: Path = Path("out") / "imitate"
    """The folder to write to."""


def run_imitate(command: Imitate) -> int:
    """Run the `imitate` command."""
    from robustirl.irl import ImitationConfig

    if not 0 < command.alpha < 1:
        raise InvalidInputError(f"--alpha is {command.alpha}, but a number between 0 and 1 is needed.")
    as_count("--episodes", command.episodes, 1)
    as_count("--attempts", command.attempts, 1, MOST_ATTEMPTS)
    seed, config = as_seed("--seed", command.seed), ImitationConfig(steps=command.steps)
    if min(command.steps, command.expert_steps) < config.ppo.batch:
        raise InvalidInputError(f"--steps and --expert-steps need at least {config.ppo.batch} steps, one update.")
    world = _world(command.env, _parameters("--physics", command.physics))
    home = _world(command.env, _parameters("--expert-physics", command.expert_physics))
    seen = None if command.demos is None else _read(command.demos)
    _require_memory(command, config, (world, home), seen)
    with reserved_folder(command.out) as place, filled_whole(place) as folder:
        files = _imitate(command, (world, home), seen, config, seed, folder)
    say_files([command.out / name for name in files])
    return 0


def _require_memory(command: Imitate, config: Any, worlds: tuple[Any, Any], seen: Any) -> None:
    """Refuse more attempts or episodes than memory holds, before anything is trained."""
    home = worlds[1]
    learners = 2.0 * command.attempts * config.ppo.batch * BYTES_PER_STEP
    require_memory(learners, f"--attempts {command.attempts}", "take fewer")
    if seen is None:
        recorded = float(command.episodes) * home.horizon * BYTES_PER_STEP
        require_memory(recorded, f"--episodes {command.episodes}", "record fewer")


def _imitate(command: Imitate, worlds: tuple[Any, Any], seen: Any, config: Any, seed: int, folder: Path) -> list[str]:
    from robustirl.control import measure_returns
    from robustirl.irl import closest, fit_imitation_many, save_fit

    (world, home), expert = worlds, None
    bars, keys = PhaseBars(), list(jax.random.split(jax.random.key(seed), 4))
    try:
        if seen is None:
            seen, expert = _demonstrations(command, home, keys[:2], bars)
        alphas = [1.0, command.alpha]
        count = command.attempts
        trained = fit_imitation_many(
            [world] * (2 * count),
            [seen] * (2 * count),
            [alpha for alpha in alphas for _ in range(count)],
            config=config,
            callbacks=[lambda step: bars.report("learning", step.steps, step.total)],
            keys=list(jax.random.split(keys[2], count)) * 2,
        )
        fits = [closest(trained[:count]), closest(trained[count:])]
    finally:
        bars.stop()
    policies = [fit.player for fit in fits]
    names = [f"α = {_alpha_text(alpha)}" for alpha in alphas]
    if expert is not None:
        policies, names = [*policies, expert], [*names, "the expert"]
    with single_precision():
        returns = np.asarray(
            measure_returns([world] * len(policies), policies, episodes=16, keys=[keys[3]] * len(policies))
        ).mean(1)
    console.print(f"{seen!r}; the learner's world: {world!r}")
    for name, value in zip(names, returns, strict=True):
        place = " carried over" if name == "the expert" else ""
        console.print(f"{name}{place}: return {value:.1f} in the learner's world (no learner saw a reward)")
    for name, fit in zip(names, fits, strict=False):
        console.print(f"{name}: {fit.verdict}")
    files = ["demos.npz"]
    seen.save(folder / "demos.npz")
    for alpha, fit in zip(alphas, fits, strict=True):
        files.append(f"fit-alpha-{_alpha_text(alpha)}.npz")
        save_fit(fit, folder / files[-1])
    return files


def _alpha_text(alpha: float) -> str:
    """Return α in six digits if these are exact, else in all: no two α have one name."""
    short = f"{alpha:g}"
    return short if float(short) == alpha else repr(alpha)


def _demonstrations(command: Imitate, home: Any, keys: list, bars: PhaseBars) -> tuple[Any, Any]:
    """Train two experts, and return what is seen of the better one, and its policy."""
    from robustirl.control import train_policies
    from robustirl.demonstrations import record

    trained = train_policies(
        [home] * EXPERTS,
        steps=command.expert_steps,
        callbacks=[lambda step: bars.report("training an expert", step.steps, step.total)],
        keys=list(jax.random.split(keys[0], EXPERTS)),
    )
    best = max(trained, key=lambda one: _last_return(one.progress.episode_return))
    return record(home, best.policy, episodes=command.episodes, key=keys[1]).without_actions(), best.policy


def _last_return(returns: Any) -> float:
    """Return the mean return of episodes at the end of training; -inf if none ended there."""
    last = np.asarray(returns)[-LAST:]
    return float(np.nanmean(last)) if np.isfinite(last).any() else -np.inf


def _read(demos: str) -> Any:
    """Return recordings from a file or a Minari dataset, without their actions."""
    from robustirl.demonstrations.recordings import as_recordings

    return as_recordings(demos).without_actions()


def _world(name: str, parameters: dict[str, Any]) -> Any:
    from robustirl.envs import mujoco, physics

    if name in physics.names():
        return physics.make(name).changed(**parameters)
    if name not in mujoco.MODELS and not Path(name).is_file():
        known = ", ".join([*physics.names(), *mujoco.MODELS])
        raise InvalidInputError(f"--env is {name!r}, which is neither a model file nor a world with bodies: {known}.")
    return mujoco.mujoco_world(name, fast=True, **parameters)  # pyright: ignore[reportArgumentType]


def _parameters(option: str, words: tuple[str, ...]) -> dict[str, float]:
    """Return parameters from words such as mass=0.2."""
    found = {}
    for word in words:
        name, equals, number = word.partition("=")
        try:
            value = float("nan" if "_" in number else number)  # Python reads 1_0 as a number.
        except ValueError:
            value = float("nan")
        if not equals or name in ("", *NO_PARAMETERS) or math.isnan(value):
            raise InvalidInputError(f"{option} has {short_repr(word)}, but name=number is needed, such as mass=0.2.")
        if abs(value) > LARGEST_PARAMETER:
            raise InvalidInputError(
                f"{option} has {short_repr(word)}, but a number of at most {LARGEST_PARAMETER:g} is needed."
            )
        if name in found:
            raise InvalidInputError(f"{option} has {name} twice; give it once.")
        found[name] = value
    return found
