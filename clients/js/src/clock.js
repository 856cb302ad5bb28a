// Time as the package uses it, which tests replace.

/** @type {import("./types.d.ts").Clock} */
export const systemClock = {
  // Not a monotonic clock: that one may stand still while a laptop sleeps, and a document from
  // before the lid was closed would look fresh. A step of the wall clock errs on the safe side.
  now: () => Date.now(),
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (timer) => clearTimeout(/** @type {any} */ (timer)),
};
