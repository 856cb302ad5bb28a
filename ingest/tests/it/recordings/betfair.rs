//! The recorded Betfair streams, line by line through the normaliser, against their answer sheets.
//!
//! The sheets were computed from the raw files with other tools. The cache here knows nothing of
//! Betfair: it applies facts as any receiver would.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::PathBuf,
    sync::Arc,
};

use data_encoding::HEXLOWER;
use facts::event::{
    Event, Fact, Id, Level, MarketChange, MarketDefinition, MarketStatus, SelectionChange,
    SelectionStatus,
};
use ingest::normalize::betfair::Normalizer;
use rust_decimal::Decimal;
use serde_json::Value;
use sha2::{Digest, Sha256};

#[test]
fn football_basic() {
    check("football-1-event-77-markets.basic", "bz2");
}

#[test]
fn football_live() {
    check("football-200-markets.live", "bz2");
}

#[test]
fn tennis_pro() {
    check("tennis-29788105.pro", "jsonl.gz");
}

#[test]
fn tennis_pro_with_four_markets() {
    check("tennis-29788457-4-markets.pro", "jsonl.gz");
}

#[test]
fn tennis_basic() {
    check("tennis-1.223716976.basic", "bz2");
}

#[test]
fn racing_live() {
    check("racing-1.241629436.live", "jsonl.gz");
}

/// The racing stream contains full ladders and the best three levels. Without the ladders, the
/// levels must become prices; a table of levels built from the raw lines has the expected ones.
#[test]
fn levels_without_ladders_become_prices() {
    let Some(lines) = recording("racing-1.241629436.live", "jsonl.gz") else { return };
    let (mut normalizer, mut collected) = (Normalizer::default(), Collector::default());
    let mut tables = LevelTables::new();
    for line in lines {
        let mut message: Value = serde_json::from_str(&line).expect("the recording is JSON");
        for runner in runner_changes(&mut message) {
            runner.remove("atb");
            runner.remove("atl");
            keep_levels(&mut tables, runner);
        }
        collected.line(&mut normalizer, &message.to_string());
        let market = collected.markets.values().next().expect("it was defined");
        for ((id, side), table) in &tables {
            let runner = &market.runners[id.as_str()];
            let ladder = if side == "batb" { &runner.back } else { &runner.lay };
            let expected: BTreeMap<_, _> = table.values().copied().collect();
            assert_eq!(ladder, &expected, "{side} of {id} after {line}");
        }
    }
    assert_eq!(tables.len(), 18, "both sides of nine runners");
}

/// The content of each level, for a runner and a side.
type LevelTables = BTreeMap<(String, String), BTreeMap<u64, (Decimal, Decimal)>>;

type Object = serde_json::Map<String, Value>;

fn runner_changes(message: &mut Value) -> impl Iterator<Item = &mut Object> {
    let markets = message["mc"].as_array_mut().into_iter().flatten();
    let runners = markets.filter_map(|market| market.get_mut("rc")?.as_array_mut()).flatten();
    runners.filter_map(Value::as_object_mut)
}

fn keep_levels(tables: &mut LevelTables, runner: &Object) {
    for side in ["batb", "batl"] {
        for row in runner.get(side).and_then(Value::as_array).into_iter().flatten() {
            let table = tables.entry((runner["id"].to_string(), side.to_owned())).or_default();
            let level = row[0].as_u64().expect("a level");
            match decimal(&row[2]) {
                size if size.is_zero() => table.remove(&level),
                size => table.insert(level, (decimal(&row[1]), size)),
            };
        }
    }
}

// ------------------------------------------------------------------------- what was published

/// The state of a receiver of the facts, and how many facts it received.
#[derive(Default)]
struct Collector {
    messages: u64,
    price_changes: u64,
    markets: BTreeMap<Arc<str>, Market>,
}

#[derive(Default)]
struct Market {
    match_id: Option<Id>,
    definition: Option<MarketDefinition>,
    volume: Option<Decimal>,
    runners: BTreeMap<Arc<str>, Runner>,
    counts: BTreeMap<&'static str, u64>,
    transitions: Vec<Transition>,
}

