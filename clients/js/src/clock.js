// Time as the package uses it, which tests replace.

// How far the wall clock runs ahead of the monotonic one. More than this between two readings is a step, or a sleep.
const STEP_MS = 1000;
const lead = () => Date.now() - performance.now();

const start = lead();
let known = start;

/** @type {import("./types.d.ts").Clock & { jumped: number }} */
export const systemClock = {
  jumped: 0,
  // The monotonic clock may stand still while a laptop sleeps, and the wall clock may be set back. Either would make a document
  // look fresh that is not, so this one takes steps forward alone.
  now() {
    const step = lead() - known;
    if (Math.abs(step) > STEP_MS) {
      known += step;
      systemClock.jumped += Math.max(0, step);
    }
    return Math.floor(performance.now() + start + systemClock.jumped);
  },
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (timer) => clearTimeout(/** @type {any} */ (timer)),
};
