// The page itself: what is chosen, and what follows from it.

const wanted = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
let chosenState = null, current = null, pending = false;

// The run that is chosen, the nearest there is to what was wanted, and on the way what could have been chosen instead.
function resolve() {
  let rows = DATA.rows;
  const options = {};
  for (const link of CHAIN) {
    const values = rows.map((row) => row[link]);
    options[link] = typeof values[0] === "number" || link === "seed" ? ascending(values) : distinct(values);
    const value = nearest(options[link], wanted[link], link, rows);
    wanted[link] = value;
    if (link === "alpha") options.line = rows;
    rows = rows.filter((row) => row[link] === value);
  }
  return { row: rows[0], options };
}

function nearest(values, value, link, rows) {
  if (value === undefined) return usual(values, link, rows);
  if (typeof values[0] !== "number") return values.includes(value) ? value : usual(values, link, rows);
  const number = Number(value);
  if (Number.isNaN(number)) return usual(values, link, rows);
  return values.reduce((best, item) => (Math.abs(item - number) < Math.abs(best - number) ? item : best));
}

// At first: the largest mismatch with a noisier expert, the standard learner, and the setting with the most runs.
function usual(values, link, rows) {
  if (link === "expert" || link === "alpha") return values.at(-1);
  if (link !== "setting") return values[0];
  const count = (value) => rows.filter((row) => row.setting === value).length;
  return values.reduce((best, item) => (count(item) > count(best) ? item : best));
}

const same = (row, other, ...but) => CHAIN.every((link) => but.includes(link) || row[link] === other[link]);

function viewOf(row) {
  const world = DATA.worlds[row.world], { states } = world, pairs = states * world.actions.length;
  return {
    true: numbersAt(world.true, states), reward: numbersAt(row.reward, states),
    player: probabilitiesAt(row.player, pairs), opponent: probabilitiesAt(row.opponent, pairs),
    expert_occupancy: numbersAt(row.expert_occupancy, states), player_occupancy: numbersAt(row.player_occupancy, states),
    occupancy: numbersAt(row.occupancy, states),
  };
}

function buildChoices() {
  for (const link of CHAIN.slice(0, -1)) {
    const select = make("select", { id: link, name: link });
    select.addEventListener("change", () => { wanted[link] = select.value; render(); });
    fill("choices", ...document.getElementById("choices").children, make("label", { class: link === "setting" ? "wide" : "" }, make("span", {}, ...rich(NAMES[link])), select));
  }
}

function fillChoices(options, row) {
  for (const link of CHAIN.slice(0, -1)) {
    const select = document.getElementById(link);
    const texts = options[link].map(plain);
    if (texts.join("\n") !== [...select.options].map((item) => item.textContent).join("\n")) {
      select.replaceChildren(...options[link].map((value) => make("option", { value }, plain(value))));
    }
    select.value = String(row[link]);
    select.disabled = options[link].length < 2;
    if (link === "seed") select.parentElement.hidden = options[link].length < 2;
  }
  const slider = document.getElementById("alpha"), alphas = options.alpha, place = alphas.indexOf(row.alpha);
  slider.max = alphas.length - 1;
  slider.value = place;
  slider.disabled = alphas.length < 2;
  slider.setAttribute("aria-valuetext", `α = ${plain(row.alpha)}, return ${shown(returnOf(row))}`);
  fill("alpha-shown", plain(row.alpha));
  fill("return-shown", `return ${shown(returnOf(row))}`);
  const every = Math.ceil(alphas.length / 12);
  fill("stops", ...alphas.map((alpha, i) => (i % every && i !== alphas.length - 1 && i !== place ? null : make("span", { class: i === place ? "now" : null, style: `left: ${alphas.length > 1 ? (100 * i) / (alphas.length - 1) : 50}%` }, plain(alpha)))).filter(Boolean));
}

