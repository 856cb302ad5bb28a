//! Horse racing: races in each state, meetings, runners and their prices.

use serde_json::{Value, json};

use super::{DAY, HOUR, Stage, each, first_id};

const P: &str = "/horseracing/api/v2";

async fn meeting() -> Stage {
    let mut stage = Stage::of_sport("horseracing");
    let runner = |name: &str, number: u32, status: &str, position: Option<u32>| {
        let mut runner = json!({
            "runner": {"name": name, "key": name}, "number": number, "status": status,
            "jockey": format!("J. {number}"),
        });
        if let Some(position) = position {
            runner["position"] = json!(position);
        }
        runner
    };
    for (name, from_now, status, runners) in [
        (
            "past",
            -DAY,
            "finished",
            vec![
                runner("Red Rum", 8, "finished", Some(1)),
                runner("Crisp", 1, "finished", Some(2)),
            ],
        ),
        ("now", -HOUR / 30, "off", vec![runner("Crisp", 2, "active", None)]),
        (
            "next",
            HOUR,
            "not_started",
            vec![runner("Red Rum", 3, "active", None), runner("Foinavon", 4, "non_runner", None)],
        ),
    ] {
        let start = stage.now + from_now;
        let fixture = json!({"competition": {"name": "Aintree", "key": "aintree"}, "start": start});
        stage.add_fact("horseracing", name, json!({"fixture": fixture}));
        let race = json!({"status": status, "runners": runners});
        stage.add_fact("horseracing", name, json!({"race": race}));
    }
    let define = json!({
        "kind": "win", "status": "open", "in_play": false,
        "selections": [{"id": "11", "name": "3. Red Rum", "status": "active"}],
    });
    for change in [
        json!({"define": define}),
        json!({"prices": {"selections": [{"id": "11", "price": "4.50"}]}}),
        json!({"prices": {"selections": [{"id": "11", "price": "4.00"}]}}),
    ] {
        let odds = json!({"book": "acme", "market": "w", "change": change});
        stage.add_fact("horseracing", "next", json!({"odds": odds}));
    }
    stage.push().await;
    let states = [json!("archived"), json!("live"), json!("prematch")];
    stage
        .until(&format!("{P}/races/"), |page| {
            let runs = each(page, "/competitors_count");
            each(page, "/state") == states && runs == [2, 1, 2]
        })
        .await;
    stage
}

#[tokio::test]
async fn meeting_is_shown_by_race_and_by_runner() {
    let stage = meeting().await;
    check_races(&stage).await;
    check_runners(&stage).await;
}

/// Races are shown in every state.
async fn check_races(stage: &Stage) {
    let page = stage.get(&format!("{P}/races/")).await;
    assert_eq!(each(&page, "/state"), ["archived", "live", "prematch"]);
    let newest = stage.get(&format!("{P}/races/?sort=-date")).await;
    assert_eq!(each(&newest, "/state"), ["prematch", "live", "archived"]);
    assert_eq!(each(&page, "/track/name"), ["Aintree"; 3]);
    assert_eq!(each(&page, "/competitors_count"), [2, 1, 2]);
    let live = stage.get(&format!("{P}/races/live/")).await;
    assert_eq!(each(&live, "/state"), ["live"]);
    let next = stage.get(&format!("{P}/races/next-to-jump/")).await;
    let [next] = &next.as_array().expect("a bare list")[..] else { panic!("one is next: {next}") };
    let id = next["id"].as_u64().expect("an id");
    let archived = stage.get(&format!("{P}/races/?status=archived")).await;
    let race = stage.get(&format!("{P}/races/{}/", first_id(&archived))).await;
    let winner = race["runners"]
        .as_array()
        .and_then(|all| all.iter().find(|runner| runner["finish_position"] == 1));
    let winner = winner.expect("there is a winner");
    assert_eq!(
        (&winner["horse"]["name"], &winner["program_number"]),
        (&json!("Red Rum"), &json!(8))
    );
    let tracks = stage.get(&format!("{P}/tracks/")).await;
    assert_eq!(each(&tracks, "/slug"), ["aintree"]);
    let track = first_id(&tracks);
    let meetings = stage.get(&format!("{P}/meetings/?track=1,{track}")).await;
    let races: u64 = each(&meetings, "/races_count").iter().filter_map(Value::as_u64).sum();
    assert_eq!(races, 3, "{meetings}");
    let meeting = meetings["results"][0]["id"].as_str().expect("an id");
    let detail = stage.get(&format!("{P}/meetings/{meeting}/")).await;
    assert_eq!(detail, meetings["results"][0]);
    assert_eq!(stage.ask(&format!("{P}/meetings/{id}/")).await.status, 404);
}

/// Runners are found by race, horse and price.
async fn check_runners(stage: &Stage) {
    let horses = stage.get(&format!("{P}/horses/?search=red")).await;
    assert_eq!(each(&horses, "/name"), ["Red Rum"]);
    let red = first_id(&horses);
    let runs = stage.get(&format!("{P}/runners/?horse=1,{red}")).await;
    assert_eq!(each(&runs, "/finish_position"), [json!(1), Value::Null]);
    assert_eq!(horses["results"][0]["last_seen_at"], runs["results"][1]["starts_at"]);
    let jockey = runs["results"][0]["jockey"]["id"].as_u64().expect("an id");
    let jockey = stage.get(&format!("{P}/jockeys/{jockey}/")).await;
    assert_eq!(jockey["name"], "J. 8");
    let runner = runs["results"][1]["id"].as_u64().expect("an id");
    let row = stage.get(&format!("{P}/runners/{runner}/")).await;
    assert_eq!(row, runs["results"][1]);
    let path = format!("{P}/runners/{runner}/odds/");
    let odds = stage.until(&path, |odds| odds["bookmakers_count"] == 1).await;
    let book = &odds["bookmakers"][0];
    assert_eq!((&book["odds_win"], &book["movement_win"]), (&json!(4.0), &json!("SHORTENING")));
    assert_eq!((&odds["horse_name"], &book["odds_place"]), (&json!("Red Rum"), &Value::Null));
    assert_eq!(stage.get(&format!("{P}/trainers/")).await["count"], 0);
}
