// The sports other than football: every path of SERVICE.md 2, shapes, filters, odds and lists to their end.

import { any } from "./shape.js";
import * as oddsShapes from "./shapes/odds.js";
import * as shapes from "./shapes/sports.js";

const { tennis, basketball, hockey, darts, csgo, racing } = shapes;

/** Each sport: its matches, what belongs to one, and its lists. `upcoming` is the value of its status filter. */
const SPORTS = {
  tennis: {
    matches: "matches", row: tennis.match, detail: tennis.match, live: tennis.live, bareLive: true, at: "match_date", upcoming: "scheduled",
    parts: { h2h: tennis.h2h, odds: oddsShapes.tennis, "point-by-point": tennis.points },
    lists: { players: tennis.player, predictions: tennis.prediction, rankings: tennis.ranking, tournaments: tennis.tournament },
  },
  basketball: {
    matches: "events", row: basketball.match, detail: basketball.match, live: basketball.match, at: "event_date", upcoming: "scheduled",
    parts: { "box-score": basketball.boxScore, odds: oddsShapes.stick("event_id"), pregame: any, "team-stats": any },
    lists: { leagues: basketball.league, managers: any, players: basketball.player, predictions: basketball.prediction, teams: basketball.team, venues: any },
    standings: basketball.standings,
  },
  csgo: {
    matches: "matches", row: csgo.match, detail: csgo.detail, live: csgo.match, at: "start_time", upcoming: "notstarted",
    parts: { odds: oddsShapes.stick("match_id"), "player-stats": any, stats: csgo.stats },
    lists: { players: any, predictions: any, teams: csgo.team, tournaments: csgo.tournament },
  },
  darts: {
    matches: "matches", row: darts.match, detail: darts.detail, live: darts.match, at: "match_date", upcoming: "scheduled",
    parts: { h2h: darts.h2h, odds: oddsShapes.stick("match_id") },
    lists: { players: darts.player, predictions: any, rankings: darts.ranking, tournaments: darts.tournament },
    details: { players: darts.playerDetail },
  },
  hockey: {
    matches: "matches", row: hockey.match, detail: hockey.detail, live: hockey.match, at: "match_date", upcoming: "scheduled",
    parts: { h2h: shapes.formGuide, odds: oddsShapes.stick("match_id") },
    lists: { leagues: hockey.league, predictions: hockey.prediction, teams: hockey.team },
    standings: { standings: [hockey.standings] },
  },
};

const PADEL = ["matches/", "matches/live/", "matches/1/", "pairs/", "players/", "tournaments/"];

export async function sports(walker) {
  for (const [sport, of] of Object.entries(SPORTS)) {
    await walker.report.chapter(sport, () => one(walker, `/${sport}/api/v2`, of));
  }
  await walker.report.chapter("tennis of its own", () => tennisAlone(walker));
  await walker.report.chapter("horse racing", () => horses(walker));
  for (const path of PADEL) await walker.absent(`/padel/api/v2/${path}`);
}

async function one(walker, base, of) {
  const { report, client } = walker;
  const matches = `${base}/${of.matches}/`;
  await walker.list(matches, of.row);
  await walker.toTheEnd(matches, { query: { limit: 150 } });
  const liveList = of.bareLive ? await walker.array(`${matches}live/`, of.live) : await walker.list(`${matches}live/`, of.live);
  const playing = liveList.find((row) => !["live", "inprogress", "interrupted"].includes(row.status));
  report.that(`${matches}live/ has matches in play alone`, liveList.length > 0 && !playing, "live", playing ?? "an empty list");
  const upcoming = await walker.filter(matches, { status: of.upcoming }, (row) => row.status === of.upcoming);
  const finished = await walker.filter(matches, { status: "finished", date_from: "2026-01-01" }, (row) => row.status === "finished", { some: false });
  for (const match of [liveList[0], upcoming?.[0], finished?.[0]].filter(Boolean)) await particulars(walker, matches, match, of);
  await walker.refused(`${matches}1/`, 404, { why: "for an id that is none" });
  await walker.refused(matches, 400, { query: { foo: 1 }, shape: { detail: any, accepted_parameters: [any] }, why: "for an unknown parameter" });
  const day = upcoming?.[0]?.[of.at].slice(0, 10);
  if (day) await walker.filter(matches, { date_from: day, date_to: day }, (row) => row[of.at].startsWith(day));

  for (const [name, row] of Object.entries(of.lists)) {
    const rows = await walker.list(`${base}/${name}/`, row);
    if (!rows.length) continue;
    if (name !== "predictions" && rows[0].id) await walker.document(`${base}/${name}/${rows[0].id}/`, of.details?.[name] ?? row);
    await walker.refused(`${base}/${name}/1/`, 404, { why: "for an id that is none" });
    await walker.toTheEnd(`${base}/${name}/`, { query: { limit: 100 }, key: (row) => row.id ?? `${row.type}/${row.player.id}` });
  }
  if (of.standings) {
    const league = (await client.get(`${base}/leagues/`)).results[0].id;
    await walker.document(`${base}/standings/`, of.standings, { query: { league } });
  }
}

