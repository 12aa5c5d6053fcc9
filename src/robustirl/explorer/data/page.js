// The page itself: what is chosen, and what follows from it.

const wanted = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
let chosenState = null, current = null, pending = false;

let kindShown = null;
function draw() {
  pending = false;
  const { row, options } = resolve(), line = options.line, standard = standardOf(row, line);
  const kind = `${row.environment} ${row.world === undefined ? Boolean(standard) : row.world}`;
  if (kind !== kindShown) { fill("maps"); WIDTHS.clear(); kindShown = kind; }
  current = row;
  fillChoices(options, row);
  fill("title", row.environment);
  const part = DATA.asked > DATA.rows.length ? ` of ${DATA.asked}` : "";
  fill("subtitle", `${DATA.rows.length}${part} runs of the store ${DATA.store}`);
  // The theorems are about finite worlds. What is hidden must be so before charts measure their room.
  document.getElementById("guarantees").hidden = row.world === undefined;
  document.getElementById("overview").classList.toggle("three", row.world === undefined);
  opening(row, line, standard);
  outcome(row, standard);
  renderCharts(row, line);
  document.getElementById("maps").classList.toggle("three", !DATA.worlds[row.world]?.shape);
  document.getElementById("maps").classList.toggle("surfaces", row.world === undefined);
  if (row.world === undefined) renderContinuous(row, line);
  else renderFinite(row, line);
  const press = (name) => make("kbd", {}, name);
  const keys = ["Keys: ", press("←"), " ", press("→"), " move α from anywhere; ", press("Tab"), " goes through the choices; "];
  const made = Object.entries(DATA.configuration).map(([name, value]) => `${name} ${value}`).join(", ");
  const links = "dots in the charts can be clicked. The address keeps what is chosen.";
  fill("foot", make("p", {}, ...keys, links), make("p", {}, `Run ${row.run}. ${made}.`));
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
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser is too old to unpack the page's numbers; use one from 2023 or later");
  }
  await unpackArrays();
  buildChoices();
  document.getElementById("main").hidden = false;
  const slider = document.getElementById("alpha");
  slider.addEventListener("input", () => { wanted.alpha = resolve().options.alpha[Number(slider.value)]; render(); });
  document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("all").addEventListener("toggle", render);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
    if (event.target.id === "maps" && current.world !== undefined) {
      if (moveState(event.key)) event.preventDefault();
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      moveAlpha(event.key === "ArrowLeft" ? -1 : 1);
      event.preventDefault();
    }
  });
  window.addEventListener("hashchange", () => {
    Object.assign(wanted, Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
    render();
  });
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
