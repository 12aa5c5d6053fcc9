r"""Markov decision processes without a reward.

The reward is a separate argument everywhere, because the learner has none (M = M_θ \ R_θ, Section 2.1).

Values, occupancies and their error bounds divide by 1 - γ. A solver certifies a value of a floating-point type to
16 ε / (1 - γ) of its size, ε the type's machine epsilon; discounts for which that leaves no digit are refused here.
"""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float

from robustirl._check import (
    as_floats,
    as_list,
    as_number,
    concrete,
    normalized,
    require_distributions,
    require_finite,
    require_shape,
    require_unmasked,
    short_repr,
)
from robustirl._jax import DeviceModule, as_float, in_working_precision, working_dtype
from robustirl._show import short_value
from robustirl.errors import InvalidInputError
from robustirl.mdp.builders import Recording, as_kernel, estimate_kernel
from robustirl.mdp.kernel import AbstractKernel
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import scipy.sparse

LEAST_DIGIT = 0.1
"""The largest relative error that is still an answer."""
LOST_MASS = 1e-9  # Rows are sums of floats, so that one which keeps all but this much of its mass keeps all of it.


class Labels:
    """Names and positions of a world, for people.

    All labels are equal, so that programs compiled for one world are those of another with other names.
    """

    def __init__(self, positions: Any, state_names: Any, action_names: Any):
        self.positions, self.state_names, self.action_names = positions, state_names, action_names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Labels)

    def __hash__(self) -> int:
        return hash(Labels)


def _replaceable(kind: "type[MDP]") -> "type[MDP]":
    """Let `dataclasses.replace` copy a world: it passes on the fields, whose names differ from those of arguments."""
    create = kind.__init__

    @functools.wraps(create)
    def initialize(self: "MDP", *args: Any, **values: Any) -> None:
        for name in ("initial", "discount"):
            if f"_{name}" in values:
                kept = values.pop(f"_{name}")
                values.setdefault(name, kept)
        labels = values.pop("labels", None)
        for name in ("positions", "state_names", "action_names"):
            values.setdefault(name, getattr(labels, name, None))
        create(self, *args, **values)

    kind.__init__ = initialize
    return kind


@_replaceable
class MDP(DeviceModule):
    """A world M = (S, A, T, γ, P₀).

    Args:
        kernel: T, as an array `[S, A, S]`; as a sparse matrix of SciPy `[S·A, S]`, whose row s·|A| + a is T(·|s,a); or
            as a kernel (`mdp.from_function`). How it is stored follows from its content.
        discount: γ in [0, 1).
        initial: P₀, a distribution over states; uniform if omitted.
        mask: `[S, A]`, true where an action is available, to player and opponent alike; if omitted, every action
            whose row in the kernel is not all zeros.
        num_actions: |A|, which a sparse matrix does not tell; for no other kernel.
        positions: `[S, 2]`, where plots draw the states: x to the right, y up. NaN for states that are not drawn.
        state_names: One name for each state, for plots, tables and demonstrations.
        action_names: One name for each action.

    Example:
        >>> world = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.9, state_names=["here", "there"])
        >>> world.num_states, world.num_actions, world.initial.tolist(), world.state_names
        (2, 1, [0.5, 0.5], ('here', 'there'))
        >>> import dataclasses
        >>> dataclasses.replace(world, discount=0.5)  # A changed copy; parts that are not named are kept.
        MDP(2 states, 1 actions, γ = 0.5)
    """

    kernel: AbstractKernel
    mask: Bool[Array, "S A"]
    _initial: Float[Array, " S"]
    _discount: Float[Array, ""]
    labels: Labels = eqx.field(static=True)

    def __init__(
        self,
        kernel: "AbstractKernel | ArrayLike | scipy.sparse.sparray | scipy.sparse.spmatrix",
        *,
        discount: ArrayLike,
        initial: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        num_actions: int | None = None,
        positions: ArrayLike | None = None,
        state_names: Sequence[Any] | None = None,
        action_names: Sequence[Any] | None = None,
    ):
        self.kernel = as_kernel(kernel, num_actions)
        size = (self.kernel.num_states, self.kernel.num_actions)
        exists = self.kernel.available()
        self.mask = exists if mask is None else _as_mask(mask, size)
        start = np.full(size[0], 1 / size[0]) if initial is None else initial
        require_shape("the initial distribution", start, size[:1], "states")
        if concrete(start):
            start = as_floats("the initial distribution", start)
            require_distributions("the initial distribution", start)
            start = normalized(start)
        self._initial = as_float(start)
        self._discount = as_discount(discount)
        if concrete(self.kernel, self.mask):
            _check_mask(np.asarray(self.mask), np.asarray(exists))
        places = None if positions is None else _as_positions(positions, size[0])
        names = (_as_names(*of) for of in (("state", state_names, size[0]), ("action", action_names, size[1])))
        self.labels = Labels(places, *names)

    @classmethod
    def from_transitions(
        cls,
        demonstrations: Recording,
        *,
        discount: ArrayLike,
        num_states: int | None = None,
        num_actions: int | None = None,
        prior: float | int = 0.0,
        unseen: str = "mask",
        initial: ArrayLike | None = None,
    ) -> "MDP":
        """Estimate a world from recorded transitions by counts, with a prior.

        It is for worlds without a table.

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
            >>> np.asarray(world.kernel.dense()).tolist()
            [[[0.5, 0.5], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]
        """
        options = {"num_states": num_states, "num_actions": num_actions, "prior": prior, "unseen": unseen}
        kernel, begun = estimate_kernel(demonstrations, **options)  # pyright: ignore[reportArgumentType]
        return cls(kernel, discount=discount, initial=begun if initial is None else initial)

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

    @property
    def positions(self) -> Float[np.ndarray, "S 2"] | None:
        """Where plots draw the states."""
        return self.labels.positions

    @property
    def state_names(self) -> tuple[Any, ...] | None:
        """The names of the states."""
        return self.labels.state_names

    @property
    def action_names(self) -> tuple[Any, ...] | None:
        """The names of the actions."""
        return self.labels.action_names

    def __repr__(self) -> str:
        return f"MDP({world_in_words(self)})"


