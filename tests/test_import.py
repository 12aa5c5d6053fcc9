"""`import robustirl` stays light."""

import subprocess
import sys

PROGRAM = """
import sys
import robustirl
heavy = ("matplotlib", "rich", "tyro", "scipy.optimize", "gymnasium", "ray", "torch")
print(sorted(name for name in heavy if name in sys.modules))
"""


def test_import_adds_no_heavy_library():
    # The time itself is measured by `make bench`; here only what would make it long is kept out.
    output = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
