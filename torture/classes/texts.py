"""Hostile texts: whatever takes a name or a word, times texts that a terminal, a page or a figure would obey."""

import functools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from robustirl import demonstrations, envs, planning
from robustirl.demonstrations import Demonstrations
from robustirl.rewards import make_reward_model
from robustirl.sweeps import RayEngine
from robustirl.sweeps.store.batch_files import digest, read_batch
from torture.classes import BadInput, Command
from torture.classes.numbers import HALF, KERNEL, walks, world
from torture.targets import TARGETS

TEXTS: dict[str, str] = {
    "markup": "a[red]b",
    "closing markup": "a[/x]b[/]",
    "mathtext": "$\\frac{a}$ $",
    "an emoji code": ":warning: a",
    "an escape sequence": "\x1b[2J\x1b[31ma",
    "a title of the terminal": "\x1b]0;owned\x07a",
    "eight-bit controls": "\x9b2Ja\x85b",
    "two lines": "a\nb\r\nc",
    "a tab and a backspace": "a\tb\b\b",
    "a zero byte": "a\0b",
    "a line separator": "a\u2028b",
    "right to left": "a\u202eb\u2066c",
    "a script": "<script>alert(1)</script>",
    "braces": "{0} {x!r} %s %(a)s",
    "quotes": "a'b\"c\\",
    "3 MB": "x" * 3_000_000,
}
NOT_UTF8 = {"not UTF-8": "caf\udce9"}


def _csv(text: str, cell: str = "0") -> object:
    quoted = text.replace('"', '""')
    Path("log.csv").write_bytes(f'"{quoted}",state\n{cell},0\n'.encode("utf-8", "surrogateescape"))
    return demonstrations.load("log.csv")


def _csv_cell(text: str) -> object:
    quoted = text.replace('"', '""')
    Path("log.csv").write_bytes(f'episode,step,state\n0,"{quoted}",0\n'.encode("utf-8", "surrogateescape"))
    return demonstrations.load("log.csv")


def _json_lines(text: str) -> object:
    header = {"format": "robustirl.demonstrations", "schema": 1, "episodes": 1, "has_actions": True, text: 1}
    Path("log.jsonl").write_text(json.dumps(header) + "\n" + json.dumps({text: [0]}) + "\n")
    return demonstrations.load("log.jsonl")


def _archive_name(text: str) -> str:
    """Return the text as a name that NumPy can write into an archive."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()[:60_000]


def _array_name(text: str) -> object:
    np.savez("walks.npz", **{_archive_name(text): np.zeros(2)})  # pyright: ignore[reportArgumentType]
    return demonstrations.load("walks.npz")


def _world_names(text: str) -> object:
    np.savez("world.npz", kernel=KERNEL, state_names=np.array([text, text]))
    return envs.from_file("world.npz")


def _world_array(text: str) -> object:
    np.savez("world.npz", kernel=KERNEL, **{_archive_name(text): np.zeros(2)})  # pyright: ignore[reportArgumentType]
    return envs.from_file("world.npz")


def _records(text: str) -> object:
    """Read a batch with a sound checksum whose one run has the text for a kind."""
    content = json.dumps([{"kind": text, text: 1}]).encode()
    arrays = {"all_reward": np.zeros((1, 3))}
    checksum = np.array(digest(content, arrays))
    np.savez("one.npz", records=np.frombuffer(content, np.uint8), checksum=checksum, **arrays)  # pyright: ignore[reportArgumentType]
    return read_batch(Path("one.npz"))


def _minari_metadata(text: str) -> object:
    Path("metadata.json").write_text(json.dumps({"dataset_id": text, text: text, "data_format": text}))
    return TARGETS["minari-metadata"].load(Path("metadata.json"))


def _minari_id(text: str) -> object:
    before = os.environ.get("MINARI_DATASETS_PATH")
    os.environ["MINARI_DATASETS_PATH"] = "minari"
    try:
        return demonstrations.from_minari(text)
    finally:
        os.environ.pop("MINARI_DATASETS_PATH") if before is None else os.environ.update(MINARI_DATASETS_PATH=before)


DOORS: dict[str, Callable[[str], object]] = {
    "a CSV header": _csv,
    "a CSV cell": _csv_cell,
    "a CSV column": lambda text: demonstrations.load(_sound_csv(), columns={"episode": text}),
    "a key of JSON lines": _json_lines,
    "an array of demonstrations": _array_name,
    "a name of two states": lambda text: Demonstrations([0], None, [1], state_names=[text, text]),
    "a name of two states in a world file": _world_names,
    "an array of a world file": _world_array,
    "a kind of run in a batch": _records,
    "metadata of Minari": _minari_metadata,
    "a dataset of Minari": _minari_id,
    "an environment": envs.make,
    "a noise model": lambda text: envs.make("three-state").mdp(0.1, noise_model=text),
    "a kind of expert": lambda text: planning.expert_policy(world(), HALF, kind=text),
    "a tail": lambda text: demonstrations.estimate_occupancy(walks(), world(), tail=text),
    "a kind of reward": lambda text: make_reward_model(text, 2, np.eye(2), world=text),
    "an address of Ray": lambda text: RayEngine(text.replace(":", "")).connect().__enter__(),
    "a suffix": lambda text: demonstrations.save(walks(), f"walks.{text[:100]}"),
}
COMMANDS: dict[str, tuple[str, ...]] = {
    "no command": (),
    "reproduce": ("reproduce", "--out", "new"),
    "theory": ("theory", "--out", "new"),
    "study": ("study",),
    "explore": ("explore",),
    "serve": ("serve", "--port", "0"),
    "imitate --env": ("imitate", "--out", "new", "--env"),
    "imitate --physics": ("imitate", "--out", "new", "--physics"),
    "imitate --demos": ("imitate", "--out", "new", "--demos"),
    "fit --columns": ("fit", "--env", "three-state", "--demos", "walks.csv", "--out", "new", "--columns"),
    "fit --noise-model": ("fit", "--env", "three-state", "--demos", "walks.csv", "--out", "new", "--noise-model"),
    "reproduce --experiments": ("reproduce", "three-state", "--out", "new", "--experiments"),
    "an option": ("fit", "--env", "three-state", "--demos", "walks.csv", "--out", "new", "--alpha", "1"),
}


def bad_texts() -> Iterator[BadInput]:
    """Yield every function that takes a name from outside, with every text."""
    for door, call in DOORS.items():
        for what, text in (TEXTS | NOT_UTF8).items():
            yield BadInput(f"{door}: {what}", functools.partial(call, text))


def bad_text_commands() -> Iterator[BadInput]:
    """Yield every command that takes a name, with every text that a shell can pass on."""
    for command, words in COMMANDS.items():
        for what, text in (TEXTS | NOT_UTF8).items():
            if "\0" not in text and what != "3 MB":
                yield BadInput(f"{command}: {what}", functools.partial(_command, words, text))


def _command(words: tuple[str, ...], text: str) -> Command:
    Path("walks.csv").write_bytes(_sound_csv().read_bytes())
    return Command((*words, f"-{text}" if words[-2:] == ("--alpha", "1") else text))


def _sound_csv() -> Path:
    Path("sound.csv").write_bytes(TARGETS["demos-csv"].seeds()[0])
    return Path("sound.csv")
