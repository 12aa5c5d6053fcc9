"""Say how a table is to be read: its columns, its numbering, its names, and its times."""

import dataclasses
from collections.abc import Collection, Mapping

from robustirl.demonstrations.io.names import Names, Numbering, WorldNames, option_name
from robustirl.demonstrations.io.separators import as_separator
from robustirl.demonstrations.io.table_checks import require_columns, require_first, require_names_given
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_positive

COLUMNS = ("episode", "step", "state", "action", "terminated")
NEEDED = ("episode", "state")
TIME = "time"


@dataclasses.dataclass(frozen=True)
class TableOptions:
    """Say how a table is to be read.

    Attributes:
        columns: The table's own names of columns, by ours: `{"episode": "trip", "state": "link"}`.
        state_names: The name of each state in order, or a number for each name; found in the table if omitted.
        action_names: The same for actions.
        first_state: The number of the first state in the table: 0, or 1 for tables that count from 1; 0 if omitted.
        first_action: The same for actions.
        time_step: The seconds (or units) between two steps, for tables with a column `time`; see `timestamps.py`.
        separator: What separates the cells of a text table, a character or a word (`semicolon`, `tab`); read off the
            header if omitted.
        command_line: Whether messages name options as a command line has them.
        world: The world that the table belongs to, with its names, if it is at hand. Names are numbered as there.
    """

    columns: Mapping[str, str] | None = None
    state_names: Names = None
    action_names: Names = None
    first_state: int | None = None
    first_action: int | None = None
    time_step: float | None = None
    separator: str | None = None
    command_line: bool = False
    world: WorldNames | None = None

    def __post_init__(self) -> None:
        require_columns(self.columns, (*COLUMNS, TIME))
        for option in ("state_names", "action_names"):
            require_names_given(option, getattr(self, option))
        if self.time_step is not None:
            object.__setattr__(self, "time_step", as_positive("the time step", self.time_step))
        if TIME in (self.columns or {}) and self.time_step is None:
            step = "--time-step" if self.command_line else "time_step"
            raise InvalidInputError(f"columns names a column of times, but no time step; give {step}, in seconds.")
        object.__setattr__(self, "separator", as_separator(self.separator, self.option("separator")))
        for kind in ("state", "action"):
            first, names = f"first_{kind}", f"{kind}_names"
            require_first(first, getattr(self, first))
            if getattr(self, first) and getattr(self, names) is not None:
                raise InvalidInputError(
                    f"{self.option(first)} is for {kind}s by number, but {self.option(names)} names them; leave one of"
                    " the two out."
                )

    def option(self, name: str) -> str:
        """Return what an option is called, as `first_state` or `--first-state`."""
        return option_name(name, self.command_line)

    def require_none(self, path: str) -> None:
        """Refuse options that only tables have a use for, because the file is none."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name not in ("command_line", "world") and _is_set(value):
                raise InvalidInputError(
                    f"{self.option(field.name)} is for tables (.csv, .parquet), but {path} is none; leave it out."
                )

    def require_no_separator(self, name: str) -> None:
        """Refuse a separator, because the table is no text."""
        if self.separator is not None:
            raise InvalidInputError(
                f"{self.option('separator')} is for text tables (.csv, .tsv), but {name} is none; leave it out."
            )

    def require_used(self, source: str, columns: Collection[str]) -> None:
        """Refuse options for actions if the table has no column of them."""
        for name in ("first_action", "action_names"):
            if _is_set(getattr(self, name)) and "action" not in columns:
                raise InvalidInputError(
                    f"{self.option(name)} is for actions, but {source} has no column 'action'; leave it out, or say"
                    " which column has them."
                )

    def numbering(self, kind: str, *, by_number: bool = False) -> Numbering:
        """Return how states or actions are numbered.

        `by_number` says that the table never uses names.
        """
        known = None if self.world is None else getattr(self.world, f"{kind}_names")
        return Numbering(
            kind,
            getattr(self, f"first_{kind}"),
            getattr(self, f"{kind}_names"),
            known=None if by_number else known,
            world="" if self.world is None else self.world.world,
            sort=self.world is None,
            command_line=self.command_line,
        )


def _is_set(value: object) -> bool:
    """Return whether an option was given; 0 is what the number of a first state is anyway."""
    return value is not None and not (isinstance(value, int) and value == 0)
