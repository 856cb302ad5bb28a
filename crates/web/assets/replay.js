// The replay of the match on a card: a time line with what happened, play and pause, speed, and the way
// back to what is live. It plays the match's channels; the card shows them with the views of live data.
//
// A recording may be missing, so first it is asked for. What happened when is read from the recording of
// the match itself, once, as fast as it comes: documents have minutes, and no times. That costs as much as
// playing it, so it is read when someone first touches the replay, and not for everyone who sees the page.

import { el, setAttribute, setText } from "./view.js";

const SPEEDS = [1, 4, 16, 60];
// A little of what came before belongs to it.
const BEFORE_US = 5_000_000;
// Recordings are written with a delay, and may begin late.
const ASK_AGAIN_MS = 10_000;
// While the handle is dragged: as often as a picture can follow.
const DRAG_EVERY_MS = 150;

/** `1:02:09` of microseconds. */
export function duration(micros) {
  const seconds = Math.max(0, Math.floor(micros / 1_000_000));
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, "0"));
  return [Math.floor(seconds / 3600), ...parts].join(":");
}

/** The time line of one recording: where play begins and ends, and what happened when. */
class TimeLine {
  #view;
  #marks = [];

  constructor(view) {
    this.#view = view;
    this.begin = undefined;
    this.end = undefined;
    /** The time of the last recorded frame, and whether the end of the match is recorded. */
    this.last = 0;
    this.isComplete = false;
  }

  get marks() {
    return this.#marks.filter((mark) => !mark.retracted);
  }

  note(channel, { events }) {
    const at = channel.at?.pub ?? channel.at?.in;
    if (!at || channel.data === undefined) return;
    if (channel.data.life !== "prematch") this.begin ??= at;
    if (channel.data.life === "ended" && !this.isComplete) [this.end, this.isComplete] = [at, true];
    for (const event of events) {
      if (event.kind === "retract") {
        for (const mark of this.#marks) mark.retracted ||= mark.eid === event.of;
      }
      const mark = this.#view.mark?.(event, channel.data);
      if (mark) this.#marks.push({ ...mark, at, eid: event.eid });
    }
  }
}

export class ReplayBar {
  #host;
  #view;
  #name;
  #probe;
  #scan;
  #line;
  #askedAt = 0;
  #isRecorded = false;
  #isRunning = false;
  #speed = 1;
  #dragging = false;
  #draggedAt = 0;
  #isOver = false;
  // What to do when the recording has been read: where to open it, as a part of the match from 0 to 1.
  #wanted;

  #watch = el("button", { type: "button", class: "watch", hidden: true });
  #range = el("input", { type: "range", class: "seek", min: 0, max: 1, step: 1, value: 0, "aria-label": "Position in the match" });
  #marks = el("ol", { class: "marks", "aria-label": "What happened" });
  #play = el("button", { type: "button", class: "play" });
  #time = el("span", { class: "where" });
  #speeds = SPEEDS.map((speed) => el("button", { type: "button", "data-speed": speed, "aria-label": `${speed} times as fast` }, `${speed}×`));
  #leave = el("button", { type: "button", class: "leave" });
  #player;
  #problem = el("span", { class: "replay-problem", role: "status", hidden: true });

