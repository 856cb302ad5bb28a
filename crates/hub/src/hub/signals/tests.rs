//! Signals on what bookmakers really quoted: each arbitrage is one by the definition, none is missed.

use std::{collections::BTreeSet, path::PathBuf};

use facts::event::Outcome;
use fanout::Epoch;
use ingest::recording::{Limits, Recording, Step};
use rust_decimal::Decimal;

use super::*;
use crate::{
    hub::{Epochs, feeds::SourcePolicy, sequence::TailWindow},
    identity::Identity,
    signals::{Finding, Leg, SignalKind},
};

const START: Micros = 1_788_220_800_000_000;

fn hub() -> Hub {
    let settings = crate::hub::HubSettings {
        window: TailWindow { bytes: 1 << 20, age_us: 60_000_000 },
        matches_max: 10_000,
        matches_max_per_source: usize::MAX,
        ended_keep_us: 1 << 60,
        stale_after_ms: 15_000,
        hold_us: 0,
    };
    Hub::new(settings, Epochs { matches: Epoch(7), feeds: Epoch(8) }, Identity::default())
}

/// The outcomes of which one comes true, by what the market has.
fn outcomes(quotes: &[Quote]) -> Option<Vec<Outcome>> {
    let all: BTreeSet<_> = quotes.iter().map(|quote| quote.outcome).collect();
    let all: Vec<_> = all.into_iter().collect();
    match all.as_slice() {
        [Outcome::Home, Outcome::Draw, Outcome::Away]
        | [Outcome::Home, Outcome::Away]
        | [Outcome::Player1, Outcome::Player2]
        | [Outcome::Over, Outcome::Under]
        | [Outcome::Yes, Outcome::No] => Some(all),
        _ => None,
    }
}

/// The resolution of a price, in parts of one. All prices of the recordings fit, and what they pay after commission.
const SCALE: i128 = 1_000_000;

/// What an open price pays after the bookmaker's commission.
fn pays(quote: &Quote) -> Option<Decimal> {
    Some((quote.price? - Decimal::ONE) * (Decimal::ONE - quote.commission) + Decimal::ONE)
}

fn scaled(price: Decimal) -> i128 {
    let scaled = price * Decimal::from(SCALE);
    assert!(scaled.fract().is_zero(), "{price} has more digits than are compared");
    scaled.normalize().mantissa()
}

/// What is won of a stake of one that is divided over these prices so that each pays the same, as a
/// fraction: numerator and denominator. By whole numbers alone: of a/S, b/S and c/S each pays
/// abc / (S (ab + bc + ca)).
fn payout(prices: &[i128]) -> (i128, i128) {
    let product = |skip: Option<usize>| {
        let factors = prices.iter().enumerate().filter(|(index, _)| Some(*index) != skip);
        factors.fold(1_i128, |product, (_, price)| product.checked_mul(*price).unwrap())
    };
    let others: i128 = (0..prices.len()).map(|index| product(Some(index))).sum();
    (product(None), others.checked_mul(SCALE).unwrap())
}

/// The gain in hundredths of a percent, cut off; `None` if it is less than is reported.
fn gain(prices: &[i128]) -> Option<i128> {
    let (paid, staked) = payout(prices);
    let gain = (paid - staked).checked_mul(10_000).unwrap() / staked;
    (gain >= SignalSettings::default().profit_min.into()).then_some(gain)
}

/// The highest profit guaranteed by any choice of one available price per outcome:
/// every choice is tried, of all bookmakers.
fn most_won(quotes: &[Quote]) -> Option<i128> {
    let mut choices: Vec<Vec<i128>> = vec![Vec::new()];
    for outcome in outcomes(quotes)? {
        let open = |it: &&Quote| it.outcome == outcome && it.state == QuoteState::Open;
        let prices: Vec<_> = quotes.iter().filter(open).filter_map(pays).collect();
        let with = |choice: &Vec<i128>, price: &Decimal| [&choice[..], &[scaled(*price)]].concat();
        choices = choices
            .iter()
            .flat_map(|choice| prices.iter().map(move |price| with(choice, price)))
            .collect();
    }
    choices.iter().filter_map(|choice| gain(choice)).max()
}

/// The bets are what bookmakers offer, one on each outcome, and pay the same.
fn check_bets(record: &SignalRecord, quotes: &[Quote], file: &str) -> i128 {
    let Finding::Arbitrage { profit, legs } = &record.signal.finding else {
        panic!("{file}: no arbitrage: {record:?}");
    };
    let paid =
        |leg: &Leg| (leg.price - Decimal::ONE) * (Decimal::ONE - leg.commission) + Decimal::ONE;
    let bets: Vec<_> = legs.iter().map(|leg| leg.outcome).collect();
    assert_eq!(Some(bets), outcomes(quotes), "{file}: {record:?}");
    for leg in legs {
        let is_leg = |quote: &Quote| {
            (quote.outcome, &quote.bookmaker, quote.price, quote.commission)
                == (leg.outcome, &leg.bookmaker, Some(leg.price), leg.commission)
        };
        let offered = quotes.iter().any(|it| is_leg(it) && it.state == QuoteState::Open);
        assert!(offered, "{file}: no bookmaker offers {leg:?}");
        assert!(paid(leg) * leg.stake >= Decimal::ONE, "{file}: a leg that loses: {record:?}");
    }
    let staked: Decimal = legs.iter().map(|leg| leg.stake).sum();
    assert_eq!(staked, Decimal::ONE, "{file}: {record:?}");
    let all = Decimal::ONE / legs.iter().map(|leg| Decimal::ONE / paid(leg)).sum::<Decimal>();
    for leg in legs {
        // A stake is rounded to a millionth, and one has what that left of all.
        let rounded = leg.price * Decimal::from(legs.len()) / Decimal::from(SCALE);
        let off = (paid(leg) * leg.stake - all).abs();
        assert!(off <= rounded, "{file}: {leg:?} pays another part than {all}: {record:?}");
    }
    let basis_points = (*profit * Decimal::from(10_000)).normalize();
    assert!(basis_points.fract().is_zero(), "{file}: {record:?}");
    basis_points.mantissa()
}

