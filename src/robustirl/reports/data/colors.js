// Colors that stay apart for the color-blind: cividis for rewards, viridis for occupancies, blue and orange for more
// and less.

const CIVIDIS = "00224e 003170 2a3f6d 434e6c 575d6d 6a6c71 7d7c78 918b78 a59c74 bcae6c d2c060 e9d34e fee838";
const VIRIDIS = "440154 481f70 443983 3b528b 31688e 287c8e 21918c 20a486 35b779 5ec962 90d743 c8e020 fde725";
const DIVERGING = "8c3d04 c65f0d e8903f f3be8c f7e5d3 f4f4f2 d6e6f1 9cc5e0 5a9fcb 2476ad 08477a";

const stops = (text) => text.split(" ").map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
function ramp(text) {
  const table = stops(text);
  return (share) => {
    const place = Math.min(Math.max(Number.isNaN(share) ? 0 : share, 0), 1) * (table.length - 1);
    const low = Math.min(Math.floor(place), table.length - 2);
    return table[low].map((from, i) => Math.round(from + (place - low) * (table[low + 1][i] - from)));
  };
}
const rewardRamp = ramp(CIVIDIS), occupancyRamp = ramp(VIRIDIS), differenceRamp = ramp(DIVERGING);
const css = ([r, g, b], alpha = 1) => `rgb(${r} ${g} ${b} / ${alpha})`;
const gradient = (colors) => `linear-gradient(90deg, ${Array.from({ length: 11 }, (_, i) => css(colors(i / 10))).join(", ")})`;
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// How the true reward is colored. Few values get even steps and a key, since -1 beside -100 would vanish on one scale.
function rewardColors(values) {
  const known = ascending(Array.from(values));
  if (known.length <= 6) {
    const place = new Map(known.map((value, i) => [value, known.length > 1 ? i / (known.length - 1) : 1]));
    return { of: (value) => rewardRamp(place.get(value)), key: known.map((value) => [plain(value), css(rewardRamp(place.get(value)))]) };
  }
  return linearColors(values, rewardRamp);
}
function linearColors(values, colors) {
  let low = Infinity, high = -Infinity;
  for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
  const span = high - low || 1;
  return { of: (value) => colors((value - low) / span), ends: [exactly(low), exactly(high)], ramp: gradient(colors) };
}
function logColors(low, high) {
  const span = Math.log(high / low) || 1;
  return { of: (value) => occupancyRamp(Math.log(Math.max(value, low) / low) / span), ends: [`\u2264 ${exactly(low)}`, exactly(high)], ramp: gradient(occupancyRamp) };
}
// More and less than nothing by the root of the size, or the goal alone would have a color.
function signedColors(limit) {
  const share = (value) => 0.5 + (Math.sign(value) * Math.sqrt(Math.abs(value) / (limit || 1))) / 2;
  return { of: (value) => differenceRamp(share(value)), ends: [exactly(-limit), `+${exactly(limit)}`], ramp: gradient(differenceRamp) };
}
