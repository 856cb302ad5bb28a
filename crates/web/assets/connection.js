// How a page connects to the hub: which credential it has, the form that asks for a key, the banner of a lost
// connection, and the line for screen readers. It knows no sport and no document.

import { FINAL_CODES } from "/client/v1/matchwire.js";
import { setAttribute, setText, span } from "./view.js";

const KEY_SLOT = "matchwire-key";
const CAUSES = {
  drain: "The hub is restarting.",
  slow: "This connection was too slow.",
  idle: "The connection was idle.",
  asleep: "Offline, as you asked.",
};

export const byId = (id) => document.getElementById(id);

/** What the hub wrote into the head of the page. */
export function meta(name) {
  return document.querySelector(`meta[name="${name}"]`)?.content || undefined;
}

/** The key in the page itself, as the demo has it. */
export function pageKey() {
  return meta("matchwire-key");
}

/** The form token of the customer's session, if a session connects this page. */
export function sessionToken() {
  return meta("matchwire-session");
}

/** Subprotocols with a fresh ticket: one opens one socket. */
async function ticketProtocols() {
  const answer = await fetch("/watch/ticket/", {
    method: "POST",
    body: new URLSearchParams({ csrf: sessionToken() }),
    redirect: "manual",
  });
  // A session that has ended is sent to the log-in page.
  if (answer.type === "opaqueredirect" || answer.status === 401 || answer.status === 403) location.assign(`/login/?next=${encodeURIComponent(location.pathname)}`);
  if (!answer.ok) throw new Error(`no ticket: status ${answer.status}`);
  return ["matchwire.v1", "ticket", (await answer.json()).ticket];
}

/** The address of the hub's socket. */
export function streamUrl() {
  const url = new URL("/stream/v1", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.hash = "";
  return url.href;
}

/** The key for requests over REST, if this tab has one: a session has none. */
export function restKey() {
  return pageKey() ?? sessionStorage.getItem(KEY_SLOT) ?? undefined;
}

/** Keeps a key for as long as the tab is open. */
export function keepKey(key) {
  sessionStorage.setItem(KEY_SLOT, key);
}

/** The options by which another connection of this page may be opened; a promise, because a ticket opens one. */
export async function credential() {
  return sessionToken() ? { protocols: await ticketProtocols() } : { key: restKey() };
}

/** `the Sports add-on (5.00 USD a month)`: what a refused channel needs. */
export function addonsText(addons) {
  const each = addons.map(({ addon, price, currency }) => `the ${addon.charAt(0).toUpperCase()}${addon.slice(1)} add-on (${price} ${currency} a month)`);
  return each.join(" and ") || "another add-on";
}

/**
 * The connection of a page. `open(credential)` opens a stream or a hub, and again after another key was entered; it passes
 * the states of the connection to `entered`.
 */
export class Connection {
  #open;
  #stream;
  #banner = new Banner();
  #form = byId("ask");

  constructor(open, announcer) {
    this.#open = open;
    this.announcer = announcer;
    this.#form.addEventListener("submit", (submit) => {
      submit.preventDefault();
      const input = byId("ask-key");
      const key = input.value.trim();
      input.value = "";
      if (!key) return;
      keepKey(key);
      this.#connect({ key });
    });
    addEventListener("online", () => this.#stream?.wake());
  }

  /** Connects with what the page has: a session, a key of its own or of this tab. Otherwise it asks for a key. */
  start() {
    const key = restKey();
    if (sessionToken()) this.#connect({ protocols: ticketProtocols });
    else if (byId("upgrade")) byId("desk").hidden = true;
    else if (key) this.#connect({ key });
    else this.#ask();
  }

  entered(state) {
    this.#banner.show(state, this.#stream);
    if (state.phase === "waiting" && state.attempt === 1) this.announcer.say("Connection to the hub lost.");
    if (state.phase !== "closed" || !FINAL_CODES.has(state.code)) return;
    // Another key may help against these; the key of the page itself is renewed by reloading.
    const keyRefused = state.code === 4401 || state.code === 4402 || state.code === 4410;
    if (keyRefused && sessionToken()) {
      // The page then shows which add-on the account needs.
      location.reload();
    } else if (keyRefused && !pageKey()) {
      sessionStorage.removeItem(KEY_SLOT);
      byId("ask-addon").hidden = state.code !== 4402;
      this.#ask(state.code === 4402 ? "Live streaming needs the WebSocket add-on." : `This key does not work: ${state.message}.`);
    }
  }

  /** Called on every tick of the page, with the stream. */
  tick(stream) {
    this.#banner.tick(stream);
  }

  #connect(credential) {
    this.#form.hidden = true;
    byId("desk").hidden = false;
    this.#stream = this.#open(credential);
  }

  #ask(why) {
    if (why) setText(byId("ask-why"), why);
    this.#form.hidden = false;
    byId("desk").hidden = true;
    byId("ask-key").focus();
  }
}