  /**
   * `head`: that of the card. `host`: `stream()`, `play(chs, options)`, `channels()` of the match beside its own, `opened()`, `changed(channel, change)`
   * and `closed(channel)`, with the match as the recording left it where it goes on live.
   */
  constructor(view, head, host) {
    // In the head, where there is room for it: the page must not shift when a recording is found.
    head.querySelector("h2").after(this.#watch, this.#problem);
    this.#view = view;
    this.#host = host;
    /** The replay that the card shows. */
    this.replay = undefined;
    this.#player = el("div", { class: "player" },
      el("div", { class: "line" }, this.#range, this.#marks),
      el("div", { class: "buttons" },
        this.#play, this.#time,
        el("div", { class: "switch", role: "group", "aria-label": "Speed" }, ...this.#speeds),
        this.#leave));
    this.node = el("section", { class: "replay", "aria-label": "Replay", hidden: true }, this.#player);
    this.#watch.addEventListener("click", () => this.#watchFromStart());
    this.#play.addEventListener("click", () => this.#playOrPause());
    this.#leave.addEventListener("click", () => this.#close());
    this.#range.addEventListener("input", () => this.#drag());
    // No `change` follows if the handle is back where it was.
    for (const end of ["change", "pointerup", "pointercancel", "blur"]) this.#range.addEventListener(end, () => this.#drop());
    for (const touch of ["pointerdown", "focusin"]) this.#player.addEventListener(touch, () => this.#touch());
    for (const button of this.#speeds) button.addEventListener("click", () => this.#setSpeed(Number(button.dataset.speed)));
  }

  /** Another match was chosen. */
  follow(name) {
    for (const replay of [this.#probe, this.#scan, this.replay]) replay?.close();
    this.#probe = this.#scan = this.replay = this.#line = undefined;
    this.#name = name;
    this.#isRecorded = false;
    this.#askedAt = 0;
    this.#speed = 1;
    this.#dragging = this.#isOver = false;
    this.#wanted = undefined;
    this.#report("");
    this.node.hidden = this.#watch.hidden = true;
  }

  /** Called on every tick, with the live document of the match. */
  tick(doc) {
    // Between the end of a replay and the first live document it is as it was.
    if (this.replay === undefined && doc !== undefined) this.#isRunning = doc.life === "live";
    const isOver = doc?.life === "ended";
    this.#isOver = isOver;
    // The end of a match is recorded a little later than it is live.
    const isLacking = !this.#isRecorded || (isOver && this.replay === undefined && this.#line?.isComplete === false);
    if ((this.#isRunning || isOver) && isLacking) this.#ask();
    if (!this.#isRecorded) return;
    this.#draw();
  }

  // -------------------------------------------------------------------- whether there is a recording

  #ask() {
    const stream = this.#host.stream();
    const isDue = Date.now() - this.#askedAt >= ASK_AGAIN_MS;
    if (this.#probe !== undefined || !isDue || !stream.features.includes("replay")) return;
    this.#askedAt = Date.now();
    const onState = (probe) => {
      if (probe !== this.#probe) return;
      if (probe.phase === "playing") {
        this.#isRecorded = true;
        this.#probe = undefined;
        probe.close();
        const hasGrown = this.#line !== undefined && probe.span.last > this.#line.last;
        if (hasGrown && this.replay === undefined && this.#scan === undefined) this.#read();
      } else if (probe.phase === "refused") {
        this.#probe = undefined;
      }
    };
    this.#probe = this.#host.play([this.#name], { speed: 0.1, onState });
  }

  /** Reads what happened when. */
  #read() {
    const line = new TimeLine(this.#view);
    this.#report("");
    this.#scan = this.#host.play([this.#name], {
      speed: "max",
      onChange: (channel, change) => line.note(channel, change),
      onState: (scan) => {
        if (scan !== this.#scan) return;
        const isRead = scan.phase === "ended" && scan.why === "end";
        if (isRead) this.#scanned(scan, line);
        else if (scan.phase === "ended" || scan.phase === "refused") this.#scanFailed(scan);
      },
    });
    this.#draw();
  }

  #scanned(scan, line) {
    this.#scan = undefined;
    scan.close();
    this.#line = line;
    line.last = scan.span.last;
    line.begin = Math.max(scan.span.first, (line.begin ?? scan.span.first) - BEFORE_US);
    line.end = Math.min(scan.span.last, (line.end ?? scan.span.last) + BEFORE_US);
    this.#showMarks();
    const wanted = this.#wanted;
    [this.#wanted, this.#dragging] = [undefined, false];
    if (wanted !== undefined) this.#open(line.begin + wanted * (line.end - line.begin));
    this.#draw();
  }

  #scanFailed(scan) {
    this.#scan = this.#wanted = undefined;
    this.#dragging = false;
    scan.close();
    this.#report("The replay cannot be opened now.");
    this.#draw();
  }

  /** Tells the user, in words; nothing if all is well. */
  #report(text) {
    setText(this.#problem, text);
    this.#problem.hidden = text === "";
  }

  get #isRead() {
    return this.#line !== undefined;
  }

  // ----------------------------------------------------------------------------------------- playing

  #watchFromStart() {
    if (this.#scan !== undefined) return;
    this.#wanted = 0;
    // Once more, because it has grown.
    this.#read();
  }

  /** The first touch of the player of a finished match. */
  #touch() {
    if (!this.#isRead && this.#scan === undefined && this.#isRecorded && !this.#isRunning) this.#read();
  }

  #open(at) {
    const onState = (replay) => {
      if (replay !== this.replay) return;
      if (replay.phase === "ended" && this.#isRunning && replay.why === "end") return this.#close();
      if (replay.phase === "refused") {
        this.#report("The replay cannot be opened now.");
        return this.#close();
      }
      if (replay.phase === "ended" && replay.why !== "end") this.#report("The replay was stopped. Play continues it.");
      this.#draw();
    };
    const onChange = (channel, change) => {
      if (channel.name === this.#name) this.#noteGrowth(channel, change);
      this.#host.changed(channel, change);
    };
    const chs = [this.#name, ...this.#host.channels(this.#name)];
    this.replay = this.#host.play(chs, { from: { at }, speed: this.#speed, onState, onChange });
    this.#report("");
    this.#host.opened();
    // The button disappears, unless the user has gone elsewhere meanwhile.
    const hadFocus = document.activeElement === this.#watch;
    this.#draw();
    if (hadFocus) this.#play.focus({ preventScroll: true });
  }

  /** A match that runs gets longer while it is watched. */
  #noteGrowth(channel, change) {
    const at = channel.at?.pub;
    if (!at || at <= this.#line.end) return;
    const before = this.#line.marks.length;
    this.#line.note(channel, change);
    this.#line.end = at;
    if (this.#line.marks.length !== before) this.#showMarks();
  }

  #close() {
    const { replay } = this;
    if (replay === undefined) return;
    const caughtUp = replay.phase === "ended" && this.#isRunning;
    const hadFocus = this.node.contains(document.activeElement);
    this.replay = undefined;
    // It will have grown when it is watched again.
    if (this.#isRunning) [this.#line, this.#speed] = [undefined, 1];
    replay.close();
    this.#host.closed(caughtUp ? replay.channel(this.#name) : undefined);
    this.#draw();
    if (hadFocus) (this.#isRunning ? this.#watch : this.#play).focus({ preventScroll: true });
  }

  #playOrPause() {
    const { replay } = this;
    if (!this.#isRead) {
      this.#wanted = 0;
      return this.#touch();
    }
    const at = this.#line.begin + Number(this.#range.value) * 1_000_000;
    if (replay === undefined) return this.#open(this.#isAtEnd(at) ? this.#line.begin : at);
    this.#report("");
    if (replay.phase === "ended") {
      replay.resume();
      replay.seek(this.#isAtEnd(at) ? this.#line.begin : at);
    } else if (replay.paused) {
      if (this.#isAtEnd(at)) replay.seek(this.#line.begin);
      replay.resume();
    } else {
      replay.pause();
    }
    return this.#draw();
  }

  #isAtEnd(at) {
    return at >= this.#line.end - 1_000_000;
  }

  #setSpeed(speed) {
    this.#speed = speed;
    this.replay?.setSpeed(speed);
    this.#draw();
  }

  #seek(at) {
    if (this.replay === undefined) this.#open(at);
    else this.replay.seek(at);
  }

  #drag() {
    this.#dragging = true;
    if (!this.#isRead) {
      this.#wanted = Number(this.#range.value) / Number(this.#range.max);
      return this.#touch();
    }
    const at = this.#line.begin + Number(this.#range.value) * 1_000_000;
    this.#showTime(at);
    if (Date.now() - this.#draggedAt < DRAG_EVERY_MS) return undefined;
    this.#draggedAt = Date.now();
    return this.#seek(at);
  }

  #drop() {
    // Until the recording has been read, the handle stays where it was dropped.
    if (!this.#dragging || !this.#isRead) return;
    this.#dragging = false;
    this.#seek(this.#line.begin + Number(this.#range.value) * 1_000_000);
  }

  // ----------------------------------------------------------------------------------------- drawing

  #draw() {
    const { replay } = this;
    const isPlayer = (this.#isRead || this.#isOver) && this.#isRecorded && (replay !== undefined || !this.#isRunning);
    this.node.hidden = !isPlayer;
    this.#watch.hidden = isPlayer || !this.#isRunning;
    setText(this.#watch, this.#scan === undefined ? `Watch from the ${this.#view.beginning ?? "start"}` : "Opening the replay");
    if (!isPlayer) return;
    this.#stopAtEnd();

    const isPlaying = replay !== undefined && !replay.paused && replay.phase !== "ended";
    setText(this.#play, isPlaying ? "Pause" : "Play");
    this.#leave.hidden = replay === undefined;
    setText(this.#leave, this.#isRunning ? "Go live" : "Close replay");
    for (const button of this.#speeds) setAttribute(button, "aria-pressed", Number(button.dataset.speed) === this.#speed ? "true" : "false");
    if (!this.#isRead) {
      this.#drawUnread();
      return;
    }
    const { begin, end } = this.#line;
    setAttribute(this.#range, "max", Math.max(1, Math.ceil((end - begin) / 1_000_000)));
    if (this.#dragging) return;
    const at = Math.min(replay?.serverNow() ?? end, end);
    this.#range.value = String(Math.floor((at - begin) / 1_000_000));
    this.#showTime(at);
  }

  /** Nothing is known yet but that there is a recording. */
  #drawUnread() {
    setAttribute(this.#range, "max", 1000);
    if (!this.#dragging) this.#range.value = "1000";
    setText(this.#time, this.#scan === undefined ? "" : "Opening the replay");
    this.#range.removeAttribute("aria-valuetext");
    this.#marks.replaceChildren();
  }

  /** The recording of a finished match goes on after the match, and the time line does not. */
  #stopAtEnd() {
    const { replay } = this;
    const isPlaying = replay?.phase === "playing" && !replay.paused;
    if (isPlaying && !this.#isRunning && this.#line.isComplete && replay.serverNow() > this.#line.end) replay.pause();
  }

  #showTime(at) {
    const { begin, end } = this.#line;
    setText(this.#time, `${duration(at - begin)} / ${duration(end - begin)}`);
    setAttribute(this.#range, "aria-valuetext", `${duration(at - begin)} of ${duration(end - begin)}`);
  }

  #showMarks() {
    const { begin, end, marks } = this.#line;
    const share = (at) => Math.min(1, Math.max(0, (at - begin) / Math.max(1, end - begin)));
    const items = marks.map(({ kind, label, at }) => {
      const button = el("button", { type: "button", title: label, "aria-label": label, "data-mark": kind },
        el("i", { class: "mark", "data-mark": kind, "aria-hidden": "true" }));
      button.addEventListener("click", () => this.#seek(Math.max(begin, at - BEFORE_US)));
      const item = el("li", {}, button);
      // Through the style object, which a strict content policy allows.
      item.style.setProperty("--at", share(at).toFixed(4));
      return item;
    });
    this.#marks.replaceChildren(...items);
  }
}
