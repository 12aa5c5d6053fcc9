"""`robustirl doctor`: what is installed, where it computes, and whether it computes rightly.

The check learns on the three-state example of Section 4.4, whose answer is known: the player takes a1 with probability
(1-ε_E)/α, and its gap vanishes at α = 1-ε_E and is γ/(1-γ)·d_dyn at α = 1 (Theorem 4).
"""

import dataclasses
import importlib.metadata
import platform
import re
import time

import jax
import jax.numpy as jnp
from rich.table import Table

from robustirl import __version__
from robustirl._runtime import one_line
from robustirl.cli.console import console, errors
from robustirl.envs import ThreeState
from robustirl.irl import LBFGS, fit
from robustirl.planning import discounted_return, expert_policy, state_occupancy

LIBRARIES = ("jax", "jaxlib", "equinox", "optax", "numpy", "scipy", "matplotlib", "pyarrow", "tyro")
EXPERT_NOISE = 0.2
ALPHAS = (1.0, 0.9, 0.8)
TOLERANCE = 1e-6


@dataclasses.dataclass(frozen=True)
class Doctor:
    """Say what is installed and where it computes, and check a fit against a closed form.

    As in

        robustirl doctor

    The exit status is 1 if the check fails.
    """


@dataclasses.dataclass(frozen=True)
class Check:
    """A fit of the three-state example beside its closed form.

    Attributes:
        alpha: α.
        probability: π_pl(a1|s0) as learned.
        expected_probability: The same by the closed form.
        gap: |V^{π_1} - V^{π_pl}| as learned.
        expected_gap: The same by the closed form (Theorem 4).
    """

    alpha: float
    probability: float
    expected_probability: float
    gap: float
    expected_gap: float

    @property
    def error(self) -> float:
        """The larger of the two differences."""
        return max(abs(self.probability - self.expected_probability), abs(self.gap - self.expected_gap))

    @property
    def passed(self) -> bool:
        """Whether both agree to 1e-6; nothing that is not a number does."""
        return self.error <= TOLERANCE


def self_check() -> list[Check]:
    """Learn for a few α on the three-state example.

    Example:
        >>> [check.passed for check in self_check()]
        [True, True, True]
    """
    env = ThreeState()
    expert_world, world = env.mdp(EXPERT_NOISE), env.mdp(0.0)
    rho = state_occupancy(expert_world, expert_policy(expert_world, env.reward, kind="optimal"))
    ideal = discounted_return(world, expert_policy(world, env.reward, kind="optimal"), env.reward)
    checks = []
    for alpha in ALPHAS:
        player = fit(world, rho, alpha=alpha, optimizer=LBFGS, tolerance=1e-9).player
        gap = abs(float(ideal - discounted_return(world, player, env.reward)))
        expected = env.player_probability(EXPERT_NOISE, alpha), env.performance_gap(EXPERT_NOISE, alpha)
        checks.append(Check(alpha, float(player[0, 0]), expected[0], gap, expected[1]))
    return checks


def extras() -> dict[str, dict[str, str | None]]:
    """Return every extra of the installed package: its libraries and their versions.

    They are read from the package's own metadata, so that no second list has to be kept. The version of a library that
    is not here is None.
    """
    found: dict[str, dict[str, str | None]] = {}
    for requirement in importlib.metadata.requires("robustirl") or ():
        match = re.match(r"([\w.-]+).*;.*\bextra\s*==\s*['\"]([\w-]+)['\"]", requirement)
        if match and match[2] != "all":  # Which is the others together.
            found.setdefault(match[2], {})[match[1]] = _version(match[1])
    return found


def run_doctor(command: Doctor) -> int:  # noqa: ARG001
    """Run the `doctor` command."""
    _say(f"robustirl {__version__}, Python {platform.python_version()}, {platform.platform()}")
    _say(", ".join(f"{name} {_version(name) or 'missing'}" for name in LIBRARIES))
    for device in jax.devices():
        _say(f"device {device.id}: {device.platform}, {device.device_kind}")
    _say(f"dtype: {jnp.zeros(()).dtype}, whatever JAX's default (robustirl.single_precision() is for float32)")
    for extra, libraries in extras().items():
        missing = [name for name, version in libraries.items() if version is None]
        have = ", ".join(f"{name} {version}" for name, version in libraries.items() if version is not None)
        note = f"pip install 'robustirl[{extra}]' brings {', '.join(missing)}" if missing else have
        _say(f"extra {extra}: {'not installed, and optional; ' if missing else 'present; '}{note}")
    begun = time.perf_counter()
    try:
        checks = self_check()
    except Exception as error:  # Whatever a broken installation raises is what one came here to learn.
        line = f"robustirl: the check broke off: {one_line(error)}."
        errors.print(line, style="red")
        return 1
    _print_checks(checks, time.perf_counter() - begun)
    return 0 if all(check.passed for check in checks) else 1


def _print_checks(checks: list[Check], seconds: float) -> None:
    table = Table(title=f"Three states, ε_E = {EXPERT_NOISE:g}: learned, and by Theorem 4", title_justify="left")
    for heading in ("α", "π_pl(a1|s0)", "(1-ε_E)/α", "gap", "by Theorem 4", "error", ""):
        table.add_column(heading, justify="right")
    for check in checks:
        numbers = (check.probability, check.expected_probability, check.gap, check.expected_gap)
        verdict = "right" if check.passed else "WRONG"
        table.add_row(f"{check.alpha:g}", *(f"{x:.6f}" for x in numbers), f"{check.error:.1e}", verdict)
    console.print(table)
    wrong = sum(not check.passed for check in checks)
    said = f"{wrong} of {len(checks)} are off by more than {TOLERANCE:g}" if wrong else "all is well"
    _say(f"check: {said} ({seconds:.1f} s)")


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _say(line: str) -> None:
    console.print(line)
