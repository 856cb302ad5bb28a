//! Prices: written, closed, filtered and paged.

use database::{DatabaseName, back_up};

use super::{stored_price::StoredPrice, *};

/// Whether a filter should let a row through.
type Selects = fn(&OddsRow) -> bool;

#[tokio::test]
async fn price_has_its_opening_its_last_value_and_its_history() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let home = price("acme", "home", Some(dec!(2.10)));
        with_prices(&archive, vec![home.clone()], NOW).await;
        let moved = PriceRecord { price: Some(dec!(1.95)), at: NOW + SECOND, ..home.clone() };
        with_prices(&archive, vec![moved.clone()], NOW + SECOND).await;
        let row = all_odds(&archive).await.pop().unwrap();
        assert_eq!(row.id, home.id(MATCH));
        assert_eq!((row.opening.to_string(), row.opening_us), ("2.10".to_owned(), NOW));
        assert_eq!((row.previous, row.price), (Some(dec!(2.10)), dec!(1.95)));
        assert_eq!(row.movement(), Some(Movement::Shortening));
        assert!(row.is_open);
        let gone = PriceRecord { price: None, open: false, ..moved };
        with_prices(&archive, vec![gone], NOW + 2 * SECOND).await;
        let row = archive.odds_row(row.public_id()).await.unwrap().unwrap();
        assert_eq!((row.price, row.is_open), (dec!(1.95), false), "the last price stays");
        let ticks = archive.ticks(MATCH, &[row.id]).await.unwrap();
        let ticks: Vec<_> = ticks.iter().map(|tick| (tick.at_us, tick.price)).collect();
        let expected =
            [(NOW, Some(dec!(2.10))), (NOW + SECOND, Some(dec!(1.95))), (NOW + 2 * SECOND, None)];
        assert_eq!(ticks, expected);
        assert_eq!(archive.bookmakers(), ["acme".into()]);
    })
    .await;
}

#[tokio::test]
async fn prices_beyond_one_statement_are_all_written() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let priced =
            |number: i64| price(&format!("book-{number}"), "home", Some(Decimal::new(number, 2)));
        let prices: Vec<_> = (101..=600).map(priced).collect();
        with_prices(&archive, prices.clone(), NOW).await;
        let rows = all_odds(&archive).await;
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        let ticks = archive.ticks(MATCH, &ids).await.unwrap();
        let mut expected: Vec<_> =
            prices.iter().map(|price| (price.id(MATCH), price.price)).collect();
        let mut written: Vec<_> = ticks.iter().map(|tick| (tick.odds, tick.price)).collect();
        expected.sort_unstable();
        written.sort_unstable();
        assert_eq!(written, expected);
    })
    .await;
}

#[tokio::test]
async fn unchanged_record_writes_no_price() {
    on_each(async |database| {
        let prices = vec![
            price("acme", "home", Some(dec!(2.10))),
            price("acme", "draw", None),
            price("acme", "away", Some(dec!(3.5))),
        ];
        let archive = Archive::open(&database).await.unwrap();
        with_prices(&archive, prices.clone(), NOW).await;
        with_prices(&archive, prices.clone(), NOW + SECOND).await;
        // Another run of the hub, with empty caches.
        let archive = Archive::open(&database).await.unwrap();
        with_prices(&archive, prices, NOW + 2 * SECOND).await;
        let rows = all_odds(&archive).await;
        assert_eq!(rows.len(), 2, "one that was never on offer is no row");
        assert!(rows.iter().all(|row| row.updated_us == NOW), "{rows:?}");
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        assert_eq!(archive.ticks(MATCH, &ids).await.unwrap().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn price_no_longer_reported_is_closed() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        with_prices(&archive, vec![price("acme", "home", Some(dec!(2.10)))], NOW).await;
        with_prices(&archive, Vec::new(), NOW + SECOND).await;
        let row = all_odds(&archive).await.pop().unwrap();
        assert!(!row.is_open);
        assert_eq!(
            archive.ticks(MATCH, &[row.id]).await.unwrap().len(),
            1,
            "no tick without a withdrawal"
        );
    })
    .await;
}

#[tokio::test]
async fn prices_reported_with_one_timestamp_are_separate_ticks() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        for (second, odds) in [(0, dec!(2)), (1, dec!(2.1)), (2, dec!(2.2))] {
            let at_once = PriceRecord { at: NOW, ..price("consensus", "home", Some(odds)) };
            with_prices(&archive, vec![at_once], NOW + second * SECOND).await;
        }
        let row = all_odds(&archive).await.pop().unwrap();
        let ticks = archive.ticks(MATCH, &[row.id]).await.unwrap();
        let prices: Vec<_> = ticks.iter().filter_map(|tick| tick.price).collect();
        assert_eq!(prices, [dec!(2), dec!(2.1), dec!(2.2)]);
    })
    .await;
}

