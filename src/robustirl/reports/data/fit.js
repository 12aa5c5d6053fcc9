// The page about one fit: maps or a graph, the numbers of a state, the evidence for α, an episode to walk through.

const WORLD = DATA.world, MOST_ROWS = 120;
const drawn = WORLD.positions ? "graph" : WORLD.shape ? "grid" : "table";
const view = {};
let chosenState = 0;

const numberOf = (state) => (DATA.states ? DATA.states[state] : state);
const labelOf = (state) => {
  const name = WORLD.names ? ` (${WORLD.names[state]})` : "";
  if (!WORLD.shape || state >= WORLD.shape[0] * WORLD.shape[1]) return `State ${numberOf(state)}${name}`;
  return `State ${numberOf(state)}${name}: row ${Math.floor(state / WORLD.shape[1])}, column ${state % WORLD.shape[1]}`;
};
const entry = (name, value, key) => [make("dt", {}, name), make("dd", { "data-key": key }, value)];
const known = (values) => values.some((value) => !Number.isNaN(value));

function unpackView() {
  const { states } = WORLD, pairs = states * WORLD.actions.length;
  for (const name of ["reward", "expert", "mixture", "own"]) view[name] = Array.from(numbersAt(DATA.at[name], states));
  view.player = probabilitiesAt(DATA.at.player, pairs);
}

function panel(id, title, aside, values, colors, rest = {}) {
  let figure = document.getElementById(`map-${id}`);
  if (!figure) {
    const caption = make("figcaption", {}, make("span", {}, title), make("span", { class: "soft" }, ...rich(aside)));
    figure = make("figure", { class: "card", id: `map-${id}` }, caption, make("canvas", { role: "img", "aria-label": title }), make("div", { class: "scale" }));
    document.getElementById("maps").append(figure);
    figure.querySelector("canvas").addEventListener("pointerdown", (event) => {
      const state = (drawn === "graph" ? nodeAt : stateAt)(event.target, WORLD, event);
      if (state !== null) choose(state);
    });
  }
  paint(figure.querySelector("canvas"), values, colors, rest);
  const strip = make("span", { class: "ramp", style: `background: ${colors.ramp}` });
  figure.querySelector(".scale").replaceChildren(make("span", {}, colors.ends[0]), strip, make("span", {}, colors.ends[1]));
}

function paint(canvas, values, colors, rest) {
  if (drawn === "graph") drawGraph(canvas, WORLD, { values, colors, chosen: chosenState, ...rest });
  else drawMap(canvas, WORLD, { values, colors, chosen: chosenState, arrow: "player", ...rest });
}

function pictures() {
  document.getElementById("maps").hidden = drawn === "table";
  if (drawn !== "table") {
    const shades = linearColors(view.reward, rewardRamp), visits = [...view.expert, ...view.own].filter((value) => value > 0);
    const high = Math.max(...visits, 1e-12), density = logColors(Math.max(Math.min(...visits, high), high * 1e-4), high);
    const moves = drawn === "graph" || WORLD.directions ? { policy: view.player, fade: drawn === "grid" ? 0.3 : 1 } : {};
    panel("policy", "Policy", DATA.paid === "actions" ? "over what the player collects" : "over the learned reward", view.reward, shades, moves);
    panel("expert", "Expert's visits", "discounted, log scale", view.expert, density);
    if (known(view.own)) {
      const apart = view.own.reduce((sum, value, state) => sum + Math.abs(value - view.expert[state]), 0);
      panel("own", "Player's visits", `ℓ₁ to expert's ${apart.toFixed(3)}`, view.own, density);
    } else panel("mixture", "Visits of player and opponent", "log scale", view.mixture, density);
  }
  facts();
}

function choose(state) {
  chosenState = state;
  pictures();
  fill("announcer", labelOf(state));
}

