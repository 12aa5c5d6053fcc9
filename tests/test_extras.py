"""The base install is light: an import, a command line and a fit load no more than they need; extras have guards."""

import subprocess
import sys

import pytest

HEAVY = [
    "matplotlib", "rich", "tyro", "gymnasium", "minari", "pandas", "pyarrow", "ray", "sklearn", "torch",
    "scipy.optimize", "scipy.stats",
]  # fmt: skip


def loaded(program):
    """The heavy libraries that a program loads, in a process of its own."""
    code = f"import sys\n{program}\nprint(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_an_import_loads_no_more_than_it_needs():
    assert loaded("import robustirl\nassert 'jax' not in sys.modules") == []
    assert loaded("import robustirl\nfor name in robustirl.__all__: getattr(robustirl, name)") == []


def test_reading_a_command_line_loads_no_library_that_computes():
    words = ["fit", "--env", "gridworld-1", "--demos", "walks.csv", "--out", "found"]
    assert loaded(f"from robustirl.cli.parser import parse\nparse({words})") == ["tyro"]


@pytest.mark.parametrize(
    ("absent", "program", "extra"),
    [
        ("matplotlib", "from robustirl.plotting import plot_fit", "plots"),
        ("tyro", "from robustirl.cli import main; sys.exit(main(['fit']))", "cli"),
        ("pandas", "from robustirl.demonstrations import load; open('x.csv', 'w').write('a'); load('x.csv')", "tables"),
    ],
)
def test_what_needs_an_extra_names_it(tmp_path, absent, program, extra):
    code = f"import sys\nsys.modules[{absent!r}] = None\n{program}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode != 0
    assert f"pip install 'robustirl[{extra}]'" in done.stderr


def test_a_fit_and_its_report_need_no_extra():
    program = f"""
import sys
for name in [*{HEAVY[:-2]}, "jinja2", "joblib", "polars"]:
    sys.modules[name] = None
import robustirl
from robustirl.report import report_fit
world = robustirl.envs.make("gridworld-4").mdp(0.1)
fit = robustirl.fit(world, [1 / 36] * 36, alpha=1.0, steps=3, throw=False)
report = report_fit(fit, world)
print(len(report.page()) > 1000, len(report.weights))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "True 36\n", done.stderr
