// What ends with a signal.

/**
 * Calls `run` when the signal aborts, or at once if it has. Returns what takes that back.
 *
 * @param {AbortSignal | undefined} signal
 * @param {() => void} run
 */
export function onAbort(signal, run) {
  if (signal?.aborted) run();
  else signal?.addEventListener("abort", run, { once: true });
  return () => signal?.removeEventListener("abort", run);
}
