// The first sentence of the page, and the α it opens at.

// The α that the data chose for the same pair of worlds, in runs that estimate it; the median where there are several.
function autoOf(row) {
  const chosen = DATA.rows.filter((other) => other.estimated && other.setting.startsWith(row.setting) && same(row, other, "setting", "seed", "alpha"));
  return chosen.length ? chosen.map((other) => other.alpha).sort((a, b) => a - b)[chosen.length >> 1] : undefined;
}

// The α with the largest return, of equal ones the largest.
function bestOf(rows) {
  const known = rows.filter((row) => returnOf(row) !== null);
  const better = (best, row) => (returnOf(row) > returnOf(best) || (returnOf(row) === returnOf(best) && row.alpha > best.alpha) ? row : best);
  return known.length ? known.reduce(better).alpha : undefined;
}

const closest = (values, number) => values.reduce((best, item) => (Math.abs(item - number) < Math.abs(best - number) ? item : best));

// Where the page opens: at what auto chose if the store has it, at the best of the store otherwise.
function openingAlpha(values, rows) {
  const wanted = autoOf(rows[0]) ?? bestOf(rows) ?? values.at(-1);
  return closest(values, wanted);
}

// What is special about the α that is shown, in words.
function roleOf(row, line) {
  const auto = autoOf(row), alphas = line.map((other) => other.alpha);
  if (row.estimated) return "chosen from demonstrations";
  if (auto !== undefined && closest(alphas, auto) === row.alpha) {
    return auto === row.alpha ? "which auto chose from demonstrations" : `the nearest here to ${plain(auto)}, which auto chose from demonstrations`;
  }
  if (alphas.length > 1 && bestOf(line) === row.alpha) return `the best of the ${alphas.length} in this store`;
  return row.alpha === 1 ? "which is standard IRL" : "";
}

function opening(row, line, standard) {
  const own = returnOf(row), finite = row.world !== undefined;
  const role = roleOf(row, line), told = `α = ${plain(row.alpha)}${role ? `, ${role},` : ""}`;
  const other = standard && standard !== row ? `standard IRL (α = 1) earns ${shown(returnOf(standard))}` : "";
  const best = row.optimal_return === null ? "" : `${finite ? "the best policy" : "an expert of that world"}${other ? "" : " earns"} ${shown(row.optimal_return)}`;
  const beside = [other, best].filter(Boolean).join(" and ");
  fill("opening", `In ${row.environment} an expert acted with noise ${plain(row.expert)}, and the learner acts with noise ${plain(row.learner)}: `
    + `with ${told} it earns ${shown(own)}${beside ? `, where ${beside}` : ""}.`);
}