function facts() {
  document.getElementById("details").hidden = false;
  fill("details-title", labelOf(chosenState));
  const actions = WORLD.actions.length;
  const policy = make("dl", { class: "bars" }, ...WORLD.actions.flatMap((action, i) => {
    const chance = view.player[chosenState * actions + i], width = `width: ${(100 * (chance || 0)).toFixed(1)}%`;
    const bar = make("span", { class: "bar player", style: width, "aria-hidden": "true" });
    return [make("dt", {}, action), make("dd", { class: "cell" }, make("span", { "data-key": `player-${i}` }, probability(chance)), make("span", {}, bar))];
  }));
  const visits = [["expert", "expert"], ["player", "own"], ["player and opponent", "mixture"]].filter(([, name]) => known(view[name]));
  const numbers = make("dl", {}, ...entry("learned reward", exactly(view.reward[chosenState]), "reward"),
    ...visits.flatMap(([label, name]) => entry(`visits of ${label}`, exactly(view[name][chosenState]), name)));
  fill("chosen", make("div", { class: "facts" }, make("div", {}, policy), make("div", {}, numbers)));
}

// The states that expert or player visit most.
function table() {
  const weight = (state) => Math.max(view.expert[state], view.own[state] || 0);
  let states = Array.from({ length: WORLD.states }, (_, state) => state);
  if (states.length > MOST_ROWS) states = states.sort((a, b) => weight(b) - weight(a)).slice(0, MOST_ROWS);
  const most = (state) => {
    const chances = WORLD.actions.map((_, i) => view.player[state * WORLD.actions.length + i]), best = chances.indexOf(Math.max(...chances));
    return best < 0 ? "–" : `${WORLD.actions[best]} (${probability(chances[best])})`;
  };
  const head = ["state", "most likely action", "learned reward", "expert's visits", "player's visits"];
  const cells = (state) => [`${numberOf(state)}${WORLD.names ? ` ${WORLD.names[state]}` : ""}`, most(state),
    ...["reward", "expert", "own"].map((name) => exactly(view[name][state]))];
  const rows = states.map((state) => {
    const row = make("tr", { tabindex: 0 }, ...cells(state).map((text) => make("td", {}, text)));
    row.addEventListener("click", () => choose(state));
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(state); });
    return row;
  });
  fill("table", make("table", {}, make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))), make("tbody", {}, ...rows)));
  if (states.length < WORLD.states || DATA.states) fill("all-title", `The ${states.length} most visited states in numbers`);
}

function evidence() {
  const alpha = DATA.alpha;
  if (!alpha) return;
  const xs = alpha.candidates, at = xs.indexOf(alpha.chosen);
  const line = (look, values) => ({ look, points: xs.map((x, i) => ({ x, y: values[i] })) });
  const mark = (values) => (at < 0 || values[at] === null ? null : { x: xs[at], y: values[at] });
  chart("explained", {
    label: `Over α: what the opponent misses of the expert's visits, and what it may miss; chosen is ${plain(alpha.chosen)}.`, height: 220,
    across: "α, the player's control", up: "visits in ℓ₁", xs, lines: [line("standard", alpha.most_missed), line("other", alpha.missed)],
    uprights: [alpha.chosen], at: mark(alpha.missed),
  });
  key("explained-key", [["standard", "what it may miss"], ["other", "what it misses"], ["learner", `chosen, α = ${plain(alpha.chosen)}`]]);
  const bands = xs.map((x, i) => ({ x, y: alpha.gain[i], error: alpha.gain_error[i], now: i === at })).filter(({ y, error }) => y !== null && error !== null);
  chart("gain", {
    label: `Gain in return over α; at ${plain(alpha.chosen)} it is ${at < 0 ? "unknown" : shown(alpha.gain[at])}.`, height: 220,
    across: "α, the player's control", up: "gain in return", xs, levels: [{ y: 0, color: "soft" }], uprights: [alpha.chosen],
    intervals: bands.map(({ x, y, error, now }) => ({ x, y, low: y - error, high: y + error, now })),
  });
  key("gain-key", [["interval", "gain ± the difference of the halves"], ["learner", `chosen, α = ${plain(alpha.chosen)}`]]);
}

