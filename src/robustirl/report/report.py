"""Gather what is known about one fit into plain data, and show it.

A report says, in this order: the learned weights with names and signs; α and the regret matrix by which it was chosen;
checks, each with numbers and a sentence; the policy as it will be used, drawn from or greedy; what is known of every
state. There is no word for the whole, since no number tells the regret in the learner's world: the expert's world is
unknown.
"""

import contextlib
import dataclasses
import itertools
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from robustirl._files import as_path, write_atomically
from robustirl.demonstrations import estimate_occupancy
from robustirl.errors import InvalidInputError
from robustirl.irl.checks import check_fit
from robustirl.planning import state_occupancy
from robustirl.plotting.layout import layout_of

MAX_WEIGHTS = 200  # Of more, those of largest size are kept.
MAX_TEXT_WEIGHTS = 12  # Of more, text shows those of largest size.
MAX_STATES = 2_000  # Of larger worlds the states that expert and policy visit most are kept.
SCHEMA = 1
USED = ("name", "occupancy_gap", "arrival")  # What is told of each way of using a policy.
RELATIVE = " Only differences of weights count: a constant added to all of them changes no policy."


@dataclasses.dataclass(frozen=True)
class Weight:
    """Hold one learned number of a reward.

    Attributes:
        name: Of the feature, class or state.
        value: Positive if the expert seeks it, negative if it avoids it.
        error: Its standard error, for a fit by likelihood.
        low, high: Its confidence interval, likewise.
    """

    name: str
    value: float
    error: float | None = None
    low: float | None = None
    high: float | None = None


