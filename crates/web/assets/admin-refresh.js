// Replaces the part of a page that changes, as long as the page is visible and the operator has not stopped it. Without this
// module the page shows what was so when it was loaded.

const EVERY_MS = 3000;

const state = document.getElementById("state");
const choice = document.getElementById("refresh");
const box = choice.querySelector("input");
choice.hidden = false;

/** Finds in the new part what an element of the old one is. */
function twin(part, element) {
  const name = ["id", "href"].find((it) => element.hasAttribute(it));
  return name && part.querySelector(`${element.localName}[${name}="${CSS.escape(element.getAttribute(name))}"]`);
}

function replace(html) {
  const next = new DOMParser().parseFromString(html, "text/html");
  const [old, part] = [document.getElementById("live"), next.getElementById("live")];
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const scrolled = [...old.querySelectorAll(".wide")].filter((it) => it.scrollLeft > 0).map((it) => [it, it.scrollLeft]);
  const opened = [...old.querySelectorAll("details[open]")];
  old.replaceWith(part);
  for (const [element, left] of scrolled) {
    const own = twin(part, element);
    if (own) own.scrollLeft = left;
  }
  for (const element of opened) twin(part, element)?.setAttribute("open", "");
  if (focused) twin(part, focused)?.focus({ preventScroll: true });
}

async function turn() {
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (answer.redirected) return location.reload();
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const html = await answer.text();
    // The operator may be reading what they have just selected.
    if (box.checked && getSelection().isCollapsed) {
      replace(html);
      delete state.dataset.stale;
      state.textContent = `As of ${new Date().toLocaleTimeString()}. Updates every ${EVERY_MS / 1000} seconds.`;
    }
  } catch (error) {
    state.dataset.stale = "";
    state.textContent = `The hub is not responding (${error.message}). This page is out of date.`;
  }
  setTimeout(again, EVERY_MS);
}

function again() {
  if (!box.checked) box.addEventListener("change", again, { once: true });
  else if (document.hidden) document.addEventListener("visibilitychange", again, { once: true });
  else turn();
}

box.addEventListener("change", () => {
  if (!box.checked) state.textContent = `As of ${new Date().toLocaleTimeString()}. Not updated.`;
});
setTimeout(again, EVERY_MS);
