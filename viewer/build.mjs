// Builds the viewer: scripts, style sheets, the pages, and the licence of three.js beside them.
// A hash of the sources goes along, so that a test can tell when the built files are older than they.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../src/grouser/view/viewer");
mkdirSync(out, { recursive: true });

const common = { bundle: true, minify: true, charset: "ascii", logLevel: "warning" };

// The page of a recorded run, and the page of a live drive; what both need, three.js above all, is a script of its own.
const { outputFiles } = await build({
  ...common,
  entryPoints: { viewer: join(here, "src/main.js"), live: join(here, "src/live/main.js") },
  outdir: out,
  chunkNames: "shared",
  splitting: true,
  write: false,
  format: "esm",
  target: "es2022",
  legalComments: "inline",
});
for (const { path, text } of outputFiles) writeFileSync(path, classic(text));
await build({ ...common, entryPoints: { viewer: join(here, "src/viewer.css"), live: join(here, "src/live/live.css") }, outdir: out });
copyFileSync(join(here, "src/page.html"), join(out, "page.html"));
copyFileSync(join(here, "src/live/live.html"), join(out, "live.html"));
copyFileSync(join(here, "node_modules/three/LICENSE"), join(out, "three.LICENSE"));

// The same sum as in tests/view/test_viewer_page.py: names and contents of the sources, sorted, and the locked versions.
const sum = createHash("sha256");
const sources = readdirSync(join(here, "src"), { recursive: true, withFileTypes: true })
  .filter((file) => file.isFile())
  .map((file) => relative(here, join(file.parentPath, file.name)))
  .sort();
for (const name of [...sources, "build.mjs", "package-lock.json"]) {
  sum.update(`${name}\n`);
  sum.update(readFileSync(join(here, name)));
}
writeFileSync(join(out, "sources.sha256"), `${sum.digest("hex")}\n`);

/** A module as a script that stands in a page: what one exports and the other imports goes by a name in between. */
function classic(module) {
  const shared = "window.grouserShared";
  const text = module
    .replace(/^import\{([^}]*)\}from"\.\/shared\.js";/m, (_, names) => `const{${names.replaceAll(" as ", ":")}}=${shared};`)
    .replace(/export\{([^}]*)\};\s*$/, (_, names) => `${shared}={${names.split(",").map((one) => one.split(" as ").reverse().join(":")).join()}};`);
  if (/^(import|export)\b/m.test(text)) throw new Error("a module that is not a script: see classic() in build.mjs");
  return `(()=>{"use strict";\n${text}})();\n`;
}
