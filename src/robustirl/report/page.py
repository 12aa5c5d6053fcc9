"""Show a report as one self-contained web page, in light and dark, wide and narrow, without scripts."""

import html
import importlib.resources
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from robustirl.report.report import Report, number_text, policy_row, weight_row

MAX_ROWS = 40  # Of the table of states.
MAX_WEIGHT_ROWS = 24
MAX_ARROWS = 900  # On larger maps arrows are too small to be seen.
FLOOR = 1e-4  # Of the largest occupancy: smaller ones are blank.
FAINT = 0.02  # Opacity of what is least, so that a cell is still seen.
GRAPH_WIDTH = 10.0  # Of maps whose states are no cells, in radii of their nodes times three.


def page_html(report: Report) -> str:
    """Return the page."""
    style = (importlib.resources.files("robustirl.report") / "page.css").read_text(encoding="utf-8")
    failed = "".join(f"<p class=failed>Failed: {_text(name)}.</p>" for name in report.failed)
    parts = [
        ("Learned weights", _weights(report)),
        (f"α = {report.alpha_text()}", _alpha(report)),
        ("Checks", _checks(report)),
        ("The policy as it will be used", _policies(report)),
        ("Fit", _table([(_text(name), _text(number_text(value))) for name, value in report.facts.items()])),
        ("Maps", _maps(report)),
        ("States", _states(report)),
    ]
    body = "".join(f"<section><h2>{_text(title)}</h2>{text}</section>" for title, text in parts if text)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src"
        f' data:"><title>{_text(report.title)}</title><style>{style}</style></head><body>'
        f"<header><h1>{_text(report.title)}</h1><p>{_text(report.opening)}</p>{failed}</header><main>{body}</main>"
        "</body></html>\n"
    )


def notebook_html(report: Report) -> str:
    """Return the tables of a report, as a notebook shows them under a cell."""
    rows = [tuple(map(_text, weight_row(weight))) for weight in report.weights[:MAX_WEIGHT_ROWS]]
    checks = [tuple(_text(check[name]) for name in ("status", "name", "sentence")) for check in report.checks]
    policies = [tuple(map(_text, policy_row(policy))) for policy in report.policies]
    title = f"<b>{_text(report.title)}</b>, α = {report.alpha_text()}"
    return f"<p>{title}<br>{_text(report.opening)}</p>{_table(rows)}{_table(checks)}{_table(policies)}"


def _text(value: Any) -> str:
    return html.escape(str(value))


def _table(rows: Iterable[Sequence[str]], head: Sequence[str] = (), kind: str = "") -> str:
    """Return a table whose cells are HTML; nothing if it has no rows."""
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    top = f"<thead><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr></thead>" if head else ""
    return f'<div class=scroll><table class="{kind}">{top}<tbody>{body}</tbody></table></div>' if body else ""


def _weights(report: Report) -> str:
    largest = max((abs(weight.value) for weight in report.weights), default=0.0) or 1.0
    shown = report.weights
    if len(shown) > MAX_WEIGHT_ROWS:
        shown = sorted(shown, key=lambda weight: -abs(weight.value))[:MAX_WEIGHT_ROWS]
    rows = []
    for weight in shown:
        share, side = 50 * abs(weight.value) / largest, "plus" if weight.value >= 0 else "minus"
        bar = f'<span class="bar {side}" style="width:{share:.1f}%"></span>'
        name, *numbers = map(_text, weight_row(weight))
        rows.append((name, f"<span class=axis>{bar}</span>", *numbers))
    errors = any(weight.error is not None for weight in shown)
    head = ("", "avoids · seeks", "weight", *(("standard error", "95 % interval") if errors else ()))
    more = report.num_weights - len(shown)
    note = f"<p class=note>The largest {len(shown)} of {report.num_weights:,}.</p>" if more else ""
    return _table(rows, head, "weights") + note


