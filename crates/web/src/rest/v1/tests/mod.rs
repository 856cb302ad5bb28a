//! Version 1 against the shapes of its captures, and with the values that the hub knows.

mod shape;

use facts::{
    event::{ExpectedGoals, ShotOutcome, Stat, Weather},
    football::Period,
};
use hyper::StatusCode;
use serde_json::{Value, json};

use self::shape::differences;
use crate::{
    clock::now,
    rest::football::tests::{World, first},
};
use record::{
    AnalysisRecord, ClockRecord, EntityRef, FootballRecord, Freshness, Key, MatchRecord,
    MatchSummary, PlayRecord, PlayerRecord, Position, ShotRecord, Status,
    testing::{self, named},
};

/// The sides of the matches in the archive.
const SIDES: [Key; 2] = [100, 200];

async fn get(world: &World, path: &str) -> Value {
    let answer = world.at(&format!("http://hub.example/api/{path}")).await;
    assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
    answer.body
}

/// A match with everything that feeds report of one in its second half.
fn reported(id: Key, status: Status) -> MatchRecord {
    let MatchRecord { summary, refs, mut names, play, prices, .. } = first(0);
    let football = play.football().expect("it is of football");
    let player = |id, side, values: &[(&str, u32)]| PlayerRecord {
        player: named(id),
        side,
        values: values.iter().map(|(name, count)| ((*name).into(), *count)).collect(),
    };
    let shot = |side, outcome| ShotRecord {
        eid: format!("shot {side}").into(),
        side,
        player: None,
        period: Period::FirstHalf,
        minute: 12,
        added: None,
        outcome,
        situation: None,
        body_part: None,
        expected_goals: Some(ExpectedGoals(25_000)),
        expected_on_target: None,
        location: Some([900, 500]),
        goal_mouth: None,
    };
    let analysis = AnalysisRecord {
        shots: vec![shot(0, ShotOutcome::Goal), shot(1, ShotOutcome::Post)],
        halves: [[[(Stat::Fouls, 2)].into(), [].into()], [[].into(), [].into()]],
        ..AnalysisRecord::default()
    };
    let [home, _] = football.line_ups.clone();
    let football = FootballRecord {
        clock: Some(ClockRecord { at: now(), second: 66 * 60 + 30, running: false }),
        line_ups: [home, Some(testing::line_up(&[2001, 2002], &[2012]))],
        players: vec![
            player(1001, 0, &[("rating", 712), ("duel_won", 3), ("aerial_won", 1)]),
            player(2001, 1, &[("duel_won", 1), ("total_cross", 3)]),
        ],
        analysis: Some(Box::new(analysis)),
        ..football.clone()
    };
    names.coaches[1] = Some(named(701));
    let start = now() - 80 * 60 * 1_000_000;
    MatchRecord {
        summary: MatchSummary {
            id,
            status,
            start: Some(start),
            coaches: [summary.coaches[0], Some(701)],
            expected_goals: Some([ExpectedGoals(25_000); 2]),
            weather: Some(Weather { code: 5, wind_speed: 4, temperature_c: -2 }),
            neutral: Some(true),
            group: Some("Group A".into()),
            extra_time: status.is_over().then_some([0, 1]),
            penalties: status.is_over().then_some([5, 4]),
            updated: start,
            ..MatchSummary::clone(&summary)
        }
        .into(),
        refs,
        names,
        prices,
        play: PlayRecord::Football(Box::new(football)),
        freshness: Some(Freshness {
            position: Position { epoch: 1, seq: 1 },
            feed: "live",
            source_at: None,
            received_at: None,
        }),
    }
}

/// Before the match, in play, after it with extra time and a shoot-out; with all details and with none.
async fn played_world() -> (World, Vec<Key>) {
    let world = World::new().await;
    world.put(reported(20, Status::SecondHalf));
    world.put(reported(21, Status::Finished));
    world.show([world.in_minutes(22, 60, Status::NotStarted)]);
    (world, vec![1, 2, 3, 4, 20, 21, 22])
}

