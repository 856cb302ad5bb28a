// One football match: score, clock, incidents, counts, and where the ball is.

import { KeyedList, el, matchSecond, nameOf, plain, setAttribute, setText, svg, timeOfDay, trustedUntil } from "./view.js";

const STATUS = {
  not_started: "Not started",
  first_half: "1st half",
  half_time: "Half time",
  second_half: "2nd half",
  extra_first: "Extra time, 1st",
  extra_half: "Extra time, break",
  extra_second: "Extra time, 2nd",
  penalties: "Penalties",
  finished: "Full time",
  live: "In play",
};
export const FOOTBALL_LIVE = new Set([
  "first_half", "half_time", "second_half", "extra_first", "extra_half", "extra_second", "penalties", "live",
  "interrupted",
]);
export const FOOTBALL_OVER = new Set(["finished", "postponed", "abandoned", "cancelled"]);

// Where each period ends by the clock; what runs past it is stoppage time.
const PERIOD_ENDS = { first_half: 2700, second_half: 5400, extra_first: 6300, extra_second: 7200 };

// Shown in this order; a count the hub sends and this list lacks comes after them.
const COUNTS = [
  "ball_possession", "total_shots", "shots_on_target", "shots_off_target", "blocked_shots", "corner_kicks",
  "dangerous_attacks", "attacks", "saves", "fouls", "offsides", "yellow_cards", "red_cards",
];
const PERCENT = new Set(["ball_possession"]);

const KINDS = {
  goal: ["Goal", "goal"],
  yellow: ["Yellow card", "yellow"],
  second_yellow: ["Second yellow", "red"],
  red: ["Red card", "red"],
  substitution: ["Substitution", "sub"],
  penalty_missed: ["Penalty missed", "miss"],
  var: ["VAR", "var"],
  shootout: ["Penalty kick", "goal"],
  period: ["", "period"],
};

// The protocol gives the ball in percent of the pitch, seen by the side that has it.
export const PITCH = { length: 105, width: 68, scale: 100 };
const TRAIL = 7;

/** `17:58`, or `45:00` and `+1:12` past the end of a period. */
export function clockText(status, second) {
  const end = PERIOD_ENDS[status];
  const shown = end === undefined ? second : Math.min(second, end);
  const over = second - shown;
  return { main: minutes(shown), added: over > 0 ? `+${minutes(over)}` : "" };
}

/** The minute in progress as scoreboards count it: `18′`, `45+2′`. */
export function minuteText(status, second) {
  const end = PERIOD_ENDS[status];
  if (end !== undefined && second >= end) return `${end / 60}+${Math.floor((second - end) / 60) + 1}′`;
  return `${Math.floor(second / 60) + 1}′`;
}

function minutes(seconds) {
  return `${String(Math.floor(seconds / 60)).padStart(2, "0")}:${String(seconds % 60).padStart(2, "0")}`;
}

export function footballStatus(status) {
  return STATUS[status] ?? plain(status);
}

export class FootballView {
  #competition = el("p", { class: "competition" });
  #home = el("span", { class: "team home" });
  #away = el("span", { class: "team away" });
  #homeGoals = el("span", { class: "goals" });
  #awayGoals = el("span", { class: "goals" });
  #clock = el("span", { class: "clock" });
  #added = el("span", { class: "added" });
  #status = el("span", { class: "status" });
  #further = el("p", { class: "further" });
  #pitch = new Pitch();
  #counts;
  #incidents;
  #none = el("p", { class: "faint empty" }, "No incidents yet.");
  #doc;

  /** What a replay begins with. */
  beginning = "kick-off";

