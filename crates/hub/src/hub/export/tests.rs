//! Records made from the hub's state, sport by sport, and their JSON.

mod lag;

use std::{collections::BTreeMap, sync::Arc};

use facts::{event::Timed, football::Period};
use fanout::{Epoch, Micros};
use ingest::normalize::events::Interpreter;
use record::{Key, LiveRecords, MatchRecord, PlayRecord, Status, Withdrawal};
use simulator::Simulator;

use crate::{
    commit::withdrawn,
    hub::{
        Epochs, Hub, HubSettings, Unwritten,
        feeds::{FeedState, Health, SourceNumber, SourcePolicy},
        sequence::TailWindow,
        state::ExportMarks,
    },
    identity::{Identity, MatchOrder, NumberedOrder, local_id},
    ids::PublicIds,
};

const START: i64 = 1_767_225_600_000_000;

fn new_hub(hold_us: Micros) -> (Hub, SourceNumber) {
    let settings = HubSettings {
        window: TailWindow { bytes: 1, age_us: 1 },
        matches_max: 1_000,
        matches_max_per_source: usize::MAX,
        ended_keep_us: i64::MAX / 4,
        stale_after_ms: 1_000,
        hold_us,
    };
    let epochs = Epochs { matches: Epoch(1), feeds: Epoch(1) };
    let mut hub = Hub::new(settings, epochs, Identity::default());
    let source = hub.source("told".into(), "events", SourcePolicy::default());
    (hub, source)
}

fn records(batches: impl IntoIterator<Item = Timed>) -> Vec<Arc<MatchRecord>> {
    let (mut hub, source) = new_hub(0);
    for Timed { clock_us, batch } in batches {
        let errors = hub.apply(source, &batch, clock_us, clock_us, &mut Vec::new());
        assert_eq!(errors, []);
    }
    LiveRecords::default().apply(hub.take_changed(START)).records
}

/// The only match of these lines.
fn record(lines: &[&str]) -> MatchRecord {
    let mut interpreter = Interpreter::new("acme".into());
    let read = lines.iter().map(|line| {
        let read = interpreter.line(line.as_bytes(), START);
        read.unwrap_or_else(|error| panic!("{error}: {line}")).timed
    });
    let read: Vec<_> = read.collect();
    let mut records = records(read);
    assert_eq!(records.len(), 1);
    let record = MatchRecord::clone(&records.remove(0));
    check_json(&record);
    record
}

/// How current the record is, is not stored.
fn check_json(record: &MatchRecord) {
    let json = serde_json::to_string(record).expect("a record is JSON");
    let again: MatchRecord = serde_json::from_str(&json).expect("it is read again");
    assert_eq!(again, MatchRecord { freshness: None, ..record.clone() }, "{json}");
}

/// The records of the matches in a hub, as a reader of its exports has them.
#[derive(Default)]
struct ExportedRecords {
    live: LiveRecords,
    records: BTreeMap<Key, Arc<MatchRecord>>,
}

impl ExportedRecords {
    fn update(&mut self, hub: &mut Hub) {
        let changed = self.live.apply(hub.take_changed(START));
        for id in changed.gone {
            self.records.remove(&id);
        }
        self.records.extend(changed.records.into_iter().map(|record| (record.summary.id, record)));
    }

    /// Compares the records with those of one complete export.
    fn check(&mut self, hub: &mut Hub) {
        self.update(hub);
        for entry in hub.matches.values_mut() {
            entry.state.touched = ExportMarks { all: true, ..ExportMarks::default() };
            entry.is_changed = true;
            hub.changed.push(entry.state.id);
        }
        let complete = LiveRecords::default().apply(hub.take_changed(START)).records;
        assert_eq!(complete.len(), self.records.len());
        for record in complete {
            // The position may have advanced without a change of the match.
            let of_changes = MatchRecord {
                freshness: record.freshness,
                ..(*self.records[&record.summary.id]).clone()
            };
            assert_eq!(of_changes, *record);
        }
    }
}