#[tokio::test]
async fn dates_of_earlier_meetings_are_of_the_requested_zone() {
    let world = World::new().await;
    for (query, expected) in [("", "+04:00"), ("?tz=Asia/Tokyo", "+09:00")] {
        let event = get(&world, &format!("events/2/{query}")).await;
        let date = event["head_to_head"]["recent_matches"][0]["date"].as_str().unwrap();
        assert!(date.ends_with(expected), "{query}: {date}");
    }
}

#[tokio::test]
async fn lists_take_several_ids() {
    let world = World::new().await;
    for (query, count) in [
        ("events/?season=50,51", 4),
        ("events/?team=300,4242", 2),
        ("seasons/?league=6,7", 0),
        ("players/?team=4242,4243", 0),
    ] {
        assert_eq!(get(&world, query).await["count"], count, "{query}");
    }
    let [one, two] = ["seasons/?league=5", "seasons/?league=5,6"];
    assert_eq!(get(&world, one).await["count"], get(&world, two).await["count"]);
    for (name, first, second) in [("event", 1, 2), ("player", 1001, 2001), ("team", 100, 200)] {
        let count = async |ids: String| {
            let page = get(&world, &format!("player-stats/?{name}={ids}")).await;
            page["count"].as_u64().expect("a count")
        };
        let each = [count(first.to_string()).await, count(second.to_string()).await];
        assert!(each[0] > 0, "{name}");
        assert_eq!(count(format!("{first},{second}")).await, each.iter().sum::<u64>(), "{name}");
    }
    let many = vec!["1"; 51].join(",");
    for path in ["player-stats/?player", "leagues/5/standings/?season"] {
        let answer = world.at(&format!("http://hub.example/api/{path}={many}")).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
    }
    let table = async |season: &str| get(&world, &format!("leagues/5/standings/?{season}")).await;
    let (current, of_both) = (table("season=50").await, table("season=50,51").await);
    assert_eq!((&current["season_id"], &of_both["season_id"]), (&json!(50), &json!(null)));
    assert_eq!(current["standings"], of_both["standings"]);
    assert_eq!(table("season=51").await["standings"], json!([]));
}

#[tokio::test]
async fn events_have_the_keys_and_types_of_the_captures() {
    let (world, ids) = played_world().await;
    for id in &ids {
        for path in ["events", "fixtures", "matches", "live"] {
            let event = get(&world, &format!("{path}/{id}/")).await;
            assert_eq!(differences("event", &event), [""; 0], "{path}/{id}/");
        }
    }
    for path in ["events/", "fixtures/", "matches/", "live/", "teams/100/matches/"] {
        let rows = get(&world, path).await["results"].clone();
        let rows = rows.as_array().expect("rows");
        assert!(!rows.is_empty(), "{path}");
        for row in rows {
            assert_eq!(differences("event_row", row), [""; 0], "{path}");
        }
    }
}

#[tokio::test]
async fn other_rows_have_the_keys_and_types_of_version_1() {
    let (world, _) = played_world().await;
    for (path, shape) in [
        ("leagues/", "league"),
        ("seasons/", "season"),
        ("teams/", "team_row"),
        ("venues/", "venue"),
        ("players/", "player"),
        ("managers/", "manager"),
        ("referees/", "referee_row"),
    ] {
        let rows = get(&world, path).await["results"].clone();
        let rows = rows.as_array().expect("rows");
        assert!(!rows.is_empty(), "{path}");
        for row in rows {
            assert_eq!(differences(shape, row), [""; 0], "{path}");
        }
    }
    for (path, shape) in [
        ("leagues/5/", "league"),
        ("leagues/5/standings/", "standings"),
        ("seasons/50/", "season"),
        ("teams/100/", "team"),
        ("venues/900/", "venue"),
        ("players/1001/", "player"),
        ("managers/700/", "manager"),
    ] {
        assert_eq!(differences(shape, &get(&world, path).await), [""; 0], "{path}");
    }
}

