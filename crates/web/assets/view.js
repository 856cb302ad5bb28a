// What the views share: building nodes, lists that keep their nodes, names, ages, and the badge
// that says how far a document can be trusted. It knows channels' health, and no sport.
//
// Data from the hub enters the page as text only: nothing here or in a view parses markup.

/** An element with attributes and children; a string child is text. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  return furnish(node, attributes, children);
}

/** The same in SVG. */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return furnish(node, attributes, children);
}

function furnish(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** Writes only what differs: a page that ticks four times a second must not redraw without changes. */
export function setText(node, value) {
  const text = String(value ?? "");
  if (node.textContent !== text) node.textContent = text;
}

export function setAttribute(node, name, value) {
  if (value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, value);
  }
}

/**
 * A list whose entries keep their nodes, and with them focus, scroll position and animations.
 * `make(key)` gives an object with `node` and `show(value)`.
 */
export class KeyedList {
  #rows = new Map();

  constructor(parent, make) {
    this.parent = parent;
    this.make = make;
  }

  /** `entries`: pairs of key and value in the order wanted. */
  show(entries) {
    const wanted = new Set(entries.map(([key]) => key));
    for (const [key, row] of this.#rows) {
      if (wanted.has(key)) continue;
      row.node.remove();
      this.#rows.delete(key);
    }
    let place = this.parent.firstElementChild;
    for (const [key, value] of entries) {
      let row = this.#rows.get(key);
      if (row === undefined) {
        row = this.make(key);
        this.#rows.set(key, row);
      }
      row.show(value);
      if (row.node === place) place = place.nextElementSibling;
      else this.parent.insertBefore(row.node, place);
    }
  }

  rows() {
    return this.#rows.values();
  }
}

/** A name given as text or as `{id, name}`. */
export function nameOf(value) {
  return typeof value === "string" ? value : (value?.name ?? "");
}

/** `half_time` as `Half time`: for protocol values without a better label. */
export function plain(word) {
  const text = String(word ?? "").replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A span of time in the precision that a reader can use. */
export function span(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 100) return `${Math.floor(s)} s`;
  if (s < 6000) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} days`;
}

/** Time of day of a moment in microseconds, in the viewer's own zone. */
export function timeOfDay(micros, seconds = false) {
  const options = { hour: "2-digit", minute: "2-digit", second: seconds ? "2-digit" : undefined, hour12: false };
  return new Date(micros / 1000).toLocaleTimeString(undefined, options);
}

/** The match second at `now` (microseconds), from the anchor of a clock. */
export function matchSecond(clock, now) {
  if (!clock) return undefined;
  const passed = clock.running ? Math.max(0, Math.floor((now - clock.at) / 1_000_000)) : 0;
  return clock.s + passed;
}

/**
 * The hub's time up to which a document may be carried forward: now while its source is live, else the
 * time of the last message. A clock that runs on without messages would look live and be a guess.
 */
export function trustedUntil(channel, stream) {
  const now = stream.serverNow();
  if (current(channel) || channel.health === "late") return now;
  // Beats go on while a source is down; the newest frame is then the one that reported it.
  const sourceGone = channel.health === "down" || channel.health === "recovering";
  if (sourceGone && channel.at?.pub) return Math.min(now, channel.at.pub);
  return channel.heard === undefined ? now : Math.min(now, channel.heard * 1000 + stream.clockOffset());
}

/** Whether the document is current. */
export function current(channel) {
  return channel.health === "live" || channel.health === "ended" || channel.health === "replay";
}

const WORDS = {
  live: "Live",
  ended: "Final",
  replay: "Replay",
  late: "Feed late",
  down: "Feed down",
  recovering: "Feed recovering",
  stale: "Stale",
  lost: "Connection lost",
  catching_up: "Catching up",
  waiting: "Waiting",
  refused: "Not available",
};

/** Why it is not current, as a sentence; the three main causes never share one. */
const REASONS = {
  late: () => "The source is late. The hub is connected, but this may be behind play.",
  down: () => "The source is down. The hub is connected and continues when the source returns.",
  recovering: () => "The source is back. The hub is checking what it missed.",
  stale: (quiet) => `No news for ${quiet()}, although the connection is open.`,
  lost: (quiet) => `No connection to the hub. Last updated ${quiet()} ago.`,
  catching_up: () => "Reconnected. Catching up.",
};

/** The word for a health, as badges have it. */
export function healthWord(health) {
  return WORDS[health] ?? plain(health);
}

/** Why a channel is not current, as a sentence; undefined if it is. `stream`: what it comes from, by whose clock it was heard. */
export function healthReason(channel, stream) {
  // Nobody knows since when the hub itself has heard nothing.
  // A replay tells only the time of its recording.
  const now = () => (stream.now ? stream.now() : Date.now());
  const quiet = () => (Number.isFinite(channel.heard) ? span(Math.max(0, now() - channel.heard)) : "a while");
  return channel?.data !== undefined ? REASONS[channel.health]?.(quiet) : undefined;
}

/** The head of a card: how far to trust it, how old it is, and its position in the stream. */
export class Trust {
  #card;
  #badge = el("span", { class: "badge" }, el("i", { class: "lamp", "aria-hidden": "true" }));
  #word = el("span");
  #age = el("span", { class: "age", title: "Time since the last change, by the hub's clock" });
  #notice = el("p", { class: "notice", hidden: true });
  #position = el("p", { class: "position" });

  constructor(card) {
    this.#card = card;
    this.#badge.append(this.#word);
    const head = card.querySelector(".head");
    head.append(el("span", { class: "trust" }, this.#age, this.#badge));
    head.after(this.#notice);
    card.append(this.#position);
  }

  /** Called on every tick: an age is only right for an instant. */
  show(channel, stream) {
    const health = channel?.health ?? "waiting";
    setAttribute(this.#card, "data-health", health);
    setAttribute(this.#card, "data-current", channel === undefined || current(channel) ? "yes" : "no");
    setText(this.#word, healthWord(health));

    const changed = channel?.at?.in ?? channel?.at?.pub;
    const age = changed === undefined || changed === null ? undefined : (stream.serverNow() - changed) / 1000;
    setText(this.#age, age === undefined ? "" : `changed ${span(age)} ago`);

    const reason = healthReason(channel, stream);
    setText(this.#notice, reason);
    this.#notice.hidden = !reason;

    const at = channel?.epoch === undefined ? "" : ` · seq ${channel.seq} · epoch ${channel.epoch}`;
    setText(this.#position, channel === undefined ? "" : channel.name + at);
    setAttribute(this.#card, "data-seq", channel?.seq);
  }
}
