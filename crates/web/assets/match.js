// The page of one match: its live document, its odds, and what REST knows besides. The sport decides which views it has.

import { connect } from "/client/v1/matchwire.js";
import { Announcer, Connection, addonsText, byId, keepKey, restKey } from "./connection.js";
import { FootballParts } from "./football-parts.js";
import { FootballView } from "./football.js";
import { OddsChart } from "./odds-chart.js";
import { OddsView, sideNames } from "./odds.js";
import { Rest } from "./panel.js";
import { RaceView, ScoreboardParts, ScoreboardView } from "./scoreboard.js";
import { isLive, pairing, scoreText } from "./sports.js";
import { TennisParts } from "./tennis-parts.js";
import { TennisView } from "./tennis.js";
import { Trust, el, setAttribute, setText } from "./view.js";

// As the live page: ages show tenths of a second while they are short.
const TICK_MS = 250;
// A recording is written with a delay of ten seconds: asked for again after this, it covers the moment of opening.
const RECALL_AGAIN_MS = 15_000;
// What prices are marked with.
const MARKED = { goal: "Goal", retract: "Retracted", card: "Red card", set: "Set", score: "Score" };

class MatchPage {
  #sport = byId("desk").dataset.sport;
  #id = byId("desk").dataset.id;
  #name = `${this.#sport}/${this.#id}`;
  #hub;
  #follow;
  #odds;
  #rest = new Rest(restKey, () => this.#hub?.state.phase === "open");
  #announcer = new Announcer();
  #connection = new Connection((credential) => this.#open(credential), this.#announcer);
  #trust = new Trust(byId("match"));
  #oddsTrust = new Trust(byId("odds"));
  #absence = new Absence();
  #view;
  #parts;
  #oddsView;
  #chart;
  #books;
  #drawing = false;
  // When the recording is read next, in local milliseconds.
  #recallAt = 0;

