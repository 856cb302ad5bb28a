//! Odds of different providers meet in one consensus only if they name markets, lines and outcomes
//! alike: the same match in three formats.

use std::collections::BTreeSet;

use facts::event::{Fact, MarketChange, Sport};

use super::{Interpret, Interpretation, football_data_couk, sportradar_uof, the_odds_api};

const ODDS_API: &str = r#"[{"id":"e","sport_key":"soccer_epl","home_team":"A","away_team":"B","bookmakers":[{"key":"pinnacle","markets":[
    {"key":"h2h","outcomes":[{"name":"A","price":2.1},{"name":"Draw","price":3.2},{"name":"B","price":3.9}]},
    {"key":"totals","outcomes":[{"name":"Over","price":1.9,"point":2.5},{"name":"Under","price":1.9,"point":2.5}]},
    {"key":"spreads","outcomes":[{"name":"A","price":1.9,"point":-0.25},{"name":"B","price":1.9,"point":0.25}]}]}]}]"#;

const UOF: &str = r#"<odds_change event_id="sr:match:1" product="3" timestamp="1"><odds>
    <market id="1"><outcome id="1" odds="2.1"/><outcome id="2" odds="3.2"/><outcome id="3" odds="3.9"/></market>
    <market id="18" specifiers="total=2.5"><outcome id="12" odds="1.9"/><outcome id="13" odds="1.9"/></market>
    <market id="16" specifiers="hcp=-0.25"><outcome id="1714" odds="1.9"/><outcome id="1715" odds="1.9"/></market>
    </odds></odds_change>"#;

const CSV: &str = "Div,Date,HomeTeam,AwayTeam,FTHG,FTAG,FTR,PSH,PSD,PSA,P>2.5,P<2.5,AHh,PAHH,PAHA\n\
    E0,13/08/2019,A,B,,,,2.1,3.2,3.9,1.9,1.9,-0.25,1.9,1.9\n";

/// Each price under what a consensus knows it by: kind, period, line and outcome.
fn prices(interpreter: &mut dyn Interpret, message: &str) -> BTreeSet<String> {
    let mut played = Interpretation::default();
    interpreter.message(message.as_bytes(), 0, &mut played).unwrap();
    assert_eq!(played.notices, []);
    let (mut definitions, mut prices) = (Vec::new(), BTreeSet::new());
    for event in played.batches.iter().flat_map(|timed| &timed.batch.events) {
        let Fact::Odds(odds) = &event.fact else { continue };
        match &odds.change {
            MarketChange::Define(definition) => definitions.push((&odds.market, definition)),
            MarketChange::Prices { selections, .. } => {
                let (_, definition) =
                    definitions.iter().find(|(id, _)| **id == odds.market).unwrap();
                for selection in selections {
                    let selection_definition =
                        definition.selections.iter().find(|it| it.id == selection.id).unwrap();
                    let outcome = selection_definition.outcome.unwrap().as_str();
                    let price = selection.price.unwrap();
                    let (kind, period, line) =
                        (&definition.kind, &definition.period, definition.line);
                    prices.insert(format!("{kind} {period:?} {line:?} {outcome} {price}"));
                }
            }
            MarketChange::Clear => {}
        }
    }
    prices
}

#[test]
fn one_match_has_the_same_markets_in_all_formats() {
    let odds_api = prices(&mut the_odds_api::Interpreter::default(), ODDS_API);
    assert_eq!(odds_api.len(), 7);
    let uof = prices(&mut sportradar_uof::Interpreter::with_default(Sport::Football), UOF);
    assert_eq!(uof, odds_api);
    assert_eq!(prices(&mut football_data_couk::Interpreter::default(), CSV), odds_api);
}