#[derive(Default, Clone)]
struct Runner {
    last: Option<Decimal>,
    volume: Option<Decimal>,
    back: BTreeMap<Decimal, Decimal>,
    lay: BTreeMap<Decimal, Decimal>,
    traded: BTreeMap<Decimal, Decimal>,
}

/// A definition whose status or `in_play` has changed, with the runners as they are after the whole
/// message.
struct Transition {
    pt_ms: i64,
    status: MarketStatus,
    in_play: bool,
    runners: Option<BTreeMap<Arc<str>, Runner>>,
}

impl Collector {
    fn line(&mut self, normalizer: &mut Normalizer, line: &str) {
        self.messages += 1;
        let normalized = normalizer.line(line.as_bytes()).expect("each recorded line is usable");
        let Some(normalized) = normalized else { return };
        assert_eq!(normalized.notices, [], "in {line}");
        assert_eq!(normalized.pt, normalized.batch.at);
        self.price_changes += u64::from(normalized.batch.price_changes);
        let pt_ms = normalized.pt.expect("each recorded line has a time") / 1000;
        normalized.batch.events.iter().for_each(|event| self.event(event, pt_ms));
        for market in self.markets.values_mut() {
            let runners = &market.runners;
            let new = market.transitions.iter_mut().rev().take_while(|new| new.runners.is_none());
            new.for_each(|new| new.runners = Some(runners.clone()));
        }
    }

    fn event(&mut self, event: &Event, pt_ms: i64) {
        let Fact::Odds(odds) = &event.fact else { return };
        assert_eq!(&*odds.book, "betfair");
        let market = self.markets.entry(odds.market.clone()).or_default();
        market.match_id = Some(event.match_id);
        match &odds.change {
            MarketChange::Clear => market.clear(),
            MarketChange::Define(definition) => market.define(definition, pt_ms),
            MarketChange::Prices { selections, volume } => {
                market.count("market_tv_updates", volume.iter().count());
                market.volume = volume.or(market.volume);
                selections.iter().for_each(|change| market.change(change));
            }
        }
    }
}

impl Market {
    fn count(&mut self, what: &'static str, count: usize) {
        *self.counts.entry(what).or_default() += count as u64;
    }

    fn clear(&mut self) {
        self.count("images", 1);
        self.runners.clear();
        self.volume = None;
    }

    fn define(&mut self, definition: &MarketDefinition, pt_ms: i64) {
        self.count("definitions", 1);
        let (status, in_play) = (definition.status, definition.in_play);
        let before = self.definition.as_ref().map(|before| (before.status, before.in_play));
        if before != Some((status, in_play)) {
            self.transitions.push(Transition { pt_ms, status, in_play, runners: None });
        }
        for selection in &definition.selections {
            self.runners.entry(selection.id.clone()).or_default();
        }
        self.definition = Some(definition.clone());
    }

    fn change(&mut self, change: &SelectionChange) {
        self.count("ladder_updates_atb", change.back.len());
        self.count("ladder_updates_atl", change.lay.len());
        self.count("traded_updates", change.traded.len());
        self.count("ltp_updates", change.last.iter().count());
        self.count("runner_tv_updates", change.volume.iter().count());
        let runner = self.runners.get_mut(&change.id).expect("runners are defined first");
        runner.last = change.last.or(runner.last);
        runner.volume = change.volume.or(runner.volume);
        apply(&mut runner.back, &change.back);
        apply(&mut runner.lay, &change.lay);
        apply(&mut runner.traded, &change.traded);
    }
}

fn apply(ladder: &mut BTreeMap<Decimal, Decimal>, changes: &[Level]) {
    for &Level { price, size } in changes {
        match size.is_zero() {
            true => ladder.remove(&price),
            false => ladder.insert(price, size),
        };
    }
}

// -------------------------------------------------------------------------- the answer sheets

