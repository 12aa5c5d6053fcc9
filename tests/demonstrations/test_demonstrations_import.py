"""The room opens on a machine without any of the optional libraries."""

import subprocess
import sys

PROGRAM = """
import sys
for name in ("gymnasium", "minari", "pyarrow", "h5py"):
    sys.modules[name] = None  # An import of it now fails.
from robustirl.demonstrations import Demonstrations, load, save
demos = Demonstrations.from_arrays([[0, 1]], terminated=True)
save(demos, sys.argv[1])
print(load(sys.argv[1]) == demos, "scipy.sparse.linalg" in sys.modules)
"""


def test_the_room_opens_without_the_optional_libraries(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "demos.npz")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["True", "False"]