/// Compares the arbitrages of a match found by brute force with the published signals.
fn compare(hub: &Hub, id: Id, file: &str) -> usize {
    let state = &hub.matches[&id].state;
    let mut expected = BTreeMap::new();
    if state.life() != Life::Ended {
        for key in state.consensus.markets.keys() {
            let gain = most_won(&quotes(state, key, &hub.signals.settings));
            expected.extend(gain.map(|gain| (key.id().to_string(), gain)));
        }
    }
    let mut found = BTreeMap::new();
    for record in hub.signals.active.values().filter(|it| it.match_id == id.0) {
        if record.signal.topic.kind != SignalKind::Arbitrage {
            continue;
        }
        let market = record.signal.topic.market.as_ref().expect("it is of a market");
        let mut keys = state.consensus.markets.keys();
        let key = keys.find(|key| *key.id() == *market.to_string()).expect("a market of the match");
        let gain = check_bets(record, &quotes(state, key, &hub.signals.settings), file);
        assert_eq!(found.insert(market.to_string(), gain), None, "{file}: reported twice");
    }
    assert_eq!(found, expected, "{file}, match {id}");
    found.len()
}

/// Plays a file batch by batch; the number of arbitrages that stood after any of them.
fn play(file: &str) -> Option<usize> {
    let feeds = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/feeds"));
    if !feeds.is_dir() {
        database::testing::skipped("shared recordings are not here");
        return None;
    }
    let recording = Recording::open(&feeds.join(file), &[], START, &Limits::default()).unwrap();
    let mut hub = hub();
    let source = hub.source("recording".into(), "recording", SourcePolicy::default());
    let (mut changes, mut stood, mut priced) = (Vec::new(), 0, 0);
    for step in recording {
        let Step::Batch(timed) = step else { continue };
        let now = timed.clock_us;
        assert_eq!(hub.apply(source, &timed.batch, now, now, &mut changes), [], "{file}");
        changes.clear();
        priced += timed.batch.price_changes;
        let touched_ids: BTreeSet<_> =
            timed.batch.events.iter().map(|event| event.match_id).collect();
        stood += touched_ids.into_iter().map(|id| compare(&hub, id, file)).sum::<usize>();
    }
    assert!(priced > 0, "{file} has no prices");
    Some(stood)
}

#[test]
fn payouts_are_counted_without_rounding() {
    let prices = |prices: &[&str]| -> Vec<i128> {
        prices.iter().map(|price| scaled(price.parse().unwrap())).collect()
    };
    assert_eq!(gain(&prices(&["3", "3", "3"])), None, "a fair book of thirds is none");
    assert_eq!(gain(&prices(&["2", "2"])), None);
    assert_eq!(gain(&prices(&["2.10", "2.05"])), Some(373), "1/2.10 + 1/2.05 = 0.963995");
    assert_eq!(gain(&prices(&["3", "3", "3.01"])), Some(11), "1/(2/3 + 1/3.01) = 1.001108");
}

/// Of every recording with prices.
#[test]
fn every_arbitrage_of_bookmakers_is_found() {
    for (file, crossing) in [
        // Prices of the CSV are of the same day, not of the same minute: some cross.
        ("football-data-couk/E0-2016-2017.csv.gz", true),
        ("football-data-couk/E0-2019-2020.csv.gz", true),
        ("the-odds-api/sport-odds.json", false),
        ("the-odds-api/event-odds.json", false),
        ("sportradar-uof/odds_change-0.xml", false),
    ] {
        let Some(stood) = play(file) else { return };
        assert!(stood > 0 || !crossing, "{file}: nothing was compared");
    }
}

#[test]
fn every_arbitrage_of_an_exchange_is_found() {
    for file in [
        "betfair-stream/football-1-event-77-markets.basic.bz2",
        "betfair-stream/football-200-markets.live.bz2",
        "betfair-stream/racing-1.241629436.live.jsonl.gz",
        "betfair-stream/tennis-1.223716976.basic.bz2",
        "betfair-stream/tennis-29788105.pro.jsonl.gz",
        "betfair-stream/tennis-29788457-4-markets.pro.jsonl.gz",
        "betfair-rest/list_market_book.json",
    ] {
        if play(file).is_none() {
            return;
        }
    }
}
