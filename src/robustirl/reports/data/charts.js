// Charts as SVG: lines over a noise or over α, and intervals over α. What the learner pays is up; a dot is a run.

const HEIGHT = 290;
const LOOKS = {
  current: { stroke: "accent", width: 2.6, dot: 3.4 }, standard: { stroke: "ink", width: 2, dot: 3 },
  other: { stroke: "other", width: 1.2, dot: 2 }, ghost: { stroke: "other", width: 0.7, dot: 0, opacity: 0.55 },
  plain: { stroke: "accent", width: 2, dot: 0 },
};

const DOTTED = { "stroke-dasharray": "1 4", "stroke-width": 1.6, "stroke-linecap": "round" };
const DASHED = { "stroke-dasharray": "6 4", "stroke-width": 1.5 };

// Round numbers between two ends.
function ticks(low, high, count = 4) {
  const rough = (high - low || 1) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) found.push(Number(tick.toPrecision(10)));
  return found;
}

// The ends of the scale. One learner that never arrives must not squeeze all others: what is far below leaves the chart.
function domain(values) {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  if (!sorted.length) return [0, 1];
  const high = sorted.at(-1), quarter = sorted[sorted.length >> 2];
  const low = Math.max(sorted[0], high - 5 * (high - quarter || high - sorted[0] || 1)), room = 0.07 * (high - low || Math.abs(high) || 1);
  return [low - room, high + room];
}

// Draws a chart; says whether some runs lie below its scale, where a triangle stands for them.
function chart(id, { label, across, up, xs, lines = [], levels = [], uprights = [], intervals = [], at = null, height = HEIGHT, pick }) {
  const box = document.getElementById(id), width = Math.max(widthOf(box), 240);
  const left = 46, right = 44, top = 10, bottom = 34, inner = width - left - right, floor = height - bottom;
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
  const solid = lines.filter((line) => line.look !== "ghost").flatMap((line) => line.points.map((point) => point.y));
  const [low, high] = domain([...solid, ...levels.map((level) => level.y), ...intervals.flatMap((item) => [item.low, item.high])]);
  const [first, last] = [Math.min(...xs), Math.max(...xs)], span = last - first || 1;
  const X = (x) => left + (last === first ? inner / 2 : ((x - first) / span) * inner);
  const Y = (y) => top + (1 - (Math.max(Math.min(y, high), low) - low) / (high - low)) * (floor - top);
  for (const tick of ticks(low, high)) {
    svg.append(make("line", { class: "grid", x1: left, x2: left + inner, y1: Y(tick), y2: Y(tick) }));
    svg.append(make("text", { x: left - 6, y: Y(tick) + 4, "text-anchor": "end" }, plain(tick)));
  }
  svg.append(make("line", { class: "axis", x1: left, x2: left + inner, y1: floor, y2: floor }));
  let taken = -Infinity;
  for (const x of xs) {
    if (X(x) - taken < 32) continue;
    taken = X(x);
    svg.append(make("text", { x: X(x), y: floor + 14, "text-anchor": "middle" }, plain(x)));
  }
  svg.append(make("text", { x: left + inner / 2, y: height - 4, "text-anchor": "middle" }, ...lowered(across)));
  svg.append(make("text", { x: 2, y: 6 }, up));
  for (const x of uprights) svg.append(make("line", { x1: X(x), x2: X(x), y1: top, y2: floor, stroke: "var(--soft)", ...DOTTED }));
  for (const { y, color } of levels) {
    svg.append(make("line", { x1: left, x2: left + inner, y1: Y(y), y2: Y(y), stroke: `var(--${color})`, ...DASHED }));
  }
  const order = { ghost: 0, other: 1, standard: 2, plain: 2, current: 3 };
  const names = [];
  for (const { points, look, name } of [...lines].sort((a, b) => order[a.look] - order[b.look])) {
    const { stroke, width: thick, dot, opacity = 1 } = LOOKS[look], sound = points.filter((point) => point.y !== null);
    if (!sound.length) continue;
    const d = sound.map(({ x, y }, i) => `${i ? "L" : "M"}${X(x).toFixed(1)} ${Y(y).toFixed(1)}`).join("");
    svg.append(make("path", { d, fill: "none", stroke: `var(--${stroke})`, "stroke-width": thick, opacity, "stroke-linejoin": "round" }));
    for (const { x, y, row } of sound) {
      const [cx, cy] = [X(x), Y(y)];
      const triangle = `${cx - 4},${cy - 3} ${cx + 4},${cy - 3} ${cx},${cy + 4}`;
      if (y < low) svg.append(make("polygon", { points: triangle, fill: `var(--${stroke})`, opacity }));
      else if (dot) svg.append(make("circle", { cx, cy, r: dot, fill: `var(--${stroke})` }));
      if (row && pick) svg.append(picker(cx, cy, row, pick));
    }
    if (name && look !== "ghost") names.push({ y: Y(sound.at(-1).y), name, look });
  }
  labels(svg, names, left + inner + 11, top, floor);
  for (const { x, low: from, high: to, y, row, now } of intervals) {
    const color = now ? "var(--accent)" : "var(--other)", half = now ? 6 : 4;
    const end = (y) => [X(x) - half, X(x) + half, Y(y), Y(y)];
    for (const [x1, x2, y1, y2] of [[X(x), X(x), Y(from), Y(to)], end(from), end(to)]) {
      svg.append(make("line", { x1, x2, y1, y2, stroke: color, "stroke-width": now ? 3 : 1.8 }));
    }
    svg.append(make("circle", { cx: X(x), cy: Y(y), r: now ? 5 : 3.2, fill: color, stroke: "var(--card)" }));
    if (pick) svg.append(picker(X(x), Y((from + to) / 2), row, pick));
  }
  const ring = { r: 7, fill: "var(--accent)", stroke: "var(--card)", "stroke-width": 2.5 };
  if (at) svg.append(make("circle", { class: "now", cx: X(at.x), cy: Y(at.y), ...ring }));
  box.replaceChildren(svg);
  return lines.some((line) => line.points.some((point) => point.y !== null && point.y < low)); // Whether some are below it.
}

