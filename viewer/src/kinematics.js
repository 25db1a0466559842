// Where every frame of a vehicle is: forward kinematics in double precision, the engine's T Algorithm 1.
// Poses are twelve numbers of a flat array: R_world_frame by rows, then p_world_frame.

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

/** State between two rows: exactly the row where part is 0; else linear, the quaternion along the shorter way. */
export function stateAt(states, row, part, out) {
  const n = states.shape[1];
  const a = row * n;
  if (part === 0) {
    for (let k = 0; k < n; k++) out[k] = states[a + k];
    return out;
  }
  const b = a + n;
  let dot = 0;
  for (let k = 0; k < 4; k++) dot += states[a + k] * states[b + k];
  const side = dot < 0 ? -1 : 1;
  for (let k = 0; k < 4; k++) out[k] = (1 - part) * states[a + k] + part * side * states[b + k];
  for (let k = 4; k < n; k++) out[k] = (1 - part) * states[a + k] + part * states[b + k];
  return out;
}

/** R_world_frame and p_world_frame of every frame, into `poses` (12 per frame). */
export function poseFrames(frames, state, poses) {
  fromQuaternion(state, poses);
  for (let k = 0; k < 3; k++) poses[9 + k] = state[4 + k];
  for (let i = 1; i < frames.length; i++) {
    const { parent, joint, rotation, offset } = frames[i];
    const up = 12 * parent;
    const at = 12 * i;
    const q = state[6 + i];
    for (let r = 0; r < 3; r++) {
      const [a, b, c] = [poses[up + 3 * r], poses[up + 3 * r + 1], poses[up + 3 * r + 2]];
      for (let k = 0; k < 3; k++) poses[at + 3 * r + k] = a * rotation[k] + b * rotation[3 + k] + c * rotation[6 + k];
      poses[at + 9 + r] = poses[up + 9 + r] + a * offset[0] + b * offset[1] + c * offset[2];
    }
    if (joint >= 3) slide(poses, at, joint - 3, q);
    else turn(poses, at, joint, q);
  }
  return poses;
}

function fromQuaternion(state, poses) {
  const length = Math.hypot(state[0], state[1], state[2], state[3]);
  const [w, x, y, z] = [state[0] / length, state[1] / length, state[2] / length, state[3] / length];
  poses[0] = 1 - 2 * (y * y + z * z);
  poses[1] = 2 * (x * y - w * z);
  poses[2] = 2 * (x * z + w * y);
  poses[3] = 2 * (x * y + w * z);
  poses[4] = 1 - 2 * (x * x + z * z);
  poses[5] = 2 * (y * z - w * x);
  poses[6] = 2 * (x * z - w * y);
  poses[7] = 2 * (y * z + w * x);
  poses[8] = 1 - 2 * (x * x + y * y);
}

function slide(poses, at, axis, distance) {
  for (let r = 0; r < 3; r++) poses[at + 9 + r] += poses[at + 3 * r + axis] * distance;
}

function turn(poses, at, axis, angle) {
  const j = (axis + 1) % 3;
  const k = (axis + 2) % 3;
  const c = Math.cos(angle);
  const s = Math.sin(angle);
  for (let r = 0; r < 3; r++) {
    const a = poses[at + 3 * r + j];
    const b = poses[at + 3 * r + k];
    poses[at + 3 * r + j] = c * a + s * b;
    poses[at + 3 * r + k] = c * b - s * a;
  }
}
