"""Hold demonstrations with continuous observations: what was seen along each episode, and what was done if known.

`Demonstrations` holds numbered states of finite worlds; `Recordings` holds vectors. They come from arrays, from
policies that are run (`record`), and from Minari datasets, and are kept in .npz files that hold arrays alone.
"""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from robustirl._check import as_count, as_floats, as_list, as_path, one_line, place, require_finite, short_repr
from robustirl._files import read_arrays, read_regular, write_arrays
from robustirl._jax import in_working_precision, single_precision
from robustirl.control.policies import GaussianPolicy, require_policy
from robustirl.control.rollouts import Episodes, collect, episodes_of
from robustirl.control.worlds import HostWorld, World, as_key
from robustirl.demonstrations.episodes import Demonstrations
from robustirl.demonstrations.others import open_minari
from robustirl.errors import InvalidInputError
from robustirl.types import ArrayLike

MINARI = "minari:"
LARGEST_TRAINABLE = 1e15  # 10⁸ squares of such numbers are finite in single precision.


@dataclasses.dataclass(frozen=True)
class Recordings:
    """Hold episodes of an expert, seen from outside.

    Attributes:
        observations: One array `[T+1, d]` an episode, the first observation included.
        actions: One array `[T, a]` an episode, or None if none were recorded.
        terminated: Whether each episode ended by itself.

    Example:
        >>> walk = Recordings.from_arrays([[[0.0], [1.0], [2.0]], [[0.0], [1.0]]])
        >>> len(walk), walk.steps, walk.actions is None
        (2, 3, True)
        >>> [array.tolist() for array in walk.pairs()]
        [[[0.0], [1.0], [0.0]], [[1.0], [2.0], [1.0]]]
    """

    # Episodes differ in length: the first axis has no name.
    observations: tuple[Float[np.ndarray, "_ d"], ...]
    actions: tuple[Float[np.ndarray, "_ a"], ...] | None
    terminated: tuple[bool, ...]

    @classmethod
    def from_arrays(
        cls,
        observations: Sequence[Any],
        actions: Sequence[Any] | None = None,
        *,
        terminated: Sequence[bool] | None = None,
    ) -> "Recordings":
        """Return recordings from one array an episode.

        Args:
            observations: `[T+1, d]` each.
            actions: `[T, a]` each; None if they were not recorded.
            terminated: Whether each episode ended by itself; none did if None.
        """
        each = "a list with one entry an episode"
        seen = tuple(
            _matrix(f"the observations of episode {i}", array)
            for i, array in enumerate(as_list("observations", observations, each))
        )
        if not seen:
            raise InvalidInputError("there are no episodes; give at least one array of observations.")
        width = seen[0].shape[1]
        for index, array in enumerate(seen):
            if array.shape[1] != width or len(array) < 2:
                raise InvalidInputError(
                    f"the observations of episode {index} have the shape {array.shape}, but two or more rows of"
                    f" {width} numbers are needed, as in episode 0."
                )
        done = None
        if actions is not None:
            given = as_list("actions", actions, each)
            done = tuple(_matrix(f"the actions of episode {i}", array) for i, array in enumerate(given))
            _require_pairs(seen, done)
        ends = [False] * len(seen) if terminated is None else as_list("terminated", terminated, each)
        if len(ends) != len(seen) or any(end not in (0, 1) for end in ends):
            raise InvalidInputError(
                f"terminated is {short_repr(ends)}, but True or False for each of the {len(seen)} episodes is needed."
            )
        return cls(seen, done, tuple(bool(end) for end in ends))

    @classmethod
    def from_episodes(cls, episodes: Episodes) -> "Recordings":
        """Return what `robustirl.control.collect` sampled.

        Its features are the observations, and its executed actions are the actions.
        """
        lengths = np.asarray(episodes.lengths)
        features, actions = np.asarray(episodes.features), np.asarray(episodes.executed)
        kept = [index for index, length in enumerate(lengths) if length > 0]
        return cls.from_arrays(
            [features[: lengths[i] + 1, i] for i in kept],
            [actions[: lengths[i], i] for i in kept],
            terminated=np.asarray(episodes.terminated)[kept].tolist(),
        )

    @classmethod
    def from_minari(cls, dataset: Any) -> "Recordings":
        """Return the episodes of a Minari dataset with Box observations.

        Actions are kept if they are a Box, too.

        Args:
            dataset: The dataset, or the id of one that is already on this machine.
        """
        opened = open_minari(dataset)
        if type(space := opened.observation_space).__name__ != "Box":
            raise InvalidInputError(
                f"the observations of the Minari dataset {opened.spec.dataset_id} are {space}, but a Box of numbers is"
                " needed; numbered states are read by robustirl.demonstrations.from_minari."
            )
        boxed = type(opened.action_space).__name__ == "Box"
        rows = list(opened.iterate_episodes())
        return cls.from_arrays(
            [np.asarray(row.observations).reshape(len(row.observations), -1) for row in rows],
            [np.asarray(row.actions).reshape(len(row.actions), -1) for row in rows] if boxed else None,
            terminated=[bool(np.asarray(row.terminations)[-1]) for row in rows],
        )

    def __len__(self) -> int:
        return len(self.observations)

    def __getitem__(self, which: slice) -> "Recordings":
        if not isinstance(which, slice):
            raise InvalidInputError(f"the index is {short_repr(which)}, but a slice is needed, as recordings[:10].")
        actions = None if self.actions is None else self.actions[which]
        return Recordings.from_arrays(self.observations[which], actions, terminated=self.terminated[which])

    @property
    def steps(self) -> int:
        """The number of steps in all episodes."""
        return sum(len(array) - 1 for array in self.observations)

    @property
    def width(self) -> int:
        """The numbers in an observation."""
        return self.observations[0].shape[1]

    def pairs(self) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
        """Return all observations with those that followed them."""
        before = np.concatenate([array[:-1] for array in self.observations])
        return before, np.concatenate([array[1:] for array in self.observations])

    def without_actions(self) -> "Recordings":
        """Return the observations alone."""
        return dataclasses.replace(self, actions=None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recordings to an .npz file."""
        path = as_path(path)
        arrays = {
            "lengths": [len(array) for array in self.observations],
            "observations": np.concatenate(self.observations),
            "terminated": self.terminated,
        }
        if self.actions is not None:
            arrays["actions"] = np.concatenate(self.actions)
        try:
            write_arrays(path, arrays)
        except OSError as error:
            raise InvalidInputError(
                f"{path} cannot be written ({error.strerror}); choose a place in an existing folder that may be written"
                " to."
            ) from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Recordings":
        """Read what `save` wrote; no code of a file is ever run."""
        path = as_path(path)
        try:
            held = read_arrays(read_regular(path))
            lengths, rows = held["lengths"], held["observations"]
            if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 2).any() or lengths.sum() != len(rows):
                raise ValueError(f"its lengths do not cut its {len(rows)} rows into episodes")
            seen, done = np.split(rows, np.cumsum(lengths)[:-1]), None
            if "actions" in held:
                done = np.split(held["actions"], np.cumsum(lengths - 1)[:-1])
            ends = held["terminated"].tolist()
        except (OSError, ValueError, KeyError) as error:
            raise InvalidInputError(
                f"{path} holds no recordings ({one_line(error)}); write them with save()."
            ) from None
        return cls.from_arrays(seen, done, terminated=ends)

    def __repr__(self) -> str:
        done = "with actions" if self.actions is not None else "without actions"
        return f"Recordings({len(self)} episodes, {self.steps} steps of {self.width} numbers, {done})"


def record(
    world: World | HostWorld,
    policy: GaussianPolicy,
    *,
    episodes: int = 16,
    horizon: int | None = None,
    mean_action: bool = False,
    key: PRNGKeyArray,
) -> Recordings:
    """Run a policy in a world and record what is seen and done, in single precision.

    Example:
        >>> import jax
        >>> from robustirl.control.policies import network_policy
        >>> from robustirl.envs import physics
        >>> world = physics.make("pendulum")
        >>> policy = network_policy(3, 1, hidden=(4,), key=jax.random.key(0))
        >>> record(world, policy, episodes=2, horizon=5, key=jax.random.key(1))
        Recordings(2 episodes, 10 steps of 3 numbers, with actions)
    """
    key = as_key(key)
    require_policy(world, policy)
    steps = getattr(world, "horizon", 200) if horizon is None else as_count("the horizon", horizon, 1)
    if isinstance(world, HostWorld):
        return _record_host(world, policy, as_count("episodes", episodes, 1), mean_action, key)
    with single_precision():
        sampled = collect(
            in_working_precision(world),  # pyright: ignore[reportArgumentType]
            in_working_precision(policy),
            episodes=episodes,
            horizon=steps,
            mean_action=mean_action,
            key=key,
        )
        return Recordings.from_episodes(sampled)


def _record_host(
    world: HostWorld, policy: GaussianPolicy, episodes: int, mean_action: bool, key: PRNGKeyArray
) -> Recordings:
    """Record episodes of environments that step themselves."""
    with single_precision():
        held = in_working_precision(policy)
        whole = episodes_of(world, held, episodes=episodes, mean_action=mean_action, key=key)
    return Recordings.from_arrays(
        [np.concatenate([one.features[:, 0], one.next_features[-1:, 0]]) for one in whole],
        [np.asarray(one.actions[:, 0]) for one in whole],
        terminated=[bool(one.terminated[-1, 0]) for one in whole],
    )


def _matrix(what: str, array: Any) -> Float[np.ndarray, "n d"]:
    result = as_floats(what, array).astype(np.float64)
    if result.ndim != 2 or not result.size:
        raise InvalidInputError(f"{what} have the shape {result.shape}, but a row for each step is needed.")
    require_finite(what, result, ("row", "column"))
    return result


def _require_pairs(seen: Sequence[np.ndarray], done: Sequence[np.ndarray]) -> None:
    if len(done) != len(seen):
        raise InvalidInputError(
            f"there are actions of {len(done)} episodes for {len(seen)} episodes; give one array each."
        )
    for index, (states, actions) in enumerate(zip(seen, done, strict=True)):
        if len(actions) != len(states) - 1 or actions.shape[1] != done[0].shape[1]:
            raise InvalidInputError(
                f"episode {index} has {len(states)} observations and actions of the shape {actions.shape}, but one"
                f" observation more than actions is needed, and {done[0].shape[1]} numbers an action."
            )


RecordingsLike = Recordings | Episodes | Sequence[ArrayLike] | str | os.PathLike[str]
"""What `as_recordings` takes."""


def as_trainable(given: Any) -> Recordings:
    """Return recordings that a network can be trained on in single precision.

    Numbers that are finite in double precision may be infinite there, or their squares may.
    """
    found = as_recordings(given)
    for what, episodes in (("observation", found.observations), ("action", found.actions or ())):
        for episode, array in enumerate(episodes):
            _require_squares(f"an {what} of episode {episode}", array)
    return found


def _require_squares(name: str, array: np.ndarray) -> None:
    """Refuse numbers so large that sums of a hundred million of their squares are infinite in single precision."""
    bad = ~(np.abs(array) <= LARGEST_TRAINABLE)
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidInputError(
            f"{name} is {float(array[index]):g} at {place(index, ('step', 'number'))}, but training in float32 needs"
            f" numbers of at most {LARGEST_TRAINABLE:g} in size; scale it."
        )


def as_recordings(given: Any) -> Recordings:
    """Return recordings from what holds them.

    Args:
        given: `Recordings`; a list with one array of observations `[T+1, d]` an episode; what `control.collect`
            returned; a path that `Recordings.save` wrote to; or `minari:ID`.

    Example:
        >>> as_recordings([[[0.0], [1.0], [2.0]], [[0.0], [1.0]]])
        Recordings(2 episodes, 3 steps of 1 numbers, without actions)
    """
    if isinstance(given, Recordings):
        return given
    if isinstance(given, Episodes):
        return Recordings.from_episodes(given)
    if isinstance(given, str) and given.startswith(MINARI) and given != MINARI:
        return Recordings.from_minari(given.removeprefix(MINARI))
    if isinstance(given, str | os.PathLike):
        return Recordings.load(given)
    if isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim == 3):
        return Recordings.from_arrays(list(given))
    kind, remedy = type(given).__name__, "give Recordings, or a list with an array of observations for each episode"
    if isinstance(given, Demonstrations):
        remedy = "they are numbered states, for robustirl.RobustIRL; record the observations of a sampled world"
    raise InvalidInputError(f"the demonstrations are of the type {kind}, but Recordings are needed; {remedy}.")
