//! What is added up over matches: tables, leaders, head-to-head records.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::{Value, json};

use super::{CheckedMatch, Rest, SIDES, array, is_card, number, score_on_board};

/// The league and the season of a match.
type Season = (u64, u64);

/// By player, the counters of [`LEADERS`].
pub(crate) type PlayerCounts = BTreeMap<u64, [u64; 5]>;

/// Words of `top/`, and the players' counters. Cards on the bench are those of incidents alone.
const LEADERS: [(&str, &str, &[&str]); 5] = [
    ("scorers", "goals", &[]),
    ("assists", "goal_assist", &[]),
    ("yellowcards", "yellow_card", &["yellow"]),
    ("redcards", "red_card", &["red", "yellowRed"]),
    ("fouls", "fouls", &[]),
];

fn season(event: &Value) -> Option<Season> {
    Some((event["league_id"].as_u64()?, event["season_id"].as_u64()?))
}

/// What the players of a match are counted for.
pub(crate) fn player_counts(players: &[Value], incidents: &[Value]) -> PlayerCounts {
    let mut counts = PlayerCounts::new();
    for row in players {
        counts.insert(number(&row["player_id"]), LEADERS.map(|(_, name, _)| number(&row[name])));
    }
    let rows: BTreeSet<u64> = counts.keys().copied().collect();
    for (index, (.., cards)) in LEADERS.iter().enumerate() {
        for card in incidents.iter().filter(|it| is_card(it, cards)) {
            if let Some(player) = card["player_id"].as_u64().filter(|it| !rows.contains(it)) {
                counts.entry(player).or_default()[index] += 1;
            }
        }
    }
    counts
}

/// Checks all that is added up over these matches, which are all that there are.
pub(crate) async fn check_seasons(rest: &impl Rest, checked: &[CheckedMatch]) {
    let events: Vec<&Value> = checked.iter().map(|it| &it.event).collect();
    check_leaders(rest, checked).await;
    check_tables(rest, &events).await;
    check_meetings(rest, &events).await;
}

