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
  const merged = isObject(target) ? { ...target } : {};
  for (const key of Object.keys(patch)) {
    if (patch[key] === null) {
      delete merged[key];
    } else {
      const own = Object.hasOwn(merged, key) ? merged[key] : undefined;
      // Not by assignment: that would run the setter of a key named `__proto__`.
      Object.defineProperty(merged, key, {
        value: mergePatch(own, patch[key]),
        configurable: true,
        enumerable: true,
        writable: true,
      });
    }
  }
  return merged;
}

/**
 * @param {any} value
 * @returns {value is Record<string, any>}
 */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
