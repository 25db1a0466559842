// Arrays of a scene: base64 with type and shape, back to typed arrays.

const TYPES = { f8: Float64Array, f4: Float32Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array };

/** The typed array of an encoded one, its shape beside it as `.shape`. Little-endian, as every browser's machine is. */
export function decode(encoded) {
  const values = new TYPES[encoded.type](bytesOf(encoded.base64).buffer);
  values.shape = encoded.shape;
  return values;
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** The scene that the page carries. */
export function readScene() {
  return JSON.parse(document.getElementById("scene").textContent);
}
