// What the client learns from the page that it runs in; elsewhere, as in Node, nothing.

const { document: page } = /** @type {{ document?: Document }} */ (globalThis);

/** Whether someone may be looking. */
export function isVisible() {
  return page?.visibilityState !== "hidden";
}

/** Whether the page comes from this machine, so that its source is nobody else's. */
export function isLocal() {
  const { protocol, hostname } = globalThis.location ?? {};
  return page === undefined || protocol === "file:" || /^(localhost|127(\.\d+){3}|\[::1\])$|\.localhost$/.test(hostname);
}

/**
 * Runs before the next frame of the screen: never while the page is hidden. Where there is no screen, 16 ms later.
 *
 * @param {() => void} run
 * @param {import("./types.d.ts").Clock} timers
 */
export function nextFrame(run, timers) {
  if (page && typeof requestAnimationFrame === "function") requestAnimationFrame(run);
  else timers.setTimeout(run, 16);
}

/**
 * Listens to what the page goes through. Returns what ends it.
 *
 * @param {{ wake: () => void, sleep: () => void, look: () => void }} handlers
 * @returns {() => void}
 */
export function watchPage({ wake, sleep, look }) {
  if (typeof globalThis.addEventListener !== "function") return () => {};
  const ending = new AbortController();
  const { signal } = ending;
  globalThis.addEventListener("online", wake, { signal });
  // A page that is put aside must not hold a socket; when it comes back it resumes.
  globalThis.addEventListener("pagehide", (event) => /** @type {any} */ (event).persisted && sleep(), { signal });
  globalThis.addEventListener("pageshow", wake, { signal });
  page?.addEventListener("visibilitychange", look, { signal });
  return () => ending.abort();
}
