r"""Which rewards cannot be told apart by what experts do, and which further world would tell most of them apart.

A soft-optimal policy π of a world T fixes its reward up to potentials: R and R' have the same policy exactly if

    R'(s,a) - R(s,a) = v(s) - γ Σ_s' T(s'|s,a) v(s')        for some v, `[S]`.

Several experts with one reward in several worlds leave the differences that are of this form in every one of them:
the intersection of the ranges of E - γ T_k, E(s,a; s') = 1 if s = s' (Rolland et al., 2022; Schlaginhaufen and
Kamgarpour, 2024). A constant reward is always among them. The reward is identified up to a constant if nothing else is:
with two worlds, if [E - γ T_1, E - γ T_2] has rank 2 S - 1.

Where the reward is known to be linear in features, differences are of the form Φδ, and fewer of them are left.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from robustirl._check import as_floats, as_list
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.mdp.mdp import as_world
from robustirl.types import ArrayLike

RANK_TOLERANCE = 1e-9  # Of the size of the features.


@dataclasses.dataclass(frozen=True, eq=False)
class IdentifiedSet:
    """What experts leave open about a reward.

    Attributes:
        dimensions: After the first expert, the first two, and so on: how many directions of rewards are left open. The
            constant is one of them, unless the features cannot express it.
        directions: `[d, m]`, an orthonormal basis of the parameter directions that all experts together leave open; for
            a tabular reward parameters are R(s,a) of the available pairs, for features the weights.
        constant: Whether a constant reward can be expressed, which no expert identifies.
        sharpness: The smallest strength that counts: close to zero, a direction is identified in name only.
        strengths: `[K, d]`, after the first expert, the first two, and so on: how much of a reward of size 1 is beyond
            the potentials of the experts' worlds, for the d principal directions, weakest first. A direction that is
            open has strength zero. It is the square root of the sum over experts, and so at most √K for a tabular
            reward.
    """

    dimensions: tuple[int, ...]
    directions: Float[np.ndarray, "d m"]
    constant: bool
    sharpness: float
    strengths: Float[np.ndarray, "K d"]

    @property
    def identified(self) -> bool:
        """Whether the reward is identified up to a constant."""
        return self.dimensions[-1] == int(self.constant)

    def nearly_open(self, threshold: float) -> tuple[int, ...]:
        """Return how many directions are weaker than a threshold.

        The counts are those after the first expert, the first two, and so on. To tell a direction of strength 0.01,
        policies must be known a hundred times better than rewards.

        Example:
            >>> stay, swap = np.eye(2), np.eye(2)[::-1]
            >>> worlds = [MDP(np.stack([p * stay + (1 - p) * swap, swap], 1), discount=0.9) for p in (1.0, 0.999)]
            >>> found = identify(worlds)
            >>> found.dimensions, found.nearly_open(0.01)
            ((2, 1), (2, 2))
        """
        return tuple(int(count) for count in (self.strengths < threshold).sum(-1))


def identify(worlds: Sequence[MDP], features: ArrayLike | None = None) -> IdentifiedSet:
    """Return which rewards experts in these worlds leave open.

    Each expert is soft-optimal for the same reward.

    Args:
        worlds: The experts' worlds, over the same states and actions.
        features: φ, `[S, d]` or `[S, A, d]`, of a linear reward. If omitted, any reward of states and actions. Give
            `numpy.eye(S)` for any reward of states.

    Example:
        >>> stay, swap = np.eye(2), np.eye(2)[::-1]
        >>> world = MDP(np.stack([stay, swap], 1), discount=0.9)  # Action 0 stays, action 1 changes the state.
        >>> identify([world]).dimensions  # One expert leaves as many directions as there are states.
        (2,)
        >>> identify([world], np.eye(2)).identified  # A reward of states is identified up to a constant.
        True
        >>> windy = MDP(np.stack([0.9 * stay + 0.1 * swap, swap], 1), discount=0.9)
        >>> identify([world, windy]).dimensions
        (2, 1)
    """
    checked = _as_worlds(worlds)
    basis = _reward_basis(checked, features)
    blocks = [_beyond_potentials(world) @ basis for world in checked]
    strengths, rows = np.zeros((len(blocks), basis.shape[1])), np.zeros((0, basis.shape[1]))
    for place in range(len(blocks)):
        _, found, rows = np.linalg.svd(np.concatenate(blocks[: place + 1]), full_matrices=True)
        strengths[place, : found.size] = found
    kept = strengths > RANK_TOLERANCE * np.linalg.norm(basis, 2)
    dimensions = tuple(int(count) for count in (~kept).sum(-1))
    ones = np.ones(basis.shape[0])
    constant = bool(np.linalg.norm(basis @ np.linalg.lstsq(basis, ones, rcond=None)[0] - ones) < 1e-9 * ones.size)
    sharpness = float(strengths[-1][kept[-1]].min()) if kept[-1].any() else 0.0
    return IdentifiedSet(dimensions, rows[~kept[-1]].T, constant, sharpness, np.sort(strengths, -1))


def rank_worlds(
    worlds: Sequence[MDP], candidates: Sequence[MDP], features: ArrayLike | None = None
) -> list[tuple[int, IdentifiedSet]]:
    """Return candidates for a further expert's world, the one that leaves the least open first.

    Ties are broken by sharpness. Each comes as its place among the candidates and what it would leave open together
    with `worlds`.

    Example:
        >>> stay, swap = np.eye(2), np.eye(2)[::-1]
        >>> world = MDP(np.stack([stay, swap], 1), discount=0.9)
        >>> windy = MDP(np.stack([0.9 * stay + 0.1 * swap, swap], 1), discount=0.9)
        >>> [place for place, _ in rank_worlds([world], [world, windy])]
        [1, 0]
    """
    known = as_list("worlds", worlds, "a sequence of worlds")
    further = as_list("candidates", candidates, "a sequence of worlds")
    found = [(place, identify([*known, candidate], features)) for place, candidate in enumerate(further)]
    return sorted(found, key=lambda item: (item[1].dimensions[-1], -item[1].sharpness))


def principal_angles(first: MDP, second: MDP) -> Float[np.ndarray, " S"]:
    """Return the angles between the potentials of two worlds, in radians, from the smallest.

    The first is zero: constants are potentials in both. The second is what transfer rests on (Schlaginhaufen and
    Kamgarpour, 2024): where it is small, a reward learned in these worlds may be far off in a third one.

    Example:
        >>> stay, swap = np.eye(2), np.eye(2)[::-1]
        >>> world = MDP(np.stack([stay, swap], 1), discount=0.9)
        >>> principal_angles(world, world).round(6).tolist()
        [0.0, 0.0]
    """
    one, two = (_orthonormal(_potentials(world)) for world in _as_worlds([first, second]))
    cosines = np.linalg.svd(one.T @ two, compute_uv=False)
    # From the sines where angles are small: a cosine near one has lost their digits.
    sines = np.sort(np.linalg.svd(two - one @ (one.T @ two), compute_uv=False))
    angles = np.sort(np.arccos(np.clip(cosines, -1, 1)))
    return np.where(sines < np.sqrt(0.5), np.arcsin(np.clip(sines, 0, 1)), angles)


def _as_worlds(worlds: Sequence[MDP]) -> list[MDP]:
    checked = [as_world(world) for world in as_list("worlds", worlds, "a sequence of worlds")]
    if not checked:
        raise InvalidInputError("no world was given; give that of at least one expert.")
    for place, world in enumerate(checked):
        if not np.array_equal(np.asarray(world.mask), np.asarray(checked[0].mask)):
            raise InvalidInputError(
                f"world {place} has other states or available actions than the first; experts with one reward share"
                " both."
            )
    return checked


def _potentials(world: MDP) -> Float[np.ndarray, "n S"]:
    """Return E - γ T, a row for every available pair."""
    mask = np.asarray(world.mask)
    kernel = np.asarray(world.kernel.dense(), dtype=np.float64)
    shaped = np.eye(world.num_states)[:, None] - float(world.discount) * kernel
    return shaped[mask]


def _orthonormal(matrix: Float[np.ndarray, "n S"]) -> Float[np.ndarray, "n S"]:
    return np.linalg.qr(matrix)[0]  # E - γ T has full column rank for γ < 1.


def _beyond_potentials(world: MDP) -> Float[np.ndarray, "n n"]:
    """Return the projection of rewards onto what potentials cannot express.

    That is what the policy shows.
    """
    basis = _orthonormal(_potentials(world))
    return np.eye(len(basis)) - basis @ basis.T


def _reward_basis(worlds: Sequence[MDP], features: ArrayLike | None) -> Float[np.ndarray, "n d"]:
    """Return the derivative of the rewards of available pairs in the parameters."""
    mask = np.asarray(worlds[0].mask)
    if features is None:
        return np.eye(int(mask.sum()))
    phi = as_floats("the feature matrix", features)
    if phi.ndim not in (2, 3) or phi.shape[:-1] not in (mask.shape[:1], mask.shape):
        raise InvalidInputError(
            f"the feature matrix has shape {phi.shape}, but ({mask.shape[0]}, d) or ({mask.shape[0]}, {mask.shape[1]},"
            " d) is needed."
        )
    full = phi if phi.ndim == 3 else np.broadcast_to(phi[:, None], (*mask.shape, phi.shape[-1]))
    return full[mask]
