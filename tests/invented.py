"""Fits whose numbers follow from their size, so that no two are alike and nothing has to be computed."""

import jax.numpy as jnp
import numpy as np

from robustirl.demonstrations import OccupancyEstimate
from robustirl.demonstrations.alpha import AlphaEstimate
from robustirl.irl import AlphaSelection, Diagnosis, Fit, FitVerdict, History, RobustIRL
from robustirl.irl.evidence import Evidence


def shares(size, phase=0.0):
    """A distribution over states."""
    weights = 1.5 + np.sin(1.7 * np.arange(size) + phase)
    return weights / weights.sum()


def policy(states, actions, phase=0.0):
    """A policy without ties."""
    weights = np.exp(2 * np.sin(2.3 * np.arange(states)[:, None] + 1.1 * np.arange(actions) ** 2 + phase))
    return weights / weights.sum(-1, keepdims=True)


def fit(states, actions, *, alpha=0.9, pairs=False, steps=4, status="budget", gap=0.0625):
    """A fit that ended in the way that is asked for."""
    shape = (states, actions) if pairs else (states,)
    reward = jnp.asarray(np.cos(np.arange(np.prod(shape))).reshape(shape))
    verdict = FitVerdict(
        converged=jnp.asarray(status == "converged"),
        valid=jnp.asarray(status != "failed"),
        stopped=jnp.asarray(status == "stopped"),
        steps=jnp.asarray(steps),
        occupancy_gap=jnp.asarray(gap),
        error_bound=jnp.asarray(1e-9),
        settled=jnp.asarray(status == "settled"),
        best_step=jnp.asarray(max(steps - 1, 0)),
        tolerance=jnp.asarray(1e-3),
    )
    facts = (gap, 0.01, 0.7, 0.05, 0.02, 0.03, 0.04, 0.9, 0.11, 0.12, 0.13)
    return Fit(
        player=jnp.asarray(policy(states, actions)),
        opponent=jnp.asarray(policy(states, actions, 2.0)),
        reward=reward,
        parameters=reward,
        value=jnp.asarray(np.linspace(-1, 1, states)),
        expert_occupancy=jnp.asarray(shares(states)),
        occupancy=jnp.asarray(shares(states, 0.3)),
        alpha=jnp.asarray(alpha),
        history=History(
            jnp.asarray([0.5 / 2**step for step in range(steps + 1)]),
            jnp.zeros(steps + 1),
            jnp.zeros(steps + 1, dtype=int),
        ),
        verdict=verdict,
        diagnosis=Diagnosis(*map(jnp.asarray, facts)),
    )


def model(found, *, decisive=None, episodes=12, notes=(), cautions=()):
    """An estimator that has learned a fit; α was chosen from the data if `decisive` says how well."""
    states = len(found.expert_occupancy)
    chosen = None
    if decisive is not None:
        words = "moves say that the worlds differ" if decisive else "the data cannot tell"
        chosen = AlphaEstimate(float(np.min(found.alpha)), 0.8, 1.0, decisive, words, "fits", 0.1, 200, 0.95)
    rho = shares(states)
    estimate = OccupancyEstimate(rho, rho, rho, rho > 0, 0.25, 0.05, episodes or 0, 0.9, "chain", 0.95)
    evidence = Evidence(
        discount=0.9,
        episodes=episodes,
        transitions=None if episodes is None else 1234,
        has_actions=decisive is not None,
        alpha=np.asarray(found.alpha) if np.ndim(found.alpha) else float(found.alpha),
        cautions=tuple(cautions),
        alpha_estimate=chosen,
        occupancy_estimate=None if episodes is None else estimate,
        notes=tuple(notes),
    )
    learned = RobustIRL(0.9)
    learned.fit_, learned.evidence_ = found, evidence
    learned.inference_ = learned.alpha_selection_ = None
    return learned


def selection(alpha=0.9):
    """What a choice among three candidates looked at."""
    zeros = np.zeros(3)
    return AlphaSelection(
        alpha=alpha,
        candidates=np.array([1.0, 0.9, 0.8]),
        gap=np.array([0.01, 0.02, 0.2]),
        distance=np.array([0.01, 0.21, 0.31]),
        excess=zeros,
        arrival=zeros + 1,
        reach=zeros + 1,
        planned=zeros == 0,
        gain=np.array([0.0, 2.0, 3.0]),
        gain_error=np.array([0.0, 0.5, np.inf]),
        own_gains=np.zeros((3, 3)),
        avoidable_gap=0.0,
        sampling_error=0.2,
        direction="unknown",
        log_likelihood=zeros,
        log_likelihood_error=zeros,
        admissible=np.array([True, True, False]),
        decisive=True,
        note="",
        episodes=100,
        fits=(),
        mismatch=AlphaEstimate(1.0, 0.05, 1.0, False, "", "states", 0.0, 100, 0.95),
    )
