"""Write requirements.lock: the versions of constraints.txt with the hashes of their files, and no host.

    python tools/lock.py

pip is asked, for every platform on which the tests run, which file of each version it would install, wherever it is
configured to look. `make LOCKED=1 ...` then installs these files and no others, whoever serves them.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONSTRAINTS, LOCK = ROOT / "constraints.txt", ROOT / "requirements.lock"
LEFT_OUT = ("atheris", "ray")
"""The fuzzer is used where it can be had, and Ray is an extra that neither `all` nor the tests need."""
PYTHONS = ("3.11.9", "3.13.5")
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64")
HEADER = """\
# The files of the versions in constraints.txt, by hash: Linux on x86-64, Python {pythons}.
# Written by tools/lock.py; installed by `make LOCKED=1`, or by `pip install --require-hashes --no-deps -r` this file.
"""


def pins() -> dict[str, str]:
    """Return the versions of constraints.txt by name."""
    lines = CONSTRAINTS.read_text().splitlines()
    found = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    return {name: version for name, version in found.items() if canonical(name) not in LEFT_OUT}


def locked() -> dict[str, tuple[str, list[str]]]:
    """Return the versions and hashes of requirements.lock by name."""
    entries = re.split(r"\n(?=\S)", LOCK.read_text().partition("\n\n")[2].strip())
    found = [re.fullmatch(r"(\S+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)", entry) for entry in entries]
    if None in found:
        raise SystemExit(f"{LOCK.name} holds {entries[found.index(None)]!r}, which is no entry; write it anew.")
    return {match[1]: (match[2], re.findall(r"sha256:(\w+)", match[3])) for match in found if match}


def canonical(name: str) -> str:
    """Return a name of a package as indexes compare it.

    Example:
        >>> canonical("Typing.Extensions")
        'typing-extensions'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def hashes(python: str) -> dict[str, str]:
    """Return the hash of the file that pip would install of every package, by canonical name."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, report = Path(folder) / "wanted.txt", Path(folder) / "report.json"
        wanted.write_text("\n".join(f"{name}=={version}" for name, version in pins().items()))
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps"]
        command += ["--only-binary=:all:", "--python-version", python, "--target", folder, "--report", str(report)]
        command += [f"--platform={platform}" for platform in PLATFORMS]
        subprocess.run([*command, "-r", str(wanted)], check=True)
        items = json.loads(report.read_text())["install"]
    return {canonical(i["metadata"]["name"]): i["download_info"]["archive_info"]["hashes"]["sha256"] for i in items}


def main() -> None:
    """Ask pip and write the file."""
    found: dict[str, set[str]] = defaultdict(set)
    for python in PYTHONS:
        for name, value in hashes(python).items():
            found[name].add(value)
    lines = [HEADER.format(pythons=" and ".join(python.rpartition(".")[0] for python in PYTHONS))]
    for name, version in pins().items():
        values = sorted(found[canonical(name)])
        lines.append(" \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{value}" for value in values)]))
    LOCK.write_text("\n".join(lines) + "\n")
    print(f"wrote {LOCK.name}: {len(lines) - 1} packages")


if __name__ == "__main__":
    main()
