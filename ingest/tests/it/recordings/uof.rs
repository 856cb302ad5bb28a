//! Messages of the Unified Odds Feed, each played separately.

use std::collections::BTreeMap;

use facts::event::{
    Event, Fact, FootballFact, FootballStatus, MarketChange, MarketDefinition, MarketStatus,
    OddsFact, SelectionStatus, Side, Sport, Stat, Timed,
};
use serde_json::{Value, json};

use super::{facts, fixture, recording};

#[test]
fn odds_change_matches_the_answer_sheet() {
    let Some((batches, sheet)) = recording("sportradar-uof/odds_change-0.xml") else { return };
    assert_eq!(batches[0].batch.at, Some(1_234_000));
    check_markets(&batches, &sheet, |status| match status.as_str() {
        Some("1") | None => MarketStatus::Open,
        Some("0") => MarketStatus::Inactive,
        Some("-1") => MarketStatus::Suspended,
        Some("-4") => MarketStatus::Closed,
        other => panic!("{other:?}"),
    });
    let prices: u32 = batches.iter().map(|it| it.batch.price_changes).sum();
    let active = markets(&batches)
        .values()
        .flat_map(|it| &it.selections)
        .filter(|it| it.status == SelectionStatus::Active)
        .count();
    // Counted in the file: active outcomes with odds, except the five of the cancelled market.
    assert_eq!((active, prices), (39, 39));
    check_status(&batches, &sheet["sport_event_status"]);
}

fn check_status(batches: &[Timed], sheet: &Value) {
    let sports = batches.iter().flat_map(|it| &it.batch.events).map(|event: &Event| event.sport);
    assert!(sports.eq(batches[0].batch.events.iter().map(|_| Sport::Football)));
    let football: Vec<_> = facts(batches)
        .filter_map(|fact| match fact {
            Fact::Football(fact) => Some(fact),
            _ => None,
        })
        .collect();
    assert_eq!(sheet["match_status"], "7");
    assert_eq!(*football[0], FootballFact::Status(FootballStatus::SecondHalf));
    let FootballFact::Score(score) = football[1] else { panic!("{football:?}") };
    let goals = score.goals.map(|goals| goals.to_string());
    assert_eq!(json!(goals), json!([sheet["home_score"], sheet["away_score"]]));
    assert_eq!(score.half_time, Some([2, 0]));
    let clock = FootballFact::Clock { second: 75 * 60 + 2, running: true };
    assert_eq!(*football[2], clock);
    let away = vec![(Stat::YellowCards, 1), (Stat::RedCards, 0), (Stat::CornerKicks, 7)];
    assert_eq!(*football[4], FootballFact::Stats { side: Side::Second, values: away });
}

#[test]
fn settlement_matches_the_answer_sheet() {
    let Some((batches, sheet)) = recording("sportradar-uof/bet_settlement.xml") else { return };
    check_markets(&batches, &sheet, |_| MarketStatus::Closed);
    let markets = markets(&batches);
    let result = |market: &str, id: &str| {
        let selections = &markets[market].selections;
        selections.iter().find(|it| &*it.id == id).unwrap().status
    };
    use SelectionStatus::{HalfLost, HalfWon, Loser, Removed, Winner};
    assert_eq!((result("193", "74"), result("193", "76")), (Loser, Winner));
    assert_eq!(result("204/setnr=1|total=9.5", "13"), Winner);
    let voided = ["863", "864", "861", "862"].map(|id| result("201", id));
    assert_eq!(voided, [Removed, HalfLost, HalfWon, Loser]);
    let winners = |market: &str| markets[market].selections.iter().filter(|it| it.status == Winner);
    assert_eq!(winners("535/variant=pre:markettext:52751").count(), 2, "a dead heat");
    assert_eq!(winners("40/type=live").count(), 1);
}

#[test]
fn cancellation_of_a_time_matches_the_answer_sheet() {
    let Some((batches, sheet)) = recording("sportradar-uof/bet_cancel.xml") else { return };
    check_markets(&batches, &sheet, |_| MarketStatus::Suspended);
    assert_eq!(json!(*fixture(&batches).provider_key), sheet["attributes"]["event_id"]);
}

#[test]
fn fixture_matches_the_answer_sheet() {
    let Some((batches, sheet)) = recording("sportradar-uof/fixture-0.xml") else { return };
    let fixture = fixture(&batches);
    assert_eq!(json!(*fixture.provider_key), sheet["fixture"]["id"]);
    let scheduled = sheet["fixture"]["scheduled"].as_str().unwrap();
    let scheduled: jiff::Timestamp = scheduled.parse().unwrap();
    assert_eq!(fixture.start, Some(scheduled.as_microsecond()));
    for (side, row) in fixture.sides.iter().flatten().zip(sheet["competitors"].as_array().unwrap())
    {
        assert_eq!(json!(*side.name), row["name"]);
    }
    let competition = fixture.competition.as_ref().unwrap();
    assert_eq!(&*competition.name, "UEFA Champions League");
    assert_eq!(competition.season.as_deref(), Some("18/19"));
    assert_eq!(batches[0].batch.events[0].sport, Sport::Football);
}

/// Markets by key, as defined.
fn markets(batches: &[Timed]) -> BTreeMap<&str, &MarketDefinition> {
    facts(batches)
        .filter_map(|fact| match fact {
            Fact::Odds(OddsFact { market, change: MarketChange::Define(it), .. }) => {
                Some((&**market, it))
            }
            _ => None,
        })
        .collect()
}

fn check_markets(batches: &[Timed], sheet: &Value, status: fn(&Value) -> MarketStatus) {
    let markets = markets(batches);
    let rows = sheet["market_list"].as_array().unwrap();
    assert_eq!(markets.len(), rows.len());
    for row in rows {
        let id = row["id"].as_str().unwrap();
        let key = match row["specifiers"].as_str() {
            Some(specifiers) => {
                let mut parts: Vec<_> = specifiers.split('|').collect();
                parts.sort_unstable();
                format!("{id}/{}", parts.join("|"))
            }
            None => id.to_owned(),
        };
        let market = markets[&*key];
        assert_eq!(json!(market.selections.len()), row["outcomes"], "{key}");
        assert_eq!(market.status, status(&row["status"]), "{key}");
    }
}