function renderCharts(row, line) {
  const panel = DATA.rows.filter((other) => same(row, other, "expert", "alpha"));
  const look = (alpha) => (alpha === row.alpha ? "current" : alpha === 1 ? "standard" : "other");
  const alphas = ascending(panel.map((other) => other.alpha)), few = alphas.length <= 12;
  const point = (link) => (other) => ({ x: other[link], y: returnOf(other), row: other });
  const along = (rows, link) => rows.map(point(link)).sort((a, b) => a.x - b.x);
  // Where α was estimated it differs from run to run, and all runs are one line.
  const lines = row.estimated ? [{ look: "current", name: "", points: along(panel, "expert") }] : alphas.filter((alpha) => few || alpha === 1 || alpha === row.alpha).map((alpha) => ({ look: look(alpha), name: plain(alpha), points: along(panel.filter((other) => other.alpha === alpha), "expert") }));
  const ghosts = (link) => {
    const others = DATA.rows.filter((other) => other.seed !== row.seed && same(row, other, "seed", link, row.estimated ? "alpha" : link));
    return distinct(others.map((other) => other.seed)).slice(0, 60).map((seed) => ({ look: "ghost", points: along(others.filter((other) => other.seed === seed), link) }));
  };
  const optimal = row.optimal_return === null ? [] : [{ y: row.optimal_return, colour: "expert" }];
  const pick = (other) => { Object.assign(wanted, Object.fromEntries(CHAIN.map((link) => [link, other[link]]))); render(); };
  const noiseGhosts = ghosts("expert"), alphaGhosts = ghosts("alpha"), mark = row.world === undefined ? "expert of the learner's world" : "optimal";
  const extra = (present) => [["optimal", mark], ...(present.length ? [["ghost", "other layouts or seeds"]] : [])].slice(optimal.length ? 0 : 1);
  const matched = panel.some((other) => other.expert === row.learner);
  const under = (below) => (below ? [["below", "below the scale"]] : []);
  const belowNoise = chart("by-noise", {
    label: `Return over the expert's noise, a line for each α; at α = ${plain(row.alpha)} and noise ${plain(row.expert)} it is ${shown(returnOf(row))}.`,
    across: "expert's noise ε_E", up: "return", xs: ascending(panel.map((other) => other.expert)), lines: [...noiseGhosts, ...lines], levels: optimal,
    uprights: matched ? [row.learner] : [], at: { x: row.expert, y: returnOf(row) }, pick,
  });
  key("by-noise-key", [["current", row.estimated ? "α from demonstrations" : `α = ${plain(row.alpha)}, chosen`], ...(row.estimated ? [] : row.alpha !== 1 && alphas.includes(1) ? [["standard", "α = 1, standard"]] : []), ...(alphas.length > 2 && !row.estimated ? [["other", "other α"]] : []), ...extra(noiseGhosts), ...(matched ? [["learner", "learner's own noise"]] : []), ...under(belowNoise)]);
  const belowAlpha = chart("by-alpha", {
    label: `Return over α at these noises; at α = ${plain(row.alpha)} it is ${shown(returnOf(row))}.`,
    across: "player's control α", up: "return", xs: ascending(line.map((other) => other.alpha)), lines: [...alphaGhosts, { look: "current", points: along(line, "alpha") }], levels: optimal, at: { x: row.alpha, y: returnOf(row) }, pick,
  });
  key("by-alpha-key", [["current", `ε_E = ${plain(row.expert)}, chosen α marked`], ...extra(alphaGhosts), ...under(belowAlpha)]);
  if (row.world === undefined) return;
  const certified = line.filter((other) => other.worst !== null);
  document.getElementById("certificate").hidden = !certified.length;
  if (certified.length) {
    chart("certificate", {
      label: `Certified range of the discounted return over α; at α = ${plain(row.alpha)} from ${shown(row.worst)} to ${shown(row.best)}.`,
      across: "player's control α", up: "discounted return, certified range", height: 190, xs: ascending(certified.map((other) => other.alpha)), pick,
      intervals: certified.map((other) => ({ x: other.alpha, low: other.worst, high: other.best, y: other.discounted_return, row: other, now: other === row })),
      levels: [{ y: row.optimal_discounted_return, colour: "expert" }],
    });
  }
  guarantee(row, DATA.worlds[row.world]);
}

function panel(id, title, aside, draw, colours, help) {
  const maps = document.getElementById("maps");
  let figure = document.getElementById(`map-${id}`);
  if (!figure) {
    figure = make("figure", { class: "card", id: `map-${id}` }, make("figcaption", {}, make("span"), make("span", { class: "soft" })), make("canvas", { role: "img" }), make("div", { class: "scale" }));
    maps.append(figure);
    figure.querySelector("canvas").addEventListener("pointerdown", (event) => {
      const world = DATA.worlds[current.world], state = world && stateAt(event.target, world, event);
      if (world && state !== null) { chosenState = state; render(); }
    });
  }
  const [name, note] = figure.querySelectorAll("figcaption span"), canvas = figure.querySelector("canvas"), scale = figure.querySelector(".scale");
  name.textContent = title;
  note.replaceChildren(...rich(aside));
  canvas.setAttribute("aria-label", `${title}. ${help}`);
  const shades = draw(canvas) ?? colours;
  if (shades.key) scale.replaceChildren(...shades.key.map(([text, colour]) => make("span", {}, make("i", { style: `background: ${colour}` }), text)));
  else if (shades.ramp) scale.replaceChildren(make("span", {}, shades.ends[0]), make("span", { class: "ramp", style: `background: ${shades.ramp}` }), make("span", {}, shades.ends[1]));
  else scale.replaceChildren(make("span", {}, shades.text));
}

