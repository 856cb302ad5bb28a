// Football, version 1: every path of SERVICE.md 1.1, its shapes (1.6), time zones (1.3), pages (1.2) and filters.

import { any, count, filled, int } from "./shape.js";
import * as shapes from "./shapes/football_v1.js";

/** Lists, the shape of a row, the rows of a page, and whether pages are requested by number. */
const LISTS = [
  ["events", shapes.event, 50, false], ["live", shapes.event, 50, false], ["fixtures", shapes.event, 100, true],
  ["matches", shapes.event, 100, true], ["leagues", shapes.league, 100, true], ["teams", shapes.team, 100, true],
  ["managers", shapes.manager, 100, true], ["players", shapes.player, 100, true], ["player-stats", shapes.playerStat, 100, true],
  ["predictions", shapes.prediction, 100, true], ["referees", shapes.named, 100, true], ["seasons", { id: int, name: filled }, 100, true],
  ["venues", shapes.named, 100, true], ["odds", { id: int }, 100, true],
];
const DETAILS = ["events", "fixtures", "matches", "leagues", "teams", "managers", "players", "player-stats", "seasons", "venues", "odds"];
/** Shapes of details that have more than a row. */
const WHOLE = { teams: shapes.teamDetail, events: shapes.eventDetail, fixtures: shapes.eventDetail, matches: shapes.eventDetail };
const ABSENT = ["broadcasts/", "broadcasts/1/", "social/", "social/1/", "tv-channels/", "tv-channels/1/"];

export async function footballV1(walker) {
  const { report, client } = walker;
  const root = await walker.document("/api/", any);
  const unnamed = shapes.ROOT.filter((name) => !(name in root) && !ABSENT.includes(`${name}/`));
  report.equal("/api/ names its lists", unnamed, []);
  for (const [name, url] of Object.entries(root)) {
    const answer = await client.ask(url);
    report.that(`/api/: ${name} is where it says`, answer.status === 200, 200, `${answer.status} ${url}`);
  }
  for (const [name, row, limit, numbered] of LISTS) {
    const rows = await walker.list(`/api/${name}/`, row, { limit });
    if (rows[0]?.id && DETAILS.includes(name)) {
      const shape = WHOLE[name] ?? row;
      await walker.document(`/api/${name}/${rows[0].id}/`, shape);
      await walker.refused(`/api/${name}/1/`, 404, { why: "for an id that is none" });
    }
    if (numbered) await page(walker, `/api/${name}/`);
  }
  await report.chapter("football v1: one match", () => match(walker));
  await report.chapter("football v1: time zones", () => zones(walker));
  await report.chapter("football v1: filters", () => filters(walker));
  await walker.document("/api/schema/", { openapi: filled, paths: any });
  for (const path of ABSENT) await walker.absent(`/api/${path}`);
}

/** Pages by number: the second begins where the first ends, and 500 rows are the most. */
async function page(walker, path) {
  const { report, client } = walker;
  const first = await client.get(path, { page_size: 4 });
  if (first.count <= 2) return;
  const [one, two] = [await client.get(path, { page: 1, page_size: 2 }), await client.get(path, { page: 2, page_size: 2 })];
  const again = await client.get(path, { page_size: 4 });
  if (first.results.map(key).join() === again.results.map(key).join()) {
    report.equal(`${path}: pages of 2 are a page of 4`, [...one.results, ...two.results].map(key), first.results.map(key));
  }
  const most = await client.get(path, { page_size: 900 });
  report.that(`${path}?page_size=900 is capped at 500`, most.results.length === Math.min(500, most.count), 500, most.results.length);
}

const key = (row) => row.id ?? `${row.event?.id}/${row.player?.id}`;

