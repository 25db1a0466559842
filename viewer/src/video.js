// A video of a run: picture k shows the time k·speed/rate and is seen at k/rate, however long it takes to draw it.

import { Snapshot } from "./snapshot.js";
import { webm } from "./webm.js";

const CODECS = [["vp09.00.50.08", "V_VP9"], ["vp8", "V_VP8"]];
const KEYS = 2; // seconds from one whole picture to the next
const WAITING = 4; // pictures that may wait for the encoder
export const CANNOT = "This browser cannot encode WebM video; Chrome and Edge can, and Firefox from version 130 on.";

/** What encodes pictures of a size; null where the browser cannot. */
export async function encoding(width, height, rate) {
  if (typeof VideoEncoder === "undefined") return null;
  for (const [codec, name] of CODECS) {
    // 0.12 bits for each pixel: sharp edges, moderate files.
    const config = { codec, width, height, framerate: rate, bitrate: Math.round(0.12 * width * height * rate) };
    try {
      const { supported } = await VideoEncoder.isConfigSupported(config);
      if (supported) return { config, name };
    } catch {
      // the next one
    }
  }
  return null;
}

/** The whole run as a WebM Blob; null if `stopped()` says so between two pictures. Throws where the browser cannot. */
export async function record({ stage, clock, width, height, rate, speed, progress, stopped }) {
  const found = await encoding(width, height, rate);
  if (!found) throw new Error(CANNOT);
  const count = Math.max(1, Math.floor((clock.duration / speed) * rate + 1e-9) + 1);
  const chunks = [];
  let failed = null;
  const encoder = new VideoEncoder({
    output: (chunk) => {
      const bytes = new Uint8Array(chunk.byteLength);
      chunk.copyTo(bytes);
      chunks.push({ time: Math.round(chunk.timestamp / 1000), key: chunk.type === "key", bytes });
    },
    error: (error) => { failed = error; },
  });
  encoder.configure(found.config);
  const before = clock.time;
  clock.pause();
  const snapshot = new Snapshot(stage, width, height);
  try {
    for (let k = 0; k < count; k++) {
      clock.seek((k * speed) / rate);
      const frame = new VideoFrame(snapshot.draw(), { timestamp: Math.round((1e6 * k) / rate), duration: Math.round(1e6 / rate) });
      encoder.encode(frame, { keyFrame: k % (KEYS * rate) === 0 });
      frame.close();
      progress((k + 1) / count);
      do await pause();
      while (encoder.encodeQueueSize > WAITING && !failed);
      if (failed) throw failed;
      if (stopped()) return null;
    }
    await encoder.flush();
  } finally {
    if (encoder.state !== "closed") encoder.close();
    snapshot.end();
    clock.seek(before);
  }
  return webm(chunks, { codec: found.name, width, height, duration: (1000 * count) / rate });
}

/** Let the page breathe: others draw, and buttons work. */
function pause() {
  return new Promise((done) => setTimeout(done));
}
