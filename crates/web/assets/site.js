// Optional scripts of the customers' pages: copy buttons, and a newly created key in the examples of the
// documentation. Everything is readable without them.

/** Where this tab keeps the key; the documentation and the live page look there. */
const KEY_SLOT = "matchwire-key";

/** Copies the text of the element, and says on the button for a moment whether it worked. */
export async function copy(button, text, clipboard, later = setTimeout) {
  // Not what stands there now: that may still be the word of the press before.
  button.dataset.label ??= button.textContent;
  try {
    await clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy it by hand";
  }
  later(() => (button.textContent = button.dataset.label), 3000);
}

/** Shows each copy button, where there is a clipboard to copy to. */
export function offerCopying(page, clipboard) {
  if (!clipboard) return;
  for (const button of page.querySelectorAll("[data-copy]")) {
    const source = page.getElementById(button.dataset.copy);
    if (!source) continue;
    button.hidden = false;
    button.addEventListener("click", () => copy(button, source.textContent.trim(), clipboard));
  }
}

/** Keeps a key that was just made, which is shown once, for as long as the tab is open. */
export function keepNewKey(page, storage) {
  const key = page.querySelector("code[data-key]")?.textContent.trim();
  if (key) storage.setItem(KEY_SLOT, key);
}

if (typeof document !== "undefined") {
  offerCopying(document, navigator.clipboard);
  keepNewKey(document, sessionStorage);
}