#[tokio::test]
async fn odds_are_filtered_sorted_and_paged() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let total = |line, outcome, odds| PriceRecord {
            market: "over_under".into(),
            line: Some(line),
            ..price("acme", outcome, Some(odds))
        };
        let half =
            PriceRecord { period: Some("1h".into()), ..price("acme", "home", Some(dec!(3))) };
        let prices = vec![
            total(dec!(10.5), "over", dec!(9)),
            total(dec!(2.50), "over", dec!(1.9)),
            price("zeta", "home", Some(dec!(2.2))),
            price("acme", "home", Some(dec!(2.1))),
            half,
        ];
        with_prices(&archive, prices, NOW).await;
        let check = async |filter: OddsFilter, expected: &[&str]| {
            let (count, rows) = archive.odds(&filter, Window::ALL, |_| None).await.unwrap();
            let rows: Vec<_> = rows
                .iter()
                .map(|row| {
                    let line = row.line.map(|line| format!("@{line}")).unwrap_or_default();
                    format!("{} {}{line} {}", row.bookmaker, row.outcome, row.price)
                })
                .collect();
            assert_eq!(rows, expected, "{filter:?}");
            assert_eq!(count, expected.len(), "{filter:?}");
        };
        let all = ["acme home 2.1", "zeta home 2.2", "acme over@2.5 1.9", "acme over@10.5 9"];
        let any = OddsFilter::default;
        check(any(), &all).await;
        check(OddsFilter { matches: Some(vec![MATCH, 8]), ..any() }, &all).await;
        check(OddsFilter { matches: Some(vec![8]), ..any() }, &[]).await;
        check(OddsFilter { matches: Some(Vec::new()), ..any() }, &[]).await;
        check(OddsFilter { bookmakers: Some(vec!["zeta".into()]), ..any() }, &all[1..2]).await;
        check(OddsFilter { line: Some(dec!(2.50)), ..any() }, &all[2..3]).await;
        check(OddsFilter { market: Some("over_under".into()), ..any() }, &all[2..]).await;
        check(OddsFilter { outcome: Some("home".into()), ..any() }, &all[..2]).await;
        check(OddsFilter { min_price: Some(dec!(2.1)), ..any() }, &[all[0], all[1], all[3]]).await;
        check(OddsFilter { max_price: Some(dec!(2.1)), ..any() }, &[all[0], all[2]]).await;
        check(OddsFilter { updated_after: Some(NOW), ..any() }, &[]).await;
        check(OddsFilter { updated_after: Some(NOW - 1), ..any() }, &all).await;
        check(OddsFilter { period: Period::Part("1h".into()), ..any() }, &["acme home 3"]).await;
        let (count, page) =
            archive.odds(&any(), Window { offset: 3, limit: 5 }, |_| None).await.unwrap();
        assert_eq!((count, page.len()), (4, 1));
        let mut moved =
            vec![price("acme", "home", Some(dec!(2.0))), price("zeta", "home", Some(dec!(2.3)))];
        moved.iter_mut().for_each(|price| price.at = NOW + SECOND);
        with_prices(&archive, moved, NOW + SECOND).await;
        let down = OddsFilter { movement: Some(Movement::Shortening), ..any() };
        check(down, &["acme home 2.0"]).await;
        let up = OddsFilter { movement: Some(Movement::Drifting), ..any() };
        check(up, &["zeta home 2.3"]).await;
    })
    .await;
}

