"""The experts of the study of physics: trained once for every level of a parameter, and kept as runs of their own."""

import dataclasses
import logging
import tempfile
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from robustirl._runtime import as_path, is_file, on_host
from robustirl.control import GaussianPolicy, measure_returns, train_policies
from robustirl.envs import physics
from robustirl.errors import InvalidInputError
from robustirl.paper.studies.physics_worlds import make_world, scale_of
from robustirl.sweeps import Kind, RunResult, Spec, Store, register, unpack_store

MEASURED = 16
"""Episodes of mean actions by which experts are compared."""
_LOG = logging.getLogger("robustirl")


@dataclasses.dataclass(frozen=True)
class PhysicsExpertSpec(Spec):
    """One training of an expert.

    Attributes:
        world: The world.
        parameter: What is changed; empty in the usual world, whose expert serves all parameters.
        factor: Its value, as a multiple of the usual one.
        steps: Steps of PPO.
        attempt: Decides all draws.
    """

    world: str
    parameter: str
    factor: float
    steps: int
    attempt: int

    def make_world(self) -> physics.PhysicsWorld:
        """Return the world that the expert is trained in."""
        return make_world(self.world, **({self.parameter: self.factor} if self.parameter else {}))

    def check(self) -> None:
        """Refuse a world or a parameter that is not there."""
        self.make_world()


@dataclasses.dataclass(frozen=True)
class PhysicsExpertRecord:
    """What an expert earns.

    Attributes:
        spec: The run.
        mean_return: Of mean actions in its own world.
        seconds: Time of the run, its share of the batch.
    """

    spec: PhysicsExpertSpec
    mean_return: float
    seconds: float


def attempts_of(world: str, parameter: str, factor: float, steps: int) -> tuple[PhysicsExpertSpec, ...]:
    """Return the trainings of which the best is the expert of this level.

    Example:
        >>> {spec.parameter for spec in attempts_of("hopper", "mass", 1.0, 100)}
        {''}
    """
    usual = factor == 1
    return tuple(
        PhysicsExpertSpec(world, "" if usual else parameter, factor, steps, attempt)
        for attempt in range(scale_of(world).attempts)
    )


def best_of(
    experts: Mapping[PhysicsExpertSpec, RunResult], attempts: Iterable[PhysicsExpertSpec]
) -> tuple[GaussianPolicy, float]:
    """Return the policy that earns most among some trainings, and what it earns."""
    found = max((experts[spec] for spec in attempts), key=lambda result: result.record.mean_return)
    return policy_from(found.arrays), found.record.mean_return


EXPERT_COLUMNS = ("world", "parameter", "factor", "attempt", "steps", "return")


def expert_rows(records: Iterable[PhysicsExpertRecord]) -> list[tuple[object, ...]]:
    """Return the rows of a table of experts: what mean actions earn in their own world.

    Example:
        >>> expert_rows([PhysicsExpertRecord(PhysicsExpertSpec("hopper", "", 1.0, 100, 0), 3000.4, 0.0)])
        [('hopper', 'usual', 1.0, 0, 100, '3000')]
    """
    return [
        (spec.world, spec.parameter or "usual", spec.factor, spec.attempt, spec.steps, f"{record.mean_return:.0f}")
        for record in records
        for spec in [record.spec]
    ]


class PhysicsExpertContext:
    """Train the experts of a world in lockstep."""

    def results(self, specs: Sequence[PhysicsExpertSpec], size: int) -> list[RunResult]:  # noqa: ARG002
        """Return the experts of some specs, which share a world and the number of steps."""
        with on_host():
            worlds = [spec.make_world() for spec in specs]
        config, name = scale_of(specs[0].world).expert_ppo, specs[0].world
        trained = train_policies(
            worlds,
            steps=specs[0].steps,
            config=config,
            callback=lambda done, total: _LOG.info("%s: %d experts, %d of %d steps", name, len(specs), done, total),
            keys=[jax.random.key(7 + spec.attempt) for spec in specs],
        )
        policies = [one.policy for one in trained]
        keys = [jax.random.key(11)] * len(specs)
        returns = np.asarray(measure_returns(worlds, policies, keys=keys, episodes=MEASURED)).mean(-1)
        for spec, value in zip(specs, returns, strict=True):
            _LOG.info("%s earns %.0f", spec, value)
        return [
            RunResult(PhysicsExpertRecord(spec, float(value), 0.0), arrays_of(policy))
            for spec, value, policy in zip(specs, returns, policies, strict=True)
        ]


def experts_of(
    find: Callable[[PhysicsExpertSpec], RunResult], specs: Iterable[PhysicsExpertSpec]
) -> dict[PhysicsExpertSpec, RunResult]:
    """Return some experts, looked up."""
    return {spec: find(spec) for spec in dict.fromkeys(specs)}


def read_experts(path: Path, specs: Iterable[PhysicsExpertSpec]) -> dict[PhysicsExpertSpec, RunResult]:
    """Return those experts that a store or a packed store has; refuse one that has none."""
    path = as_path(path)
    with tempfile.TemporaryDirectory() as scratch:
        store = unpack_store(path, Path(scratch) / "store") if is_file(path) else Store.read(path)
        known = {result.record.spec: result for result in store.results(PHYSICS_EXPERT.name)}
    asked = list(specs)
    missing = [spec for spec in asked if spec not in known]
    if len(missing) == len(asked):
        raise InvalidInputError(
            f"{path} has none of the {len(asked)} experts that are needed, the first of which is {missing[0]}; omit"
            " --experts-from to train them, or give a store that has them."
        )
    found = {spec: known[spec] for spec in asked if spec in known}
    if missing:
        _LOG.info("%d of %d experts are taken from %s, and the others are trained", len(found), len(asked), path)
    return found


def arrays_of(policy: GaussianPolicy) -> dict[str, np.ndarray]:
    """Return a policy of two hidden layers as arrays that a store keeps."""
    named = {f"weights_{place}": part for place, part in enumerate(policy.weights)}
    named |= {f"biases_{place}": part for place, part in enumerate(policy.biases)}
    return {name: np.asarray(part) for name, part in {**named, "log_deviation": policy.log_deviation}.items()}


def policy_from(arrays: Mapping[str, np.ndarray]) -> GaussianPolicy:
    """Return the policy that `arrays_of` took apart.

    Example:
        >>> from robustirl.control import network_policy
        >>> policy = network_policy(3, 1, hidden=(4, 4), key=jax.random.key(0))
        >>> again = policy_from(arrays_of(policy))
        >>> bool((again.mean(jnp.ones(3)) == policy.mean(jnp.ones(3))).all()), len(again.biases)
        (True, 2)
    """
    weights, biases = (
        tuple(jnp.asarray(arrays[name]) for name in sorted(arrays) if name.startswith(kind))
        for kind in ("weights_", "biases_")
    )
    return GaussianPolicy(weights, biases, jnp.asarray(arrays["log_deviation"]))


def batch_key(spec: PhysicsExpertSpec) -> Hashable:
    """Return what the experts of a batch share: the world; on a CPU every core trains one alone."""
    return spec if jax.default_backend() == "cpu" else (spec.world, spec.steps)


PHYSICS_EXPERT = register(
    Kind(
        "physics-expert",
        PhysicsExpertSpec,
        PhysicsExpertRecord,
        table="experts",
        activity="training experts",
        cpu_batch=10_000,
        gpu_batch=10_000,
        min_batches_for_pool=2,
        warm_up=False,
        batch_key=batch_key,
        program_key=lambda spec: spec.world,
        context_key=lambda _: None,
        make_context=lambda *_: PhysicsExpertContext(),
    )
)
