// The match clock of a document: an anchor that ticks by the hub's clock.

// Where the clock of scoreboards stands still, in minutes: what comes after is stoppage time.
/** @type {Record<string, number>} */
const LIMITS = { first_half: 45, second_half: 90, extra_first: 105, extra_second: 120 };

/**
 * The second that the clock shows; undefined if the document has none.
 *
 * @param {any} data
 * @param {number} hubNow microseconds
 * @returns {number | undefined}
 */
export function clockSecond(data, hubNow) {
  const { clock } = data ?? {};
  if (!Number.isFinite(clock?.s)) return undefined;
  const passed = clock.running ? Math.floor((hubNow - clock.at) / 1_000_000) : 0;
  return clock.s + Math.max(0, passed);
}

/**
 * As scoreboards show it: `17:58`, in stoppage time `90+2:10`; empty if the document has no clock.
 *
 * @param {any} data
 * @param {number} hubNow microseconds
 */
export function clockText(data, hubNow) {
  const second = clockSecond(data, hubNow);
  if (second === undefined) return "";
  const limit = LIMITS[data.status];
  const added = limit === undefined ? -1 : second - limit * 60;
  return added < 0 ? minutes(second) : `${limit}+${minutes(added)}`;
}

/** @param {number} second */
function minutes(second) {
  return `${Math.floor(second / 60)}:${String(second % 60).padStart(2, "0")}`;
}
