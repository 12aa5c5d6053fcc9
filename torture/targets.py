"""Every loader as a fuzz target: bytes in; out comes a value or one plain sentence, and nothing else.

Files with a checksum are fuzzed twice: as they are, where nearly every change is caught by the checksum, and inside
of it (`*-note`, `*-records`), where the checksum is made to fit and the decoder has to cope. `npz-header` and
`world-kernel` do the same for the arrays of an .npz file, whose zip directory has checksums of its own.
"""

import contextlib
import functools
import io
import json
import os
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import robustirl

robustirl.enable_x64()

from robustirl import demonstrations, irl  # noqa: E402
from robustirl.demonstrations import Demonstrations, Recordings  # noqa: E402
from robustirl.envs import ThreeState, from_file  # noqa: E402
from robustirl.errors import InvalidInputError  # noqa: E402
from robustirl.irl._archive import Archive, read_archive, write_archive  # noqa: E402
from robustirl.paper.finite.specs import Record, RunSpec  # noqa: E402
from robustirl.reports.occupancy_file import read_occupancy  # noqa: E402
from robustirl.sweeps.specs import RunResult  # noqa: E402
from robustirl.sweeps.store.batch_files import digest, encode, read_batch  # noqa: E402
from robustirl.sweeps.store.note import as_text, note_of, read_note  # noqa: E402
from robustirl.sweeps.store.store import Store  # noqa: E402


class Target(NamedTuple):
    """A loader under test.

    Attributes:
        seeds: Makes valid inputs, to start from.
        load: Reads an input; may raise InvalidInputError.
        suffix: Of the file that the input is written to.
        json: Whether inputs are JSON, which a mutator can then change by its structure.
    """

    seeds: Callable[[], list[bytes]]
    load: Callable[[Path], object]
    suffix: str
    json: bool = False


class UnclearError(AssertionError):
    """An input that was refused, but not by one plain sentence."""


def try_input(target: Target, content: bytes) -> bool:
    """Return whether the loader accepts the input; anything but acceptance or one plain sentence is raised on."""
    with tempfile.TemporaryDirectory(dir=_memory()) as folder, warnings.catch_warnings():
        warnings.simplefilter("error")  # A loader warns about nothing: it reads a file or refuses it.
        path = Path(folder) / f"input{target.suffix}"
        path.write_bytes(content)
        try:
            target.load(path)
        except InvalidInputError as error:
            require_sentence(str(error))
            return False
        finally:
            if os.listdir(folder) != [path.name] or path.read_bytes() != content:  # noqa: PTH208 (faster)
                raise UnclearError(f"reading left something behind: {sorted(os.listdir(folder))}")  # noqa: PTH208
    return True


def require_sentence(message: str) -> None:
    """Refuse a message that is not one line ending with a full stop."""
    if len(message.splitlines()) != 1 or not message.endswith(".") or message.endswith(".."):
        raise UnclearError(f"not one sentence: {message!r}")


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


@functools.cache
def _sound_npz() -> bytes:
    return _demo_seeds(".npz")()[0]


def kept(name: str) -> list[bytes]:
    """Return the valid inputs of a target that the tests keep in files, where making them takes a while."""
    folder = Path(__file__).parents[1] / "tests" / "reliability" / "corpus" / name
    return [path.read_bytes() for path in sorted(folder.glob("seed-*"))]


def _demos() -> list[Demonstrations]:
    full = Demonstrations.from_arrays([[0, 1, 2], [1]], [[0, 1], []], terminated=[True, False])
    return [full, full.without_actions()]


