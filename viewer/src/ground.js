// The ground: a block of heights, shaded, with contours and a grid that are drawn per pixel.

import * as THREE from "three";
import { decode } from "./decode.js";

const VERTEX = `
  varying vec3 vGround;
`;
const FRAGMENT = `
  varying vec3 vGround;
  uniform vec3 low, middle, high, ink;
  uniform vec2 span;
  uniform float contour, grid, lines;

  // How much of a line every whole number of v covers this pixel, for a line of some width in pixels.
  float ruled(float v, float width) {
    float step = max(fwidth(v), 1e-7);
    float fine = 1.0 - smoothstep(0.3, 0.6, step);  // lines closer than two pixels fade away
    return fine * (1.0 - smoothstep(0.5 * width - 0.5, 0.5 * width + 0.5, abs(fract(v - 0.5) - 0.5) / step));
  }
`;
const COLOUR = `
  float part = span.y - span.x > 1e-5 ? clamp((vGround.z - span.x) / (span.y - span.x), 0.0, 1.0) : 0.5;
  diffuseColor.rgb = part < 0.5 ? mix(low, middle, 2.0 * part) : mix(middle, high, 2.0 * part - 1.0);
  if (lines > 0.5) {
    float net = max(ruled(vGround.x / grid, 1.0), ruled(vGround.y / grid, 1.0));
    float net5 = max(ruled(vGround.x / (5.0 * grid), 1.4), ruled(vGround.y / (5.0 * grid), 1.4));
    float drawn = max(0.13 * net, 0.26 * net5);
    if (contour > 0.0) {
      float slope = fwidth(vGround.z) / max(length(fwidth(vGround.xy)), 1e-9);
      float steep = smoothstep(0.003, 0.02, slope);  // level ground at a contour's height is no line
      drawn = max(drawn, steep * max(0.34 * ruled(vGround.z / contour, 1.1), 0.6 * ruled(vGround.z / (5.0 * contour), 1.7)));
    }
    diffuseColor.rgb = mix(diffuseColor.rgb, ink, drawn);
  }
`;

export class Ground {
  constructor(data) {
    this.data = data;
    this.description = data.description;
    [this.ny, this.nx] = data.height.shape;
    this.z = heights(data);
    this.uniforms = {
      low: { value: new THREE.Color() },
      middle: { value: new THREE.Color() },
      high: { value: new THREE.Color() },
      ink: { value: new THREE.Color() },
      span: { value: new THREE.Vector2(...data.z) },
      contour: { value: data.contour ?? 0 },
      grid: { value: data.grid },
      lines: { value: 1 },
    };
    this.object = new THREE.Group();
    this.inside = data.inside ? decode(data.inside) : null;
    this.indices = {};
    const surface = new THREE.Mesh(this.surface(), this.material());
    surface.receiveShadow = true;
    this.mesh = surface;
    this.sides = new THREE.Mesh(this.skirt(), new THREE.MeshPhongMaterial({ specular: "#000000" }));
    this.object.add(surface, this.sides);
    this.setFine(false);
  }

  paint(theme) {
    const { low, middle, high, ink } = this.uniforms;
    low.value = theme.colour("--ground-low");
    middle.value = theme.colour("--ground-middle");
    high.value = theme.colour("--ground-high");
    ink.value = theme.colour("--ground-ink");
    this.sides.material.color = theme.colour("--ground-side");
    this.sides.material.emissive = theme.colour("--ground-side").multiplyScalar(0.7);
  }

  /** A ground that is not that of the followed run is seen through. */
  setGhost(ghost) {
    const { material } = this.mesh;
    if (material.transparent !== ghost) material.needsUpdate = true;
    Object.assign(material, { transparent: ghost, opacity: ghost ? 0.38 : 1, depthWrite: !ghost });
    this.mesh.receiveShadow = !ghost;
    this.sides.visible = !ghost;
  }

  showLines(on) {
    this.uniforms.lines.value = on ? 1 : 0;
  }

