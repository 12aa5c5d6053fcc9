r"""Markov decision processes without a reward, and the two-player game the paper makes of them.

The reward is a separate argument everywhere, because the learner has none (M = M_θ \ R_θ, Section 2.1).
"""

import functools
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from robustirl._runtime import (
    DeviceModule,
    as_float,
    in_working_precision,
    short_repr,
    short_value,
    sum_tolerance,
    working_dtype,
    working_precision,
)
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.compact import as_kernel
from robustirl.mdp.kernel import AbstractKernel
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import scipy.sparse

    from robustirl.mdp.transitions import Recording


def _replaceable(kind: "type[MDP]") -> "type[MDP]":
    """Let `dataclasses.replace` copy a world: it passes on the fields, which bear other names than the arguments."""
    create = kind.__init__

    @functools.wraps(create)
    def initialize(self: "MDP", *args: Any, **values: Any) -> None:
        for name in ("initial", "discount"):
            if f"_{name}" in values:
                kept = values.pop(f"_{name}")
                values.setdefault(name, kept)
        create(self, *args, **values)

    kind.__init__ = initialize
    return kind


@_replaceable
class MDP(DeviceModule):
    """A world M = (S, A, T, γ, P₀).

    Args:
        kernel: T, as a kernel or as an array `[S, A, S]`, which is stored as diagonals or lists of successors if it is
            large and most of it is zero; or as a sparse matrix of SciPy `[S·A, S]`, whose row s·|A| + a is T(·|s,a).
        discount: γ in [0, 1).
        initial: P₀, a distribution over states; uniform if omitted.
        mask: `[S, A]`, true where an action is available to whoever acts; if omitted, every action
            whose row in the kernel is not all zeros.
        num_actions: |A|, which a sparse matrix does not tell; for no other kernel.

    Example:
        >>> world = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.9)
        >>> world.num_states, world.num_actions, world.initial.tolist()
        (2, 1, [0.5, 0.5])
        >>> import dataclasses
        >>> dataclasses.replace(world, discount=0.5)  # A changed copy; parts that are not named are kept.
        MDP(2 states, 1 actions, γ = 0.5, DenseKernel)
    """

    kernel: AbstractKernel
    mask: Bool[Array, "S A"]
    _initial: Float[Array, " S"]
    _discount: Float[Array, ""]

    def __init__(
        self,
        kernel: "AbstractKernel | ArrayLike | scipy.sparse.sparray | scipy.sparse.spmatrix",
        *,
        discount: ArrayLike,
        initial: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        num_actions: int | None = None,
    ):
        self.kernel = as_kernel(kernel, num_actions)
        size = (self.kernel.num_states, self.kernel.num_actions)
        exists = self.kernel.available()
        self.mask = exists if mask is None else _as_mask(mask, size)
        start = np.full(size[0], 1 / size[0]) if initial is None else initial
        checks.require_shape("the initial distribution", start, size[:1], "states")
        if checks.concrete(start):
            start = checks.as_floats("the initial distribution", start)
            checks.require_distributions("the initial distribution", start)
            start = checks.normalized(start)
        self._initial = as_float(start)
        self._discount = _as_number("the discount γ", discount, "0 <= γ < 1", lambda x: 0 <= x < 1)
        if checks.concrete(self.kernel, self.mask):
            _check_mask(np.asarray(self.mask), np.asarray(exists))

    @classmethod
    def from_transitions(
        cls,
        demonstrations: "Recording",
        *,
        discount: ArrayLike,
        num_states: int | None = None,
        num_actions: int | None = None,
        prior: float | int = 0.0,
        unseen: str = "mask",
        initial: ArrayLike | None = None,
    ) -> "MDP":
        """Estimate a world from recorded transitions: counts, with a prior. For worlds without a table.

        Args:
            demonstrations: Episodes with actions, from anyone who tried things in this world. States in which one
                terminated, and states that were never left, become absorbing.
            discount: γ.
            num_states: |S|; the largest recorded state plus one if omitted.
            num_actions: |A|; likewise.
            prior: How many transitions the prior counts for in each pair of state and action. The prior is where
                recorded transitions led from that state, whatever the action.
            unseen: What becomes of pairs that were never tried: `mask` makes them unavailable, `prior` gives them the
                prior, `refuse` raises an error that names one. The log says how many there are.
            initial: P₀; how often episodes began in each state if omitted.

        Example:
            >>> from robustirl.demonstrations import Demonstrations
            >>> tries = Demonstrations.from_arrays([[0, 1], [0, 0, 1]], [[0], [0, 1]], terminated=True)
            >>> world = MDP.from_transitions(tries, discount=0.9)
            >>> np.asarray(world.kernel.to_array()).tolist()
            [[[0.5, 0.5], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]
        """
        from robustirl.mdp.transitions import estimate_world  # That file is built on this one.

        options = {"num_states": num_states, "num_actions": num_actions, "prior": prior, "unseen": unseen}
        return estimate_world(demonstrations, discount=discount, initial=initial, **options)  # pyright: ignore[reportArgumentType]

    # Properties, unlike fields, leave the scope of double precision as NumPy's: `1 / (1 - world.discount)` is exact.

    @property
    def initial(self) -> Float[Array, " S"]:
        """P₀, `[S]`."""
        return self._initial

    @property
    def discount(self) -> Float[Array, ""]:
        """γ."""
        return self._discount

    @property
    def num_states(self) -> int:
        """|S|."""
        return self.kernel.num_states

    @property
    def num_actions(self) -> int:
        """|A|."""
        return self.kernel.num_actions

    def __repr__(self) -> str:
        return f"MDP({world_in_words(self)}, {type(self.kernel).__name__})"


