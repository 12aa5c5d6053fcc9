r"""Several experts with one reward, each in a world of its own: one fit to all of them.

The objective is the weighted sum of the experts' duals, Σ_k w_k c_k(θ), or of their mean log-likelihoods. It is that of
one world which consists of all of them side by side: states (k, s), a block-diagonal kernel, the start distribution
Σ_k w_k P₀ᵏ, and a reward that repeats itself, R(k, s) = R_θ(s). One loop learns in it as in any other. Opponents may
differ in strength from world to world.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from robustirl._runtime import short_repr
from robustirl.demonstrations import Choices, Demonstrations, estimate_occupancy
from robustirl.demonstrations.choices import as_choices
from robustirl.errors import InvalidInputError
from robustirl.irl.alpha_profile import profile_alpha
from robustirl.irl.alpha_selection import select_alpha
from robustirl.irl.mce.evidence_checks import matched_occupancy
from robustirl.irl.mce.fit import fit
from robustirl.irl.mce.problem import LIKELIHOOD
from robustirl.irl.mce.result import Fit
from robustirl.mdp import MDP, as_alpha, as_floats, as_list, as_world, shape_of
from robustirl.rewards import AbstractReward, LinearReward, TabularReward
from robustirl.types import FloatTree, Objective


class RepeatedReward(AbstractReward):
    """The reward of a model, repeated for each of several worlds.

    Example:
        >>> RepeatedReward(TabularReward(2), 2)(jnp.array([1.0, 3.0])).tolist()
        [1.0, 3.0, 1.0, 3.0]
    """

    model: AbstractReward
    count: int

    def initial_parameters(self) -> FloatTree:
        return self.model.initial_parameters()

    def __call__(self, parameters: FloatTree) -> Float[Array, " KS"] | Float[Array, "KS A"]:
        reward = self.model(parameters)
        return jnp.tile(reward, (self.count, *(1,) * (reward.ndim - 1)))

    def parameter_names(self) -> tuple[str, ...]:
        return self.model.parameter_names()


@dataclasses.dataclass(frozen=True, eq=False)
class JointFit:
    """The outcome of a fit to several experts.

    Attributes:
        reward: `[S]` or `[S, A]`, the reward that all experts share.
        parameters: θ.
        players: `[K, S, A]`, the player's policy in each world.
        opponents: `[K, S, A]`, the opponent's.
        alphas: `[K]`, α in each world.
        occupancy_gaps: `[K]`, ‖ρ_mix - ρ‖₁ in each world, states only.
        fit: The fit in the world of all worlds, with its history and verdict.
        world, evidence, model: That world, what the fit was given in it, and the reward model; `infer` takes them for
            standard errors.
    """

    reward: Float[np.ndarray, "..."]
    parameters: Any
    players: Float[np.ndarray, "K S A"]
    opponents: Float[np.ndarray, "K S A"]
    alphas: Float[np.ndarray, " K"]
    occupancy_gaps: Float[np.ndarray, " K"]
    fit: Fit
    world: MDP
    evidence: Any
    model: AbstractReward


def fit_jointly(
    mdps: Sequence[MDP],
    experts: Sequence[Any],
    alphas: float | Sequence[float] | Literal["auto"] = 1.0,
    *,
    reward: AbstractReward | None = None,
    weights: Sequence[float] | None = None,
    objective: Objective = "occupancy",
    **options: Any,
) -> JointFit:
    """Learn one reward from several experts, each in a world of its own.

    Args:
        mdps: The learner's worlds, over the same states and actions and with the same discount.
        experts: For each world the expert's occupancy, `[S]` or `[S, A]`, or demonstrations; for a likelihood
            demonstrations with actions, or `Choices`.
        alphas: One α for all or one for each; "auto" estimates each from its own demonstrations.
        reward: The reward model that all share; one parameter per state if omitted.
        weights: How much each expert counts, for occupancies: all alike if omitted. In a likelihood every choice does.
        objective: See `fit`.
        options: Further ones of `fit`.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> from robustirl.planning import expert_policy, state_occupancy
        >>> env = ThreeState()
        >>> worlds = [env.mdp(noise) for noise in (0.0, 0.1)]
        >>> rhos = [state_occupancy(world, expert_policy(world, env.reward)) for world in worlds]
        >>> joint = fit_jointly(worlds, rhos)
        >>> joint.players.shape, bool(joint.occupancy_gaps.max() < 1e-3)
        ((2, 3, 2), True)
    """
    worlds = _as_worlds(mdps, experts)
    count, states = len(worlds), worlds[0].num_states
    model = TabularReward(states) if reward is None else reward
    chosen = _alphas(worlds, experts, alphas, model, objective, options)
    if objective == LIKELIHOOD:
        rows = [as_choices(expert) for expert in experts]
        for row, world in zip(rows, worlds, strict=True):
            row.check_against(world)
        shares = np.array([len(row) for row in rows], float)
        evidence: Any = _side_by_side(rows, states)
    else:
        shares = np.ones(count) if weights is None else as_floats("the weights", weights)
        if shares.shape != (count,) or not ((shares > 0) & np.isfinite(shares)).all():
            raise InvalidInputError(f"the weights are {short_repr(weights)}, but {count} numbers above 0 are needed.")
        rhos = [_occupancy(expert, world, model) for expert, world in zip(experts, worlds, strict=True)]
        evidence = np.concatenate([w * rho for w, rho in zip(shares / shares.sum(), rhos, strict=True)])
    union = _union(worlds, shares / shares.sum())
    local = np.repeat(chosen, states)
    alpha: Any = local if len(set(chosen)) > 1 else float(chosen[0])
    shared = _repeated(model, count)
    found = fit(union, evidence, alpha=alpha, reward=shared, objective=objective, **options)
    return _taken_apart(found, chosen, shares / shares.sum(), union, evidence, shared, states)


def _taken_apart(
    found: Fit,
    alphas: Float[np.ndarray, " K"],
    shares: Float[np.ndarray, " K"],
    world: MDP,
    evidence: Any,
    model: AbstractReward,
    states: int,
) -> JointFit:
    count, actions = len(alphas), found.player.shape[-1]
    gaps = np.abs(np.asarray(found.occupancy) - np.asarray(found.expert_occupancy)).reshape(count, states).sum(1)
    return JointFit(
        reward=np.asarray(found.reward)[:states],
        parameters=found.parameters,
        players=np.asarray(found.player).reshape(count, states, actions),
        opponents=np.asarray(found.opponent).reshape(count, states, actions),
        alphas=alphas,
        occupancy_gaps=gaps / shares,
        fit=found,
        world=world,
        evidence=evidence,
        model=model,
    )


def _as_worlds(mdps: Sequence[MDP], experts: Sequence[Any]) -> list[MDP]:
    worlds = [as_world(mdp) for mdp in as_list("mdps", mdps, "a sequence of worlds")]
    experts = as_list("experts", experts, "a sequence of occupancies or demonstrations")
    if not len(worlds) == len(experts) > 0:
        raise InvalidInputError(
            f"{len(worlds)} worlds and {len(experts)} experts were given, but an expert is needed for every world."
        )
    first = worlds[0]
    for place, world in enumerate(worlds):
        if world.mask.shape != first.mask.shape or float(world.discount) != float(first.discount):
            raise InvalidInputError(
                f"world {place} has {world.mask.shape} states and actions and discount {float(world.discount)!r}, but"
                f" the first has {first.mask.shape} and {float(first.discount)!r}; experts with one reward share them."
            )
    return worlds


def _alphas(
    worlds: list[MDP],
    experts: Sequence[Any],
    alphas: Any,
    model: AbstractReward,
    objective: str,
    options: Mapping[str, Any],
) -> Float[np.ndarray, " K"]:
    """Return α for each world, as given or estimated.

    It is estimated with the reward model and the settings of the joint fit.
    """
    if isinstance(alphas, str):
        if alphas != "auto":
            raise InvalidInputError(f"alphas is {alphas!r}, but numbers with 0 < alpha <= 1 or 'auto' are needed.")
        if objective == LIKELIHOOD:
            profiles = [profile_alpha(w, e, reward=model, **options) for w, e in zip(worlds, experts, strict=True)]
            return np.array([estimate.alpha for estimate, _ in profiles])
        for place, expert in enumerate(experts):
            if not isinstance(expert, Demonstrations):
                raise InvalidInputError(
                    f"alphas is 'auto', but expert {place} is given by an occupancy, which does not tell α; give"
                    " demonstrations or numbers."
                )
        alone = {name: value for name, value in options.items() if name not in ("initial_parameters", "callbacks")}
        return np.array([select_alpha(w, e, reward=model, **alone).alpha for w, e in zip(worlds, experts, strict=True)])
    single = shape_of("alphas", alphas) == ()
    each = [alphas] * len(worlds) if single else as_list("alphas", alphas, "a number, or a sequence of them,")
    given = np.array([float(as_alpha(alpha)) for alpha in each])
    if given.shape != (len(worlds),):
        raise InvalidInputError(f"{given.size} alphas were given for {len(worlds)} worlds; give one, or one for each.")
    return given


def _occupancy(expert: Any, world: MDP, model: AbstractReward) -> Float[np.ndarray, "..."]:
    """Return ρ of an expert, estimated from demonstrations where it is not given."""
    if isinstance(expert, Demonstrations):
        return matched_occupancy(expert, world, np.asarray(estimate_occupancy(expert, world).occupancy), model)
    return as_floats("the occupancy of an expert", expert)


def _side_by_side(rows: Sequence[Choices], states: int) -> Choices:
    """Return the choices of all experts, in the states of the world of all worlds."""
    groups = [np.unique(row.groups, return_inverse=True)[1] for row in rows]
    first = np.cumsum([0, *(group.max() + 1 for group in groups)])
    return Choices(
        np.concatenate([row.states + k * states for k, row in enumerate(rows)]),
        np.concatenate([row.actions for row in rows]),
        np.concatenate([group + first[k] for k, group in enumerate(groups)]),
    )


def _union(worlds: Sequence[MDP], shares: Float[np.ndarray, " K"]) -> MDP:
    """Return the world that consists of all worlds side by side."""
    count, (states, actions) = len(worlds), worlds[0].mask.shape
    kernel = np.zeros((count, states, actions, count, states))
    for k, world in enumerate(worlds):
        kernel[k, :, :, k] = np.asarray(world.kernel.to_array())
    size = count * states
    return MDP(
        kernel.reshape(size, actions, size),
        discount=float(worlds[0].discount),
        initial=np.concatenate([w * np.asarray(world.initial) for w, world in zip(shares, worlds, strict=True)]),
        mask=np.concatenate([np.asarray(world.mask) for world in worlds]),
    )


def _repeated(model: AbstractReward, count: int) -> AbstractReward:
    """Return the reward for all worlds, as a linear one where it is linear.

    There are faster methods for linear rewards.
    """
    if isinstance(model, TabularReward):
        size = int(np.prod(model.shape))
        model = LinearReward(np.eye(size).reshape(*model.shape, size), names=model.parameter_names())
    if isinstance(model, LinearReward):
        return LinearReward(np.concatenate([np.asarray(model.features)] * count), names=model.names)
    return RepeatedReward(model, count)
