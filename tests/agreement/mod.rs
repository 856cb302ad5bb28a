//! Each figure has one definition: every match tells the same in all answers that have it.
//!
//! `tests/it` asks running hubs, which have the recordings and the demo's past. `tests/hub` asks the interface itself, of each
//! match that the demo plays and has played, and compares with the documents of the stream.

pub(crate) mod seasons;
pub(crate) mod sports;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use self::seasons::PlayerCounts;

/// What answers requests of the REST interface.
pub(crate) trait Rest {
    /// A successful answer.
    async fn get(&self, path: &str) -> Value;

    /// All rows of a list, whose address ends where further parameters can follow.
    async fn all(&self, path: &str) -> Vec<Value> {
        let mut rows = Vec::new();
        loop {
            let page = self.get(&format!("{path}limit=200&offset={}", rows.len())).await;
            let more = array(&page["results"]);
            if more.is_empty() {
                return rows;
            }
            rows.extend(more.iter().cloned());
        }
    }
}

pub(crate) const SIDES: [(&str, bool); 2] = [("home", true), ("away", false)];

/// A team's counter, and the player's that adds up to it.
const SUMS: [(&str, &str); 6] = [
    ("total_shots", "total_shots"),
    ("shots_on_target", "shots_on_target"),
    ("passes", "total_pass"),
    ("accurate_passes", "accurate_pass"),
    ("fouls", "fouls"),
    ("goalkeeper_saves", "saves"),
];

/// The counters of the stream, and REST's names of them.
const COUNTERS: [(&str, &str); 18] = [
    ("ball_possession", "ball_possession"),
    ("total_shots", "total_shots"),
    ("shots_on_target", "shots_on_target"),
    ("shots_off_target", "shots_off_target"),
    ("blocked_shots", "blocked_shots"),
    ("corner_kicks", "corner_kicks"),
    ("fouls", "fouls"),
    ("offsides", "offsides"),
    ("yellow_cards", "yellow_cards"),
    ("red_cards", "red_cards"),
    ("saves", "goalkeeper_saves"),
    ("passes", "passes"),
    ("accurate_passes", "accurate_passes"),
    ("throw_ins", "throw_ins"),
    ("goal_kicks", "goal_kicks"),
    ("free_kicks", "free_kicks"),
    ("attacks", "attack"),
    ("dangerous_attacks", "dangerous_attack"),
];

/// What all answers say of the score.
const SCORES: [&str; 6] = [
    "home_score",
    "away_score",
    "home_score_ht",
    "away_score_ht",
    "extra_time_score",
    "penalty_shootout",
];

/// Matches whose parts one answer has.
const INCLUDED: usize = 5;

pub(crate) fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no count: {value}"))
}

/// Rows by their ids.
pub(crate) fn by_id(rows: Vec<Value>, id: &str) -> BTreeMap<u64, Value> {
    rows.into_iter().map(|row| (number(&row[id]), row)).collect()
}

/// A match of football, as `events/` has it, and what leaders add up of its players.
pub(crate) struct CheckedMatch {
    pub(crate) event: Value,
    pub(crate) players: PlayerCounts,
    /// Whether its incidents are known.
    pub(crate) is_detailed: bool,
}

/// What the interfaces say about a match.
struct MatchAnswers<'a> {
    event: &'a Value,
    incidents: Vec<Value>,
    stats: Value,
    players: Vec<Value>,
}

/// The score on the board: `null` without one, and with the goals of extra time, which REST adds to those of regulation.
pub(crate) fn score_on_board(event: &Value) -> Value {
    let goals = SIDES.map(|(side, _)| {
        let regulation = event[format!("{side}_score").as_str()].as_u64()?;
        Some(regulation + event["extra_time_score"][side].as_u64().unwrap_or(0))
    });
    match goals {
        [Some(home), Some(away)] => json!([home, away]),
        _ => Value::Null,
    }
}

/// Checks every match of football.
pub(crate) async fn check_football(rest: &impl Rest) -> Vec<CheckedMatch> {
    let events = rest.all("/api/v2/events/?").await;
    let first = by_id(rest.all("/api/events/?").await, "id");
    let of_odds = by_id(rest.all("/odds/api/events/?sport=football&").await, "event_id");
    let mut checked = Vec::with_capacity(events.len());
    for some in events.chunks(INCLUDED) {
        let ids: Vec<_> = some.iter().map(|event| event["id"].to_string()).collect();
        let page = format!("/api/v2/events/?ids={}&include=incidents,stats", ids.join(","));
        let page = rest.get(&page).await;
        let rows = by_id(array(&page["results"]).to_vec(), "id");
        for event in some {
            let id = number(&event["id"]);
            check_row(event, &rows[&id]);
            check_scores(event, &first[&id], "version 1");
            check_regulation(event, &of_odds[&id]);
            // Of results alone, all that there is to compare is in the lists.
            let is_detailed = !array(&rows[&id]["incidents"]["incidents"]).is_empty();
            let mut players = PlayerCounts::new();
            if is_detailed {
                let answers = MatchAnswers::read(rest, event, &rows[&id]).await;
                answers.check(rest).await;
                players = seasons::player_counts(&answers.players, &answers.incidents);
            }
            checked.push(CheckedMatch { event: event.clone(), players, is_detailed });
        }
    }
    checked
}

