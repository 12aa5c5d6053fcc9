"""Read what other libraries record, and write it for them: imitation, stable-baselines3, Minari.

imitation's `Trajectory` has the arrays `obs` (n+1), `acts` (n) and the flag `terminal`. Its `serialize.save` writes a
folder: `state.json` names files in Arrow's stream format, whose rows are trajectories; its older .npz files hold
`obs`, `acts`, `terminal`, and `indices`, where the actions of an episode begin. stable-baselines3 records rollouts in a
buffer: `observations` and `actions`, `[T, n]` for n environments side by side, and `episode_starts`; the .npz files of
stable-baselines hold `obs`, `actions` and `episode_starts`. What they hold as pickled objects (`infos`) is not read.

Minari keeps datasets under `MINARI_DATASETS_PATH`, or `~/.minari/datasets`. Nothing is downloaded here.
"""

import hashlib
import json
import shutil
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from robustirl._check import one_line, short_repr
from robustirl._files import new_folder, read_regular, write_atomically
from robustirl.demonstrations.episodes import Demonstrations, require_demonstrations
from robustirl.demonstrations.rollouts import discrete, spaces
from robustirl.errors import InvalidInputError

if TYPE_CHECKING:
    import minari

DATA = "data-00000-of-00001.arrow"
STATES_ONLY = "robustirl_states_only"  # Metadata of a dataset whose actions stand for nothing.
ENDS_UNKNOWN = "robustirl_ends_unknown"  # Metadata of a dataset whose truncations stand for nothing.


def from_trajectories(trajectories: Iterable[Any]) -> Demonstrations:
    """Return imitation's trajectories as demonstrations.

    Args:
        trajectories: Objects with `obs`, `acts` and `terminal`; observations and actions are whole numbers (spaces
            of the kind `Discrete`).

    Example:
        >>> walk = SimpleNamespace(obs=np.array([0, 1, 2]), acts=np.array([1, 1]), terminal=True)
        >>> from_trajectories([walk, walk])
        Demonstrations(2 episodes, 4 transitions, with actions, 2 terminated)
    """
    walks = list(trajectories)
    for number, walk in enumerate(walks):
        missing = [name for name in ("obs", "acts", "terminal") if not hasattr(walk, name)]
        if missing:
            raise InvalidInputError(
                f"trajectory {number} is a {type(walk).__name__} without {missing[0]!r}; give objects with obs, acts"
                " and terminal, as imitation's Trajectory."
            )
    states = [_discrete(f"the observations of trajectory {number}", walk.obs) for number, walk in enumerate(walks)]
    actions = [_discrete(f"the actions of trajectory {number}", walk.acts) for number, walk in enumerate(walks)]
    return Demonstrations.from_arrays(states, actions, terminated=[bool(walk.terminal) for walk in walks])


