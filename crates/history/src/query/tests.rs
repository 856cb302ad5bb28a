use std::sync::Arc;

use rust_decimal::dec;

use super::{
    Calendar, CurrentSeason, DecidedBy, HeadToHead, History, OddsFilter, SideMatch, Window,
};
use crate::{archive::Archive, reader::Reader};
use database::testing::on_each;
use record::{
    Key, MatchRecord, MatchSummary, PriceRecord, Withdrawal, Withdrawals,
    testing::{MATCH, NOW, football, price, record, result},
};

mod tables;

#[test]
fn current_season_depends_on_the_api_version() {
    let summary_of =
        |id: Key, season: Key| MatchSummary { season: Some(season), ..result(id, [1, 2], [0, 0]) };
    // The second season has begun; a match of the first one was postponed until after all others.
    let summaries = [summary_of(1, 10), summary_of(5, 20), summary_of(9, 10)];
    let calendar = |now, rule| Calendar::of_matches(&summaries, now, rule);
    assert_eq!(calendar(6, CurrentSeason::BegunLast).current(7), Some(20));
    assert_eq!(calendar(6, CurrentSeason::OfLastMatch).current(7), Some(10));
    assert_eq!(calendar(2, CurrentSeason::BegunLast).current(7), Some(10));
    assert_eq!(calendar(0, CurrentSeason::BegunLast).current(7), Some(10), "none has begun");
    assert_eq!(calendar(0, CurrentSeason::BegunLast).current(8), None, "another league");
    let seasons = calendar(6, CurrentSeason::BegunLast).seasons(7);
    let spans: Vec<_> = seasons.iter().map(|it| (it.season, it.first, it.last)).collect();
    assert_eq!(spans, [(20, 5, 5), (10, 1, 9)], "the latest first");
}

#[test]
fn shoot_out_decides_a_meeting_except_in_football() {
    let shoot_out = MatchSummary { winner: Some(1), ..result(1, [10, 20], [2, 2]) };
    let unscored = MatchSummary { score: None, winner: Some(0), ..result(2, [20, 10], [0, 0]) };
    let meetings = || {
        let summaries = [&shoot_out, &unscored].map(|summary| Arc::new(summary.clone()));
        summaries.into_iter().filter_map(|summary| SideMatch::new(summary, 10))
    };
    let football = HeadToHead::new(meetings(), DecidedBy::Goals);
    assert_eq!((football.wins, football.draws, football.losses), (0, 1, 0));
    assert_eq!((football.meetings.len(), football.goals), (1, [2, 2]));
    let others = HeadToHead::new(meetings(), DecidedBy::Winner);
    assert_eq!((others.wins, others.draws, others.losses), (0, 0, 2));
    assert_eq!((others.meetings.len(), others.scored), (2, 1));
}

#[test]
fn head_to_head_has_the_meetings_of_two_opponents() {
    let summaries = [
        result(1, [10, 20], [2, 1]),
        result(2, [30, 10], [0, 1]),
        result(3, [20, 10], [3, 0]),
        result(4, [20, 10], [1, 1]),
    ];
    let results: Vec<_> =
        summaries.into_iter().filter_map(|summary| SideMatch::new(Arc::new(summary), 10)).collect();
    let record = HeadToHead::against(20, &results, DecidedBy::Winner);
    let ids: Vec<_> = record.meetings.iter().map(|meeting| meeting.summary.id).collect();
    assert_eq!(ids, [1, 3, 4]);
    assert_eq!((record.wins, record.draws, record.losses, record.goals), (1, 1, 1, [3, 5]));
    assert!(HeadToHead::against(40, &results, DecidedBy::Winner).meetings.is_empty());
}

/// The archive is written after the reader, and the reader can be behind the sockets: the last of the three decides.
#[tokio::test]
async fn price_that_sockets_have_lost_is_not_on_offer() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let with_price = |price: PriceRecord| {
            Arc::new(MatchRecord { prices: vec![price], ..record(MATCH, football()) })
        };
        let open = price("acme", "home", Some(dec!(2.10)));
        archive.put(&[with_price(open.clone())], NOW).await.unwrap();
        let withdrawals = Withdrawals::default();
        let reader = Reader::masked_by(withdrawals.clone());
        let history = History::new(reader.clone(), archive);
        let is_open = async || {
            let (_, rows) = history.odds(&OddsFilter::default(), Window::ALL).await.unwrap();
            let row = history.odds_row(rows[0].public_id()).await.unwrap().unwrap();
            assert_eq!(row.is_open, rows[0].is_open);
            row.is_open
        };
        reader.update(&[with_price(open.clone())], &[]);
        assert!(is_open().await);

        // The follower stands still.
        let version = history.version();
        withdrawals.note([Withdrawal { match_id: MATCH, bookmaker: None }], 7);
        assert!(!is_open().await);
        assert_eq!(history.current(MATCH).unwrap().prices[0].price, None);
        assert!(history.version() > version, "answers in caches are rendered again");
        withdrawals.settle(6);
        assert!(!is_open().await);

        // The worker of the archive stands still.
        let suspended = PriceRecord { open: false, ..open.clone() };
        reader.update(&[with_price(suspended)], &[]);
        withdrawals.settle(7);
        assert!(!is_open().await);
        reader.update(&[Arc::new(record(MATCH, football()))], &[]);
        assert!(!is_open().await, "the hub has no such price any more");
        reader.update(&[with_price(open.clone())], &[]);
        assert!(is_open().await);
    })
    .await;
}