/** One match and what belongs to it; its prices against its own list of bookmakers. */
async function particulars(walker, matches, match, of) {
  const { report } = walker;
  const path = `${matches}${match.id}/`;
  const detail = await walker.document(path, of.detail);
  report.equal(`${path} is the match of the list`, [detail?.id, detail?.[of.at]], [match.id, match[of.at]]);
  for (const [part, shape] of Object.entries(of.parts)) {
    const body = await walker.document(`${path}${part}/`, shape);
    if (part === "odds" && body) prices(report, `${path}odds/`, body);
  }
}

function prices(report, path, body) {
  report.equal(`${path} counts its bookmakers`, body.bookmakers.length, body.bookmakers_count);
  const slugs = body.bookmakers.map((row) => row.bookmaker_slug);
  report.equal(`${path} has each bookmaker once`, slugs.length, new Set(slugs).size);
  report.that(`${path} says what its source is`, (body.source === "none") === (body.bookmakers_count === 0), "none without bookmakers", body.source);
  for (const market of body.markets ?? []) {
    const name = `${path}: ${market.market_kind} ${market.market_line ?? ""}`;
    const unexpected = market.bookmakers.find((row) => Object.keys(row.prices).some((selection) => !market.selections.includes(selection)));
    if (unexpected) report.check(name, `prices of selections that are not ${market.selections}: ${JSON.stringify(unexpected)}`);
  }
  const winner = body.markets?.find((market) => ["WINNER", "1X2"].includes(market.market_kind) && ["FT", "FULL"].includes(market.market_period));
  const [home, away] = ["HOME", "P1"].flatMap((at) => (winner?.selections.includes(at) ? [[at, at === "HOME" ? "AWAY" : "P2"]] : []))[0] ?? [];
  for (const row of winner?.bookmakers ?? []) {
    const flat = body.bookmakers.find((other) => other.bookmaker_slug === row.bookmaker_slug);
    const prices = [flat?.odds_home ?? null, flat?.odds_away ?? null];
    const market = [row.prices[home]?.price ?? null, row.prices[away]?.price ?? null];
    if (JSON.stringify(prices) !== JSON.stringify(market)) report.equal(`${path}: ${row.bookmaker_slug} in markets and in bookmakers`, market, prices);
  }
  report.that(`${path} has a market of winners where it has markets`, !body.markets?.length || winner, "WINNER or 1X2", body.markets?.map((market) => [market.market_kind, market.market_period]));
}

