// The charts of returns and certificates for the chosen run.

const MOST_GHOSTS = 60;

function renderCharts(row, line) {
  const panel = DATA.rows.filter((other) => same(row, other, "expert", "alpha"));
  const look = (alpha) => (alpha === row.alpha ? "current" : alpha === 1 ? "standard" : "other");
  const alphas = ascending(panel.map((other) => other.alpha)), few = alphas.length <= 12;
  const point = (link) => (other) => ({ x: other[link], y: returnOf(other), row: other });
  const along = (rows, link) => rows.map(point(link)).sort((a, b) => a.x - b.x);
  // Where α was estimated it differs from run to run, and all runs are one line.
  const drawn = alphas.filter((alpha) => few || alpha === 1 || alpha === row.alpha);
  const lineOf = (alpha) => ({
    look: look(alpha), name: plain(alpha), points: along(panel.filter((other) => other.alpha === alpha), "expert"),
  });
  const lines = row.estimated ? [{ look: "current", name: "", points: along(panel, "expert") }] : drawn.map(lineOf);
  const ghosts = (link) => {
    const free = ["seed", link, row.estimated ? "alpha" : link];
    const others = DATA.rows.filter((other) => other.seed !== row.seed && same(row, other, ...free));
    const ghost = (seed) => ({ look: "ghost", points: along(others.filter((other) => other.seed === seed), link) });
    return distinct(others.map((other) => other.seed)).slice(0, MOST_GHOSTS).map(ghost);
  };
  const optimal = row.optimal_return === null ? [] : [{ y: row.optimal_return, color: "expert" }];
  const pick = (other) => {
    Object.assign(wanted, Object.fromEntries(CHAIN.map((link) => [link, other[link]])));
    render();
  };
  const noiseGhosts = ghosts("expert"), alphaGhosts = ghosts("alpha");
  const mark = row.world === undefined ? "expert of the learner's world" : "optimal";
  const when = (holds, sign, text) => (holds ? [[sign, text]] : []);
  const extra = (present, below) => [
    ...when(optimal.length, "optimal", mark),
    ...when(present.length, "ghost", "other layouts or seeds"),
    ...when(below, "below", "below the scale"),
  ];
  const matched = panel.some((other) => other.expert === row.learner);
  const belowNoise = chart("by-noise", {
    label: `Return over the expert's noise, a line for each α; at α = ${plain(row.alpha)} and noise ${plain(row.expert)} it is ${shown(returnOf(row))}.`,
    across: "expert's noise ε_E", up: "return", xs: ascending(panel.map((other) => other.expert)),
    lines: [...noiseGhosts, ...lines], levels: optimal, uprights: matched ? [row.learner] : [],
    at: { x: row.expert, y: returnOf(row) }, pick,
  });
  key("by-noise-key", [
    ["current", row.estimated ? "α from demonstrations" : `α = ${plain(row.alpha)}, chosen`],
    ...when(!row.estimated && row.alpha !== 1 && alphas.includes(1), "standard", "α = 1, standard"),
    ...when(!row.estimated && alphas.length > 2, "other", "other α"),
    ...when(matched, "learner", "learner's own noise"),
    ...extra(noiseGhosts, belowNoise),
  ]);
  const belowAlpha = chart("by-alpha", {
    label: `Return over α at these noises; at α = ${plain(row.alpha)} it is ${shown(returnOf(row))}.`,
    across: "player's control α", up: "return", xs: ascending(line.map((other) => other.alpha)),
    lines: [...alphaGhosts, { look: "current", points: along(line, "alpha") }], levels: optimal,
    at: { x: row.alpha, y: returnOf(row) }, pick,
  });
  key("by-alpha-key", [["current", `ε_E = ${plain(row.expert)}, chosen α marked`], ...extra(alphaGhosts, belowAlpha)]);
  if (row.world === undefined) return;
  const certified = line.filter((other) => other.worst !== null);
  for (const id of ["certificate", "certificate-key"]) document.getElementById(id).hidden = !certified.length;
  key("certificate-key", [["interval", "worst, own world, best"], ["optimal", "optimal there"]]);
  if (certified.length) {
    const range = (other) => ({
      x: other.alpha, low: other.worst, high: other.best, y: other.discounted_return, row: other, now: other === row,
    });
    chart("certificate", {
      label: `Certified range of the discounted return over α; at ${plain(row.alpha)} from ${shown(row.worst)} to ${shown(row.best)}.`,
      across: "player's control α", up: "discounted return, certified range", height: 190, pick,
      xs: ascending(certified.map((other) => other.alpha)), intervals: certified.map(range),
      levels: [{ y: row.optimal_discounted_return, color: "expert" }],
    });
  }
  guarantee(row, DATA.worlds[row.world]);
}
