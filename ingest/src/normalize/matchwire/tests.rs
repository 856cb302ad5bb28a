//! Frames as `docs/PROTOCOL.md` shows them, and what is made of them.

use facts::event::{
    FootballFact, FootballStatus, GameScore, GoalKind, Id, IncidentKind, MarketStatus, Side, Stat,
    TennisFact, TennisStatus, Timed,
};
use proptest::prelude::*;
use rust_decimal::Decimal;

use super::*;

const RECEIVED: Micros = 1_795_231_975_000_000;

const MATCH: &str = r#"{"type":"image","ch":"football/995504926106813","epoch":"dip7ad","seq":661,"at":{"src":1795185231975839,"in":1795185231975839,"pub":1795185231975839},
 "data":{"id":995504926106813,"sport":"football","life":"live","feed":"live","status":"half_time","stale_after_ms":15000,
  "refs":{"simulator":"1/1795181448486839/6"},
  "competition":{"id":3391832021132677,"name":"Meredon League One"},"start":1795182408486839,
  "home":{"id":2836156863084057,"name":"Keskmere United"},"away":{"id":64374332496538,"name":"Torremmere Racing"},
  "clock":{"at":1795185231975839,"s":2755,"running":false},"score":{"home":0,"away":1,"ht":{"home":0,"away":1}},
  "incidents":{
   "p1":{"n":1,"kind":"period","minute":1,"status":"first_half"},
   "g1":{"n":2,"kind":"goal","minute":14,"side":"away","player":{"id":3697348682917830,"name":"Goran Rondez"},"assist":{"id":4033423756369837,"name":"Oren Tolmida"},"type":"regular","score":{"home":0,"away":1}},
   "g2":{"n":3,"kind":"goal","minute":36,"side":"home","player":{"id":3999604746172797,"name":"Adan Isterwen"},"type":"regular","score":{"home":1,"away":1},"retracted":true,"why":"foul_in_build_up"},
   "v4":{"n":5,"kind":"var","minute":37,"side":"home","player":{"id":3999604746172797,"name":"Adan Isterwen"},"decision":"overturned"},
   "p2":{"n":8,"kind":"period","minute":45,"added":1,"status":"half_time"}},
  "stats":{"home":{"ball_possession":50,"total_shots":7},"away":{"ball_possession":50,"total_shots":8}},
  "ball":{"x":10.8,"y":90.3,"side":"away","situation":"safe"}}}"#;

const TENNIS: &str = r#"{"type":"image","ch":"tennis/546084929068359","epoch":"dip7ad","seq":113,"at":{"src":1795185645631839,"in":1795185645631839,"pub":1795185645631839},"data":{"id":546084929068359,"sport":"tennis","life":"live","feed":"live","status":"live","stale_after_ms":15000,"refs":{"simulator":"1/1795181448486839/2"},"competition":{"id":2568594624376978,"name":"Grand Meridian"},"start":1795181568486839,"p1":{"id":884506981748979,"name":"Hugo Lundqvist"},"p2":{"id":62599879548487,"name":"Quim Isterqvist"},"server":1,"sets":{"1":{"p1":6,"p2":3},"2":{"p1":5,"p2":2}},"game":{"p1":"40","p2":"30"},"points":111}}"#;

const BOOK: &str = r#"{"type":"image","ch":"football/829999682724248/odds/larkodds","epoch":"a","seq":545,"at":{"src":null,"in":1,"pub":1},"data":{"life":"live","feed":"live","suspended":false,"match_seq":430,"stale_after_ms":15000,"markets":{
 "over_under_2.5":{"kind":"over_under","line":"2.5","status":"open","in_play":true,"transitions":{"1":{"at":1,"status":"open","in_play":true}},"selections":{"over":{"status":"active","outcome":"over","price":"3.07","prev":"3.10"},"under":{"status":"active","outcome":"under","price":"1.40"}}},
 "match_winner":{"kind":"match_winner","name":"Winner","status":"closed","in_play":true,"selections":{"home":{"status":"winner","outcome":"home","name":"A"}}}}}}"#;

/// The facts, one line each, so that a test shows its expectation.
struct Chained(Matchwire);