fn check(name: &str, ending: &str) {
    let Some(lines) = recording(name, ending) else { return };
    let (mut normalizer, mut collected) = (Normalizer::default(), Collector::default());
    lines.for_each(|line| collected.line(&mut normalizer, &line));
    let sheet = sheet(name);
    assert_eq!(collected.messages, sheet["messages"]);
    assert_eq!(collected.price_changes, sheet["price_changes_total"]);
    let markets = sheet["markets"].as_array().expect("a list of markets");
    assert_eq!(collected.markets.len(), markets.len());
    for expected in markets {
        let market = &collected.markets[expected["market_id"].as_str().expect("an id")];
        check_market(market, expected);
    }
}

fn check_market(market: &Market, expected: &Value) {
    let id = &expected["market_id"];
    let definition = market.definition.as_ref().expect("it was defined");
    let key = match_key(expected);
    assert_eq!(market.match_id, Some(Id::derive("betfair", "match", &key)), "{id}");
    assert_eq!(status_name(definition.status), expected["final_status"], "{id}");
    assert_eq!(definition.in_play, expected["final_in_play"], "{id}");
    assert_eq!(definition.selections.len() as u64, expected["runners_defined"], "{id}");
    check_runners(definition, expected);
    check_counts(market, expected);
    check_transitions(market, expected);
    check_end(market, expected);
}

/// The event, or in racing the race: its event and its off time, as hours and minutes in UTC.
fn match_key(expected: &Value) -> String {
    let event_id = expected["event_id"].as_str().expect("an id");
    let off = expected["market_time_last"].as_str().expect("a time");
    match expected["event_type_id"].as_str() {
        Some("7" | "4339") => format!("{event_id}.{}{}", &off[11..13], &off[14..16]),
        _ => event_id.to_owned(),
    }
}

/// Names and statuses; the sheet omits those of very large markets.
fn check_runners(definition: &MarketDefinition, expected: &Value) {
    let winners = definition.selections.iter().filter(|s| s.status == SelectionStatus::Winner);
    let winners = winners.map(|winner| winner.id.split('@').next().unwrap_or_default().to_owned());
    let expected_winners = list(&expected["winners"]).map(Value::to_string);
    assert_eq!(sorted(winners), sorted(expected_winners), "{}", expected["market_id"]);
    for runner in list(&expected["runners"]) {
        let id = runner_id(runner);
        let ours = definition.selections.iter().find(|ours| *ours.id == id).expect("it is there");
        assert_eq!(ours.name.as_deref(), runner["name"].as_str().map(str::trim), "{id}");
        assert_eq!(selection_status_name(ours.status), runner["status"], "{id}");
    }
}

/// Everything that the sheet counts is reported, except of the wipe the last prices, one for each
/// runner that ends with nothing traded, and what it takes from the traded ladders.
fn check_counts(market: &Market, expected: &Value) {
    for what in [
        "definitions",
        "images",
        "ladder_updates_atb",
        "ladder_updates_atl",
        "traded_updates",
        "ltp_updates",
        "runner_tv_updates",
        "market_tv_updates",
    ] {
        let untold = if what == "ltp_updates" { wiped(expected).count() as u64 } else { 0 };
        let collected = market.counts.get(what).copied().unwrap_or(0);
        let counted = expected["counts"][what].as_u64().unwrap_or(0);
        if what == "traded_updates" && wiped(expected).count() > 0 {
            assert!(collected < counted, "{what} of {}", expected["market_id"]);
            continue;
        }
        assert_eq!(collected + untold, counted, "{what} of {}", expected["market_id"]);
    }
}

fn check_transitions(market: &Market, expected: &Value) {
    let transitions = expected["status_transitions"].as_array().expect("a list");
    assert_eq!(market.transitions.len(), transitions.len(), "{}", expected["market_id"]);
    for (ours, theirs) in market.transitions.iter().zip(transitions) {
        assert_eq!(ours.pt_ms, theirs["pt"]);
        assert_eq!(status_name(ours.status), theirs["status"]);
        assert_eq!(ours.in_play, theirs["in_play"]);
        if let Some(runners) = theirs["runners"].as_array() {
            check_snapshot(ours, runners, expected);
        }
    }
}

