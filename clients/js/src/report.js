// Errors of the program's own handlers: reported, and never in the way of the stream.

/**
 * Reports an error like an uncaught one, without ending anything.
 *
 * @param {unknown} error
 */
export function report(error) {
  (globalThis.reportError ?? console.error)(error);
}
