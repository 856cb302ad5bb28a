// JSON merge patches (RFC 7396), and what two documents that share branches have in common.

/**
 * Returns the patched document and leaves `target` as it was: branches that the patch does not touch are the same
 * objects as before, so that a view can see by `===` what changed.
 *
 * @param {any} target
 * @param {any} patch
 * @returns {any}
 */
export function mergePatch(target, patch) {
  if (!isObject(patch)) return patch;
  /** @type {Record<string, any>} */
  const merged = {};
  // Spreading an object with many keys that come and go, such as a ladder, takes engines several times as long.
  if (isObject(target)) for (const key of Object.keys(target)) put(merged, key, target[key]);
  for (const key of Object.keys(patch)) {
    if (patch[key] === null) delete merged[key];
    else put(merged, key, mergePatch(Object.hasOwn(merged, key) ? merged[key] : undefined, patch[key]));
  }
  return merged;
}

/**
 * @param {Record<string, any>} object
 * @param {string} key
 * @param {any} value
 */
function put(object, key, value) {
  // Assigning to a key named `__proto__` would run its setter; for all others it is faster than defining.
  if (key === "__proto__") Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });
  else object[key] = value;
}

/**
 * @param {any} value
 * @returns {value is Record<string, any>}
 */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
