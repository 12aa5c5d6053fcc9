"""What `robustirl explore` says of the page it has written."""

import pytest

from robustirl.cli import explore
from robustirl.cli.console import take_answers
from tests.cli.running import printed


@pytest.mark.parametrize(("size", "shown"), [(999_499, "999 kB"), (1_000_000, "1.0 MB"), (1_550_000, "1.6 MB")])
def test_the_size_of_a_page_is_said_in_whole_units(tmp_path, size, shown):
    path = tmp_path / "p"
    path.write_bytes(bytes(size))
    take_answers()  # Of earlier tests.
    assert printed(explore._say, path).endswith(f"({shown})\n")
    assert take_answers() == {"files": [str(path)]}
