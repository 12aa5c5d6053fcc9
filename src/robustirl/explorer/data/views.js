// The pictures of the chosen run: maps and tables of a finite world, surfaces of a continuous one.

function viewOf(row) {
  const world = DATA.worlds[row.world], { states } = world, pairs = states * world.actions.length;
  return {
    true: numbersAt(world.true, states), reward: numbersAt(row.reward, states),
    player: probabilitiesAt(row.player, pairs), opponent: probabilitiesAt(row.opponent, pairs),
    expert_occupancy: numbersAt(row.expert_occupancy, states), player_occupancy: numbersAt(row.player_occupancy, states),
    occupancy: numbersAt(row.occupancy, states),
  };
}

function panel(id, title, aside, draw, colors, help) {
  const maps = document.getElementById("maps");
  let figure = document.getElementById(`map-${id}`);
  if (!figure) {
    const caption = make("figcaption", {}, make("span"), make("span", { class: "soft" }));
    const parts = [caption, make("canvas", { role: "img" }), make("div", { class: "scale" })];
    figure = make("figure", { class: "card", id: `map-${id}` }, ...parts);
    maps.append(figure);
    figure.querySelector("canvas").addEventListener("pointerdown", (event) => {
      const world = DATA.worlds[current.world], state = world && stateAt(event.target, world, event);
      if (world && state !== null) { chosenState = state; render(); }
    });
  }
  const [name, note] = figure.querySelectorAll("figcaption span");
  const canvas = figure.querySelector("canvas"), scale = figure.querySelector(".scale");
  name.textContent = title;
  note.replaceChildren(...rich(aside));
  canvas.setAttribute("aria-label", `${title}. ${help}`);
  const shades = draw(canvas) ?? colors;
  const chip = ([text, color]) => make("span", {}, make("i", { style: `background: ${color}` }), text);
  if (shades.key) scale.replaceChildren(...shades.key.map(chip));
  else if (shades.ramp) {
    const strip = make("span", { class: "ramp", style: `background: ${shades.ramp}` });
    scale.replaceChildren(make("span", {}, shades.ends[0]), strip, make("span", {}, shades.ends[1]));
  } else scale.replaceChildren(make("span", {}, shades.text));
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
  const paid = rewardColors(view.true), learned = linearColors(view.reward, rewardRamp), mapped = world.shape || states > 24;
  // One scale for the occupancies of all α, so that what moves on the map has moved in the world.
  let low = Infinity, high = 0;
  for (const other of line) {
    for (const name of ["expert_occupancy", "player_occupancy", "occupancy"]) {
      for (const value of numbersAt(other[name], states)) {
        if (value > 0) low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
  }
  const density = logColors(Math.max(low, high * 1e-4), high), chosen = chosenState;
  const difference = differenceOf(view), more = signedColors(Math.abs(difference[farthest(world, difference)]));
  const apart = (name) => {
    const sum = view[name].reduce((total, value, state) => total + Math.abs(value - view.expert_occupancy[state]), 0);
    return `ℓ₁ to expert's ${sum.toFixed(3)}`;
  };
  const map = (values, colors, rest = {}) => (canvas) => { drawMap(canvas, world, { values, colors, chosen, ...rest }); };
  document.getElementById("maps").hidden = !mapped;
  if (mapped) {
    const certain = { text: "long and strong: likely" };
    panel("true", "True reward", world.paid === "actions" ? "best paid action" : "", map(view.true, paid), paid, "A cell a state.");
    panel("learned", "Learned reward", `α = ${plain(row.alpha)}`, map(view.reward, learned), learned, "A cell a state.");
    if (world.directions) {
      const moves = (name) => map(view.true, paid, { fade: 0.28, policy: view[name], arrow: name });
      const control = row.alpha === 1 ? "never in control" : `in control ${percent(1 - row.alpha)}`;
      panel("player", "Player's policy", "over true reward", moves("player"), certain, "Arrows are moves.");
      panel("opponent", "Opponent's policy", control, moves("opponent"), certain, "Arrows are moves.");
    }
    panel("expert", "Expert's occupancy", "log scale", map(view.expert_occupancy, density), density, "A cell a state.");
    panel("player-occupancy", "Player's occupancy", apart("player_occupancy"), map(view.player_occupancy, density), density, "A cell a state.");
    panel("mixture", "Mixture's occupancy", apart("occupancy"), map(view.occupancy, density), density, "A cell a state.");
    panel("difference", "Player minus expert", "root scale", map(difference, more), more, "Blue is more, orange is less.");
  }
  const note = world.shape
    ? "Tap a cell, or use the arrow keys here, to read its numbers below; the ring marks it."
    : mapped
      ? "This world is no grid: its states stand in a block, row by row. Tap one to read its numbers below."
      : "This world is no grid: its states are in the table below.";
  const objects = world.objects.length ? " Discs are objects: the outer color counts, the inner one distracts." : "";
  const marked = world.shape && world.ends.some((state) => state < world.shape[0] * world.shape[1]);
  const goal = marked ? " G is where a walk ends." : "";
  fill("pictures-note", note + goal + objects);
  const help = "Maps; the arrow keys move the chosen state, whose numbers stand below";
  document.getElementById("maps").setAttribute("aria-label", help);
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
  const surface = (id, title, aside, weights, paths) =>
    panel(`surface-${id}`, title, aside, contours(weights, paths), null, "Contours of the reward, with sample paths.");
  const home = `its own world, ε_E = ${plain(row.expert)}`;
  surface("true", "True reward, expert's paths", home, world.weights, row.expert_paths);
  if (standard) surface("standard", "Learned, standard (α = 1)", note(standard), standard.weights, standard.paths);
  surface("chosen", `Learned, α = ${plain(row.alpha)}`, note(row), row.weights, row.paths);
  document.getElementById("maps").setAttribute("aria-label", "Rewards with sample paths");
  fill("pictures-note", "White lines are sample paths from the start to the goal. Colors step by quantiles, since the pit"
    + " in the middle is deep and small; a learned reward counts up to a factor and a constant.");
  document.getElementById("details").hidden = true;
}
