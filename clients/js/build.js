// Builds what is not written by hand: node build.js [--check | --types]
//
//   dist/matchwire.js     one minified module, which the hub compiles into its program and serves
//   src/documents.d.ts    the types of documents and events, from tools/schema/documents.schema.json
//
// With `--check` it writes nothing, and fails if one of these differs from what it would write. `--types` writes the declarations
// of the package into types/, which are not checked in.

import { execFile } from "node:child_process";
import { appendFile, copyFile, readFile, rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { build } from "esbuild";
import { compile } from "json-schema-to-typescript";

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

const SCHEMA = new URL("../../tools/schema/documents.schema.json", top);

/**
 * Documents and events as types: what they refer to, without the frames and commands of the protocol. Then the documents of matches
 * by sport, and those of channels of one segment by name.
 */
async function documentTypes() {
  const schema = await readFile(SCHEMA, "utf8").catch(() => undefined);
  if (schema === undefined) {
    console.error("src/documents.d.ts is not compared: there is no tools/schema/documents.schema.json");
    return readFile(new URL("src/documents.d.ts", top), "utf8");
  }
  const { $defs } = JSON.parse(schema);
  const used = new Set();
  const visit = (value) => {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(visit);
    const { $ref, ...more } = value;
    if ($ref === undefined) return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, visit(it)]));
    const name = $ref.replace("#/$defs/", "");
    if (!used.has(name)) {
      used.add(name);
      types[name] = visit($defs[name]);
    }
    // A reference beside a description would become a type of its own.
    return Object.keys(more).length > 0 ? { ...more, allOf: [{ $ref }] } : value;
  };
  const types = {};
  const roots = visit(["Document", "Event"].map((name) => ({ $ref: `#/$defs/${name}` })));
  const sorted = Object.fromEntries(Object.entries(types).sort(([a], [b]) => (a < b ? -1 : 1)));
  const text = await compile({ title: "DocumentOrEvent", anyOf: roots, $defs: sorted }, "DocumentOrEvent", {
    additionalProperties: false,
    bannerComment: "// From tools/schema/documents.schema.json, by build.js. Do not edit.",
    format: false,
  });
  const { patternProperties } = $defs.DocumentsByChannel;
  const byName = (name, pattern) => {
    const found = Object.entries(patternProperties).map(([channel, { anyOf }]) => [pattern.exec(channel)?.[1], anyOf[0].$ref]);
    const rows = found.filter(([key]) => key !== undefined).map(([key, $ref]) => `${key}: ${$ref.replace("#/$defs/", "")}\n`);
    return `export interface ${name} {\n${rows.join("")}}\n`;
  };
  const matches = byName("Matches", /^\^([a-z]+)\/\[0-9\]\+\$$/);
  return `${text.replace(/[ \t]+$/gm, "")}${matches}${byName("Boards", /^\^([a-z]+)\$$/)}`;
}

async function built() {
  const banner = { js: `/* matchwire ${version}, MIT OR Apache-2.0 */` };
  return new Map([
    ["dist/matchwire.js", await bundle("src/bundle.js", { banner })],
    ["src/documents.d.ts", await documentTypes()],
  ]);
}

/** Declarations, from the comments in the code, and beside them those that are written or generated. */
async function writeTypes() {
  await rm(new URL("types", top), { recursive: true, force: true });
  await promisify(execFile)("npx", ["tsc", "-p", "."], { cwd: top });
  for (const name of ["types.d.ts", "documents.d.ts"]) await copyFile(new URL(`src/${name}`, top), new URL(`types/${name}`, top));
  // Types have no place in code that is not compiled.
  await appendFile(new URL("types/index.d.ts", top), 'export type * from "./types.d.ts";\n');
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const isCheck = process.argv.includes("--check");
  if (process.argv.includes("--types")) await writeTypes();
  else {
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
}