const differenceOf = (view) => Float64Array.from(view.player_occupancy, (value, state) => value - view.expert_occupancy[state]);

// The state in which player and expert differ most, ends left out: there everything gathers.
function farthest(world, difference) {
  const size = (state) => (world.ends.includes(state) ? -1 : Math.abs(difference[state]));
  return difference.reduce((best, _, state) => (size(state) > size(best) ? state : best), 0);
}

function renderFinite(row, line) {
  const world = DATA.worlds[row.world], view = viewOf(row), { states } = world;
  chosenState = Math.min(chosenState ?? farthest(world, differenceOf(view)), states - 1);
  const paid = rewardColours(view.true), learnt = linearColours(view.reward, rewardRamp), mapped = world.shape || states > 24;
  // One scale for the occupancies of all α, so that what moves on the map has moved in the world.
  let low = Infinity, high = 0;
  for (const other of line) {
    for (const name of ["expert_occupancy", "player_occupancy", "occupancy"]) {
      for (const value of numbersAt(other[name], states)) { if (value > 0) low = Math.min(low, value); high = Math.max(high, value); }
    }
  }
  const density = logColours(Math.max(low, high * 1e-4), high), chosen = chosenState;
  const difference = differenceOf(view), more = signedColours(Math.abs(difference[farthest(world, difference)]));
  const apart = (name) => { let sum = 0; view[name].forEach((value, state) => { sum += Math.abs(value - view.expert_occupancy[state]); }); return `ℓ₁ to expert's ${sum.toFixed(3)}`; };
  const map = (values, colours, rest = {}) => (canvas) => { drawMap(canvas, world, { values, colours, chosen, ...rest }); };
  document.getElementById("maps").hidden = !mapped;
  if (mapped) {
    const certain = { text: "long and strong: likely" };
    panel("true", "True reward", world.paid === "actions" ? "best paid action" : "", map(view.true, paid), paid, "A cell a state.");
    panel("learnt", "Learnt reward", `α = ${plain(row.alpha)}`, map(view.reward, learnt), learnt, "A cell a state.");
    if (world.directions) {
      panel("player", "Player's policy", "over true reward", map(view.true, paid, { fade: 0.28, policy: view.player, arrow: "player" }), certain, "Arrows are moves.");
      panel("opponent", "Opponent's policy", row.alpha === 1 ? "never in control" : `in control ${percent(1 - row.alpha)}`, map(view.true, paid, { fade: 0.28, policy: view.opponent, arrow: "opponent" }), certain, "Arrows are moves.");
    }
    panel("expert", "Expert's occupancy", "log scale", map(view.expert_occupancy, density), density, "A cell a state.");
    panel("player-occupancy", "Player's occupancy", apart("player_occupancy"), map(view.player_occupancy, density), density, "A cell a state.");
    panel("mixture", "Mixture's occupancy", apart("occupancy"), map(view.occupancy, density), density, "A cell a state.");
    panel("difference", "Player minus expert", "root scale", map(difference, more), more, "Blue is more, orange is less.");
  }
  const objects = world.objects.length ? " Discs are objects: the outer colour counts, the inner one distracts." : "";
  const goal = world.ends.some((state) => !world.shape || state < world.shape[0] * world.shape[1]) ? " G is where a walk ends." : "";
  fill("pictures-note", world.shape ? `Tap a cell, or use the arrow keys here, to read its numbers below; the ring marks it.${goal}${objects}` : mapped ? "This world is no grid: its states stand in a block, row by row. Tap one to read its numbers below." : "This world is no grid: its states are in the table below.");
  document.getElementById("maps").setAttribute("aria-label", "Maps; the arrow keys move the chosen state, whose numbers stand below");
  document.getElementById("details").hidden = false;
  stateFacts(world, view, chosenState);
  const all = document.getElementById("all");
  if (!mapped) all.open = true;
  if (all.open) stateTable(world, view, chosenState, (state) => { chosenState = state; render(); });
}

function renderContinuous(row, line) {
  const world = DATA.continuous, standard = line.find((other) => other.alpha === 1);
  const note = (other) => `return ${shown(other.mean_return)}, goal ${percent(other.goal_share)}`;
  const contours = (weights, paths) => (canvas) => {
    const found = drawSurface(canvas, weights, paths ? pathsAt(paths) : [], world);
    return { ends: [exactly(found.low), exactly(found.high)], ramp: gradient(rewardRamp) };
  };
  document.getElementById("maps").hidden = false;
  panel("surface-true", "True reward, expert's paths", `its own world, ε_E = ${plain(row.expert)}`, contours(world.weights, row.expert_paths), null, "Contours of the reward, with sample paths.");
  if (standard) panel("surface-standard", "Learnt, standard (α = 1)", note(standard), contours(standard.weights, standard.paths), null, "Contours of the reward, with sample paths.");
  panel("surface-chosen", `Learnt, α = ${plain(row.alpha)}`, note(row), contours(row.weights, row.paths), null, "Contours of the reward, with sample paths.");
  document.getElementById("maps").setAttribute("aria-label", "Rewards with sample paths");
  fill("pictures-note", "White lines are sample paths from the start to the goal. Colours step by quantiles, since the pit in the middle is deep and small; a learnt reward counts up to a factor and a constant.");
  document.getElementById("details").hidden = true;
}

