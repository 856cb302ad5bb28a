// What a tennis match page shows besides the live document: the momentum over the points, point by point, figures of both
// players, and earlier meetings.

import { Line, LineChart } from "./charts.js";
import { showMeetings } from "./football-parts.js";
import { Panel, scroller, table } from "./panel.js";
import { KeyedList, el, nameOf, plain, setAttribute, setText } from "./view.js";

const REFRESH_MS = 20_000;
const FIGURES = [
  ["aces", "Aces"], ["double_faults", "Double faults"], ["first_serve_pct", "First serve in", "%"], ["first_serve_won_pct", "First serve won", "%"],
  ["second_serve_won_pct", "Second serve won", "%"], ["break_points_converted_pct", "Break points converted", "%"],
  ["break_points_saved_pct", "Break points saved", "%"], ["service_games_won", "Service games won"], ["games_won", "Games won"],
];

/**
 * The points of a match by their numbers, so that those of a recording and those that happen now fit together in any order. A
 * point that was taken back leaves; a game is known by the games of its set before the point.
 */
export class Points {
  #byNumber = new Map();

  /** `doc` is the document after the event. */
  add(event, doc) {
    if (event.kind === "retract") {
      for (const [number, point] of this.#byNumber) if (point.eid === event.of) this.#byNumber.delete(number);
      return;
    }
    if (event.kind === "game") {
      // The point that ended it stands before it in the same update.
      const point = [...this.#byNumber.values()].find(({ eid }) => event.eid === `${eid}:game`);
      if (point) point.game = { winner: event.winner, games: event.games, isBreak: point.server !== event.winner && !point.isTieBreak };
    }
    if (event.kind !== "point") return;
    const { eid, winner, server, set, point, how } = event;
    const known = this.#byNumber.get(point);
    const isTieBreak = doc?.sets?.[set]?.tb !== undefined;
    this.#byNumber.set(point, { ...known, eid, winner, server, set, point, how, isTieBreak, score: doc?.game });
  }

  /** In their order. */
  get all() {
    return [...this.#byNumber.values()].sort((a, b) => a.point - b.point);
  }

  /** By game, the newest first: `{key, set, server, game, points}`. */
  get games() {
    const games = [];
    let open;
    for (const point of this.all) {
      if (open === undefined || open.set !== point.set) {
        open = { key: point.point, set: point.set, server: point.server, points: [] };
        games.push(open);
      }
      open.points.push(point);
      if (point.game) {
        open.game = point.game;
        open = undefined;
      }
    }
    return games.reverse();
  }

  /** How many points more the first player has won, after each point. */
  get lead() {
    const line = new Line();
    let lead = 0;
    line.add(0, 0);
    for (const { point, winner } of this.all) {
      lead += winner === 1 ? 1 : -1;
      line.add(point, lead);
    }
    return line.points;
  }
}

export class TennisParts {
  #rest;
  #id;
  #points = new Points();
  #momentum = new Panel("momentum", "Momentum", { wide: true });
  #chart = new LineChart("Lead in points", { height: 170, format: (lead) => (lead > 0 ? `+${lead}` : String(lead)), formatX: (point) => `point ${Math.round(point)}` });
  #byGame = new Panel("points", "Point by point");
  #games;
  #figures = new Panel("figures", "Match figures");
  #meetings = new Panel("h2h", "Head-to-head");
  #form = new Panel("form", "Last matches");
  #askedAt = -Infinity;
  #isComplete = false;
  #doc;
  #isDirty = false;

  constructor(rest, id) {
    this.#rest = rest;
    this.#id = id;
    this.#momentum.body.append(this.#chart.node);
    const list = el("ol", { class: "games" });
    this.#games = new KeyedList(list, () => new Game());
    this.#byGame.body.append(scroller("Point by point, newest game first", list));
    this.panels = [this.#momentum, this.#byGame, this.#figures, this.#meetings, this.#form];
  }

  note(event, doc) {
    this.#points.add(event, doc);
    this.#isDirty = true;
  }

  show(doc) {
    this.#doc = doc;
    if (!this.#isDirty) return;
    this.#isDirty = false;
    const points = this.#points.all;
    if (points.length === 0) return;
    const names = [nameOf(doc?.p1) || "Player 1", nameOf(doc?.p2) || "Player 2"];
    const lead = this.#points.lead;
    const sets = points.filter((point, i) => i > 0 && point.set !== points[i - 1].set);
    const marks = sets.map(({ point, set }) => ({ at: point - 0.5, label: `Set ${set}` }));
    const last = lead.at(-1)[1];
    const standing = last === 0 ? "both have won as many points" : `${names[last > 0 ? 0 : 1]} has won ${Math.abs(last)} points more`;
    const label = `Lead in points after each point: above the line ${names[0]}, below it ${names[1]}; ${standing}`;
    this.#chart.show({ lines: [{ key: "lead", name: `${names[0]}'s lead in points`, points: lead }], from: 0, to: Math.max(20, lead.at(-1)[0]), marks, label });
    this.#games.show(this.#points.games.map((game) => [`${game.set}-${game.key}`, { game, names }]));
    this.#momentum.reveal();
    this.#byGame.reveal();
  }

  async refresh(isLive) {
    const now = Date.now();
    if (now - this.#askedAt < REFRESH_MS || (this.#isComplete && !isLive)) return;
    this.#askedAt = now;
    // All of this is sold with the add-on of these sports, which the socket does not need for tennis.
    if (!(await this.#rest.has("sports"))) return;
    const base = `/tennis/api/v2/matches/${this.#id}`;
    const [match, meetings] = await Promise.all([
      this.#rest.get(`${base}/`),
      this.#isComplete ? undefined : this.#rest.get(`${base}/h2h/`),
    ]);
    if (match) this.#showFigures(match);
    if (meetings) this.#showMeetings(meetings);
    this.#isComplete ||= match !== undefined;
  }

  #showFigures(match) {
    const rows = FIGURES.map(([key, title, unit = ""]) => [title, match[`p1_${key}`], match[`p2_${key}`], unit])
      .filter(([, first, second]) => first !== null && second !== null && first !== undefined);
    if (rows.length === 0) return;
    const { node, rows: body } = table("figures", [nameOf(match.player1), "", nameOf(match.player2)]);
    const text = (value, unit) => `${Math.round(value * 10) / 10}${unit && ` ${unit}`}`;
    body.append(...rows.map(([title, first, second, unit]) => el("tr", {}, el("td", {}, text(first, unit)), el("th", { scope: "row" }, title), el("td", {}, text(second, unit)))));
    this.#figures.body.replaceChildren(node);
    this.#figures.reveal();
  }

  #showMeetings({ player1, player2, h2h, player1_last5: first, player2_last5: second }) {
    const names = [nameOf(player1), nameOf(player2)];
    if (h2h) {
      const rows = (h2h.recent_matches ?? h2h.matches ?? []).map((row) => ({ date: row.date, names: [nameOf(row.tournament) || names.join(" – ")], score: row.score ?? "" }));
      showMeetings(this.#meetings, { names, wins: [h2h.player1_wins ?? 0, h2h.player2_wins ?? 0], rows: rows.filter(({ date }) => date) });
    }
    const list = (name, matches) => el("div", {}, el("h3", {}, name), el("ul", { class: "form" }, ...matches.map(({ opponent, won, score }) => el("li", {},
      el("b", { class: "result", "data-won": won ? "yes" : "no" }, won ? "W" : "L"), el("span", {}, nameOf(opponent)),
      el("span", { class: "faint" }, ownSets(score, won))))));
    if (first?.length || second?.length) {
      this.#form.body.replaceChildren(el("div", { class: "elevens" }, list(names[0], first ?? []), list(names[1], second ?? [])));
      this.#form.reveal();
    }
  }
}

/** The sets from the side of a player, whichever side of the match it was. */
export function ownSets(sets, hasWon) {
  if (!Array.isArray(sets)) return "";
  const lead = sets.reduce((sum, { p1, p2 }) => sum + Math.sign(p1 - p2), 0);
  const isFirst = lead === 0 || lead > 0 === hasWon;
  return sets.map(({ p1, p2 }) => (isFirst ? `${p1}-${p2}` : `${p2}-${p1}`)).join(" ");
}

class Game {
  #title = el("span", { class: "game-title" });
  #state = el("span", { class: "game-state" });
  #points;

  constructor() {
    const list = el("ol", { class: "game-points" });
    this.#points = new KeyedList(list, () => new PointMark());
    this.node = el("li", { class: "game" }, el("p", {}, this.#title, this.#state), list);
  }

  show({ game, names }) {
    const isTieBreak = game.points.every((point) => point.isTieBreak);
    setText(this.#title, `Set ${game.set} · ${isTieBreak ? "Tie-break" : `${names[game.server - 1]} serving`}`);
    const { games, isBreak, winner } = game.game ?? {};
    setText(this.#state, games ? `${games.p1}–${games.p2}${isBreak ? " · break" : ""}` : "in progress");
    setAttribute(this.node, "data-winner", winner);
    setAttribute(this.node, "data-break", isBreak ? "yes" : undefined);
    this.#points.show(game.points.map((point) => [point.point, point]));
  }
}

/** One point: the score after it, in the colour of who won it. */
class PointMark {
  #score = el("span");
  #how = el("span", { class: "how" });

  constructor() {
    this.node = el("li", { class: "point" }, this.#score, this.#how);
  }

  show({ winner, how, score, game }) {
    setAttribute(this.node, "data-winner", winner);
    setText(this.#score, game ? "Game" : score ? `${score.p1}–${score.p2}` : "·");
    setText(this.#how, how ? plain(how) : "");
  }
}
