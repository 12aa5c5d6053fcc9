"""Try the built wheel where nothing else is installed: `make package`.

What the wheel holds is checked first. Then it is installed without extras into an environment of its own, where the
command line and a small fit must run; and extra by extra, where before each the library must say in a sentence what is
missing, and afterwards do what the extra is for.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path
from typing import Any

LARGEST = 1_000_000  # Bytes; code and templates need no more.

FIT = """
from robustirl import envs, irl, planning
env = envs.make("three-state")
world = env.mdp(noise=0.1)
rho = planning.state_occupancy(world, planning.expert_policy(world, env.reward, kind="optimal"))
player = irl.fit(env.mdp(), rho, alpha=0.95, optimizer=irl.LBFGS, tolerance=1e-8).player
assert abs(float(player[0, 0]) - 0.9 / 0.95) < 1e-6, player
"""

EXTRAS = {
    "gymnasium": "from robustirl.envs.gymnasium.tables import from_gymnasium; from_gymnasium('FrozenLake-v1')",
    "minari": "from robustirl.demonstrations import Demonstrations, to_minari;"
    " to_minari(Demonstrations.from_arrays([[0, 1]], actions=[[0]]), 'tried/once-v0')",
    "docs": "import mkdocs, material, mkdocstrings",
}
"""For each extra a line that needs it."""


def main() -> int:
    """Try the wheel in a folder; the return value is the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dist", type=Path, help="the folder with the wheel")
    parser.add_argument("--extras", nargs="*", default=list(EXTRAS), help="which extras to try")
    options = parser.parse_args()
    (wheel,) = options.dist.resolve().glob("*.whl")
    look_inside(wheel)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        venv.create(home / "env", with_pip=True)
        install(home, str(wheel))
        run(home, "robustirl", "--version")
        run(home, "python", "-c", FIT)
        run(home, "robustirl", "version")
        for extra in options.extras:
            refuse(home, extra)
            install(home, f"{wheel}[{extra}]")
            run(home, "python", "-c", EXTRAS[extra])
            print(f"extra {extra}: tried", flush=True)
    return 0


def look_inside(wheel: Path) -> None:
    """Check that the wheel is lean: the package, its templates, its metadata, and the mark of a typed one."""
    names = zipfile.ZipFile(wheel).namelist()
    strays = [name for name in names if not name.startswith(("robustirl/", "robustirl-")) or "__pycache__" in name]
    assert not strays, strays
    assert "robustirl/py.typed" in names
    assert wheel.stat().st_size < LARGEST, wheel.stat().st_size
    other = [name for name in names if not name.endswith(".py")]
    print(
        f"{wheel.name}: {wheel.stat().st_size // 1024} KiB, {len(names) - len(other)} modules and", *other, sep="\n  "
    )


def install(home: Path, what: str) -> None:
    """Install by pip, at the versions that were tested together."""
    constraints = Path(__file__).parents[1] / "constraints.txt"
    quiet = ("--quiet", "--disable-pip-version-check", "--no-warn-script-location")
    run(home, "python", "-m", "pip", "install", *quiet, "-c", str(constraints), what)


def refuse(home: Path, extra: str) -> None:
    """Check that without the extra its line ends in our sentence, not in an ImportError."""
    if extra == "docs":
        return  # Nothing of ours imports it.
    done = run(home, "python", "-c", EXTRAS[extra], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "nothing was said"
    assert "InvalidInputError" in last, last
    assert f"robustirl[{extra}]" in last, last


def run(home: Path, program: str, *words: str, **options: Any) -> subprocess.CompletedProcess:
    """Run a program of the environment in its own folder, and stop here if it fails."""
    place = home / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    alone |= {"MINARI_DATASETS_PATH": str(home / "minari"), "WANDB_DIR": str(home)}
    return subprocess.run([str(place / program), *words], cwd=home, env=alone, **{"check": True, **options})


if __name__ == "__main__":
    sys.exit(main())