def replace_parts(
    mdp: MDP,
    *,
    kernel: AbstractKernel | None = None,
    mask: Bool[Array, "S A"] | None = None,
    initial: Float[Array, " S"] | None = None,
    discount: Float[Array, ""] | None = None,
) -> MDP:
    """Return a world with some parts replaced, without checks: for code that changes a world that was checked.

    Example:
        >>> float(replace_parts(MDP([[[1.0]]], discount=0.5), discount=as_float(0.9)).discount)
        0.9
    """
    given = {"kernel": kernel, "mask": mask, "_initial": initial, "_discount": discount}
    changed = {name: part for name, part in given.items() if part is not None}
    return eqx.tree_at(lambda world: [getattr(world, name) for name in changed], mdp, list(changed.values()))


class MarkovGame(DeviceModule):
    """The two-player zero-sum game on a world: T^{two,L,α} = α T(·|s,a_pl) + (1-α) T(·|s,a_op) (Section 4.3).

    With probability α the player's action is executed, otherwise the opponent's; α = 1 is the world itself.

    Args:
        mdp: The world.
        alpha: α in (0, 1]: one number, or one a state `[S]`, or one a state and action of the player `[S, A]`. The
            last two are kept as `[S, A]`; α(s,a) is then the chance that the player's action a takes effect in s.

    Example:
        >>> MarkovGame(MDP([[[1.0]]], discount=0.5), alpha=0.75).alpha.item()
        0.75
        >>> MarkovGame(MDP([[[1.0], [1.0]]], discount=0.5), alpha=[0.75]).alpha.tolist()
        [[0.75, 0.75]]
    """

    mdp: MDP
    alpha: Float[Array, ""] | Float[Array, "S A"]

    def __init__(self, mdp: MDP, alpha: ArrayLike = 1.0):
        self.mdp = mdp
        self.alpha = as_local_alpha(alpha, mdp)

    def __repr__(self) -> str:
        return f"MarkovGame({world_in_words(self.mdp)}, α = {short_value(self.alpha)})"


def world_in_words(mdp: MDP) -> str:
    """Return the size of a world and its discount, or that of a batch of worlds."""
    *batch, states, actions = mdp.mask.shape
    many = f"{' × '.join(map(str, batch))} worlds of " if batch else ""
    return f"{many}{states} states, {actions} actions, γ = {short_value(mdp.discount)}"


def as_alpha(alpha: ArrayLike) -> Float[Array, ""]:
    """Return α as a checked number in (0, 1]: the probability that the player's action is the one executed."""
    return _as_number("alpha", alpha, "0 < alpha <= 1", lambda x: 0 < x <= 1)


def as_local_alpha(alpha: ArrayLike, mdp: MDP) -> Float[Array, ""] | Float[Array, "S A"]:
    """Return α as a checked number, or as checked numbers `[S, A]` from one a state or one a state and action.

    Example:
        >>> as_local_alpha([0.5, 1.0], MDP([[[1.0, 0.0]], [[0.0, 1.0]]], discount=0.5)).tolist()
        [[0.5], [1.0]]
    """
    try:
        axes = np.ndim(alpha)  # pyright: ignore[reportArgumentType]
    except ValueError:
        axes = 1  # Ragged; the check of the shape says so.
    if axes == 0:
        return as_alpha(alpha)
    size = mdp.mask.shape
    checks.require_shape("alpha", alpha, size if axes > 1 else size[:1], "states, actions; or states; or one number")
    if checks.concrete(alpha):
        array = checks.as_floats("alpha", alpha)
        bad = ~((array > 0) & (array <= 1))
        if bad.any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            raise InvalidInputError(
                f"alpha at {checks.place(index)} is {float(array[index])!r}, but numbers with 0 < alpha <= 1 are"
                " needed."
            )
        alpha = array
    values = as_float(alpha)
    return jnp.broadcast_to(values if axes > 1 else values[:, None], size)


