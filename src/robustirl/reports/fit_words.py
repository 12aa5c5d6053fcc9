"""The sentences of the page about a single fit."""

import dataclasses
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from robustirl.reports import MOST_ENDS, FitFolder, WorldRecord, next_steps

NAMED_STATES = 6  # More are counted.
EVEN = 1e-4  # Starts whose likelihoods differ by less than this share count as equally likely.
WORLD_OPTIONS = ("--env-arg", "--noise", "--noise-model", "--discount")

NO_RECORD = (
    "This folder has no fit.json, which says what the world looks like and what was recorded; it was written by an"
    " earlier version. Fit again to see both."
)


@dataclasses.dataclass(frozen=True)
class Fact:
    """A line of a list: a name and a text."""

    name: str
    text: str


def describe(found: FitFolder) -> dict[str, Any]:
    """Return all that the template of the page writes."""
    model, record = found.model, found.record
    judgment = model.judgment_
    fit = model.fit_
    return {
        "name": found.folder.resolve().name if record is None else record.world.name,
        "folder": found.folder.resolve().name,
        "opening": opening(found),
        "trust": judgment.trust.value,
        "why": _sentence(judgment.why),
        "advice": judgment.advice,
        "warnings": [_sentence(text) for text in model.warnings_],
        "notes": [_sentence(text) for text in model.evidence_.notes],
        "interrupted": record is not None and record.interrupted,
        "missing": "" if record is not None else NO_RECORD,
        "world": _world(found),
        "command": "" if record is None else shlex.join(record.command),
        "understood": "" if record is None else record.demonstrations.understood,
        "demonstrations": _demonstrations(found),
        "alpha": alpha_in_words(found),
        "alpha_why": _alpha_why(found),
        "curves": record is not None and record.alpha is not None,
        "ending": _ending(found),
        "steps": next_steps(found),
        "version": "" if record is None else f"robustirl {record.version}",
        "graph": record is not None and record.world.positions is not None,
        "kind": _kind(found),
        "gap": f"{float(fit.verdict.occupancy_gap):.3g}",
    }


def opening(found: FitFolder) -> str:
    """Return the page's first sentence: what was learned from what, α, and whether to use it."""
    evidence, judgment = found.model.evidence_, found.model.judgment_
    where = f"in {found.record.world.name}" if found.record is not None else "in a world"
    states, actions = found.model.fit_.player.shape
    source = "a given occupancy" if evidence.episodes is None else _count(evidence.episodes, "recorded episode")
    use = {
        "trust": "it can be used",
        "doubt": "test it before you rely on it",
        "do not use": "do not use it",
    }[judgment.trust.value]
    return (
        f"A policy and a reward were learned from {source} {where} ({_count(states, 'state')},"
        f" {_count(actions, 'action')}), with {alpha_in_words(found)}: {use}."
    )


def alpha_in_words(found: FitFolder) -> str:
    """Return α and where it came from."""
    model = found.model
    alpha = np.asarray(model.alpha_)
    if alpha.ndim:
        return f"α between {alpha.min():.3g} and {alpha.max():.3g} by state and action, as given"
    text, estimate = f"α = {float(alpha):.4g}", model.alpha_estimate_
    if estimate is None:
        return f"{text}, as given"
    return f"{text}, chosen from the data" if estimate.decisive else f"{text}, since the data did not decide otherwise"


def _alpha_why(found: FitFolder) -> str:
    estimate = found.model.alpha_estimate_
    if estimate is not None:
        return _sentence(estimate.note)
    if np.ndim(found.model.alpha_):
        return "α was given for every state and action, so that no candidates were compared."
    return "α was given, so that no candidates were compared; --alpha auto compares thirteen."


def _world(found: FitFolder) -> list[Fact]:
    model = found.model
    states, actions = model.fit_.player.shape
    facts = [Fact("states", f"{states}"), Fact("actions", f"{actions}")]
    if found.record is not None:
        world = found.record.world
        facts[1] = Fact("actions", f"{actions} ({', '.join(world.actions)})" if actions <= 8 else f"{actions}")
        if world.shape is not None:
            facts.append(Fact("drawn as", f"a grid of {world.shape[0]} rows and {world.shape[1]} columns"))
        if world.ends:
            facts.append(Fact("never left", _states(world, world.ends)))
        if world.starts:
            facts.append(Fact("begins in", _starts(world)))
        if given := _given(found.record.command):
            facts.insert(0, Fact("given as", given))
    return [*facts, Fact("discount γ", f"{model.evidence_.discount:g}")]


