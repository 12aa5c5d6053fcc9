r"""Learn one reward from several experts, each in a world of its own.

The objective is the weighted sum of the experts' duals, Σ_k w_k c_k(θ), or of their mean log-likelihoods. It is that of
one world which consists of all of them side by side: states (k, s), a block-diagonal kernel, the start distribution
Σ_k w_k P₀ᵏ, and a reward that repeats itself, R(k, s) = R_θ(s). One loop learns in it as in any other. Opponents may
differ in strength from world to world.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from robustirl._check import as_floats, as_list, short_repr
from robustirl._show import ShortRepr
from robustirl.demonstrations import Choices, Demonstrations
from robustirl.demonstrations.choices import as_choices
from robustirl.errors import InvalidInputError
from robustirl.irl.alpha import matched_occupancy, select_alpha
from robustirl.irl.fit import fit
from robustirl.irl.result import Fit
from robustirl.mdp import MDP, from_sparse
from robustirl.mdp.game import as_alpha
from robustirl.mdp.mdp import as_world
from robustirl.rewards import AbstractReward, TabularReward
from robustirl.types import FloatTree, Objective


class RepeatedReward(AbstractReward):
    """Repeat the reward of a model for each of several worlds.

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

    def seen(self, difference: Float[Array, " KS"] | Float[Array, "KS A"]) -> Float[Array, "..."]:
        return self.model.seen(difference.reshape(self.count, -1, *difference.shape[1:]).sum(0))

    def scales(self) -> FloatTree | None:
        return self.model.scales()


@dataclasses.dataclass(frozen=True, eq=False)
class JointFit(ShortRepr):
    """Hold the outcome of a fit to several experts.

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
        alphas: One α for all or one for each; "auto" chooses each from its own demonstrations (`select_alpha`).
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
    worlds, experts = _as_worlds(mdps), as_list("experts", experts, "a sequence of occupancies or demonstrations")
    count, (states, actions) = len(worlds), worlds[0].mask.shape
    if len(experts) != count:
        raise InvalidInputError(f"{count} worlds and {len(experts)} experts were given; give an expert for each world.")
    model = TabularReward(states) if reward is None else reward
    if isinstance(alphas, str) and alphas == "auto":
        alone = {name: value for name, value in options.items() if name not in ("initial_parameters", "callbacks")}
        pairs = zip(worlds, experts, strict=True)
        each = [select_alpha(w, e, reward=model, objective=objective, **alone) for w, e in pairs]
        chosen = np.array([selection.alpha for selection in each])
    else:
        given: Any = [alphas] * count if np.ndim(alphas) == 0 else alphas  # pyright: ignore[reportArgumentType]
        chosen = np.array([float(as_alpha(alpha)) for alpha in as_list("alphas", given, "numbers")])
        if chosen.shape != (count,):
            raise InvalidInputError(f"{chosen.size} alphas were given for {count} worlds; give one, or one for each.")
    if objective == "likelihood":
        rows = [as_choices(expert) for expert in experts]
        for row, world in zip(rows, worlds, strict=True):
            row.check_against(world)
        shares = np.array([len(row) for row in rows], float)
        evidence: Any = _side_by_side(rows, states)
    else:
        shares = np.ones(count) if weights is None else as_floats("the weights", weights)
        if shares.shape != (count,) or not ((shares > 0) & np.isfinite(shares)).all():
            raise InvalidInputError(f"the weights are {short_repr(weights)}, but {count} numbers above 0 are needed.")
        rhos = [
            matched_occupancy(expert, world, model) if isinstance(expert, Demonstrations) else np.asarray(expert, float)
            for expert, world in zip(experts, worlds, strict=True)
        ]
        evidence = np.concatenate([w * rho for w, rho in zip(shares / shares.sum(), rhos, strict=True)])
    shares = shares / shares.sum()
    union, shared = _union(worlds, shares), RepeatedReward(model, count)
    alpha: Any = np.repeat(chosen, states) if len(set(chosen)) > 1 else float(chosen[0])
    found = fit(union, evidence, alpha=alpha, reward=shared, objective=objective, **options)
    gaps = np.abs(np.asarray(found.occupancy) - np.asarray(found.expert_occupancy)).reshape(count, states).sum(1)
    return JointFit(
        reward=np.asarray(found.reward)[:states],
        parameters=found.parameters,
        players=np.asarray(found.player).reshape(count, states, actions),
        opponents=np.asarray(found.opponent).reshape(count, states, actions),
        alphas=chosen,
        occupancy_gaps=gaps / shares,
        fit=found,
        world=union,
        evidence=evidence,
        model=shared,
    )


def _as_worlds(mdps: Sequence[MDP]) -> list[MDP]:
    worlds = [as_world(mdp) for mdp in as_list("mdps", mdps, "a sequence of worlds")]
    if not worlds:
        raise InvalidInputError("no world was given; give a world for each expert.")
    first = worlds[0]
    for place, world in enumerate(worlds):
        if world.mask.shape != first.mask.shape or float(world.discount) != float(first.discount):
            raise InvalidInputError(
                f"world {place} has {world.mask.shape} states and actions and discount {float(world.discount)!r}, but"
                f" the first has {first.mask.shape} and {float(first.discount)!r}; experts with one reward share them."
            )
    return worlds


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
    from scipy import sparse  # Here, so that `import robustirl` stays light.

    kernel = sparse.block_diag([world.kernel.to_sparse() for world in worlds], format="csr")
    return MDP(
        from_sparse(sparse.csr_array(kernel), num_actions=worlds[0].num_actions),
        discount=float(worlds[0].discount),
        initial=np.concatenate([w * np.asarray(world.initial) for w, world in zip(shares, worlds, strict=True)]),
        mask=np.concatenate([np.asarray(world.mask) for world in worlds]),
    )
