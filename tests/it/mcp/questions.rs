//! Questions of people: what a model naturally calls for them, and whether the first answer is right.
//!
//! `questions.json` has the questions. The hub gets a season that this test makes up, and every truth is computed from that
//! season: not from an interface of the hub.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{
    Timestamp, ToSpan as _, Zoned,
    civil::{Date, Weekday},
    tz::TimeZone,
};
use serde_json::{Value, json};

use super::{
    client::McpClient,
    stage::{MINUTE, Stage, line, market, prices},
};

const DAY: i64 = 24 * 60 * MINUTE;

/// Clubs whose names are days, share words, or have marks.
const PREMIER: [&str; 6] = [
    "Arsenal",
    "Chelsea",
    "Manchester United",
    "Manchester City",
    "Sheffield Wednesday",
    "Brighton & Hove Albion",
];
const LIGA: [&str; 4] = ["Atlético Madrid", "Real Betis", "Sevilla", "Real Sociedad"];

const LEAGUES: [(&str, &[&str]); 2] = [("Premier League", &PREMIER), ("La Liga", &LIGA)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Finished,
    Live,
    Upcoming,
}

/// A match of the season.
#[derive(Debug, Clone)]
struct Game {
    league: &'static str,
    sides: [&'static str; 2],
    start: i64,
    state: State,
    goals: [u32; 2],
}

/// The season around `now`: in both leagues a match on each of the last 40 days and of the next 16, two in play, and one
/// in an hour.
fn season(now: i64) -> Vec<Game> {
    let mut games = Vec::new();
    for (league, clubs) in LEAGUES {
        let pairs: Vec<[&str; 2]> = clubs
            .iter()
            .flat_map(|home| clubs.iter().map(move |away| [*home, *away]))
            .filter(|[home, away]| home != away)
            .collect();
        for day in (-40..=16_i64).filter(|day| *day != 0) {
            let round = usize::try_from(day + 40).expect("a number of a round");
            // Seven has no factor in common with the number of pairs.
            let sides = pairs[round * 7 % pairs.len()];
            let state = if day < 0 { State::Finished } else { State::Upcoming };
            let number = u32::try_from(round).expect("a few");
            let goals = [number * 5 % 4, (number * 3 + 1) % 3];
            let start = now + day * DAY + minutes_apart(league);
            games.push(Game { league, sides, start, state, goals });
        }
    }
    let live = |league, sides, goals| Game {
        league,
        sides,
        start: now - 30 * MINUTE + minutes_apart(league),
        state: State::Live,
        goals,
    };
    games.push(live("Premier League", ["Arsenal", "Chelsea"], [1, 0]));
    games.push(live("La Liga", ["Sevilla", "Real Sociedad"], [0, 0]));
    games.push(Game {
        league: "Premier League",
        sides: ["Manchester City", "Brighton & Hove Albion"],
        start: now + 60 * MINUTE,
        state: State::Upcoming,
        goals: [0, 0],
    });
    games.sort_by_key(|game| game.start);
    games
}

/// No two matches begin at the same time, so that their order is certain.
fn minutes_apart(league: &str) -> i64 {
    if league == "La Liga" { 10 * MINUTE } else { 0 }
}

/// What a feed tells of a match.
fn facts(game: &Game) -> Vec<Value> {
    let [home, away] = game.sides;
    let mut facts = vec![json!({"fixture": {
        "competition": {"name": game.league, "key": game.league, "season": "2026/27"},
        "start": game.start,
        "sides": [{"name": home, "key": home}, {"name": away, "key": away}],
    }})];
    if game.state == State::Upcoming {
        return facts;
    }
    facts.push(json!({"football": {"status": "first_half"}}));
    facts.push(json!({"football": {"score": {"goals": [0, 0]}}}));
    let mut score = [0, 0];
    for (index, side) in ["home", "away"].into_iter().enumerate() {
        for _ in 0..game.goals[index] {
            score[index] += 1;
            let minute = 5 + 7 * (score[0] + score[1]);
            let club = game.sides[index];
            facts.push(json!({"football": {"incident": {
                "eid": format!("g{minute}"), "kind": {"goal": "regular"}, "minute": minute, "side": side,
                "player": {"name": format!("Striker of {club}"), "key": club}, "score": score,
            }}}));
            facts.push(json!({"football": {"score": {"goals": score}}}));
        }
    }
    if game.state == State::Finished {
        facts.push(json!({"football": {"status": "finished"}}));
    }
    facts
}

/// The world that the questions are about, and the ids that the hub gave to its matches.
struct World {
    games: Vec<(u64, Game)>,
    now: Zoned,
}

impl World {
    async fn push(stage: &Stage) -> Self {
        let games = season(stage.now);
        let name = |game: &Game| format!("{} {}", game.league, game.start);
        let lines = games.iter().flat_map(|game| {
            let name = name(game);
            facts(game).into_iter().map(move |fact| line("football", &name, &fact))
        });
        let lines: Vec<String> = lines.collect();
        for some in lines.chunks(2000) {
            stage.hub.push(&stage.feed_key, some).await;
        }
        let odds = [market("alpha", "open"), prices("alpha", ["2.10", "3.40", "3.50"])];
        let live =
            games.iter().find(|game| game.state == State::Live && game.sides[0] == "Arsenal");
        stage.push("football", &name(live.expect("one in play")), &odds).await;
        let finished = games.iter().filter(|game| game.state == State::Finished).count();
        let path = "/api/v2/events/?status=finished&limit=1";
        stage.hub.json_until(&stage.key, path, |page| page["count"] == finished).await;
        let all = |page: &Value| page["count"] == games.len();
        let page = stage.hub.json_until(&stage.key, "/api/v2/events/?limit=200", all).await;
        let rows = page["results"].as_array().expect("rows");
        let id = |game: &Game| {
            let row = rows.iter().find(|row| {
                let date: Timestamp =
                    row["event_date"].as_str().expect("a date").parse().expect("a date");
                row["home_team"] == game.sides[0] && date.as_second() == game.start / 1_000_000
            });
            row.and_then(|row| row["id"].as_u64()).unwrap_or_else(|| panic!("no {game:?}"))
        };
        let games: Vec<_> = games.iter().map(|game| (id(game), game.clone())).collect();
        let now = Timestamp::from_microsecond(stage.now).expect("now").to_zoned(TimeZone::UTC);
        let is_priced = |game: &Game| game.state == State::Live && game.sides[0] == "Arsenal";
        let (priced, _) = games.iter().find(|(_, game)| is_priced(game)).expect("one in play");
        let leagues: BTreeSet<u64> =
            rows.iter().filter_map(|row| row["league_id"].as_u64()).collect();
        for league in leagues {
            let path = format!("/api/v2/leagues/{league}/top/scorers/");
            let is_counted = |top: &Value| top["matches_counted"].as_u64() >= Some(40);
            stage.hub.json_until(&stage.key, &path, is_counted).await;
        }
        for path in [
            format!("/odds/api/events/{priced}/history/?market=match_winner&bookmaker=alpha"),
            format!("/api/v2/odds/?event_id={priced}&bookmaker_slug=alpha"),
        ] {
            let is_there = |page: &Value| page["count"].as_u64() >= Some(3);
            stage.hub.json_until(&stage.key, &path, is_there).await;
        }
        Self { games, now }
    }

