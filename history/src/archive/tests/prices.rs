//! Prices: written, closed, filtered and paged.

use super::*;

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
        let ticks = archive.ticks(&[row.id]).await.unwrap();
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
        let of =
            |number: i64| price(&format!("book-{number}"), "home", Some(Decimal::new(number, 2)));
        let prices: Vec<_> = (101..=600).map(of).collect();
        with_prices(&archive, prices.clone(), NOW).await;
        let rows = all_odds(&archive).await;
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        let ticks = archive.ticks(&ids).await.unwrap();
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
        assert_eq!(archive.ticks(&ids).await.unwrap().len(), 2);
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
            archive.ticks(&[row.id]).await.unwrap().len(),
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
        let ticks = archive.ticks(&[row.id]).await.unwrap();
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
            let (count, rows) = archive.odds(&filter, Window::ALL).await.unwrap();
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
        let (count, page) = archive.odds(&any(), Window { offset: 3, limit: 5 }).await.unwrap();
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
