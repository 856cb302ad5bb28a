// What the pages for traders share: the credential, the form that asks for one, the state of the connection, and drawing
// once a frame. A page gives `open(options)`, which connects with these options and returns the hub.

import { FINAL_CODES } from "/client/v1/matchwire.js";
import { setAttribute, setText, span } from "./view.js";

const KEY_SLOT = "matchwire-key";
const TICK_MS = 250;
const WORDS = { connecting: "Connecting", open: "Connected", waiting: "Reconnecting", closed: "Not connected" };
const CAUSES = {
  drain: "The hub is restarting.", slow: "This connection was too slow.", idle: "The connection was idle.",
  asleep: "Offline, as you asked.",
};
// The key is missing, wrong or revoked, or its account lacks the add-on: another key may help.
const KEY_CODES = new Set([4401, 4402, 4410]);

export const byId = (id) => document.getElementById(id);

export function meta(name) {
  return document.querySelector(`meta[name="${name}"]`)?.content || undefined;
}

/** The options of `connect` by which another connection of this page may be opened; a promise, because a ticket opens one. */
export async function credential() {
  const token = meta("matchwire-session");
  return token ? { protocols: ["matchwire.v1", "ticket", await ticket(token)] } : { key: keyOf() };
}

function keyOf() {
  return meta("matchwire-key") ?? sessionStorage.getItem(KEY_SLOT) ?? undefined;
}

/** A ticket for one socket, by the customer's session. */
async function ticket(csrf) {
  const answer = await fetch("/watch/ticket/", { method: "POST", body: new URLSearchParams({ csrf }), redirect: "manual" });
  // A session that has ended is sent to the log-in page.
  if (answer.type === "opaqueredirect" || answer.status === 401 || answer.status === 403) {
    location.assign(`/login/?next=${encodeURIComponent(location.pathname)}`);
  }
  if (!answer.ok) throw new Error(`no ticket: status ${answer.status}`);
  return (await answer.json()).ticket;
}

export class Desk {
  #open;
  #draw;
  #tick;
  #hub;
  #lostAt;
  #isDue = false;
  #state = { phase: "connecting" };

  /** `draw` runs before a frame of the screen after `redraw`, `tick` four times a second, both with a hub only. */
  constructor({ open, draw, tick }) {
    this.#open = open;
    this.#draw = draw;
    this.#tick = tick;
    byId("banner-button").addEventListener("click", () => (this.#state.phase === "closed" ? location.reload() : this.#hub?.wake()));
    byId("ask").addEventListener("submit", (submit) => {
      submit.preventDefault();
      const key = byId("ask-key").value.trim();
      byId("ask-key").value = "";
      if (!key) return;
      sessionStorage.setItem(KEY_SLOT, key);
      this.#connect({ key });
    });
    setInterval(() => this.#onTick(), TICK_MS);
  }

  /** Connects with what the page has, or asks for a key. */
  start() {
    const token = meta("matchwire-session");
    const key = keyOf();
    if (token) this.#connect({ ticket: () => ticket(token) });
    else if (byId("upgrade")) setText(byId("link-text"), "Not connected");
    else if (key) this.#connect({ key });
    else this.#ask();
  }

  redraw() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      if (this.#hub) this.#draw();
    });
  }

  #connect(options) {
    byId("ask").hidden = true;
    byId("desk").hidden = false;
    this.#hub?.close();
    this.#hub = this.#open({ ...options, onState: (state) => this.#entered(state) });
    this.redraw();
  }

  #ask(why) {
    if (why) setText(byId("ask-why"), why);
    byId("ask").hidden = false;
    byId("desk").hidden = true;
    byId("ask-key").focus();
  }

  #entered(state) {
    const { phase, code, message } = (this.#state = state);
    setAttribute(byId("link"), "data-phase", phase);
    if (phase === "open") this.#lostAt = undefined;
    if (phase === "waiting") this.#lostAt ??= Date.now();
    if (phase === "waiting" && state.attempt === 1) say("Connection to the hub lost.");
    this.#writeState();
    this.redraw();
    if (phase !== "closed" || !FINAL_CODES.has(code) || !KEY_CODES.has(code)) return;
    // With a session the page then shows which add-on the account needs.
    if (meta("matchwire-session")) return location.reload();
    if (meta("matchwire-key")) return;
    sessionStorage.removeItem(KEY_SLOT);
    this.#ask(code === 4402 ? "Live streaming needs the WebSocket add-on." : `This key does not work: ${message}.`);
  }

  #onTick() {
    if (this.#hub === undefined) return;
    const { stream } = this.#hub;
    const rtt = this.#state.phase === "open" ? stream.roundTripMs() : undefined;
    const behind = stream.lag ? ` · ${span(stream.lag.oldest_ms)} behind` : "";
    setText(byId("link-detail"), rtt === undefined ? "" : `${rtt} ms${behind}`);
    this.#writeState();
    this.#tick();
  }

  #writeState() {
    const { phase, retryAt, why, message, code, isFixed } = this.#state;
    // The first connection needs no banner; a lost one keeps it until the next is open.
    const isLost = phase === "waiting" || (phase === "connecting" && this.#lostAt !== undefined);
    setText(byId("link-text"), isLost ? WORDS.waiting : WORDS[phase]);
    byId("banner").hidden = !isLost && phase !== "closed";
    byId("banner-button").hidden = phase !== "closed" && (phase !== "waiting" || Boolean(isFixed) || retryAt === undefined);
    setText(byId("banner-button"), phase === "closed" ? "Reload" : "Try now");
    if (phase === "closed") {
      setText(byId("banner-text"), `Disconnected: ${message ?? why ?? code}.`);
    } else if (isLost) {
      const left = Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
      const when = phase !== "waiting" ? "Trying now." : retryAt === undefined ? "" : `Trying again in ${left} s.`;
      setText(byId("banner-text"), `${CAUSES[why] ?? "Connection lost."} Nothing on this page is current. ${when}`);
    }
  }
}

/** For screen readers: what happened, never prices or clocks, which would never stop. */
export function say(text) {
  setText(byId("announce"), text);
}
