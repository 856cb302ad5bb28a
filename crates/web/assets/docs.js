// Puts the reader's own key into the examples, and adds a copy button to each. The key is stored only in
// this tab, by the dashboard when it was just created. Without this module the examples show YOUR_KEY.

const KEY_SLOT = "matchwire-key";
const KEY_FORM = /^mw_[0-9a-f]{48}$/;
const PLACEHOLDER = "YOUR_KEY";
const COPIED_MS = 1500;

const form = document.getElementById("keyform");
const input = document.getElementById("key");
const clear = document.getElementById("keyclear");
const hint = document.getElementById("keyhint");

function fill(key) {
  for (const place of document.querySelectorAll("[data-key]")) place.textContent = key ?? PLACEHOLDER;
  clear.hidden = !key;
  if (key) input.value = `${key.slice(0, 11)}…`;
}

function accept(text) {
  const key = text.trim();
  const good = KEY_FORM.test(key);
  input.toggleAttribute("aria-invalid", !good);
  if (good) {
    sessionStorage.setItem(KEY_SLOT, key);
    fill(key);
  }
  hint.textContent = good
    ? "Filled in below. Your key stays in this tab, is not sent anywhere, and is gone when you close the tab."
    : "This is not an API key. Keys start with mw_, followed by 48 hexadecimal digits.";
}

function offerCopy(pre) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(pre.innerText);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, COPIED_MS);
  });
  const frame = document.createElement("div");
  frame.className = "example";
  pre.replaceWith(frame);
  frame.append(pre, button);
}

// A pasted key needs no button.
input.addEventListener("paste", (event) => {
  const text = event.clipboardData?.getData("text") ?? "";
  if (KEY_FORM.test(text.trim())) {
    event.preventDefault();
    accept(text);
  }
});
input.addEventListener("focus", () => input.select());
form.addEventListener("submit", (event) => {
  event.preventDefault();
  accept(input.value);
});
clear.addEventListener("click", () => {
  sessionStorage.removeItem(KEY_SLOT);
  input.value = "";
  fill(null);
});

fill(sessionStorage.getItem(KEY_SLOT));
// Where a page is not served securely, a browser has no clipboard for it.
if (navigator.clipboard) document.querySelectorAll("article > pre[id]").forEach(offerCopy);
