"""Read and write Minari datasets. The only file that imports minari, and only if it is called.

Minari keeps datasets under `MINARI_DATASETS_PATH`, or `~/.minari/datasets`. Nothing is downloaded here.
"""

import contextlib
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robustirl._runtime import exclusive_beside, one_line, short_repr
from robustirl.demonstrations.arguments import require_demonstrations
from robustirl.demonstrations.io.gymnasium import discrete, spaces, spaces_of
from robustirl.demonstrations.io.hdf5_checks import require_self_contained
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count

if TYPE_CHECKING:
    import minari

STATES_ONLY = "robustirl_states_only"
"""The metadata entry of a dataset whose actions stand for nothing, because none were recorded."""
ENDS_UNKNOWN = "robustirl_ends_unknown"
"""The metadata entry of a dataset whose truncations stand for nothing, because ends were not recorded."""
LONGEST_NAME = 255  # The bytes of a file's name.


def from_minari(dataset: "minari.MinariDataset | str") -> Demonstrations:
    """Return the episodes of a Minari dataset with discrete observations and actions.

    Args:
        dataset: The dataset, or the id of one that is already on this machine.

    An episode is terminated if its last step says so. States and actions number from 0, whatever the spaces' start.
    """
    with open_minari(dataset) as (opened, name):
        return _episodes(opened, name)


@contextlib.contextmanager
def open_minari(dataset: "minari.MinariDataset | str") -> "Iterator[tuple[minari.MinariDataset, str]]":
    """Open a dataset, or a local one by its id, and yield it with its name.

    What damage raises inside becomes an `InvalidInputError`.
    """
    name = dataset if isinstance(dataset, str) else None
    if isinstance(dataset, str):
        dataset = _local(dataset)
    if not hasattr(dataset, "iterate_episodes"):
        raise InvalidInputError(
            f"a Minari dataset or its id is needed, but {type(dataset).__name__} was given; load it with minari first."
        )
    try:
        if name is None:
            require_self_contained(Path(dataset.storage.data_path))
        yield dataset, name or dataset.spec.dataset_id
    except InvalidInputError:
        raise
    except Exception as error:  # What damaged metadata and HDF5 files raise is as varied as damage is.
        raise InvalidInputError(
            f"the Minari dataset {name or ''} is damaged ({one_line(error)}); fetch or record it anew."
        ) from None


def _episodes(dataset: "minari.MinariDataset", name: str) -> Demonstrations:
    _, first_state = discrete(f"observations of the Minari dataset {name}", dataset.observation_space)
    _, first_action = discrete(f"actions of the Minari dataset {name}", dataset.action_space)
    states, actions, terminated = [], [], []
    for episode in dataset.iterate_episodes():
        observations, flags = np.asarray(episode.observations), np.asarray(episode.terminations)
        if observations.size != len(episode.actions) + 1 or not len(flags):
            raise InvalidInputError(
                f"episode {episode.id} of the Minari dataset {name} has {observations.size} observations and"
                f" {len(episode.actions)} actions, but one observation more than actions and a step are needed."
            )
        states.append(observations.reshape(-1) - first_state)
        actions.append(np.asarray(episode.actions).reshape(-1) - first_action)
        terminated.append(bool(flags[-1]))
    if not states:
        raise InvalidInputError(f"the Minari dataset {name} has no episodes; record some first.")
    kept = None if dataset.storage.metadata.get(STATES_ONLY) else actions
    ends = None if dataset.storage.metadata.get(ENDS_UNKNOWN) else terminated
    try:
        return Demonstrations.from_arrays(states, kept, terminated=ends)
    except InvalidInputError as error:
        raise InvalidInputError(f"the Minari dataset {name}: {error}") from None


