// The demo page: opens the stream, decides which matches are followed, and hands documents to the
// views. The page is drawn at most once a frame; this file chooses the announcements.

import { Replay, Stream } from "/client/v1/matchwire.js";
import { Board, suggestion } from "./boards.js";
import { Announcer, Connection, byId, pageKey, streamUrl } from "./connection.js";
import { FootballView } from "./football.js";
import { OddsView } from "./odds.js";
import { ReplayBar } from "./replay.js";
import { isLive, pairing } from "./sports.js";
import { TennisView } from "./tennis.js";
import { KeyedList, Trust, el, plain, setAttribute, setText, timeOfDay } from "./view.js";

// Ages show tenths of a second while they are short; four times a second is as fast as they read.
const TICK_MS = 250;
// After the end of a match: long enough to take in the result, short enough for a screen on a wall.
const MOVE_ON_AFTER_MS = 30_000;
// Books are shown next to the best prices; four values a second of each are enough for reading.
const BOOKS_EVERY_MS = 250;
// A match may have no odds yet; how often to request them again while it is followed.
const ASK_AGAIN_MS = 10_000;

class Page {
  #stream;
  #sports = {};
  #boards = {};
  #odds;
  #sources;
  #announcer = new Announcer();
  #connection = new Connection((credential) => this.#open(credential), this.#announcer);
  #dirty = new Set();
  #drawing = false;

