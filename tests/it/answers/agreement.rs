//! Each figure has one definition: every match of the archive tells the same in all answers that have it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{RecordedHub, array, number};
use crate::support::Hub;

const SIDES: [(&str, bool); 2] = [("home", true), ("away", false)];

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

/// Maximum number of recomputed head-to-head records: each costs a request.
const RECORDS: usize = 40;

/// Goals of players, by their league and season.
type Goals = BTreeMap<(u64, u64), BTreeMap<u64, u64>>;

#[tokio::test]
async fn every_match_tells_each_figure_in_one_way() {
    let Some(hub) = RecordedHub::imported() else { return };
    let events = hub.all("/api/v2/events/?status=finished&limit=200").await;
    let mut detailed = 0;
    let mut goals = Goals::new();
    for event in &events {
        let incidents = hub.get(&format!("/api/v2/events/{}/incidents/", event["id"])).await;
        let incidents = array(&incidents["incidents"]);
        if incidents.is_empty() {
            continue;
        }
        detailed += 1;
        let stats = hub.get(&format!("/api/v2/events/{}/stats/", event["id"])).await;
        let players = hub.get(&format!("/api/v2/events/{}/player-stats/", event["id"])).await;
        for row in array(&players["player_stats"]) {
            if let Some(season) = season(event) {
                let of_season = goals.entry(season).or_default();
                *of_season.entry(number(&row["player_id"])).or_default() += number(&row["goals"]);
            }
        }
        for (side, is_home) in SIDES {
            let team = &event[format!("{side}_team_id").as_str()];
            let players =
                array(&players["player_stats"]).iter().filter(|it| it["team_id"] == *team);
            let figures = Figures {
                event,
                side,
                counters: &stats["stats"][side],
                incidents: incidents.iter().filter(|it| it["is_home"] == is_home).collect(),
                players: players.collect(),
            };
            figures.check_goals();
            figures.check_cards();
            figures.check_players();
            figures.check_halves(&stats["stats"]);
            let shots = array(&stats["shotmap"]).iter().filter(|it| it["home"] == is_home);
            figures.check_shots(&shots.collect::<Vec<_>>());
        }
        check_version_1(&hub, event, &stats["stats"]).await;
    }
    assert!(detailed >= 5, "{detailed} of {} matches", events.len());
    check_leaders(&hub, &goals).await;
    check_tables(&hub, &events).await;
    check_meetings(&hub, &events).await;
    check_predictions(&hub).await;
}

