r"""Markov decision processes without a reward.

The reward is a separate argument everywhere, because the learner has none (M = M_θ \ R_θ, Section 2.1).
"""

import functools
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float

from robustirl._runtime import (
    DeviceModule,
    as_float,
    in_working_precision,
    short_value,
    working_dtype,
)
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.compact import as_kernel
from robustirl.mdp.discounts import as_discount
from robustirl.mdp.kernel import AbstractKernel
from robustirl.mdp.transitions import Recording, estimate_kernel
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import scipy.sparse


def _replaceable(kind: "type[MDP]") -> "type[MDP]":
    """Let `dataclasses.replace` copy a world.

    It passes on the fields, whose names differ from those of the arguments.
    """
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
        mask: `[S, A]`, true where an action is available, to player and opponent alike; if omitted, every action
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
        self._discount = as_discount(discount)
        if checks.concrete(self.kernel, self.mask):
            _check_mask(np.asarray(self.mask), np.asarray(exists))

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
            >>> np.asarray(world.kernel.to_array()).tolist()
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