  /** Height [m] at a place, relative to the scene's origin; the nearest known where the map ends. */
  heightAt(x, y) {
    const { at, a, b } = this.cell(x, y);
    const near = (1 - a) * this.z[at] + a * this.z[at + 1];
    const far = (1 - a) * this.z[at + this.nx] + a * this.z[at + this.nx + 1];
    return (1 - b) * near + b * far;
  }

  /** Gradient of the height there, along x and y. */
  gradientAt(x, y) {
    const { at, a, b } = this.cell(x, y);
    const { z, nx, ny, data: { x: [x0, x1], y: [y0, y1] } } = this;
    const u = (1 - b) * (z[at + 1] - z[at]) + b * (z[at + nx + 1] - z[at + nx]);
    const v = (1 - a) * (z[at + nx] - z[at]) + a * (z[at + nx + 1] - z[at + 1]);
    return [(u * (nx - 1)) / (x1 - x0), (v * (ny - 1)) / (y1 - y0)];
  }

  /** Name of the soil there; null where the ground has none. */
  soilAt(x, y) {
    const { soil } = this.data;
    if (!soil) return null;
    this.soils ??= decode(soil.at);
    const { at, a, b } = this.cell(x, y);
    return soil.names[this.soils[at + (a > 0.5 ? 1 : 0) + (b > 0.5 ? this.nx : 0)]];
  }

  /** Whether the map has heights around a place. */
  covers(x, y) {
    const { inside, nx, data: { x: [x0, x1], y: [y0, y1] } } = this;
    if (!(x >= x0 && x <= x1 && y >= y0 && y <= y1)) return false;
    const { at } = this.cell(x, y);
    return !inside || Boolean(inside[at] && inside[at + 1] && inside[at + nx] && inside[at + nx + 1]);
  }

  /** First height of the cell that a place is in, and how far it is across, 0 to 1 each way. */
  cell(x, y) {
    const { x: [x0, x1], y: [y0, y1] } = this.data;
    const u = clamp(((x - x0) / (x1 - x0)) * (this.nx - 1), this.nx);
    const v = clamp(((y - y0) / (y1 - y0)) * (this.ny - 1), this.ny);
    const [i, j] = [Math.min(Math.floor(u), this.nx - 2), Math.min(Math.floor(v), this.ny - 2)];
    return { at: j * this.nx + i, a: u - i, b: v - j };
  }

  material() {
    const material = new THREE.MeshPhongMaterial({
      specular: "#000000",
      side: THREE.DoubleSide,
      polygonOffset: true, // lines that lie on the ground stay visible
      polygonOffsetFactor: 1.5,
      polygonOffsetUnits: 4,
    });
    material.onBeforeCompile = (shader) => {
      Object.assign(shader.uniforms, this.uniforms);
      shader.vertexShader = VERTEX + shader.vertexShader.replace(
        "#include <begin_vertex>", "#include <begin_vertex>\nvGround = position;");
      shader.fragmentShader = FRAGMENT + shader.fragmentShader.replace(
        "#include <color_fragment>", `#include <color_fragment>\n${COLOUR}`);
    };
    return material;
  }

  place(i, j, out, at) {
    const { x: [x0, x1], y: [y0, y1] } = this.data;
    out[at] = x0 + ((x1 - x0) * i) / (this.nx - 1);
    out[at + 1] = y0 + ((y1 - y0) * j) / (this.ny - 1);
    out[at + 2] = this.z[j * this.nx + i];
  }

  surface() {
    const { nx, ny } = this;
    const positions = new Float32Array(3 * nx * ny);
    const normals = new Float32Array(3 * nx * ny);
    for (let j = 0; j < ny; j++) {
      for (let i = 0; i < nx; i++) {
        this.place(i, j, positions, 3 * (j * nx + i));
        this.normal(i, j, normals, 3 * (j * nx + i));
      }
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(positions, 3));
    geometry.setAttribute("normal", new THREE.BufferAttribute(normals, 3));
    return geometry;
  }

