"""Demonstrations as lines of JSON: a header, then one object per episode with `states`, `actions`, `terminated`."""

import json

import numpy as np

from robustirl._runtime import one_line, short_repr, unique_fields
from robustirl.demonstrations.arrays import as_whole_numbers
from robustirl.demonstrations.io.csv_files import require_names
from robustirl.demonstrations.io.table_options import TableOptions
from robustirl.demonstrations.io.versions import NAME, SCHEMA, require_schema
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError


def jsonl_bytes(demonstrations: Demonstrations) -> bytes:
    """Return the bytes of a .jsonl file."""
    header = {
        "format": NAME,
        "schema": SCHEMA,
        "episodes": len(demonstrations),
        "has_actions": demonstrations.has_actions,
    }
    if not demonstrations.ends_known:
        header["ends_known"] = False
    header |= {name: words for name, words in demonstrations.names.items() if words is not None}
    lines = [json.dumps(header)]
    for states, actions, terminated in demonstrations:
        line: dict[str, object] = {"states": states.tolist()}
        if actions is not None:
            line["actions"] = actions.tolist()
        lines.append(json.dumps(line | ({"terminated": terminated} if demonstrations.ends_known else {})))
    return ("\n".join(lines) + "\n").encode()


def read_jsonl(content: bytes, path: str, options: TableOptions) -> tuple[Demonstrations, str]:
    """Return what a .jsonl file holds, and the line that says what was understood."""
    options.require_none(path)
    try:
        # Editors begin a file with a byte-order mark. Lines end at \n alone: a name may hold other separators.
        lines = content.decode("utf-8-sig").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not a text file in UTF-8 ({error.reason}); save it as one.") from None
    header = _json_object(path, 1, lines[0])
    if header.get("format") != NAME or not isinstance(header.get("has_actions"), bool):
        raise InvalidInputError(
            f'line 1 of {path} is not the header that is needed, {{"format": "{NAME}", "schema": {SCHEMA},'
            ' "episodes": how many, "has_actions": true or false}.'
        )
    require_schema(path, header.get("schema"))
    if header.get("episodes") != len(lines) - 1:
        raise InvalidInputError(
            f"{path} has {len(lines) - 1} episodes, but its header says {short_repr(header.get('episodes'))};"
            " it was cut off, or the header needs correcting."
        )
    ends_known = header.get("ends_known", True) is not False
    names = {name: header[name] for name in ("state_names", "action_names") if name in header}
    require_names(names, f"line 1 of {path}")
    states, actions, terminated = [], [], []
    for number, text in enumerate(lines[1:], start=2):
        line = _json_object(path, number, text)
        for name, needed in (("states", True), ("terminated", ends_known), ("actions", header["has_actions"])):
            if (name in line) != needed:
                raise InvalidInputError(
                    f"line {number} of {path} has {'no' if needed else 'a'} field {name!r},"
                    f" {'which is needed' if needed else 'although the header says that there is none'}."
                )
        if ends_known and not isinstance(line["terminated"], bool):
            raise InvalidInputError(
                f"`terminated` is {short_repr(line['terminated'])} in line {number} of {path}, but true or false is"
                " needed."
            )
        states.append(as_whole_numbers(f"line {number} of {path}: the array of states", line["states"]))
        if header["has_actions"]:
            actions.append(as_whole_numbers(f"line {number} of {path}: the array of actions", line["actions"]))
            if actions[-1].size != states[-1].size - 1:
                raise InvalidInputError(
                    f"line {number} of {path} has {states[-1].size} states and {actions[-1].size} actions,"
                    " but one action fewer than states is needed."
                )
        terminated.append(line.get("terminated"))
    try:
        joined = np.concatenate(actions) if header["has_actions"] else None
        lengths, ends = [len(episode) for episode in states], terminated if ends_known else None
        found = Demonstrations(np.concatenate(states), joined, lengths, ends, **names)
        return found, f"{path}: {found.describe()}"
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None


def _json_object(path: str, number: int, text: str) -> dict:
    try:
        value = json.loads(text, object_pairs_hook=unique_fields)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidInputError(
            f"line {number} of {path} is not JSON ({one_line(error)}); it may have been cut off."
        ) from None
    except ValueError as error:  # A field that occurs twice, or a number of thousands of digits.
        raise InvalidInputError(f"line {number} of {path} cannot be read ({one_line(error)}); correct it.") from None
    if not isinstance(value, dict):
        raise InvalidInputError(f"line {number} of {path} is not a JSON object; write one object an episode.")
    return value
