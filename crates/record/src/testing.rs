//! Records for tests.

use base::Micros;
use facts::event::Sport;
use rust_decimal::Decimal;

use crate::{
    EntityRef, FootballRecord, IncidentRecord, Key, LineUpPlayerRecord, LineUpRecord, MatchRecord,
    MatchSummary, Names, PlayRecord, PriceRecord, Status,
};

pub const MATCH: Key = 7;
pub const HOME: Key = 100;
pub const AWAY: Key = 200;
pub const SEASON: Key = 50;
/// 2026-09-01T16:26:40Z
pub const NOW: Micros = 1_788_280_000_000_000;

pub fn named(id: Key) -> EntityRef {
    EntityRef { id, name: format!("name {id}").into() }
}

pub fn summary(id: Key) -> MatchSummary {
    MatchSummary {
        id,
        sport: Sport::Football,
        competition: Some(5),
        season: Some(SEASON),
        start: Some(NOW),
        day_only: false,
        status: Status::FirstHalf,
        sides: Some([HOME, AWAY]),
        round: None,
        round_name: None,
        group: None,
        venue: None,
        referee: None,
        coaches: [None, None],
        attendance: None,
        neutral: None,
        score: None,
        half_time: None,
        extra_time: None,
        penalties: None,
        parts: Vec::new(),
        winner: None,
        best_of: None,
        ended: None,
        expected_goals: None,
        period_starts: None,
        weather: None,
        updated: NOW,
    }
}

/// A football match that is over. It started at the microsecond of its id.
pub fn result(id: Key, sides: [Key; 2], score: [u32; 2]) -> MatchSummary {
    MatchSummary {
        competition: Some(7),
        season: None,
        start: Some(id.cast_signed()),
        status: Status::Finished,
        sides: Some(sides),
        score: Some(score),
        updated: 0,
        ..summary(id)
    }
}

pub fn football() -> FootballRecord {
    FootballRecord { followed: true, ..FootballRecord::default() }
}

pub fn record(id: Key, football: FootballRecord) -> MatchRecord {
    let names = Names {
        competition: Some(named(5)),
        season: Some(named(SEASON)),
        sides: Some([named(HOME), named(AWAY)]),
        ..Names::default()
    };
    MatchRecord {
        summary: summary(id).into(),
        refs: [("test".into(), id.to_string().into())].into(),
        names,
        play: PlayRecord::Football(Box::new(football)),
        prices: Vec::new(),
        freshness: None,
    }
}

pub fn price(bookmaker: &str, outcome: &str, price: Option<Decimal>) -> PriceRecord {
    PriceRecord {
        bookmaker: bookmaker.into(),
        market: "match_winner".into(),
        period: None,
        line: None,
        outcome: outcome.into(),
        price,
        open: price.is_some(),
        in_play: false,
        at: NOW,
    }
}

pub fn line_up(starters: &[Key], bench: &[Key]) -> LineUpRecord {
    let player = |id: &Key, starter| LineUpPlayerRecord {
        player: named(*id),
        number: u16::try_from(*id % 100).ok(),
        position: Some("M".into()),
        starter,
        country: None,
        captain: false,
    };
    let starters = starters.iter().map(|id| player(id, true));
    let bench = bench.iter().map(|id| player(id, false));
    LineUpRecord { formation: None, players: starters.chain(bench).collect() }
}

pub fn incident(
    kind: &str,
    detail: Option<&str>,
    side: u8,
    player: Key,
    assist: Option<Key>,
) -> IncidentRecord {
    IncidentRecord {
        eid: format!("{kind} {player}").into(),
        kind: kind.into(),
        detail: detail.map(Into::into),
        minute: 10,
        side: Some(side),
        player: Some(named(player)),
        assist: assist.map(named),
        ..IncidentRecord::default()
    }
}

/// Player 101 scores, 102 gives the assist, 201 scores an own goal, 112 comes on for 103 and scores
/// a goal that is withdrawn, 202 is booked twice, 213 once on the bench.
pub fn played() -> FootballRecord {
    let mut retracted = incident("goal", Some("regular"), 0, 112, None);
    retracted.retracted = Some("offside".into());
    FootballRecord {
        line_ups: [
            Some(line_up(&[101, 102, 103], &[112, 113])),
            Some(line_up(&[201, 202], &[213])),
        ],
        incidents: vec![
            incident("goal", Some("penalty"), 0, 101, Some(102)),
            incident("goal", Some("own_goal"), 0, 201, None),
            incident("substitution", None, 0, 103, Some(112)),
            retracted,
            incident("yellow", None, 1, 202, None),
            incident("second_yellow", None, 1, 202, None),
            incident("yellow", None, 1, 213, None),
        ],
        ..football()
    }
}