def from_rollout_buffer(buffer: Any) -> Demonstrations:
    """Return the rollouts in a buffer of stable-baselines3 as demonstrations.

    An episode ends where the next one starts. The buffer does not hold the state that an episode ended in, nor why it
    ended: the last recorded state is the last one of the episode, its action is a final action, and ends are unknown
    (they are read off a world where one is given). To keep ends, record with `rollout_gymnasium(env, policy)` instead.

    Args:
        buffer: An object with `observations` and `actions`, `[T, n]` or `[T, n, 1]`, and `episode_starts`, `[T, n]`.

    Example:
        >>> buffer = SimpleNamespace(
        ...     observations=np.array([[0], [1], [2], [0], [1]]),
        ...     actions=np.array([[1], [1], [0], [1], [0]]),
        ...     episode_starts=np.array([[1], [0], [0], [1], [0]]),
        ... )
        >>> [episode.states.tolist() for episode in from_rollout_buffer(buffer)]
        [[0, 1, 2], [0, 1]]
    """
    columns = []
    for name in ("observations", "actions", "episode_starts"):
        if not hasattr(buffer, name):
            raise InvalidInputError(
                f"the rollout buffer is a {type(buffer).__name__} without {name!r}; give the rollout_buffer of a"
                " stable-baselines3 algorithm."
            )
        column = np.asarray(getattr(buffer, name))
        columns.append(column[..., 0] if column.ndim == 3 and column.shape[-1] == 1 else column)
    observations, actions, starts = columns
    if starts.ndim == 2 and starts.size > starts.shape[0]:
        # Training flattens observations and actions, one environment after another, and leaves the starts as they are.
        flat, (steps, count) = (starts.size, 1), starts.shape
        observations, actions = (x.reshape(count, steps).T if x.shape == flat else x for x in (observations, actions))
    if starts.ndim == 1:
        observations, actions, starts = (column.reshape(len(starts), -1) for column in (observations, actions, starts))
    if observations.ndim != 2 or not observations.shape == actions.shape == starts.shape:
        shapes = ", ".join(str(np.shape(column)) for column in columns)
        raise InvalidInputError(
            f"the buffer's observations, actions and episode starts have the shapes {shapes}, but one row a step and"
            " one column an environment are needed; only spaces of the kind Discrete can be read."
        )
    states, moves = [], []
    for place in range(observations.shape[1]):
        cuts = np.flatnonzero(starts[1:, place] > 0) + 1
        states += np.split(_discrete("the buffer's observations", observations[:, place]), cuts)
        moves += np.split(_discrete("the buffer's actions", actions[:, place]), cuts)
    return Demonstrations.from_arrays(states, moves)


def arrays_of_others(held: Mapping[str, Any]) -> Demonstrations:
    """Return the demonstrations in arrays as .npz files of imitation or stable-baselines hold them.

    Example:
        >>> arrays_of_others({"obs": np.array([0, 1, 2, 3]), "actions": np.array([1, 1, 0, 1]),
        ...                   "episode_starts": np.array([1, 0, 1, 0])})
        Demonstrations(2 episodes, 2 transitions, with actions, ends unknown)
    """
    names = list(held)

    def first(*aliases: str) -> Any:
        return next((held[name] for name in aliases if name in names), None)

    seen, done = first("obs", "observations"), first("acts", "actions")
    if seen is None or done is None or not {"indices", "episode_starts"} & set(names):
        raise InvalidInputError(
            f"it has the arrays {short_repr(sorted(names), 100)}, but states and lengths are needed, or obs, actions"
            " and episode_starts (stable-baselines), or obs, acts, indices and terminal (imitation)."
        )
    if "indices" not in names:
        return from_rollout_buffer(
            SimpleNamespace(observations=seen, actions=done, episode_starts=held["episode_starts"])
        )
    cuts = np.asarray(held["indices"])
    # An episode has one observation more than actions.
    walks = zip(np.split(seen, cuts + np.arange(cuts.size) + 1), np.split(done, cuts), held["terminal"], strict=True)
    return from_trajectories([SimpleNamespace(obs=obs, acts=acts, terminal=end) for obs, acts, end in walks])


def read_imitation_folder(folder: Path) -> Demonstrations:
    """Return the trajectories in a folder that imitation saved."""
    pyarrow = _pyarrow()
    columns = ["obs", "acts", "terminal"]
    try:
        names = [entry["filename"] for entry in json.loads(read_regular(folder / "state.json"))["_data_files"]]
        rows: list[Any] = []
        for name in names:
            with pyarrow.ipc.open_stream(read_regular(folder / Path(name).name)) as reader:
                rows += reader.read_all().select(columns).to_pylist()
    except Exception as error:  # What damage raises is as varied as damage is.
        raise InvalidInputError(
            f"{folder} is no folder of imitation's trajectories ({one_line(error)}); save them with"
            " imitation.data.serialize.save, or give a file."
        ) from None
    return from_trajectories([SimpleNamespace(**row) for row in rows])


