"use strict";
// What the page knows, how it is unpacked, and how numbers are written.

const DATA = JSON.parse(document.getElementById("data").textContent);
// A run is found by these, from the first to the last; what an earlier one is decides what a later one can be.
const CHAIN = ["environment", "kernel", "setting", "seed", "learner", "expert", "alpha"];
const NAMES = {
  environment: "environment", kernel: "kernel of the noise", setting: "setting", seed: "layout or seed",
  learner: "learner's noise ε_L", expert: "expert's noise ε_E",
};
const MINUS = "\u2212";
const ARRAYS = {};

// The compressed block of arrays: single-precision numbers first, then counts of 16 bits.
async function unpackArrays() {
  const text = document.getElementById("arrays").textContent;
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const block = await new Response(stream).arrayBuffer();
  const { numbers, counts } = DATA.arrays;
  ARRAYS.numbers = new Float32Array(block, 0, numbers);
  ARRAYS.counts = new Uint16Array(block, 4 * numbers, counts);
}

const numbersAt = (at, size) => ARRAYS.numbers.subarray(at, at + size);
const probabilitiesAt = (at, size) =>
  Float64Array.from(ARRAYS.counts.subarray(at, at + size), (n) => (n === DATA.arrays.none ? NaN : n / DATA.arrays.thousandths));
function pathsAt(paths) {
  const [count, steps] = paths.shape;
  const { none, places } = DATA.arrays;
  return Array.from({ length: count }, (_, path) => {
    const points = [];
    for (let step = 0; step < steps; step++) {
      const at = paths.at + 2 * (path * steps + step);
      if (ARRAYS.counts[at] === none) break;
      points.push([ARRAYS.counts[at] / places - 1, ARRAYS.counts[at + 1] / places - 1]);
    }
    return points;
  });
}

// Four significant digits, more for whole numbers of a run. Arrays hold four digits and no more.
function shown(value, { whole = true } = {}) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "\u2013";
  const size = Math.abs(value);
  let text;
  if (value === 0) text = "0";
  else if (size >= 1000 && whole) text = value.toFixed(0);
  else if (size >= 1e-3 && size < 9999.5) text = value.toPrecision(4);
  else text = value.toExponential(3).replace("e+", "e");
  return text.replace("-", MINUS).replace("e-", "e" + MINUS);
}
const exactly = (value) => shown(value, { whole: false });
const probability = (value) => (Number.isNaN(value) ? "\u2013" : value.toFixed(3));
const plain = (value) => (typeof value === "number" ? String(Number(value.toFixed(4))).replace("-", MINUS) : value);
const percent = (value) => (value === null ? "\u2013" : `${(100 * value).toFixed(0)} %`);
const distinct = (values) => [...new Set(values)];
const ascending = (values) => distinct(values).sort((a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true })));

// An element with attributes and children; text is text, never markup.
function make(tag, attributes = {}, ...children) {
  const vector = ["svg", "path", "line", "circle", "text", "g", "rect", "polygon", "tspan"].includes(tag);
  const element = vector ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
// Text with what follows an underscore set lower, as in ε_L.
const rich = (text) => text.split(/_([A-Za-zθ]+)/).map((part, i) => (i % 2 ? make("sub", {}, part) : part));

// The width of an element, measured once: to measure between changes would lay out the page anew each time.
const WIDTHS = new Map();
function widthOf(element) {
  if (!WIDTHS.has(element)) WIDTHS.set(element, element.clientWidth);
  return WIDTHS.get(element);
}
const fill = (id, ...children) => document.getElementById(id).replaceChildren(...children);