#[tokio::test]
async fn event_says_what_the_hub_knows() {
    let (world, _) = played_world().await;
    let event = get(&world, "events/20/?tz=UTC").await;
    let check = |pointer: &str, expected: Value| {
        assert_eq!(event.pointer(pointer), Some(&expected), "{pointer} of {event}");
    };
    check("/season/id", json!(50));
    check("/league/is_women", json!(false));
    check("/round_number", json!(1));
    check("/group_name", json!("Group A"));
    check("/current_minute", json!(66));
    check("/home_score_ht", json!(2));
    check("/away_score_ht", json!(0));
    for side in ["home", "away"] {
        check(&format!("/{side}_xg_live"), json!(0.25));
        check(&format!("/actual_{side}_xg"), json!(null));
        check(&format!("/live_stats/{side}/expected_goals"), json!(0.25));
    }
    check("/weather_code", json!(5));
    check("/temperature_c", json!(-2));
    check("/is_neutral_ground", json!(true));
    check("/is_local_derby", json!(null));
    check("/attendance", json!(31_000));
    check("/venue/city", json!("Town"));
    check("/live_websocket", json!(true));
    check("/referee/id", json!(800));
    // The first match, and the other one that is over: the red card there was taken back.
    check("/referee/yellowCards", json!(2));
    check("/referee/redCards", json!(0));
    check("/referee/career_games", json!(2));
    check("/home_coach/preferred_formation", json!("4-4-2"));
    check("/home_team_obj/coach/name", json!("name 700"));
    check("/live_stats/home/throw_ins", json!(null));
    check("/live_stats/first_half/home/fouls", json!(2));
    check("/live_stats/first_half/away/fouls", json!(0));
    check("/live_stats/away/hit_woodwork", json!(1));
    check("/live_stats/home/duels", json!(75));
    check("/live_stats/home/total_saves", json!(0));
    check("/lineups/confirmed", json!(true));
    check("/lineups/home/formation", json!("4-4-2"));
    let scorer = event["lineups"]["home"]["players"][0].clone();
    let named = |name: &str| scorer[name].clone();
    assert_eq!(named("player_id"), json!(1001), "{scorer}");
    assert_eq!((named("goals"), named("rating")), (json!(1), json!(7.12)), "{scorer}");
    assert_eq!((named("sub_out"), named("replaced_by_player_id")), (json!(60), json!(1012)));
    assert_eq!((named("specific_position"), named("jersey_number")), (json!("GK"), json!("1")));
    check("/lineups/home/players/1/specific_position", json!(""));
    check("/lineups/home/substitutes/0/sub_in", json!(60));
    check("/lineups/home/substitutes/0/replaces_player_id", json!(1001));
    check("/lineups/away/players/0/yellow_card", json!(true));
    // Alpha won the first match 2-1 at home and the second one 2-1 after extra time.
    check("/head_to_head/total_matches", json!(2));
    check("/home_form/form_string", json!("WW"));
    check("/home_form/goals_scored_last_n", json!(4));
    check("/away_form/form_string", json!("LL"));
    check("/away_form/points_last_n", json!(0));
    check("/social", json!([]));

    let over = get(&world, "events/21/").await;
    let values = ["current_minute", "home_xg_live", "actual_away_xg", "live_websocket"];
    let values = values.map(|name| over[name].clone());
    assert_eq!(values, [json!(120), json!(null), json!(0.25), json!(false)]);
    assert_eq!(over["penalty_shootout"], json!({"home": 5, "away": 4}));
    assert_eq!(over["extra_time_score"], json!({"home": 0, "away": 1}));

    let upcoming = get(&world, "events/22/").await;
    for name in ["live_stats", "lineups", "referee", "current_minute", "weather_code", "home_score"]
    {
        assert_eq!(upcoming[name], json!(null), "{name} of {upcoming}");
    }
    assert_eq!(upcoming["home_team_obj"]["id"], SIDES[0]);
}

