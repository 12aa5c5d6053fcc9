"""The arrays of a page: rounded to the digits that are shown, each kept once, in one compressed block.

Numbers are rounded here and not in the browser, so that what is read there are the store's own digits. Single precision
holds seven, more than the four that are kept.
"""

import base64
import gzip

import numpy as np

DIGITS = 4  # Significant digits of rewards and occupancies.
THOUSANDTHS = 1000  # What probabilities are counted in.
TEN_THOUSANDTHS = 10_000  # What places on a path are counted in, from the corner (-1, -1).
NONE = 65535  # Stands for a whole number that is none.
SMALLEST, LARGEST = (
    1e-30,
    1e38,
)  # What is below is shown as zero and what is above as none: single precision ends there.


class Pool:
    """Arrays to be sent, found again by where they begin.

    Example:
        >>> pool = Pool()
        >>> pool.numbers([0.123456, -100.0]), pool.probabilities([0.25, 0.75]), pool.numbers([0.12345, -100.0])
        (0, 0, 0)
        >>> pool.numbers([2.0]), pool.sizes
        (2, {'numbers': 3, 'counts': 2})
    """

    def __init__(self) -> None:
        self._parts: dict[str, list[bytes]] = {"numbers": [], "counts": []}
        self._places: dict[tuple[str, bytes], int] = {}
        self.sizes: dict[str, int] = {"numbers": 0, "counts": 0}

    def numbers(self, values: object) -> int:
        """Keep numbers to `DIGITS` significant digits, and return where they begin.

        They are rounded as by `format(x, ".4g")`.
        """
        array = np.asarray(values, dtype=float).ravel()
        shown = np.where(np.abs(array) < SMALLEST, 0.0, np.where(np.abs(array) > LARGEST, np.nan, array))
        rounded = np.char.mod(f"%.{DIGITS}g", shown).astype(np.float32) if shown.size else shown
        return self._keep("numbers", rounded.astype("<f4"))

    def probabilities(self, values: object) -> int:
        """Keep probabilities in thousandths."""
        return self._counts(np.asarray(values, dtype=float) * THOUSANDTHS)

    def places(self, values: object) -> int:
        """Keep places between -1 and 1 in ten-thousandths above -1."""
        return self._counts((np.asarray(values, dtype=float) + 1) * TEN_THOUSANDTHS)

    def _counts(self, scaled: np.ndarray) -> int:
        sound = np.isfinite(scaled)
        return self._keep("counts", np.where(sound, np.rint(scaled), NONE).ravel().astype("<u2"))

    def _keep(self, name: str, array: np.ndarray) -> int:
        content = array.tobytes()
        if (name, content) not in self._places:
            self._places[name, content] = self.sizes[name]
            self._parts[name].append(content)
            self.sizes[name] += array.size
        return self._places[name, content]

    def packed(self) -> str:
        """Return all of it, the numbers before the counts, as compressed text that a page can hold."""
        block = b"".join([*self._parts["numbers"], *self._parts["counts"]])
        return base64.b64encode(gzip.compress(block, 6, mtime=0)).decode()