/// Adds up the exports of a simulated day, in which the source is down for a while.
#[test]
fn exports_of_changes_add_up_to_the_complete_state() {
    let (mut hub, source) = new_hub(10_000_000);
    let mut exported = ExportedRecords::default();
    for (n, Timed { clock_us, batch }) in Simulator::new(5, START).take(20_000).enumerate() {
        hub.apply(source, &batch, clock_us, clock_us, &mut Vec::new());
        if n % 5_000 < 2 {
            let feed = if n % 5_000 == 0 { FeedState::Down } else { FeedState::Live };
            let health = Health { feed, why: None };
            hub.set_source_health(source, &health, clock_us, &mut Vec::new());
        }
        if n % 97 == 0 {
            exported.update(&mut hub);
        }
    }
    exported.check(&mut hub);
    assert!(exported.records.len() > 10, "only {} matches", exported.records.len());
}

/// The lines of one provider's match, with two books between which there is an arbitrage.
fn lines_with_arbitrage(sides: [&str; 2], books: [&str; 2]) -> Vec<String> {
    let line = |fact: &str| format!(r#"{{"sport":"football","match":"m","fact":{fact}}}"#);
    let [home, away] = sides;
    let mut lines = vec![
        line(&format!(r#"{{"fixture":{{"sides":[{{"name":"{home}"}},{{"name":"{away}"}}]}}}}"#)),
        line(r#"{"football":{"status":"first_half"}}"#),
    ];
    for (book, [home, away]) in books.into_iter().zip([["3", "1.2"], ["1.2", "3"]]) {
        let change = |change: &str| {
            line(&format!(r#"{{"odds":{{"book":"{book}","market":"1","change":{change}}}}}"#))
        };
        lines.push(change(
            r#"{"define":{"kind":"match_winner","status":"open","selections":[{"id":"h","status":"active","outcome":"home"},{"id":"a","status":"active","outcome":"away"}]}}"#,
        ));
        lines.push(change(&format!(
            r#"{{"prices":{{"selections":[{{"id":"h","price":"{home}"}},{{"id":"a","price":"{away}"}}]}}}}"#
        )));
    }
    lines
}

#[test]
fn joined_match_has_no_record_until_it_is_split_again() {
    let (mut hub, first) = new_hub(0);
    let second = hub.source("second".into(), "events", SourcePolicy::default());
    let [stays, dropped] = ["one", "two"].map(|provider| local_id(provider, "m"));
    let mut exported = ExportedRecords::default();
    for (source, provider, sides, books) in
        [(first, "one", ["A", "B"], ["x", "y"]), (second, "two", ["C", "D"], ["x", "z"])]
    {
        let mut interpreter = Interpreter::new(provider.into());
        for line in lines_with_arbitrage(sides, books) {
            let timed = interpreter.line(line.as_bytes(), START).expect("a line").timed;
            assert_eq!(hub.apply(source, &timed.batch, START, START, &mut Vec::new()), []);
        }
    }
    exported.check(&mut hub);
    assert_eq!(exported.records.len(), 2);
    let signals = hub.take_signals();
    assert!(signals.iter().any(|it| it.match_id == dropped.0 && it.ended.is_none()));

    let (provider, key) = ("two".to_owned(), "m".to_owned());
    let split = MatchOrder::Split { provider: provider.clone(), key: key.clone() };
    let join = MatchOrder::Join { provider, key, into: stays, swapped: false, with: None };
    let mut order = |hub: &mut Hub, number, order| {
        hub.apply_order(&NumberedOrder { number, order }, START, &mut Vec::new());
        exported.check(hub);
        exported.records.keys().copied().collect::<Vec<_>>()
    };
    assert_eq!(order(&mut hub, 1, join), [stays.0]);
    let signals = hub.take_signals();
    let of_dropped: Vec<_> = signals.iter().filter(|it| it.match_id == dropped.0).collect();
    assert!(!of_dropped.is_empty() && of_dropped.iter().all(|it| it.ended.is_some()));

    let mut both = [stays.0, dropped.0];
    both.sort_unstable();
    assert_eq!(order(&mut hub, 2, split), both);
}

#[test]
fn match_without_changes_is_not_exported() {
    let (mut hub, source) = new_hub(10_000_000);
    for Timed { clock_us, batch } in Simulator::new(5, START).take(2_000) {
        hub.apply(source, &batch, clock_us, clock_us, &mut Vec::new());
    }
    assert!(hub.export(START).is_some());
    assert!(hub.export(START).is_none());
}

#[test]
fn match_that_is_removed_before_an_export_leaves_its_last_record() {
    let (mut hub, source) = new_hub(0);
    for Timed { clock_us, batch } in Simulator::new(5, START).take(50) {
        hub.apply(source, &batch, clock_us, clock_us, &mut Vec::new());
    }
    let matches = hub.matches();
    assert!(matches > 0);
    hub.restart_source(source, START, &mut Vec::new());
    let changed = LiveRecords::default().apply(hub.take_changed(START));
    let counts = [changed.records.len(), changed.evicted.len(), changed.gone.len()];
    assert_eq!(counts, [0, matches, matches]);
}

#[test]
fn removed_match_leaves_all_of_its_last_record() {
    let (mut hub, source) = new_hub(0);
    for Timed { clock_us, batch } in Simulator::new(5, START).take(5_000) {
        hub.apply(source, &batch, clock_us, clock_us, &mut Vec::new());
    }
    let before = LiveRecords::default().apply(hub.take_changed(START)).records;
    assert!(before.iter().any(|record| !record.prices.is_empty()), "no prices");
    hub.restart_source(source, START, &mut Vec::new());
    // As after a start, which has none of the earlier exports.
    let evicted = LiveRecords::default().apply(hub.take_changed(START)).evicted;
    let evicted: BTreeMap<Key, _> = evicted.into_iter().map(|it| (it.summary.id, it)).collect();
    assert_eq!(evicted.len(), before.len());
    for mut record in before {
        let last = &evicted[&record.summary.id];
        assert!(last.prices.iter().all(|price| !price.open), "nothing is on offer any more");
        Arc::make_mut(&mut record).close_prices();
        assert_eq!(last.play, record.play);
        let places = |it: &MatchRecord| -> Vec<_> {
            it.prices.iter().map(|price| (price.market.clone(), price.outcome.clone())).collect()
        };
        assert_eq!(places(last), places(&record));
    }
}

#[test]
fn exports_that_are_not_written_are_made_again_after_a_restart() {
    let (mut hub, source) = new_hub(0);
    for Timed { clock_us, batch } in Simulator::new(5, START).take(5_000) {
        hub.apply(source, &batch, clock_us, clock_us, &mut Vec::new());
    }
    hub.restart_source(source, START, &mut Vec::new());
    let exported = hub.export(START).expect("all matches were removed");
    assert!(!exported.removed.is_empty() && !exported.signals.is_empty());
    let signals = exported.signals.iter().map(|it| (it.id, Arc::clone(it))).collect();
    let unwritten =
        Unwritten { removed: exported.removed.clone(), signals, ..Unwritten::default() };
    let mut state = Vec::new();
    hub.save_with(&unwritten, &mut state);
    assert!(hub.export(START).is_none(), "the hub that was saved does not make them again");
    let mut restored =
        Hub::restore(&state, hub.settings(), PublicIds::default()).expect("it was saved");
    let again = restored.export(START).expect("it has what is not written");
    assert_eq!(again.signals, exported.signals);
    let records = |removed| LiveRecords::default().apply(removed).evicted;
    assert_eq!(records(again.removed), records(exported.removed));
}

#[test]
fn hub_without_exports_notes_nothing() {
    let (mut hub, source) = new_hub(0);
    hub.stop_exports();
    for Timed { clock_us, batch } in Simulator::new(5, START).take(5_000) {
        hub.apply(source, &batch, clock_us, clock_us, &mut Vec::new());
    }
    hub.restart_source(source, START, &mut Vec::new());
    assert!(hub.export(START).is_none());
}

#[test]
fn records_of_a_simulated_day_survive_json() {
    let records = records(Simulator::new(5, START).take(20_000));
    assert!(records.len() > 10, "only {} matches", records.len());
    for record in &records {
        check_json(record);
    }
    let any = |wanted: fn(&PlayRecord) -> bool| records.iter().any(|it| wanted(&it.play));
    assert!(any(|play| matches!(play, PlayRecord::Football(it) if !it.incidents.is_empty())));
    assert!(any(|play| matches!(play, PlayRecord::Tennis(it) if !it.points.is_empty())));
    assert!(records.iter().any(|it| !it.prices.is_empty()), "no prices");
}

#[test]
fn football_record_has_details_line_ups_and_players() {
    let record = record(&[
        r#"{"sport":"football","match":"m","fact":{"fixture":{"competition":{"name":"Cup","season":"2026"},"sides":[{"name":"A"},{"name":"B"}]}}}"#,
        r#"{"sport":"football","match":"m","fact":{"about":{"round":3,"group":"Group A","country":"GB","venue":{"name":"Park","city":"Town"},"referee":{"name":"R"},"away_coach":{"name":"C"},"attendance":9}}}"#,
        r#"{"sport":"football","match":"m","fact":{"football":{"status":"first_half"}}}"#,
        r#"{"sport":"football","match":"m","fact":{"football":{"line_up":{"side":"away","formation":"4-3-3","players":[{"player":{"name":"P"},"number":1,"position":"goalkeeper","starter":true,"captain":true}]}}}}"#,
        r#"{"sport":"football","match":"m","fact":{"football":{"player_stats":{"side":"away","player":{"name":"P"},"values":{"saves":2}}}}}"#,
        r#"{"sport":"football","match":"m","fact":{"football":{"player_stats":{"side":"away","player":{"name":"P"},"values":{"saves":3,"touches":9}}}}}"#,
    ]);
    assert_eq!(record.summary.status, Status::FirstHalf);
    assert_eq!((record.summary.round, record.summary.attendance), (Some(3), Some(9)));
    assert_eq!(record.summary.venue, record.names.venue.as_ref().map(|it| it.id));
    assert_eq!(record.names.city.as_deref(), Some("Town"));
    assert_eq!(record.names.coaches[1].as_ref().map(|it| &*it.name), Some("C"));
    let PlayRecord::Football(football) = &record.play else { panic!("{:?}", record.play) };
    let line_up = football.line_ups[1].as_ref().expect("a line-up");
    assert_eq!((line_up.formation.as_deref(), line_up.players.len()), (Some("4-3-3"), 1));
    assert_eq!(line_up.players[0].position.as_deref(), Some("G"));
    let values: Vec<_> = football.players[0].values.iter().map(|(k, n)| (&**k, *n)).collect();
    assert_eq!(values, [("saves", 3), ("touches", 9)]);
}

/// A line about the play, at these seconds after [`START`] if a time is stated: a status, or a fact as JSON.
fn play_line(seconds: Option<i64>, fact: &str) -> String {
    let at = seconds.map(|seconds| format!(r#""at":{},"#, START + seconds * 1_000_000));
    let at = at.unwrap_or_default();
    let fact = match fact.starts_with('{') {
        true => fact.to_owned(),
        false => format!(r#"{{"status":"{fact}"}}"#),
    };
    format!(r#"{{{at}"sport":"football","match":"m","fact":{{"football":{fact}}}}}"#)
}

const TWO_SIDES: &str =
    r#"{"sport":"football","match":"m","fact":{"fixture":{"sides":[{"name":"A"},{"name":"B"}]}}}"#;

/// The starts of periods in a record, in seconds after [`START`].
fn period_starts(record: &MatchRecord) -> Vec<(Period, i64)> {
    let starts = record.summary.period_starts.as_deref();
    let seconds = |(period, at): (&Period, &Micros)| (*period, (at - START) / 1_000_000);
    starts.into_iter().flatten().map(seconds).collect()
}

#[test]
fn period_starts_when_a_source_says_so() {
    use Period::{ExtraFirst, ExtraSecond, FirstHalf, SecondHalf, Shootout};

    #[track_caller]
    fn check(facts: &[(i64, &str)], expected: &[(Period, i64)]) {
        let lines = facts.iter().map(|(at, fact)| play_line(Some(*at).filter(|at| *at >= 0), fact));
        let lines: Vec<_> = [TWO_SIDES.to_owned()].into_iter().chain(lines).collect();
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        assert_eq!(period_starts(&record(&lines)), expected, "{facts:?}");
    }
    let clock = |second: u32| format!(r#"{{"clock":{{"second":{second},"running":true}}}}"#);
    let (kick_off, late) = (clock(0), clock(1_200));
    let stated = |seconds: i64| {
        let at = START + seconds * 1_000_000;
        format!(r#"{{"period_start":{{"period":"first_half","at":{at}}}}}"#)
    };
    let (stated, corrected) = (stated(5), stated(9));

    let halves: [(i64, &str); 4] =
        [(0, "not_started"), (1, "first_half"), (2_800, "half_time"), (3_700, "second_half")];
    check(&halves, &[(FirstHalf, 1), (SecondHalf, 3_700)]);
    let extra: [(i64, &str); 3] =
        [(6_600, "extra_first"), (7_600, "extra_half"), (7_660, "extra_second")];
    let long = [&halves[..], &extra, &[(8_700, "penalties"), (9_300, "finished")]].concat();
    let all: [(Period, i64); 3] = [(FirstHalf, 1), (SecondHalf, 3_700), (ExtraFirst, 6_600)];
    check(&long, &[&all[..], &[(ExtraSecond, 7_660), (Shootout, 8_700)]].concat());
    // The source does not state the time, or has not seen the start.
    check(&[(-1, "not_started"), (-1, "first_half")], &[]);
    check(&[(1, "first_half"), (2_800, "half_time")], &[]);
    check(&[(0, "not_started"), (1_200, "first_half"), (1_200, &*late)], &[]);
    check(&[(0, "not_started"), (3_700, "second_half")], &[]);
    // An interruption, a clock that is set later, and a correction.
    let first: [(i64, &str); 3] = [(0, "not_started"), (1, "first_half"), (1, &*kick_off)];
    let resumed: [(i64, &str); 3] = [(600, "interrupted"), (900, "first_half"), (1_300, &*late)];
    check(&[&first[..], &resumed].concat(), &[(FirstHalf, 1)]);
    check(&[&first[..], &[(10, &*stated)]].concat(), &[(FirstHalf, 5)]);
    check(&[(0, &*stated), (20, "first_half"), (30, &*corrected)], &[(FirstHalf, 9)]);
}

#[test]
fn source_that_takes_over_invents_no_start_of_a_period() {
    let (mut hub, first) = new_hub(0);
    let second = hub.source("second".into(), "events", SourcePolicy::default());
    let health = |hub: &mut Hub, source, feed, seconds: i64| {
        let at = START + seconds * 1_000_000;
        hub.set_source_health(source, &Health { feed, why: None }, at, &mut Vec::new());
    };
    health(&mut hub, first, FeedState::Live, 0);
    health(&mut hub, second, FeedState::Live, 0);
    let mut interpreter = Interpreter::new("acme".into());
    let mut tell = |hub: &mut Hub, source, line: &str| {
        let Timed { batch, clock_us } =
            interpreter.line(line.as_bytes(), START).expect("a line").timed;
        assert_eq!(hub.apply(source, &batch, clock_us, clock_us, &mut Vec::new()), []);
    };
    for source in [first, second] {
        tell(&mut hub, source, TWO_SIDES);
    }
    tell(&mut hub, first, &play_line(Some(0), "not_started"));
    tell(&mut hub, first, &play_line(Some(1), "first_half"));
    tell(&mut hub, second, &play_line(Some(3_900), "second_half"));
    health(&mut hub, first, FeedState::Down, 4_000);
    tell(&mut hub, second, &play_line(Some(6_600), "extra_first"));
    let records = LiveRecords::default().apply(hub.take_changed(START)).records;
    assert_eq!(records[0].summary.status, Status::ExtraFirst);
    let expected = [(Period::FirstHalf, 1), (Period::ExtraFirst, 6_600)];
    assert_eq!(period_starts(&records[0]), expected);
}

#[test]
fn tennis_record_has_sets_and_winner() {
    let record = record(&[
        r#"{"sport":"tennis","match":"m","fact":{"fixture":{"sides":[{"name":"A"},{"name":"B"}]}}}"#,
        r#"{"sport":"tennis","match":"m","fact":{"about":{"surface":"grass","best_of":3}}}"#,
        r#"{"sport":"tennis","match":"m","fact":{"tennis":{"status":"finished"}}}"#,
        r#"{"sport":"tennis","match":"m","fact":{"tennis":{"score":{"sets":[{"games":[6,4]},{"games":[7,6],"tie_break":[7,3]}],"points":140,"winner":"p1"}}}}"#,
    ]);
    assert_eq!(record.summary.score, Some([2, 0]));
    assert_eq!((record.summary.winner, record.summary.best_of), (Some(0), Some(3)));
    assert_eq!(record.summary.parts, [[6, 4], [7, 6]]);
    assert_eq!(record.names.surface.as_deref(), Some("grass"));
}

#[test]
fn scoreboards_and_races_are_exported() {
    let board = record(&[
        r#"{"sport":"hockey","match":"m","fact":{"fixture":{"sides":[{"name":"A"},{"name":"B"}]}}}"#,
        r#"{"sport":"hockey","match":"m","fact":{"scoreboard":{"status":"live","score":[2,1],"periods":[[1,0],[1,1]],"period":"p2"}}}"#,
    ]);
    assert_eq!((board.summary.status, board.summary.score), (Status::Live, Some([2, 1])));
    let race = record(&[
        r#"{"sport":"horseracing","match":"r","fact":{"fixture":{}}}"#,
        r#"{"sport":"horseracing","match":"r","fact":{"race":{"status":"off","runners":[{"runner":{"name":"Red Rum"},"number":8,"jockey":"B. Fletcher","status":"active","position":1}]}}}"#,
    ]);
    let PlayRecord::Race(play) = &race.play else { panic!("{:?}", race.play) };
    assert_eq!(
        (race.summary.status, play.runners[0].jockey.as_deref()),
        (Status::Live, Some("B. Fletcher"))
    );
}

#[test]
fn older_record_fills_missing_values() {
    let fixture = r#"{"sport":"football","match":"m","fact":{"fixture":{"sides":[{"name":"A"},{"name":"B"}]}}}"#;
    let about = r#"{"sport":"football","match":"m","fact":{"about":{"referee":{"name":"R"}}}}"#;
    let score = r#"{"sport":"football","match":"m","fact":{"football":{"score":{"goals":[2,1]}}}}"#;
    let status = |status: &str| {
        format!(
            r#"{{"sport":"football","match":"m","fact":{{"football":{{"status":"{status}"}}}}}}"#
        )
    };
    let price = |at: i64, price: &str| {
        let event = |change: &str| {
            let odds = format!(r#"{{"book":"b","market":"1","change":{change}}}"#);
            format!(r#"{{"at":{at},"sport":"football","match":"m","fact":{{"odds":{odds}}}}}"#)
        };
        let define = r#"{"define":{"kind":"match_winner","status":"open","selections":[{"id":"h","status":"active","outcome":"home"}]}}"#;
        let prices = format!(r#"{{"prices":{{"selections":[{{"id":"h","price":"{price}"}}]}}}}"#);
        [event(define), event(&prices)]
    };
    let [define, late] = price(START + 2, "2.1");
    let earlier = record(&[fixture, about, &status("finished"), score, &define, &late]);
    let [define, early] = price(START + 1, "2.5");
    let mut later = record(&[fixture, &status("not_started"), &define, &early]);
    later.fill_from(&earlier);
    assert_eq!((later.summary.status, later.summary.score), (Status::Finished, Some([2, 1])));
    assert_eq!(later.summary.referee, earlier.summary.referee);
    let price_before = later.prices.iter().find(|it| &*it.bookmaker == "b").expect("a price");
    assert_eq!(
        price_before.price.map(|it| it.to_string()).as_deref(),
        Some("2.1"),
        "the later one stays"
    );
    let before = later.clone();
    later.fill_from(&earlier);
    assert_eq!(later, before, "filling twice changes nothing");
}

/// Readers over HTTP mask such prices until the export has them.
#[test]
fn suspension_withdraws_the_prices_of_its_match_and_no_offer_those_of_its_book() {
    let (mut hub, source) = new_hub(0);
    let mut interpreter = Interpreter::new("acme".into());
    let mut withdrawn_by = |fact: &str| -> Vec<Withdrawal> {
        let line = format!(r#"{{"sport":"football","match":"m","fact":{fact}}}"#);
        let read = interpreter.line(line.as_bytes(), START);
        let Timed { clock_us, batch } = read.unwrap_or_else(|it| panic!("{it}: {line}")).timed;
        let mut changes = Vec::new();
        assert_eq!(hub.apply(source, &batch, clock_us, clock_us, &mut changes), []);
        changes.iter().filter_map(withdrawn).collect()
    };
    let market = |status: &str| {
        format!(
            r#"{{"odds":{{"book":"b","market":"1","change":{{"define":{{"kind":"match_winner","status":"{status}","selections":[{{"id":"h","status":"active","outcome":"home"}}]}}}}}}}}"#
        )
    };
    let price = |price: &str| {
        format!(
            r#"{{"odds":{{"book":"b","market":"1","change":{{"prices":{{"selections":[{{"id":"h","price":"{price}"}}]}}}}}}}}"#
        )
    };
    withdrawn_by(r#"{"fixture":{"sides":[{"name":"A"},{"name":"B"}]}}"#);
    withdrawn_by(&market("open"));
    withdrawn_by(&price("2.5"));
    let of_book =
        |withdrawn: &[Withdrawal]| withdrawn.iter().any(|it| it.bookmaker.as_deref() == Some("b"));
    let moved = withdrawn_by(&price("2.6"));
    assert!(!of_book(&moved), "a price that moves is not withdrawn: {moved:?}");
    // On an exchange nobody lays the last price any more.
    let ladder = |size: u32| {
        format!(
            r#"{{"odds":{{"book":"b","market":"2","change":{{"prices":{{"selections":[{{"id":"h","back":[["2.5","{size}"]]}}]}}}}}}}}"#
        )
    };
    withdrawn_by(&market("open").replace(r#""market":"1""#, r#""market":"2""#));
    withdrawn_by(&ladder(10));
    assert!(!of_book(&withdrawn_by(&ladder(20))), "a size that changes is not withdrawn");
    let none = withdrawn_by(&ladder(0));
    assert!(of_book(&none), "{none:?}");
    let suspended = withdrawn_by(&market("suspended"));
    assert!(suspended.iter().any(|it| it.bookmaker.is_none()), "{suspended:?}");
}