@dataclasses.dataclass(frozen=True)
class Report:
    """Hold all that is shown of one fit, as JSON has it.

    Attributes:
        title: The name of the world, or what kind of fit it is.
        opening: One sentence: what was learned from what.
        weights: The learned reward.
        num_weights: How many weights were learned, of which `weights` may hold the largest.
        alpha: `value` (or smallest and largest), `why`, and if it was chosen from demonstrations `candidates`,
            `regrets` `[hypotheses, policies]`, `open` and `admissible`; see `select_alpha`.
        checks: For each `name`, `status` (passed, warns or failed), `numbers` and `sentence`.
        policies: For each way of using the policy `name`, `occupancy_gap`, `arrival`, and whether it is `used`.
        facts: Further numbers and words by name.
        states: For each of the states that are kept `number`, `name`, `reward`, `expert`, `policy` (visits), `action`,
            `probability`, `target`, and where they are drawn.

    Example:
        >>> from robustirl import envs, irl
        >>> world = envs.ThreeState().mdp()
        >>> report = report_fit(irl.fit(world, [0.1, 0.8, 0.1], alpha=0.9), world)
        >>> [weight.name for weight in report.weights], report.alpha["value"]
        (['state 0', 'state 1', 'state 2'], 0.9)
        >>> Report.from_json(report.to_json()) == report
        True
    """

    title: str
    opening: str
    weights: tuple[Weight, ...]
    num_weights: int
    alpha: Mapping[str, Any]
    checks: tuple[Mapping[str, Any], ...]
    policies: tuple[Mapping[str, Any], ...]
    facts: Mapping[str, Any]
    states: Mapping[str, Any]

    @property
    def failed(self) -> tuple[str, ...]:
        """Return the names of the checks that failed."""
        return tuple(check["name"] for check in self.checks if check["status"] == "failed")

    def __str__(self) -> str:
        largest = sorted(self.weights, key=lambda weight: -abs(weight.value))[:MAX_TEXT_WEIGHTS]
        shown = [weight for weight in self.weights if weight in largest]
        more = "" if len(shown) == self.num_weights else f" (the largest {len(shown)} of {self.num_weights})"
        parts = [
            (f"learned weights{more}", [weight_row(weight) for weight in shown]),
            (f"α = {self.alpha_text()}", [(self.alpha["why"],)] if self.alpha["why"] else []),
            ("checks", [(check["status"], check["name"], check["sentence"]) for check in self.checks]),
            ("policy", [policy_row(policy) for policy in self.policies]),
            ("fit", [(name, number_text(value)) for name, value in self.facts.items()]),
        ]
        lines = [self.title, self.opening]
        for name, rows in parts:
            if rows or name.startswith("α"):
                lines += [name, *aligned(rows)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from robustirl.report.page import notebook_html

        return notebook_html(self)

    def alpha_text(self) -> str:
        """Return α as text: a number, or its range where it differs by state and action."""
        value = self.alpha["value"]
        return f"{value[0]:.4g} to {value[1]:.4g}" if isinstance(value, list) else f"{value:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole report as plain data; a number that is not finite is None."""
        return _plain({"schema": SCHEMA, **dataclasses.asdict(self)})

    def to_json(self) -> str:
        """Return the whole report as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Report":
        """Read what `to_json` wrote."""
        try:
            note = json.loads(text)
            if note.pop("schema") != SCHEMA:
                raise ValueError(f"schema {SCHEMA} is needed")
            note["weights"] = tuple(Weight(**weight) for weight in note["weights"])
            note["checks"], note["policies"] = tuple(note["checks"]), tuple(note["policies"])
            return cls(**note)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise InvalidInputError(f"this is not the report of a fit ({error}); fit again.") from None

    def page(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return a web page of the report, all in one file, and write it to `path` if one is given."""
        from robustirl.report.page import page_html

        text = page_html(self)
        if path is not None:
            write_atomically(as_path(path), text)
        return text


def report_fit(
    fitted: Any,
    world: Any = None,
    demonstrations: Any = None,
    *,
    reward: Any = None,
    title: str = "",
    facts: Mapping[str, Any] | None = None,
) -> Report:
    """Return the report of a fit.

    Args:
        fitted: A `RobustIRL` after `fit`, or what `robustirl.irl.fit` returns.
        world: The learner's world. An estimator has kept it, unless it was read from a file; then maps are missing.
        demonstrations: What the expert did, if it is at hand; an estimator has kept what is needed.
        reward: The reward model, for the names of its weights; an estimator has kept it.
        title: Over the report.
        facts: Further facts to show, by name.
    """
    model = fitted if hasattr(fitted, "fit_") else None
    fit = fitted if model is None else model.fit_
    world = getattr(model, "world_", None) if world is None else world
    reward = getattr(model, "reward", None) if reward is None else reward
    selection, estimate = getattr(model, "alpha_selection_", None), getattr(model, "estimate_", None)
    if world is None and "checks_" not in vars(model or fit):
        raise InvalidInputError("a report needs the learner's world, which a file of a fit does not hold; give world=.")
    if demonstrations is not None and fit.objective == "occupancy":
        estimate = estimate_occupancy(demonstrations, world)
    if model is not None and demonstrations is None:
        checks = model.checks_
    else:
        checks = check_fit(fit, world, estimate=estimate, selection=selection)  # pyright: ignore[reportArgumentType]
    states, actions = (_names(world, kind, n) for kind, n in zip(("state", "action"), fit.player.shape, strict=True))
    inference = _inference(model, fit)
    weights = _weights(fit, reward, inference, states, actions)
    kept = sorted(weights, key=lambda weight: -abs(weight.value))[:MAX_WEIGHTS]
    uses = [use for use in (checks.sampled, checks.greedy) if use is not None]
    acting = np.asarray(fit.player if checks.use is None else checks.use.policy)
    kind = "Maximum causal entropy IRL" if np.min(np.asarray(fit.alpha)) == 1 else "Robust maximum causal entropy IRL"
    return Report(
        title=title or kind,
        opening=_opening(weights, fit, inference, None if estimate is None else estimate.episodes)
        + (RELATIVE if _is_relative(fit, reward) else ""),
        weights=tuple(weights if len(weights) <= MAX_WEIGHTS else kept),
        num_weights=len(weights),
        alpha=_alpha(fit, selection),
        checks=tuple(_plain({**vars(check), "status": str(check.status)}) for check in checks.checks),
        policies=tuple(
            _plain({name: getattr(use, name) for name in USED} | {"used": use is checks.use}) for use in uses
        ),
        facts=_plain({**_facts(fit, inference), **(facts or {})}),
        states=_states(fit, world, acting, states, actions),
    )


def _names(world: Any, kind: str, count: int) -> list[str]:
    """Return the names of states or actions that a world has, or numbers."""
    given = getattr(world, f"{kind}_names", None)
    return [f"{kind} {number}" for number in range(count)] if given is None else [str(name) for name in given]


def _inference(model: Any, fit: Any) -> Any:
    """Return the standard errors of an estimator's weights, if it has few of them that have names; else None."""
    size = sum(np.size(leaf) for leaf in jax.tree.leaves(fit.parameters))
    by_state = fit.objective == "occupancy" and size >= np.size(fit.reward)
    if getattr(model, "world_", None) is None or size > MAX_WEIGHTS or by_state:
        return None
    with contextlib.suppress(InvalidInputError):  # Of weights that are fitted to an exact occupancy there are none.
        return model.inference_
    return None


def _weights(fit: Any, reward: Any, inference: Any, states: Sequence[str], actions: Sequence[str]) -> list[Weight]:
    """Return the learned numbers with names: parameters if the reward is linear in few, else rewards of states."""
    if inference is not None:
        rows = inference.table()
        names = ("name", "estimate", "standard_error", "low", "high")
        return [Weight(*(_plain(row[name]) for name in names)) for row in rows]
    rewards = np.asarray(fit.reward, dtype=float)
    parameters = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(fit.parameters)]).astype(float)
    if reward is not None and parameters.size < rewards.size and reward.scales() is not None:
        return [Weight(*pair) for pair in zip(reward.parameter_names(), parameters.tolist(), strict=True)]
    pairs = [f"{state}, {action}" for state in states for action in actions] if rewards.ndim == 2 else states
    return [Weight(*pair) for pair in zip(pairs, rewards.ravel().tolist(), strict=True)]