def to_minari(
    demonstrations: Demonstrations,
    dataset_id: str,
    *,
    num_states: int | None = None,
    num_actions: int | None = None,
    env: Any = None,
    **metadata: Any,
) -> "minari.MinariDataset":
    """Record demonstrations as a Minari dataset, which `from_minari` gives back exactly.

    Args:
        demonstrations: The episodes, each of at least one transition, because Minari has no shorter ones.
        dataset_id: As Minari requires, `namespace/name-v0`; it must not exist yet.
        num_states: |S|, the size of the observation space; the largest state plus one if omitted.
        num_actions: |A|, the size of the action space, likewise.
        env: A Gymnasium environment (or id, or spec) to take the spaces from, and to name in the dataset.
        metadata: What else `minari.create_dataset_from_buffers` takes: `author`, `description`, `code_permalink`, ….

    Rewards are recorded as 0: demonstrations have none. Without recorded actions, all are 0 and the metadata say so; if
    it is unknown how episodes ended, all are truncated and the metadata say so.

    Example:
        >>> import os, tempfile, unittest.mock
        >>> demos = Demonstrations.from_arrays([[0, 1, 2], [1, 2]], [[0, 1], [1]], terminated=True)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with unittest.mock.patch.dict(os.environ, MINARI_DATASETS_PATH=folder):
        ...         dataset = to_minari(demos, "corridor/walks-v0")
        ...         from_minari("corridor/walks-v0") == demos
        True
    """
    require_demonstrations(demonstrations)
    minari = _minari()
    short = demonstrations.lengths < 2
    if short.any():
        raise InvalidInputError(
            f"episode {int(np.argmax(short))} has no transition, and Minari cannot hold such episodes;"
            " leave them out with .subset(demonstrations.lengths > 1)."
        )
    limits = [int(demonstrations.states.max()) + 1, 1]
    if demonstrations.actions is not None:
        limits[1] = int(demonstrations.actions.max()) + 1
    if env is None:
        sizes = [
            limit if size is None else as_count(f"the number of {what}", size, limit)
            for what, size, limit in zip(("states", "actions"), (num_states, num_actions), limits, strict=True)
        ]
        space = {"observation_space": spaces().Discrete(sizes[0]), "action_space": spaces().Discrete(sizes[1])}
        starts = [0, 0]
    else:
        space, starts = _spaces_for(env, limits)
    buffers = []
    for episode in demonstrations:
        actions = np.zeros(episode.states.size - 1, dtype=np.int64) if episode.actions is None else episode.actions
        over = np.arange(actions.size) == actions.size - 1
        buffers.append(
            minari.data_collector.EpisodeBuffer(
                observations=episode.states + starts[0],  # pyright: ignore[reportArgumentType]
                actions=actions + starts[1],  # pyright: ignore[reportArgumentType]
                rewards=np.zeros(actions.size),  # pyright: ignore[reportArgumentType]
                terminations=over & bool(episode.terminated),  # pyright: ignore[reportArgumentType]
                truncations=over & (not episode.terminated),  # pyright: ignore[reportArgumentType]
            )
        )
    unknown = {STATES_ONLY: not demonstrations.has_actions, ENDS_UNKNOWN: not demonstrations.ends_known}
    notes = {name: True for name, holds in unknown.items() if holds}
    return _created(minari, dataset_id, buffers, env, space, notes, metadata)


def require_minari_id(dataset_id: str) -> None:
    """Refuse an id that Minari would refuse."""
    minari = _minari()
    try:
        minari.dataset.minari_dataset.parse_dataset_id(dataset_id)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"the Minari id {short_repr(dataset_id)} is not of the form `namespace/name-v0`; end it with a version."
        ) from None
    longest = max(len(part.encode(errors="replace")) for part in dataset_id.split("/"))
    if longest > LONGEST_NAME:
        raise InvalidInputError(
            f"the Minari id {short_repr(dataset_id)} has a part of {longest} bytes, but folders have names of at most"
            f" {LONGEST_NAME}; choose a shorter one."
        )


