// The canonical form of a document (RFC 8785) and its SHA-256, as the hub computes them for `hash`.

/**
 * Keys sorted by their UTF-16 code units, no spaces; numbers and strings as ECMAScript writes them.
 *
 * @param {any} value from JSON
 * @returns {string}
 */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${members.join()}}`;
}

/**
 * In hexadecimal.
 *
 * @param {any} value from JSON
 * @returns {Promise<string>}
 */
export async function sha256(value) {
  // Only in a secure context: a page over HTTPS, or on this machine.
  const { subtle } = globalThis.crypto ?? {};
  if (!subtle) throw new Error("a hash needs WebCrypto, which this page has only over HTTPS");
  const digest = await subtle.digest("SHA-256", new TextEncoder().encode(canonical(value)));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
