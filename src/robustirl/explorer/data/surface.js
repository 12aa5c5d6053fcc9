// GaussianGrid: a reward as filled contours over the square, and sample paths on it.

const LEVELS = 18;
const PIXELS = 320;

function rewardAt(weights, x, y, goal) {
  const inside = x >= goal && y <= -goal ? 1 : 0;
  return weights[0] * x * x + weights[1] * y * y + weights[2] * x + weights[3] * y + weights[4] * Math.exp(-8 * (x * x + y * y)) + weights[5] * inside + weights[6];
}

const SURFACES = new Map(); // The last few, since paths change less often than they are drawn.
function surface(weights, goal) {
  const key = weights.join();
  if (SURFACES.has(key)) return SURFACES.get(key);
  const values = new Float64Array(PIXELS * PIXELS), sorted = [];
  for (let i = 0; i < PIXELS; i++) {
    for (let j = 0; j < PIXELS; j++) {
      const x = -1 + (2 * (j + 0.5)) / PIXELS, y = 1 - (2 * (i + 0.5)) / PIXELS;
      values[i * PIXELS + j] = rewardAt(weights, x, y, 2); // Without the goal's own jump, or it would be all of the scale.
      if (i % 4 === 0 && j % 4 === 0) sorted.push(values[i * PIXELS + j]);
    }
  }
  sorted.sort((a, b) => a - b);
  // Levels by quantile: the pit is deep and small, and even steps would leave the rest flat.
  const levels = Array.from({ length: LEVELS - 1 }, (_, i) => sorted[Math.floor(((i + 1) / LEVELS) * (sorted.length - 1))]);
  const image = new ImageData(PIXELS, PIXELS), pixels = new Uint32Array(image.data.buffer);
  const palette = Array.from({ length: LEVELS }, (_, i) => rewardRamp(i / (LEVELS - 1)).reduce((sum, part, j) => sum + part * 256 ** j, 255 * 256 ** 3));
  for (let at = 0; at < values.length; at++) {
    let band = 0;
    while (band < levels.length && values[at] > levels[band]) band++;
    pixels[at] = palette[band];
  }
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = PIXELS;
  canvas.getContext("2d").putImageData(image, 0, 0);
  const found = { canvas, low: sorted[0], middle: sorted[sorted.length >> 1], high: sorted[sorted.length - 1] };
  if (SURFACES.size > 12) SURFACES.delete(SURFACES.keys().next().value);
  SURFACES.set(key, found);
  return found;
}

function drawSurface(canvas, weights, paths, { start, goal }) {
  const [context, width] = prepare(canvas, 1);
  const found = surface(weights, goal), place = ([x, y]) => [((x + 1) / 2) * width, ((1 - y) / 2) * width];
  context.imageSmoothingEnabled = true;
  context.drawImage(found.canvas, 0, 0, width, width);
  const [goalX, goalY] = place([goal, -goal]);
  context.fillStyle = "#e69f00";
  context.strokeStyle = "#000";
  context.lineWidth = 1;
  context.fillRect(goalX, goalY, width - goalX, width - goalY);
  context.strokeRect(goalX, goalY, width - goalX, width - goalY);
  context.lineJoin = "round";
  for (const [thick, color] of [[4, "#000a"], [2, "#fff"]]) {
    context.lineWidth = thick;
    context.strokeStyle = color;
    for (const path of paths) {
      context.beginPath();
      path.forEach((point, i) => (i ? context.lineTo(...place(point)) : context.moveTo(...place(point))));
      context.stroke();
    }
  }
  const [x, y] = place(start);
  context.beginPath();
  context.arc(x + 7, y + 7, 5, 0, 2 * Math.PI);
  context.fillStyle = "#fff";
  context.fill();
  context.strokeStyle = "#000";
  context.lineWidth = 1.5;
  context.stroke();
  outlined(context, "start", x + 17, y + 9, "left");
  outlined(context, "goal", goalX - 5, goalY - 2, "right");
  return found;
}

function outlined(context, text, x, y, align) {
  context.font = "600 12px system-ui, sans-serif";
  context.textAlign = align;
  context.textBaseline = "middle";
  context.lineWidth = 3;
  context.strokeStyle = "#fff";
  context.strokeText(text, x, y);
  context.fillStyle = "#111";
  context.fillText(text, x, y);
}