    /// The days that a word means: first and last.
    fn days(&self, word: &str) -> [Date; 2] {
        let today = self.now.date();
        let plus = |days: i64| today.checked_add(days.days()).expect("a day");
        if let Some((first, last)) = word.split_once("..") {
            return [first, last].map(|day| plus(day.parse().expect("a number of days")));
        }
        if let Ok(days) = word.parse() {
            return [plus(days); 2];
        }
        let monday = (0..7).map(|back| plus(-back)).find(|day| day.weekday() == Weekday::Monday);
        let monday = monday.expect("a week has a Monday");
        let in_week = |days: i64| monday.checked_add(days.days()).expect("a day");
        let next = |weekday: Weekday| {
            (0..7).map(plus).find(|day| day.weekday() == weekday).expect("a day")
        };
        let last = |weekday: Weekday| {
            (1..8).map(|back| plus(-back)).find(|day| day.weekday() == weekday).expect("a day")
        };
        let from = |day: Date, days: i64| [day, day.checked_add(days.days()).expect("a day")];
        match word {
            "saturday" => [next(Weekday::Saturday); 2],
            "wednesday" => [next(Weekday::Wednesday); 2],
            "last saturday" => [last(Weekday::Saturday); 2],
            "last friday" => [last(Weekday::Friday); 2],
            "this week" => [monday, in_week(6)],
            "last week" => [in_week(-7), in_week(-1)],
            "next week" => [in_week(7), in_week(13)],
            "this weekend" => [in_week(5), in_week(6)],
            "last weekend" => [in_week(-2), in_week(-1)],
            "next weekend" => [in_week(12), in_week(13)],
            "saturday next week" => [in_week(12); 2],
            "since monday" => [monday, today],
            "rest of the week" => [today, in_week(6)],
            "until sunday" => [today, next(Weekday::Sunday)],
            "saturday and sunday" => from(next(Weekday::Saturday), 1),
            "monday to wednesday" => from(next(Weekday::Monday), 2),
            _ => panic!("no days {word}"),
        }
    }