@contextlib.contextmanager
def reserved_dataset(dataset_id: str) -> Iterator[None]:
    """Keep other commands from making a dataset while the context lasts.

    One that is there is refused.
    """
    require_minari_id(dataset_id)
    from minari.storage import get_dataset_path

    taken = f"another command is making the Minari dataset {dataset_id}; wait for it, or choose another id."
    with contextlib.ExitStack() as stack:
        try:
            # Minari makes the folder of all datasets when it is asked for it.
            stack.enter_context(exclusive_beside(get_dataset_path() / dataset_id.replace("/", "-"), taken))
        except OSError as error:
            raise InvalidInputError(
                f"Minari's folder of datasets cannot be written to ({error.strerror}); name another in"
                " MINARI_DATASETS_PATH."
            ) from None
        _require_absent(dataset_id)
        yield


def _require_absent(dataset_id: str) -> Path:
    """Return the folder of a dataset that is to be made; refuse one that is there."""
    from minari.storage import get_dataset_path

    folder = get_dataset_path(dataset_id)
    if folder.exists():
        raise InvalidInputError(
            f"there is a Minari dataset {dataset_id} already, in {folder}; raise the version, or delete it first."
        )
    return folder


def _created(minari: Any, dataset_id: str, buffers: list, env: Any, space: dict, notes: dict, metadata: dict):
    """Return the dataset, whole or not at all."""
    require_minari_id(dataset_id)
    folder = _require_absent(dataset_id)
    try:
        with warnings.catch_warnings():
            # Minari asks for an author and the like with a warning each; they are the caller's to give.
            warnings.simplefilter("ignore", UserWarning)
            dataset = minari.create_dataset_from_buffers(dataset_id, buffers, env=env, **space, **metadata)
        if notes:
            dataset.storage.update_metadata(notes)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, TypeError | ValueError):
            raise InvalidInputError(
                f"Minari refused to create {dataset_id} ({str(error).splitlines()[0].rstrip('.')})."
            ) from None
        if isinstance(error, OSError):
            raise InvalidInputError(
                f"the Minari dataset {dataset_id} cannot be written to {folder} ({one_line(error)}); choose another id,"
                " or another folder with MINARI_DATASETS_PATH."
            ) from None
        raise
    return dataset


def _spaces_for(env: Any, limits: list[int]) -> tuple[dict[str, Any], list[int]]:
    """Return an environment's spaces, if they can hold what was recorded, and where they start."""
    observations, actions = spaces_of(env)
    starts = []
    for what, space, limit in zip(("states", "actions"), (observations, actions), limits, strict=True):
        size, start = discrete(f"{what} of the environment", space)
        starts.append(start)
        if limit > size:
            raise InvalidInputError(
                f"the environment has {size} {what}, but the demonstrations need {limit};"
                " give the environment they were recorded in."
            )
    return {"observation_space": observations, "action_space": actions}, starts


def _local(dataset_id: str) -> "minari.MinariDataset":
    minari = _minari()
    from minari.storage import get_dataset_path

    folder = get_dataset_path(dataset_id) / "data"
    try:
        require_self_contained(folder)
        found = minari.dataset.minari_storage.MinariStorage.read_raw_metadata(folder)
        # Without spaces Minari would build the environment that the file names to ask it: loading never runs code.
        if not isinstance(found, dict) or not {"observation_space", "action_space"} <= set(found):
            raise ValueError("its metadata name no spaces")
        return minari.load_dataset(dataset_id)
    except Exception as error:
        raise InvalidInputError(
            f"the Minari dataset {dataset_id} cannot be read ({one_line(error)});"
            f" fetch it with `minari download {dataset_id}` if it is not on this machine."
        ) from None


def _minari() -> Any:
    try:
        import minari
        import minari.data_collector
    except ImportError:
        raise InvalidInputError(
            "this needs minari, which is not installed; run `pip install 'robustirl[minari]'`."
        ) from None
    return minari