/// A match is the same in a list and with its parts.
fn check_row(event: &Value, with_parts: &Value) {
    for (name, value) in event.as_object().expect("a row") {
        // It goes on between two requests.
        if name == "current_minute" {
            continue;
        }
        assert_eq!(with_parts[name], *value, "{name}: {event}");
    }
}

fn check_scores(event: &Value, other: &Value, what: &str) {
    for name in SCORES {
        assert_eq!(other[name], event[name], "{name} of {what}: {event}");
    }
}

/// The same of an answer that has the score of regulation alone.
pub(crate) fn check_regulation(event: &Value, other: &Value) {
    for name in ["home_score", "away_score"] {
        assert_eq!(other[name], event[name], "{name}: {event} and {other}");
    }
}

/// The stream's document of a match tells what REST tells.
pub(crate) async fn check_document(rest: &impl Rest, document: &Value, event: &Value) {
    let score = &document["score"];
    let on_stream = |score: &Value| SIDES.map(|(side, _)| score[side].clone());
    let board = if score.is_null() { Value::Null } else { json!(on_stream(score)) };
    assert_eq!(board, score_on_board(event), "{event}");
    let half_time = SIDES.map(|(side, _)| event[format!("{side}_score_ht").as_str()].clone());
    assert_eq!(on_stream(&score["ht"]), half_time, "half time: {event}");
    for (streamed, field) in [("et", "extra_time_score"), ("pens", "penalty_shootout")] {
        assert_eq!(on_stream(&score[streamed]), on_stream(&event[field]), "{field}: {event}");
    }
    let stats = rest.get(&format!("/api/v2/events/{}/stats/", event["id"])).await;
    for (side, _) in SIDES {
        for (counter, in_rest) in COUNTERS {
            let (streamed, reported) =
                (&document["stats"][side][counter], &stats["stats"][side][in_rest]);
            assert_eq!(streamed, reported, "{counter} of {side}: {event}");
        }
    }
}

impl<'a> MatchAnswers<'a> {
    async fn read(rest: &impl Rest, event: &'a Value, with_parts: &Value) -> Self {
        let id = &event["id"];
        let part = async |name: &str| rest.get(&format!("/api/v2/events/{id}/{name}/")).await;
        let (incidents, stats) = (part("incidents").await, part("stats").await);
        for (name, alone) in [("incidents", &incidents), ("stats", &stats)] {
            assert_eq!(with_parts[name], *alone, "{name}: {event}");
        }
        let players = part("player-stats").await;
        Self {
            event,
            incidents: array(&incidents["incidents"]).to_vec(),
            stats,
            players: array(&players["player_stats"]).to_vec(),
        }
    }

    /// Whether the match is over. The players' counters of one in play can be behind those of the teams.
    fn is_over(&self) -> bool {
        self.event["status"] == "finished"
    }

    async fn check(&self, rest: &impl Rest) {
        let Self { event, incidents, stats, players } = self;
        self.check_version_1(rest).await;
        for (side, is_home) in SIDES {
            let team = &event[format!("{side}_team_id").as_str()];
            let figures = Figures {
                event,
                side,
                counters: &stats["stats"][side],
                incidents: incidents.iter().filter(|it| it["is_home"] == is_home).collect(),
                players: players.iter().filter(|it| it["team_id"] == *team).collect(),
            };
            figures.check_goals();
            figures.check_cards();
            figures.check_halves(&stats["stats"]);
            let shots = array(&stats["shotmap"]).iter().filter(|it| it["home"] == is_home);
            figures.check_shots(&shots.collect::<Vec<_>>());
            if self.is_over() {
                figures.check_players();
            }
        }
        let possession = SIDES.map(|(side, _)| stats["stats"][side]["ball_possession"].as_u64());
        if let [Some(home), Some(away)] = possession {
            assert_eq!(home + away, 100, "{event}");
        }
    }

    /// Version 1 counts as version 2 does.
    async fn check_version_1(&self, rest: &impl Rest) {
        let Self { event, incidents, stats, .. } = self;
        let first = rest.get(&format!("/api/events/{}/", event["id"])).await;
        check_scores(event, &first, "version 1");
        for (side, is_home) in SIDES {
            let of_version_2 = &stats["stats"][side];
            if first["live_stats"].is_object() {
                for (_, counter) in COUNTERS {
                    let reported = &first["live_stats"][side][counter];
                    // It has no other name, and not all of them.
                    if !reported.is_null() {
                        assert_eq!(reported, &of_version_2[counter], "{counter}: {event}");
                    }
                }
            }
            let (live, over) = (format!("{side}_xg_live"), format!("actual_{side}_xg"));
            for name in [live, over] {
                if let Some(expected) = first[name.as_str()].as_f64() {
                    let reported = of_version_2["expected_goals"].as_f64();
                    assert_eq!(Some(expected), reported, "{name}: {event}");
                }
            }
            let count = |rows: &[Value], kind: &str| {
                rows.iter().filter(|it| it["type"] == kind && it["is_home"] == is_home).count()
            };
            for kind in ["goal", "card"] {
                let standing: Vec<_> =
                    incidents.iter().filter(|it| it["rescinded"] != true).cloned().collect();
                let of_first = first["incidents"].as_array().map(|rows| count(rows, kind));
                assert!(
                    of_first.is_none_or(|it| it == count(&standing, kind)),
                    "{kind} of {side}: {event}"
                );
            }
        }
    }
}

