// Where a ray meets a ground: all its heights, not the triangles that are drawn just now.

const MOST = 4000; // points that are looked at along a ray
const BISECTIONS = 40;

/** The first point of origin + t direction, 0 < t < far, that is on the ground; null where there is none. THREE vectors. */
export function meet(ground, origin, direction, far) {
  const { x, y, z } = ground.data;
  const lift = 1e-3 + 0.01 * (z[1] - z[0]);
  let [from, to] = [0, far];
  for (const [key, [low, high]] of [["x", x], ["y", y], ["z", [z[0] - lift, z[1] + lift]]]) {
    const rate = direction[key];
    if (Math.abs(rate) < 1e-12) {
      if (origin[key] < low || origin[key] > high) return null;
      continue;
    }
    const [a, b] = [(low - origin[key]) / rate, (high - origin[key]) / rate];
    from = Math.max(from, Math.min(a, b));
    to = Math.min(to, Math.max(a, b));
  }
  if (!(from < to)) return null;
  const above = (t) => origin.z + t * direction.z - ground.heightAt(origin.x + t * direction.x, origin.y + t * direction.y);
  const cell = Math.min((x[1] - x[0]) / (ground.nx - 1), (y[1] - y[0]) / (ground.ny - 1));
  const steps = Math.min(Math.max(Math.ceil((2 * (to - from)) / cell), 8), MOST);
  let before = above(from);
  for (let k = 1; k <= steps; k++) {
    const t = from + ((to - from) * k) / steps;
    const now = above(t);
    if (before * now <= 0) {
      const hit = cross(above, from + ((to - from) * (k - 1)) / steps, t);
      const point = origin.clone().addScaledVector(direction, hit);
      if (ground.covers(point.x, point.y)) return point;
    }
    before = now;
  }
  return null;
}

/** Where a function that changes its sign between a and b is zero. */
function cross(f, a, b) {
  const side = f(a) > 0;
  for (let k = 0; k < BISECTIONS; k++) {
    const middle = 0.5 * (a + b);
    if (f(middle) > 0 === side) a = middle;
    else b = middle;
  }
  return 0.5 * (a + b);
}