def _saved(write: Callable[[Path], object], suffix: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"saved{suffix}"
        write(path)
        return path.read_bytes()


def _demo_seeds(suffix: str) -> Callable[[], list[bytes]]:
    return lambda: [_saved(lambda path, d=d: demonstrations.save(d, path), suffix) for d in _demos()]


def _one_member(path: Path) -> object:
    """Read demonstrations whose array of states is, in an otherwise sound .npz file, what was given."""
    return _with_member(path, _sound_npz(), "states.npy", demonstrations.load)


def _with_member(path: Path, sound: bytes, member: str, load: Callable[[Path], object]) -> object:
    """Read an .npz file whose one array is what was given, with a checksum that fits."""
    made = path.with_name("made.npz")
    try:
        with zipfile.ZipFile(io.BytesIO(sound)) as whole, zipfile.ZipFile(made, "w") as file:
            for name in whole.namelist():
                file.writestr(name, path.read_bytes() if name == member else whole.read(name))
        return load(made)
    finally:
        made.unlink(missing_ok=True)


KERNEL = np.array([[[0.5, 0.5], [0.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]]])


def _world_seeds() -> list[bytes]:
    rest = {"initial": np.array([1.0, 0.0]), "discount": np.array(0.9), "shape": np.array([1, 2])}
    worlds = ({"kernel": KERNEL}, {"kernel": KERNEL, "reward": np.zeros((2, 2)), **rest})
    return [_saved(lambda path, world=world: np.savez(path, allow_pickle=False, **world), ".npz") for world in worlds]


def _kernel_seeds() -> list[bytes]:
    arrays = (KERNEL, KERNEL.astype(">f4"), (KERNEL > 0.5).astype(np.uint8))
    return [_saved(lambda path, array=array: np.save(path, array), ".npy") for array in arrays]


def _world_with_kernel(path: Path) -> object:
    """Make a world whose kernel is what was given."""
    return _with_member(path, _world_seeds()[0], "kernel.npy", from_file)


def _npy_seeds() -> list[bytes]:
    out = []
    for array in (np.array([0, 1, 2, 1]), np.array([0, 1, 2, 1], ">u2"), np.array([[0.5]])):
        buffer = io.BytesIO()
        np.save(buffer, array)
        out.append(buffer.getvalue())
    return out


def _models() -> list[tuple[bytes, bool]]:
    """Return saved models: a fit, an estimator with a linear reward, one with a network."""
    import jax

    from robustirl.rewards import LinearReward, NetworkReward

    features = np.eye(3)[:, :2]
    walks = Demonstrations.from_arrays([[0, 1, 1], [0, 2, 2]], [[0, 0], [1, 0]], terminated=True)
    world = ThreeState().mdp()
    found = [(_saved(lambda path: irl.save_fit(irl.fit(world, [0.1, 0.8, 0.1], steps=1), path), ".npz"), False)]
    for reward in (LinearReward(features), NetworkReward(features, key=jax.random.key(0))):
        model = irl.RobustIRL(0.9, reward=reward, steps=1).fit(world, walks)
        found.append((_saved(model.save, ".npz"), True))
    return found


def _load_model(path: Path) -> None:
    """Read as a fit, use it, and read as an estimator, too, if it is one."""
    found = irl.load_fit(path)
    if isinstance(found, irl.Fit):
        found.player.sum()
    elif isinstance(found, irl.RelativeEntropyFit):
        found.parameters.sum()
    with contextlib.suppress(InvalidInputError):
        model = irl.RobustIRL.load(path)
        model.predict([0])
        require_sentence(model.summary().replace("\n", " ").rstrip() + ("" if model.summary().endswith(".") else "."))


def _note_seeds() -> list[bytes]:
    out = []
    for content, _ in _models():
        archive = _archive(content)
        out.append(json.dumps(archive.note).encode())
    return out


def _archive(content: bytes) -> Archive:
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        path = Path(folder) / "model.npz"
        path.write_bytes(content)
        return read_archive(path)


_ARRAYS: dict[str, np.ndarray] = {}


def _with_note(path: Path) -> None:
    """Read a saved model whose note is what was given, with a checksum that fits."""
    if not _ARRAYS:
        for content in kept("model") or [content for content, _ in _models()]:
            _ARRAYS.update(_archive(content).arrays)
    try:
        note = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return  # Not JSON: `model` covers that.
    if not isinstance(note, dict):
        return
    made = path.with_name("made.npz")
    try:
        write_archive(Archive(note, _ARRAYS), made)
        _load_model(made)
    finally:
        made.unlink(missing_ok=True)


SPEC = RunSpec("three-state", "slip", 0.0, 0.1, 0.9, steps=1)


def _result() -> RunResult:
    numbers = dict.fromkeys((f.name for f in Record.__dataclass_fields__.values()), 0.5)
    record = Record(**{**numbers, "spec": SPEC, "steps": 1, "verdict": "budget"})  # pyright: ignore[reportArgumentType]
    return RunResult(record, {"reward": np.zeros(3), "player": np.full((3, 2), 0.5)})


def _batch_seeds() -> list[bytes]:
    return [encode([_result()])]


def _record_seeds() -> list[bytes]:
    with np.load(io.BytesIO(encode([_result()])), allow_pickle=False) as file:
        return [file["records"].tobytes()]


def _with_records(path: Path) -> None:
    """Read a batch whose records are what was given, with a checksum that fits, read through a store."""
    text, arrays = path.read_bytes(), {"all_reward": np.zeros((1, 3))}
    checksum = np.array(digest(text, arrays))
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, records=np.frombuffer(text, np.uint8), checksum=checksum, **arrays)
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        batches = Path(folder) / "batches"
        batches.mkdir()
        (batches / "one.npz").write_bytes(buffer.getvalue())
        (Path(folder) / "store.json").write_bytes(_store_seeds()[0])
        for spec in [record.spec for record in read_batch(batches / "one.npz")[0]][:3]:
            Store.read(Path(folder)).result(spec)
        Store.read(Path(folder)).records()


