// A small world that is no grid, as circles with arrows.

// Places on the canvas, with room for the circles.
function placesOf(world, width, height) {
  const xs = world.positions.map(([x]) => x), ys = world.positions.map(([, y]) => y);
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)], room = 34;
  const across = (x) => room + ((x - left) / (right - left || 1)) * (width - 2 * room);
  const down = (y) => height - room - ((y - low) / (high - low || 1)) * (height - 2 * room);
  return world.positions.map(([x, y]) => [right > left ? across(x) : width / 2, high > low ? down(y) : height / 2]);
}

function drawGraph(canvas, world, { values, colors, policy = null, chosen = null, path = [] }) {
  const [context, width, height] = prepare(canvas, 0.72), places = placesOf(world, width, height), actions = world.actions.length;
  const size = Math.max(9, Math.min(16, 90 / Math.sqrt(world.states)));
  context.fillStyle = token("card");
  context.fillRect(0, 0, width, height);
  context.lineCap = "round";
  for (let state = 0; state < world.states; state++) {
    const shares = new Map();
    world.targets[state].forEach((target, action) => {
      const weight = policy ? policy[state * actions + action] : 0.3;
      if (target !== state && weight > 0) shares.set(target, (shares.get(target) ?? 0) + weight);
    });
    for (const [target, weight] of shares) if (weight > 0.02) link(context, places[state], places[target], size, Math.min(weight, 1), token("player"));
  }
  for (let i = 1; i < path.length; i++) if (path[i] !== path[i - 1]) link(context, places[path[i - 1]], places[path[i]], size, 1, token("expert"));
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = `600 ${Math.max(9, size * 0.85)}px system-ui, sans-serif`;
  places.forEach(([x, y], state) => {
    const color = colors.of(values[state]);
    context.beginPath();
    context.arc(x, y, size, 0, 2 * Math.PI);
    context.fillStyle = css(color);
    context.fill();
    context.lineWidth = state === chosen ? 4 : 1;
    context.strokeStyle = state === chosen ? token("accent") : token("track");
    context.stroke();
    context.fillStyle = 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2] > 140 ? "#111" : "#fff";
    context.fillText(`${state}`, x, y + 0.5);
  });
}

// An arrow from one circle to another, bent so that the one back does not hide it.
function link(context, [x, y], [toX, toY], size, weight, color) {
  const [right, down] = [toX - x, toY - y], length = Math.hypot(right, down) || 1, bend = 0.14 * length;
  const [midX, midY] = [(x + toX) / 2 - (down / length) * bend, (y + toY) / 2 + (right / length) * bend];
  const [endX, endY] = [toX - midX, toY - midY], tail = Math.hypot(endX, endY) || 1;
  const [tipX, tipY] = [toX - (endX / tail) * (size + 2), toY - (endY / tail) * (size + 2)], head = 5 + 3 * weight;
  context.globalAlpha = 0.2 + 0.8 * weight;
  context.strokeStyle = context.fillStyle = color;
  context.lineWidth = 0.8 + 2.2 * weight;
  context.beginPath();
  context.moveTo(x, y);
  context.quadraticCurveTo(midX, midY, tipX - (endX / tail) * head, tipY - (endY / tail) * head);
  context.stroke();
  context.beginPath();
  context.moveTo(tipX, tipY);
  for (const side of [1, -1]) {
    context.lineTo(tipX - (endX / tail) * head * 1.4 - (side * endY / tail) * head * 0.7, tipY - (endY / tail) * head * 1.4 + (side * endX / tail) * head * 0.7);
  }
  context.fill();
  context.globalAlpha = 1;
}

function nodeAt(canvas, world, event) {
  const box = canvas.getBoundingClientRect(), [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const apart = placesOf(world, box.width, box.height).map(([px, py]) => Math.hypot(px - x, py - y));
  const nearest = apart.indexOf(Math.min(...apart));
  return apart[nearest] < 40 ? nearest : null;
}