    /// The matches that a truth selects, in its order.
    fn select(&self, parts: &[&str]) -> Vec<u64> {
        let mut zone = TimeZone::UTC;
        let mut found: Vec<&(u64, Game)> = self.games.iter().collect();
        let mut most = usize::MAX;
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((*part, ""));
            match name {
                "team" => found.retain(|(_, game)| game.sides.contains(&value)),
                "home" => found.retain(|(_, game)| game.sides[0] == value),
                "league" => found.retain(|(_, game)| game.league == value),
                "finished" => found.retain(|(_, game)| game.state == State::Finished),
                "live" => found.retain(|(_, game)| game.state == State::Live),
                "upcoming" => found.retain(|(_, game)| game.state == State::Upcoming),
                "zone" => zone = TimeZone::get(value).expect("a zone"),
                "days" => {
                    let [first, last] = self.days(value);
                    let day = |game: &Game| {
                        let start = Timestamp::from_microsecond(game.start).expect("a time");
                        start.to_zoned(zone.clone()).date()
                    };
                    found.retain(|(_, game)| (first..=last).contains(&day(game)));
                }
                "newest" => found.reverse(),
                "nearest" => found.sort_by_key(|(_, game)| {
                    (
                        game.state != State::Live,
                        (game.start - self.now.timestamp().as_microsecond()).abs(),
                    )
                }),
                "take" => most = value.parse().expect("a number"),
                _ => panic!("no part {part}"),
            }
        }
        found.into_iter().take(most).map(|(id, _)| *id).collect()
    }

    fn game(&self, id: u64) -> &Game {
        &self.games.iter().find(|(other_id, _)| *other_id == id).expect("a match").1
    }

    /// A figure of the season.
    fn figure(&self, name: &str, parts: &[&str]) -> Value {
        let chosen = self.select(parts);
        let games = chosen.iter().map(|id| self.game(*id));
        let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
        match name {
            "top scorer" => {
                for game in games {
                    for (club, goals) in game.sides.into_iter().zip(game.goals) {
                        *sums.entry(club).or_default() += i64::from(goals);
                    }
                }
                json!(format!("Striker of {}", first(&sums)))
            }
            "leader" => {
                for game in games {
                    let difference = i64::from(game.goals[0]) - i64::from(game.goals[1]);
                    for (club, lead) in game.sides.into_iter().zip([difference, -difference]) {
                        let points = match lead.signum() {
                            1 => 3,
                            0 => 1,
                            _ => 0,
                        };
                        // Points decide, then the difference of goals.
                        *sums.entry(club).or_default() += 1000 * points + lead;
                    }
                }
                json!(first(&sums))
            }
            "count" => json!(chosen.len()),
            "home goals" => json!(self.game(chosen[0]).goals[0]),
            "away goals" => json!(self.game(chosen[0]).goals[1]),
            name => {
                let club =
                    name.strip_prefix("wins of ").unwrap_or_else(|| panic!("no figure {name}"));
                let has_won = |game: &&Game| {
                    let side = usize::from(game.sides[1] == club);
                    game.goals[side] > game.goals[1 - side]
                };
                json!(games.filter(has_won).count())
            }
        }
    }

