// Counts down on a page that asks to wait, and offers to try again when the time has come.

/** `1:05`, `12 s`. */
export function left(seconds) {
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Whole seconds until `end`, never below zero; both in milliseconds. */
export function secondsUntil(end, now) {
  return Math.max(0, Math.ceil((end - now) / 1000));
}

function countDown(element, clock = () => performance.now()) {
  const end = clock() + Number(element.dataset.waitS) * 1000;
  const shown = element.ownerDocument.createElement("output");
  shown.setAttribute("aria-live", "off");
  element.append(" ", shown);
  const tick = () => {
    const seconds = secondsUntil(end, clock());
    shown.textContent = seconds > 0 ? `(${left(seconds)})` : "You can go back and try again now.";
    if (seconds > 0) setTimeout(tick, 250);
  };
  tick();
}

if (typeof document !== "undefined") document.querySelectorAll("[data-wait-s]").forEach((element) => countDown(element));