/// Leaders have the sums of their matches.
async fn check_leaders(rest: &impl Rest, checked: &[CheckedMatch]) {
    let mut sums: BTreeMap<Season, PlayerCounts> = BTreeMap::new();
    for CheckedMatch { event, players, .. } in checked {
        let Some(season) = season(event) else { continue };
        let of_season = sums.entry(season).or_default();
        for (player, counts) in players {
            let sum = of_season.entry(*player).or_default();
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
    for ((league, season), players) in sums {
        for (index, (word, ..)) in LEADERS.iter().enumerate() {
            let path = format!("/api/v2/leagues/{league}/top/{word}/?season_id={season}&limit=50");
            let answer = rest.get(&path).await;
            for leader in array(&answer["leaders"]) {
                let sum = players.get(&number(&leader["player_id"])).map(|sums| sums[index]);
                assert_eq!(sum, leader["value"].as_u64(), "{path}: {leader}");
            }
        }
    }
}

/// The tables of both versions are the same, and those without groups have the goals of the matches.
async fn check_tables(rest: &impl Rest, events: &[&Value]) {
    const FIGURES: [&str; 9] =
        ["position", "team_id", "played", "won", "drawn", "lost", "gf", "ga", "pts"];
    let rows = |table: &Value| -> Vec<[Value; 9]> {
        let rows = table.as_array().into_iter().flatten();
        rows.map(|row| FIGURES.map(|figure| row[figure].clone())).collect()
    };
    let mut seasons: BTreeMap<Season, Vec<&Value>> = BTreeMap::new();
    for event in events {
        if let Some(season) = season(event) {
            seasons.entry(season).or_default().push(*event);
        }
    }
    for ((league, season), matches) in seasons {
        let path = format!("leagues/{league}/standings/");
        let first = rest.get(&format!("/api/{path}?season={season}")).await;
        let second = rest.get(&format!("/api/v2/{path}?season_id={season}")).await;
        assert_eq!(rows(&first["standings"]), rows(&second["standings"]), "{path} of {season}");
        let groups = first["groups"].as_array().into_iter().flatten();
        let groups: BTreeMap<_, _> =
            groups.map(|it| (it["name"].as_str(), rows(&it["standings"]))).collect();
        let others = second["groups"].as_object().into_iter().flatten();
        let others: BTreeMap<_, _> =
            others.map(|(name, table)| (Some(name.as_str()), rows(table))).collect();
        assert_eq!(groups, others, "{path} of {season}");
        for row in second["standings"].as_array().into_iter().flatten() {
            check_standing(row, &matches);
        }
    }
}

/// A row of a table adds up the scores of regulation, of matches in play as they stand.
fn check_standing(row: &Value, events: &[&Value]) {
    let team = &row["team_id"];
    let mut results: Vec<(Option<&str>, [u64; 2])> = Vec::new();
    for event in events {
        let Some(side) =
            SIDES.iter().position(|(side, _)| event[format!("{side}_team_id").as_str()] == *team)
        else {
            continue;
        };
        let goals = SIDES.map(|(side, _)| event[format!("{side}_score").as_str()].as_u64());
        let [Some(home), Some(away)] = goals else { continue };
        let goals = if side == 0 { [home, away] } else { [away, home] };
        results.push((event["event_date"].as_str(), goals));
    }
    let sum = |side: usize| results.iter().map(|(_, goals)| goals[side]).sum::<u64>();
    let count = |order| {
        let ends = results.iter().map(|(_, [scored, conceded])| scored.cmp(conceded));
        ends.filter(|end| *end == order).count()
    };
    let (won, drawn) = (count(Ordering::Greater), count(Ordering::Equal));
    let figures = ["played", "won", "drawn", "lost", "gf", "ga"].map(|it| number(&row[it]));
    let lost = results.len() - won - drawn;
    let counts = [results.len(), won, drawn, lost].map(|it| it as u64);
    let [played, won, drawn, lost] = counts;
    assert_eq!(figures, [played, won, drawn, lost, sum(0), sum(1)], "{row}");
    let form = row["form"].as_str().expect("a form");
    assert_eq!(form.len(), results.len().min(5), "{row}");
    results.sort_unstable();
    let [scored, conceded] = results.last().map_or([0, 0], |(_, goals)| *goals);
    let last = match scored.cmp(&conceded) {
        Ordering::Greater => 'W',
        Ordering::Equal => 'D',
        Ordering::Less => 'L',
    };
    assert!(form.is_empty() || form.ends_with(last), "{row} ends with {scored}-{conceded}");
}

/// Head-to-head records count the earlier matches of the list, extra time included.
async fn check_meetings(rest: &impl Rest, events: &[&Value]) {
    let teams = |event: &Value| {
        let teams = [&event["home_team_id"], &event["away_team_id"]];
        teams.iter().all(|it| it.is_u64()).then(|| BTreeSet::from(teams.map(number)))
    };
    let mut met: BTreeMap<BTreeSet<u64>, Vec<&Value>> = BTreeMap::new();
    for event in events.iter().filter(|it| it["status"] == "finished") {
        if let Some(teams) = teams(event) {
            met.entry(teams).or_default().push(*event);
        }
    }
    for event in events {
        let (Some(teams), Some(start)) = (teams(event), event["event_date"].as_str()) else {
            continue;
        };
        let is_earlier =
            |it: &&&Value| it["event_date"].as_str().is_some_and(|earlier| earlier < start);
        let earlier: Vec<&&Value> =
            met.get(&teams).into_iter().flatten().filter(is_earlier).collect();
        let goals = |team: &Value| -> u64 {
            let goals = |meeting: &&&Value| {
                let side = usize::from(meeting["home_team_id"] != *team);
                score_on_board(meeting)[side].as_u64().unwrap_or(0)
            };
            earlier.iter().map(goals).sum()
        };
        let scored = earlier.iter().filter(|it| !score_on_board(it).is_null()).count() as u64;
        let counted = [scored, goals(&event["home_team_id"]), goals(&event["away_team_id"])];
        let record = rest.get(&format!("/api/v2/events/{}/h2h/", event["id"])).await;
        let reported =
            ["total_matches", "home_goals", "away_goals"].map(|name| record[name].as_u64());
        assert_eq!(reported, counted.map(|it| (scored > 0).then_some(it)), "{event}");
    }
}

/// Two members of a row; `null` if both are.
pub(crate) fn pair(row: &Value, names: [&str; 2]) -> Value {
    let both = names.map(|name| row[name].clone());
    if both.iter().all(Value::is_null) { Value::Null } else { json!(both) }
}
