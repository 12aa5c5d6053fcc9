"""Demonstrations with continuous observations: what was seen along each episode, and what was done where that is known.

`Demonstrations` holds numbered states of finite worlds; `Recordings` holds vectors. They come from arrays, from
policies that are run (`record`), and from Minari datasets, and are kept in .npz files that hold arrays alone.
"""

import dataclasses
import io
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from robustirl._runtime import (
    as_path,
    in_working_precision,
    one_line,
    read_arrays,
    read_regular,
    short_repr,
    single_precision,
    write_atomically,
)
from robustirl.control.policies import GaussianPolicy, require_policy
from robustirl.control.rollouts import Episodes, collect, episodes_of
from robustirl.control.worlds import HostWorld, World, as_key
from robustirl.demonstrations.arrays import require_room
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, require_unmasked


@dataclasses.dataclass(frozen=True)
class Recordings:
    """Episodes of an expert, seen from outside.

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
        for name, given in (("observations", observations), ("actions", actions), ("terminated", terminated)):
            if given is None and name != "observations":
                continue
            if isinstance(given, str | bytes) or not isinstance(given, Iterable):
                raise InvalidInputError(
                    f"{name} is {short_repr(given)}, but a list with one entry an episode is needed."
                )
        seen = tuple(_matrix(f"the observations of episode {i}", array) for i, array in enumerate(observations))
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
            done = tuple(_matrix(f"the actions of episode {i}", array) for i, array in enumerate(actions))
            _require_pairs(seen, done)
        ends = (False,) * len(seen) if terminated is None else tuple(terminated)
        wrong = [end for end in ends if not (isinstance(end, bool | np.bool_ | int) and end in (0, 1))]
        if wrong:
            raise InvalidInputError(f"terminated holds {short_repr(wrong[0])}, but True or False is needed.")
        ends = tuple(bool(end) for end in ends)
        if len(ends) != len(seen):
            raise InvalidInputError(
                f"there are {len(ends)} flags in terminated for {len(seen)} episodes; give one each."
            )
        return cls(seen, done, ends)

    @classmethod
    def from_episodes(cls, episodes: Episodes) -> "Recordings":
        """Return what `robustirl.control.collect` sampled.

        Its features are the observations, and its executed actions are the actions.
        """
        if not all(hasattr(episodes, name) for name in ("lengths", "features", "executed", "terminated")):
            raise InvalidInputError(
                f"the episodes are of the type {type(episodes).__name__}, but what robustirl.control.collect returns is"
                " needed; give arrays to Recordings.from_arrays."
            )
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
        from robustirl.demonstrations.io.minari import open_minari

        with open_minari(dataset) as (opened, name):
            if type(space := opened.observation_space).__name__ != "Box":
                raise InvalidInputError(
                    f"the observations of the Minari dataset {name} are {space}, but a Box of numbers is needed;"
                    " numbered states are read by robustirl.demonstrations.from_minari."
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
        lengths = np.array([len(array) for array in self.observations])
        arrays = {"lengths": lengths, "observations": np.concatenate(self.observations)}
        arrays["terminated"] = np.array(self.terminated)
        if self.actions is not None:
            arrays["actions"] = np.concatenate(self.actions)
        held = io.BytesIO()
        np.savez_compressed(held, **arrays)  # pyright: ignore[reportArgumentType]
        try:
            write_atomically(path, held.getvalue())
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
            content = read_regular(path)
        except OSError as error:
            raise InvalidInputError(f"{path} cannot be read ({one_line(error)}); check the path.") from None
        try:
            held = read_arrays(content)
            _require_lengths(held["lengths"], len(held["observations"]))
            seen = np.split(held["observations"], np.cumsum(held["lengths"])[:-1])
            done = None
            if "actions" in held:
                done = np.split(held["actions"], np.cumsum(held["lengths"] - 1)[:-1])
            ends = held["terminated"].tolist()
        except Exception as error:  # What damage raises is as varied as damage is.
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
        >>> from robustirl.control import network_policy
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


def _require_lengths(lengths: np.ndarray, rows: int) -> None:
    """Refuse lengths that do not cut the rows into episodes."""
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 2).any() or lengths.sum() != rows:
        raise ValueError(f"its lengths {short_repr(lengths.tolist())} do not cut its {rows} rows into episodes")


def _matrix(what: str, array: Any) -> Float[np.ndarray, "n d"]:
    require_unmasked(what, array)
    require_room(what, array)
    try:
        found = np.asarray(array)
        if found.dtype.kind not in "biuf":
            raise TypeError(f"they are of type {found.dtype}")
        found = found.astype(np.float64)
    except MemoryError:
        raise
    except Exception as error:  # Objects that claim to be arrays raise what they like.
        raise InvalidInputError(
            f"{what} are no array of numbers ({one_line(error)}); give rows of one length."
        ) from None
    if found.ndim != 2 or not found.size:
        raise InvalidInputError(f"{what} have the shape {found.shape}, but a row for each step is needed.")
    if not np.isfinite(found).all():
        row, column = np.argwhere(~np.isfinite(found))[0]
        raise InvalidInputError(f"{what} hold {found[row, column]} in row {row}, column {column}; remove that episode.")
    return found


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
