// What a football match page shows besides the live document: momentum, shots, line-ups, the table and earlier meetings.
// All of it comes over REST; what the hub does not know is left out.

import { BarChart } from "./charts.js";
import { PITCH, pitchDrawing } from "./football.js";
import { Panel, day, scroller, table } from "./panel.js";
import { el, nameOf, plain, setAttribute, setText, svg } from "./view.js";

// A minute has at most one bar; shots and line-ups change as rarely.
const REFRESH_MS = 20_000;
const SHOTS = { goal: "Goal", save: "Saved", miss: "Off target", block: "Blocked", post: "Post" };

/** Where a shot stands on a pitch on which home plays to the right: metres from the left goal line and from the top. */
export function shotPlace({ home, pos }) {
  // `x` counts from the goal that is attacked, `y` from the left of the side that shoots.
  const along = (Number(pos.x) / 100) * PITCH.length;
  const across = (Number(pos.y) / 100) * PITCH.width;
  return home ? [PITCH.length - along, across] : [along, PITCH.width - across];
}

/** Metres: a shot that is always a goal is a circle of 3.4. */
export function shotRadius(xg) {
  return 0.9 + 2.5 * Math.sqrt(Math.min(1, Math.max(0, xg ?? 0.06)));
}

/** How many shots a side has and what they were worth, by the hub's counters of the side: `6 shots, 1.05 xG`. */
export function shotTotal({ total_shots: shots, expected_goals: xg }) {
  const count = typeof shots === "number" ? `${shots} ${shots === 1 ? "shot" : "shots"}` : "";
  const worth = typeof xg === "number" ? `${xg.toFixed(2)} xG` : "";
  return [count, worth].filter(Boolean).join(", ");
}

/** Goals and red cards that stand, as marks of the momentum. */
export function marksOf(doc) {
  return Object.values(doc?.incidents ?? {})
    .filter(({ kind, retracted }) => !retracted && ["goal", "red", "second_yellow"].includes(kind))
    .map(({ kind, minute, added, side, player }) => ({
      at: minute + (added ?? 0), side, kind: kind === "goal" ? "goal" : "red",
      label: `${minute}${added ? `+${added}` : ""}′ ${kind === "goal" ? "Goal" : "Red card"}, ${nameOf(player) || nameOf(doc[side])}`,
    }));
}

export class FootballParts {
  #rest;
  #id;
  #momentum = new Panel("momentum", "Momentum", { wide: true });
  #bars = new BarChart("Momentum by minute");
  #shots = new Panel("shots", "Shots");
  #map = el("div", { class: "shot-map" });
  #shotTotals = el("p", { class: "shot-totals" });
  #lineups = new Panel("lineups", "Line-ups");
  #standings = new Panel("standings", "Table");
  #meetings = new Panel("h2h", "Head-to-head");
  #askedAt = -Infinity;
  #names = new Map();
  #league;
  #doc;
  #stats;
  #isDrawn = "";