#[tokio::test]
async fn odds_only_record_loses_nothing_of_the_stored_match() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let mut whole = record(MATCH, played());
        whole.prices = vec![price("acme", "home", Some(dec!(2)))];
        put(&archive, whole.clone(), NOW).await;
        let archive = Archive::open(&database).await.unwrap();
        let mut odds = record(MATCH, FootballRecord::default());
        odds.prices = vec![price("zeta", "home", Some(dec!(2.1)))];
        for second in 0..2 {
            let records = [Arc::new(odds.clone())];
            let trail = PriceTrail::default();
            let earlier = archive.keep(&records, &trail, NOW + second).await.unwrap();
            assert_eq!(
                earlier.len(),
                usize::from(second == 0),
                "the stored record is returned once"
            );
        }
        let stored = archive.record(MATCH).await.unwrap().unwrap();
        let PlayRecord::Football(football) = &stored.play else { panic!("{stored:?}") };
        assert_eq!(football.incidents, played().incidents);
        let all = AppearanceFilter::default();
        assert_eq!(archive.appearances(&all, Window::ALL).await.unwrap().0, 8);
        let open = all_odds(&archive).await;
        let open: Vec<_> = open.iter().map(|row| (&*row.bookmaker, row.is_open)).collect();
        assert_eq!(open, [("acme", false), ("zeta", true)]);
    })
    .await;
}

#[tokio::test]
async fn match_evicted_from_the_hub_stays_and_its_odds_are_closed() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        with_prices(&archive, vec![price("acme", "home", Some(dec!(2)))], NOW).await;
        archive.close_matches(&[MATCH], NOW + SECOND).await.unwrap();
        assert_eq!(statuses(&archive), [(MATCH, Status::FirstHalf)]);
        let row = all_odds(&archive).await.pop().unwrap();
        assert_eq!((row.is_open, row.updated_us), (false, NOW + SECOND));
        // Available again once it is reported again.
        with_prices(&archive, vec![price("acme", "home", Some(dec!(2)))], NOW + 2 * SECOND).await;
        assert!(all_odds(&archive).await[0].is_open);
    })
    .await;
}

const BOOKMAKERS: [&str; 3] = ["book-1", "book-2", "consensus"];

/// A price of any name, and when it was written.
fn any_row(number: u64, seed: u64) -> StoredPrice {
    let pick = |shift: u32, count: u64| (seed >> shift) % count;
    let cents = |shift| Decimal::new(101 + i64::try_from(pick(shift, 300)).unwrap(), 2);
    let record = PriceRecord {
        market: ["match_winner", "over_under"][usize::try_from(pick(3, 2)).unwrap()].into(),
        period: (pick(5, 3) == 0).then(|| "1h".into()),
        line: (pick(7, 2) == 0)
            .then(|| Decimal::new(i64::try_from(pick(8, 9)).unwrap(), 1).normalize()),
        ..price(BOOKMAKERS[usize::try_from(pick(12, 3)).unwrap()], "home", Some(cents(16)))
    };
    let match_id = pick(30, 120);
    // Those of some matches were written at once, as in an archive that was filled at a start.
    let at_once = match_id % 3 > 0;
    let updated_us = i64::try_from(if at_once { match_id % 5 } else { pick(25, 5) }).unwrap();
    let row = OddsRow {
        id: number * 7_919,
        public_id: (pick(28, 4) > 0).then_some(number),
        match_id,
        bookmaker: record.bookmaker,
        market: record.market,
        period: record.period,
        line: record.line,
        outcome: record.outcome,
        opening: cents(33),
        opening_us: NOW,
        previous: (pick(36, 2) == 0).then(|| cents(37)),
        price: cents(16),
        price_us: NOW + 1,
        received_us: NOW + 2,
        is_open: pick(40, 2) == 0,
        in_play: pick(41, 2) == 0,
        updated_us: NOW + updated_us,
    };
    StoredPrice { row, is_offered: pick(42, 2) == 0, ticked_us: NOW + 3 }
}