def as_game(game: "MarkovGame | MDP") -> "MarkovGame":
    """Return a game as it is, or a world as the game without an opponent; cast to the precision in use."""
    if isinstance(game, MarkovGame):
        return game if game.alpha.dtype == game.mdp.initial.dtype == working_dtype() else in_working_precision(game)
    return MarkovGame(as_world(game))


def as_world(mdp: MDP) -> MDP:
    """Return `mdp` itself, if it is a world; one of another precision is cast to the one in use."""
    if not isinstance(mdp, MDP):
        raise InvalidInputError(
            f"a world is needed, but {type(mdp).__name__} was given; an environment's world is its .mdp(noise)."
        )
    return mdp if mdp.initial.dtype == working_dtype() else in_working_precision(mdp)


@working_precision
def as_reward(reward: ArrayLike, mdp: MDP, name: str = "the reward") -> Float[Array, " S"]:
    """Return a checked reward R(s), or another vector by that name: one finite number per state."""
    checks.require_shape(name, reward, (as_world(mdp).num_states,), "states")
    if checks.concrete(reward):
        reward = checks.as_floats(name, reward)
        checks.require_finite(name, reward)
    return as_float(reward)


@working_precision
def as_action_reward(reward: ArrayLike, mdp: MDP) -> Float[Array, " S"] | Float[Array, "S A"]:
    """Return a checked reward of states R(s), `[S]`, or of states and actions R(s,a), `[S, A]`.

    Whatever an `[S, A]` array holds for actions that are not available, NaN and infinity included, is replaced by
    zero: no one can collect it.

    Example:
        >>> world = MDP([[[1.0], [0.0]]], discount=0.5)  # One state; the second of its two actions does not exist.
        >>> as_action_reward([[3.0, float("nan")]], world).tolist()
        [[3.0, 0.0]]
    """
    try:
        pairs = np.ndim(reward) == 2  # pyright: ignore[reportArgumentType]
    except ValueError:
        pairs = False  # Ragged; the check of a reward of states says so.
    if not pairs:
        return as_reward(reward, mdp)
    checks.require_shape("the reward", reward, as_world(mdp).mask.shape, "states, actions")
    if checks.concrete(reward, mdp.mask):
        array = np.where(np.asarray(mdp.mask), checks.as_floats("the reward", reward), 0)
        checks.require_finite("the reward", array)
        return as_float(array)
    return jnp.where(mdp.mask, as_float(reward), 0)


@working_precision
def as_occupancy(occupancy: ArrayLike, mdp: MDP) -> Float[Array, " S"]:
    """Return a checked state occupancy ρ(s). It sums to one, or to less where a leaky world loses mass."""
    checks.require_shape("the occupancy", occupancy, (as_world(mdp).num_states,), "states")
    if checks.concrete(occupancy):
        array = checks.as_floats("the occupancy", occupancy)
        tolerance = sum_tolerance(array.dtype)
        array = np.where((array < 0) & (array >= -tolerance), 0, array)  # Rounding of whoever computed it.
        if mdp.kernel.leaky:
            checks.require_probabilities("the occupancy", array)
            if not 0 < (total := float(array.sum())) <= 1 + tolerance:
                raise InvalidInputError(f"the occupancy sums to {total!r}, but a sum in (0, 1] is needed.")
        else:
            checks.require_distributions("the occupancy", array)
        occupancy = array
    return as_float(occupancy)


def _as_number(name: str, value: ArrayLike, rule: str, holds) -> Float[Array, ""]:
    checks.require_shape(name, value, (), "a single number")
    checks.require_unmasked(name, value)
    if checks.concrete(value):
        number = checks.as_number(name, value)
        if not holds(number):
            shown = short_repr(value) if np.isnan(number) and not isinstance(value, float) else repr(number)
            raise InvalidInputError(f"{name} is {shown}, but a number with {rule} is needed.")
    return as_float(value)


def _as_mask(mask: ArrayLike, size: tuple[int, int]) -> Bool[Array, "S A"]:
    checks.require_shape("the action mask", mask, size, "states, actions")
    checks.require_unmasked("the action mask", mask)
    array = mask if isinstance(mask, jax.Array) else np.asarray(mask)
    if array.dtype != bool:
        raise InvalidInputError(f"the action mask holds {array.dtype}, but True and False are needed; use `array > 0`.")
    return array if isinstance(array, jax.Array) else jax.device_put(array)


def _check_mask(mask: np.ndarray, exists: np.ndarray) -> None:
    idle = ~mask.any(-1)
    if idle.any():
        raise InvalidInputError(
            f"state {int(np.argmax(idle))} has no available action; give a terminal state one that stays put."
        )
    missing = mask & ~exists
    if missing.any():
        state, action = (int(i) for i in np.argwhere(missing)[0])
        raise InvalidInputError(
            f"the mask allows action {action} in state {state}, but its transition row is all zeros;"
            " fill the row or mask the action."
        )
