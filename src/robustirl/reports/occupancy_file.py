"""An expert's state occupancy from a text file."""

import csv
import io
import os
from pathlib import Path

import numpy as np
from jaxtyping import Float

from robustirl._runtime import is_folder, one_line, read_regular, short_repr
from robustirl.errors import InvalidInputError
from robustirl.irl import RobustIRL


def read_occupancy(path: str | os.PathLike[str]) -> Float[np.ndarray, " n"]:
    r"""Return the numbers of a text file, in order; what follows a `#` is a comment.

    What `robustirl fit` wrote is read, too: its folder, its model.npz (the expert's occupancy), or its reward.csv.

    Whether they are an occupancy of some world is for `robustirl.mdp.as_occupancy` to say.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "rho.txt").write_text("0.75  # The start.\n0.25\n")
        ...     read_occupancy(f"{folder}/rho.txt").tolist()
        [0.75, 0.25]
    """
    path = Path(path)
    if is_folder(path):
        path = path / "model.npz"
    if path.suffix == ".npz":
        return np.asarray(RobustIRL.load(path).expert_occupancy_, dtype=float)
    if path.suffix == ".csv":
        return _from_table(path)
    try:
        lines = read_regular(Path(path)).decode("utf-8-sig").splitlines()
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror}); give the path of a file.") from None
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not a text file in UTF-8 ({error.reason}); save it as one.") from None
    numbers = []
    for number, line in enumerate(lines, start=1):
        for word in line.partition("#")[0].split():
            try:
                found = float(word)
            except ValueError:
                found = float("nan")
            if not np.isfinite(found):
                raise InvalidInputError(
                    f"line {number} of {path} holds {short_repr(word)}, which is no number; give one number a state."
                )
            numbers.append(found)
    if not numbers:
        raise InvalidInputError(f"{path} holds no numbers; give one number a state.")
    return np.array(numbers)


def _from_table(path: Path) -> Float[np.ndarray, " n"]:
    """Return the column `expert_occupancy` of a table, as reward.csv has it."""
    try:
        # As a file: names of states may hold what Python takes for the end of a line.
        rows = list(csv.DictReader(io.StringIO(read_regular(path).decode("utf-8-sig"), newline="")))
        numbers = np.array([float(row["expert_occupancy"]) for row in rows])
        if not numbers.size or not np.isfinite(numbers).all():
            raise ValueError("it holds no numbers" if not numbers.size else "it holds a number that is not finite")
    except (OSError, UnicodeDecodeError, csv.Error, KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{path} has no readable column 'expert_occupancy' ({type(error).__name__}: {one_line(error)}); give the"
            " reward.csv of a fit, or a text file of numbers."
        ) from None
    for number, row in enumerate(rows):
        if row.get("state", str(number)) != str(number):  # A spreadsheet may have sorted it.
            raise InvalidInputError(
                f"row {number} of {path} is of state {short_repr(row['state'])}, but state {number} is due; sort the"
                " rows by their states."
            )
    return numbers