fn check_snapshot(ours: &Transition, theirs: &[Value], expected: &Value) {
    let best = |rung: Option<(&Decimal, &Decimal)>| rung.map(|(&price, &size)| [price, size]);
    let rung = |rung: &Value| rung.as_array().map(|rung| [decimal(&rung[0]), decimal(&rung[1])]);
    let runners = ours.runners.as_ref().expect("the message was applied");
    for runner in theirs {
        let id = runner_id(runner);
        let cached = &runners[id.as_str()];
        let last = match ours.status {
            MarketStatus::Closed => last_with_meaning(&id, runner, expected),
            MarketStatus::Inactive | MarketStatus::Open | MarketStatus::Suspended => {
                runner.get("ltp").map(decimal)
            }
        };
        assert_eq!(cached.last, last, "last price of {id} at {}", ours.pt_ms);
        assert_eq!(best(cached.back.last_key_value()), rung(&runner["best_back"]), "{id}");
        assert_eq!(best(cached.lay.first_key_value()), rung(&runner["best_lay"]), "{id}");
    }
    let listed: Vec<_> = theirs.iter().map(runner_id).collect();
    for (id, runner) in runners.iter().filter(|(id, _)| !listed.contains(&id.to_string())) {
        let empty = runner.last.is_none() && runner.back.is_empty() && runner.lay.is_empty();
        assert!(empty, "{id} at {}", ours.pt_ms);
    }
}

/// The sheet's last price for a wiped runner is a meaningless value that Betfair sent at the wipe.
/// The receiver keeps the price before it, which is the one at the last suspension.
fn last_with_meaning(id: &str, at_end: &Value, expected: &Value) -> Option<Decimal> {
    let is_wiped = wiped(expected).any(|wiped| runner_id(wiped) == id);
    let mut suspended = list(&expected["ltp_at_last_suspension"]["runners"]);
    let runner = if is_wiped { suspended.find(|r| runner_id(r) == id) } else { Some(at_end) };
    runner?.get("ltp").map(decimal)
}

/// Runners whose traded amount ends at 0.
fn wiped(expected: &Value) -> impl Iterator<Item = &Value> {
    list(&expected["runner_tv_at_end"]).filter(|runner| decimal(&runner["tv"]).is_zero())
}

fn check_end(market: &Market, expected: &Value) {
    for runner in list(&expected["runner_tv_at_end"]) {
        let id = runner_id(runner);
        let Runner { volume, traded, .. } = &market.runners[id.as_str()];
        let tv = decimal(&runner["tv"]);
        if tv.is_zero() {
            // The wipe before the close: what was traded until then stays.
            let sum: Decimal = traded.values().sum();
            let apart = volume.unwrap_or_default() - sum;
            assert!(!sum.is_zero() && apart.abs() <= Decimal::new(5, 2), "{id}: {volume:?}, {sum}");
        } else {
            assert_eq!(*volume, Some(tv), "{id}");
        }
    }
    for runner in list(&expected["ltp_at_end"]) {
        let id = runner_id(runner);
        let last = last_with_meaning(&id, runner, expected);
        assert_eq!(market.runners[id.as_str()].last, last, "{id}");
    }
    match expected.get("market_tv_at_end").map(decimal) {
        Some(tv) if tv.is_zero() => assert!(market.volume.is_some_and(|volume| !volume.is_zero())),
        tv => assert_eq!(market.volume, tv),
    }
    check_ladders(market, expected);
}

fn check_ladders(market: &Market, expected: &Value) {
    let cache = &expected["cache_at_end"];
    for (side, ladder) in SIDES {
        let rungs = || runners_with(market, side, expected).flat_map(|it| ladder(it.1).iter());
        let levels = cache["levels"][side].as_u64().unwrap_or(0);
        assert_eq!(rungs().count() as u64, levels, "{side} of {}", expected["market_id"]);
        let sum = cache["size_sum"].get(side).map(decimal).unwrap_or_default();
        assert_eq!(rungs().map(|(_, size)| size).sum::<Decimal>(), sum);
    }
    let hash = hash(market, expected);
    assert_eq!(hash.as_deref(), cache["sha256"].as_str(), "{}", expected["market_id"]);
}