/// What each filter lets through and its order, against all rows, with the pages of each size.
#[tokio::test]
async fn pages_of_any_filter_are_those_of_all_rows() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let seeds = (1..=400_u64).map(|it| (it, it.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let prices: Vec<_> = seeds.map(|(number, seed)| any_row(number, seed)).collect();
        let mut by_match: BTreeMap<Key, Vec<StoredPrice>> = BTreeMap::new();
        for stored in &prices {
            by_match.entry(stored.row.match_id).or_default().push(stored.clone());
        }
        let mut transaction = database.begin().await.unwrap();
        store::put_rows(&mut transaction, database.is_sqlite(), &by_match).await.unwrap();
        transaction.commit().await.unwrap();
        let ids: Vec<Key> = (0..120).collect();
        let learnt = archive.inner.store.stored_prices(&ids).await.unwrap();
        assert_eq!(learnt, by_match.values().flatten().cloned().collect::<Vec<_>>(), "as written");
        let any = || OddsFilter { period: Period::Any, ..OddsFilter::default() };
        let consensus = || Some(vec!["consensus".to_owned()]);
        let filters: [(OddsFilter, Selects); 13] = [
            (any(), |_| true),
            (OddsFilter::default(), |row| row.period.is_none()),
            (OddsFilter { period: Period::Part("1h".into()), ..any() }, |row| row.period.is_some()),
            (OddsFilter { matches: Some(vec![3, 1, 3, 177]), ..any() }, |row| {
                [1, 3].contains(&row.match_id)
            }),
            (OddsFilter { matches: Some((0..100).collect()), ..any() }, |row| row.match_id < 100),
            (OddsFilter { updated_after: Some(NOW + 2), ..any() }, |row| row.updated_us > NOW + 2),
            (OddsFilter { bookmakers: consensus(), ..OddsFilter::default() }, |row| {
                &*row.bookmaker == "consensus" && row.period.is_none()
            }),
            (OddsFilter { bookmakers: consensus(), ..any() }, |row| &*row.bookmaker == "consensus"),
            (OddsFilter { market: Some("over_under".into()), ..any() }, |row| {
                &*row.market == "over_under"
            }),
            (OddsFilter { bookmakers: Some(vec!["book-1".into(), "x".into()]), ..any() }, |row| {
                &*row.bookmaker == "book-1"
            }),
            (OddsFilter { line: Some(dec!(0.30)), ..any() }, |row| row.line == Some(dec!(0.3))),
            (OddsFilter { min_price: Some(dec!(1.5)), max_price: Some(dec!(3)), ..any() }, |row| {
                row.price >= dec!(1.5) && row.price <= dec!(3)
            }),
            (
                OddsFilter {
                    movement: Some(Movement::Drifting),
                    updated_after: Some(NOW + 1),
                    ..any()
                },
                |row| row.updated_us > NOW + 1 && row.previous.is_some_and(|it| it < row.price),
            ),
        ];
        for (filter, selects) in filters {
            let rows = prices.iter().map(|stored| stored.row.clone());
            let mut expected: Vec<_> = rows.filter(selects).collect();
            expected.sort_by_key(|row| {
                let name = (row.market.clone(), row.line, row.outcome.clone());
                (row.match_id, name, row.bookmaker.clone(), row.id)
            });
            for (offset, limit) in [(0, usize::MAX), (0, 0), (0, 1), (7, 5), (40, 30), (500, 5)] {
                let window = Window { offset, limit };
                let page = archive.odds(&filter, window, |_| None).await.unwrap();
                let expected_page: Vec<_> =
                    expected.iter().skip(offset).take(limit).cloned().collect();
                assert_eq!(page, (expected.len(), expected_page), "{filter:?} {window:?}");
            }
        }
    })
    .await;
}

/// Two programs that write one match, neither of which knows of the other's rows.
#[tokio::test]
async fn rows_of_another_program_stay() {
    on_each(async |database| {
        let one = Archive::open(&database).await.unwrap();
        let other = Archive::open(&database).await.unwrap();
        with_prices(&one, vec![price("acme", "home", Some(dec!(2)))], NOW).await;
        with_prices(&other, vec![price("acme", "home", Some(dec!(2)))], NOW).await;
        let at = NOW + SECOND;
        let away = PriceRecord { at, ..price("acme", "away", Some(dec!(3))) };
        with_prices(&one, vec![price("acme", "home", Some(dec!(2))), away.clone()], at).await;
        let draw = PriceRecord { at, ..price("acme", "draw", Some(dec!(4))) };
        with_prices(&other, vec![price("acme", "home", Some(dec!(2))), draw], at).await;
        let rows = all_odds(&one).await;
        let outcomes: Vec<_> = rows.iter().map(|row| &*row.outcome).collect();
        assert_eq!(outcomes, ["away", "draw", "home"]);
        for row in rows {
            assert_eq!(one.odds_row(row.public_id()).await.unwrap(), Some(row.clone()));
            assert_eq!(one.ticks(MATCH, &[row.id]).await.unwrap().len(), 1, "{row:?}");
        }
    })
    .await;
}

