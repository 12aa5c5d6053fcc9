"""The options of every command that needs a world: which one, and how it is made."""

import dataclasses
from typing import Annotated

import tyro

from robustirl import envs
from robustirl.reports import find_environment, parse_arguments

NAMES = ", ".join(envs.names())
WORLDS = (
    f"an environment ({NAMES}), a file (world.npz with an array kernel, [S, A, S], or a sparse matrix saved by SciPy,"
    " [S * A, S]), a Gymnasium id with a table, as FrozenLake-v1, or module:function of your own"
)
"""What `--env` may be, for help texts."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorldOptions:
    """Say how a world is made."""

    env_arg: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """An argument of whatever makes the environment, as is_slippery=false; repeat it for more."""
    allow_import: bool = False
    """Let `--env module:function` import that module, which runs its code."""

    def find(self, name: str, discount: float | None = None) -> envs.Environment:
        """Return the environment of that name."""
        return find_environment(name, discount, allow_import=self.allow_import, arguments=parse_arguments(self.env_arg))
