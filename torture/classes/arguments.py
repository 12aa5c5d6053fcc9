"""Arguments of the wrong kind: whatever takes worlds, kernels, functions or configurations, given other things.

What a number may not be is in `numbers.py`; here are the doors that were added later, with both.
"""

import datetime
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from robustirl import control, demonstrations, envs, irl, mdp, planning, theory
from robustirl.demonstrations import Choices, Recordings
from robustirl.envs import physics
from torture.classes import BadInput
from torture.classes.numbers import HALF, NO_COUNT, NO_REAL, UNIFORM, walks, world

KINDS: dict[str, Any] = {
    "nothing": None,
    "a text": "ab",
    "a number": 3,
    "several lengths": [[0], [1, 2]],
    "NaN": [[[float("nan")]]],
    "masked": np.ma.masked_all((2, 2, 1)),
    "complex": np.ones((2, 2, 1), complex),
    "objects": np.array([[[None]]], object),
    "dates": [datetime.datetime(2024, 1, 1)],
    "a mapping": {"a": 1},
    "a record": np.zeros((2, 2, 1), [("a", float)]),
    "a function": len,
}
KEY = jax.random.key(0)
MAKER: Any = len  # A function, which is all that is asked of it before it is called.
STATES = np.array([[[0], [1]], [[1], [0]]])


def _lists() -> mdp.SuccessorKernel:
    return mdp.SuccessorKernel(STATES, np.ones((2, 2, 1)))


def _seen() -> Recordings:
    return Recordings.from_arrays([np.ones((3, 3))], [np.ones((2, 1))])


@functools.cache
def _learned() -> irl.RobustIRL:
    return irl.RobustIRL(1.0, steps=1, throw=False).fit(world(), walks())


def _of_function(successors: Any, **options: Any) -> object:
    settings: dict[str, Any] = {"num_states": 3, "num_actions": 2} | options
    return mdp.from_function(successors, **settings)


