// The table of tools and arguments, which the clients in both languages share; and how its `$names` become ids.

import { readFileSync } from "node:fs";

export const TABLE = JSON.parse(readFileSync(new URL("../tools.json", import.meta.url)));

/** The most bytes that a result of this tool may have. */
export function bytesMax(tool) {
  return tool.bytes_max ?? TABLE.bytes_max[tool.list ? "list" : "result"];
}

/** The arguments with each `$name` replaced; null if an id is missing. */
export function resolve(value, ids) {
  if (typeof value === "string" && value.startsWith("$")) return ids[value.slice(1)] ?? null;
  if (Array.isArray(value)) return complete(value.map((part) => resolve(part, ids)), (all) => all);
  if (value && typeof value === "object") {
    return complete(Object.entries(value).map(([name, part]) => [name, resolve(part, ids)]), Object.fromEntries);
  }
  return value;
}

function complete(parts, join) {
  return parts.some((part) => part === null || part?.[1] === null) ? null : join(parts);
}

/** The first value of this field anywhere in a document, nearest to its top first. */
export function firstField(document, field) {
  let level = [document];
  while (level.length > 0) {
    for (const part of level) if (part && !Array.isArray(part) && (part[field] ?? null) !== null) return part[field];
    level = level.flatMap((part) => Object.values(part)).filter((part) => part && typeof part === "object");
  }
  return null;
}

/** All values of this field in a document. */
export function allFields(document, field) {
  if (!document || typeof document !== "object") return [];
  const own = !Array.isArray(document) && (document[field] ?? null) !== null ? [document[field]] : [];
  return own.concat(...Object.values(document).map((part) => allFields(part, field)));
}

/** All texts of a document. */
export function allText(document) {
  if (typeof document === "string") return document;
  return document && typeof document === "object" ? Object.values(document).map(allText).join("\n") : "";
}