def write_imitation_folder(demonstrations: Demonstrations, folder: Path) -> None:
    """Write demonstrations to a new folder that `imitation.data.serialize.load` reads, whole or not at all.

    Example:
        >>> import tempfile
        >>> walks = Demonstrations.from_arrays([[0, 1, 2], [0, 1]], [[1, 1], [1]], terminated=[True, False])
        >>> with tempfile.TemporaryDirectory() as place:
        ...     write_imitation_folder(walks, Path(place, "walks"))
        ...     read_imitation_folder(Path(place, "walks")) == walks
        True
    """
    pyarrow = _pyarrow()
    if not demonstrations.has_actions or not demonstrations.ends_known or (demonstrations.lengths == 1).any():
        raise InvalidInputError(
            "imitation's trajectories have at least one action each and say whether they terminated, which these"
            " demonstrations do not all have; choose another format, or leave short episodes out."
        )
    whole, words = pyarrow.list_(pyarrow.int64()), pyarrow.list_(pyarrow.string())
    actions = [episode.actions.tolist() for episode in demonstrations]  # pyright: ignore[reportOptionalMemberAccess]
    table = pyarrow.table(
        {
            "obs": pyarrow.array([episode.states.tolist() for episode in demonstrations], whole),
            "acts": pyarrow.array(actions, whole),
            "infos": pyarrow.array([["{}"] * len(taken) for taken in actions], words),
            "terminal": pyarrow.array(demonstrations.terminated.tolist(), pyarrow.bool_()),
        }
    )
    buffer = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    content = buffer.getvalue().to_pybytes()
    # Without features here, datasets takes those of the table, whose names have changed from version to version.
    info = {"citation": "", "description": "", "features": None, "homepage": "", "license": ""}
    state = {
        "_data_files": [{"filename": DATA}],
        "_fingerprint": hashlib.sha256(content).hexdigest()[:16],
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    with new_folder(folder) as building:
        write_atomically(building / DATA, content)
        write_atomically(building / "state.json", json.dumps(state, indent=2))
        write_atomically(building / "dataset_info.json", json.dumps(info, indent=2))


def from_minari(dataset: "minari.MinariDataset | str") -> Demonstrations:
    """Return the episodes of a Minari dataset with discrete observations and actions.

    Args:
        dataset: The dataset, or the id of one that is already on this machine.

    An episode is terminated if its last step says so. States and actions number from 0, whatever the spaces' start.
    """
    opened = open_minari(dataset)
    name = opened.spec.dataset_id
    _, first_state = discrete(f"observations of the Minari dataset {name}", opened.observation_space)
    _, first_action = discrete(f"actions of the Minari dataset {name}", opened.action_space)
    try:
        episodes = list(opened.iterate_episodes())
        notes = opened.storage.metadata
        states = [np.asarray(one.observations).reshape(-1) - first_state for one in episodes]
        actions = [np.asarray(one.actions).reshape(-1) - first_action for one in episodes]
        ends = [bool(np.asarray(one.terminations)[-1]) for one in episodes]
        return Demonstrations.from_arrays(
            states,
            None if notes.get(STATES_ONLY) else actions,
            terminated=None if notes.get(ENDS_UNKNOWN) else ends,
        )
    except Exception as error:  # What damaged HDF5 files raise is as varied as damage is.
        raise InvalidInputError(
            f"the Minari dataset {name} cannot be read ({one_line(error)}); fetch or record it anew."
        ) from None


def open_minari(dataset: "minari.MinariDataset | str") -> Any:
    """Return a dataset of Minari, from this machine if it is given by its id."""
    if hasattr(dataset, "iterate_episodes"):
        return dataset
    library = _minari()
    try:
        metadata = library.dataset.minari_storage.MinariStorage.read_raw_metadata(
            library.storage.get_dataset_path(dataset) / "data"
        )
        # Without spaces Minari would build the environment that the file names to ask it: loading never runs code.
        if not {"observation_space", "action_space"} <= set(metadata):
            raise ValueError("its metadata name no spaces")
        return library.load_dataset(dataset)
    except Exception as error:
        raise InvalidInputError(
            f"the Minari dataset {dataset} cannot be read ({one_line(error)});"
            f" fetch it with `minari download {dataset}` if it is not on this machine."
        ) from None


def to_minari(
    demonstrations: Demonstrations,
    dataset_id: str,
    *,
    num_states: int | None = None,
    num_actions: int | None = None,
    **metadata: Any,
) -> "minari.MinariDataset":
    """Record demonstrations as a Minari dataset, which `from_minari` gives back exactly.

    Args:
        demonstrations: The episodes, each of at least one transition, because Minari has no shorter ones.
        dataset_id: As Minari requires, `namespace/name-v0`; it must not exist yet.
        num_states: |S|, the size of the observation space; the largest state plus one if omitted.
        num_actions: |A|, the size of the action space, likewise.
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
    library, folder = _minari(), require_new_dataset(dataset_id)
    if (demonstrations.lengths < 2).any():
        raise InvalidInputError(
            f"episode {int(np.argmin(demonstrations.lengths))} has no transition, and Minari cannot hold such episodes;"
            " leave them out with .subset(demonstrations.lengths > 1)."
        )
    known = demonstrations.actions
    sizes = int(demonstrations.states.max()) + 1, 1 if known is None else int(known.max()) + 1
    buffers = []
    for episode in demonstrations:
        actions = np.zeros(episode.states.size - 1, dtype=np.int64) if episode.actions is None else episode.actions
        over = np.arange(actions.size) == actions.size - 1
        buffers.append(
            library.data_collector.EpisodeBuffer(
                observations=episode.states,  # pyright: ignore[reportArgumentType]
                actions=actions,  # pyright: ignore[reportArgumentType]
                rewards=np.zeros(actions.size),  # pyright: ignore[reportArgumentType]
                terminations=over & bool(episode.terminated),  # pyright: ignore[reportArgumentType]
                truncations=over & (not episode.terminated),  # pyright: ignore[reportArgumentType]
            )
        )
    unknown = {STATES_ONLY: not demonstrations.has_actions, ENDS_UNKNOWN: not demonstrations.ends_known}
    try:
        with warnings.catch_warnings():
            # Minari asks for an author and the like with a warning each; they are the caller's to give.
            warnings.simplefilter("ignore", UserWarning)
            dataset = library.create_dataset_from_buffers(
                dataset_id,
                buffers,
                observation_space=spaces().Discrete(num_states or sizes[0]),
                action_space=spaces().Discrete(num_actions or sizes[1]),
                **metadata,
            )
        dataset.storage.update_metadata({name: True for name, holds in unknown.items() if holds})
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)  # Whole or not at all.
        if isinstance(error, Exception):
            raise InvalidInputError(f"the Minari dataset {dataset_id} cannot be made ({one_line(error)}).") from None
        raise
    return dataset


def require_new_dataset(dataset_id: str) -> Path:
    """Return the folder of a dataset that is to be made; refuse an id that Minari refuses, or one that is there."""
    library = _minari()
    try:
        library.dataset.minari_dataset.parse_dataset_id(dataset_id)
        folder = library.storage.get_dataset_path(dataset_id)
    except Exception as error:
        raise InvalidInputError(
            f"the Minari id {short_repr(dataset_id)} cannot be taken ({one_line(error)}); give one of the form"
            " namespace/name-v0."
        ) from None
    if folder.exists():
        raise InvalidInputError(
            f"there is a Minari dataset {dataset_id} already, in {folder}; raise the version, or delete it first."
        )
    return folder


def _discrete(what: str, values: Any) -> np.ndarray:
    """Return numbers of states or actions, which recorders often write as floats, or with an axis of length 1."""
    array = np.asarray(values)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.dtype.kind == "f" and (array == np.round(array)).all():
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidInputError(
            f"{what} are {short_repr(array.tolist())} of shape {array.shape}, but whole numbers in one row are needed:"
            " the spaces must be Discrete; use robust imitation (RobustImitation) for continuous ones."
        )
    return array


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise InvalidInputError(
            "this needs pyarrow, which is not installed; run `pip install 'robustirl[tables]'`."
        ) from None
    return pyarrow


def _minari() -> Any:
    try:
        import minari
        import minari.data_collector
        import minari.dataset.minari_storage
        import minari.storage
    except ImportError:
        raise InvalidInputError(
            "this needs minari, which is not installed; run `pip install 'robustirl[minari]'`."
        ) from None
    return minari