DOORS: dict[str, Callable[[Any], object]] = {
    "successors": lambda value: mdp.SuccessorKernel(value, np.ones((2, 2, 1))),
    "probabilities of successors": lambda value: mdp.SuccessorKernel(STATES, value),
    "offsets": lambda value: mdp.BandedKernel(value, np.ones((2, 2, 1))),
    "weights of diagonals": lambda value: mdp.BandedKernel([0], value),
    "parts of a product": lambda value: mdp.KroneckerKernel(value),
    "sparse matrix": lambda value: mdp.from_sparse(value, num_actions=1),
    "answer of a kernel function": lambda value: _of_function(lambda *_: (value, [1.0])),
    "chances of a kernel function": lambda value: _of_function(lambda *_: ([0], value)),
    "arrays of a kernel function": lambda value: _of_function(lambda *_: value, vectorized=True),
    "choices": lambda value: Choices(value, [0, 1]),
    "actions of choices": lambda value: Choices([0, 1], value),
    "mask": mdp.uniform_policy,
    "distance of worlds": lambda value: mdp.dynamics_distance(world(), value),
    "devices": lambda value: mdp.shard_states(world(), value),
    "worlds to identify in": theory.identify,
    "candidates of worlds": lambda value: theory.rank_worlds([world()], value),
    "angles of worlds": lambda value: theory.principal_angles(world(), value),
    "policy to certify": lambda value: theory.certify(world(), value, HALF, radius=0.1),
    "policy of a guarantee": lambda value: theory.guarantee(world(), walks(), value),
    "worlds of several experts": lambda value: irl.fit_jointly(value, [walks()]),
    "several experts": lambda value: irl.fit_jointly([world()], value),
    "choices to profile": lambda value: irl.profile_alpha(world(), value),
    "demonstrations to select by": lambda value: irl.select_alpha(world(), value),
    "demonstrations to transfer from": lambda value: irl.fit_transfer(world(), value),
    "recorded environment": demonstrations.recorded,
    "recorded choices": demonstrations.recorded_choices,
    "demonstrations to save": lambda value: demonstrations.save(value, "walks.npz"),
    "demonstrations to record for Minari": lambda value: demonstrations.to_minari(value, "torture/walks-v0"),
    "demonstrations of an occupancy": lambda value: demonstrations.estimate_occupancy(value, world()),
    "world of an occupancy": lambda value: demonstrations.estimate_occupancy(walks(), value),
    "demonstrations of an alpha": lambda value: demonstrations.estimate_alpha(world(), value),
    "world of an alpha": lambda value: demonstrations.estimate_alpha(value, walks()),
    "demonstrations of local alphas": lambda value: demonstrations.estimate_local_alpha(world(), value),
    "demonstrations of dynamics": lambda value: demonstrations.estimate_dynamics(world(), value),
    "demonstrations to count": lambda value: demonstrations.transition_counts(value, 2),
    "transitions of a world": lambda value: mdp.MDP.from_transitions(value, discount=0.9),
    "demonstrations to join": lambda value: demonstrations.Demonstrations.concatenate([value]),
    "states to act in": lambda value: _learned().predict(value),
    "states to draw actions in": lambda value: _learned().sample(value, seed=0),
    "edges to link": envs.link_graph,
    "edges to place": envs.graph_positions,
    "vector environment": envs.from_gymnasium_vector,
    "world with physics": physics.make,
    "world to train in": lambda value: control.train_policy(value, steps=4096, key=KEY),
    "policy to record": lambda value: demonstrations.record(physics.make("pendulum"), value, key=KEY),
    "worlds to measure in": lambda value: control.measure_returns(value, value, keys=[KEY]),
    "recordings to imitate": lambda value: irl.fit_imitation(physics.make("pendulum"), value, key=KEY),
    "recordings to clone": lambda value: irl.clone_behavior(value, key=KEY),
    "Minari's recordings": Recordings.from_minari,
    "widths of networks": lambda value: control.PPOConfig(hidden=value),
    "limits of deviations": lambda value: control.PPOConfig(deviations=value),
    "widths of discriminators": lambda value: irl.ImitationConfig(hidden=value),
    "settings of PPO": lambda value: irl.ImitationConfig(ppo=value),
    "name of an environment": lambda value: envs.register(value, MAKER),
    "factory of an environment": lambda value: envs.register("torture", value),
    "name of a noise model": lambda value: envs.register_noise_model(value, MAKER),
    "kernel of a noise model": lambda value: envs.register_noise_model("torture", value),
}
COUNTS: dict[str, Callable[[Any], object]] = {
    "states of a function": lambda value: _of_function(lambda *_: ([0], [1.0]), num_states=value),
    "actions of a function": lambda value: _of_function(lambda *_: ([0], [1.0]), num_actions=value),
    "extended states": lambda value: mdp.extend_states(world(), value),
    "bins of buses": lambda value: envs.buses(4, bins=value),
    "group of buses": lambda value: envs.buses(value),
    "horizon of induction": lambda value: planning.backward_induction(world(), HALF, value),
    "repetitions": lambda value: planning.sampled_total_return(world(), UNIFORM, HALF, key=KEY, repetitions=value),
    "vector environments": lambda value: envs.from_gymnasium_vector("CartPole-v1", environments=value),
    "seed of a vector environment": lambda value: envs.from_gymnasium_vector("CartPole-v1", environments=1, seed=value),
    "steps of training": lambda value: control.train_policy(physics.make("pendulum"), steps=value, key=KEY),
    "seed of drawn actions": lambda value: _learned().sample([0], seed=value),
    "seed of a policy": lambda value: _learned().as_sb3(seed=value),
    "steps of cloning": lambda value: irl.clone_behavior(_seen(), steps=value, key=KEY),
    **{
        f"{field} of PPO": functools.partial(lambda field, value: control.PPOConfig(**{field: value}), field)
        for field in ("environments", "segment", "epochs", "minibatches")
    },
    **{
        f"{field} of imitation": functools.partial(lambda field, value: irl.ImitationConfig(**{field: value}), field)
        for field in ("steps", "discriminator_steps", "batch")
    },
}
REALS: dict[str, Callable[[Any], object]] = {
    "mass of a pendulum": lambda value: physics.make("pendulum", mass=value),
    "discount of a pendulum": lambda value: physics.make("pendulum", discount=value),
    "discount of a vector environment": lambda value: envs.from_gymnasium_vector(
        "CartPole-v1", environments=1, discount=value
    ),
    "discount of buses": lambda value: envs.buses(4, discount=value),
    "radius": lambda value: theory.as_uncertainty(world(), radius=value),
    "temperature of a set": lambda value: theory.as_uncertainty(world(), radius=0.1, kind="kl", temperature=value),
    "confidence of a guarantee": lambda value: theory.guarantee(world(), walks(), UNIFORM, confidence=value),
    "suboptimality": lambda value: theory.guarantee(world(), walks(), UNIFORM, suboptimality=value),
    "return of the expert": lambda value: theory.guarantee(world(), walks(), UNIFORM, expert_return=value),
    "strength of a prior": lambda value: irl.fit_transfer(world(), walks(), strength=value),
    "confidence of a selection": lambda value: irl.select_alpha(world(), walks(), confidence=value),
    "a candidate": lambda value: irl.select_alpha(world(), walks(), candidates=[value]),
    "a candidate of a profile": lambda value: irl.profile_alpha(world(), walks(), candidates=[value]),
    "alpha of several experts": lambda value: irl.fit_jointly([world()], [walks()], value),
    "a chance of wrong actions": lambda value: mdp.WrongActionKernel(_lists(), value),
    **{
        f"{field} of PPO": functools.partial(lambda field, value: control.PPOConfig(**{field: value}), field)
        for field in ("learning_rate", "final_rate", "clip", "gae_decay", "entropy", "gradient_norm", "deviation")
    },
}
FINE = {
    *(
        ("states to act in", "a number"),
        ("states to draw actions in", "a number"),
    ),
    *(("devices", "nothing"), ("name of an environment", "a text"), ("factory of an environment", "a function")),
    *(("name of a noise model", "a text"), ("kernel of a noise model", "a function")),
    *(("group of buses", "a list"), ("group of buses", "a pair"), ("alpha of several experts", "a list")),
    *(("mass of a pendulum", "a list"), ("mass of a pendulum", "a pair"), ("mass of a pendulum", "an array of three")),
    *(("a chance of wrong actions", "a truth"), ("a chance of wrong actions", "a truth of NumPy")),
    ("a chance of wrong actions", "a list"),
}
"""Doors times faults that are none there."""


def bad_arguments() -> Iterator[BadInput]:
    """Yield every door with everything that it cannot take."""
    for doors, faults in ((DOORS, KINDS), (COUNTS, NO_COUNT), (REALS, NO_REAL)):
        for door, call in doors.items():
            for what, value in faults.items():
                if (door, what) not in FINE:
                    yield BadInput(f"{door}: {what}", functools.partial(call, value))