def replace_parts(
    mdp: MDP,
    *,
    kernel: AbstractKernel | None = None,
    mask: Bool[Array, "S A"] | None = None,
    initial: Float[Array, " S"] | None = None,
    discount: Float[Array, ""] | None = None,
) -> MDP:
    """Return a world with some parts replaced, without checks.

    It is for code that changes a world that was checked.

    Example:
        >>> float(replace_parts(MDP([[[1.0]]], discount=0.5), discount=as_float(0.9)).discount)
        0.9
    """
    given = {"kernel": kernel, "mask": mask, "_initial": initial, "_discount": discount}
    changed = {name: part for name, part in given.items() if part is not None}
    return eqx.tree_at(lambda world: [getattr(world, name) for name in changed], mdp, list(changed.values()))


def world_in_words(mdp: MDP) -> str:
    """Return the size of a world and its discount, or that of a batch of worlds."""
    *batch, states, actions = mdp.mask.shape
    many = f"{' × '.join(map(str, batch))} worlds of " if batch else ""
    return f"{many}{states} states, {actions} actions, γ = {short_value(mdp.discount)}"


def as_world(mdp: MDP) -> MDP:
    """Return `mdp` itself, if it is a world; one of another precision is cast to the one in use."""
    if not isinstance(mdp, MDP):
        raise InvalidInputError(
            f"a world is needed, but {type(mdp).__name__} was given; an environment's world is its .mdp(noise)."
        )
    return mdp if mdp.initial.dtype == working_dtype() else in_working_precision(mdp)


def absorbing_states(mdp: MDP) -> Bool[np.ndarray, " S"]:
    """Return which states are absorbing: T(s|s,a) = 1 for every available action.

    Example:
        >>> absorbing_states(MDP([[[0.5, 0.5]], [[0.0, 1.0]]], discount=0.9)).tolist()
        [False, True]
    """
    return np.all((np.asarray(mdp.kernel.self_transitions()) >= 1 - LOST_MASS) | ~np.asarray(mdp.mask), axis=-1)


def require_discount(value: object, *, or_one: bool = False) -> float:
    """Return a discount as a float, or refuse one that no computation can use.

    Args:
        value: γ.
        or_one: Whether γ = 1 is taken, too: for worlds whose episodes are cut off at a horizon. Nothing divides by
            1 - γ there, whatever the precision.

    Example:
        >>> require_discount(1 - 1e-16)
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the discount γ is 0.9999999999999999, so close to 1 that float64 leaves no
        digit of a value; use at most 0.99999999999996.
    """
    number = as_number("the discount γ", value)
    if or_one and number == 1:
        return number
    if not 0 <= number < 1:
        shown = short_repr(value) if np.isnan(number) and not isinstance(value, float) else repr(number)
        rule = "0 <= γ <= 1" if or_one else "0 <= γ < 1"
        raise InvalidInputError(f"the discount γ is {shown}, but a number with {rule} is needed.")
    dtype = np.dtype(np.float64) if or_one else working_dtype()
    most = 1 - 16 * float(np.finfo(dtype).eps) / LEAST_DIGIT
    if number > most:
        digits = int(np.ceil(-np.log10(1 - most)))
        shown = float(np.floor(most * 10**digits) / 10**digits)
        exact = " or exactly 1" if or_one else ""
        raise InvalidInputError(
            f"the discount γ is {number!r}, so close to 1 that {dtype} leaves no digit of a value; use at most"
            f" {shown!r}{exact}."
        )
    return number


def as_discount(value: ArrayLike, *, or_one: bool = False) -> Float[Array, ""]:
    """Return a discount, traced or not, as an array; refuse what `require_discount` refuses."""
    require_shape("the discount γ", value, (), "a single number")
    if concrete(value):
        require_discount(value, or_one=or_one)
    return as_float(value)


def _as_mask(mask: ArrayLike, size: tuple[int, int]) -> Bool[Array, "S A"]:
    require_shape("the action mask", mask, size, "states, actions")
    require_unmasked("the action mask", mask)
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


def _as_positions(positions: ArrayLike, states: int) -> Float[np.ndarray, "S 2"]:
    array = np.array(as_floats("the positions of the states", positions), np.float64)
    require_shape("the positions of the states", array, (states, 2), "states, x and y")
    require_finite("the positions of the states", np.nan_to_num(array, nan=0.0, posinf=np.inf, neginf=-np.inf))
    array.setflags(write=False)
    return array


def _as_names(kind: str, names: Sequence[Any] | None, count: int) -> tuple[Any, ...] | None:
    if names is None:
        return None
    listed = tuple(as_list(f"{kind}_names", names, "a list of names"))
    if len(listed) != count:
        raise InvalidInputError(f"{len(listed)} {kind}_names were given, but there are {count} {kind}s; name each.")
    if len(set(listed)) != count:
        twice = next(name for i, name in enumerate(listed) if name in listed[:i])
        raise InvalidInputError(f"{kind}_names has {short_repr(twice)} twice; give each {kind} a name of its own.")
    return listed
