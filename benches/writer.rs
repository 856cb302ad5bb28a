//! A tenth of a second of the writer: 100 price changes in 100 of 1,000 matches, and the export of
//! what changed. The time must depend on the changes, not on the prices that stay as they are.

#[expect(dead_code, reason = "the prices are made here, not recorded")]
mod support;

use std::{hint::black_box, sync::Arc};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use facts::event::{
    Batch, Event, Fact, Fixture, Id, MarketChange, MarketDefinition, MarketStatus, OddsFact,
    Outcome, SelectionChange, SelectionDefinition, SelectionStatus, Sport, Timed,
};
use fanout::{Change, Micros};
use hub::sequence::TailWindow;
use rust_decimal::Decimal;

use support::Stage;

const MATCHES: u64 = 1_000;

const BOOKS: usize = 5;

/// Markets of each book. Every market has two prices.
const MARKETS: [usize; 2] = [1, 100];

/// 1,000 changes a second.
const CHANGES_PER_TURN: u64 = 100;

const TURN_US: Micros = 100_000;

fn writer(c: &mut Criterion) {
    let mut group = c.benchmark_group("writer");
    group.sample_size(50).throughput(Throughput::Elements(CHANGES_PER_TURN));
    for markets in MARKETS {
        let prices = usize::try_from(MATCHES).expect("a small number") * BOOKS * markets * 2;
        let mut stage = stage(markets);
        let mut feed = Feed { markets, changed: 0, now: 0 };
        group.bench_function(format!("{prices}_prices"), |b| {
            b.iter_batched(
                || feed.next_changes(),
                |batches| {
                    turn(&mut stage, &batches);
                    batches
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// Applies the changes and exports them, as the writer does every 100 ms.
fn turn(stage: &mut Stage, batches: &[Timed]) {
    let mut changes: Vec<Change> = Vec::new();
    for timed in batches {
        stage.apply(timed, &mut changes);
    }
    black_box(changes);
    black_box(stage.hub.take_changed(batches[0].clock_us));
}

/// A hub with all matches and prices, which have been exported.
fn stage(markets: usize) -> Stage {
    let mut stage = Stage::with(TailWindow { bytes: 16 << 10, age_us: 60_000_000 });
    for id in 1..=MATCHES {
        let mut facts = vec![Fact::Fixture(fixture(id))];
        for (book, market) in (0..BOOKS).flat_map(|b| (0..markets).map(move |m| (b, m))) {
            facts.push(odds(book, market, MarketChange::Define(definition(market))));
            facts.push(odds(book, market, prices(id)));
        }
        stage.apply(&timed(id, 0, facts), &mut Vec::new());
    }
    black_box(stage.hub.take_changed(0));
    stage
}

/// The changes that come next.
struct Feed {
    markets: usize,
    changed: u64,
    now: Micros,
}

impl Feed {
    fn next_changes(&mut self) -> Vec<Timed> {
        self.now += TURN_US;
        let changed = self.changed..self.changed + CHANGES_PER_TURN;
        self.changed = changed.end;
        let change = |n: u64| {
            let index = usize::try_from(n).expect("a small number");
            let (book, market) = (index % BOOKS, index / BOOKS % self.markets);
            timed(n % MATCHES + 1, self.now, vec![odds(book, market, prices(n))])
        };
        changed.map(change).collect()
    }
}

fn timed(id: u64, clock_us: Micros, facts: Vec<Fact>) -> Timed {
    let event = |fact| Event { sport: Sport::Football, match_id: Id(id), fact };
    let events = facts.into_iter().map(event).collect();
    Timed { clock_us, batch: Batch { at: Some(clock_us), price_changes: 2, events } }
}

fn fixture(id: u64) -> Fixture {
    Fixture {
        provider: "bench".into(),
        provider_key: id.to_string().into(),
        competition: None,
        start: Some(0),
        date: None,
        sides: None,
        ..Fixture::default()
    }
}

fn odds(book: usize, market: usize, change: MarketChange) -> Fact {
    Fact::Odds(OddsFact { book: slug(book), market: market.to_string().into(), change })
}

fn slug(book: usize) -> Arc<str> {
    format!("book-{book}").into()
}

/// Over or under so many goals.
fn definition(market: usize) -> MarketDefinition {
    let selection = |(id, outcome): (&str, Outcome)| SelectionDefinition {
        id: id.into(),
        name: None,
        status: SelectionStatus::Active,
        outcome: Some(outcome),
        terms: None,
    };
    MarketDefinition {
        kind: "over_under".into(),
        name: None,
        line: Some(Decimal::from(market)),
        period: None,
        status: MarketStatus::Open,
        in_play: true,
        selections: [("o", Outcome::Over), ("u", Outcome::Under)].map(selection).to_vec(),
        terms: None,
    }
}

/// Prices that differ from one change of a market to its next.
fn prices(n: u64) -> MarketChange {
    let price = |id: &str, cents: u64| SelectionChange {
        id: id.into(),
        price: Some(Decimal::new(i64::try_from(cents).expect("a small number"), 2)),
        last: None,
        volume: None,
        near_price: None,
        far_price: None,
        back: vec![],
        lay: vec![],
        traded: vec![],
    };
    let moved = n * 7 % 61;
    MarketChange::Prices {
        selections: vec![price("o", 170 + moved), price("u", 230 - moved)],
        volume: None,
    }
}

criterion_group!(benches, writer);
criterion_main!(benches);