/// The league and the season of a match.
fn season(event: &Value) -> Option<(u64, u64)> {
    Some((event["league_id"].as_u64()?, event["season_id"].as_u64()?))
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

/// The stream's document of a match, if the hub still has it, tells what REST tells. Returns whether it does.
pub(crate) async fn check_stream(hub: &Hub, key: &str, event: &Value) -> bool {
    let id = &event["id"];
    let image = hub.get_as(key, &format!("/stream/v1/channels/football/{id}")).await;
    if image.status == 404 {
        return false;
    }
    assert_eq!(image.status, 200, "{id}: {}", image.body);
    let image = image.json();
    let document = &image["data"];
    let score = SIDES.map(|(side, _)| document["score"][side].clone());
    let score = if document["score"].is_null() { Value::Null } else { json!(score) };
    assert_eq!(score, score_on_board(event), "{event}");
    let stats = hub.json(key, &format!("/api/v2/events/{id}/stats/")).await;
    for (side, _) in SIDES {
        for (counter, in_rest) in COUNTERS {
            let (streamed, told) =
                (&document["stats"][side][counter], &stats["stats"][side][in_rest]);
            assert_eq!(streamed, told, "{counter} of {side}: {event}");
        }
    }
    true
}

/// A prediction says of its match what the match says.
async fn check_predictions(hub: &RecordedHub) {
    for row in hub.all("/api/v2/predictions/?limit=200").await {
        let event = hub.get(&format!("/api/v2/events/{}/", row["id"])).await;
        for (name, told) in row["event"].as_object().expect("an event") {
            // Rows of matches have the id of the league only.
            if name != "league_name" {
                assert_eq!(*told, event[name], "{name}: {row}");
            }
        }
    }
}

/// Leaders have the goals of their matches.
async fn check_leaders(hub: &RecordedHub, goals: &Goals) {
    for ((league, season), players) in goals {
        let path = format!("/api/v2/leagues/{league}/top/scorers/?season_id={season}&limit=50");
        let answer = hub.get(&path).await;
        for leader in array(&answer["leaders"]) {
            let player = number(&leader["player_id"]);
            assert_eq!(players.get(&player), leader["value"].as_u64().as_ref(), "{path}: {leader}");
        }
    }
}

/// The tables of both versions are the same.
async fn check_tables(hub: &RecordedHub, events: &[Value]) {
    const FIGURES: [&str; 9] =
        ["position", "team_id", "played", "won", "drawn", "lost", "gf", "ga", "pts"];
    let rows = |table: &Value| -> Vec<[Value; 9]> {
        let rows = table.as_array().into_iter().flatten();
        rows.map(|row| FIGURES.map(|figure| row[figure].clone())).collect()
    };
    let seasons: BTreeSet<_> = events.iter().filter_map(season).collect();
    for (league, season) in seasons {
        let path = format!("leagues/{league}/standings/");
        let first = hub.get(&format!("/api/{path}?season={season}")).await;
        let second = hub.get(&format!("/api/v2/{path}?season_id={season}")).await;
        assert_eq!(rows(&first["standings"]), rows(&second["standings"]), "{path} of {season}");
        let groups = first["groups"].as_array().into_iter().flatten();
        let groups: BTreeMap<_, _> =
            groups.map(|it| (it["name"].as_str(), rows(&it["standings"]))).collect();
        let others = second["groups"].as_object().into_iter().flatten();
        let others: BTreeMap<_, _> =
            others.map(|(name, table)| (Some(name.as_str()), rows(table))).collect();
        assert_eq!(groups, others, "{path} of {season}");
    }
}

/// Head-to-head records count the earlier matches of the list, extra time included.
async fn check_meetings(hub: &RecordedHub, events: &[Value]) {
    let teams = |event: &Value| {
        BTreeSet::from([&event["home_team_id"], &event["away_team_id"]].map(number))
    };
    for event in events.iter().rev().take(RECORDS) {
        let is_earlier = |it: &&Value| {
            teams(it) == teams(event) && it["event_date"].as_str() < event["event_date"].as_str()
        };
        let earlier: Vec<&Value> = events.iter().filter(is_earlier).collect();
        let goals = |team: &Value| -> u64 {
            let own = |it: &&Value| {
                let side = usize::from(it["home_team_id"] != *team);
                number(&score_on_board(it)[side])
            };
            earlier.iter().map(own).sum()
        };
        let counted =
            [earlier.len() as u64, goals(&event["home_team_id"]), goals(&event["away_team_id"])];
        let record = hub.get(&format!("/api/v2/events/{}/h2h/", event["id"])).await;
        let told = ["total_matches", "home_goals", "away_goals"].map(|name| record[name].as_u64());
        assert_eq!(told, counted.map(|it| (!earlier.is_empty()).then_some(it)), "{event}");
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
        let goals = self.incidents.iter().filter(|it| it["type"] == "goal");
        let own_goals = goals.clone().filter(|it| it["goal_type"] == "own_goal").count() as u64;
        assert_eq!(
            Some(goals.count() as u64),
            score.map(|score| score + extra),
            "{}",
            self.what("goals")
        );
        if !self.players.is_empty() {
            assert_eq!(
                Some(self.sum("goals") + own_goals),
                score.map(|score| score + extra),
                "{}",
                self.what("goals")
            );
        }
    }

    /// A second yellow card is a red one only. Cards without a player are the team's alone.
    fn check_cards(&self) {
        for (counter, counter_of_player, kinds) in [
            ("yellow_cards", "yellow_card", &["yellow"][..]),
            ("red_cards", "red_card", &["red", "yellowRed"][..]),
        ] {
            let is_counted = |it: &&&Value| {
                it["type"] == "card"
                    && it["rescinded"] != true
                    && kinds.iter().any(|kind| it["card_type"] == *kind)
            };
            let cards = self.incidents.iter().filter(is_counted);
            let named = cards.clone().filter(|it| it["player_id"].is_u64()).count() as u64;
            assert_eq!(
                number(&self.counters[counter]),
                cards.count() as u64,
                "{}",
                self.what(counter)
            );
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
                assert_eq!(
                    number(&self.counters[counter]),
                    first + second,
                    "{}",
                    self.what(counter)
                );
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
                assert!(
                    (all - sum).abs() < 1e-9,
                    "{}: {sum} for {all}",
                    self.what("expected goals")
                );
            }
        }
    }
}

/// Version 1 counts as version 2 does.
async fn check_version_1(hub: &RecordedHub, event: &Value, stats: &Value) {
    let first = hub.get(&format!("/api/events/{}/", event["id"])).await;
    for (side, _) in SIDES {
        let score = format!("{side}_score");
        assert_eq!(first[score.as_str()], event[score.as_str()], "{event}");
        let counters = ["yellow_cards", "red_cards", "total_shots", "passes", "corner_kicks"];
        for counter in counters.into_iter().filter(|_| first["live_stats"].is_object()) {
            assert_eq!(
                first["live_stats"][side][counter], stats[side][counter],
                "{counter}: {event}"
            );
        }
    }
    let possession = SIDES.map(|(side, _)| stats[side]["ball_possession"].as_u64());
    if let [Some(home), Some(away)] = possession {
        assert_eq!(json!(home + away), 100, "{event}");
    }
}
