// What can be chosen, what is, and the controls that show it.

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

// At first: the largest mismatch with a noisier expert, the α that auto chose or the best, the setting with the most runs.
function usual(values, link, rows) {
  if (link === "expert") return values.at(-1);
  if (link === "alpha") return openingAlpha(values, rows);
  if (link !== "setting") return values[0];
  const count = (value) => rows.filter((row) => row.setting === value).length;
  return values.reduce((best, item) => (count(item) > count(best) ? item : best));
}

const same = (row, other, ...but) => CHAIN.every((link) => but.includes(link) || row[link] === other[link]);

// The run without an opponent beside this one; where α was estimated it stands under the setting that leaves that out.
function standardOf(row, line) {
  const beside = (other) =>
    other.alpha === 1 && !other.estimated && row.setting.startsWith(other.setting) && same(row, other, "setting", "alpha");
  return line.find((other) => other.alpha === 1) ?? (row.estimated ? DATA.rows.find(beside) : undefined);
}

function buildChoices() {
  for (const link of CHAIN.slice(0, -1)) {
    const select = make("select", { id: link, name: link });
    select.addEventListener("change", () => { wanted[link] = select.value; render(); });
    const label = make("label", { class: link === "setting" ? "wide" : "" }, make("span", {}, ...rich(NAMES[link])), select);
    document.getElementById("choices").append(label);
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
  const every = Math.ceil(alphas.length / 12), last = alphas.length - 1; // More names would not fit.
  const named = alphas.map((_, i) => i).filter((i) => i % every === 0 || i === last || i === place);
  const left = (i) => `left: ${last ? (100 * i) / last : 50}%`;
  fill("stops", ...named.map((i) => make("span", { class: i === place ? "now" : null, style: left(i) }, plain(alphas[i]))));
}