async function match(walker) {
  const { report, client } = walker;
  const live = (await client.get("/api/live/")).results[0];
  const finished = (await client.get("/api/events/", { status: "finished" })).results[0];
  await walker.document(`/api/live/${live.id}/`, shapes.eventDetail);
  await walker.document(`/api/odds/compare/`, { event_id: int }, { query: { event: live.id } });
  await walker.document(`/api/odds/best/`, { count }, { query: { event: live.id } });
  await walker.document(`/api/predicted-lineup/${live.id}/`, { lineup_status: filled });
  await walker.absent(`/api/odds/polymarket/?event=${live.id}`);
  await walker.list("/api/player-stats/", shapes.playerStat, { query: { event: finished.id }, limit: 100 });
  const bookmakers = await walker.document("/api/odds/bookmakers/", any);
  report.that("/api/odds/bookmakers/ names slugs", (bookmakers.results ?? bookmakers).every((row) => row.slug && row.name), "slug and name", bookmakers);
  const v2 = await client.get(`/api/v2/events/${finished.id}/`);
  const v1 = [finished.home_team_obj.id, finished.away_team_obj.id, finished.home_score, finished.away_score];
  report.equal("a finished match is the same in both versions", v1, [v2.home_team_id, v2.away_team_id, v2.home_score, v2.away_score]);
  const league = `/api/leagues/${finished.league.id}`;
  const [older, newer] = [await client.get(`${league}/standings/`), await client.get(`/api/v2/leagues/${finished.league.id}/standings/`)];
  const counted = (rows) => newer.standings.filter((row) => !row.live).map((row) => {
    const { played, won, drawn, lost, gf, ga, pts } = rows.find((other) => other.team_id === row.team_id) ?? {};
    return [row.team_name, played, won, drawn, lost, gf, ga, pts];
  });
  report.equal("both versions have one table, but for matches in play", counted(older.standings), counted(newer.standings));
  await walker.list(`/api/teams/${finished.home_team_obj.id}/matches/`, shapes.event, { limit: 100 });
  const manager = (await client.get("/api/managers/")).results[0];
  const same = await client.get(`/api/v2/managers/${manager.id}/`);
  report.equal("a manager has one formation in both versions", manager.preferred_formation, same.preferred_formation);
}

/** Output in the requested zone, Dubai's by default; the limits of a day move with it. */
async function zones(walker) {
  const { report, client } = walker;
  const match = (await client.get("/api/v2/events/", { status: "finished" })).results[0];
  const at = (query) => client.get(`/api/events/${match.id}/`, query).then((row) => row.event_date);
  const dubai = await at({});
  report.equal("v1 speaks the time of Dubai", [dubai.slice(-6), Date.parse(dubai)], ["+04:00", Date.parse(match.event_date)]);
  for (const [zone, offset] of [["UTC", /(Z|\+00:00)$/], ["Asia/Tokyo", /\+09:00$/], ["Asia/Kolkata", /\+05:30$/]]) {
    const list = await client.get("/api/events/", { tz: zone, limit: 5, status: "finished" });
    const wrong = list.results.find((row) => !offset.test(row.event_date));
    report.that(`tz=${zone} converts what comes out`, !wrong, offset.source, wrong?.event_date);
  }
  const wrong = await client.get("/api/events/", { tz: "Nowhere/Else", limit: 1 });
  report.that("a zone that is none is ignored", wrong.results[0].event_date.endsWith("+04:00"), "+04:00", wrong.results[0].event_date);
  const day = "2026-08-08";
  for (const [tz, offset] of [["Asia/Tokyo", 9], ["America/New_York", -4]]) {
    const rows = await client.rows("/api/events/", { tz, date_from: day, date_to: day, limit: 200 });
    const [from, to] = [0, 24].map((hours) => Date.parse(`${day}T00:00:00Z`) + (hours - offset) * 3_600_000);
    const near = await client.rows("/api/v2/events/", { date_from: "2026-08-07", date_to: "2026-08-09", limit: 200 });
    const expected = near.filter((row) => Date.parse(row.event_date) >= from && Date.parse(row.event_date) < to).map((row) => row.id);
    report.equal(`tz=${tz} moves the borders of a day`, rows.map((row) => row.id).sort(), expected.sort());
  }
}

async function filters(walker) {
  const { report, client } = walker;
  const match = (await client.get("/api/events/", { status: "finished" })).results[0];
  const league = match.league.id;
  await walker.filter("/api/events/", { league }, (row) => row.league.id === league);
  await walker.filter("/api/events/", { status: "finished" }, (row) => row.status === "finished");
  await walker.filter("/api/matches/", { status: "notstarted", league, limit: 100 }, (row) => row.league.id === league && row.status === "notstarted");
  await walker.filter("/api/players/", { team: match.home_team_obj.id }, (row) => row.current_team.id === match.home_team_obj.id);
  await walker.filter("/api/players/", { position: "F" }, (row) => row.position === "F");
  await walker.filter("/api/player-stats/", { event: match.id }, (row) => row.event.id === match.id);
  const stat = (await client.get("/api/player-stats/", { event: match.id })).results[0];
  await walker.filter("/api/player-stats/", { player: stat.player.id }, (row) => row.player.id === stat.player.id);
  await walker.filter("/api/seasons/", { league }, (row) => row.league_id === league);
  const teams = await client.get("/api/teams/", { search: match.home_team });
  report.equal("teams/?search has no effect", teams.count, (await client.get("/api/teams/")).count);
  await walker.toTheEnd("/api/events/", { query: { date_to: "2026-08-31", limit: 50 } });
  await walker.toTheEnd("/api/teams/", { query: { page_size: 30 } });
  await walker.toTheEnd("/api/players/", { query: { page_size: 500 } });
}
