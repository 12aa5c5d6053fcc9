"""Reserve places to write to before any work, and fill them whole or not at all.

A command reserves what `--out` names before it works. A second command is refused at once, and what the first leaves
unused, a new folder and its parents, is removed.
"""

import contextlib
import dataclasses
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from robustirl._runtime.locks import exclusive_beside, exclusive_folder
from robustirl._runtime.outputs import (
    file_refusal,
    refusal,
    require_empty,
    require_output_file,
    require_output_folder,
)
from robustirl._runtime.writing import short
from robustirl.errors import InvalidInputError

ATTEMPTS = 100
"""How often a folder is made that another command removes at the same time."""


@dataclasses.dataclass(frozen=True)
class OutputFolder:
    """A folder that this command alone writes to.

    Attributes:
        out: As `--out` names it.
        folder: The folder itself, without links.
        new: Whether it was made for this command.
    """

    out: Path
    folder: Path
    new: bool


@contextlib.contextmanager
def reserved_file(path: Path) -> Iterator[None]:
    """Keep other commands from writing a file while the context lasts.

    One that cannot be written is refused.
    """
    require_output_file(path)
    taken = f"another command is writing {short(path)}; wait for it, or choose another name."
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(exclusive_beside(path, taken))
        except OSError as error:
            raise file_refusal(path, error) from None
        yield


@contextlib.contextmanager
def reserved_folder(out: Path, *, empty: bool = True) -> Iterator[OutputFolder]:
    """Keep other commands from writing to a folder while the context lasts.

    A new folder is made at once, since only what exists can be locked. What was made and is empty at the end is
    removed.

    Args:
        out: What `--out` names.
        empty: Whether an existing folder must be empty; see `require_output_folder`.
    """
    folder = require_output_folder(out, empty=empty)
    taken = f"another command is working in {short(out)}; wait for it, or choose another --out."
    with contextlib.ExitStack() as stack:
        try:
            made = _make_and_lock(folder, taken, stack)
            # While it is locked: nobody else has begun to use what is removed.
            stack.callback(_remove_empty, made)
            if empty:
                require_empty(out, folder)  # Another command may have ended since it was looked at.
        except (OSError, ValueError) as error:
            raise refusal(out, error) from None
        yield OutputFolder(out, folder, folder in made)


def _make_and_lock(folder: Path, taken: str, stack: contextlib.ExitStack) -> list[Path]:
    """Make a folder if needed, and lock it until the stack is closed; return what was made."""
    made: list[Path] = []
    for attempt in range(ATTEMPTS):
        try:
            _make(folder, made)
            stack.enter_context(exclusive_folder(folder, taken))
        except FileNotFoundError:  # Another command has just removed what it had made.
            if attempt == ATTEMPTS - 1:
                raise
            continue
        except OSError:
            _remove_empty(made)
            raise
        break
    return made


def _make(folder: Path, made: list[Path]) -> None:
    """Make a folder and its parents, and list those that were not there, the outermost first."""
    for path in [*reversed(folder.parents), folder]:
        with contextlib.suppress(FileExistsError):
            if not path.exists():
                path.mkdir()
                made.append(path)


def _remove_empty(made: list[Path]) -> None:
    for path in reversed(made):
        with contextlib.suppress(OSError):
            path.rmdir()


@contextlib.contextmanager
def filled_whole(out: Path | OutputFolder) -> Iterator[Path]:
    """Yield a folder to fill, whose files appear in `out` together.

    If the context ends in an error, none of them appears. An existing empty folder stays the folder it is (it may be a
    mount point or a link); a new one gets all its files at once. What the user made is never removed.

    Args:
        out: A folder that is reserved, or one that is to be.
    """
    if not isinstance(out, OutputFolder):
        with reserved_folder(out) as held, filled_whole(held) as building:
            yield building
        return
    building: Path | None = None
    try:
        if out.new:
            place = out.folder.parent / f".robustirl-{secrets.token_hex(8)}"
            place.mkdir()  # With the permissions of new folders.
            building = place  # Only now: what fails is cleaned up.
        else:
            building = Path(tempfile.mkdtemp(prefix=".robustirl-", dir=out.folder))
        yield building
        if out.new:
            building.rename(out.folder)  # In the place of the empty one.
        else:
            for path in sorted(building.iterdir()):
                path.rename(out.folder / path.name)
            building.rmdir()
    except BaseException as error:
        if building is not None:
            shutil.rmtree(building, ignore_errors=True)
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
            raise InvalidInputError(f"{out.out} cannot be written to ({reason}); choose another --out.") from None
        if isinstance(error, InvalidInputError) and building is not None and str(building) in str(error):
            # The message must not name the temporary folder.
            raise InvalidInputError(str(error).replace(str(building), str(out.out))) from None
        raise
