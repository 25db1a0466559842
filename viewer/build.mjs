// Builds the viewer: one script, one style sheet, the page, and the licence of three.js beside them.
// A hash of the sources goes along, so that a test can tell when the built files are older than they.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../src/grouser/view/viewer");
mkdirSync(out, { recursive: true });

await build({
  entryPoints: [join(here, "src/main.js")],
  outfile: join(out, "viewer.js"),
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  legalComments: "inline",
});
await build({ entryPoints: [join(here, "src/viewer.css")], outfile: join(out, "viewer.css"), minify: true, charset: "ascii" });
copyFileSync(join(here, "src/page.html"), join(out, "page.html"));
copyFileSync(join(here, "node_modules/three/LICENSE"), join(out, "three.LICENSE"));

// The same sum as in tests/view/test_viewer_page.py: names and contents of the sources, sorted, and the locked versions.
const sum = createHash("sha256");
for (const name of [...readdirSync(join(here, "src")).sort().map((file) => `src/${file}`), "build.mjs", "package-lock.json"]) {
  sum.update(`${name}\n`);
  sum.update(readFileSync(join(here, name)));
}
writeFileSync(join(out, "sources.sha256"), `${sum.digest("hex")}\n`);