def _store_seeds() -> list[bytes]:
    return [as_text(note_of([SPEC])).encode()]


def _load_note(path: Path) -> None:
    for spec in read_note(path)["specs"]:
        hash(spec)


MINARI_ID = "walks/few-v0"


@functools.cache
def _minari_files() -> dict[str, bytes]:
    """Return the files of a Minari dataset, by their place in its folder."""
    with tempfile.TemporaryDirectory() as folder, _datasets_in(folder):
        demonstrations.to_minari(_demos()[0].subset([0]), MINARI_ID)
        top = Path(folder) / MINARI_ID
        return {str(path.relative_to(top)): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}


@contextlib.contextmanager
def _datasets_in(folder: str) -> Iterator[None]:
    before = os.environ.get("MINARI_DATASETS_PATH")
    os.environ["MINARI_DATASETS_PATH"] = folder
    try:
        yield
    finally:
        if before is None:
            del os.environ["MINARI_DATASETS_PATH"]
        else:
            os.environ["MINARI_DATASETS_PATH"] = before


def _minari(name: str = "data/metadata.json") -> Target:
    """Read a Minari dataset whose metadata are what was given."""

    def load(path: Path) -> None:
        with tempfile.TemporaryDirectory(dir=_memory()) as folder, _datasets_in(folder):
            for place, content in _minari_files().items():
                target = Path(folder) / MINARI_ID / place
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes() if place == name else content)
            demonstrations.from_minari(MINARI_ID)

    return Target(lambda: [_minari_files()[name]], load, Path(name).suffix, json=True)


def _recording_seeds() -> list[bytes]:
    seen, done = [np.zeros((3, 2)), np.ones((2, 2))], [np.zeros((2, 1)), np.ones((1, 1))]
    whole = Recordings.from_arrays(seen, done, terminated=[True, False])
    return [_saved(one.save, ".npz") for one in (whole, whole.without_actions())]


def _load_imitation(path: Path) -> None:
    """Read a robust imitation and act by it."""
    irl.RobustImitation.load(path).predict(np.zeros((1, 3)))


def _show_fit(path: Path) -> None:
    """Make the page of a fit whose record is what was given."""
    from robustirl.explorer import write_fit_page

    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        (Path(folder) / "model.npz").write_bytes(kept("model")[0])
        (Path(folder) / "fit.json").write_bytes(path.read_bytes())
        page = write_fit_page(Path(folder), Path(folder) / "page.html").read_text(encoding="utf-8")
        if page.count("<script") != page.count("</script>"):
            raise UnclearError("a record has written into the page")


TARGETS: dict[str, Target] = {
    "demos-npz": Target(_demo_seeds(".npz"), demonstrations.load, ".npz"),
    "demos-jsonl": Target(_demo_seeds(".jsonl"), demonstrations.load, ".jsonl"),
    "demos-csv": Target(_demo_seeds(".csv"), demonstrations.load, ".csv"),
    "demos-parquet": Target(_demo_seeds(".parquet"), demonstrations.load, ".parquet"),
    # Not its HDF5 file: a damaged one can send libhdf5 into endless work, which nobody here can stop.
    "minari-metadata": _minari(),
    "npz-header": Target(_npy_seeds, _one_member, ".npy"),
    "model": Target(lambda: [content for content, _ in _models()], _load_model, ".npz"),
    "model-note": Target(_note_seeds, _with_note, ".json", json=True),
    "imitation-model": Target(lambda: kept("imitation-model"), _load_imitation, ".npz"),
    "recordings": Target(_recording_seeds, Recordings.load, ".npz"),
    "fit-record": Target(lambda: kept("fit-record"), _show_fit, ".json", json=True),
    "batch": Target(_batch_seeds, read_batch, ".npz"),
    "batch-records": Target(_record_seeds, _with_records, ".json", json=True),
    "store-note": Target(_store_seeds, _load_note, ".json", json=True),
    "world": Target(_world_seeds, from_file, ".npz"),
    "world-kernel": Target(_kernel_seeds, _world_with_kernel, ".npy"),
    "occupancy": Target(lambda: [b"0.5\n0.25\n0.25\n", b"# a comment\n1e-3 # rest\n0.999\n"], read_occupancy, ".txt"),
}


def chosen(names: Sequence[str]) -> dict[str, Target]:
    """Return the targets of these names, or all."""
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        raise SystemExit(f"there is no target {unknown[0]!r}; choose from {', '.join(TARGETS)}.")
    return {name: TARGETS[name] for name in (names or TARGETS)}