/// Prices of matches whose ids are next to one another, at the end of the ids too.
#[tokio::test]
async fn each_price_is_found_by_an_id_of_its_own() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let matches = [MATCH, MATCH + 1, MATCH + 2, 2_147_483_000, 2_147_483_600, 2_147_483_647];
        for round in 1..=2_u64 {
            let records = matches.map(|id| {
                let prices =
                    (0..200 * round).map(|it| price(&format!("book-{it}"), "home", Some(dec!(2))));
                Arc::new(MatchRecord { prices: prices.collect(), ..record(id, football()) })
            });
            archive.put(&records, NOW).await.unwrap();
        }
        let rows = all_odds(&archive).await;
        assert_eq!(rows.len(), 6 * 400);
        let mut seen = BTreeSet::new();
        let mut preferred = 0;
        for row in &rows {
            let id = row.public_id.unwrap();
            assert!(seen.insert(id) && (1..=2_147_483_647).contains(&id), "{id}");
            preferred += usize::from(OddsRow { public_id: None, ..row.clone() }.public_id() == id);
        }
        assert!(preferred > rows.len() * 9 / 10, "{preferred}");
        for row in rows.into_iter().step_by(50) {
            assert_eq!(archive.odds_row(row.public_id()).await.unwrap(), Some(row));
        }
    })
    .await;
}

#[test]
fn choices_of_a_row_include_each_id_of_its_match_once() {
    for (match_id, row) in [(1, 0), (1_000_000_007, 123_456_789_012), (u64::MAX >> 12, 1 << 51)] {
        let choices: BTreeSet<Key> = odds::public_choices(match_id, row).collect();
        let base = odds::public_base(match_id);
        assert_eq!(choices, (base + 1..=base + odds::PUBLIC_IDS).collect());
        assert!(choices.last().is_some_and(|last| *last <= 2_147_483_647));
    }
}

/// Retention cuts whole blocks, none of which has a tick that is to be kept.
#[tokio::test]
async fn ticks_are_deleted_by_days() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let hours = |hours: i64| NOW + hours * 3_600 * SECOND;
        for hour in 0..60 {
            let odds = Some(Decimal::new(200 + hour, 2));
            let at = hours(hour);
            let home = PriceRecord { at, ..price("acme", "home", odds) };
            with_prices(&archive, vec![home], at).await;
        }
        let row = all_odds(&archive).await.pop().unwrap();
        let mut left = archive.ticks(MATCH, &[row.id]).await.unwrap();
        assert_eq!(left.len(), 60);
        for hour in [10, 23, 24, 40, 59, 60] {
            while archive.drop_ticks_before(hours(hour)).await.unwrap() > 0 {}
            let now = archive.ticks(MATCH, &[row.id]).await.unwrap();
            assert!(left.ends_with(&now), "the oldest go first");
            let kept = |tick: &&Tick| tick.received_us >= hours(hour);
            assert_eq!(now.iter().filter(kept).count(), left.iter().filter(kept).count());
            let oldest = now.first().map(|tick| tick.received_us);
            assert!(oldest.is_none_or(|at| at > hours(hour - 24)), "{hour}: {oldest:?}");
            left = now;
        }
        assert!(left.is_empty());
    })
    .await;
}

/// Full blocks, the open one and the row of the present.
#[tokio::test]
async fn backup_has_the_whole_history() {
    on_each(async |database| {
        let DatabaseName::File(path) = database.name() else { return };
        let archive = Archive::open(&database).await.unwrap();
        for round in 0..300 {
            let at = NOW + round * 61 * SECOND;
            let home =
                PriceRecord { at, ..price("acme", "home", Some(Decimal::new(200 + round, 2))) };
            with_prices(&archive, vec![home], at).await;
        }
        let to = path.with_file_name("copy.db");
        back_up(database.name(), &to).await.unwrap();
        let copy = Database::open_existing(&to.into()).await.unwrap();
        let copied = Archive::open(&copy).await.unwrap();
        let rows = all_odds(&copied).await;
        assert_eq!(rows, all_odds(&archive).await);
        let ticks = copied.ticks(MATCH, &[rows[0].id]).await.unwrap();
        assert_eq!(ticks, archive.ticks(MATCH, &[rows[0].id]).await.unwrap());
        assert_eq!(ticks.len(), 300);
        copy.close().await;
    })
    .await;
}