def _is_relative(fit: Any, reward: Any) -> bool:
    """Return whether the same number added to all weights is added to the reward of every state."""
    if reward is None:
        return True
    if reward.scales() is None:
        return False
    raised = np.asarray(reward(jax.tree.map(lambda leaf: np.asarray(leaf) + 1, fit.parameters)))
    return bool(np.allclose(raised, np.asarray(fit.reward) + 1, rtol=1e-4))


def _opening(weights: Sequence[Weight], fit: Any, inference: Any, episodes: int | None) -> str:
    """Return what was learned from what, in a sentence."""
    source = "an occupancy" if episodes is None else f"{episodes:,} episode{'' if episodes == 1 else 's'}"
    if inference is not None and episodes is None:
        source = (
            f"{inference.observations:,} choices in {inference.groups:,} episode{'' if inference.groups == 1 else 's'}"
        )
    count = f"{len(weights):,} weight{'' if len(weights) == 1 else 's'}"
    states, actions = fit.player.shape
    return f"{count} learned from {source} in a world of {states:,} states and {actions:,} actions."


def _alpha(fit: Any, selection: Any) -> dict[str, Any]:
    value = np.asarray(fit.alpha, dtype=float)
    shown = float(value) if not value.ndim else [float(value.min()), float(value.max())]
    if selection is None:
        return {"value": shown, "why": ""}
    found = {name: np.asarray(getattr(selection, name)) for name in ("candidates", "regrets", "open", "admissible")}
    return _plain({"value": shown, "why": selection.note, **{name: array.tolist() for name, array in found.items()}})


