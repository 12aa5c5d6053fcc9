"""An expert's state occupancy from a text file."""

import os
from pathlib import Path

import numpy as np
from jaxtyping import Float

from robustirl._runtime import read_regular, short_repr
from robustirl.errors import InvalidInputError


def read_occupancy(path: str | os.PathLike[str]) -> Float[np.ndarray, " n"]:
    r"""Return the numbers of a text file, in order; what follows a `#` is a comment.

    Whether they are an occupancy of some world is for `robustirl.mdp.as_occupancy` to say.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "rho.txt").write_text("0.75  # The start.\n0.25\n")
        ...     read_occupancy(f"{folder}/rho.txt").tolist()
        [0.75, 0.25]
    """
    try:
        lines = read_regular(Path(path)).decode("utf-8").splitlines()
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
