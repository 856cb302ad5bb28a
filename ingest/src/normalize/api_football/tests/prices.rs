//! Prices before play and in play.

use super::*;

/// An answer of prices before play, of one bookmaker.
fn prices(parameters: &str, bets: &[String]) -> String {
    let bets = bets.join(",");
    let fixture = r#""fixture":{"id":7,"timestamp":1700000000}"#;
    let odds = format!(r#"{{{fixture},"bookmakers":[{{"id":7,"name":"Bet","bets":[{bets}]}}]}}"#);
    part("odds", parameters, &odds)
}

fn bet(id: usize, name: &str, values: impl IntoIterator<Item = String>, odd: &str) -> String {
    let value = |value: String| format!(r#"{{"value":"{value}","odd":"{odd}"}}"#);
    let values: Vec<_> = values.into_iter().map(value).collect();
    format!(r#"{{"id":{id},"name":"{name}","values":[{}]}}"#, values.join(","))
}

#[test]
fn line_that_is_no_longer_offered_is_suspended() {
    let over = |id: usize, lines: &[&str]| {
        bet(id, "Goals Over/Under", lines.iter().map(|line| format!("Over {line}")), "1.9")
    };
    let (both, one) = (over(5, &["2.5", "3.5"]), over(5, &["2.5"]));
    let other = over(6, &["2.5"]);
    let mut poll = Poll::default();
    assert_eq!(poll.answer(&prices("", &[both, other])).len(), 1 + 3 * 2);
    let filtered = prices(r#","bet":"5""#, std::slice::from_ref(&one));
    let suspended = "over_under 3.5 suspended Over 3.5=over";
    assert_eq!(poll.answer(&filtered), [format!("bet 5@3.5 {suspended}")]);
    assert_eq!(poll.answer(&filtered), [""; 0]);
    let suspended = "over_under 2.5 suspended Over 2.5=over";
    assert_eq!(poll.answer(&prices("", &[one])), [format!("bet 6@2.5 {suspended}")]);
}

#[test]
fn more_prices_than_any_fixture_has_are_cut() {
    let home = |id: usize| bet(id, "Own", ["Home".to_owned()], "2");
    let numbers = |count: usize| (0..count).map(|number| number.to_string());
    let markets: Vec<_> = (0..=MARKETS_MAX).map(home).collect();
    let values = [bet(1, "Own", numbers(VALUES_MAX + 1), "2")];
    let wrong = [bet(1, "Own", numbers(NOTICES_MAX + 1), "0")];
    for (bets, notices, last) in [
        (&markets[..], 1, "! 1 markets more than 5000 of one fixture"),
        (&values[..], 1, "! 2001 selections of \"Own\""),
        (&wrong[..], NOTICES_MAX, "! \"0\" is no price"),
    ] {
        let facts = Poll::default().answer(&prices("", bets));
        assert_eq!(facts.last().map(String::as_str), Some(last));
        assert_eq!(facts.iter().filter(|fact| fact.starts_with('!')).count(), notices, "{last}");
    }
}

#[test]
fn market_in_play_that_cannot_be_read_costs_only_itself() {
    let live =
        |odds: &str| part("odds/live", "", &format!(r#"{{"fixture":{{"id":7}},"odds":{odds}}}"#));
    let named = bet(9, "Own", ["Home".to_owned()], "2");
    let mut poll = Poll::default();
    let expected = [
        "fixture",
        "api-football live-9 api-football-live-9 open in play Home",
        "api-football live-9 Home 2",
        "! 1 of 2 markets cannot be read",
    ];
    assert_eq!(poll.answer(&live(&format!("[{named},null]"))), expected);
    assert_eq!(poll.answer(&live("{}")), ["! the odds are no list"]);
    let withdrawn = "api-football live-9 api-football-live-9 suspended in play Home";
    assert_eq!(poll.answer(&live("[]")), [withdrawn]);
}

#[test]
fn prices_are_of_bookmakers_before_play_and_of_the_provider_in_play() {
    let bets = r#"[{"id":1,"name":"Match Winner","values":[{"value":"Home","odd":"2.05"},{"value":"Draw","odd":"3.40"},{"value":"Away","odd":"0"}]},{"id":5,"name":"Goals Over/Under","values":[{"value":"Over 2.5","odd":"1.90"},{"value":"Under 2.5","odd":"1.95"},{"value":"Over 3","odd":"2.6"}]},{"id":4,"name":"Asian Handicap","values":[{"value":"Home -1","odd":"3.1"}]}]"#;
    let before = |update: &str| {
        let league = r#""league":{"id":39,"name":"Premier League","season":2023}"#;
        let fixture = r#""fixture":{"id":7,"timestamp":1700000000}"#;
        part(
            "odds",
            "",
            &format!(
                r#"{{{league},{fixture},"update":"{update}","bookmakers":[{{"id":7,"name":"William Hill","bets":{bets}}}]}}"#
            ),
        )
    };
    let mut poll = Poll::default();
    assert_eq!(
        poll.answer(&before("2023-11-14T12:00:00+00:00")),
        [
            "fixture",
            "williamhill 1 match_winner open Home=home Draw=draw Away=away!",
            "williamhill 1 Home 2.05 Draw 3.4",
            "williamhill 5@2.5 over_under 2.5 open Over 2.5=over Under 2.5=under",
            "williamhill 5@2.5 Over 2.5 1.9 Under 2.5 1.95",
            "williamhill 5@3 over_under 3 open Over 3=over",
            "williamhill 5@3 Over 3 2.6",
            "williamhill 4 api-football-4 open Home -1",
            "williamhill 4 Home -1 3.1",
            "! \"0\" is no price",
        ]
    );
    let older = before("2023-11-14T11:00:00+00:00").replace("2.05", "2.10");
    assert!(poll.answer(&older).is_empty(), "an older answer");
    let live = |blocked: bool, odds: &str| {
        part(
            "odds/live",
            "",
            &format!(
                r#"{{"fixture":{{"id":7,"status":{{"elapsed":62}}}},"league":{{"id":39,"season":2023}},"status":{{"stopped":false,"blocked":{blocked},"finished":false}},"update":"2023-11-14T23:00:00+00:00","odds":[{odds}]}}"#
            ),
        )
    };
    let result = r#"{"id":59,"name":"Fulltime Result","values":[{"value":"Home","odd":"1.3","suspended":false},{"value":"Draw","odd":"4.333","suspended":false},{"value":"Away","odd":"0","suspended":true}]}"#;
    let twice = r#"{"id":36,"name":"Over/Under Line","values":[{"value":"Over","odd":"1.625","handicap":"2","main":false},{"value":"Over","odd":"2.675","handicap":"2","main":false},{"value":"Under","odd":"2.25","handicap":"2","main":false},{"value":"Under","odd":"1.45","handicap":"2","main":true}]}"#;
    assert_eq!(
        poll.answer(&live(false, &format!("{result},{twice}"))),
        [
            "api-football live-59 match_winner open in play Home=home Draw=draw Away=away!",
            "api-football live-59 Home 1.3 Draw 4.333",
            "api-football live-36 api-football-live-36 open in play Under@2",
            "api-football live-36 Under@2 1.45",
            "! 1 selections of \"Over/Under Line\" are stated twice",
        ]
    );
    let suspended = poll.answer(&live(true, result));
    assert_eq!(
        suspended,
        [
            "api-football live-59 match_winner suspended in play Home=home Draw=draw Away=away!",
            "api-football live-36 api-football-live-36 suspended in play Under@2",
        ]
    );
}