/** The state of the connection: a word in the header, and a banner when it is lost. */
class Banner {
  #node = byId("banner");
  #text = byId("banner-text");
  #button = byId("banner-button");
  #link = byId("link");
  #state = { phase: "connecting" };
  #clock;
  #lostAt;
  #act = () => {};

  constructor() {
    this.#button.addEventListener("click", () => this.#act());
  }

  show(state, stream) {
    this.#state = state;
    // A hub has a stream.
    this.#clock = stream?.stream ?? stream;
    setAttribute(this.#link, "data-phase", state.phase);
    if (state.phase === "open") this.#lostAt = undefined;
    if (state.phase === "waiting") this.#lostAt ??= Date.now();
    const reload = state.phase === "closed" && pageKey();
    this.#act = reload ? () => location.reload() : () => stream.wake();
    setText(this.#button, reload ? "Reload" : "Try now");
    this.#button.hidden = !(reload || (state.phase === "waiting" && !state.isFixed && state.retryAt !== undefined));
    this.#write();
  }

  tick(stream) {
    const rtt = stream.roundTripMs();
    const lag = stream.lag ? ` · ${span(stream.lag.oldest_ms)} behind` : "";
    const detail = this.#state.phase === "open" && rtt !== undefined ? `${rtt} ms${lag}` : "";
    setText(byId("link-detail"), detail);
    this.#write();
  }

  #write() {
    const { phase, retryAt, why, message, code } = this.#state;
    const words = { connecting: "Connecting", open: "Connected", waiting: "Reconnecting", closed: "Not connected" };
    // The first connection needs no banner; a lost one keeps it until the next is open.
    const lost = phase === "waiting" || (phase === "connecting" && this.#lostAt !== undefined);
    setText(byId("link-text"), lost ? "Reconnecting" : words[phase]);
    setAttribute(this.#node, "data-phase", phase);
    this.#node.hidden = !lost && phase !== "closed";
    if (phase === "closed") {
      setText(this.#text, `Disconnected: ${message ?? why ?? code}.`);
    } else if (lost) {
      // By the client's clock: that of the system may have been set since.
      const left = retryAt === undefined ? "" : ` Trying again in ${Math.max(0, Math.ceil((retryAt - this.#clock.now()) / 1000))} s.`;
      setText(this.#text, `${CAUSES[why] ?? "Connection lost."} Nothing on this page is current.${phase === "waiting" ? left : " Trying now."}`);
    }
  }
}

/**
 * Speaks to screen readers: goals, cards, ends and a lost connection; never clocks, points or
 * prices, which would never stop.
 */
export class Announcer {
  #node = byId("announce");
  #waiting = [];

  say(text) {
    this.#waiting.push(text);
    if (this.#waiting.length > 1) return;
    // Together, so that a goal and what it caused are one announcement.
    setTimeout(() => {
      setText(this.#node, this.#waiting.join(" "));
      this.#waiting = [];
    }, 400);
  }
}
