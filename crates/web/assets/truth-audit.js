// Counts what a hub sends, frame by frame, beside the client and without it: the sequence of every channel, each event's id,
// merges, resyncs. It keeps the promises of docs/PROTOCOL.md as a list of violations, across connections.

// Ids of events that are remembered, of one channel.
const EVENT_IDS_MAX = 20_000;
const VIOLATIONS_MAX = 100;

class ChannelCount {
  epoch;
  seq;
  updates = 0;
  changes = 0;
  events = 0;
  gaps = 0;
  duplicates = 0;
  resyncs = 0;
  images = 0;
  /** Changes that came as part of another, by reason. */
  merged = new Map();
  /** Why an image was announced, until it comes. */
  imageDue;
  ids = new Set();

  get mergedTotal() {
    return [...this.merged.values()].reduce((sum, n) => sum + n, 0);
  }
}

export class Audit {
  channels = new Map();
  /** What was broken, in words, the first of them. */
  violations = [];
  connections = 0;
  frames = 0;
  bytes = 0;
  /** The worst that `lag` frames reported. */
  lag = { queued_bytes: 0, oldest_ms: 0, merged: 0 };
  #onNote;

  /** `onNote(text)` hears of resyncs and violations. */
  constructor(onNote = () => {}) {
    this.#onNote = onNote;
  }

  /** A socket was opened: positions stay, because the client resumes from them. */
  opened() {
    this.connections += 1;
  }

  receive(frame) {
    this.frames += 1;
    switch (frame.type) {
      case "subscribed": return this.#subscribed(frame);
      case "image": return this.#image(frame);
      case "update": return this.#update(frame);
      case "resync": return this.#announce(frame.ch, frame.why);
      case "unsubscribed": return frame.why === "gone" ? void this.channels.delete(frame.ch) : undefined;
      case "lag":
        for (const name of Object.keys(this.lag)) this.lag[name] = Math.max(this.lag[name], frame[name] ?? 0);
        return undefined;
      default: return undefined;
    }
  }

  /** The sums over all channels. */
  totals() {
    const totals = { channels: this.channels.size, updates: 0, changes: 0, events: 0, gaps: 0, duplicates: 0, resyncs: 0, merged: new Map() };
    for (const count of this.channels.values()) {
      for (const name of ["updates", "changes", "events", "gaps", "duplicates", "resyncs"]) totals[name] += count[name];
      for (const [why, n] of count.merged) totals.merged.set(why, (totals.merged.get(why) ?? 0) + n);
    }
    return totals;
  }

  #of(ch) {
    let count = this.channels.get(ch);
    if (count === undefined) this.channels.set(ch, (count = new ChannelCount()));
    return count;
  }

  #subscribed({ ch, chs, ...answer }) {
    for (const [name, { resumed, why }] of Object.entries(chs ?? { [ch]: answer })) {
      const count = this.channels.get(name);
      // Without a position nothing is given up.
      if (resumed === false && count?.seq !== undefined) this.#announce(name, why ?? "subscribed");
    }
  }

  /** An image will follow: what lies between is not delivered one by one, and the hub has said so. */
  #announce(ch, why) {
    const count = this.#of(ch);
    count.resyncs += 1;
    count.imageDue = why ?? "resync";
    this.#onNote(`${ch}: resync (${count.imageDue})`);
  }

  #image({ ch, epoch, seq }) {
    const count = this.#of(ch);
    const jumps = count.seq !== undefined && !count.imageDue && (epoch !== count.epoch || seq > count.seq);
    if (jumps) this.#violate(count, "gaps", `${ch}: an image at ${seq} without notice, after ${count.seq}`);
    if (epoch !== count.epoch) count.ids.clear();
    count.images += 1;
    Object.assign(count, { epoch, seq, imageDue: undefined });
  }

  #update({ ch, seq, prev, n, why, events = [] }) {
    const count = this.#of(ch);
    count.updates += 1;
    // What was on its way when an image was announced belongs to a document that is given up.
    if (count.imageDue) return;
    if (count.seq === undefined) this.#violate(count, "gaps", `${ch}: an update before its image`);
    else if (seq <= count.seq) return void this.#violate(count, "duplicates", `${ch}: ${seq} again, after ${count.seq}`);
    else if (prev > count.seq) this.#violate(count, "gaps", `${ch}: nothing between ${count.seq} and ${prev}`);
    if ((n ?? 1) !== seq - prev) this.#violate(count, "gaps", `${ch}: ${seq - prev} changes as one, without saying so`);
    // The first update after an image may begin before it.
    const changes = seq - Math.max(prev, count.seq ?? prev);
    count.changes += changes;
    if (n > 1) count.merged.set(why, (count.merged.get(why) ?? 0) + changes - 1);
    count.seq = seq;
    for (const { eid } of events) {
      count.events += 1;
      if (count.ids.has(eid)) this.#violate(count, "duplicates", `${ch}: the event ${eid} again`);
      count.ids.add(eid);
      if (count.ids.size > EVENT_IDS_MAX) count.ids.delete(count.ids.values().next().value);
    }
  }

  #violate(count, name, text) {
    count[name] += 1;
    if (this.violations.length < VIOLATIONS_MAX) this.violations.push(text);
    this.#onNote(text);
  }
}

/** A `WebSocket` class whose sockets the audit hears; `onSocket` gets each. */
export function audited(audit, Socket, onSocket = () => {}) {
  return class extends Socket {
    constructor(...args) {
      super(...args);
      audit.opened();
      onSocket(this);
      this.addEventListener("message", ({ data }) => {
        audit.bytes += data.length;
        audit.receive(JSON.parse(data));
      });
    }
  };
}

/** `12 by rate, 3 by slow`; empty without any. */
export function mergedText(merged) {
  return [...merged].filter(([, n]) => n > 0).map(([why, n]) => `${n.toLocaleString("en-GB")} (${why})`).join(", ");
}

/** One sentence on totals and proofs: `{kind, text}` with the kind `good`, `bad` or `open`. */
export function verdict(totals, proofs) {
  const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en-GB")} ${n === 1 ? one : many}`;
  const seen = `${count(totals.updates, "update")}, ${count(totals.events, "event")}, ${count(totals.gaps, "gap")}, ${count(totals.duplicates, "duplicate")}`;
  const resyncs = totals.resyncs > 0 ? `, ${count(totals.resyncs, "announced resync")}` : "";
  const equal = proofs.filter(({ ok }) => ok === true).length;
  const unequal = proofs.filter(({ ok }) => ok === false).length;
  if (totals.gaps + totals.duplicates + unequal > 0) return { kind: "bad", text: `A promise is broken: ${seen}${resyncs}; ${equal} of ${proofs.length} hashes equal.` };
  if (proofs.length === 0 || equal < proofs.length) return { kind: "open", text: `So far: ${seen}${resyncs}. ${equal} of ${proofs.length} hashes compared.` };
  return { kind: "good", text: `Every promise holds: ${seen}${resyncs}. All ${equal} documents are equal to the hub’s by SHA-256.` };
}
