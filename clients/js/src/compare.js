// What changed between two documents.

/**
 * Whether two JSON values are equal. Branches that are one object, as after a merge patch, are not entered.
 *
 * @param {any} a
 * @param {any} b
 * @returns {boolean}
 */
export function equal(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
}

/**
 * The part of a document at a path: `score`, `score.home`, or, for keys that contain dots, a list of keys.
 *
 * @param {any} data
 * @param {import("./types.d.ts").Path} path
 * @returns {any}
 */
export function at(data, path) {
  for (const key of typeof path === "string" ? path.split(".") : path) {
    if (typeof data !== "object" || data === null || !Object.hasOwn(data, key)) return undefined;
    data = data[key];
  }
  return data;
}
