//! Requests and responses over a small archive and one match in play.

mod conveniences;
mod shapes;
mod world;

use hyper::StatusCode;
use serde_json::{Value, json};

use record::{MatchSummary, Status, testing::SEASON};

pub(super) use self::world::summary;
use self::world::{ALPHA, Answer, BETA, LEAGUE, MANAGER, REFEREE, SCORER, VENUE};
pub(in crate::rest) use self::world::{World, first};

fn ids(answer: &Value) -> Vec<u64> {
    let rows = answer["results"].as_array().or_else(|| answer["events"].as_array()).expect("rows");
    rows.iter().map(|row| row["id"].as_u64().expect("an id")).collect()
}

#[tokio::test]
async fn every_path_answers_known_ids_and_404_for_unknown_ids() {
    let world = World::new().await;
    for (path, id) in [
        ("events/{}/", 1),
        ("events/{}/h2h/", 1),
        ("events/{}/incidents/", 1),
        ("events/{}/lineups/", 4),
        ("events/{}/metadata/", 1),
        ("events/{}/player-stats/", 1),
        ("events/{}/stats/", 3),
        ("leagues/{}/", LEAGUE),
        ("leagues/{}/season/", LEAGUE),
        ("leagues/{}/seasons/", LEAGUE),
        ("leagues/{}/standings/", LEAGUE),
        ("leagues/{}/top/scorers/", LEAGUE),
        ("leagues/{}/top/assists/", LEAGUE),
        ("leagues/{}/top/yellowcards/", LEAGUE),
        ("leagues/{}/top/redcards/", LEAGUE),
        ("leagues/{}/top/fouls/", LEAGUE),
        ("leagues/{}/venues/", LEAGUE),
        ("teams/{}/", ALPHA),
        ("teams/{}/fixtures/", ALPHA),
        ("teams/{}/squad/", ALPHA),
        ("players/{}/", SCORER),
        ("players/{}/career/", SCORER),
        ("players/{}/national-team/", SCORER),
        ("players/{}/stats/", SCORER),
        ("managers/{}/", MANAGER),
        ("managers/{}/career/", MANAGER),
        ("managers/{}/matches/", MANAGER),
        ("referees/{}/", REFEREE),
        ("referees/{}/matches/", REFEREE),
        ("venues/{}/", VENUE),
        ("venues/{}/competitions/", VENUE),
    ] {
        let at = |id: &str| path.replace("{}", id);
        let answer = world.get(&at(&id.to_string())).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
        let expected = json!({"error": true, "status": 404, "detail": "Not found"});
        for unknown in ["4242424242", "nobody", "-1", "99999999999999999999999"] {
            let answer = world.get(&at(unknown)).await;
            assert_eq!((answer.status, &answer.body), (StatusCode::NOT_FOUND, &expected), "{path}");
        }
        let answer = world.get(&format!("{}?nonsense=1", at(&id.to_string()))).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path} takes any parameter");
        assert!(answer.body["accepted_parameters"].is_array(), "{path}: {}", answer.body);
    }
    for path in ["leagues/5/bestxi/50/", "leagues/5/top/nonsense/", "leagues/5/seasons/51/venues/"]
    {
        assert_eq!(world.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    for path in ["events/", "events/live/", "leagues/", "teams/", "players/", "coverage/"] {
        assert_eq!(world.get(path).await.status, StatusCode::OK, "{path}");
    }
    assert_eq!(world.get("leagues/5/seasons/50/venues/").await.body["count"], 1);
}

/// What is not found is not found whatever the values, but for those that are read first.
#[tokio::test]
async fn values_are_refused_before_or_after_an_unknown_id() {
    let world = World::new().await;
    let (not_found, bad) = (StatusCode::NOT_FOUND, StatusCode::BAD_REQUEST);
    for (path, id, query, expected) in [
        ("api/v2/players/{}/stats/", SCORER, "team_id=x", bad),
        ("api/v2/players/{}/stats/", SCORER, "date_from=x", not_found),
        ("api/v2/players/{}/figures/", SCORER, "league_id=x", bad),
        ("api/v2/players/{}/figures/", SCORER, "date_to=x", not_found),
        ("odds/api/events/{}/", 1, "line=x", not_found),
        ("odds/api/events/{}/", 1, "odds_format=x", not_found),
        ("odds/api/events/{}/", 1, "history=x", not_found),
        ("odds/api/events/{}/history/", 1, "date_from=x", bad),
        ("odds/api/events/{}/history/", 1, "line=x", not_found),
        ("odds/api/events/{}/history/", 1, "odds_format=x", not_found),
    ] {
        for (id, expected) in [(id, bad), (4_242_424_242, expected)] {
            let path = path.replace("{}", &id.to_string());
            let answer = world.at(&format!("http://hub.example/{path}?{query}")).await;
            assert_eq!(answer.status, expected, "{path}?{query}: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn match_in_play_has_the_state_of_the_hub() {
    let world = World::new().await;
    // The archive still has it as not started.
    assert_eq!(ids(&world.get("events/?status=notstarted").await.body), [4]);
    assert_eq!(ids(&world.get("events/?status=live").await.body), [3]);
    let live = world.get("events/live/").await.body;
    assert_eq!((ids(&live), &live["count"]), (vec![3], &json!(1)));
    let row = &world.get("events/?status=1st_half").await.body["results"][0];
    let detail = world.get("events/3/").await.body;
    assert_eq!(*row, detail, "list and detail differ");
    assert_eq!(live["events"][0]["league_name"], "name 5");
    let table = world.get("leagues/5/standings/").await.body;
    assert_eq!(table["standings"][0]["live"], true, "{table}");

    // It ends; for a second the archive has nothing newer.
    world.end_live();
    assert_eq!(ids(&world.get("events/?status=live").await.body), [0; 0]);
    let live = world.get("events/live/").await.body;
    assert_eq!((&live["events"][0]["status"], &live["count"]), (&json!("finished"), &json!(1)));
    assert_eq!(world.get("events/3/").await.body["status"], "finished");
    assert_eq!(world.get("events/?status=finished").await.body["count"], 3);
    assert_eq!(world.get("events/").await.body["count"], 4, "it is there twice");
    let table = world.get("leagues/5/standings/").await.body;
    assert_eq!(table["standings"][0]["live"], false, "{table}");
}

/// Rows that are added before a page, and some with the same start, show no row of the list twice, and hide none.
#[tokio::test]
async fn cursor_goes_on_behind_a_match_whatever_is_added() {
    let world = World::new().await;
    let add = |ids: std::ops::RangeInclusive<u64>, minutes| {
        world.show(ids.map(|id| world.in_minutes(id, minutes, Status::NotStarted)));
    };
    add(20..=26, 60);
    let all = ids(&world.get("events/?limit=200").await.body);
    let link = |answer: &Answer| {
        let link = answer.header("link")?.strip_prefix('<')?.strip_suffix(">; rel=\"next\"")?;
        Some(link.to_owned())
    };
    let mut page = world.get("events/?limit=3&tz=UTC").await;
    let (mut seen, mut added) = (Vec::new(), 10);
    loop {
        seen.extend(ids(&page.body));
        // Before all others, and before and behind the others of the same start.
        add(added..=added, -600);
        add(30 + added..=30 + added, 60);
        added += 1;
        let Some(next) = link(&page) else { break };
        assert!(next.contains("cursor=") && !next.contains("offset="), "{next}");
        page = world.at(&next).await;
        assert_eq!(page.body["next"].as_str(), link(&page).as_deref());
        assert_eq!(page.body["previous"], json!(null));
    }
    let mut once = seen.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), seen.len(), "a row came twice: {seen:?}");
    assert!(all.iter().all(|id| seen.contains(id)), "a row is missing: {seen:?} of {all:?}");
    for cursor in ["1", "x_1", "1_x", "_"] {
        let status = world.get(&format!("events/?cursor={cursor}")).await.status;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{cursor}");
    }
}

/// SERVICE section 8, rows 1 and 2: what clients ask of the list, and what they read in its rows.
#[tokio::test]
async fn live_list_is_filtered_and_names_halves() {
    let world = World::new().await;
    let other = MatchSummary {
        competition: Some(6),
        season: Some(60),
        ..world.in_minutes(7, -50, Status::HalfTime)
    };
    world.show([other]);
    let check = async |query: &str, expected: &[u64], count: usize| {
        let answer = world.get(&format!("events/live/?{query}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{query}: {}", answer.body);
        assert_eq!(ids(&answer.body), expected, "{query}");
        assert_eq!(answer.body["count"], count, "{query}");
    };
    check("", &[7, 3], 2).await;
    check("league_id=5", &[3], 1).await;
    check("league=6", &[7], 1).await;
    check("season_id=60", &[7], 1).await;
    check("team_id=300", &[3], 1).await;
    check("team_id=300&league_id=6", &[], 0).await;
    check("limit=1", &[7], 2).await;
    check("limit=200&offset=1&tz=UTC", &[3], 2).await;
    assert_eq!(world.get("events/live/?foo=1").await.status, StatusCode::BAD_REQUEST);
    let live = world.get("events/live/").await.body;
    assert_eq!(live["results"], live["events"], "SERVICE section 9");
    let rows = live["events"].clone();
    for (row, period, detail) in
        [(&rows[0], "halftime", "halftime"), (&rows[1], "1st_half", "1st_half")]
    {
        assert_eq!((&row["status"], &row["period"]), (&json!("inprogress"), &json!(period)));
        let updated = row["last_updated"].as_str().expect("a moment");
        assert!(updated.ends_with("+00:00") && updated.len() == 25, "{updated}");
        let event = world.get(&format!("events/{}/", row["id"])).await.body;
        assert_eq!(event["status"], detail, "the match itself keeps its own word");
    }
    assert_eq!(world.get("events/3/").await.body["period"], "1T");
}

/// SERVICE section 8, row 3.
#[tokio::test]
async fn live_list_is_from_five_minutes_before_to_ten_minutes_after() {
    let world = World::new().await;
    let ended = |id, minutes| MatchSummary {
        ended: Some(world.ago(minutes)),
        score: Some([2, 0]),
        ..world.in_minutes(id, -110, Status::Finished)
    };
    world.show([
        world.in_minutes(11, 4, Status::NotStarted),
        world.in_minutes(12, 6, Status::NotStarted),
        world.in_minutes(13, -15, Status::NotStarted),
        world.in_minutes(14, -90, Status::NotStarted),
        ended(15, 9),
        ended(16, 11),
        MatchSummary { status: Status::Abandoned, ..ended(17, 1) },
    ]);
    let live = world.get("events/live/").await.body;
    assert_eq!(ids(&live), [3, 13, 11, 15]);
    let status_fields = |row: usize| {
        let row = &live["events"][row];
        [row["status"].clone(), row["period"].clone(), row["home_score"].clone()]
    };
    assert_eq!(status_fields(2), [json!("notstarted"), json!(""), json!(null)]);
    assert_eq!(status_fields(3), [json!("finished"), json!("FT"), json!(2)]);
}

#[tokio::test]
async fn filters_of_matches_filter() {
    let world = World::new().await;
    let check = async |query: &str, expected: &[u64]| {
        let answer = world.get(&format!("events/?{query}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{query}: {}", answer.body);
        assert_eq!(ids(&answer.body), expected, "{query}");
        assert_eq!(answer.body["count"], expected.len(), "{query}");
    };
    check("", &[1, 2, 3, 4]).await;
    check("status=FINISHED", &[1, 2]).await;
    check("status=aet", &[2]).await;
    check("status=finished,notstarted", &[1, 2, 4]).await;
    check("status=delayed", &[]).await;
    check("status=soon", &[1, 2, 3, 4]).await;
    check("status=soon,aet", &[2]).await;
    for live in ["live", "inplay", "started", "inprogress", "in_play"] {
        check(&format!("status={live}"), &[3]).await;
    }
    for upcoming in ["scheduled", "upcoming", "notstarted"] {
        check(&format!("status={upcoming}"), &[4]).await;
    }
    check("team_id=300", &[3, 4]).await;
    check("team_name=NAME%203", &[3, 4]).await;
    // `Ńáme 3`, and `Наме 3` in Cyrillic letters.
    check("team_name=%C5%83%C3%A1me%203", &[3, 4]).await;
    check("team_name=%D0%9D%D0%B0%D0%BC%D0%B5%203", &[3, 4]).await;
    check("team=name%203&league=5&season=50&tz=x&full=1&ordering=y", &[3, 4]).await;
    check("league_id=6", &[]).await;
    check("round=2", &[2]).await;
    check("stage=Final", &[4]).await;
    check("round=final", &[4]).await;
    check(&format!("date={}", world.day(-14)), &[1]).await;
    check(&format!("date_from={}&date_to={}", world.day(-14), world.day(-7)), &[1, 2]).await;
    check(&format!("date_from={}", world.day(1)), &[4]).await;
    check("ids=4,1,77", &[1, 4]).await;
    check("league_id=5,6&season_id=50,51&team_id=300,999", &[3, 4]).await;
    for pair in ["100,200", "200-100", "name%20200,Name%20100", "name%20100%20v%20name%20200"] {
        check(&format!("h2h={pair}"), &[1, 2]).await;
    }
    check("h2h=100,nobody", &[]).await;
    check("sort=date", &[1, 2, 3, 4]).await;
    check("sort=-date", &[4, 3, 2, 1]).await;
    check("last=1", &[2]).await;
    check("last=5", &[2, 1]).await;
    check("last=5&limit=1", &[2]).await;
    check("last=2&status=finished,live", &[3, 2]).await;
    check("last=2&team_id=300", &[]).await;
    check("next=5", &[4]).await;
    check("next=5&team_id=100", &[]).await;
    check(&format!("updated_since={}", world.day(-8)), &[2, 3, 4]).await;
    check(&format!("date={}&timezone=UTC", world.day(-14)), &[1]).await;
    let fifty_one = format!("ids={}", vec!["1"; 51].join(","));
    let bad = ["date_from=soon", "team_id=x", "limit=x", "date=2026-02-30", &*fifty_one];
    let bad_choices =
        ["sort=up", "last=0", "last=201", "next=x", "last=1&next=1", "last=1&offset=2", "h2h=1"];
    let bad_parts = ["include=all", "include=stats&ids=1,2,3,4,5,6", "team_id=1,2&team_name=x"];
    for bad in bad.into_iter().chain(bad_choices).chain(bad_parts).chain(["timezone=Nope/Zone"]) {
        let answer = world.get(&format!("events/?{bad}")).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{bad}");
        assert_eq!(answer.body["error"], true, "{bad}");
    }
    let answer = world.get("events/?sort=up").await.body;
    assert_eq!(answer["accepted"], json!(["date", "-date"]), "{answer}");
    let answer = world.get("events/?status=soon,finished").await;
    assert_eq!(answer.header("x-matchwire-ignored"), Some("status"));
    assert_eq!(answer.body["warnings"], json!(["status \"soon\" is not known and was ignored."]));
    assert_eq!(answer.header("x-matchwire-partial"), None);
    world.begin_past();
    let answer = world.get("events/?status=soon").await;
    assert_eq!(answer.header("x-matchwire-partial"), Some("past"));
    let missing = "Past matches are still being added; some are missing.";
    assert_eq!(answer.body["warnings"][1], missing, "{}", answer.body);
    let answer = world.at("http://hub.example/api/events/?page=1&page_size=2").await;
    assert_eq!(answer.body["warnings"], json!([missing]), "version 1: {}", answer.body);
    let answer = world.get("events/?statu=live&foo=1").await.body;
    assert_eq!(answer["detail"], "Unknown query parameter(s): statu, foo.");
    let names: Vec<_> = answer["accepted_parameters"].as_array().unwrap().clone();
    let names: Vec<_> = names.iter().map(|name| name.as_str().unwrap()).collect();
    assert!(names.is_sorted() && names.contains(&"status"), "{names:?}");
    assert_eq!(answer["suggestions"], json!([{"parameter": "statu", "suggestion": "status"}]));
}

#[tokio::test]
async fn pages_lead_from_one_to_the_next_with_their_filters() {
    let world = World::new().await;
    let mut next = "http://hub.example/api/v2/events/?team=name&page_size=1".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = world.at(&next).await.body;
        seen.extend(ids(&page));
        assert_eq!(page["count"], 4);
        match page["next"].as_str() {
            Some(address) => next = address.to_owned(),
            None => break,
        }
    }
    assert_eq!(seen, [1, 2, 3, 4]);
    let last = world.at(&next).await.body;
    assert!(last["previous"].as_str().unwrap().contains("offset=2"), "{last}");
    assert!(next.contains("team_name=name"), "{next} has lost its filter");
}

#[tokio::test]
async fn cached_answers_say_so_and_have_their_stream_position() {
    let world = World::new().await;
    for path in ["events/live/", "events/3/", "events/1/"] {
        assert_eq!(world.get(path).await.header("x-cache-status"), Some("MISS"), "{path}");
        // It is cached for a second, so one of many requests hits, however slow this is.
        let mut was_hit = false;
        for _ in 0..100 {
            was_hit |= world.get(path).await.header("x-cache-status") == Some("HIT");
        }
        assert!(was_hit, "{path} is rendered every time");
    }
    assert_eq!(world.get("events/3/").await.header("x-matchwire-seq"), Some("a:12"));
    assert_eq!(world.get("events/1/").await.header("x-matchwire-seq"), None);
    world.end_live();
    assert_eq!(world.get("events/3/").await.header("x-cache-status"), Some("MISS"));
}

#[tokio::test]
async fn table_is_computed_from_results_without_extra_time() {
    let world = World::new().await;
    let table = world.get("leagues/5/standings/?season_id=50").await.body;
    assert_eq!(table["grouped"], false);
    assert_eq!((&table["rule"], &table["points_for_win"]), (&json!("goal_difference"), &json!(3)));
    assert_eq!(table.get("deductions"), None);
    assert_eq!(table["season"]["is_current"], true);
    assert_eq!(table["seasons"], world.get("leagues/5/seasons/").await.body["seasons"]);
    for path in ["leagues/5/standings/?season=", "leagues/5/top/scorers/?season="] {
        for season in [json!(50), table["season"]["year"].clone()] {
            assert_eq!(world.get(&format!("{path}{season}")).await.body["season"], table["season"]);
        }
        assert_eq!(world.get(&format!("{path}1999")).await.status, StatusCode::NOT_FOUND);
    }
    let rows: Vec<_> = table["standings"].as_array().unwrap().iter().collect();
    let values = |row: &Value| {
        let names =
            ["position", "team_id", "played", "won", "drawn", "lost", "gf", "ga", "gd", "pts"];
        names.map(|name| row[name].as_i64().unwrap())
    };
    // Alpha: 2-1, 1-1 and 1-0 in play. Beta: 1-2, 1-1. Gamma: 0-1 in play.
    assert_eq!(values(rows[0]), [1, 100, 3, 2, 1, 0, 4, 2, 2, 7]);
    assert_eq!(values(rows[1]), [2, 200, 2, 0, 1, 1, 2, 3, -1, 1]);
    assert_eq!(values(rows[2]), [3, 300, 1, 0, 0, 1, 0, 1, -1, 0]);
    let form: Vec<_> = rows.iter().map(|row| row["form"].as_str().unwrap()).collect();
    assert_eq!(form, ["WDW", "LD", "L"]);
    assert_eq!(rows[0]["xgf"], Value::Null);
    let live: Vec<_> = rows.iter().map(|row| row["live"].as_bool().unwrap()).collect();
    assert_eq!(live, [true, false, true]);
    let of_odds = world.at("http://hub.example/odds/api/events/?sport=football").await.body;
    let of_odds = of_odds["results"].as_array().unwrap().iter().find(|it| it["event_id"] == 2);
    let scores = ["home_score", "away_score"].map(|name| of_odds.unwrap()[name].clone());
    assert_eq!(scores, [1, 1], "as `events/` has it");
}

#[tokio::test]
async fn matches_without_a_start_are_not_the_latest() {
    let world = World::new().await;
    let undated = world.in_minutes(30, 0, Status::Finished);
    world.show([MatchSummary { start: None, score: Some([1, 1]), ..undated }]);
    let expected: [(&str, &[u64]); 4] = [
        ("events/?last=2", &[2, 1]),
        ("events/?last=5", &[2, 1, 30]),
        ("events/?last=5&team_id=100", &[2, 1, 30]),
        ("search/?type=match&q=name%20100%20v%20name%20200", &[2, 1, 30]),
    ];
    for (query, expected) in expected {
        assert_eq!(ids(&world.get(query).await.body), expected, "{query}");
    }
    let day = world.day(-14);
    assert_eq!(ids(&world.get(&format!("events/?last=5&date_from={day}")).await.body), [2, 1]);
    assert_eq!(world.get("events/2/h2h/").await.body["total_matches"], 1, "nor an earlier one");
}

/// Clients send the member of rows as a filter.
#[tokio::test]
async fn leagues_are_filtered_by_their_activity() {
    let world = World::new().await;
    for (query, count) in [
        ("", 1),
        ("is_active=true", 1),
        ("is_active=false", 0),
        ("include_inactive=true", 1),
        ("include_inactive=true&is_active=false", 0),
    ] {
        assert_eq!(world.get(&format!("leagues/?{query}")).await.body["count"], count, "{query}");
    }
}

#[tokio::test]
async fn day_without_a_time_is_midnight_in_version_1() {
    let world = World::new().await;
    let summary = world.in_minutes(9, 60, Status::NotStarted);
    world.show([MatchSummary { day_only: true, ..summary }]);
    let newer = world.get("events/9/").await.body;
    let day = newer["event_date"].as_str().unwrap();
    assert_eq!((day.len(), newer.get("day_only")), (10, None));
    let older = world.at("http://hub.example/api/events/9/").await.body;
    let expected = [json!(format!("{day}T00:00:00+04:00")), json!(true)];
    assert_eq!(["event_date", "day_only"].map(|name| older[name].clone()), expected);
    let event = world.at("http://hub.example/api/events/1/").await.body;
    assert_eq!(event.get("day_only"), None);
}

#[tokio::test]
async fn sums_cover_the_known_matches() {
    let world = World::new().await;
    let referee = world.get(&format!("referees/{REFEREE}/")).await.body;
    assert_eq!(referee["matches"], 1);
    assert_eq!(referee["total_yellow_cards"], 1, "a card that was taken back is counted");
    assert_eq!(referee["avg_goals_per_match"], 3.0);
    assert_eq!((&referee["career_games"], &referee["career_yellow_cards"]), (&json!(1), &json!(1)));
    let manager = world.get(&format!("managers/{MANAGER}/")).await.body;
    let counts = ["matches_total", "wins", "draws", "losses"].map(|name| manager[name].as_u64());
    assert_eq!(counts, [Some(1), Some(1), Some(0), Some(0)]);
    assert_eq!(
        (&manager["win_pct"], &manager["preferred_formation"]),
        (&json!(100.0), &json!("4-4-2"))
    );
    let career = world.get(&format!("managers/{MANAGER}/career/")).await.body;
    assert_eq!(career["tenures"][0]["appointment_effect"]["points_per_match_after"], 3.0);
    assert_eq!(career["tenures"][0]["appointment_effect"]["change"], Value::Null);
    let top = world.get("leagues/5/top/scorers/").await.body;
    assert_eq!((&top["label"], &top["leaders"][0]["player_id"]), (&json!("Goals"), &json!(SCORER)));
    assert_eq!(top["leaders"][0]["player_name"], format!("name {SCORER}"));
    let counted = world.get("leagues/5/top/key_pass/").await.body;
    assert_eq!((&counted["label"], &counted["leaders"]), (&json!("Key pass"), &json!([])));
    // The players of one match are known; two others have begun.
    assert_eq!([&top["matches_counted"], &top["matches_total"]], [1, 3], "{top}");
    let stats = world.get(&format!("players/{SCORER}/stats/?league_id=5&team_id={ALPHA}")).await;
    assert_eq!(stats.body["results"][0]["goals"], 1, "{}", stats.body);
    let stats = world.get(&format!("players/{SCORER}/stats/?team_id={BETA}")).await;
    assert_eq!(stats.body["count"], 0);
    let refused = world.get(&format!("players/{SCORER}/stats/?event_id=1")).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    let squad = world.get(&format!("teams/{ALPHA}/squad/")).await.body;
    assert!(squad["players"].as_array().unwrap().iter().any(|it| it["id"] == SCORER), "{squad}");
    let venue = world.get(&format!("venues/{VENUE}/")).await.body;
    assert_eq!((&venue["home_team_id"], &venue["city"]), (&json!(ALPHA), &json!("Town")));
    assert_eq!(venue["competition_assignments"][0]["season_id"], SEASON);
    assert_eq!(world.get(&format!("teams/{ALPHA}/")).await.body["venue_id"], VENUE);
}

#[tokio::test]
async fn teams_are_filtered_by_league() {
    let world = World::new().await;
    assert_eq!(ids(&world.get("teams/?league_id=5").await.body), [100, 200, 300]);
    assert_eq!(
        ids(&world.get("teams/?league_id=5&in_competition=true").await.body),
        [100, 200, 300]
    );
    assert_eq!(world.get("teams/?league_id=5&in_competition=false").await.body["count"], 0);
    assert_eq!(ids(&world.get("teams/?league_id=6,5").await.body), [100, 200, 300]);
    assert_eq!(world.get("teams/?season_id=50&is_women=true").await.body["count"], 0);
    assert_eq!(world.get("teams/?country_code=XX").await.body["count"], 0);
    assert_eq!(ids(&world.get("teams/?name=E%202").await.body), [200]);
    for bad in ["in_competition=true", "is_women=true", "league_id=5&is_women=maybe"] {
        let answer = world.get(&format!("teams/?{bad}")).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{bad}");
    }
}

#[tokio::test]
async fn empty_archive_has_empty_lists() {
    let world = World::empty().await;
    for list in ["events/", "leagues/", "teams/", "players/", "managers/", "referees/", "venues/"] {
        let answer = world.get(list).await;
        let expected = json!({"count": 0, "next": null, "previous": null, "results": []});
        assert_eq!((answer.status, answer.body), (StatusCode::OK, expected), "{list}");
    }
    let nothing = json!({"count": 0, "events": [], "results": []});
    assert_eq!(world.get("events/live/").await.body, nothing);
    let sports = world.get("coverage/").await.body;
    assert_eq!(sports["sports"][0]["season_state"], "none", "{sports}");
    assert_eq!(world.get("coverage/?sport=tennis").await.body["count"], 1);
    assert_eq!(world.get("coverage/?sport=chess").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(Status::Live.period(), "");
}

/// SERVICE section 8, rows 8, 15 and 20, of version 1.
#[tokio::test]
async fn version_1_filters_days_and_lists_of_leagues() {
    let world = World::new().await;
    let other = MatchSummary { competition: Some(6), ..world.in_minutes(7, -50, Status::HalfTime) };
    world.show([other]);
    let get = async |path: &str| {
        let answer = world.at(&format!("http://hub.example/api/{path}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
        answer.body
    };
    for (query, expected) in [
        ("league=5,6", &[1, 2, 7, 3, 4][..]),
        ("league=6", &[7]),
        ("league=6,7", &[7]),
        ("league=5,6&status=finished", &[1, 2]),
        ("league=5,6&team=300", &[3, 4]),
        ("league=8,9", &[]),
    ] {
        assert_eq!(ids(&get(&format!("events/?{query}")).await), expected, "{query}");
        assert_eq!(ids(&get(&format!("matches/?{query}")).await), expected, "{query}");
    }
    let refused = world.at("http://hub.example/api/events/?league=5,x").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    let upcoming = get("events/4/").await;
    assert_eq!((&upcoming["home_score"], &upcoming["away_score"]), (&json!(null), &json!(null)));
    assert_eq!(upcoming["league"]["country"], "");
    assert!(upcoming["league"]["current_season"]["year"].is_u64(), "{upcoming}");

    // Only the first match has players.
    let played = get("player-stats/").await["count"].as_u64().expect("a count");
    assert!(played > 0);
    let day = world.day(-14);
    for (query, count) in [
        (format!("date_from={day}&date_to={day}&tz=UTC"), played),
        (format!("date_from={}&tz=UTC", world.day(-13)), 0),
        (format!("date_to={}&tz=UTC", world.day(-15)), 0),
        (format!("date_from={day}&date_to={day}&tz=UTC&team=1"), 0),
    ] {
        assert_eq!(get(&format!("player-stats/?{query}")).await["count"], count, "{query}");
    }
    let row = get("player-stats/").await["results"][0].clone();
    assert_eq!((&row["penalty_miss"], &row["total_shots"]), (&json!(0), &json!(0)), "{row}");
    for path in ["leagues/5/", "teams/100/", "managers/700/", "referees/"] {
        let body = get(path).await;
        let row = body["results"].get(0).unwrap_or(&body);
        assert_eq!(row["country"], "", "{path}");
    }
}
