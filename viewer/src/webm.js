// A WebM file of encoded pictures: one track, an index, times in milliseconds.

const EBML = 0x1a45dfa3;
const SEGMENT = 0x18538067;
const CUES = 0x1c53bb6b;
const CLUSTER = 0x1f43b675;
const LONGEST = 5000; // milliseconds of a cluster; a block's time in it has 16 bits

/** The file as a Blob. chunks: {time [ms], key, bytes}, in order of time, the first a key picture; duration [ms]. */
export function webm(chunks, { codec, width, height, duration }) {
  const info = element(0x1549a966, element(0x2ad7b1, whole(1e6)), element(0x4489, real(duration)),
    element(0x4d80, text("Grouser")), element(0x5741, text("Grouser")));
  const track = element(0x1654ae6b, element(0xae,
    element(0xd7, whole(1)), element(0x73c5, whole(1)), element(0x9c, whole(0)), element(0x86, text(codec)), element(0x83, whole(1)),
    element(0xe0, element(0xb0, whole(width)), element(0xba, whole(height)))));
  const clusters = grouped(chunks);
  const parts = clusters.map(cluster);
  // Positions in the index count from the first byte of the segment's content; the index has the same length whatever they are.
  const before = info.length + track.length + cues(clusters, clusters.map(() => 0)).length;
  let at = before;
  const places = parts.map((part) => (at += part.length) - part.length);
  const head = element(EBML, element(0x4286, whole(1)), element(0x42f7, whole(1)), element(0x42f2, whole(4)), element(0x42f3, whole(8)),
    element(0x4282, text("webm")), element(0x4287, whole(4)), element(0x4285, whole(2)));
  const segment = element(SEGMENT, info, track, cues(clusters, places), ...parts);
  return new Blob([head, segment], { type: "video/webm" });
}

/** Clusters begin with a key picture. */
function grouped(chunks) {
  const found = [];
  for (const chunk of chunks) {
    const last = found.at(-1);
    if (!last || chunk.key || chunk.time - last[0].time > LONGEST) found.push([chunk]);
    else last.push(chunk);
  }
  return found;
}

function cluster(chunks) {
  const [{ time: start }] = chunks;
  return element(CLUSTER, element(0xe7, whole(start)), ...chunks.map(({ time, key, bytes }) => {
    const after = time - start;
    return element(0xa3, Uint8Array.of(0x81, after >> 8, after & 255, key ? 0x80 : 0), bytes);
  }));
}

function cues(clusters, places) {
  return element(CUES, ...clusters.map(([{ time }], i) => element(0xbb, element(0xb3, whole(time, 4)),
    element(0xb7, element(0xf7, whole(1)), element(0xf1, whole(places[i], 6))))));
}

/** Identity, length, content. */
function element(id, ...parts) {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const name = whole(id);
  const out = new Uint8Array(name.length + 8 + length);
  out.set(name);
  out[name.length] = 0x01; // seven bytes of length follow
  out.set(whole(length, 7), name.length + 1);
  let at = name.length + 8;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** A whole number, big end first, in as few bytes as it needs, or in so many. */
function whole(number, count = Math.max(1, Math.ceil(Math.log2(number + 1) / 8))) {
  return Uint8Array.from({ length: count }, (_, i) => Math.floor(number / 256 ** (count - 1 - i)) % 256);
}

function real(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  return new Uint8Array(view.buffer);
}

function text(letters) {
  return new TextEncoder().encode(letters);
}