const picker = (cx, cy, row, pick) => {
  const circle = make("circle", { class: "pick", cx, cy, r: 9, fill: "transparent" });
  circle.addEventListener("click", () => pick(row));
  return circle;
};

// The same as `rich`, for a chart.
const lowered = (text) => text.split(/_([A-Za-z]+)/).map((part, i) => (i % 2 ? make("tspan", { dy: 3, "font-size": 8.5 }, part) : part));

// Names at the right end of their lines, pushed apart where they would overlap.
function labels(svg, names, x, top, floor) {
  names.sort((a, b) => a.y - b.y);
  names.forEach((item, i) => { item.at = Math.max(item.y, i ? names[i - 1].at + 12 : top); });
  for (let i = names.length - 1; i >= 0; i--) {
    names[i].at = Math.min(names[i].at, i === names.length - 1 ? floor : names[i + 1].at - 12);
  }
  for (const { name, at, look } of names) {
    const style = look === "current" ? "fill: var(--accent)" : null;
    svg.append(make("text", { x, y: at + 4, class: look === "other" ? "" : "strong", style }, name));
  }
}

// What the signs mean.
function key(id, entries) {
  const stroke = (color, rest = {}) => make("line", { x1: 0, x2: 22, y1: 6, y2: 6, stroke: `var(--${color})`, ...rest });
  const dot = (color, r) => make("circle", { cx: 11, cy: 6, r, fill: `var(--${color})` });
  const signs = {
    current: () => [stroke("accent", { "stroke-width": 2.6 }), dot("accent", 4.5)],
    standard: () => [stroke("ink", { "stroke-width": 2 }), dot("ink", 3)],
    other: () => [stroke("other", { "stroke-width": 1.4 }), dot("other", 2.2)],
    ghost: () => [stroke("other", { "stroke-width": 0.8 })],
    optimal: () => [stroke("expert", DASHED)],
    learner: () => [make("line", { x1: 11, x2: 11, y1: 0, y2: 12, stroke: "var(--soft)", ...DOTTED })],
    interval: () => [make("path", { d: "M11 1V11M7 1H15M7 11H15", stroke: "var(--accent)", "stroke-width": 2, fill: "none" }), dot("accent", 2.6)],
    below: () => [make("polygon", { points: "7,3 15,3 11,10", fill: "var(--soft)" })],
  };
  const picture = (sign) => make("svg", { width: 22, height: 12, "aria-hidden": "true" }, ...signs[sign]());
  fill(id, ...entries.map(([sign, text]) => make("span", {}, picture(sign), make("span", {}, ...rich(text)))));
}