impl Chained {
    fn new() -> Self {
        Self(Matchwire::default())
    }

    fn played(&mut self, frame: &str) -> Interpretation {
        let mut out = Interpretation::default();
        self.0.message(frame.as_bytes(), RECEIVED, &mut out).unwrap();
        assert!(out.notices.is_empty(), "{:?}", out.notices);
        out
    }

    fn facts(&mut self, frame: &str) -> Vec<Fact> {
        let batches = self.played(frame).batches;
        batches.into_iter().flat_map(|it| it.batch.events).map(|event| event.fact).collect()
    }

    fn football(&mut self, frame: &str) -> Vec<FootballFact> {
        let facts = self.facts(frame).into_iter();
        let facts = facts.filter_map(|fact| match fact {
            Fact::Football(fact) => Some(fact),
            _ => None,
        });
        facts.collect()
    }

    fn tennis(&mut self, frame: &str) -> Vec<TennisFact> {
        let facts = self.facts(frame).into_iter();
        let facts = facts.filter_map(|fact| match fact {
            Fact::Tennis(fact) => Some(fact),
            _ => None,
        });
        facts.collect()
    }

    /// `market: open`, `market: clear`, `market: over 3.04`.
    fn odds(&mut self, frame: &str) -> Vec<String> {
        let facts = self.facts(frame).into_iter();
        facts
            .flat_map(|fact| if let Fact::Odds(odds) = fact { shown(&odds) } else { vec![] })
            .collect()
    }
}

fn shown(odds: &OddsFact) -> Vec<String> {
    let market = &odds.market;
    match &odds.change {
        MarketChange::Define(it) => vec![format!("{market}: {}", it.status.as_str())],
        MarketChange::Clear => vec![format!("{market}: clear")],
        MarketChange::Prices { selections, volume } => {
            let volume = volume.map(|volume| format!("{market}: volume {volume}"));
            let selections = selections.iter().map(|change| {
                let mut line = format!("{market}: {}", change.id);
                line.extend(change.price.map(|price| format!(" {price}")));
                line.extend(change.last.map(|last| format!(" last {last}")));
                let ladders =
                    [("back", &change.back), ("lay", &change.lay), ("traded", &change.traded)];
                for (name, rungs) in ladders {
                    line.extend(rungs.iter().map(|it| format!(" {name} {}:{}", it.price, it.size)));
                }
                line
            });
            volume.into_iter().chain(selections).collect()
        }
    }
}

fn update(ch: &str, patch: &str, events: &str) -> String {
    format!(
        r#"{{"type":"update","ch":"{ch}","seq":2,"prev":1,"at":{{"src":1795185240000000,"in":1,"pub":1}},"patch":{patch},"events":{events}}}"#
    )
}

fn book(patch: &str) -> String {
    update("football/829999682724248/odds/larkodds", patch, "[]")
}

#[test]
fn a_match_is_emitted_once_under_local_ids() {
    let mut chained = Chained::new();
    let played = chained.played(MATCH);
    let [Timed { batch, .. }] = played.batches.as_slice() else { panic!("{played:?}") };
    assert_eq!(batch.at, Some(1_795_185_231_975_839));
    assert_eq!(batch.events[0].match_id, Id::derive("matchwire", "match", "995504926106813"));
    let Fact::Fixture(fixture) = &batch.events[0].fact else { panic!("{batch:?}") };
    assert_eq!(&*fixture.provider_key, "995504926106813");
    let sides = fixture.sides.as_ref().unwrap();
    assert_eq!(sides[1].id, Id::derive("matchwire", "team", "64374332496538"));
    assert_eq!(&*sides[0].name, "Keskmere United");
    assert_eq!(fixture.start, Some(1_795_182_408_486_839));
    assert_eq!(&*fixture.competition.as_ref().unwrap().name, "Meredon League One");
    assert_eq!(chained.facts(MATCH), [], "an image that repeats what is known says nothing");
}

