// Builds what is not written by hand: node build.js [--check]
//
//   dist/matchwire.js   one minified module, which the hub compiles into its program and serves
//
// With `--check` it writes nothing, and fails if a file that is checked in differs from what it would write.

import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const top = new URL("./", import.meta.url);
const { version } = JSON.parse(await readFile(new URL("package.json", top), "utf8"));

/** One minified module of an entry and everything that it imports. */
export async function bundle(entry, options = {}) {
  const { outputFiles } = await build({
    absWorkingDir: top.pathname,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    write: false,
    ...options,
  });
  return outputFiles[0].text;
}

async function built() {
  const banner = { js: `/* matchwire ${version}, Apache-2.0 OR MIT */` };
  return new Map([["dist/matchwire.js", await bundle("src/bundle.js", { banner })]]);
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const isCheck = process.argv.includes("--check");
  for (const [name, text] of await built()) {
    const path = new URL(name, top);
    if (!isCheck) {
      await writeFile(path, text);
    } else if ((await readFile(path, "utf8").catch(() => "")) !== text) {
      console.error(`${name} is not what its sources say: run npm run build in clients/js`);
      process.exitCode = 1;
    }
  }
}