    /// Whether the answer of a tool is the truth: `rows`, `set`, `match`, `value POINTER FIGURE` or `refused CODE`, then parts
    /// of a selection, all separated by semicolons.
    fn is_true(&self, truth: &str, result: &Value) -> bool {
        let mut parts = truth.split(';').map(str::trim);
        let kind = parts.next().expect("a kind");
        let parts: Vec<&str> = parts.collect();
        if let Some(code) = kind.strip_prefix("refused ") {
            return result["isError"] == true && super::client::refusal(result)["code"] == code;
        }
        if result["isError"] == true {
            return false;
        }
        let data = &result["structuredContent"]["data"];
        match kind {
            "rows" => rows(data) == self.select(&parts),
            "set" => {
                let (mut actual, mut expected) = (rows(data), self.select(&parts));
                actual.sort_unstable();
                expected.sort_unstable();
                actual == expected
            }
            "match" => {
                let id = self.select(&parts)[0];
                let actual =
                    ["id", "event_id", "match_id"].iter().find_map(|name| data[*name].as_u64());
                actual == Some(id) || !data["positions"][format!("football/{id}")].is_null()
            }
            kind => {
                let (pointer, expected) =
                    kind.strip_prefix("value ").and_then(|it| it.split_once(' ')).expect("a value");
                let expected = match expected.strip_prefix("is ") {
                    Some(literal) => serde_json::from_str(literal).expect("JSON"),
                    None => self.figure(expected, &parts),
                };
                data.pointer(pointer).is_some_and(|actual| is_equal(actual, &expected))
            }
        }
    }

    /// The arguments with dates in place of `$date:-3` and, in a format, of `$%d/%m/%Y:-3`.
    fn arguments(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match text.strip_prefix('$').and_then(|it| it.split_once(':')) {
                Some(("date", days)) => json!(self.days(days)[0].to_string()),
                Some((format, days)) => json!(self.days(days)[0].strftime(format).to_string()),
                None => value.clone(),
            },
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), self.arguments(value))).collect()
            }
            other => other.clone(),
        }
    }
}

/// The club with most.
fn first<'a>(sums: &BTreeMap<&'a str, i64>) -> &'a str {
    sums.iter().max_by_key(|(_, sum)| **sum).map(|(club, _)| *club).expect("clubs")
}

fn rows(data: &Value) -> Vec<u64> {
    let lists = ["results", "events", "matches", "recent_matches"];
    let rows = lists.iter().find_map(|name| data[*name].as_array()).into_iter().flatten();
    let id =
        |row: &Value| ["id", "match_id", "event_id"].iter().find_map(|name| row[*name].as_u64());
    rows.filter_map(id).collect()
}

fn is_equal(actual: &Value, expected: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_f64(),
    };
    actual == expected || number(actual).is_some_and(|actual: f64| number(expected) == Some(actual))
}

#[expect(clippy::print_stdout, reason = "the share is a measurement")]
fn say(right: usize, all: usize, wrong: &[String]) {
    println!("{right} of {all} questions are answered rightly at the first call");
    wrong.iter().for_each(|wrong| println!("wrong: {wrong}"));
}

#[tokio::test]
async fn natural_questions_are_answered_rightly_at_the_first_call() {
    let stage = Stage::new(&[]);
    let world = World::push(&stage).await;
    let client: McpClient = stage.client();
    let questions: Vec<Value> =
        serde_json::from_str(include_str!("questions.json")).expect("a table of questions");
    let mut wrong = Vec::new();
    for question in &questions {
        let text = |name: &str| question[name].as_str().expect("a text");
        let arguments = world.arguments(&question["arguments"]);
        let result = client.call(text("tool"), arguments.clone()).await;
        if !world.is_true(text("truth"), &result) {
            let said: String = result.to_string().chars().take(600).collect();
            wrong.push(format!("{}: {} {arguments}: {said}", text("words"), text("tool")));
        }
    }
    let (all, right) = (questions.len(), questions.len() - wrong.len());
    say(right, all, &wrong);
    assert!(all >= 150, "{all} questions");
    assert!(right * 100 >= all * 95, "{right} of {all}: {wrong:#?}");
}
