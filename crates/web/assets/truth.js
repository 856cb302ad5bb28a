// The truth page: break the stream on purpose, and see that every promise holds. An audit counts the frames beside the client;
// hashes compare the documents with the hub's own.

import { connect } from "/client/v1/matchwire.js";
import { byId, credential, meta } from "./connection.js";
import { Desk } from "./desk.js";
import { Audit, audited, mergedText, verdict } from "./truth-audit.js";
import { KeyedList, el, plain, setAttribute, setText, span, timeOfDay } from "./view.js";

const BOARDS = ["football", "tennis"];
const PROOFS_AT_ONCE = 6;
const LOG_MAX = 80;
const CUTS = 10;
// For a channel to be confirmed after a cut; a beat comes every five seconds.
const SETTLED_MS = 30_000;
// The longest interruption of the source, and time to catch up.
const FEED_MS = 150_000;
const SLOW_MS = 180_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

class Truth {
  #hub;
  #desk = new Desk({ open: (options) => this.#open(options), draw: () => this.#draw(), tick: () => this.#tick() });
  #audit;
  #socket;
  #proofs = new Map();
  #follows = [];
  #chosen = new Set();
  #rows = new KeyedList(byId("channels"), (name) => new ChannelRow(name));
  #log = [];
  #logRows = new KeyedList(byId("log"), () => new LogRow());
  #isBusy = false;
  #isProving = false;
  #sourceState;

  start() {
    this.#on("cut", "cut-outcome", () => this.#cut(1));
    this.#on("cut-many", "cut-outcome", () => this.#cut(CUTS));
    this.#on("away", "away-outcome", () => this.#away(secondsOf("away-s")));
    this.#on("slow", "slow-outcome", () => this.#slow(secondsOf("slow-s")));
    this.#on("stall", "feed-outcome", () => this.#feed("stall", secondsOf("feed-s")));
    this.#on("kill", "feed-outcome", () => this.#feed("kill", secondsOf("feed-s")));
    this.#on("verify", "verdict", () => this.#verifyAll());
    this.#desk.start();
  }

  #open(options) {
    this.#audit = new Audit((text) => this.#note(text, "warn"));
    this.#proofs.clear();
    this.#chosen.clear();
    const { onState } = options;
    const hub = connect("/", {
      ...options,
      WebSocket: audited(this.#audit, WebSocket, (socket) => (this.#socket = socket)),
      onState: (state) => {
        if (state.phase === "open") this.#note(`Connected; ${this.#audit.connections === 1 ? "the first connection" : `connection ${this.#audit.connections}`}.`);
        if (state.phase === "waiting") this.#note(`Connection lost${state.code ? ` (${state.code})` : ""}.`, "warn");
        onState(state);
      },
    });
    this.#hub = hub;
    this.#follows = [...BOARDS, "feeds", "signals"].map((ch) => this.#follow(ch));
    this.#follows[BOARDS.length].on("change", ({ data }) => this.#sources(data));
    return hub;
  }