#[test]
fn football_image_emits_all_incidents_in_order() {
    let facts = Chained::new().football(MATCH);
    assert_eq!(facts[0], FootballFact::Status(FootballStatus::HalfTime));
    assert_eq!(facts[1], FootballFact::Clock { second: 2755, running: false });
    let FootballFact::Score(score) = facts[2] else { panic!("{facts:?}") };
    assert_eq!((score.goals, score.half_time), ([0, 1], Some([0, 1])));
    let names: Vec<_> = facts[3..9]
        .iter()
        .map(|fact| match fact {
            FootballFact::Incident(incident) => format!("{} {:?}", incident.eid, incident.minute),
            FootballFact::Retract { eid, why, .. } => format!("-{eid} {why}"),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["p1 1", "g1 14", "g2 36", "-g2 foul_in_build_up", "v4 37", "p2 45"]);
    let FootballFact::Incident(goal) = &facts[4] else { panic!("{facts:?}") };
    assert_eq!(goal.kind, IncidentKind::Goal(GoalKind::Regular));
    assert_eq!((goal.side, goal.score), (Some(Side::Second), Some([0, 1])));
    assert_eq!(&*goal.assist.as_ref().unwrap().name, "Oren Tolmida");
    let home = vec![(Stat::BallPossession, 50), (Stat::TotalShots, 7)];
    assert_eq!(facts[9], FootballFact::Stats { side: Side::First, values: home });
    let FootballFact::Ball(ball) = facts[11] else { panic!("{facts:?}") };
    assert_eq!((ball.x, ball.y, ball.side), (108, 903, Side::Second));
}

#[test]
fn an_update_emits_only_changes() {
    let mut chained = Chained::new();
    chained.football(MATCH);
    let ch = "football/995504926106813";
    let patch = r#"{"incidents":{"y9":{"n":9,"kind":"yellow","minute":46,"side":"home","player":{"id":1,"name":"N."},"added":null,"assist":null,"score":null,"type":null}},"stats":{"home":{"fouls":5}}}"#;
    let facts = chained.football(&update(ch, patch, "[]"));
    let [FootballFact::Incident(card), FootballFact::Stats { values, .. }] = facts.as_slice()
    else {
        panic!("{facts:?}")
    };
    assert_eq!((card.kind, card.added), (IncidentKind::Yellow, None));
    assert_eq!(*values, [(Stat::Fouls, 5)]);

    let patch = r#"{"incidents":{"y9":{"minute":47},"g1":{"retracted":true,"why":"offside"}},"score":{"home":0,"away":0,"ht":null}}"#;
    let facts = chained.football(&update(ch, patch, "[]"));
    let [
        FootballFact::Score(score),
        FootballFact::Retract { eid, why, .. },
        FootballFact::Correct(card),
    ] = facts.as_slice()
    else {
        panic!("{facts:?}")
    };
    assert_eq!((score.goals, score.half_time), ([0, 0], None));
    assert_eq!((&**eid, &**why, card.minute), ("g1", "offside", 47));

    // Anchored eight seconds before the moment of the update.
    let patch =
        r#"{"status":"second_half","clock":{"at":1795185232000000,"s":2700,"running":true}}"#;
    let facts = chained.football(&update(ch, patch, "[]"));
    assert_eq!(facts[0], FootballFact::Status(FootballStatus::SecondHalf));
    assert_eq!(facts[1], FootballFact::Clock { second: 2708, running: true });
}

#[test]
fn clock_without_a_source_time_uses_the_upstream_hub_clock() {
    let mut chained = Chained::new();
    // It is a minute ahead of us.
    let now = RECEIVED + 60_000_000;
    chained.facts(&format!(r#"{{"type":"hello","conn":"0-1","now":{now},"beat_ms":5000}}"#));
    let frame = format!(
        r#"{{"type":"image","ch":"football/7","epoch":"a","seq":1,"at":{{"src":null,"in":1,"pub":1}},"data":{{"refs":{{}},"clock":{{"at":{},"s":100,"running":true}}}}}}"#,
        now - 5_000_000
    );
    assert_eq!(chained.football(&frame), [FootballFact::Clock { second: 105, running: true }]);
}

#[test]
fn empty_channel_is_emitted_with_its_first_update() {
    let mut chained = Chained::new();
    let image = r#"{"type":"image","ch":"football/1303970839602449","epoch":"14aotbe","seq":0,"at":{"src":null,"in":null,"pub":null},"data":{"life":"prematch","feed":"live","stale_after_ms":15000}}"#;
    assert_eq!(chained.facts(image), []);
    let patch = r#"{"refs":{"wyscout":"2058017"},"home":{"id":1,"name":"A"},"away":{"id":2,"name":"B"},"status":"not_started","score":{"home":0,"away":0,"ht":null,"et":null,"pens":null}}"#;
    let facts = chained.facts(&update("football/1303970839602449", patch, "[]"));
    assert!(matches!(facts[0], Fact::Fixture(Fixture { sides: Some(_), .. })), "{facts:?}");
    assert_eq!(facts[1], Fact::Football(FootballFact::Status(FootballStatus::NotStarted)));
}

#[test]
fn tennis_match_is_emitted_point_by_point() {
    let mut chained = Chained::new();
    let facts = chained.tennis(TENNIS);
    let [TennisFact::Status(TennisStatus::Live), TennisFact::Score(score)] = facts.as_slice()
    else {
        panic!("{facts:?}")
    };
    assert_eq!(score.game, GameScore::Points([3, 2]));
    assert_eq!((score.sets.len(), score.sets[1].games, score.points), (2, [5, 2], 111));
    assert_eq!(score.server, Some(Side::First));

    let ch = "tennis/546084929068359";
    let patch = r#"{"server":2,"winner":null,"sets":{"2":{"p1":6,"p2":2,"tb":null},"3":{"p1":0,"p2":0,"tb":null}},"game":{"p1":"0","p2":"0"},"points":112}"#;
    let events = r#"[{"kind":"point","eid":"p112","winner":1,"server":1,"how":"ace","set":2,"point":112},{"kind":"game","eid":"p112:game","winner":1,"set":2,"games":{"p1":6,"p2":2}},{"kind":"set","eid":"p112:set","winner":1,"set":2,"games":{"p1":6,"p2":2}}]"#;
    let facts = chained.tennis(&update(ch, patch, events));
    let [TennisFact::Point(point)] = facts.as_slice() else { panic!("{facts:?}") };
    assert_eq!((&*point.eid, point.winner, point.server), ("p112", Side::First, Side::First));
    assert_eq!((point.score.sets.len(), point.score.points), (3, 112));

    let patch = r#"{"server":1,"sets":{"2":{"p1":5,"p2":2},"3":null},"game":{"p1":"40","p2":"30"},"points":111}"#;
    let events = r#"[{"kind":"retract","eid":"retract-p112:set","of":"p112:set","why":"overrule"},{"kind":"retract","eid":"retract-p112","of":"p112","why":"overrule"}]"#;
    let facts = chained.tennis(&update(ch, patch, events));
    let [TennisFact::Retract { eid, why, score }] = facts.as_slice() else { panic!("{facts:?}") };
    assert_eq!((&**eid, &**why, score.sets.len()), ("p112", "overrule", 2));
}

#[test]
fn tie_break_points_are_distinguished_from_game_points() {
    let check = |sets: &str, game: [&str; 2], expected| {
        let frame = format!(
            r#"{{"type":"image","ch":"tennis/7","epoch":"a","seq":1,"at":{{"src":null,"in":1,"pub":1}},"data":{{"refs":{{}},"sets":{sets},"game":{{"p1":"{}","p2":"{}"}},"points":70}}}}"#,
            game[0], game[1]
        );
        let facts = Chained::new().tennis(&frame);
        let [TennisFact::Score(score)] = facts.as_slice() else { panic!("{facts:?}") };
        assert_eq!(score.game, expected, "{sets} {game:?}");
    };
    let playing = r#"{"1":{"p1":6,"p2":6,"tb":{"p1":15,"p2":14}}}"#;
    check(playing, ["15", "14"], GameScore::TieBreak([15, 14]));
    let over = r#"{"1":{"p1":7,"p2":6,"tb":{"p1":7,"p2":5}},"2":{"p1":0,"p2":0}}"#;
    check(over, ["15", "A"], GameScore::Points([1, 4]));
    let match_over = r#"{"1":{"p1":7,"p2":6,"tb":{"p1":7,"p2":5}}}"#;
    check(match_over, ["0", "0"], GameScore::Points([0, 0]));
}

#[test]
fn book_introduces_an_unknown_match() {
    let mut chained = Chained::new();
    let played = chained.played(BOOK);
    let [Timed { batch, .. }] = played.batches.as_slice() else { panic!("{played:?}") };
    assert_eq!(batch.price_changes, 2);
    let Fact::Fixture(fixture) = &batch.events[0].fact else { panic!("{batch:?}") };
    assert_eq!((&*fixture.provider_key, &fixture.sides), ("829999682724248", &None));
    let patch = r#"{"markets":{"over_under_2.5":{"selections":{"over":{"price":"3.04"}}}}}"#;
    let facts = chained.facts(&book(patch));
    assert!(!facts.iter().any(|fact| matches!(fact, Fact::Fixture(_))), "once: {facts:?}");
}

#[test]
fn book_does_not_remove_the_names_of_its_match() {
    let mut chained = Chained::new();
    chained.facts(MATCH);
    let frame = BOOK.replace("829999682724248", "995504926106813");
    let facts = chained.facts(&frame);
    assert!(!facts.iter().any(|fact| matches!(fact, Fact::Fixture(_))), "{facts:?}");
}

#[test]
fn changed_prices_preserve_every_digit() {
    let mut chained = Chained::new();
    let facts = chained.facts(BOOK);
    let Fact::Odds(OddsFact { book: slug, change: MarketChange::Define(closed), .. }) = &facts[1]
    else {
        panic!("{facts:?}")
    };
    assert_eq!((&**slug, closed.status), ("larkodds", MarketStatus::Closed));
    assert_eq!(closed.name.as_deref(), Some("Winner"));
    let patch = r#"{"match_seq":432,"markets":{"over_under_2.5":{"selections":{"over":{"price":"3.040","prev":"3.07","lay":null}}}}}"#;
    assert_eq!(chained.odds(&book(patch)), ["over_under_2.5: over 3.040"]);
    assert_eq!(chained.odds(&book(patch)), [] as [String; 0]);
}

#[test]
fn terms_and_projected_prices_are_read_from_documents() {
    let mut chained = Chained::new();
    chained.facts(BOOK);
    let patch = r#"{"markets":{"over_under_2.5":{"bet_delay":5,"bet_delay_models":["PASSIVE"],"selections":{"over":{"near_price":"3.1","bsp":"3.05","dead_heat_factor":"0.5"}}}}}"#;
    let facts = chained.facts(&book(patch));
    let changes: Vec<_> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Odds(odds) => Some(&odds.change),
            _ => None,
        })
        .collect();
    let [MarketChange::Define(defined), MarketChange::Prices { selections, .. }] = changes[..]
    else {
        panic!("{facts:?}")
    };
    let terms = defined.terms.as_ref().expect("terms");
    assert_eq!((terms.bet_delay, &*terms.bet_delay_models), (Some(5), &["PASSIVE".into()][..]));
    let over = defined.selections.iter().find(|it| &*it.id == "over").expect("over");
    let terms = over.terms.as_ref().expect("terms");
    let found = [terms.bsp, terms.dead_heat_factor].map(|it| it.map(|it| it.to_string()));
    assert_eq!(found, ["3.05", "0.5"].map(|text| Some(text.to_owned())));
    assert_eq!(selections[0].near_price.map(|it| it.to_string()).as_deref(), Some("3.1"));
    let gone = r#"{"markets":{"over_under_2.5":{"selections":{"over":{"near_price":null}}}}}"#;
    let facts = chained.facts(&book(gone));
    let Some(Fact::Odds(OddsFact { change: MarketChange::Prices { selections, .. }, .. })) =
        facts.last()
    else {
        panic!("{facts:?}")
    };
    assert!(selections[0].near_price.is_some_and(|price| price.is_zero()), "{facts:?}");
}

#[test]
fn removed_price_clears_the_market_first() {
    let mut chained = Chained::new();
    chained.odds(BOOK);
    let patch = r#"{"markets":{"over_under_2.5":{"selections":{"over":{"price":null}}}}}"#;
    let expected = ["over_under_2.5: clear", "over_under_2.5: under 1.40"];
    assert_eq!(chained.odds(&book(patch)), expected);
}

#[test]
fn ladders_are_emitted_by_rung_without_best_prices() {
    let mut chained = Chained::new();
    let image = r#"{"type":"image","ch":"tennis/4454411876678717/odds/betfair","epoch":"a","seq":4,"at":{"src":null,"in":1,"pub":1},"data":{"feed":"live","suspended":false,"markets":{"1.170370562":{"kind":"match_winner","status":"open","in_play":true,"volume":"120.5","selections":{"9625043":{"status":"active","price":"1.7","last":"1.71","back":{"1.7":"10","1.69":"5"},"lays":{"1.8":"2"}}}}}}}"#;
    let expected = [
        "1.170370562: open",
        "1.170370562: volume 120.5",
        "1.170370562: 9625043 last 1.71 back 1.69:5 back 1.7:10 lay 1.8:2",
    ];
    assert_eq!(chained.odds(image), expected);
    let patch = r#"{"markets":{"1.170370562":{"selections":{"9625043":{"back":{"1.78":"27.99","1.69":null},"price":"1.78","prev":"1.7"}}}}}"#;
    let update = update("tennis/4454411876678717/odds/betfair", patch, "[]");
    assert_eq!(chained.odds(&update), ["1.170370562: 9625043 back 1.69:0 back 1.78:27.99"]);
}

#[test]
fn open_market_is_suspended_while_upstream_does_not_trust_it() {
    for untrusted in [r#"{"feed":"down"}"#, r#"{"feed":"recovering"}"#, r#"{"suspended":true}"#] {
        let mut chained = Chained::new();
        chained.odds(BOOK);
        assert_eq!(chained.odds(&book(untrusted)), ["over_under_2.5: suspended"], "{untrusted}");
        // Changes in the meantime are reported, as of a suspended market.
        let patch = r#"{"markets":{"over_under_2.5":{"selections":{"over":{"price":"3.2"}}}}}"#;
        assert_eq!(chained.odds(&book(patch)), ["over_under_2.5: over 3.2"], "{untrusted}");
        let trusted = r#"{"feed":"live","suspended":false}"#;
        assert_eq!(chained.odds(&book(trusted)), ["over_under_2.5: open"], "{untrusted}");
    }
}

#[test]
fn gone_books_and_missing_markets_are_suspended() {
    let mut chained = Chained::new();
    chained.odds(BOOK);
    let gone =
        r#"{"type":"unsubscribed","ch":"football/829999682724248/odds/larkodds","why":"gone"}"#;
    assert_eq!(chained.odds(gone), ["over_under_2.5: suspended"]);
    chained.odds(BOOK);
    assert_eq!(
        chained.odds(&book(r#"{"markets":{"over_under_2.5":null}}"#)),
        ["over_under_2.5: suspended"]
    );
    let empty = r#"{"type":"image","ch":"football/829999682724248/odds/larkodds","epoch":"b","seq":0,"at":{"src":null,"in":1,"pub":1},"data":{"feed":"live"}}"#;
    chained.odds(&BOOK.replace("545", "546"));
    assert_eq!(chained.odds(empty), ["over_under_2.5: suspended"]);
}

#[test]
fn unused_frames_are_ignored_and_invalid_ones_reported() {
    let mut chained = Chained::new();
    for frame in [
        r#"{"type":"image","ch":"feeds","epoch":"1","seq":15,"at":{"src":null,"in":1,"pub":1},"data":{"life":"live"}}"#,
        r#"{"type":"image","ch":"football","epoch":"1","seq":15,"at":{"src":null,"in":1,"pub":1},"data":{"matches":{}}}"#,
        r#"{"type":"update","ch":"football/7/odds","seq":2,"prev":1,"at":{"src":null,"in":1,"pub":1},"patch":{}}"#,
        r#"{"type":"lag","queued_bytes":0,"oldest_ms":0,"merged":2}"#,
        r#"{"type":"something_new"}"#,
    ] {
        assert_eq!(chained.facts(frame), [], "{frame}");
    }
    let refused = |frame: &str| {
        let mut out = Interpretation::default();
        Matchwire::default().message(frame.as_bytes(), RECEIVED, &mut out).unwrap_err().kind
    };
    assert_eq!(refused("{"), RefusalKind::Syntax);
    assert_eq!(refused(&book("{}")), RefusalKind::Unknown);
    let mut out = Interpretation::default();
    let ladder = r#""price":"1.40","back":{"-1.5":"2","1.5":"-2","1.4":"2"}"#;
    let frame = BOOK
        .replace(r#""price":"3.07""#, r#""price":3.07,"last":"-0.5""#)
        .replace(r#""price":"1.40""#, ladder);
    Matchwire::default().message(frame.as_bytes(), RECEIVED, &mut out).unwrap();
    let reasons: Vec<_> = out.notices.iter().map(|it| it.reason.as_str()).collect();
    let expected = [
        "price 3.07 is no decimal",
        "last -0.5 is negative",
        "back -1.5 is negative",
        "back -2 is negative",
    ];
    let location = "football/829999682724248/odds/larkodds: market over_under_2.5";
    assert_eq!(reasons, expected.map(|reason| format!("{location}: {reason}")));
    assert_eq!(out.batches.len(), 1, "the rest is used");
}

#[test]
fn patches_are_merged_per_rfc_7396() {
    let check = |target: &str, patch: &str, expected: &str| {
        let mut value: Value = serde_json::from_str(target).unwrap();
        merge_patch(&mut value, &serde_json::from_str(patch).unwrap());
        assert_eq!(value.to_string(), expected, "{target} {patch}");
    };
    check(r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#);
    check(r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#);
    check(r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#);
    check(r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#);
    check(r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#);
    check(r#"["a"]"#, r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#);
    check(r#"{"e":null}"#, r#"{"a":1}"#, r#"{"a":1,"e":null}"#);
}

#[test]
fn sizes_and_lines_preserve_every_digit() {
    let node: Value = serde_json::from_str(r#"{"line":"-1.50"}"#).unwrap();
    assert_eq!(field::decimal(&node, "line"), Ok(Some(Decimal::new(-150, 2))));
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut out = Interpretation::default();
        let taken = Matchwire::default().message(&bytes, RECEIVED, &mut out);
        prop_assert!(taken.is_err() || out.batches.is_empty());
    }

    /// Replaces one character of a frame by any other, followed by any frame.
    #[test]
    fn damaged_frame_does_not_panic(
        frame in prop::sample::select(vec![MATCH, TENNIS, BOOK]),
        index in any::<prop::sample::Index>(),
        character in prop::sample::select(vec!['"', '{', '}', ':', ',', '0', '9', '-', '.', 'x', ' ']),
    ) {
        let mut characters: Vec<char> = frame.chars().collect();
        *index.get_mut(&mut characters) = character;
        let mangled: String = characters.into_iter().collect();
        let mut chained = Matchwire::default();
        let mut out = Interpretation::default();
        for frame in [mangled.as_str(), frame, &mangled] {
            // Refused or not: it must not panic.
            drop(chained.message(frame.as_bytes(), RECEIVED, &mut out));
        }
    }
}

/// What an update does not touch is not processed again, once the match was reported.
#[test]
fn incidents_before_the_fixture_are_emitted_with_it() {
    let mut chained = Chained::new();
    let image = r#"{"type":"image","ch":"football/7","epoch":"a","seq":0,"at":{"src":null,"in":null,"pub":null},"data":{}}"#;
    assert_eq!(chained.facts(image), []);
    let card = r#"{"incidents":{"y1":{"n":1,"kind":"yellow","minute":4,"side":"home"}}}"#;
    assert_eq!(chained.facts(&update("football/7", card, "[]")), []);
    let incidents = |facts: Vec<FootballFact>| {
        facts.into_iter().filter(|fact| matches!(fact, FootballFact::Incident(_))).count()
    };
    let introduced = chained.football(&update("football/7", r#"{"refs":{}}"#, "[]"));
    assert_eq!(incidents(introduced), 1);
    let again = card.replace("y1", "y2");
    assert_eq!(incidents(chained.football(&update("football/7", &again, "[]"))), 1);
}