/// The runners of which the sheet knows this ladder at the end: a wipe takes what was traded.
fn runners_with<'a>(
    market: &'a Market,
    side: &'a str,
    expected: &Value,
) -> impl Iterator<Item = (&'a Arc<str>, &'a Runner)> {
    let wiped: Vec<_> = wiped(expected).map(runner_id).collect();
    let is_known = move |id: &Arc<str>| side != "trd" || !wiped.iter().any(|wiped| **wiped == **id);
    market.runners.iter().filter(move |(id, _)| is_known(id))
}

type LadderOf = fn(&Runner) -> &BTreeMap<Decimal, Decimal>;

const SIDES: [(&str, LadderOf); 3] = [
    ("atb", |runner| &runner.back),
    ("atl", |runner| &runner.lay),
    ("trd", |runner| &runner.traded),
];

/// The sheet's hash of all ladders: over sorted lines `id|hc|side|price|size`.
fn hash(market: &Market, expected: &Value) -> Option<String> {
    let mut lines = Vec::new();
    for (side, ladder) in SIDES {
        for (id, runner) in runners_with(market, side, expected) {
            let (id, hc) = id.split_once('@').unwrap_or((id, "0"));
            let rungs = ladder(runner).iter();
            lines.extend(rungs.map(|(price, size)| format!("{id}|{hc}|{side}|{price}|{size}\n")));
        }
    }
    lines.sort();
    (!lines.is_empty()).then(|| HEXLOWER.encode(&Sha256::digest(lines.concat())))
}

fn status_name(status: MarketStatus) -> &'static str {
    match status {
        MarketStatus::Inactive => "INACTIVE",
        MarketStatus::Open => "OPEN",
        MarketStatus::Suspended => "SUSPENDED",
        MarketStatus::Closed => "CLOSED",
    }
}

fn selection_status_name(status: SelectionStatus) -> &'static str {
    match status {
        SelectionStatus::Active => "ACTIVE",
        SelectionStatus::Winner => "WINNER",
        SelectionStatus::Loser => "LOSER",
        SelectionStatus::Removed => "REMOVED",
        SelectionStatus::HalfWon | SelectionStatus::HalfLost | SelectionStatus::Push => "NONE",
    }
}

fn runner_id(runner: &Value) -> String {
    match runner.get("hc").map(decimal).filter(|hc| !hc.is_zero()) {
        None => runner["id"].to_string(),
        Some(hc) => format!("{}@{hc}", runner["id"]),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn sorted(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<_> = texts.collect();
    texts.sort();
    texts
}

fn decimal(number: &Value) -> Decimal {
    Decimal::from_str_exact(&number.to_string()).expect("sheets hold plain numbers").normalize()
}

// --------------------------------------------------------------------------------- the files

/// The lines of a recording, or `None`, with a message, if the recordings are missing.
fn recording(name: &str, ending: &str) -> Option<impl Iterator<Item = String>> {
    let path = feeds().join("betfair-stream").join(format!("{name}.{ending}"));
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            skipped();
            return None;
        }
        Err(error) => panic!("{}: {error}", path.display()),
    };
    let plain: Box<dyn Read> = match ending {
        "bz2" => Box::new(bzip2::read::MultiBzDecoder::new(file)),
        _ => Box::new(flate2::read::MultiGzDecoder::new(file)),
    };
    Some(BufReader::new(plain).lines().map(|line| line.expect("the recording is readable")))
}

fn sheet(name: &str) -> Value {
    let path = feeds().join("expected").join(format!("betfair-stream__{name}.json"));
    let text = fs::read(&path).expect("each recording has its answer sheet");
    serde_json::from_slice(&text).expect("answer sheets are JSON")
}

fn feeds() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/feeds"))
}

#[expect(clippy::print_stderr, reason = "reports a skipped test")]
fn skipped() {
    eprintln!("skipped: shared recordings are not here");
}
