// Numbers in words and tables: a run's outcome, its guarantees, one state, all states.

const entry = (name, value, key = null) => [make("dt", {}, ...rich(name)), make("dd", { "data-key": key }, value)];
const signed = (value) => (value > 0 ? "+" : "") + shown(value);
const LONGEST_TABLE = 120;

const returnOf = (row) => (row.world === undefined ? row.mean_return : row.total_return);

function outcome(row, standard) {
  const finite = row.world !== undefined, own = returnOf(row);
  const what = finite ? "player's return in the learner's world" : "player's mean return in the learner's world";
  const parts = [make("div", { class: "big", "data-key": "return" }, shown(own)), make("div", { class: "soft" }, what)];
  if (row.alpha === 1) parts.push(make("p", { class: "gain" }, "This is the standard learner: no opponent."));
  else if (standard) {
    const gain = own - returnOf(standard);
    const kind = gain > 0 ? "better" : gain < 0 ? "worse" : "";
    parts.push(make("p", { class: `gain ${kind}`, "data-key": "gain" }, `${signed(gain)} against standard`));
  } else parts.push(make("p", { class: "gain soft" }, "The store has no standard run (α = 1) beside it."));
  const list = make("dl");
  if (standard) list.append(...entry("standard, α = 1", shown(returnOf(standard)), "standard"));
  if (finite) {
    list.append(
      ...entry("optimal in this world", shown(row.optimal_return), "optimal_return"),
      ...entry("expert in its own world", shown(row.expert_return), "expert_return"),
      ...entry("occupancy gap ‖ρ_mix − ρ_E‖₁", shown(row.occupancy_gap), "occupancy_gap"),
      ...entry("… halfway through learning", shown(row.halfway_gap), "halfway_gap"),
      ...entry("largest learned reward |R_θ|", shown(row.largest_reward), "largest_reward"),
    );
    const sampled = `${shown(row.sampled_mean)} ± ${shown(row.sampled_deviation)}`;
    if (row.sampled_mean !== null) list.append(...entry("return, sampled", sampled, "sampled_mean"));
  } else {
    list.append(
      ...entry("median over episodes", shown(row.median_return), "median_return"),
      ...entry("episodes that reach the goal", percent(row.goal_share), "goal_share"),
      ...entry("expert of the learner's world", shown(row.optimal_return), "optimal_return"),
      ...entry("expert in its own world", shown(row.expert_return), "expert_return"),
      ...entry("feature gap ‖φ_mix − φ_E‖₁", shown(row.feature_gap), "feature_gap"),
      ...entry("… at the start", shown(row.first_gap), "first_gap"),
      ...entry("effective trajectories, least", shown(row.effective), "effective"),
    );
  }
  const [count, unit] = finite ? [row.steps, "steps"] : [row.rounds, "rounds"];
  const words = { converged: "converged", budget: "used its budget", failed: "failed" };
  const verdict = make("span", { class: `verdict ${row.verdict}`, "data-key": "verdict" }, words[row.verdict] ?? row.verdict);
  fill("outcome", ...parts, list, make("p", { class: "note" }, verdict, ` after ${count} ${unit}`));
}

function guarantee(row, world) {
  const [best, own] = [row.optimal_discounted_return, row.discounted_return];
  const gap = best === null || own === null ? null : Math.abs(best - own);
  const list = make("dl", {}, ...entry("discounted return", shown(row.discounted_return), "discounted_return"));
  if (row.worst !== null) {
    list.append(
      ...entry("certified at least", shown(row.worst), "worst"),
      ...entry("certified at most", shown(row.best), "best"),
    );
  }
  list.append(...entry("gap to the optimal", shown(gap), "gap"));
  list.append(...entry(`bound on it (${row.bound_of})`, shown(row.bound), "bound"));
  const notes = [];
  if (row.worst !== null) notes.push(`Certified: the exact range over all kernels within d_dyn = ${shown(row.distance)} of the learner's, as far as the expert's.`);
  else notes.push(`No certificate: ${row.uncertified}.`);
  if (row.bound !== null && row.bound >= world.largest_gap) notes.push(`The bound says nothing: no gap exceeds 2|R|/(1 − γ) = ${shown(world.largest_gap)}.`);
  fill("guarantee", list, ...notes.map((note) => make("p", { class: "note" }, ...rich(note))));
}

