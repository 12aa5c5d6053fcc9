// Maps of finite worlds: a cell a state, colored, with arrows for moves.

const FAINT = 0.12; // Moves less likely than this are not drawn.
const OBJECTS = ["#0072b2", "#009e73"]; // Blue and green.

// Rows and columns: the grid's own, or a near-square block of all states.
function shapeOf(world) {
  if (world.shape) return world.shape;
  const columns = Math.ceil(Math.sqrt(world.states));
  return [Math.ceil(world.states / columns), columns];
}

// A canvas as sharp as the screen; returns its context, scaled to CSS pixels.
function prepare(canvas, aspect) {
  const width = Math.max(widthOf(canvas), 40), height = width * aspect, ratio = window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across || canvas.height !== down) {
    canvas.style.height = `${height}px`;
    canvas.width = across;
    canvas.height = down;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return [context, width, height];
}

function drawMap(canvas, world, { values, colors, fade = 1, policy = null, arrow = "ink", chosen }) {
  const [rows, columns] = shapeOf(world);
  const [context, width] = prepare(canvas, rows / columns);
  const side = width / columns, cells = Math.min(world.states, rows * columns);
  context.fillStyle = token("card");
  context.fillRect(0, 0, width, side * rows);
  for (let cell = 0; cell < cells; cell++) {
    const x = (cell % columns) * side, y = Math.floor(cell / columns) * side;
    context.fillStyle = css(colors.of(values[cell]), fade);
    context.fillRect(x + 0.5, y + 0.5, side - 1, side - 1);
  }
  marks(context, world, side, columns, cells);
  if (policy) arrows(context, world, policy, side, columns, cells, token(arrow));
  if (chosen < cells) {
    const x = (chosen % columns) * side, y = Math.floor(chosen / columns) * side;
    for (const [color, thick] of [["#000", 4], ["#fff", 2]]) {
      context.strokeStyle = color;
      context.lineWidth = thick;
      context.strokeRect(x + 2, y + 2, side - 4, side - 4);
    }
  }
}

function marks(context, world, side, columns, cells) {
  for (const [row, column, outer, inner] of world.objects) {
    for (const [size, color] of [[0.34, OBJECTS[outer]], [0.15, OBJECTS[inner]]]) {
      context.beginPath();
      context.arc((column + 0.5) * side, (row + 0.5) * side, size * side, 0, 2 * Math.PI);
      context.fillStyle = color;
      context.fill();
      context.strokeStyle = "#fff";
      context.lineWidth = 1;
      context.stroke();
    }
  }
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = `700 ${Math.max(side * 0.48, 7)}px system-ui, sans-serif`;
  for (const cell of world.ends) {
    if (cell >= cells || side < 16) continue;
    const x = ((cell % columns) + 0.5) * side, y = (Math.floor(cell / columns) + 0.5) * side;
    context.beginPath();
    context.arc(x, y, side * 0.36, 0, 2 * Math.PI);
    context.fillStyle = "#fff";
    context.fill();
    context.strokeStyle = "#111";
    context.lineWidth = 1;
    context.stroke();
    context.fillStyle = "#111";
    context.fillText("G", x, y + side * 0.03);
  }
}

// An arrow a likely move, the longer and stronger the likelier.
function arrows(context, world, policy, side, columns, cells, color) {
  const actions = world.actions.length, ends = new Set(world.ends);
  context.strokeStyle = context.fillStyle = color;
  context.lineCap = "round";
  for (let cell = 0; cell < cells; cell++) {
    if (ends.has(cell)) continue;
    const x = ((cell % columns) + 0.5) * side, y = (Math.floor(cell / columns) + 0.5) * side;
    for (let action = 0; action < actions; action++) {
      const weight = policy[cell * actions + action];
      if (!(weight > FAINT)) continue;
      const [down, right] = world.directions[action], length = (0.2 + 0.27 * weight) * side, head = 0.15 * side * (0.6 + 0.6 * weight);
      const tipX = x + right * length, tipY = y + down * length;
      context.globalAlpha = 0.35 + 0.65 * weight;
      context.lineWidth = Math.max(side * (0.04 + 0.06 * weight), 0.9);
      context.beginPath();
      if (!down && !right) { // An action that stays.
        context.arc(x, y, (0.05 + 0.08 * weight) * side, 0, 2 * Math.PI);
        context.fill();
        continue;
      }
      context.moveTo(x, y);
      context.lineTo(tipX - right * head, tipY - down * head);
      context.stroke();
      context.beginPath();
      context.moveTo(tipX, tipY);
      context.lineTo(tipX - right * head * 1.5 - down * head, tipY - down * head * 1.5 - right * head);
      context.lineTo(tipX - right * head * 1.5 + down * head, tipY - down * head * 1.5 + right * head);
      context.fill();
    }
  }
  context.globalAlpha = 1;
}

// The state under a pointer.
function stateAt(canvas, world, event) {
  const box = canvas.getBoundingClientRect(), [rows, columns] = shapeOf(world);
  const column = Math.floor(((event.clientX - box.left) / box.width) * columns);
  const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
  const state = row * columns + column;
  return column >= 0 && column < columns && state >= 0 && state < world.states ? state : null;
}
