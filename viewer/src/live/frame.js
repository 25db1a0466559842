// Messages of the stream: kind and length before each; pictures are float64, in the order of live/frame.py.

export const FRAME = 1;
export const NEWS = 2;
export const PATH = 3;
const CONTACT = 11;

/** Cuts bytes, as they come, into messages. */
export class Messages {
  constructor(take) {
    this.take = take;
    this.bytes = new Uint8Array(0);
  }

  push(chunk) {
    let bytes = chunk;
    if (this.bytes.length) {
      bytes = new Uint8Array(this.bytes.length + chunk.length);
      bytes.set(this.bytes);
      bytes.set(chunk, this.bytes.length);
    }
    let at = 0;
    while (bytes.length - at >= 8) {
      const head = new DataView(bytes.buffer, bytes.byteOffset + at, 8);
      const [kind, length] = [head.getUint32(0, true), head.getUint32(4, true)];
      if (bytes.length - at - 8 < length) break;
      this.take(kind, bytes.slice(at + 8, at + 8 + length));
      at += 8 + length;
    }
    this.bytes = bytes.slice(at);
  }
}

/** Reads pictures of one vehicle. */
export class Frames {
  constructor(head, frames, wheels) {
    Object.assign(this, { head, frames, wheels });
    this.poses = head.length;
    this.contacts = this.poses + 7 * frames;
  }

  /** Numbers by name, and the values they come from. */
  read(bytes) {
    const values = new Float64Array(bytes.buffer, 0, bytes.length / 8);
    const numbers = Object.fromEntries(this.head.map((name, i) => [name, values[i]]));
    return { ...numbers, values, came: performance.now() };
  }

  /** Pose of a frame in its parent, into a THREE quaternion and vector. */
  pose({ values }, frame, q, p) {
    const at = this.poses + 7 * frame;
    q.set(values[at + 1], values[at + 2], values[at + 3], values[at]);
    p.set(values[at + 4], values[at + 5], values[at + 6]);
  }

  vector({ values }, wheel, part, out) {
    const at = this.contacts + CONTACT * wheel + 3 * part;
    return out.set(values[at], values[at + 1], values[at + 2]);
  }

  point(frame, wheel, out) {
    return this.vector(frame, wheel, 0, out);
  }

  force(frame, wheel, out) {
    return this.vector(frame, wheel, 1, out);
  }

  slip(frame, wheel, out) {
    return this.vector(frame, wheel, 2, out);
  }

  /** Normal force [N] of each wheel. */
  loads({ values }) {
    return Array.from({ length: this.wheels }, (_, w) => values[this.contacts + CONTACT * w + 9]);
  }

  /** Slip speed [m/s] of each wheel. */
  slips({ values }) {
    return Array.from({ length: this.wheels }, (_, w) => values[this.contacts + CONTACT * w + 10]);
  }
}