  constructor() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    this.#sports.football = new Followed("football", FootballView, this);
    this.#sports.tennis = new Followed("tennis", TennisView, this);
    this.#odds = new OddsPanel(this, wanted.get("odds"));
    for (const [sport, followed] of Object.entries(this.#sports)) followed.wanted = wanted.get(sport) ?? undefined;

    setInterval(() => this.#tick(), TICK_MS);
    this.#showConnect();

    this.#connection.start();
  }

  get stream() {
    return this.#stream;
  }

  /** What the documents of the match followed in `sport` come from: the stream, or a replay of the match. */
  source(sport) {
    return this.#sports[sport].source;
  }

  /** The bookmakers' channels of this match, as far as they are known. */
  oddsChannels(name) {
    return this.#odds.channels(name);
  }

  /** The odds of the followed match come from elsewhere, or have changed there. */
  oddsChanged() {
    this.draw(this.#odds);
  }

  /** The match followed in `sport`: its channel, or undefined. */
  match(sport) {
    return this.#sports[sport].channel;
  }

  /** `credential`: `{key}`, or `{protocols}` for a customer whose session buys a ticket for each socket. */
  #open(credential) {
    this.#stream = new Stream(streamUrl(), { ...credential, onState: (state) => this.#connection.entered(state) });
    for (const sport of ["football", "tennis"]) {
      this.#boards[sport] ??= new BoardPanel(sport, this);
      this.#boards[sport].follow(this.#stream);
      this.#sports[sport].restart();
    }
    this.#sources ??= new SourcesPanel(this);
    this.#sources.follow(this.#stream);
    return this.#stream;
  }

  /** A board has changed: choose defaults for what the viewer has not chosen. */
  boardChanged(sport) {
    const followed = this.#sports[sport];
    const matches = this.matches(sport);
    const id = followed.wanted ?? (followed.id === undefined ? suggestion(sport, matches) : undefined);
    followed.wanted = undefined;
    if (id !== undefined) this.choose(sport, id);
    this.draw(this.#boards[sport]);
  }

  matches(sport) {
    return this.#stream.channel(sport)?.data?.matches;
  }

  choose(sport, id) {
    this.#sports[sport].follow(id);
    this.draw(this.#boards[sport]);
    this.#odds.matchChanged(sport);
    this.remember();
  }

  chosen(sport) {
    return this.#sports[sport].id;
  }

  matchChanged(sport) {
    this.#odds.matchChanged(sport);
  }

  announce(text) {
    if (text) this.#announcer.say(text);
  }

  /** The address holds the choice, so that a reload or a link finds the same matches. */
  remember() {
    const words = new URLSearchParams();
    for (const sport of ["football", "tennis"]) {
      const id = this.chosen(sport);
      if (id !== undefined) words.set(sport, id);
    }
    words.set("odds", this.#odds.sport);
    history.replaceState(null, "", `#${words}`);
  }

  /** Draws a part with the next frame, once, even if it changes several times until then. */
  draw(part) {
    this.#dirty.add(part);
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      const parts = [...this.#dirty];
      this.#dirty.clear();
      for (const dirty of parts) {
        dirty.draw();
        dirty.tick();
      }
    });
  }

  #tick() {
    if (this.#stream === undefined) return;
    for (const part of [...Object.values(this.#sports), ...Object.values(this.#boards), this.#odds, this.#sources]) part.tick();
    this.#connection.tick(this.#stream);
  }

  #showConnect() {
    const demo = pageKey();
    setText(byId("connect-browser"), [
      `const socket = new WebSocket("${streamUrl()}", ["matchwire.v1", "token", "${demo ?? "YOUR_KEY"}"]);`,
      "socket.onmessage = (message) => console.log(JSON.parse(message.data));",
      'socket.onopen = () => socket.send(JSON.stringify({ op: "subscribe", id: 1, ch: "football" }));',
    ].join("\n"));
    setText(byId("connect-terminal"), `websocat -H 'Authorization: Token ${demo ?? "YOUR_KEY"}' ${streamUrl()}`);
  }
}

/** One followed match of a sport: the subscription, its view, and what happens when it ends. */
class Followed {
  #sport;
  #page;
  #view;
  #trust;
  #stop = () => {};
  #moveOn;
  #offer;
  #replay;

  constructor(sport, View, page) {
    this.#sport = sport;
    this.#page = page;
    const card = byId(sport);
    this.#trust = new Trust(card);
    this.#offer = new Offer(() => this.#go(), () => this.#stay());
    card.querySelector(".notice").after(this.#offer.node);
    const place = el("div", { class: "place" });
    this.#offer.node.after(place);
    this.#view = new View(card, place);
    this.#replay = new ReplayBar(this.#view, card.querySelector(".head"), {
      stream: () => page.stream,
      play: (chs, options) => new Replay(page.stream, chs, options),
      channels: (name) => page.oddsChannels(name),
      opened: () => this.#replayOpened(),
      changed: (channel, change) => this.#replayChanged(channel, change),
      closed: (known) => this.#replayClosed(known),
    });
    place.before(this.#replay.node);
    this.id = undefined;
    /** The id in the address, until the board has arrived. */
    this.wanted = undefined;
  }

  get #name() {
    return this.id === undefined ? undefined : `${this.#sport}/${this.id}`;
  }

  /** What is shown comes from the stream, or from a replay. */
  get source() {
    return this.#replay.replay ?? this.#page.stream;
  }

  get channel() {
    return this.id === undefined ? undefined : this.source?.channel(this.#name);
  }

  follow(id) {
    if (id === this.id) return;
    this.#stop();
    this.id = id;
    this.#moveOn = undefined;
    this.#replay.follow(this.#name);
    this.#subscribe();
    this.#page.draw(this);
  }

  /** Follows it live; `known` is the document of a replay from which it goes on. */
  #subscribe(known) {
    const onChange = (channel, change) => this.#changed(channel, change);
    this.#stop = this.#page.stream.subscribe(this.#name, onChange, {}, known);
  }

  /** A running match is no longer followed live while it is watched from the kick-off. */
  #replayOpened() {
    if (this.#page.stream.channel(this.#name)?.data?.life !== "ended") {
      this.#stop();
      this.#stop = () => {};
    }
    if (this.#moveOn !== undefined) this.#moveOn = { stay: true };
    this.#page.draw(this);
    this.#page.oddsChanged();
  }

  #replayChanged(channel, change) {
    if (channel.name !== this.#name) return this.#page.oddsChanged();
    if (channel.data) this.#view.show(channel.data);
    for (const event of change.events) {
      this.#view.note?.(event);
      this.#page.announce(this.#view.say(event));
    }
    return this.#page.draw(this);
  }

  #replayClosed(known) {
    if (this.#page.stream.channel(this.#name) === undefined) this.#subscribe(known);
    this.#page.draw(this);
    this.#page.oddsChanged();
  }

  /** After a new stream was opened with another key: the same match on it. */
  restart() {
    const { id } = this;
    this.#stop = () => {};
    this.#replay.follow(undefined);
    this.id = undefined;
    if (id !== undefined) this.follow(id);
  }

  #changed(channel, change) {
    if (change.kind !== "health") this.#page.matchChanged(this.#sport);
    if (this.#replay.replay !== undefined) return;
    for (const event of change.events) this.#view.note?.(event);
    if (channel.data) this.#view.show(channel.data);
    for (const event of change.events) this.#page.announce(this.#view.say(event));

    const gone = channel.health === "refused";
    const over = channel.data?.life === "ended" || gone;
    if (over && this.#moveOn === undefined) this.#moveOn = { at: Date.now() + (gone ? 0 : MOVE_ON_AFTER_MS) };
    if (!over) this.#moveOn = undefined;
    this.#page.draw(this);
  }

  draw() {
    const { channel } = this;
    if (channel?.data) this.#view.show(channel.data);
  }

  tick() {
    const { channel, source } = this;
    if (source === undefined) return;
    this.#trust.show(channel, source);
    if (channel?.data) this.#view.tick(channel, source);
    if (this.id !== undefined) this.#replay.tick(this.#page.stream.channel(this.#name)?.data);
    this.#considerMovingOn();
  }

  /**
   * When the match is over, another one in play is offered and taken after a while, unless the
   * viewer stays. With none in play the result stays up until one begins.
   */
  #considerMovingOn() {
    const next = this.#next();
    if (this.#moveOn === undefined || this.#moveOn.stay || next === undefined) return this.#offer.hide();
    const left = this.#moveOn.at - Date.now();
    if (left <= 0) return this.#go();
    this.#offer.show(pairing(this.#sport, next.match), left);
  }

  #next() {
    const matches = this.#page.matches(this.#sport);
    const id = suggestion(this.#sport, matches, this.id);
    return id !== undefined && isLive(this.#sport, matches[id]) ? { id, match: matches[id] } : undefined;
  }

  #go() {
    const next = this.#next();
    if (next !== undefined) this.#page.choose(this.#sport, next.id);
  }

  #stay() {
    this.#moveOn = { stay: true };
    this.#offer.hide();
  }
}

/** The line that announces the next match. */
class Offer {
  #text = el("span");

  constructor(go, stay) {
    const button = (text, act) => {
      const node = el("button", { type: "button" }, text);
      node.addEventListener("click", act);
      return node;
    };
    this.node = el("p", { class: "offer", hidden: true }, this.#text, button("Go now", go), button("Stay here", stay));
  }

  show(name, leftMs) {
    setText(this.#text, `This match is over. Moving to ${name} in ${Math.ceil(leftMs / 1000)} s.`);
    this.node.hidden = false;
  }

  hide() {
    this.node.hidden = true;
  }
}

/** The odds of the football or the tennis match followed, best prices or one book. */
class OddsPanel {
  #page;
  #view;
  #trust;
  #base;
  #stops = [];
  #book = "";
  #books = new Set();
  #choices;
  #sportButtons;
  #stream;
  #requestedAt = 0;

  constructor(page, sport) {
    this.#page = page;
    this.sport = sport === "tennis" ? "tennis" : "football";
    const card = byId("odds");
    this.#trust = new Trust(card);
    this.#sportButtons = ["football", "tennis"].map((name) => {
      const button = el("button", { type: "button", "data-sport": name }, plain(name));
      button.addEventListener("click", () => this.#chooseSport(name));
      return button;
    });
    this.#choices = el("select", { id: "book", "aria-label": "Bookmaker" }, el("option", { value: "" }, "Best price"));
    this.#choices.addEventListener("change", () => {
      this.#book = this.#choices.value;
      this.#page.draw(this);
    });
    const controls = el("div", { class: "controls" },
      el("div", { class: "switch", role: "group", "aria-label": "Sport" }, ...this.#sportButtons), this.#choices);
    const place = el("div", { class: "place" });
    card.querySelector(".notice").after(controls, place);
    this.#view = new OddsView(card, place);
  }

  #chooseSport(sport) {
    this.sport = sport;
    this.matchChanged(sport);
    this.#page.remember();
    this.#page.draw(this);
  }

  get channel() {
    if (this.#base === undefined) return undefined;
    return this.#page.source(this.sport).channel(this.#book ? `${this.#base}/${this.#book}` : this.#base);
  }

  /** The channels of the odds of this match: the best prices, and the books as far as they are known. */
  channels(name) {
    const base = `${name}/odds`;
    return base === this.#base ? [base, ...[...this.#books].map((slug) => `${base}/${slug}`)] : [base];
  }

  /** The followed match of a sport was chosen, or has news such as its names. */
  matchChanged(sport) {
    if (sport !== this.sport) return;
    const id = this.#page.chosen(sport);
    const base = id === undefined ? undefined : `${sport}/${id}/odds`;
    const { stream } = this.#page;
    if (base !== this.#base || stream !== this.#stream) this.#follow(base, stream);
    this.#page.draw(this);
  }

  #follow(base, stream) {
    for (const stop of this.#stops) stop();
    this.#base = base;
    this.#stream = stream;
    this.#requestedAt = Date.now();
    this.#books.clear();
    this.#listBooks();
    this.#stops = base === undefined ? [] : [
      stream.subscribe(base, () => this.#page.draw(this)),
      // One pattern for all books of the match: it also shows which bookmakers there are.
      stream.subscribe(`${base}/*`, (channel) => this.#bookChanged(channel), { every_ms: BOOKS_EVERY_MS }),
    ];
  }

  #bookChanged(channel) {
    const slug = channel.name.slice(this.#base.length + 1);
    if (!this.#books.has(slug)) {
      this.#books.add(slug);
      this.#listBooks();
    }
    if (slug === this.#book) this.#page.draw(this);
  }

  #listBooks() {
    // The book chosen stays chosen while the books of the next match arrive.
    const slugs = [...new Set([...this.#books, this.#book].filter(Boolean))].sort();
    const options = slugs.map((slug) => el("option", { value: slug }, slug));
    this.#choices.replaceChildren(el("option", { value: "" }, "Best price"), ...options);
    this.#choices.value = this.#book;
  }

  draw() {
    for (const button of this.#sportButtons) {
      setAttribute(button, "aria-pressed", button.dataset.sport === this.sport ? "true" : "false");
    }
    this.#view.show(this.channel, this.#page.match(this.sport)?.data);
  }

  tick() {
    const { stream } = this.#page;
    if (stream === undefined) return;
    const refused = this.#base !== undefined && stream.channel(this.#base)?.health === "refused";
    if (refused && Date.now() - this.#requestedAt >= ASK_AGAIN_MS) this.#follow(this.#base, stream);
    const source = this.#page.source(this.sport);
    this.#trust.show(this.channel, source);
    if (this.channel) this.#view.tick(this.channel, source);
  }
}

class BoardPanel {
  #sport;
  #page;
  #board;
  #trust;

  constructor(sport, page) {
    this.#sport = sport;
    this.#page = page;
    const card = byId(`board-${sport}`);
    this.#trust = new Trust(card);
    const place = el("div", { class: "place" });
    card.querySelector(".notice").after(place);
    this.#board = new Board(sport, card, place, (id) => page.choose(sport, id));
  }

  follow(stream) {
    stream.subscribe(this.#sport, () => this.#page.boardChanged(this.#sport));
  }

  get channel() {
    return this.#page.stream.channel(this.#sport);
  }

  draw() {
    this.#board.show(this.channel?.data, this.#page.chosen(this.#sport));
  }

  tick() {
    this.#trust.show(this.channel, this.#page.stream);
    if (this.channel?.data) this.#board.tick(this.channel, this.#page.stream);
  }
}

/** The health of each source, as the hub reports it. */
class SourcesPanel {
  #page;
  #trust;
  #list;

  constructor(page) {
    this.#page = page;
    const card = byId("sources");
    this.#trust = new Trust(card);
    const list = el("ul", { class: "sources body" });
    this.#list = new KeyedList(list, (name) => new SourceRow(name));
    card.querySelector(".notice").after(list);
  }

  follow(stream) {
    stream.subscribe("feeds", () => this.#page.draw(this));
  }

  draw() {
    const sources = this.#page.stream.channel("feeds")?.data?.sources ?? {};
    this.#list.show(Object.entries(sources).sort(([a], [b]) => a.localeCompare(b)));
  }

  tick() {
    this.#trust.show(this.#page.stream.channel("feeds"), this.#page.stream);
  }
}

class SourceRow {
  #state = el("span", { class: "chip" });
  #detail = el("span", { class: "faint" });

  constructor(name) {
    this.node = el("li", {}, el("span", { class: "name" }, name), this.#state, this.#detail);
  }

  show(source) {
    setAttribute(this.node, "data-state", source.ended ? "ended" : source.state);
    setText(this.#state, source.ended ? "Ended" : plain(source.state));
    const parts = [plain(source.kind).toLowerCase(), `${Number(source.messages ?? 0).toLocaleString()} messages`];
    if (source.quarantined) parts.push(`${source.quarantined} quarantined`);
    if (source.last) parts.push(`last ${timeOfDay(source.last, true)}`);
    setText(this.#detail, parts.filter(Boolean).join(" · "));
  }
}

new Page();