/// What the answers tell of one side of a match.
struct Figures<'a> {
    event: &'a Value,
    side: &'a str,
    counters: &'a Value,
    incidents: Vec<&'a Value>,
    players: Vec<&'a Value>,
}

impl Figures<'_> {
    fn what(&self, figure: &str) -> String {
        let Self { event, side, .. } = self;
        format!("{figure} of {side} in {} v {}", event["home_team"], event["away_team"])
    }

    fn sum(&self, counter: &str) -> u64 {
        self.players.iter().map(|it| number(&it[counter])).sum()
    }

    /// The goals of the score are those of the incidents, and but for own goals those of the players.
    fn check_goals(&self) {
        let extra = self.event["extra_time_score"][self.side].as_u64().unwrap_or(0);
        let score = self.event[format!("{}_score", self.side).as_str()].as_u64();
        let score = score.map(|score| score + extra);
        let goals = self.incidents.iter().filter(|it| it["type"] == "goal");
        let own_goals = goals.clone().filter(|it| it["goal_type"] == "own_goal").count() as u64;
        assert_eq!(Some(goals.count() as u64), score, "{}", self.what("goals"));
        if !self.players.is_empty() {
            assert_eq!(Some(self.sum("goals") + own_goals), score, "{}", self.what("goals"));
        }
    }

    /// A second yellow card is a red one only. Cards without a player are the team's alone.
    fn check_cards(&self) {
        for (counter, counter_of_player, kinds) in [
            ("yellow_cards", "yellow_card", &["yellow"][..]),
            ("red_cards", "red_card", &["red", "yellowRed"][..]),
        ] {
            let cards = self.incidents.iter().filter(|it| is_card(it, kinds));
            let named = cards.clone().filter(|it| it["player_id"].is_u64()).count() as u64;
            let count = cards.count() as u64;
            assert_eq!(number(&self.counters[counter]), count, "{}", self.what(counter));
            if !self.players.is_empty() {
                assert!(self.sum(counter_of_player) <= named, "{}", self.what(counter_of_player));
            }
        }
    }

    /// Where a feed counts something for players, they add up to the team.
    fn check_players(&self) {
        for (counter, counter_of_player) in SUMS {
            let sum = self.sum(counter_of_player);
            if let Some(count) = self.counters[counter].as_u64().filter(|_| sum > 0) {
                // API-Football counts no blocked shots of players.
                let blocked = self.counters["blocked_shots"].as_u64().unwrap_or(0);
                let is_all = sum == count || counter == "total_shots" && sum + blocked == count;
                assert!(is_all, "{}: {sum} of players, {count}", self.what(counter));
            }
        }
    }

    fn check_halves(&self, stats: &Value) {
        if !self.event["extra_time_score"].is_null() {
            return;
        }
        for counter in
            ["total_shots", "shots_on_target", "passes", "fouls", "corner_kicks", "offsides"]
        {
            let halves =
                ["first_half", "second_half"].map(|half| stats[half][self.side][counter].as_u64());
            if let [Some(first), Some(second)] = halves {
                let count = number(&self.counters[counter]);
                assert_eq!(count, first + second, "{}", self.what(counter));
            }
        }
    }

    fn check_shots(&self, shots: &[&Value]) {
        let count = |name: &str| self.counters[name].as_u64();
        let parts = ["shots_on_target", "shots_off_target", "blocked_shots"].map(count);
        if let [Some(on), Some(off), Some(blocked)] = parts {
            assert_eq!(count("total_shots"), Some(on + off + blocked), "{}", self.what("shots"));
        }
        // The map has the kicks of a shoot-out, too.
        if shots.is_empty() || !self.event["penalty_shootout"].is_null() {
            return;
        }
        assert_eq!(count("total_shots"), Some(shots.len() as u64), "{}", self.what("shots"));
        let expected: Vec<f64> = shots.iter().filter_map(|it| it["xg"].as_f64()).collect();
        let of_players = self.players.iter().filter_map(|it| it["expected_goals"].as_f64());
        for sum in [expected.iter().sum::<f64>(), of_players.sum()] {
            if !expected.is_empty() {
                let all = self.counters["expected_goals"].as_f64().expect("shots have them");
                let what = self.what("expected goals");
                assert!((all - sum).abs() < 1e-9, "{what}: {sum} for {all}");
            }
        }
    }
}

/// Whether this is a card of one of these kinds that counts.
fn is_card(incident: &Value, kinds: &[&str]) -> bool {
    incident["type"] == "card"
        && incident["rescinded"] != true
        && kinds.iter().any(|kind| incident["card_type"] == *kind)
}
