//! However late the archive is written, no price is on offer that the hub has withdrawn.

use std::collections::BTreeSet;

use proptest::{
    array::uniform4, collection::vec, prelude::*, sample::select, strategy::ValueTree as _,
    test_runner::TestRunner,
};

use super::*;

/// How a price stands in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    Unreported,
    Withdrawn,
    Suspended,
    Open,
}

#[derive(Debug, Clone)]
enum Step {
    /// The hub has the match with these prices.
    Report([Stand; 4]),
    /// The hub removes the match, perhaps with its last record.
    Remove { leaves_record: bool },
    /// The worker writes what waits.
    Write,
}

const PRICES: [(&str, &str); 4] =
    [("acme", "home"), ("acme", "away"), ("zeta", "home"), ("zeta", "away")];
const SEQUENCES: usize = 48;

fn step() -> impl Strategy<Value = Step> {
    use Stand::{Open, Suspended, Unreported, Withdrawn};
    let stand = || select(vec![Open, Open, Open, Suspended, Withdrawn, Unreported]);
    prop_oneof![
        5 => uniform4(stand()).prop_map(Step::Report),
        2 => any::<bool>().prop_map(|leaves_record| Step::Remove { leaves_record }),
        3 => Just(Step::Write),
    ]
}

fn reported(id: Key, stands: [Stand; 4], at: Micros) -> MatchRecord {
    let prices = PRICES.iter().zip(stands).filter(|(_, stand)| *stand != Stand::Unreported);
    let prices = prices.map(|((bookmaker, outcome), stand)| PriceRecord {
        open: stand == Stand::Open,
        at,
        ..price(bookmaker, outcome, (stand != Stand::Withdrawn).then_some(dec!(2)))
    });
    let mut reported = MatchRecord { prices: prices.collect(), ..record(id, football()) };
    reported.summary_mut().updated = at;
    reported
}

/// What the records of a match offer.
fn offers(record: &MatchRecord) -> BTreeSet<(Arc<str>, Arc<str>)> {
    let open = record.prices.iter().filter(|it| it.open && it.price.is_some());
    open.map(|it| (Arc::clone(&it.bookmaker), Arc::clone(&it.outcome))).collect()
}

#[tokio::test]
async fn archive_that_lags_offers_nothing_that_the_hub_has_withdrawn() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let reader = Reader::default();
        let (inbox, worker) =
            Inbox::new(archive.clone(), reader.clone(), &ArchiveConfig::default());
        let history = History::new(reader.clone(), archive);
        let mut runner = TestRunner::deterministic();
        let sequence = vec(step(), 1..16);
        let mut offered = 0;
        for id in (1..).take(SEQUENCES) {
            let steps = sequence.new_tree(&mut runner).unwrap().current();
            let mut current: Option<MatchRecord> = None;
            for (number, step) in steps.iter().enumerate() {
                let at = NOW + number as Micros * SECOND;
                let changed = match step {
                    Step::Report(stands) => {
                        let record = current.insert(reported(id, *stands, at));
                        changed(&[Arc::new(record.clone())], &[])
                    }
                    Step::Remove { leaves_record } => {
                        let last = current.take().filter(|_| *leaves_record).map(|mut last| {
                            last.close_prices();
                            Arc::new(last)
                        });
                        let evicted = last.into_iter().collect();
                        ChangedRecords { evicted, ..changed(&[], &[id]) }
                    }
                    Step::Write => {
                        worker.write().await;
                        changed(&[], &[])
                    }
                };
                inbox.put(&changed, PriceTrail::default(), at);
                reader.update(&changed.records, &changed.gone);
                let on_offer = current.as_ref().map(offers).unwrap_or_default();
                let shown = shown(&history, id).await;
                assert!(shown.is_subset(&on_offer), "{shown:?}, not {on_offer:?}: {steps:?}");
                offered += shown.len();
            }
        }
        assert!(offered > SEQUENCES, "{offered} offers");
    })
    .await;
}

/// All that any question about a match says to be on offer.
async fn shown(history: &History, id: Key) -> BTreeSet<(Arc<str>, Arc<str>)> {
    let filter = OddsFilter { matches: Some(vec![id]), ..OddsFilter::default() };
    let (_, mut rows) = history.odds(&filter, Window::ALL).await.unwrap();
    for row in &mut rows {
        if let Some(alone) = history.odds_row(row.public_id()).await.unwrap() {
            assert_eq!(alone.is_open, row.is_open, "{row:?}");
        }
    }
    let open = rows.iter().filter(|row| row.is_open);
    let mut shown: BTreeSet<_> =
        open.map(|row| (Arc::clone(&row.bookmaker), Arc::clone(&row.outcome))).collect();
    let view = View::now(history, None);
    let found = view.all(&MatchQuery::default());
    let mut records = view.records(&MatchQuery::default(), &found).await.unwrap();
    records.retain(|record| record.summary.id == id);
    records.extend(history.record(id).await.unwrap());
    records.extend(view.record(id).await.unwrap());
    records.iter().for_each(|record| shown.extend(offers(record)));
    shown
}