  constructor(card, place) {
    const counts = el("div", { class: "counts" });
    const incidents = el("ol", { class: "incidents" });
    const list = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Incidents, newest first" }, incidents, this.#none);
    this.#counts = new KeyedList(counts, (key) => new Count(key));
    this.#incidents = new KeyedList(incidents, () => new IncidentRow());
    place.append(
      el("div", { class: "body" },
        this.#competition,
        el("div", { class: "scoreboard" },
          this.#home,
          el("span", { class: "middle" },
            el("span", { class: "score" }, this.#homeGoals, el("span", { class: "dash", "aria-hidden": "true" }, "–"), this.#awayGoals),
            el("span", { class: "time" }, this.#clock, this.#added, this.#status)),
          this.#away),
        this.#further,
        el("div", { class: "columns" },
          el("div", {}, this.#pitch.node, counts),
          list)),
    );
    this.card = card;
  }

  show(doc) {
    if (doc === this.#doc) return;
    const before = this.#doc?.id === doc.id ? this.#doc : undefined;
    this.#doc = doc;
    const when = doc.start && doc.status === "not_started" ? `kick-off ${timeOfDay(doc.start)}` : "";
    const competition = [nameOf(doc.competition), doc.competition?.season].filter(Boolean).join(" ");
    setText(this.#competition, [competition, when].filter(Boolean).join(", "));
    setText(this.#home, nameOf(doc.home) || "Home");
    setText(this.#away, nameOf(doc.away) || "Away");
    this.#goals(this.#homeGoals, doc.score?.home, before?.score?.home);
    this.#goals(this.#awayGoals, doc.score?.away, before?.score?.away);
    setText(this.#status, footballStatus(doc.status));
    setText(this.#further, further(doc.score));

    if (doc.incidents !== before?.incidents || doc.home !== before?.home) {
      const names = { home: nameOf(doc.home), away: nameOf(doc.away) };
      const newestFirst = Object.entries(doc.incidents ?? {}).sort((a, b) => (b[1].n ?? 0) - (a[1].n ?? 0));
      this.#incidents.show(newestFirst.map(([eid, incident]) => [eid, { incident, names }]));
      this.#none.hidden = newestFirst.length > 0;
    }
    if (doc.stats !== before?.stats) this.#counts.show(counted(doc.stats));
    this.#pitch.show(doc.ball, { home: nameOf(doc.home), away: nameOf(doc.away) }, before === undefined);
  }

  /** The clock runs locally between two messages of the hub. */
  tick(channel, stream) {
    const second = matchSecond(channel.data?.clock, trustedUntil(channel, stream));
    const shown = second !== undefined && FOOTBALL_LIVE.has(channel.data.status);
    const { main, added } = shown ? clockText(channel.data.status, second) : { main: "", added: "" };
    setText(this.#clock, main);
    setText(this.#added, added);
  }

  /** A line for screen readers, or nothing. */
  say(event) {
    const score = event.score ?? this.#doc?.score;
    const standing = score ? `${nameOf(this.#doc.home)} ${score.home}, ${nameOf(this.#doc.away)} ${score.away}.` : "";
    if (event.kind === "goal") return `Goal, ${nameOf(event.player) || nameOf(this.#doc?.[event.side])}. ${standing}`;
    if (event.kind === "retract") return `Retracted: ${event.why}. ${standing}`;
    if (event.kind === "card" && event.card !== "yellow") return `Red card, ${nameOf(event.player) || nameOf(this.#doc?.[event.side])}.`;
    if (event.kind === "period") return `${footballStatus(this.#doc?.status)}. ${standing}`;
    return undefined;
  }

  /** What an event is on the time line of a replay: `{kind, label}`, or nothing. */
  mark(event, doc) {
    const who = nameOf(event.player) || nameOf(doc[event.side]);
    const minute = event.minute === undefined ? "" : `${event.minute}${event.added ? `+${event.added}` : ""}′ `;
    if (event.kind === "goal") {
      const score = event.score ?? doc.score;
      return { kind: "goal", label: `${minute}Goal, ${who}${score ? `, ${score.home}–${score.away}` : ""}` };
    }
    if (event.kind === "card") return { kind: event.card === "yellow" ? "yellow" : "red", label: `${minute}${event.card === "yellow" ? "Yellow" : "Red"} card, ${who}` };
    if (event.kind === "period" && doc.status !== "finished") return { kind: "period", label: footballStatus(doc.status) };
    return undefined;
  }

  #goals(node, now, before) {
    setText(node, now ?? "–");
    if (before !== undefined && now !== before) {
      node.animate?.({ backgroundColor: ["var(--goal)", "transparent"] }, { duration: 4000, easing: "ease-out" });
    }
  }
}

function further(score) {
  const parts = [["ht", "half time"], ["et", "extra time"], ["pens", "penalties"]]
    .filter(([key]) => score?.[key])
    .map(([key, name]) => `${name} ${score[key].home}–${score[key].away}`);
  return parts.join(" · ");
}

function counted(stats) {
  const { home = {}, away = {} } = stats ?? {};
  const rest = Object.keys({ ...home, ...away }).filter((key) => !COUNTS.includes(key)).sort();
  return [...COUNTS, ...rest]
    .filter((key) => isCount(home[key]) && isCount(away[key]))
    .map((key) => [key, [home[key], away[key]]]);
}

function isCount(value) {
  return typeof value === "number";
}

class Count {
  #home = el("b");
  #away = el("b");
  #bar = el("span", { class: "bar", "aria-hidden": "true" }, el("i"), el("i"));
  #unit;

  constructor(key) {
    this.#unit = PERCENT.has(key) ? " %" : "";
    this.node = el("div", { class: "count" }, this.#home, el("span", {}, plain(key)), this.#away, this.#bar);
  }

  show([home, away]) {
    setText(this.#home, home + this.#unit);
    setText(this.#away, away + this.#unit);
    const share = home + away > 0 ? (100 * home) / (home + away) : 50;
    // Through the style object, which a strict content policy allows; an attribute it would not.
    this.#bar.style.setProperty("--share", `${share.toFixed(1)}%`);
    setAttribute(this.#bar, "data-even", home === away);
  }
}

class IncidentRow {
  #minute = el("span", { class: "minute" });
  #mark = el("span", { class: "mark", "aria-hidden": "true" });
  #what = el("span", { class: "what" });
  #who = el("span", { class: "who" });
  #score = el("span", { class: "after" });
  #why = el("span", { class: "why" });

  constructor() {
    this.node = el("li", { class: "incident" },
      this.#minute, this.#mark,
      el("span", { class: "description" }, this.#what, " ", this.#who, this.#why),
      this.#score);
  }

  show({ incident, names }) {
    const [word, mark] = KINDS[incident.kind] ?? [plain(incident.kind), "other"];
    const minute = incident.minute === undefined ? "" : `${incident.minute}${incident.added ? `+${incident.added}` : ""}′`;
    setText(this.#minute, minute);
    setAttribute(this.#mark, "data-mark", incident.scored === false ? "miss" : mark);
    setText(this.#what, what(incident, word));
    setText(this.#who, who(incident, names));
    setText(this.#score, incident.score ? `${incident.score.home}–${incident.score.away}` : "");
    setText(this.#why, incident.retracted ? `Retracted: ${incident.why ?? "no reason given"}` : "");
    setAttribute(this.node, "data-retracted", incident.retracted ? "yes" : undefined);
    setAttribute(this.node, "data-side", incident.side);
  }
}

function what(incident, word) {
  if (incident.kind === "period") return footballStatus(incident.status);
  if (incident.kind === "goal" && incident.type === "own_goal") return "Own goal";
  if (incident.kind === "goal" && incident.type === "penalty") return "Goal, penalty";
  if (incident.kind === "var") return `${word}: ${plain(incident.decision).toLowerCase()}`;
  if (incident.kind === "shootout") return `${word}, ${incident.scored ? "scored" : "missed"}`;
  return word;
}

function who(incident, names) {
  const player = nameOf(incident.player);
  const assist = nameOf(incident.assist);
  const team = names[incident.side] ?? "";
  if (incident.kind === "substitution" && assist) return `${assist} for ${player} (${team})`;
  if (incident.kind === "goal" && assist) return `${player}, from ${assist} (${team})`;
  return player ? `${player} (${team})` : team;
}

/** The lines of a pitch of 105 by 68 metres, and what stands on it. */
export function pitchDrawing(label, ...children) {
  const { length, width } = PITCH;
  return svg("svg", { viewBox: `-2 -2 ${length + 4} ${width + 4}`, role: "img", "aria-label": label },
    svg("rect", { class: "grass", x: -2, y: -2, width: length + 4, height: width + 4, rx: 2 }),
    ...[0, 2, 4, 6].map((i) => svg("rect", { class: "stripe", x: i * 15, y: 0, width: 15, height: width })),
    svg("g", { class: "lines" },
      svg("rect", { x: 0, y: 0, width: length, height: width }),
      svg("path", { d: `M52.5 0V${width}` }),
      svg("circle", { cx: 52.5, cy: 34, r: 9.15 }),
      svg("rect", { x: 0, y: 13.84, width: 16.5, height: 40.32 }),
      svg("rect", { x: 88.5, y: 13.84, width: 16.5, height: 40.32 }),
      svg("rect", { x: 0, y: 24.84, width: 5.5, height: 18.32 }),
      svg("rect", { x: 99.5, y: 24.84, width: 5.5, height: 18.32 }),
      svg("path", { d: "M16.5 26.7a9.15 9.15 0 0 1 0 14.6M88.5 26.7a9.15 9.15 0 0 0 0 14.6" })),
    ...children);
}

/** The pitch from above; home plays to the right throughout, so that the eye need not turn. */
class Pitch {
  #ball = svg("circle", { class: "ball", r: "1.6" });
  #halo = svg("circle", { class: "halo", r: "4" });
  #trail = svg("polyline", { class: "trail" });
  #caption = el("figcaption");
  #points = [];
  #last;

  constructor() {
    const drawing = pitchDrawing("Ball position", this.#trail, this.#halo, this.#ball);
    this.node = el("figure", { class: "pitch" }, drawing, this.#caption);
  }

  show(ball, names, redraw) {
    if (ball === this.#last && !redraw) return;
    this.#last = ball;
    if (redraw) this.#points = [];
    setAttribute(this.node, "data-side", ball?.side);
    setAttribute(this.node, "data-known", ball ? "yes" : "no");
    if (!ball) {
      setText(this.#caption, "This source sends no ball position.");
      this.#trail.setAttribute("points", "");
      return;
    }
    const along = Number(ball.x) / PITCH.scale;
    const across = Number(ball.y) / PITCH.scale;
    const [x, y] = ball.side === "away" ? [1 - along, 1 - across] : [along, across];
    const at = [clamp(x) * PITCH.length, clamp(y) * PITCH.width].map((n) => n.toFixed(1));
    this.#points = [...this.#points, at.join(",")].slice(-TRAIL);
    this.#trail.setAttribute("points", this.#points.join(" "));
    for (const node of [this.#ball, this.#halo]) node.style.transform = `translate(${at[0]}px, ${at[1]}px)`;
    setText(this.#caption, [names[ball.side], plain(ball.situation).toLowerCase()].filter(Boolean).join(": "));
  }
}

function clamp(share) {
  return Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0.5));
}
