// Makes the calls that `tsc` has compiled, and compares each answer with the document, in which every object that declares
// members is closed: so a member that is not declared is a fault. One line an operation.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import createClient from "openapi-fetch";

const [url, key, file, compiled] = process.argv.slice(2);
const SHOWN_MAX = 5;

/** The document with closed objects. */
function closed(value) {
  if (Array.isArray(value)) return value.map(closed);
  if (value === null || typeof value !== "object") return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, closed(inner)]));
  const declares = copy.type === "object" && copy.properties && !("additionalProperties" in copy);
  return declares ? { ...copy, additionalProperties: false } : copy;
}

const document = closed(JSON.parse(readFileSync(file, "utf8")));
const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false });
addFormats(ajv);
ajv.addSchema({ ...document, $id: "document" });

const escaped = (part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));

/** What is wrong with an answer; nothing if it is as documented. */
async function faults({ path, method, call }, client) {
  const { data, error, response } = await call(client);
  const at = ["paths", path, method, "responses", String(response.status)];
  let documented = document.paths[path][method].responses[response.status];
  if (!documented) return [`status ${response.status} is not documented: ${JSON.stringify(error)}`];
  let pointer = at.map(escaped).join("/");
  if (documented.$ref) {
    pointer = documented.$ref.slice(2);
    documented = document.components.responses[pointer.split("/").at(-1)];
  }
  if (!documented.content?.["application/json"]) return [];
  const validate = ajv.compile({ $ref: `document#/${pointer}/content/${escaped("application/json")}/schema` });
  if (validate(response.ok ? data : error)) return [];
  return validate.errors.map((it) => `${it.instancePath} ${it.message} ${JSON.stringify(it.params)}`);
}

const { calls } = await import(pathToFileURL(compiled).href);
const client = createClient({ baseUrl: url, headers: { Authorization: `Token ${key}` } });
const found = new Map();
for (const call of calls) {
  const name = document.paths[call.path][call.method].operationId;
  const wrong = await faults(call, client).catch((error) => [String(error)]);
  found.set(name, [...(found.get(name) ?? []), ...wrong]);
}
for (const [name, wrong] of found) {
  // `/results/12` and `/results/13` have the same fault.
  const distinct = [...new Map(wrong.map((it) => [it.replace(/\/\d+/g, "/N"), it])).values()];
  console.log(distinct.length ? `FAILED: ${name}: ${distinct.slice(0, SHOWN_MAX).join("; ")}` : `ok: ${name}`);
}