def _alpha(report: Report) -> str:
    """Return why α was chosen, with the regret matrix as a heat map."""
    alpha = report.alpha
    why = f"<p>{_text(alpha['why'])}</p>" if alpha["why"] else "<p>As given.</p>"
    if "regrets" not in alpha:
        return why
    candidates, value = alpha["candidates"], alpha["value"]
    chosen = min(range(len(candidates)), key=lambda i: abs(candidates[i] - value))
    largest = max((x for row in alpha["regrets"] for x in row if x is not None), default=1.0) or 1.0
    rows = []
    for i, (hypothesis, regrets) in enumerate(zip(candidates, alpha["regrets"], strict=True)):
        name = "like yours" if hypothesis == 1 else f"{100 * (1 - hypothesis):.3g}&nbsp;% noisier"
        cells = []
        for j, regret in enumerate(regrets):
            kinds = [*(["chosen"] if j == chosen else []), *([] if alpha["admissible"][j] else ["barred"])]
            share = 0.0 if regret is None else max(regret, 0.0) / largest
            digits = 1 if regret is not None and regret < 0.0995 else 0
            number = "" if regret is None else f"{100 * max(regret, 0.0):.{digits}f}"
            cells.append(f'<td class="{" ".join(kinds)}" style="--heat:{100 * share:.0f}%">{number}</td>')
        closed = "" if alpha["open"][i] else " class=closed"
        rows.append(f"<tr{closed}><th>{name}</th>{''.join(cells)}</tr>")
    crossed = ("" if fine else ' class="barred"' for fine in alpha["admissible"])
    head = "".join(f"<th{kind}>{candidate:g}</th>" for candidate, kind in zip(candidates, crossed, strict=True))
    notes = [
        "Each column is the policy learned with one α, each row what the expert's world may be. A number is what the"
        " policy loses if the row is true, in percent of what an optimal policy earns more than a random one.",
        "Framed: the policy that was chosen.",
        *([] if all(alpha["open"]) else ["Pale rows: the data speak against them."]),
        *([] if all(alpha["admissible"]) else ["Struck columns: reach the expert's ends less often than α = 1."]),
    ]
    return (
        f"{why}<div class=scroll><table class=heat><thead><tr><th>if the expert's world is</th>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div><p class=note>{' '.join(notes)}</p>"
    )


def _checks(report: Report) -> str:
    rows = []
    for check in report.checks:
        named = ((name.replace("_", " "), number_text(value)) for name, value in check["numbers"].items())
        numbers = " · ".join(f"{_text(name)} {value}" for name, value in named)
        mark = f'<span class="status {_text(check["status"])}">{_text(check["status"])}</span>'
        about = f"{_text(check['sentence'])}<div class=note>{numbers}</div>"
        rows.append((mark, f"<b>{_text(check['name'])}</b>", about))
    return _table(rows, kind="checks")


def _policies(report: Report) -> str:
    return _table([tuple(map(_text, policy_row(policy))) for policy in report.policies])


def _states(report: Report) -> str:
    """Return the states that expert and policy visit most."""
    states = report.states
    order = sorted(range(len(states["number"])), key=lambda i: -max(states["expert"][i], states["policy"][i] or 0))
    rows = [
        (_text(states["name"][i]), *(number_text(states[name][i]) for name in ("reward", "expert", "policy")),
         _text(states["action"][i]), f"{states['probability'][i]:.2f}")
        for i in order[:MAX_ROWS]
    ]  # fmt: skip
    head = ("state", "reward", "expert's visits", "policy's visits", "most likely action", "with probability")
    note = f"<p class=note>The {len(rows)} most visited of {len(order):,}.</p>" if len(rows) < len(order) else ""
    return f"<details><summary>In numbers</summary>{_table(rows, head, 'states')}{note}</details>"


def _maps(report: Report) -> str:
    states = report.states
    if states["positions"] is None:
        return ""
    maps = [
        _map(states, "reward", "Learned reward and the policy's moves", arrows=True),
        _map(states, "expert", "Expert's visits"),
        _map(states, "policy", "This policy's visits"),
    ]
    key = (
        "<p class=note><span class=plus>■</span> positive and <span class=minus>■</span> negative reward, stronger"
        " where larger; visits by powers of ten. Dark: walls, which nothing reaches. Framed: states that are never"
        " left. Arrows, if any, lead where the most likely action does, stronger where it is likelier.</p>"
    )
    return f"<div class=maps>{''.join(maps)}</div>{key}"


