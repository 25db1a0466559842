// Recorded rows: which one a time falls on, and poses between two of them.

/** The row at or before a time and how far it is to the next, 0 to 1. Before the first and after the last: those. */
export function rowAt(time, t) {
  const last = time.length - 1;
  if (!(t > time[0])) return { row: 0, part: 0 };
  if (t >= time[last]) return { row: last, part: 0 };
  let low = 0;
  let high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (time[middle] <= t) low = middle;
    else high = middle;
  }
  return { row: low, part: (t - time[low]) / (time[high] - time[low]) };
}

/**
 * A pose between two rows of quaternions w x y z and positions, into a THREE quaternion and vector.
 * The quaternion turns evenly from one row to the next, on the arc that their signs give. A single row holds for all.
 */
export function poseAt({ quaternion, position }, row, part, q, p) {
  const [a, b] = ends(quaternion, 4, row, part);
  let [near, far] = [1 - part, part];
  const cosine = quaternion[a] * quaternion[b] + quaternion[a + 1] * quaternion[b + 1]
    + quaternion[a + 2] * quaternion[b + 2] + quaternion[a + 3] * quaternion[b + 3];
  const angle = Math.acos(Math.min(Math.max(cosine, -1), 1));
  if (Math.sin(angle) > 1e-4) [near, far] = [near, far].map((share) => Math.sin(share * angle) / Math.sin(angle));
  const mix = (k) => near * quaternion[a + k] + far * quaternion[b + k];
  q.set(mix(1), mix(2), mix(3), mix(0)).normalize();
  const [c, d] = ends(position, 3, row, part);
  const way = (k) => (1 - part) * position[c + k] + part * position[d + k];
  p.set(way(0), way(1), way(2));
}

function ends(values, width, row, part) {
  if (values.shape[0] === 1) return [0, 0];
  return [width * row, width * (part > 0 ? row + 1 : row)];
}
