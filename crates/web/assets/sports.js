// What differs between the sports on boards and match pages: names of states, what stands before the names of a row,
// and the parts of a score. Pure: it reads rows of boards and documents of matches, and knows no page.

import { FOOTBALL_LIVE, FOOTBALL_OVER, footballStatus, minuteText } from "./football.js";
import { TENNIS_LIVE, TENNIS_OVER, setWinner, tennisStatus } from "./tennis.js";
import { matchSecond, nameOf, plain, timeOfDay } from "./view.js";

const SCOREBOARD = {
  sides: ["home", "away"],
  live: new Set(["live", "interrupted"]),
  over: new Set(["finished", "postponed", "abandoned", "cancelled"]),
  status: plain,
};

/**
 * In the order in which boards show them. Of scoreboards: `parts`, what stands before the number of a part, and how many are regular;
 * `hasMeetings`, whether REST has earlier meetings.
 */
export const SPORTS = {
  football: { title: "Football", sides: ["home", "away"], live: FOOTBALL_LIVE, over: FOOTBALL_OVER, status: footballStatus },
  tennis: { title: "Tennis", sides: ["p1", "p2"], live: TENNIS_LIVE, over: TENNIS_OVER, status: tennisStatus },
  // Its clock shows what is left of the quarter; the others count up.
  basketball: { ...SCOREBOARD, title: "Basketball", parts: ["Q", 4], countsDown: true },
  hockey: { ...SCOREBOARD, title: "Ice hockey", parts: ["P", 3], hasMeetings: true },
  csgo: { ...SCOREBOARD, title: "CS2", parts: ["Map ", 5] },
  darts: { ...SCOREBOARD, title: "Darts", parts: ["Set ", 99], hasMeetings: true },
  horseracing: {
    title: "Horse racing", sides: [], live: new Set(["at_the_post", "off"]), over: new Set(["finished", "abandoned"]), status: plain,
  },
};

const LIVES = { live: "live", suspended: "live", ended: "over" };

/** `live`, `next` or `over`. Without a status, a match is what its markets say. */
export function stateOf(sport, match) {
  const { live, over } = SPORTS[sport];
  if (match?.status === undefined) return LIVES[match?.life] ?? "next";
  return live.has(match.status) ? "live" : over.has(match.status) ? "over" : "next";
}

/** Whether the board says that this match is being played. */
export function isLive(sport, match) {
  return stateOf(sport, match) === "live";
}

/** The names of the sides; of a race its own name. */
export function namesOf(sport, match) {
  if (sport === "horseracing") return [match?.name ?? match?.course ?? "Race"];
  return SPORTS[sport].sides.map((side) => nameOf(match?.[side]));
}

/** `Ashby Town – Calder Vale` */
export function pairing(sport, match) {
  return namesOf(sport, match).join(" – ");
}

/** `Q3`, `Period 2`, `OT`: the part in progress, as scoreboards name it. */
export function periodText(period) {
  const [, letter, number] = /^([qp])(\d+)$/.exec(period ?? "") ?? [];
  if (letter) return letter === "q" ? `Q${number}` : `Period ${number}`;
  return period === "overtime" ? "Overtime" : plain(period);
}

/** The clock of a match that is followed by its scoreboard, as `4:57`; empty if it has none. */
export function scoreboardClock(sport, { clock }, now) {
  if (!clock) return "";
  const passed = matchSecond(clock, now) - clock.s;
  const second = Math.max(0, SPORTS[sport].countsDown ? clock.s - passed : clock.s + passed);
  return `${Math.floor(second / 60)}:${String(second % 60).padStart(2, "0")}`;
}

/** What stands before the names: the minute, the set, the quarter, the start, or how it ended. `now`: the hub's, in µs. */
export function whenText(sport, match, now) {
  const { status, start, clock, sets, period } = match;
  if (status === "not_started" || (status === undefined && stateOf(sport, match) === "next")) return start ? timeOfDay(start) : "Upcoming";
  if (status === undefined) return plain(match.life);
  if (sport === "football" && clock?.running) return minuteText(status, matchSecond(clock, now));
  if (sport === "tennis" && status === "live") return `Set ${Math.max(1, Object.keys(sets ?? {}).length)}`;
  if (status === "live" && period) return [periodText(period), scoreboardClock(sport, match, now)].filter(Boolean).join(" ");
  return SPORTS[sport].status(status);
}

/** Whether `whenText` changes while nothing arrives. */
export function hasRunningClock(match) {
  return Boolean(match.clock?.running);
}

/**
 * The score of each side: `{total, parts, now}`, where `parts` are sets, quarters or maps in their order, and `now` the points of
 * the game in progress. Undefined where there is none, as before the start.
 */
export function scoreOf(sport, match) {
  if (stateOf(sport, match) === "next") return undefined;
  const own = SPORTS[sport].sides;
  const byNumber = (parts) => Object.entries(parts ?? {}).sort((a, b) => a[0] - b[0]).map(([, part]) => part);
  if (sport === "tennis") {
    if (!match.sets) return undefined;
    const sets = byNumber(match.sets);
    const now = isLive(sport, match) ? match.game : undefined;
    return own.map((side, i) => ({
      total: sets.filter((set) => setWinner(set) === i + 1).length,
      parts: sets.map((set) => set[side]),
      now: now?.[own[i]],
    }));
  }
  if (!match.score) return undefined;
  // Goals by half say nothing about a football match that the score does not.
  const parts = sport === "football" ? [] : byNumber(match.periods);
  return own.map((side) => ({ total: match.score[side], parts: parts.map((part) => part[side]) }));
}

/** `2–1`, or the sets of tennis; empty before the start. */
export function scoreText(sport, match) {
  const score = scoreOf(sport, match);
  if (score === undefined) return "";
  if (sport === "tennis") return score[0].parts.map((games, i) => `${games}-${score[1].parts[i]}`).join(" ");
  return score.map(({ total }) => total).join("–");
}

/**
 * How far a row can be trusted: the health of its board, and below it what the match itself says. A match in play whose source
 * is unhealthy is `suspended`.
 */
export function rowHealth(boardHealth, sport, match) {
  const isCurrent = boardHealth === "live" || boardHealth === "ended";
  if (!isCurrent) return boardHealth;
  if (stateOf(sport, match) !== "live") return "ended";
  if (match.life === "suspended") return match.status === "interrupted" ? "interrupted" : "held";
  return "live";
}
