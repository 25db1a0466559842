// Axes of a chart: which range it has, where its ticks are, and what they say.

const SIZE = 11; // pixels of tick text
export const FONT = `${SIZE}px system-ui, sans-serif`;

/** Lowest and highest value, widened so that curves that are constant but for rounding look constant. */
export function span(curves, least) {
  let [low, high] = [Infinity, -Infinity];
  for (const { values } of curves) {
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (!(low <= high)) return [0, 1];
  const more = Math.max(least - (high - low), 0.08 * (high - low)) / 2;
  return [low >= 0 && low < 0.3 * high ? 0 : low - more, high + more];
}

/** Round numbers from low to high, about as many as wanted, and what they are called. */
export function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(wanted, 1);
  if (!(rough > 0)) return [{ at: low, text: written(low, 0) }];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough * 0.999);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const found = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + 1e-9 * step; v += step) {
    found.push({ at: v, text: written(v, digits) });
  }
  return found;
}

function written(value, digits) {
  const far = Math.abs(value) >= 1e5 || digits > 5;
  const text = far ? String(Number(value.toPrecision(6))).replace("e+", "e") : value.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

/**
 * Draw the axes of a chart of some size [px] over a duration [s] and a range of values.
 * Ticks are as many as there is room for; the left margin is as wide as their texts. Returns the scales x(t) and y(v).
 */
export function drawAxes(pen, { width, height, duration, range: [low, high], line, ink }) {
  pen.font = FONT;
  pen.lineWidth = 1;
  pen.strokeStyle = line;
  pen.fillStyle = ink;
  const [top, bottom, right] = [0.6 * SIZE, 1.7 * SIZE, 10];
  const values = ticks(low, high, Math.min(Math.max(Math.floor((height - top - bottom) / 20), 2), 6));
  const left = Math.max(46, ...values.map(({ text }) => Math.ceil(pen.measureText(text).width) + 10));
  const x = (t) => left + ((width - left - right) * t) / Math.max(duration, 1e-9);
  const y = (v) => height - bottom - ((height - top - bottom) * (v - low)) / (high - low);
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const { at, text } of values) {
    const level = Math.round(y(at)) + 0.5;
    pen.beginPath();
    pen.moveTo(left, level);
    pen.lineTo(width - right, level);
    pen.stroke();
    pen.fillText(text, left - 6, y(at));
  }
  drawTimes(pen, { x, width, height, duration, room: width - left - right });
  return { x, y, left, right };
}

/** Ticks of time: fewer where their texts would touch. */
function drawTimes(pen, { x, width, height, duration, room }) {
  pen.textAlign = "center";
  pen.textBaseline = "alphabetic";
  for (let wanted = Math.min(Math.max(Math.floor(room / 45), 1), 8); wanted > 0; wanted--) {
    const found = ticks(0, duration, wanted);
    const placed = found.map(({ at, text }, i) => {
      const said = i === found.length - 1 ? `${text} s` : text;
      const half = pen.measureText(said).width / 2;
      return { said, half, at: Math.min(Math.max(x(at), half), width - half - 1) };
    });
    const clear = placed.every((one, i) => i === 0 || placed[i - 1].at + placed[i - 1].half + 8 < one.at - one.half);
    if (!clear && wanted > 1) continue;
    for (const { said, at } of clear ? placed : placed.slice(-1)) pen.fillText(said, at, height - 4);
    return;
  }
}

/** A line through the values; where there are more than pixels, the lowest and highest of each pixel. */
export function trace(pen, { time, values, colour }, x, y, width) {
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.lineJoin = "round";
  pen.beginPath();
  const each = Math.max(1, Math.floor(values.length / (2 * width)));
  for (let i = 0; i < values.length; i += each) {
    let [low, high] = [i, i];
    for (let k = i; k < Math.min(i + each, values.length); k++) {
      if (values[k] < values[low]) low = k;
      if (values[k] > values[high]) high = k;
    }
    for (const k of low <= high ? [low, high] : [high, low]) pen.lineTo(x(time[k]), y(values[k]));
  }
  pen.stroke();
}