  constructor() {
    const place = el("div", { class: "place" });
    byId("match").querySelector(".notice").after(this.#absence.node, place);
    this.#view = this.#makeView(byId("match"), place);
    this.#parts = this.#makeParts();
    byId("parts").append(...(this.#parts?.panels ?? []).map(({ node }) => node));
    const pricesPlace = el("div", { class: "place" });
    this.#chart = new OddsChart(this.#rest, this.#id);
    if (this.#sport === "horseracing") this.#books = new Books(() => this.#draw());
    byId("odds").querySelector(".notice").after(this.#books?.node ?? this.#chart.node, pricesPlace);
    this.#oddsView = new OddsView(byId("odds"), pricesPlace);
    if (!this.#rest.hasKey && byId("upgrade") === null) this.#askForKey();
    setInterval(() => this.#tick(), TICK_MS);
    this.#connection.start();
  }

  #makeView(card, place) {
    if (this.#sport === "football") return new FootballView(card, place);
    if (this.#sport === "tennis") return new TennisView(card, place);
    if (this.#sport === "horseracing") return new RaceView(card, place);
    return new ScoreboardView(card, place, this.#sport);
  }

  #makeParts() {
    if (this.#sport === "football") return new FootballParts(this.#rest, this.#id);
    if (this.#sport === "tennis") return new TennisParts(this.#rest, this.#id);
    return this.#sport === "horseracing" ? undefined : new ScoreboardParts(this.#rest, this.#id, this.#sport);
  }

  #open(credential) {
    this.#hub?.close();
    this.#hub = connect("/", { ...credential, onState: (state) => this.#connection.entered(state) });
    this.#follow = this.#hub.follow(this.#name, { rate: "frame" });
    this.#follow.on("change", () => this.#draw());
    this.#follow.on("event", (event) => this.#happened(event));
    this.#follow.on("health", () => this.#draw());
    // The runners of a race have no names in common, so races have books alone.
    this.#odds = this.#hub.follow(this.#books ? `${this.#name}/odds/*` : `${this.#name}/odds`, { rate: "frame" });
    this.#odds.on("change", ({ ch, data, at }) => {
      if (this.#books) this.#books.list([...this.#odds.channels.keys()]);
      else if (ch === this.#odds.ch) this.#chart.take(data, at?.in ?? at?.pub ?? this.#hub.serverNow());
      this.#draw();
    });
    this.#odds.on("health", () => this.#draw());
    this.#rest.restart();
    return this.#hub.stream;
  }

  /** An event of now, each exactly once. */
  #happened(event) {
    const { data, at } = this.#follow.channel;
    const now = at?.in ?? at?.pub ?? this.#hub.serverNow();
    this.#note(event, data, now);
    if (data) this.#view.show(data);
    const text = this.#view.say(event);
    if (text) this.#announcer.say(text);
    if (event.kind === "goal" || event.kind === "retract") this.#parts?.hurry?.();
    const isMark = event.kind in MARKED && !(event.kind === "card" && event.card === "yellow") && this.#sport !== "basketball";
    if (isMark && !(event.kind === "retract" && this.#sport === "tennis")) this.#chart.mark(now, MARKED[event.kind], event.side);
    this.#draw();
  }

  #note(event, data, at) {
    this.#view.note?.(event, data, at);
    this.#parts?.note?.(event, data, at);
  }

  /** What happened before the page was opened, from the recording of the match: points and scores are events, and no document has them all. */
  #recall() {
    const isNeeded = !["football", "horseracing"].includes(this.#sport);
    if (!isNeeded || !this.#hub.features?.includes("replay")) return;
    const isAgain = this.#recallAt === 0 && isLive(this.#sport, this.#follow.data);
    this.#recallAt = isAgain ? Date.now() + RECALL_AGAIN_MS : Infinity;
    this.#hub.replay([this.#name], {
      speed: "max",
      onChange: (channel, { events }) => {
        for (const event of events) this.#note(event, channel.data, channel.at?.pub);
      },
      onState: (replay) => {
        if (replay.phase !== "ended") return;
        replay.close();
        this.#draw();
      },
    });
  }

  /** The channel of the odds that are shown. */
  get #prices() {
    return this.#books ? this.#odds.channels.get(this.#books.chosen) : this.#odds.channel;
  }

  #draw() {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      this.#render();
      this.#tick();
    });
  }

  #render() {
    const doc = this.#follow.data;
    this.#absence.show(this.#follow);
    setAttribute(byId("desk"), "data-absent", doc === undefined && this.#follow.health === "refused" ? "yes" : undefined);
    if (doc !== undefined) {
      this.#view.show(doc);
      this.#parts?.show(doc);
      const title = [pairing(this.#sport, doc), scoreText(this.#sport, doc)].filter(Boolean).join(" ");
      setText(byId("title"), title);
      if (document.title !== `${title} · Matchwire`) document.title = `${title} · Matchwire`;
    }
    this.#oddsView.show(this.#prices, doc);
    this.#showChart();
  }

  #tick() {
    if (this.#hub === undefined) return;
    const { stream } = this.#hub;
    this.#connection.tick(stream);
    this.#trust.show(this.#follow.channel, stream);
    const prices = this.#prices;
    this.#oddsTrust.show(prices, stream);
    if (this.#follow.data) this.#view.tick(this.#follow.channel, stream);
    if (prices?.data) this.#oddsView.tick(prices, stream);
    this.#showChart();
    if (document.hidden || this.#hub.state.phase !== "open" || this.#follow.data === undefined) return;
    if (Date.now() >= this.#recallAt) this.#recall();
    this.#parts?.refresh(isLive(this.#sport, this.#follow.data));
    if (!this.#books) this.#chart.refresh();
  }

  /** Its lines go on to the right only while the prices are current. */
  #showChart() {
    if (this.#books) return;
    const { data, health } = this.#odds;
    this.#chart.show(data, sideNames(this.#follow.data), health === "live" ? this.#hub.serverNow() : undefined);
  }

  /** A session connects the stream; REST needs a key, which this page has not. */
  #askForKey() {
    const input = el("input", { id: "rest-key", type: "password", autocomplete: "off", autocapitalize: "off", spellcheck: "false", required: true });
    const form = el("form", { class: "card panel wide rest-key" },
      el("label", { for: "rest-key" }, "Line-ups, tables, meetings and the past of prices come over REST. Enter your API key to see them; it stays in this tab."),
      el("div", { class: "row" }, input, el("button", { type: "submit" }, "Show")));
    form.addEventListener("submit", (submit) => {
      submit.preventDefault();
      const key = input.value.trim();
      if (!key) return;
      keepKey(key);
      this.#rest.restart();
      form.remove();
    });
    byId("parts").append(form);
  }
}

/** The bookmakers with a book of a race, one of them chosen. */
class Books {
  #select = el("select", { "aria-label": "Bookmaker" });
  #known = "";

  constructor(choose) {
    this.#select.addEventListener("change", choose);
    this.node = el("div", { class: "book", hidden: true }, this.#select);
  }

  /** The channel of the book. */
  get chosen() {
    return this.#select.value;
  }

  list(channels) {
    const names = channels.sort();
    if (String(names) === this.#known) return;
    this.#known = String(names);
    const before = this.#select.value;
    this.#select.replaceChildren(...names.map((name) => el("option", { value: name }, name.slice(name.lastIndexOf("/") + 1))));
    if (names.includes(before)) this.#select.value = before;
    this.node.hidden = names.length === 0;
  }
}

/** Why there is no match: an add-on that is missing, or a match that the hub does not follow. */
class Absence {
  #text = el("span");
  #link = el("a", { class: "button" });

  constructor() {
    this.node = el("p", { class: "absence", hidden: true }, this.#text, this.#link);
  }

  show({ data, health, error }) {
    this.node.hidden = data !== undefined || health !== "refused";
    if (this.node.hidden) return;
    const isSold = error?.code === "not_entitled";
    const addons = error?.addons ?? [];
    const addon = addons[0]?.addon;
    const text = isSold ? `This match needs ${addonsText(addons)}.` : "The hub does not follow this match now. It may be over, or not announced yet.";
    setText(this.#text, text);
    setAttribute(this.#link, "href", isSold ? `/addons/#${addon ?? ""}` : "/board/");
    setText(this.#link, isSold ? (addon ? `Get the ${addon} add-on` : "See the add-ons") : "Back to the board");
  }
}

new MatchPage();