def _facts(fit: Any, inference: Any) -> dict[str, Any]:
    verdict = fit.verdict
    facts: dict[str, Any] = {
        "ended": str(getattr(verdict.status, "value", verdict.status)),
        "steps": int(verdict.steps),
        "discount": float(fit.discount),
    }
    if inference is not None:
        if fit.objective == "likelihood":
            facts["log-likelihood"] = float(inference.log_likelihood)
            facts["choices"] = int(inference.observations)
        if inference.unidentified:
            facts["not identified by these data"] = ", ".join(inference.unidentified)
        for group in inference.collinear:
            facts["hardly told apart by these data"] = ", ".join(group)
    if fit.objective == "occupancy":
        facts["occupancy gap, player and opponent together"] = float(verdict.occupancy_gap)
    return facts


def _states(fit: Any, world: Any, policy: np.ndarray, names: Sequence[str], actions: Sequence[str]) -> dict[str, Any]:
    """Return what is known of every state, or of those visited most, and where they are drawn."""
    expert = np.asarray(fit.expert_occupancy, dtype=float)
    visits = np.full(len(expert), np.nan) if world is None else np.asarray(state_occupancy(world, policy), dtype=float)
    reward = np.asarray(fit.reward, dtype=float)
    reward = reward if reward.ndim == 1 else (policy * reward).sum(1)
    layout = layout_of(world, len(expert))
    whole = len(expert) <= MAX_STATES
    kept = np.arange(len(expert)) if whole else np.sort(np.argsort(-np.fmax(expert, visits))[:MAX_STATES])
    best = policy.argmax(1)
    places = None if layout.positions is None or not whole else np.round(layout.positions, 4).tolist()
    return _plain({
        "number": kept.tolist(),
        "name": [names[state] for state in kept.tolist()],
        "reward": _short(reward[kept]),
        "expert": _short(expert[kept]),
        "policy": _short(visits[kept]),
        "action": [actions[action] for action in best[kept].tolist()],
        "probability": _short(policy[kept, best[kept]]),
        "target": None if layout.targets is None else layout.targets[kept, best[kept]].tolist(),
        "kind": "row" if places is None else layout.kind,
        "positions": places,
        "walls": np.flatnonzero(layout.walls).tolist() if whole else [],
        "ends": np.flatnonzero(layout.ends).tolist() if whole else [],
    })  # fmt: skip


def _short(numbers: np.ndarray) -> list[float]:
    return [float(f"{number:.5g}") for number in numbers]


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: lists, dictionaries, numbers that are finite, and words."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def weight_row(weight: Weight) -> tuple[str, ...]:
    """Return name, value, standard error and interval of a weight as text.

    Example:
        >>> weight_row(Weight("repair", -3.0, 0.25, -3.49, -2.51))
        ('repair', '-3', '± 0.25', '-3.49 to -2.51')
        >>> weight_row(Weight("toll", 0.5))
        ('toll', '+0.5')
    """
    row = (weight.name, f"{weight.value:+.4g}")
    if weight.error is None:
        return row
    interval = "" if weight.low is None or weight.high is None else f"{weight.low:.4g} to {weight.high:.4g}"
    return (*row, f"± {weight.error:.3g}", interval)


def policy_row(policy: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a policy does in one way of using it as text."""
    how = {"sampled": "actions drawn from it", "greedy": "its most likely actions"}.get(policy["name"], policy["name"])
    arrival = policy["arrival"]
    ends = "" if arrival is None else f"reaches the expert's ends in {100 * arrival:.3g}\u00a0%"
    gap = "" if policy["occupancy_gap"] is None else f"occupancy gap {policy['occupancy_gap']:.3g}"
    return (f"{how}{' (used)' if policy['used'] else ''}", gap, ends)


def number_text(value: Any) -> str:
    """Return a number in few digits, and words as they are."""
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return lines with columns one under the other.

    Example:
        >>> aligned([("a", "1"), ("bcd", "2")])
        ['  a    1', '  bcd  2']
    """
    rows = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in itertools.zip_longest(*rows, fillvalue="")]
    lines = (zip(row, widths, strict=False) for row in rows)
    return ["  " + "  ".join(f"{cell:<{width}}" for cell, width in line).rstrip() for line in lines]
