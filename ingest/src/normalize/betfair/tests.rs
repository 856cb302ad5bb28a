//! Lines in, facts out, written down in short.

mod terms;

use std::fmt::Write;

use facts::event::{About, Level, MarketDefinition, RaceRunner, SelectionChange, Sport};
use proptest::{collection::vec, prelude::*, sample::Index};

use super::*;

/// Plays lines to one normaliser and compares what it says.
#[derive(Default)]
struct Feed(Normalizer);

impl Feed {
    /// `expected` has a fact a line, then the notices.
    fn check(&mut self, message: &str, expected: &str) {
        let line = format!(r#"{{"op":"mcm",{message}}}"#);
        let normalized = self.0.line(line.as_bytes()).expect("the line is usable");
        let found = normalized.map(|normalized| text(&normalized)).unwrap_or_default();
        let expected: Vec<_> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        assert_eq!(found, expected, "{line}");
    }

    /// Defines a market in which runner 7 is up against 8.
    fn open(&mut self, market: &str) {
        let line = format!(r#"{{"op":"mcm","mc":[{}]}}"#, definition(market, "OPEN", ""));
        self.0.line(line.as_bytes()).expect("the line is usable");
    }
}

/// A market change with a definition of a tennis match; `more` are further fields of the change.
pub(super) fn definition(market: &str, status: &str, more: &str) -> String {
    format!(
        r#"{{"id":"{market}","marketDefinition":{{"eventId":"30","eventTypeId":"2",
        "marketType":"MATCH_ODDS","bettingType":"ODDS","status":"{status}","inPlay":true,
        "runners":[{{"id":7,"status":"ACTIVE","sortPriority":1}},
        {{"id":8,"status":"ACTIVE","sortPriority":2}}]}}{more}}}"#
    )
}

/// Price changes of one market, with `runners` in Betfair's own words.
pub(super) fn prices(market: &str, runners: &str) -> String {
    format!(r#""mc":[{{"id":"{market}","rc":[{runners}]}}]"#)
}

fn text(normalized: &Normalized) -> Vec<String> {
    let facts = normalized.batch.events.iter().map(fact);
    let notices = normalized.notices.iter().map(|n| format!("! {} {}", n.kind.as_str(), n.reason));
    facts.chain(notices).collect()
}

pub(super) fn fact(event: &Event) -> String {
    let odds = match &event.fact {
        Fact::Odds(odds) => odds,
        Fact::Fixture(fixture) => {
            let sides = fixture.sides.as_ref().map(|sides| sides.each_ref().map(|s| &*s.name));
            let sides = sides.map(|sides| format!(" {}", sides.join(" v "))).unwrap_or_default();
            let start = fixture.start.map(|start| format!(" {start}")).unwrap_or_default();
            return format!("{} {}{start}{sides}", event.sport.as_str(), fixture.provider_key);
        }
        Fact::About(about) => {
            let About { round_name, distance, venue, country, .. } = &**about;
            let venue = venue.as_ref().map(|venue| &venue.name);
            let parts = [round_name.as_ref(), distance.as_ref(), venue, country.as_ref()];
            return format!("about {}", parts.map(|it| it.map_or("-", |it| &**it)).join(" | "));
        }
        Fact::Race(race) => {
            let runner = |entrant: &RaceRunner| {
                let number = entrant.number.map(|number| format!("#{number}")).unwrap_or_default();
                let position = entrant.position.map(|position| format!(" {position}"));
                let (name, status) = (&entrant.participant.name, entrant.status.as_str());
                format!(", {name}{number} {status}{}", position.unwrap_or_default())
            };
            let runners: String = race.runners.iter().map(runner).collect();
            return format!("race {}{runners}", race.status.as_str());
        }
        other => panic!("Betfair emits no {other:?}"),
    };
    let change = match &odds.change {
        MarketChange::Clear => " clear".to_owned(),
        MarketChange::Define(definition) => defined(definition),
        MarketChange::Prices { selections, volume } => {
            let volume = volume.map(|volume| format!(" volume {volume}")).unwrap_or_default();
            volume + &selections.iter().map(change).collect::<String>()
        }
    };
    format!("{}{change}", odds.market)
}

fn defined(definition: &MarketDefinition) -> String {
    let mut text = format!(" {} {:?}", definition.kind, definition.status);
    let line = definition.line.map(|line| line.to_string());
    for part in [line.as_deref(), definition.period.as_deref()].into_iter().flatten() {
        write!(text, " {part}").expect("strings take all");
    }
    for selection in &definition.selections {
        let outcome = selection.outcome.map_or("-", |outcome| outcome.as_str());
        write!(text, " {}:{outcome}", selection.id).expect("strings take all");
    }
    text
}

fn change(change: &SelectionChange) -> String {
    let mut text = format!(" | {}", change.id);
    let numbers = [
        ("last", change.last),
        ("volume", change.volume),
        ("near", change.near_price),
        ("far", change.far_price),
    ];
    for (name, number) in numbers {
        let number = number.map(|number| format!(" {name} {number}"));
        text += &number.unwrap_or_default();
    }
    for (name, ladder) in [("back", &change.back), ("lay", &change.lay), ("traded", &change.traded)]
    {
        let rungs = ladder.iter().map(|Level { price, size }| format!(" {price}x{size}"));
        let rungs: String = rungs.collect();
        text += &if rungs.is_empty() { rungs } else { format!(" {name}{rungs}") };
    }
    text
}

#[test]
fn definition_comes_after_its_match() {
    let football =
        r#""eventTypeId":"1","eventName":"Ayr v Bute ","openDate":"2020-05-02T09:00:00.000Z"#;
    let runners = r#"{"id":5,"sortPriority":2,"status":"ACTIVE"},
        {"id":58805,"sortPriority":3,"status":"ACTIVE"},
        {"id":4,"sortPriority":1,"status":"ACTIVE"}"#;
    Feed::default().check(
        &format!(
            r#""pt":1,"mc":[{{"id":"1.2","marketDefinition":{{"eventId":"30",{football}",
            "marketType":"MATCH_ODDS","bettingType":"ODDS","status":"OPEN",
            "runners":[{runners}]}}}}]"#
        ),
        "football 30 1588410000000000 Ayr v Bute
         1.2 match_winner Open 5:away 58805:draw 4:home",
    );
}