async function tennisAlone(walker) {
  const { report, client } = walker;
  const base = "/tennis/api/v2";
  const matches = await client.rows(`${base}/matches/`);
  const [match] = matches;
  await walker.filter(`${base}/matches/`, { player: match.player1.id }, (row) => [row.player1.id, row.player2.id].includes(match.player1.id));
  await walker.filter(`${base}/matches/`, { tournament: match.tournament.id }, (row) => row.tournament.id === match.tournament.id);
  const ignored = await client.ask(`${base}/matches/`, { query: { player_id: match.player1.id } });
  report.that("tennis matches/?player_id is ignored", ignored.status === 200 && ignored.json.count > 1, "the list unfiltered", `${ignored.status} ${ignored.text}`);
  const late = matches.find((row) => Date.parse(row.match_date) > Date.now() + 8 * 86_400_000);
  report.that("tennis matches/ is of the next seven days by default", !late, "7 days", late?.match_date);
  const players = await client.rows(`${base}/players/`, { limit: 200 });
  const brief = new Map(matches.flatMap((row) => [row.player1, row.player2]).map((player) => [player.id, player.gender]));
  const two = players.filter((row) => brief.has(row.id) && brief.get(row.id) !== row.gender);
  report.equal("a tennis player has one gender in matches/ and players/", two.map((row) => [row.id, row.gender, brief.get(row.id)]), []);
  for (const gender of ["M", "F"]) await walker.filter(`${base}/players/`, { gender }, (row) => row.gender === gender, { some: [...brief.values()].includes(gender) });
  const part = players[0].name.slice(0, 5).toUpperCase();
  await walker.filter(`${base}/players/`, { search: part }, (row) => row.name.toUpperCase().includes(part));
  for (const circuit of ["ATP", "atp"]) await walker.filter(`${base}/tournaments/`, { circuit }, (row) => row.circuit === "ATP");
  const [tournament] = (await client.rows(`${base}/tournaments/`)).filter((row) => row.surface && row.category);
  await walker.filter(`${base}/tournaments/`, { surface: tournament.surface }, (row) => row.surface === tournament.surface);
  await walker.filter(`${base}/tournaments/`, { category: tournament.category }, (row) => row.category === tournament.category);
  await walker.filter(`${base}/tournaments/`, { include_inactive: "true" }, () => true);
  const uneven = ({ prob_player1_wins: first, prob_player2_wins: second, predicted_winner: winner }) =>
    Math.abs(first + second - 100) > 0.02 || (first !== second && (winner === 1) !== (first > second));
  const prediction = (await client.get(`${base}/predictions/`)).results.find(uneven);
  report.that("tennis predictions make 100 % and name the likelier", !prediction, "100", prediction);
  const rankings = await client.get(`${base}/rankings/`, { limit: 900 });
  report.that("tennis rankings/?limit=900 is capped at 500", rankings.results.length === Math.min(500, rankings.count), 500, rankings.results.length);
  await walker.list("/tennis/api/predictions/", tennis.olderPrediction);
  const live = await client.get(`${base}/matches/live/`);
  for (const row of live.slice(0, 3)) await points(walker, `${base}/matches/${row.id}/`);
}

/** The games of a match, point by point, end at the score of the match. */
async function points(walker, path) {
  const { report, client } = walker;
  const stands = async () => (await client.get(path)).sets_detail;
  const [score, points] = await walker.atOneMoment(stands, () => client.get(`${path}point-by-point/`));
  if (!points.available) return report.skip(`${path}point-by-point/ makes the score`, "not available");
  const won = (set, side) => set.games.filter((game) => game.winner === side).length;
  const sets = points.sets.map((set) => ({ p1: won(set, 1), p2: won(set, 2) }));
  // A set that has just begun has no point.
  if (sets.length === score.length - 1) sets.push({ p1: 0, p2: 0 });
  return report.equal(`${path}point-by-point/ makes the score`, sets, score);
}

async function horses(walker) {
  const { report, client } = walker;
  const base = "/horseracing/api/v2";
  const races = await walker.list(`${base}/races/`, racing.race);
  await walker.list(`${base}/races/live/`, racing.race);
  const next = await walker.array(`${base}/races/next-to-jump/`, racing.race);
  const starts = next.map((row) => row.starts_at);
  report.equal("next-to-jump has the next race first", starts, [...starts].sort());
  report.that("next-to-jump has races to come", next.length > 0 && next.every((row) => ["prematch", "idle"].includes(row.state)), "prematch or idle", next.map((row) => row.state));
  const race = await walker.document(`${base}/races/${(next[0] ?? races[0]).id}/`, racing.race);
  await walker.refused(`${base}/races/1/`, 404, { why: "for an id that is none" });
  await walker.list(`${base}/meetings/`, any);
  await walker.list(`${base}/tracks/`, racing.track);
  await walker.list(`${base}/horses/`, racing.horse);
  await walker.list(`${base}/jockeys/`, racing.person);
  await walker.list(`${base}/trainers/`, racing.person);
  const runners = await walker.list(`${base}/runners/`, racing.runner);
  for (const name of ["races", "horses", "jockeys", "runners"]) await walker.toTheEnd(`${base}/${name}/`, { query: { limit: 100 } });
  await walker.document(`${base}/runners/${runners[0].id}/`, racing.runner);
  await walker.document(`${base}/runners/${runners[0].id}/odds/`, any);
  const run = race?.runners ?? [];
  report.equal("a race has as many runners as competitors_count", run.length, race?.competitors_count);
  const entries = (await client.get(`${base}/races/`)).results.find((row) => row.state === "archived");
  if (!entries) return report.skip("an archived race has its places", "no race is over yet");
  const over = await client.get(`${base}/races/${entries.id}/`);
  const places = (over.runners ?? []).map((row) => row.finish_position).filter((place) => place !== null);
  return report.that("an archived race has its places", places.includes(1), "a first", places);
}
