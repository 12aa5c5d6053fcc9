"""`import robustirl` stays light, and so does a command."""

import subprocess
import sys

PROGRAM = """
import gc
import sys
import robustirl
heavy = ("matplotlib", "rich", "tyro", "scipy.optimize", "scipy.stats", "gymnasium", "minari", "pandas", "pyarrow",
         "ray", "sklearn", "torch")
print(sorted(name for name in heavy if name in sys.modules), gc.isenabled())
import robustirl.cli
robustirl.cli.parse(["fit", "--env", "gridworld-1", "--demos", "walks.csv", "--out", "found"])
loaded = {name for name in sys.modules if name.startswith("robustirl.cli.")}
others = {f"robustirl.cli.{command.module}" for command in robustirl.cli.COMMANDS.values()} - {"robustirl.cli.fit"}
print(sorted(loaded & others))
print(sorted(name for name in heavy if name in sys.modules))
"""


def test_neither_an_import_nor_a_command_loads_what_it_does_not_need():
    # The time itself is measured by `make bench`; here only what would make it long is kept out.
    output = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == ["[] True", "[]", "['rich', 'tyro']"]