  #follow(ch) {
    const follow = this.#hub.follow(ch);
    follow.on("change", ({ data }) => {
      if (BOARDS.includes(ch)) this.#choose(ch, data);
      this.#desk.redraw();
    });
    follow.on("health", (health, name) => {
      if (["late", "down", "recovering", "stale"].includes(health) && /^\w+\/\d+$/.test(name)) this.#note(`${name} is ${health}: its prices are not tradable.`, "warn");
      this.#desk.redraw();
    });
    return follow;
  }

  /** One match in play of each board, with all its books. */
  #choose(sport, board) {
    if (this.#chosen.has(sport)) return;
    const [id] = Object.entries(board?.matches ?? {}).find(([, match]) => match.life === "live") ?? [];
    if (id === undefined) return;
    this.#chosen.add(sport);
    const match = `${sport}/${id}`;
    for (const ch of [match, `${match}/odds`, `${match}/odds/*`]) this.#follows.push(this.#follow(ch));
  }

  #sources(data) {
    const states = Object.entries(data?.sources ?? {}).map(([name, { state, why }]) => `${name} is ${state}${why ? ` (${why})` : ""}`).join(", ");
    if (states !== this.#sourceState && this.#sourceState !== undefined) this.#note(`Source ${states}.`, /is (late|down|recovering)/.test(states) ? "warn" : undefined);
    this.#sourceState = states;
  }

  // ------------------------------------------------------------------------------------ the acts

  /** One act at a time; each ends with a proof. */
  #on(id, outcome, act) {
    byId(id)?.addEventListener("click", async () => {
      if (this.#isBusy || this.#hub === undefined) return;
      this.#setBusy(true);
      if (outcome !== "verdict") setAttribute(byId(outcome), "data-kind", "open");
      try {
        const { kind, text } = await act((step) => setText(byId(outcome), step), byId(outcome));
        if (outcome === "verdict") return;
        setText(byId(outcome), text);
        setAttribute(byId(outcome), "data-kind", kind);
        this.#note(text, kind);
        this.#desk.say(text);
      } catch (error) {
        const text = String(error.message ?? error);
        setText(byId(outcome), text);
        if (outcome !== "verdict") setAttribute(byId(outcome), "data-kind", "bad");
        this.#note(text, "bad");
      } finally {
        this.#setBusy(false);
      }
    });
  }

  #setBusy(isBusy) {
    this.#isBusy = isBusy;
    for (const button of document.querySelectorAll("#desk button")) button.disabled = isBusy;
  }

  async #cut(times) {
    const before = this.#audit.totals();
    const { connections } = this.#audit;
    for (let i = 0; i < times; i += 1) {
      setText(byId("cut-outcome"), times === 1 ? "Cut. Resuming." : `Cut ${i + 1} of ${times}.`);
      this.#socket.close(4000, "cut by the page");
      await this.#until(() => this.#hub.state.phase !== "open", SETTLED_MS, "noticing the cut");
      // As if the network had come back: otherwise the client waits longer after each cut.
      this.#hub.wake();
      await this.#until(() => this.#hub.state.phase === "open", SETTLED_MS, "reconnecting");
      await this.#until(() => this.#names().every((name) => isConfirmed(this.#hub.stream.channel(name))), SETTLED_MS, "resuming");
    }
    return this.#report(before, `${this.#audit.connections - connections} new ${times === 1 ? "connection" : "connections"}`);
  }

  async #away(seconds) {
    const before = this.#audit.totals();
    const { stream } = this.#hub;
    stream.sleep();
    for (let left = seconds; left > 0; left -= 1) {
      setText(byId("away-outcome"), `Offline for ${left} s more. Every document says that it is lost.`);
      await pause(1000);
    }
    this.#hub.wake();
    setText(byId("away-outcome"), "Back. Resuming.");
    await this.#settled();
    return this.#report(before, `${seconds} s offline`);
  }

  async #slow(seconds) {
    const options = await credential();
    const worker = new Worker("/static/truth-reader.js", { type: "module" });
    const outcome = byId("slow-outcome");
    setText(outcome, "The second reader joins.");
    try {
      const done = await new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error("the second reader took too long")), SLOW_MS);
        worker.onerror = (error) => reject(new Error(error.message || "the worker did not start"));
        worker.onmessage = ({ data }) => {
          if (data.step === "blocked") setText(outcome, `It follows ${data.channels} channels, and has stopped reading for ${seconds} s.`);
          if (data.step === "reading") setText(outcome, "It reads again.");
          if (data.step === "verifying") setText(outcome, `Comparing ${data.documents} documents by hash.`);
          if (data.step === "done" || data.step === "failed") clearTimeout(timer);
          if (data.step === "done") resolve(data);
          if (data.step === "failed") reject(new Error(data.message));
        };
        worker.postMessage({ url: new URL("/", location.href).href, options, seconds });
      });
      return slowOutcome(done);
    } finally {
      worker.terminate();
    }
  }

  async #feed(order, seconds) {
    const before = this.#audit.totals();
    const began = performance.now();
    const answer = await fetch("/truth/feed/", { method: "POST", body: new URLSearchParams({ csrf: meta("matchwire-feed"), order, seconds }) });
    if (!answer.ok) throw new Error((await answer.json().catch(() => undefined))?.detail ?? `The hub refused it: ${answer.status}.`);
    const states = [];
    const health = () => this.#hub.stream.channel([...this.#matches()][0])?.health;
    await this.#until(() => {
      const now = health();
      if (now !== undefined && now !== states.at(-1)?.health) states.push({ health: now, at: performance.now() - began });
      const left = Math.max(0, Math.ceil(seconds - (performance.now() - began) / 1000));
      setText(byId("feed-outcome"), `The match is ${now ?? "waiting"}. ${left > 0 ? `The source comes back in ${left} s.` : "Catching up."}`);
      return states.some((it) => it.health !== "live") && now === "live" && left === 0;
    }, FEED_MS, "coming back");
    const path = states.filter((it, i) => i > 0 || it.health !== "live").map((it) => `${it.health} after ${span(it.at)}`).join(", ");
    return this.#report(before, `Match ${path}`);
  }

  /** Proves everything, and says what has happened since `before`. */
  async #report(before, what) {
    await this.#verifyAll();
    const now = this.#audit.totals();
    const since = (name) => now[name] - before[name];
    const bad = since("gaps") + since("duplicates") + this.#unequal();
    const merged = now.changes - before.changes - (now.updates - before.updates);
    const words = [what, `${since("updates")} updates${merged > 0 ? ` for ${since("changes")} changes` : ""}`, `${since("events")} events`, `${since("gaps")} gaps`, `${since("duplicates")} duplicates`];
    if (since("resyncs") > 0) words.push(`${since("resyncs")} announced resyncs`);
    words.push(`${[...this.#proofs.values()].filter(({ ok }) => ok).length} of ${this.#proofs.size} hashes equal`);
    return { kind: bad > 0 ? "bad" : "good", text: `${words.join(", ")}.` };
  }

  async #verifyAll() {
    await this.#settled();
    this.#proofs.clear();
    await this.#verifyNew();
    const { kind, text } = this.#verdict();
    this.#note(text, kind);
    return { kind, text };
  }

  /** Compares the documents that have not been compared, and those that come meanwhile. */
  async #verifyNew() {
    // Channels that cannot be compared now are tried again with the next proof of all.
    const tried = new Set();
    const next = async () => {
      for (let name = this.#unproven(tried); name !== undefined; name = this.#unproven(tried)) {
        tried.add(name);
        try {
          this.#proofs.set(name, await this.#hub.verify(name));
        } catch (error) {
          // A channel may have ended meanwhile.
          if (this.#names().includes(name)) this.#proofs.set(name, { ok: undefined, error: String(error.message ?? error) });
        }
        this.#desk.redraw();
      }
    };
    await Promise.all(Array.from({ length: PROOFS_AT_ONCE }, next));
    const names = this.#names();
    for (const name of this.#proofs.keys()) if (!names.includes(name)) this.#proofs.delete(name);
  }

  #unproven(tried) {
    return this.#names().find((name) => !tried.has(name) && !this.#proofs.has(name) && isConfirmed(this.#hub.stream.channel(name)));
  }

  #unequal() {
    return [...this.#proofs.values()].filter(({ ok }) => ok === false).length;
  }

  #verdict() {
    return verdict(this.#audit.totals(), this.#names().map((name) => this.#proofs.get(name) ?? {}));
  }

  // -------------------------------------------------------------------------------------- waiting

  /** All channels that are followed and have a document. */
  #names() {
    const all = this.#follows.flatMap((follow) => [...follow.channels.values()]);
    return [...new Set(all.filter(({ data, error }) => data !== undefined && !error).map(({ name }) => name))].sort();
  }

  #matches() {
    return this.#names().filter((name) => /^\w+\/\d+$/.test(name));
  }

  /** Until all that is followed has a document whose position this connection has confirmed. */
  async #settled() {
    const isSettled = () => this.#hub.state.phase === "open" && this.#names().length > 0 && this.#follows.every((follow) => {
      return [...follow.channels.values()].every((channel) => channel.error || isConfirmed(channel));
    });
    await this.#until(isSettled, SETTLED_MS, "joining");
  }

  async #until(holds, ms, what) {
    const end = performance.now() + ms;
    while (!holds()) {
      if (this.#hub.state.phase === "closed") throw new Error("The connection is closed.");
      if (performance.now() > end) throw new Error(`${plain(what)} took longer than ${span(ms)}.`);
      await pause(50);
    }
  }

  // -------------------------------------------------------------------------------------- drawing

  #note(text, kind) {
    this.#log.unshift({ id: (this.#log[0]?.id ?? 0) + 1, at: Date.now() * 1000, text, kind });
    this.#log.length = Math.min(this.#log.length, LOG_MAX);
    this.#desk.redraw();
  }

  #draw() {
    const names = [...new Set([...this.#names(), ...this.#proofs.keys()])].sort();
    this.#rows.show(names.map((name) => [name, { channel: this.#hub.stream.channel(name), count: this.#audit.channels.get(name), proof: this.#proofs.get(name) }]));
    this.#logRows.show(this.#log.map((entry) => [entry.id, entry]));
    const { kind, text } = this.#verdict();
    setText(byId("verdict"), text);
    setAttribute(byId("verdict"), "data-verdict", kind);
  }

  #tick() {
    this.#desk.redraw();
    // Channels that have come since the last proof.
    if (this.#isBusy || this.#isProving || this.#hub.state.phase !== "open" || this.#unproven(new Set()) === undefined) return;
    this.#isProving = true;
    this.#verifyNew().finally(() => (this.#isProving = false));
  }
}

function secondsOf(id) {
  const input = byId(id);
  return Math.min(Number(input.max), Math.max(Number(input.min), Math.round(Number(input.value)) || Number(input.min)));
}

function isConfirmed(channel) {
  return channel?.synced === true && channel.data !== undefined;
}

/** What the reader in the worker has found. */
function slowOutcome({ merged, lag, isSameSocket, closes, totals, meanwhile, proofs, violations }) {
  const equal = proofs.filter(({ ok }) => ok).length;
  const isBad = totals.gaps + totals.duplicates > 0 || equal < proofs.length || !isSameSocket;
  const slow = merged.slow ?? 0;
  const text = [
    isSameSocket ? "Not closed" : `Closed with ${closes.join(", ")}`,
    slow > 0 ? `${slow} changes merged into others because it was slow` : "the buffers on the way took everything, so nothing had to be merged: try more seconds",
    `${meanwhile.updates} updates for ${meanwhile.changes} changes`,
    `${meanwhile.events} events`,
    `at most ${Math.ceil(lag.queued_bytes / 1024)} KB and ${span(lag.oldest_ms)} queued in the hub`,
    `${totals.gaps} gaps, ${totals.duplicates} duplicates${totals.resyncs ? `, ${totals.resyncs} announced resyncs` : ""}`,
    `${equal} of ${proofs.length} hashes equal`,
  ];
  return { kind: isBad ? "bad" : slow > 0 ? "good" : "open", text: `${text.join(", ")}.${violations.length > 0 ? ` ${violations.join("; ")}` : ""}` };
}

class ChannelRow {
  #cells = {};

  constructor(name) {
    this.node = el("tr", {}, el("th", { scope: "row" }, name));
    for (const key of ["state", "equal", "gaps", "duplicates", "resyncs", "seq", "updates", "merged", "events", "epoch", "own", "hub"]) {
      const isNumber = ["seq", "updates", "events", "merged", "gaps", "duplicates", "resyncs"].includes(key);
      this.node.append((this.#cells[key] = el("td", { class: isNumber ? "number" : undefined, "data-cell": key })));
    }
  }

  show({ channel, count, proof }) {
    const write = (key, value) => setText(this.#cells[key], value);
    write("state", plain(channel?.health ?? "ended"));
    setAttribute(this.node, "data-health", channel?.health);
    write("epoch", channel?.epoch);
    write("seq", channel?.seq);
    for (const key of ["updates", "events", "gaps", "duplicates", "resyncs"]) write(key, count?.[key] ?? 0);
    setAttribute(this.node, "data-broken", count && count.gaps + count.duplicates > 0 ? "yes" : undefined);
    write("merged", count?.mergedTotal ?? 0);
    setAttribute(this.#cells.merged, "title", mergedText(count?.merged ?? new Map()) || undefined);
    for (const [key, hash] of [["own", proof?.own], ["hub", proof?.sha256]]) {
      write(key, hash ? `${hash.slice(0, 12)}…` : "");
      setAttribute(this.#cells[key], "title", hash);
    }
    write("equal", proof === undefined ? "" : proof.ok === true ? `✓ at ${proof.seq}` : proof.ok === false ? "✗" : (proof.error ?? "comparing"));
    setAttribute(this.#cells.equal, "data-ok", proof?.ok === undefined ? undefined : String(proof.ok));
  }
}

class LogRow {
  #time = el("time");
  #text = el("span");

  constructor() {
    this.node = el("li", {}, this.#time, this.#text);
  }

  show({ at, text, kind }) {
    setText(this.#time, timeOfDay(at, true));
    setText(this.#text, text);
    setAttribute(this.node, "data-kind", kind);
  }
}

new Truth().start();