#[test]
fn fixture_is_emitted_again_only_when_it_changes() {
    let mut feed = Feed::default();
    let define = |market: &str, more: &str| {
        format!(
            r#""mc":[{{"id":"{market}","marketDefinition":{{"eventId":"30","eventTypeId":"4",
            "status":"OPEN",{more}"name":"To Be Placed"}}}}]"#
        )
    };
    feed.check(&define("1.2", ""), "cricket 30\n1.2 to_be_placed Open");
    feed.check(&define("1.3", ""), "1.3 to_be_placed Open");
    let time = r#""marketTime":"1970-01-01T00:00:02.000Z","#;
    feed.check(&define("1.3", time), "cricket 30 2000000\n1.3 to_be_placed Open");
    let time = r#""marketTime":"1970-01-01T00:00:03.000Z","#;
    feed.check(&define("1.3", time), "1.3 to_be_placed Open");
    let time = r#""openDate":"1970-01-01T00:00:01.000Z","#;
    feed.check(&define("1.2", time), "cricket 30 1000000\n1.2 to_be_placed Open");
    feed.check(
        &define("1.2", r#""openDate":"tomorrow","#),
        "1.2 to_be_placed Open\n! value openDate is no time in UTC",
    );
}

#[test]
fn sport_of_a_match_never_changes() {
    let mut feed = Feed::default();
    feed.open("1.2");
    let football =
        definition("1.3", "OPEN", "").replace(r#""eventTypeId":"2""#, r#""eventTypeId":"1""#);
    let line =
        format!(r#"{{"op":"mcm","mc":[{football},{{"id":"1.2","rc":[{{"id":7,"ltp":2}}]}}]}}"#);
    let normalized = feed.0.line(line.as_bytes()).unwrap().unwrap();
    assert!(normalized.batch.events.iter().all(|event| event.sport == Sport::Tennis), "{line}");
    let reasons: Vec<_> = normalized.notices.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(reasons, ["event 30 was reported as tennis, not football"]);
}

#[test]
fn price_ladders_are_emitted_in_message_order() {
    let mut feed = Feed::default();
    feed.open("1.2");
    feed.check(
        &prices(
            "1.2",
            r#"{"id":7,"atb":[[2.5,10.0],[2.50,0]],"ltp":2.50},{"id":7,"atl":[[1e1,1]]}"#,
        ),
        "1.2 | 7 last 2.5 back 2.5x10 2.5x0 | 7 lay 10x1",
    );
    feed.check(
        &prices("1.2", r#"{"id":8,"hc":-0.0,"trd":[[2,3]],"tv":3}"#),
        "1.2 | 8 volume 3 traded 2x3",
    );
}

#[test]
fn one_message_may_change_a_market_twice() {
    let mut feed = Feed::default();
    feed.open("1.2");
    let again = definition("1.2", "SUSPENDED", r#","rc":[]"#);
    feed.check(
        &format!(r#""mc":[{again},{{"id":"1.2","rc":[{{"id":7,"ltp":2}}],"tv":9}}]"#),
        "1.2 match_winner Suspended 7:p1 8:p2
         1.2 volume 9 | 7 last 2",
    );
}

#[test]
fn images_clear_earlier_prices() {
    let mut feed = Feed::default();
    feed.check(
        &format!(r#""ct":"SUB_IMAGE","mc":[{}]"#, definition("1.2", "OPEN", "")),
        "tennis 30\n1.2 clear\n1.2 match_winner Open 7:p1 8:p2",
    );
    feed.check(&prices("1.2", r#"{"id":7,"batb":[[0,2,1],[1,1.9,5]]}"#), "1.2 | 7 back 2x1 1.9x5");
    feed.check(
        r#""mc":[{"id":"1.2","img":true,"rc":[{"id":7,"batb":[[0,2,1]]}]}]"#,
        "1.2 clear\n1.2 | 7 back 2x1",
    );
    feed.check(&prices("1.2", r#"{"id":7,"batb":[[1,2,1],[0,3,1]]}"#), "1.2 | 7 back 3x1");
}

#[test]
fn last_price_and_volume_outlast_the_wipe() {
    let mut feed = Feed::default();
    feed.open("1.2");
    feed.check(&prices("1.2", r#"{"id":8,"ltp":4,"tv":0}"#), "1.2 | 8 last 4 volume 0");
    feed.check(&prices("1.2", r#"{"id":7,"ltp":1.01,"tv":50}"#), "1.2 | 7 last 1.01 volume 50");
    let wipe = r#"{"id":7,"trd":[[1.01,0]],"ltp":2,"tv":0.0}"#;
    feed.check(&prices("1.2", wipe), "1.2 | 7 volume 50");
    feed.check(&prices("1.2", r#"{"id":7,"ltp":2}"#), "");
    feed.check(
        r#""mc":[{"id":"1.2","img":true,"rc":[{"id":7,"ltp":2,"tv":0}]}]"#,
        "1.2 clear\n1.2 | 7 volume 50",
    );
    feed.check(&prices("1.2", r#"{"id":7,"ltp":3,"tv":1}"#), "1.2 | 7 last 3 volume 1");
}

#[test]
fn wipe_is_detected_in_the_message_that_closes_the_market() {
    let mut feed = Feed::default();
    feed.open("1.2");
    feed.check(&prices("1.2", r#"{"id":7,"ltp":1.01,"tv":50}"#), "1.2 | 7 last 1.01 volume 50");
    let closed = definition("1.2", "CLOSED", "");
    feed.check(
        &format!(r#""mc":[{closed},{{"id":"1.2","rc":[{{"id":7,"ltp":9.6,"tv":0}}]}}]"#),
        "1.2 match_winner Closed 7:p1 8:p2\n1.2 | 7 volume 50",
    );
}

#[test]
fn volume_of_a_market_outlasts_the_wipe() {
    let mut feed = Feed::default();
    feed.open("1.2");
    let volume = |tv: &str| format!(r#""mc":[{{"id":"1.2","tv":{tv}}}]"#);
    feed.check(&volume("0"), "1.2 volume 0");
    feed.check(&volume("52.5"), "1.2 volume 52.5");
    feed.check(&volume("0.0"), "1.2 volume 52.5");
    let closed = definition("1.2", "CLOSED", r#","img":true,"tv":0"#);
    feed.check(
        &format!(r#""mc":[{closed}]"#),
        "1.2 clear\n1.2 match_winner Closed 7:p1 8:p2\n1.2 volume 52.5",
    );
}

/// Sides and outcomes of the market of who wins, by event type and name; Betfair sorts the first named runner first.
#[test]
fn match_winner_has_sides_and_outcomes_in_every_sport() {
    for (event_type, name, expected) in [
        ("1", "Ayr v Bute", "football 30 Ayr v Bute; 4:- 5:-"),
        ("2", "Ann v Bea", "tennis 30 Ann v Bea; 4:p1 5:p2"),
        ("3503", "Ann v Bea", "darts 30 Ann v Bea; 4:home 5:away"),
        ("7522", "Bulls @ Jazz", "basketball 30 Jazz v Bulls; 4:away 5:home"),
        ("7522", "Real v Barca", "basketball 30 Real v Barca; 4:home 5:away"),
        ("7524", "Ducks @ Kings", "hockey 30 Kings v Ducks; 4:away 5:home"),
        ("4", "Kent v Surrey", "cricket 30 Kent v Surrey; 4:home 5:away"),
        // American football, baseball, esports: of a sport that we have no word for.
        ("6423", "Bears @ Jets", "other 30 Jets v Bears; 4:away 5:home"),
        ("7511", "Cubs @ Mets", "other 30 Mets v Cubs; 4:away 5:home"),
        ("27454571", "CS2 - Navi v Faze", "other 30 CS2 - Navi v Faze; 4:home 5:away"),
        ("27454571", "Major Winner", "other 30; 4:- 5:-"),
    ] {
        let line = format!(
            r#"{{"op":"mcm","mc":[{{"id":"1.2","marketDefinition":{{"eventId":"30",
            "eventTypeId":"{event_type}","eventName":"{name}","marketType":"MATCH_ODDS",
            "bettingType":"ODDS","status":"OPEN","runners":[
            {{"id":4,"sortPriority":1,"status":"ACTIVE"}},
            {{"id":5,"sortPriority":2,"status":"ACTIVE"}}]}}}}]}}"#
        );
        let normalized = Normalizer::default().line(line.as_bytes()).unwrap().unwrap();
        let found = text(&normalized).join("; ").replace("1.2 match_winner Open ", "");
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn closed_markets_are_forgotten_until_they_are_defined_again() {
    let mut feed = Feed::default();
    feed.open("1.2");
    feed.check(
        &format!(r#""mc":[{}]"#, definition("1.2", "CLOSED", "")),
        "1.2 match_winner Closed 7:p1 8:p2",
    );
    assert!(feed.0.markets.is_empty() && feed.0.matches.is_empty());
    feed.check(&prices("1.2", r#"{"id":7,"ltp":2}"#), "! unknown market 1.2 was never defined");
    feed.check(
        &format!(r#""mc":[{}]"#, definition("1.2", "OPEN", "")),
        "tennis 30\n1.2 match_winner Open 7:p1 8:p2",
    );
}

#[test]
fn unknown_market_leaves_the_rest_of_the_message() {
    let mut feed = Feed::default();
    feed.open("1.2");
    feed.check(
        r#""mc":[{"id":"1.9","rc":[{"id":7,"ltp":2}]},{"id":"1.2","rc":[{"id":7,"ltp":3}]}]"#,
        "1.2 | 7 last 3\n! unknown market 1.9 was never defined",
    );
    feed.check(
        r#""mc":[{"id":"1.8","marketDefinition":{"status":"OPEN"}}]"#,
        "! value market 1.8 is defined without an eventId",
    );
}

#[test]
fn decreasing_time_is_reported_and_the_message_used() {
    let mut feed = Feed::default();
    feed.open("1.2");
    let at = |pt: i64| format!(r#""pt":{pt},{}"#, prices("1.2", r#"{"id":7,"ltp":2}"#));
    feed.check(&at(5), "1.2 | 7 last 2");
    feed.check(&at(5), "1.2 | 7 last 2");
    feed.check(&at(3), "1.2 | 7 last 2\n! time_backwards pt falls by 2000 us to 3000");
    feed.check(&at(4), "1.2 | 7 last 2");
    feed.check(&at(i64::MAX), "1.2 | 7 last 2\n! value pt 9223372036854775807 is out of range");
}

#[test]
fn messages_without_content_emit_nothing() {
    let mut feed = Feed::default();
    feed.open("1.2");
    feed.check(r#""ct":"HEARTBEAT","pt":1"#, "");
    feed.check(r#""pt":1,"mc":[]"#, "");
}

#[test]
fn projected_starting_prices_are_emitted() {
    let mut feed = Feed::default();
    feed.open("1.2");
    let projected = prices("1.2", r#"{"id":7,"spn":2.1,"spf":1.95}"#);
    feed.check(&projected, "1.2 | 7 near 2.1 far 1.95");
    let none = prices("1.2", r#"{"id":7,"spn":"NaN","spf":"Infinity"}"#);
    feed.check(&none, "1.2 | 7 near 0 far 0");
}

#[test]
fn invalid_price_is_reported_and_still_counted() {
    let mut feed = Feed::default();
    feed.open("1.2");
    let line = format!(r#"{{"op":"mcm",{}}}"#, prices("1.2", r#"{"id":7,"atb":[[1e40,1],[2,1]]}"#));
    let normalized = feed.0.line(line.as_bytes()).expect("it is usable").expect("it has content");
    assert_eq!(normalized.batch.price_changes, 2);
    assert_eq!(
        text(&normalized),
        ["1.2 | 7 back 2x1", "! value [price, size] 1e40 does not fit a decimal"]
    );
}

#[test]
fn unknown_statuses_are_not_open() {
    let line = definition("1.2", "PAUSED", "").replacen("ACTIVE", "RESTING", 1);
    Feed::default().check(
        &format!(r#""mc":[{line}]"#),
        "tennis 30
         1.2 match_winner Suspended 7:p1 8:p2
         ! value market status PAUSED is not known
         ! value runner status RESTING is not known",
    );
}

#[test]
fn open_markets_are_limited() {
    let mut feed = Feed::default();
    (0..MARKETS_MAX).for_each(|market| feed.open(&market.to_string()));
    feed.check(
        &format!(r#""mc":[{}]"#, definition("x", "OPEN", "")),
        "! unknown market x is one more than 10000",
    );
    feed.check(&prices("7", r#"{"id":7,"ltp":2}"#), "7 | 7 last 2");
}

#[test]
fn runners_of_a_market_are_limited() {
    let mut feed = Feed::default();
    feed.open("1.2");
    let runners: Vec<_> = (0..3000).map(|id| format!(r#"{{"id":{id},"tv":1}}"#)).collect();
    let line = format!(r#"{{"op":"mcm",{}}}"#, prices("1.2", &runners.join(",")));
    let normalized = feed.0.line(line.as_bytes()).expect("it is usable").expect("it has content");
    assert_eq!(normalized.notices.len(), REFUSED_MAX);
    assert_eq!(feed.0.markets["1.2"].runners_known(), market::RUNNERS_MAX);
}

/// Lines that hold all that the format has, for the mutations below.
pub(super) fn seeds() -> Vec<String> {
    let all = r#"{"id":7,"hc":-0.5,"atb":[[1.5,2]],"atl":[[1.6,0]],"trd":[[1.5,9]],"ltp":1.5,"tv":9,
        "batb":[[0,1.5,2]],"batl":[[1,1.6,0]],"bdatb":[[2,1.5,2]],"bdatl":[[0,1.6,2]]}"#;
    let defined = definition("1.2", "OPEN", &format!(r#","img":true,"tv":3,"rc":[{all}]"#));
    let message = format!(r#"{{"op":"mcm","pt":1,"clk":"a","ct":"SUB_IMAGE","mc":[{defined}]}}"#);
    vec![message, format!(r#"{{"op":"mcm","pt":2,{}}}"#, prices("1.2", all))]
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(lines in vec(any::<Vec<u8>>(), 0..4)) {
        let mut normalizer = Normalizer::default();
        for line in lines {
            let _normalized = normalizer.line(&line);
        }
    }

    #[test]
    fn broken_lines_do_not_panic(
        damage in vec((0..2_usize, any::<Index>(), any::<u8>(), 0..4_usize), 1..6),
    ) {
        let mut normalizer = Normalizer::default();
        let mut lines: Vec<_> = seeds().into_iter().map(String::into_bytes).collect();
        for (line, index, byte, cut) in damage {
            let line = &mut lines[line];
            let at = index.index(line.len());
            let end = line.len().min(at + cut);
            line.splice(at..end, (cut != 1).then_some(byte));
        }
        for line in &lines {
            let _normalized = normalizer.line(line);
        }
    }
}
