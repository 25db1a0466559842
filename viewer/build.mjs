// Builds the viewer: one script, one style sheet, the page, and the licence of three.js beside them.
// A hash of the sources goes along, so that a test can tell when the built files are older than they.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../src/grouser/view/viewer");
mkdirSync(out, { recursive: true });

// The page of a recorded run, and the page of a live drive.
for (const [script, style, page, name] of [
  ["main.js", "viewer.css", "page.html", "viewer"],
  ["live/main.js", "live/live.css", "live/live.html", "live"],
]) {
  await build({
    entryPoints: [join(here, "src", script)],
    outfile: join(out, `${name}.js`),
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "ascii",
    legalComments: "inline",
  });
  await build({ entryPoints: [join(here, "src", style)], outfile: join(out, `${name}.css`), bundle: true, minify: true, charset: "ascii" });
  copyFileSync(join(here, "src", page), join(out, name === "live" ? "live.html" : "page.html"));
}
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