const nameOf = (world, state) => {
  if (!world.shape || state >= world.shape[0] * world.shape[1]) return `State ${state}`;
  return `State ${state}: row ${Math.floor(state / world.shape[1])}, column ${state % world.shape[1]}`;
};

function barred(text, share, kind, keyed = null) {
  const width = `width: ${Math.max(0, Math.min(100, 100 * share)).toFixed(1)}%`;
  const bar = make("span", { class: `bar ${kind}`, style: width, "aria-hidden": "true" });
  return make("dd", { class: "cell" }, make("span", { "data-key": keyed }, text), make("span", {}, bar));
}

// One state in full.
function stateFacts(world, view, state) {
  const occupancies = [
    ["expert ρ_E", "expert_occupancy", "expert"], ["player", "player_occupancy", "player"], ["mixture ρ_mix", "occupancy", ""],
  ];
  const most = Math.max(...occupancies.map(([, name]) => view[name][state]), 1e-30);
  const policy = (name) => make("dl", { class: "bars" }, ...world.actions.flatMap((action, i) => {
    const chance = view[name][state * world.actions.length + i];
    return [make("dt", {}, action), barred(probability(chance), chance, name, `${name}-${i}`)];
  }));
  const rewards = make("dl", {},
    ...entry(world.paid === "actions" ? "true, best paid action" : "true", exactly(view.true[state]), "true"),
    ...entry("learned", exactly(view.reward[state]), "learned"));
  const shares = make("dl", { class: "bars" }, ...occupancies.flatMap(([label, name, kind]) => {
    const value = view[name][state];
    return [make("dt", {}, ...rich(label)), barred(exactly(value), value / most, kind, name)];
  }));
  const columns = [
    ["reward", rewards], ["player's policy", policy("player")], ["opponent's policy", policy("opponent")], ["occupancy", shares],
  ];
  fill("details-title", nameOf(world, state));
  fill("chosen", make("div", { class: "facts" }, ...columns.map(([title, list]) => make("div", {}, make("h3", {}, title), list))));
}

// All states, or those in which player and expert differ most where there are too many.
function stateTable(world, view, chosen, pick) {
  const apart = (state) => Math.abs(view.player_occupancy[state] - view.expert_occupancy[state]);
  let states = Array.from({ length: world.states }, (_, state) => state);
  if (world.states > LONGEST_TABLE) states = states.sort((a, b) => apart(b) - apart(a)).slice(0, LONGEST_TABLE);
  const chance = (value) => probability(value).replace(/^0(?=\.)/, "");
  const policy = (name, state) => world.actions.map((_, i) => chance(view[name][state * world.actions.length + i])).join("  ");
  const head = [
    "state", "true reward", "learned", `player (${world.actions.join(", ")})`, "opponent", "ρ expert", "ρ player", "ρ mixture",
  ];
  const cells = (state) => [
    `${state}`, exactly(view.true[state]), exactly(view.reward[state]), policy("player", state), policy("opponent", state),
    ...["expert_occupancy", "player_occupancy", "occupancy"].map((name) => exactly(view[name][state])),
  ];
  const body = states.map((state) =>
    make("tr", { class: state === chosen ? "chosen" : null }, ...cells(state).map((text) => make("td", {}, text))));
  body.forEach((line, i) => line.addEventListener("click", () => pick(states[i])));
  const most = `The ${LONGEST_TABLE} states where player and expert differ most, in numbers`;
  fill("all-title", world.states > LONGEST_TABLE ? most : "All states in numbers");
  const titles = make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)));
  fill("table", make("table", {}, make("thead", {}, titles), make("tbody", {}, ...body)));
}