  constructor(rest, id) {
    this.#rest = rest;
    this.#id = id;
    this.#momentum.body.append(this.#bars.node);
    const key = ["goal", "save", "miss", "block"].map((type) => el("span", { "data-shot": type }, SHOTS[type]));
    this.#shots.body.append(this.#shotTotals, this.#map, el("p", { class: "legend shot-legend" }, ...key));
    this.panels = [this.#momentum, this.#shots, this.#lineups, this.#meetings, this.#standings];
  }

  show(doc) {
    this.#doc = doc;
    this.#draw();
  }

  /** Asks for what may have changed. `isLive`: whether anything changes at all. */
  async refresh(isLive) {
    const now = Date.now();
    if (now - this.#askedAt < REFRESH_MS || (this.#stats !== undefined && !isLive)) return;
    this.#askedAt = now;
    const base = `/api/v2/events/${this.#id}`;
    const isFirst = this.#league === undefined;
    const [stats, event, lineups] = await Promise.all([
      this.#rest.get(`${base}/stats/`),
      isFirst ? this.#rest.get(`${base}/`) : undefined,
      this.#names.size === 0 ? this.#rest.get(`${base}/lineups/`) : undefined,
    ]);
    if (stats === undefined) return;
    this.#stats = stats;
    if (lineups?.lineups) this.#showLineups(lineups.lineups);
    this.#isDrawn = "";
    this.#draw();
    if (event === undefined) return;
    this.#league = event.league_id ?? null;
    this.#showMeetings(event);
    if (event.league_id) this.#showStandings(event, await this.#rest.get(`/api/v2/leagues/${event.league_id}/standings/`));
  }

  /** Something happened that the parts show: the next refresh does not wait. */
  hurry() {
    this.#askedAt = Math.min(this.#askedAt, Date.now() - REFRESH_MS + 3000);
  }

  #draw() {
    if (this.#stats === undefined) return;
    const marks = marksOf(this.#doc);
    const state = JSON.stringify(marks);
    if (state === this.#isDrawn) return;
    this.#isDrawn = state;
    const { momentum = [], shotmap = [] } = this.#stats;
    const names = { home: nameOf(this.#doc?.home) || "Home", away: nameOf(this.#doc?.away) || "Away" };
    if (momentum.length > 0) {
      const last = momentum.at(-1).m;
      const bars = momentum.map(({ m, v }) => ({ at: m, value: v }));
      const label = `Momentum by minute: above the line ${names.home}, below it ${names.away}. ${marks.map((mark) => mark.label).join(", ")}`;
      this.#bars.show({ bars, to: Math.max(90, Math.ceil(last)), marks, label });
      this.#bars.legend.replaceChildren(el("span", { "data-series": "home" }, names.home), el("span", { "data-series": "away" }, names.away));
      this.#momentum.reveal();
    }
    if (shotmap.length > 0) this.#showShots(shotmap, names);
  }

  #showShots(shots, names) {
    const totals = ["home", "away"].map((side) => `${names[side]}: ${shotTotal(this.#stats.stats[side])}`);
    this.#shotTotals.replaceChildren(...["home", "away"].map((side, i) => el("span", { "data-series": side }, totals[i])));
    // The largest first, so that a small one is not hidden.
    const circles = shots.filter(({ pos }) => pos).sort((a, b) => (b.xg ?? 0) - (a.xg ?? 0)).map((shot) => {
      const [x, y] = shotPlace(shot);
      const who = this.#names.get(shot.player_id);
      const worth = typeof shot.xg === "number" ? `, ${shot.xg.toFixed(2)} xG` : "";
      const how = [SHOTS[shot.type] ?? plain(shot.type), shot.body && plain(shot.body.replaceAll("-", " ")).toLowerCase()].filter(Boolean).join(", ");
      return svg("circle", { class: "shot", "data-side": shot.home ? "home" : "away", "data-shot": shot.type, cx: x.toFixed(1), cy: y.toFixed(1), r: shotRadius(shot.xg).toFixed(2) },
        svg("title", {}, `${shot.min}′ ${who ? `${who}, ` : ""}${how}${worth}`));
    });
    this.#map.replaceChildren(el("div", { class: "pitch" }, pitchDrawing(`Shots. ${totals.join("; ")}`, ...circles)));
    this.#shots.reveal();
  }

  #showLineups(lineups) {
    const sides = ["home", "away"].filter((side) => lineups[side]);
    for (const side of sides) {
      for (const player of [...lineups[side].players, ...lineups[side].substitutes]) this.#names.set(player.id, player.name);
    }
    const player = ({ jersey_number, name, position, captain }) => el("li", {},
      el("span", { class: "number" }, String(jersey_number ?? "")), el("span", { class: "name" }, captain ? `${name} (C)` : name),
      el("span", { class: "faint" }, position ?? ""));
    const side = (name) => el("div", { class: "eleven", "data-side": name },
      el("h3", {}, lineups[name].team_name ?? plain(name), el("span", { class: "chip" }, lineups[name].formation ?? "")),
      el("ol", {}, ...lineups[name].players.map(player)),
      el("details", {}, el("summary", {}, `Substitutes (${lineups[name].substitutes.length})`), el("ol", {}, ...lineups[name].substitutes.map(player))));
    this.#lineups.body.replaceChildren(el("div", { class: "elevens" }, ...sides.map(side)));
    if (sides.length > 0) this.#lineups.reveal();
  }

  #showMeetings({ head_to_head: all, home_team: home, away_team: away }) {
    if (!all?.total_matches) return;
    const rows = all.recent_matches.map(({ date, home: first, away: second, score, event_id: id }) => ({
      date, names: [first, second], score: score.replace("-", "–"), href: `/match/football/${id}/`,
    }));
    showMeetings(this.#meetings, { names: [home, away], wins: [all.home_wins, all.away_wins], draws: all.draws, rows });
  }

  #showStandings({ home_team_id: home, away_team_id: away }, standings) {
    const all = standings?.standings ?? standings?.groups?.flatMap((group) => group.standings ?? []) ?? [];
    const rows = all.map((row) => ({
      position: row.position, name: row.team_name, own: row.team_id === home ? "home" : row.team_id === away ? "away" : undefined,
      cells: [row.played, row.won, row.drawn, row.lost, row.gd > 0 ? `+${row.gd}` : row.gd, row.pts], strong: row.pts, form: row.form,
    }));
    const columns = [["P", "Played"], ["W", "Won"], ["D", "Drawn"], ["L", "Lost"], ["+/−", "Goal difference"], ["Pts", "Points"]];
    showStandings(this.#standings, columns, rows, standings?.season?.name);
  }
}

/** Who won how often, and the last meetings: `rows` of `{date, names, score, href}`. */
export function showMeetings(panel, { names, wins, draws = 0, rows }) {
  const total = wins[0] + wins[1] + draws;
  const bar = el("div", { class: "shares", "aria-hidden": "true" }, el("i", { "data-side": "home" }), el("i", { "data-side": "draw" }), el("i", { "data-side": "away" }));
  [wins[0], draws, wins[1]].forEach((count, i) => bar.children[i].style.setProperty("flex-grow", total > 0 ? count : 0));
  const count = (text, number) => el("span", {}, el("b", {}, String(number)), ` ${text}`);
  panel.body.replaceChildren(
    el("p", { class: "tally" }, count(names[0], wins[0]), ...(draws > 0 ? [count("draws", draws)] : []), count(names[1], wins[1])), bar,
    el("ul", { class: "meetings" }, ...rows.map((row) => el("li", {},
      el("span", { class: "faint" }, day(row.date)),
      row.href ? el("a", { href: row.href }, row.names.join(" – ")) : el("span", {}, row.names.join(" – ")),
      el("b", {}, row.score)))));
  panel.reveal();
}

/** A table of a league; `own` marks the sides of this match. */
export function showStandings(panel, columns, rows, season) {
  if (rows.length === 0) return;
  const { node, rows: body } = table("standings", [["#", "Position"], "Team", ...columns]);
  body.append(...rows.map(({ position, name, own, cells }) => {
    const row = el("tr", {}, el("td", {}, String(position)), el("th", { scope: "row" }, name), ...cells.map((cell) => el("td", {}, String(cell ?? "–"))));
    setAttribute(row, "data-own", own);
    return row;
  }));
  panel.body.replaceChildren(scroller("Standings", node));
  if (season) setText(panel.title, `Table · ${season}`);
  panel.reveal();
}