  /** From the heights on either side, as far as they are known. */
  normal(i, j, out, at) {
    const { nx, ny, z, inside, data: { x: [x0, x1], y: [y0, y1] } } = this;
    const here = j * nx + i;
    const known = (there) => (inside && !inside[there] ? here : there);
    const [a, b] = [known(i > 0 ? here - 1 : here), known(i < nx - 1 ? here + 1 : here)];
    const [c, d] = [known(j > 0 ? here - nx : here), known(j < ny - 1 ? here + nx : here)];
    const u = b > a ? ((z[b] - z[a]) * (nx - 1)) / ((b - a) * (x1 - x0)) : 0;
    const v = d > c ? ((z[d] - z[c]) * (ny - 1) * nx) / ((d - c) * (y1 - y0)) : 0;
    const length = Math.hypot(u, v, 1);
    out[at] = -u / length;
    out[at + 1] = -v / length;
    out[at + 2] = 1 / length;
  }

  /** Of all heights, or of every fourth each way; each is made when it is first wanted. */
  setFine(fine) {
    const kind = fine ? "fine" : "coarse";
    this.indices[kind] ??= new THREE.BufferAttribute(this.triangles(fine ? 1 : 4), 1);
    this.mesh.geometry.setIndex(this.indices[kind]);
  }

  triangles(step) {
    const columns = steps(this.nx, step);
    const rows = steps(this.ny, step);
    const { nx } = this;
    const { inside } = this;
    const indices = new Uint32Array(6 * (columns.length - 1) * (rows.length - 1));
    let n = 0;
    for (let j = 0; j + 1 < rows.length; j++) {
      for (let i = 0; i + 1 < columns.length; i++) {
        const [a, b] = [rows[j] * nx + columns[i], rows[j] * nx + columns[i + 1]];
        const [c, d] = [rows[j + 1] * nx + columns[i], rows[j + 1] * nx + columns[i + 1]];
        if (inside && !(inside[a] && inside[b] && inside[c] && inside[d])) continue;
        indices[n++] = a;
        indices[n++] = b;
        indices[n++] = c;
        indices[n++] = b;
        indices[n++] = d;
        indices[n++] = c;
      }
    }
    return indices.slice(0, n);
  }

  /** The sides of the block, down to a little below the lowest ground. */
  skirt() {
    const { nx, ny, data } = this;
    if (data.inside) return new THREE.BufferGeometry();
    const extent = Math.min(data.x[1] - data.x[0], data.y[1] - data.y[0]);
    const bottom = data.z[0] - 0.04 * extent;
    const positions = [];
    const corner = [0, 0, 0];
    const wall = (i, j, k, l) => {
      this.place(i, j, corner, 0);
      const [ax, ay, az] = corner;
      this.place(k, l, corner, 0);
      const [bx, by, bz] = corner;
      positions.push(ax, ay, bottom, bx, by, bottom, bx, by, bz, ax, ay, bottom, bx, by, bz, ax, ay, az);
    };
    for (let i = 0; i < nx - 1; i++) {
      wall(i, 0, i + 1, 0);
      wall(i + 1, ny - 1, i, ny - 1);
    }
    for (let j = 0; j < ny - 1; j++) {
      wall(nx - 1, j, nx - 1, j + 1);
      wall(0, j + 1, 0, j);
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.Float32BufferAttribute(positions, 3));
    geometry.computeVertexNormals();
    return geometry;
  }
}

/** 0, step, 2 step, … and the last. */
function steps(count, step) {
  const found = [];
  for (let i = 0; i < count - 1; i += step) found.push(i);
  return [...found, count - 1];
}

function heights(data) {
  const levels = decode(data.height);
  const [low, high] = data.z;
  const found = new Float32Array(levels.length);
  for (let i = 0; i < levels.length; i++) found[i] = low + ((high - low) * levels[i]) / 65535;
  return found;
}

function clamp(value, count) {
  return Math.min(Math.max(value, 0), count - 1);
}