function gapChart() {
  const box = document.getElementById("gaps");
  box.hidden = DATA.gaps.length < 2;
  if (box.hidden) return;
  const points = DATA.gaps.map(([x, y]) => ({ x, y: Math.log10(Math.max(y, 1e-12)) }));
  const last = points.at(-1), ends = [0, Math.round(last.x / 2), last.x].filter((x, i, all) => all.indexOf(x) === i);
  chart("gaps", {
    label: `The gap over the steps, from ${shown(DATA.gaps[0][1])} to ${shown(DATA.gaps.at(-1)[1])}.`, height: 150,
    across: "step", up: "log₁₀ of the gap", xs: ends, lines: [{ look: "plain", points }],
  });
}

function walk() {
  if (!DATA.samples.length || drawn === "table") return;
  document.getElementById("episodes").hidden = false;
  const select = document.getElementById("episode"), slider = document.getElementById("step");
  select.replaceChildren(...DATA.samples.map((_, i) => make("option", { value: i }, `${i + 1}`)));
  const begin = () => { slider.max = DATA.samples[select.value].length - 1; slider.value = slider.max; step(); };
  select.addEventListener("change", begin);
  slider.addEventListener("input", step);
  begin();
}

function step() {
  if (document.getElementById("episodes").hidden) return;
  const states = DATA.samples[document.getElementById("episode").value], slider = document.getElementById("step"), now = Number(slider.value);
  const canvas = document.getElementById("walked"), seen = states.slice(0, now + 1), flat = { of: () => [128, 134, 140] };
  const options = { values: view.expert, colors: flat, chosen: seen.at(-1) };
  if (drawn === "graph") drawGraph(canvas, WORLD, { ...options, path: seen });
  else { drawMap(canvas, WORLD, { ...options, fade: 0.16 }); trail(canvas, seen); }
  fill("step-shown", `${now} of ${states.length - 1}`);
  slider.setAttribute("aria-valuetext", `step ${now}, ${labelOf(seen.at(-1))}`);
  fill("walked-note", labelOf(seen.at(-1)));
}

// The way so far, over the cells of a grid.
function trail(canvas, states) {
  const context = canvas.getContext("2d"), [rows, columns] = WORLD.shape, side = widthOf(canvas) / columns;
  const places = states.filter((state) => state < rows * columns).map((state) => [((state % columns) + 0.5) * side, (Math.floor(state / columns) + 0.5) * side]);
  context.strokeStyle = token("expert");
  context.lineWidth = Math.max(2, side * 0.1);
  context.lineJoin = context.lineCap = "round";
  context.beginPath();
  places.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
}

function copyButtons() {
  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", async () => {
      const text = button.previousElementSibling, range = document.createRange();
      range.selectNodeContents(text);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      let copied = false;
      try { await navigator.clipboard.writeText(text.textContent); copied = true; } catch { copied = document.execCommand("copy"); }
      button.textContent = copied ? "copied" : "selected";
      fill("announcer", copied ? "The command is in the clipboard." : "The command is selected.");
    });
  }
}

function moveState(pressed) {
  const columns = WORLD.shape ? WORLD.shape[1] : 1;
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[pressed];
  if (by === undefined) return false;
  if (chosenState + by >= 0 && chosenState + by < WORLD.states) choose(chosenState + by);
  return true;
}

function drawAll() { WIDTHS.clear(); pictures(); evidence(); gapChart(); step(); }

async function start() {
  if (typeof DecompressionStream === "undefined") throw new Error("this browser is too old to unpack the page's numbers; use one from 2023 or later");
  await unpackArrays();
  unpackView();
  // Where the expert is most, ends left out, since there everything gathers.
  const visits = view.expert.map((value, state) => (WORLD.ends.includes(state) ? -1 : value));
  chosenState = visits.indexOf(Math.max(...visits));
  document.getElementById("maps").addEventListener("keydown", (event) => { if (moveState(event.key)) event.preventDefault(); });
  document.getElementById("all").open = drawn === "table";
  table();
  walk();
  copyButtons();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  let width = innerWidth;
  window.addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawAll(); } });
  drawAll();
  document.documentElement.dataset.run = "fit"; // For those who wait for it.
}

start().catch((error) => {
  const trouble = document.getElementById("trouble");
  trouble.hidden = false;
  trouble.textContent = `The pictures of this page cannot be shown: ${error.message}.`;
  console.error(error);
});