def _map(states: Mapping[str, Any], field: str, title: str, *, arrows: bool = False) -> str:
    """Return a picture of one number a state."""
    cells = states["kind"] == "grid"
    places = _places(states)
    values, walls, ends = states[field], set(states["walls"]), set(states["ends"])
    largest = max((abs(values[i]) for i in places if i not in walls), default=0.0) or 1.0
    arrows = arrows and states["kind"] != "places" and len(places) <= MAX_ARROWS
    shapes = _arrows(states, places, cells=False) if arrows and not cells else []
    for i, (x, y) in places.items():
        if i in walls:
            kind, strength = "wall", 1.0
        else:
            kind = "seen" if field != "reward" else "plus" if values[i] >= 0 else "minus"
            strength = _strength(values[i], largest, logarithmic=field != "reward")
        look = f'class="{kind}{" end" if i in ends else ""}" fill-opacity="{strength:.3f}"'
        shape = (
            f'<rect x="{x - 0.5:g}" y="{y - 0.5:g}" width="1" height="1" {look}>'
            if cells
            else f'<circle cx="{x:.2f}" cy="{y:.2f}" r=".33" {look}>'
        )
        tag = "rect" if cells else "circle"
        shapes.append(f"{shape}<title>{_text(states['name'][i])}: {values[i]:.4g}</title></{tag}>")
    if cells:
        shapes += [f'<rect x="{x - 0.44:g}" y="{y - 0.44:g}" width=".88" height=".88" class="ring"/>'
                   for i, (x, y) in places.items() if i in ends and len(ends) < len(places) / 2]  # fmt: skip
        shapes += _arrows(states, places, cells=True) if arrows else []
    left, right = min(x for x, _ in places.values()), max(x for x, _ in places.values())
    top, bottom = min(y for _, y in places.values()), max(y for _, y in places.values())
    box = f"{left - 0.55:g} {top - 0.55:g} {right - left + 1.1:g} {bottom - top + 1.1:g}"
    picture = f'<svg viewBox="{box}" role="img" aria-label="{_text(title)}">{"".join(shapes)}</svg>'
    return f"<figure><figcaption>{_text(title)}</figcaption>{picture}</figure>"


def _strength(value: float, largest: float, *, logarithmic: bool) -> float:
    """Return how strong a color is, from `FAINT` to 1."""
    share = abs(value) / largest
    if logarithmic:
        share = 0.0 if share <= FLOOR else 1 - math.log(share) / math.log(FLOOR)
    return max(FAINT, min(share, 1.0))


def _places(states: Mapping[str, Any]) -> dict[int, tuple[float, float]]:
    """Return x and y (down) of every state that is drawn: a cell has side 1, a node of a graph radius 1/3."""
    drawn = {i: (x, -y) for i, (x, y) in enumerate(states["positions"]) if x is not None and y is not None}
    if states["kind"] == "grid" or not drawn:
        return drawn
    spread = max(max(p[k] for p in drawn.values()) - min(p[k] for p in drawn.values()) for k in (0, 1)) or 1.0
    scale = max(GRAPH_WIDTH, 1.2 * math.sqrt(len(drawn))) / spread
    return {i: (x * scale, y * scale) for i, (x, y) in drawn.items()}


def _arrows(states: Mapping[str, Any], places: Mapping[int, tuple[float, float]], *, cells: bool) -> list[str]:
    """Return an arrow for every state whose most likely action leads elsewhere: within a cell, or to another node."""
    shapes = []
    for i, target in enumerate(states["target"] or ()):
        if i not in places or target not in places or target == i:
            continue
        (x, y), (there, below) = places[i], places[target]
        angle = math.degrees(math.atan2(below - y, there - x))
        start, end = (-0.3, 0.32) if cells else (0.33, max(math.hypot(there - x, below - y) - 0.38, 0.5))
        path = f"M{start} -.04H{end - 0.22:.2f}V-.14L{end:.2f} 0 {end - 0.22:.2f} .14V.04H{start}Z"
        turned = f'transform="translate({x:.3g} {y:.3g}) rotate({angle:.0f})" opacity="{states["probability"][i]:.2f}"'
        shapes.append(f'<path class="arrow" d="{path}" {turned}/>')
    return shapes