/// The minute, in play, is the one of version 2, and a cached detail is of its zone.
#[tokio::test]
async fn event_agrees_with_version_2_and_with_its_row() {
    let (world, _) = played_world().await;
    let older = get(&world, "events/20/?tz=UTC").await;
    let newer = get(&world, "v2/events/20/").await;
    for name in [
        "current_minute",
        "event_date",
        "home_score",
        "away_score",
        "home_score_ht",
        "round_number",
        "group_name",
        "attendance",
        "live_websocket",
        "head_to_head",
    ] {
        assert_eq!(older[name], newer[name], "{name}");
    }
    let rows = get(&world, "live/?tz=UTC").await;
    let row = rows["results"].as_array().expect("rows").iter().find(|row| row["id"] == 20);
    let row = row.expect("it is in play").as_object().expect("an object");
    // Rows have fewer members of these.
    let summary = ["home_team_obj", "away_team_obj", "home_coach", "away_coach"];
    for (name, value) in row.iter().filter(|(name, _)| !summary.contains(&name.as_str())) {
        assert_eq!(value, &older[name], "{name}");
    }
    let tokyo = get(&world, "events/20/?tz=Asia/Tokyo").await;
    assert!(tokyo["event_date"].as_str().is_some_and(|date| date.ends_with("+09:00")), "{tokyo}");
}

/// A filter by what rows have is never ignored.
#[tokio::test]
async fn filters_by_members_of_rows_filter() {
    let (world, _) = played_world().await;
    for (query, expected) in [
        ("players/?national_team=1", Some(0)),
        ("players/?current_team=42", Some(0)),
        ("players/?name=nobody", Some(0)),
        ("players/?name=NAME%201001", Some(1)),
        ("leagues/?is_women=true", Some(0)),
        ("leagues/?is_women=false&name=name", Some(1)),
        ("seasons/?year=1999", Some(0)),
        ("seasons/?is_current=true", Some(1)),
        ("teams/?name=100", Some(1)),
        ("managers/?name=nobody", Some(0)),
        ("managers/?country=Spain", Some(0)),
        ("referees/?country=Spain", Some(0)),
        ("venues/?city=Town", Some(1)),
        ("venues/?city=Village", Some(0)),
        ("events/?round_number=2", Some(1)),
        ("live/?league=42", Some(0)),
        ("live/?team=300", Some(1)),
        ("live/?round_number=2", Some(0)),
        ("live/?status=halftime", Some(0)),
        ("live/?status=nonsense&team=300", Some(1)),
        ("teams/100/matches/?league=42", Some(0)),
        ("teams/100/matches/?round_number=2", Some(1)),
        ("teams/?search=nobody", None),
    ] {
        let count = get(&world, query).await["count"].as_u64();
        match expected {
            Some(expected) => assert_eq!(count, Some(expected), "{query}"),
            None => assert!(count > Some(0), "{query}"),
        }
    }
}

/// What a feed has not named yet has at least its id and name.
#[tokio::test]
async fn teams_without_an_archived_entity_are_named() {
    let (world, _) = played_world().await;
    let mut record = reported(23, Status::FirstHalf);
    let sides = [901, 902].map(|id| EntityRef { id, name: format!("new {id}").into() });
    record.names.sides = Some(sides);
    record.summary =
        MatchSummary { sides: Some([901, 902]), ..MatchSummary::clone(&record.summary) }.into();
    world.put(record);
    let event = get(&world, "events/23/").await;
    assert_eq!(differences("event", &event), [""; 0]);
    assert_eq!(event["home_team_obj"]["name"], "new 901");
    assert_eq!((&event["home_form"], &event["head_to_head"]), (&json!(null), &json!(null)));
}