def _given(command: Sequence[str]) -> str:
    """Return how the command named the world: the value of --env and options that change it."""
    words = [word for place, word in enumerate(command[1:]) if command[place] == "--env"]
    for place, word in enumerate(command[:-1]):
        if word in WORLD_OPTIONS:
            words += [word, command[place + 1]]
    return shlex.join(words)


def _starts(world: WorldRecord) -> str:
    """Return where episodes begin, and how likely that is where it differs."""
    shares = world.start_shares
    if len(shares) > 1 and max(shares) - min(shares) <= EVEN * max(shares):
        return f"{_states(world, world.starts)}, all as likely"
    if len(shares) > 1:
        likeliest = f"{shares[0]:.0%}".replace("%", " %")
        return f"{_states(world, world.starts)}; most often in {_states(world, world.starts[:1])} ({likeliest})"
    return _states(world, world.starts)


def _states(world: WorldRecord, states: Sequence[int]) -> str:
    """Return a few states by name or number, or how many there are."""
    if len(states) > NAMED_STATES:
        return f"{'at least ' if len(states) == MOST_ENDS else ''}{_count(len(states), 'state')}"
    if world.state_names is not None:
        return ", ".join(world.state_names[state] for state in states)
    return f"state{'' if len(states) == 1 else 's'} {', '.join(map(str, states))}"


def _demonstrations(found: FitFolder) -> list[Fact]:
    evidence, record = found.model.evidence_, found.record
    facts = []
    if record is not None:
        facts.append(Fact("file", record.demonstrations.file))
    if evidence.episodes is None:
        return [*facts, Fact("given", "an occupancy")]
    facts.append(Fact("episodes", f"{evidence.episodes:,}"))
    if evidence.transitions is not None:
        facts.append(
            Fact("transitions", f"{evidence.transitions:,}, {'with' if evidence.has_actions else 'no'} actions")
        )
    if record is not None:
        low, middle, high = record.demonstrations.lengths
        ended = record.demonstrations.terminated
        spread = f"{low:g} to {high:g} transitions, half of them at most {middle:g}"
        facts.append(Fact("length", spread if low < high else f"{_count(int(low), 'transition')} each"))
        facts.append(Fact("ended for good", f"{ended:,} of {evidence.episodes:,}"))
    estimate = evidence.occupancy_estimate
    if estimate is not None:
        share = f"{estimate.confidence:.0%}".replace("%", " %")
        facts.append(Fact("error of the visits", f"at most {estimate.error:.2g} in ℓ₁, with {share} confidence"))
    return facts


def _ending(found: FitFolder) -> str:
    verdict = found.model.fit_.verdict
    words = {
        "converged": "The fit converged",
        "settled": "The fit settled, since no further step lowered the gap,",
        "budget": "The fit took all its steps and ended",
        "stopped": "The fit was stopped",
        "failed": "The fit failed",
    }
    how = words.get(verdict.status.value, verdict.status.value)
    return (
        f"{how} after {_count(int(verdict.steps), 'step')}; player and"
        f" opponent together are {float(verdict.occupancy_gap):.3g} from the expert's visits in ℓ₁, where 2 is the most"
        " there can be."
    )


def _kind(found: FitFolder) -> str:
    """Return how the policy is drawn, for the note over it."""
    world = None if found.record is None else found.record.world
    if world is None:
        return "The world is not known here, so that the policy is a table."
    if world.shape is not None and world.directions is not None:
        return "Arrows are the player's moves: the longer and stronger, the likelier. G is a state that is never left."
    if world.shape is not None:
        return "Cells are states. Actions lead different ways in different cells, so that moves are in the table."
    if world.positions is not None:
        return "Circles are states; arrows lead where the player's actions most likely end, the stronger the likelier."
    return "This world is no grid and too large for a graph, so that the policy is a table."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _sentence(text: str) -> str:
    """Return a text that begins with a capital and ends with a full stop."""
    text = text.strip()
    begun = text[:1].upper() + text[1:] if not text.startswith("α") else text
    return begun if begun.endswith((".", "!", "?")) else f"{begun}."
