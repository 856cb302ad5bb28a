// One match that is followed by its scoreboard, and one race.

import { Panel, scroller, table } from "./panel.js";
import { showMeetings, showStandings } from "./football-parts.js";
import { SPORTS, isLive, namesOf, periodText, scoreOf, scoreboardClock, stateOf } from "./sports.js";
import { KeyedList, el, nameOf, plain, setAttribute, setText, timeOfDay, trustedUntil } from "./view.js";

// Points of basketball: more than a long match has.
const TIMELINE_MAX = 400;

/** The name of a part of the score: `Q1`, `P3`, `OT`, `Map 2`. */
export function partTitle(sport, number) {
  const [prefix, regular] = SPORTS[sport].parts;
  if (number <= regular) return `${prefix}${number}`;
  return number === regular + 1 ? "OT" : `OT${number - regular}`;
}

/**
 * What has happened, by event, from a recording and from now on in any order: `{eid, score, period, at, side}`, the newest first.
 * A score that was wrong leaves when it is corrected.
 */
export class Timeline {
  #events = new Map();

  add(event, at) {
    if (event.kind === "correct") this.#events.delete(event.of);
    if (event.kind !== "score") return;
    this.#events.set(event.eid, { eid: event.eid, score: event.score, period: event.period, at: event.at ?? at });
    if (this.#events.size > TIMELINE_MAX) this.#events.delete(this.all.at(-1).eid);
  }

  get all() {
    const sum = ({ score }) => score.home + score.away;
    const inOrder = [...this.#events.values()].sort((a, b) => sum(a) - sum(b) || (a.at ?? 0) - (b.at ?? 0));
    let before = { home: 0, away: 0 };
    for (const event of inOrder) {
      const gain = { home: event.score.home - before.home, away: event.score.away - before.away };
      event.side = gain.home > 0 && gain.away <= 0 ? "home" : gain.away > 0 && gain.home <= 0 ? "away" : undefined;
      event.gain = Math.max(gain.home, gain.away);
      before = event.score;
    }
    return inOrder.reverse();
  }
}

export class ScoreboardView {
  #sport;
  #competition = el("p", { class: "competition" });
  #teams = [el("span", { class: "team home" }), el("span", { class: "team away" })];
  #totals = [el("span", { class: "goals" }), el("span", { class: "goals" })];
  #clock = el("span", { class: "clock" });
  #status = el("span", { class: "status" });
  #parts = el("div", { class: "by-part" });
  #list;
  #none = el("p", { class: "faint empty" }, "No change of the score yet.");
  #timeline = new Timeline();
  #isDirty = true;
  #doc;

  constructor(card, place, sport) {
    this.#sport = sport;
    const list = el("ol", { class: "incidents" });
    this.#list = new KeyedList(list, () => new ScoreRow());
    place.append(el("div", { class: "body" },
      this.#competition,
      el("div", { class: "scoreboard" },
        this.#teams[0],
        el("span", { class: "middle" },
          el("span", { class: "score" }, this.#totals[0], el("span", { class: "dash", "aria-hidden": "true" }, "–"), this.#totals[1]),
          el("span", { class: "time" }, this.#clock, this.#status)),
        this.#teams[1]),
      this.#parts,
      scroller("Timeline, newest first", list, this.#none)));
  }

  note(event, _, at) {
    this.#timeline.add(event, at);
    this.#isDirty = true;
  }

  show(doc) {
    if (doc !== this.#doc) {
      const before = this.#doc;
      this.#doc = doc;
      const when = doc.start && stateOf(this.#sport, doc) === "next" ? timeOfDay(doc.start) : "";
      setText(this.#competition, [nameOf(doc.competition), doc.competition?.season, when].filter(Boolean).join(" · "));
      const names = namesOf(this.#sport, doc);
      const score = scoreOf(this.#sport, doc);
      for (const i of [0, 1]) {
        setText(this.#teams[i], names[i] || ["Home", "Away"][i]);
        setText(this.#totals[i], score?.[i].total ?? "–");
      }
      setText(this.#status, isLive(this.#sport, doc) && doc.period ? periodText(doc.period) : SPORTS[this.#sport].status(doc.status));
      if (doc.periods !== before?.periods || doc.home !== before?.home) this.#showParts(score, names);
    }
    if (!this.#isDirty) return;
    this.#isDirty = false;
    const events = this.#timeline.all;
    const names = { home: nameOf(doc.home), away: nameOf(doc.away) };
    this.#list.show(events.map((event) => [event.eid, { event, names }]));
    this.#none.hidden = events.length > 0;
  }

  #showParts(score, names) {
    this.#parts.hidden = !score || score[0].parts.length === 0;
    if (this.#parts.hidden) return;
    const { node, rows } = table("sets", ["", ...score[0].parts.map((_, i) => partTitle(this.#sport, i + 1)), "Total"]);
    rows.append(...score.map(({ parts, total }, i) => el("tr", {},
      el("th", { scope: "row" }, names[i]),
      ...parts.map((part, n) => el("td", { "data-state": part > score[1 - i].parts[n] ? "won" : undefined }, String(part))),
      el("td", { "data-state": "points" }, String(total)))));
    this.#parts.replaceChildren(scroller("Score by part", node));
  }

  tick(channel, stream) {
    const doc = channel.data;
    if (doc === undefined) return;
    setText(this.#clock, isLive(this.#sport, doc) ? scoreboardClock(this.#sport, doc, trustedUntil(channel, stream)) : "");
  }

  say(event) {
    const { home, away } = this.#doc ?? {};
    if (event.kind === "finish") return `Match over. ${nameOf(home)} ${event.score?.home ?? ""}, ${nameOf(away)} ${event.score?.away ?? ""}.`;
    // Points of basketball would never stop.
    if (event.kind !== "score" || this.#sport === "basketball") return undefined;
    return `${nameOf(home)} ${event.score.home}, ${nameOf(away)} ${event.score.away}.`;
  }
}

class ScoreRow {
  #minute = el("span", { class: "minute" });
  #what = el("span", { class: "what" });
  #who = el("span", { class: "who" });
  #score = el("span", { class: "after" });

  constructor() {
    this.node = el("li", { class: "incident" }, this.#minute, el("span", { class: "mark", "data-mark": "goal", "aria-hidden": "true" }),
      el("span", { class: "description" }, this.#what, " ", this.#who), this.#score);
  }

  show({ event, names }) {
    setText(this.#minute, event.at ? timeOfDay(event.at) : "");
    setText(this.#what, event.side ? `+${event.gain}` : "Score");
    setText(this.#who, [names[event.side], periodText(event.period)].filter(Boolean).join(" · "));
    setText(this.#score, `${event.score.home}–${event.score.away}`);
    setAttribute(this.node, "data-side", event.side);
  }
}

/** A race: its runners, and the order in which they finished. */
export class RaceView {
  #title = el("p", { class: "race-name" });
  #where = el("p", { class: "competition" });
  #status = el("p", { class: "further" });
  #list;
  #none = el("p", { class: "faint empty" }, "No source names the runners.");
  #doc;

  constructor(card, place) {
    const { node, rows } = table("runners", [["Pos", "Position"], ["No.", "Number on the saddlecloth"], "Horse", "Jockey", "Status"]);
    this.#list = new KeyedList(rows, () => new RunnerRow());
    place.append(el("div", { class: "body" }, this.#title, this.#where, this.#status, scroller("Runners", node), this.#none));
  }

  show(doc) {
    if (doc === this.#doc) return;
    this.#doc = doc;
    setText(this.#title, doc.name ?? doc.course ?? "Race");
    setText(this.#where, [doc.course ?? nameOf(doc.competition), doc.start && timeOfDay(doc.start)].filter(Boolean).join(" · "));
    setText(this.#status, plain(doc.status));
    const runners = runnersInOrder(doc.runners);
    this.#list.show(runners);
    this.#none.hidden = runners.length > 0;
  }

  tick() {}

  say(event) {
    if (event.kind === "off") return "They are off.";
    const winner = event.kind === "finish" ? this.#doc?.runners?.[event.order?.[0]?.id] : undefined;
    return winner ? `${winner.name} won.` : undefined;
  }
}

/** By position, then those still running by number, then those out of the race. */
export function runnersInOrder(runners) {
  const rank = ({ position, status }) => position ?? (status === "active" ? 1000 : 2000);
  return Object.entries(runners ?? {}).sort(([, a], [, b]) => rank(a) - rank(b) || (a.number ?? 0) - (b.number ?? 0));
}

class RunnerRow {
  #cells = [el("td"), el("td"), el("th", { scope: "row" }), el("td"), el("td")];

  constructor() {
    this.node = el("tr", {}, ...this.#cells);
  }

  show({ position, number, name, jockey, status }) {
    const texts = [position ?? "", number ?? "", name, jockey ?? "", position ? "" : plain(status)];
    texts.forEach((text, i) => setText(this.#cells[i], text));
    setAttribute(this.node, "data-place", position <= 3 ? position : undefined);
    setAttribute(this.node, "data-out", !position && status !== "active" ? "yes" : undefined);
  }
}

const TABLES = {
  hockey: [["P", "Played", (row) => row.matches_played], ["W", "Won", (row) => row.wins], ["L", "Lost", (row) => row.losses], ["Pts", "Points", (row) => row.points]],
  basketball: [["P", "Played", (row) => row.played], ["W", "Won", (row) => row.wins], ["L", "Lost", (row) => row.losses], ["%", "Share of matches won", (row) => (100 * row.win_pct).toFixed(0)]],
};

/** The table and earlier meetings of these sports, where REST has them. */
export class ScoreboardParts {
  #rest;
  #sport;
  #id;
  #meetings = new Panel("h2h", "Head-to-head");
  #standings = new Panel("standings", "Table");
  #doc;
  #isAsked = false;

  constructor(rest, id, sport) {
    this.#rest = rest;
    this.#sport = sport;
    this.#id = id;
    this.panels = [this.#meetings, this.#standings];
  }

  show(doc) {
    this.#doc = doc;
  }

  async refresh() {
    if (this.#isAsked || this.#doc === undefined) return;
    this.#isAsked = true;
    if (!(await this.#rest.has("sports"))) return void (this.#isAsked = this.#rest.hasKey && this.#isAsked);
    const league = this.#doc.competition?.id;
    const [meetings, standings] = await Promise.all([
      SPORTS[this.#sport].hasMeetings ? this.#rest.get(`/${this.#sport}/api/v2/matches/${this.#id}/h2h/`) : undefined,
      TABLES[this.#sport] && league ? this.#rest.get(`/${this.#sport}/api/v2/standings/?league=${league}`) : undefined,
    ]);
    if (meetings) this.#showMeetings(meetings.head_to_head ?? meetings);
    if (standings) this.#showTable(standings.standings ?? []);
  }

  #showMeetings(all) {
    if (!all.total_matches) return;
    const names = namesOf(this.#sport, this.#doc);
    const rows = (all.recent_matches ?? []).map((row) => ({
      date: row.date, names: row.home ? [nameOf(row.home), nameOf(row.away)] : [nameOf(row.tournament)],
      score: (row.score ?? `${row.player1_sets ?? ""}-${row.player2_sets ?? ""}`).replace("-", "–"),
    }));
    const wins = [all.home_wins ?? all.player1_wins ?? 0, all.away_wins ?? all.player2_wins ?? 0];
    showMeetings(this.#meetings, { names, wins, draws: all.draws ?? 0, rows });
  }

  #showTable(rows) {
    const columns = TABLES[this.#sport];
    const own = (id) => (id === this.#doc.home?.id ? "home" : id === this.#doc.away?.id ? "away" : undefined);
    showStandings(this.#standings, columns.map(([short, long]) => [short, long]), rows.map((row) => ({
      position: row.position, name: nameOf(row.team), own: own(row.team?.id), cells: columns.map(([, , cell]) => cell(row)),
    })));
  }
}
