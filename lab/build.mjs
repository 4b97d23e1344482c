// Bundles the page into the Python package: `npm ci && npm run build`.
import { copyFileSync, mkdirSync } from "node:fs";
import { build } from "esbuild";

const out = process.env.LAB_OUT ?? "../python/wifair/laboratory/static";
mkdirSync(out, { recursive: true });
const common = { bundle: true, minify: true, target: "es2022", format: "iife", charset: "utf8", legalComments: "none" };
await build({
  ...common,
  entryPoints: { lab: "src/main.ts", worker: "src/worker.ts" },
  loader: { ".toml": "text" },
  outdir: out,
});
await build({ ...common, entryPoints: { lab: "src/style.css" }, outdir: out });
copyFileSync("src/index.html", `${out}/index.html`);
copyFileSync("lessons/lessons.json", `${out}/lessons.json`);