// The run without an opponent beside this one; where α was estimated it stands under the setting that leaves that out.
function standardOf(row, line) {
  const beside = (other) => other.alpha === 1 && !other.estimated && row.setting.startsWith(other.setting) && same(row, other, "setting", "alpha");
  return line.find((other) => other.alpha === 1) ?? (row.estimated ? DATA.rows.find(beside) : undefined);
}

let kindShown = null;
function draw() {
  pending = false;
  const { row, options } = resolve(), line = options.line, standard = standardOf(row, line);
  const kind = `${row.environment} ${row.world === undefined ? Boolean(standard) : row.world}`;
  if (kind !== kindShown) { fill("maps"); WIDTHS.clear(); kindShown = kind; }
  current = row;
  fillChoices(options, row);
  fill("title", row.environment);
  fill("subtitle", `${DATA.rows.length}${DATA.asked > DATA.rows.length ? ` of ${DATA.asked}` : ""} runs of the store ${DATA.store}`);
  // The theorems are about finite worlds. What is hidden must be so before charts measure their room.
  document.getElementById("guarantees").hidden = row.world === undefined;
  document.getElementById("overview").classList.toggle("three", row.world === undefined);
  outcome(row, standard);
  renderCharts(row, line);
  document.getElementById("maps").classList.toggle("three", !DATA.worlds[row.world]?.shape);
  document.getElementById("maps").classList.toggle("surfaces", row.world === undefined);
  if (row.world === undefined) renderContinuous(row, line);
  else renderFinite(row, line);
  fill("foot", make("p", {}, "Keys: ", make("kbd", {}, "←"), " ", make("kbd", {}, "→"), " move α from anywhere; ", make("kbd", {}, "Tab"), " goes through the choices; dots in the charts can be clicked. The address keeps what is chosen."),
    make("p", {}, `Run ${row.run}. ${Object.entries(DATA.configuration).map(([name, value]) => `${name} ${value}`).join(", ")}.`));
  history.replaceState(null, "", `#${new URLSearchParams(CHAIN.map((link) => [link, row[link]]))}`);
  document.documentElement.dataset.run = row.run; // What is drawn, for those who wait for it.
}

// However many events there are, one drawing a frame.
function render() {
  if (!pending) { pending = true; requestAnimationFrame(draw); }
}

function moveAlpha(by) {
  const slider = document.getElementById("alpha"), place = Math.min(Math.max(Number(slider.value) + by, 0), Number(slider.max));
  slider.value = place;
  slider.dispatchEvent(new Event("input"));
  fill("announcer", `α = ${plain(wanted.alpha)}`); // The slider speaks for itself only where it has the focus.
}

function moveState(key) {
  const world = DATA.worlds[current.world], [, columns] = shapeOf(world);
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[key];
  if (step === undefined || chosenState + step < 0 || chosenState + step >= world.states) return step !== undefined;
  chosenState += step;
  render();
  return true;
}

async function start() {
  if (typeof DecompressionStream === "undefined") throw new Error("this browser is too old to unpack the page's numbers; use one from 2023 or later");
  await unpackArrays();
  buildChoices();
  document.getElementById("main").hidden = false;
  const slider = document.getElementById("alpha");
  slider.addEventListener("input", () => { wanted.alpha = resolve().options.alpha[Number(slider.value)]; render(); });
  document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("all").addEventListener("toggle", render);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
    if (event.target.id === "maps" && current.world !== undefined) { if (moveState(event.key)) event.preventDefault(); return; }
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") { moveAlpha(event.key === "ArrowLeft" ? -1 : 1); event.preventDefault(); }
  });
  window.addEventListener("hashchange", () => { Object.assign(wanted, Object.fromEntries(new URLSearchParams(location.hash.slice(1)))); render(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
  let width = innerWidth;
  window.addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; WIDTHS.clear(); render(); } });
  draw();
}

start().catch((error) => {
  const trouble = document.getElementById("trouble");
  trouble.hidden = false;
  trouble.textContent = `This page cannot be shown: ${error.message}.`;
  console.error(error);
});
