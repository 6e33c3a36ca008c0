// Bundles src into the script and the style sheet that hone carries. The same sources give the same
// bytes; the bundle names its sources by a hash, by which `make lint` sees that it is theirs.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { build } from "esbuild";

const sources = ["build.mjs", "package-lock.json", ...readdirSync("src").map((name) => `src/${name}`)].sort();
const hash = createHash("sha256");
for (const name of sources) hash.update(name + "\n").update(readFileSync(name));
const made = `Made of web/ by npm run build; its sources: ${hash.digest("hex")}`;
const licenses = ["preact", "uplot"].map((name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8")}`);

await build({
  entryPoints: { script: "src/main.jsx", style: "src/style.css" },
  outdir: "../src/report/page",
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome111", "firefox113", "safari16.2"],
  charset: "ascii",
  jsxFactory: "h",
  legalComments: "none",
  banner: { js: `/* ${made}\n\n${licenses.join("\n")}*/`, css: `/* ${made} */` },
});
