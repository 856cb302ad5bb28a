//! Betfair's market types in our words, and what their runners stand for.
//!
//! Only runners that mean the same with every bookmaker get an [`Outcome`], and only in markets of
//! betting type `ODDS`: a runner with a handicap does not.

use std::{borrow::Cow, sync::Arc};

use facts::event::{Outcome, Sport};
use rust_decimal::Decimal;

use super::fixture::AT;
use crate::decode::betfair::{RunnerDefinition, RunnerKey, StreamMarketDefinition};

/// Ids that Betfair gives to "The Draw", to the "Tie" of corners, "Yes" and "No" in all markets. Live
/// streams have no names.
const DRAW: u64 = 58_805;
const TIE: u64 = 143_789;
const YES: u64 = 30_246;
const NO: u64 = 110_503;

/// What a market is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: Arc<str>,
    pub(super) line: Option<Decimal>,
    pub(super) period: Option<Arc<str>>,
    runners: Runners,
}

/// How the runners of a kind of market are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runners {
    Result,
    /// The two sides alone.
    Sides,
    OverUnder,
    YesNo,
    Own,
}

impl Kind {
    pub(super) fn from_definition(definition: &StreamMarketDefinition<'_>) -> Self {
        match definition.market_type.as_deref() {
            Some(market_type) => Self::of_type(market_type, definition.name.as_deref()),
            // Two markets of one recorded match have a name alone.
            None => Self::new(&own_name(definition.name.as_deref()), Runners::Own),
        }
    }

    fn of_type(market_type: &str, name: Option<&str>) -> Self {
        match market_type {
            "MATCH_ODDS" => Self::new("match_winner", Runners::Result),
            "HALF_TIME" => Self::new("match_winner", Runners::Result).of_period("1h"),
            "DRAW_NO_BET" => Self::new("draw_no_bet", Runners::Sides),
            "CORNER_MATCH_BET" => Self::new("corners_winner", Runners::Result),
            "BOTH_TEAMS_TO_SCORE" => Self::new("both_teams_to_score", Runners::YesNo),
            "SENDING_OFF" => Self::new("red_card", Runners::YesNo),
            "HALF_TIME_SCORE" => Self::new("correct_score", Runners::Own).of_period("1h"),
            "SET_WINNER" => Self { period: set_of(name), ..Self::new("set_winner", Runners::Own) },
            other => Self::over_under(other)
                .unwrap_or_else(|| Self::new(&other.to_ascii_lowercase(), Runners::Own)),
        }
    }

    /// `OVER_UNDER_25`, `FIRST_HALF_GOALS_15`, `OVER_UNDER_105_CORNR`, `OVER_UNDER_45_CARDS`: the
    /// line in tenths.
    fn over_under(market_type: &str) -> Option<Self> {
        if let Some(tenths) = market_type.strip_prefix("FIRST_HALF_GOALS_") {
            return Some(Self::with_line("over_under", tenths)?.of_period("1h"));
        }
        let tenths = market_type.strip_prefix("OVER_UNDER_")?;
        match tenths.split_once('_') {
            None => Self::with_line("over_under", tenths),
            Some((tenths, "CORNR")) => Self::with_line("over_under_corners", tenths),
            Some((tenths, "CARDS")) => Self::with_line("over_under_cards", tenths),
            Some(_) => None,
        }
    }

    fn new(name: &str, runners: Runners) -> Self {
        Self { name: name.into(), line: None, period: None, runners }
    }

    fn with_line(name: &str, tenths: &str) -> Option<Self> {
        let tenths = tenths.parse::<u16>().ok()?;
        let line = Some(Decimal::new(tenths.into(), 1).normalize());
        Some(Self { line, ..Self::new(name, Runners::OverUnder) })
    }

    fn of_period(self, period: &str) -> Self {
        Self { period: Some(period.into()), ..self }
    }

    /// What each runner of the definition stands for, in its order.
    pub(super) fn outcomes(
        &self,
        definition: &StreamMarketDefinition<'_>,
        sport: Sport,
    ) -> Vec<Option<Outcome>> {
        let runners = &definition.runners;
        if definition.betting_type.as_deref() != Some("ODDS") {
            return vec![None; runners.len()];
        }
        let event_name = definition.event_name.as_deref();
        let in_result = match self.runners {
            Runners::Result => sides_of_result(runners, sport, event_name),
            Runners::Sides => order(sport, event_name).and_then(|order| sides(runners, order)),
            Runners::OverUnder | Runners::YesNo | Runners::Own => None,
        };
        let outcome = |runner: &RunnerDefinition<'_>| match self.runners {
            Runners::Result | Runners::Sides => result(runner.key, in_result.as_ref()?),
            Runners::OverUnder => over_or_under(runner),
            Runners::YesNo => yes_or_no(runner),
            Runners::Own => None,
        };
        runners.iter().map(outcome).collect()
    }
}

/// The two sides of a result with what they are; the first is the one that Betfair sorts first.
type Sides = [(RunnerKey, Outcome); 2];

/// What the first and the second runner are. `None` where only the name of the event tells and there is none: American sports
/// name the home side second.
fn order(sport: Sport, event_name: Option<&str>) -> Option<[Outcome; 2]> {
    let home_first = [Outcome::Home, Outcome::Away];
    if sport == Sport::Tennis {
        return Some([Outcome::Player1, Outcome::Player2]);
    }
    if sport.profile().is_home_first {
        return Some(home_first);
    }
    let name = event_name?;
    let away_first = || name.contains(AT).then_some([Outcome::Away, Outcome::Home]);
    name.contains(" v ").then_some(home_first).or_else(away_first)
}

/// `None` where the runners are not those of the sport's result: a football match has two and the
/// draw, others two, some of them perhaps with a draw.
fn sides_of_result(
    runners: &[RunnerDefinition<'_>],
    sport: Sport,
    event_name: Option<&str>,
) -> Option<Sides> {
    let [least, most] = sport.profile().outcomes;
    sides(runners, order(sport, event_name)?).filter(|_| (least..=most).contains(&runners.len()))
}

/// `None` unless there are exactly two apart from the draw.
fn sides(runners: &[RunnerDefinition<'_>], outcomes: [Outcome; 2]) -> Option<Sides> {
    let mut sides: Vec<_> = runners.iter().filter(|it| !is_draw(it.key.id)).collect();
    sides.sort_by_key(|runner| runner.sort_priority);
    match sides[..] {
        [first, second] if first.sort_priority.is_some() => {
            Some([(first.key, outcomes[0]), (second.key, outcomes[1])])
        }
        _ => None,
    }
}

fn is_draw(id: u64) -> bool {
    [DRAW, TIE].contains(&id)
}

fn result(key: RunnerKey, sides: &Sides) -> Option<Outcome> {
    match sides.iter().find(|(side, _)| *side == key) {
        Some(&(_, outcome)) => Some(outcome),
        None => is_draw(key.id).then_some(Outcome::Draw),
    }
}

/// By name, else by order: Betfair sorts Under first, in all 227 recorded definitions.
fn over_or_under(runner: &RunnerDefinition<'_>) -> Option<Outcome> {
    match (runner.name.as_deref(), runner.sort_priority) {
        (Some(name), _) if name.starts_with("Under") => Some(Outcome::Under),
        (Some(name), _) if name.starts_with("Over") => Some(Outcome::Over),
        (None, Some(1)) => Some(Outcome::Under),
        (None, Some(2)) => Some(Outcome::Over),
        _ => None,
    }
}

fn yes_or_no(runner: &RunnerDefinition<'_>) -> Option<Outcome> {
    match runner.key.id {
        YES => Some(Outcome::Yes),
        NO => Some(Outcome::No),
        _ => None,
    }
}

/// The set that a market is about, which only its name says: `Set 1 Winner`.
fn set_of(name: Option<&str>) -> Option<Arc<str>> {
    let number = name?.strip_prefix("Set ")?.split_whitespace().next()?.parse::<u8>().ok()?;
    Some(format!("set{number}").into())
}

fn own_name(name: Option<&str>) -> Cow<'_, str> {
    let word = |word: &str| word.to_lowercase();
    let words: Vec<_> = name.unwrap_or_default().split_whitespace().map(word).collect();
    if words.is_empty() { "unknown".into() } else { words.join("_").into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a market is about, from its type and name: `kind line period`.
    fn check(market_type: Option<&str>, name: Option<&str>, expected: &str) {
        let definition = StreamMarketDefinition {
            market_type: market_type.map(Cow::Borrowed),
            name: name.map(Cow::Borrowed),
            ..StreamMarketDefinition::default()
        };
        let kind = Kind::from_definition(&definition);
        let line = kind.line.map_or_else(|| "-".to_owned(), |line| line.to_string());
        let found = format!("{} {line} {}", kind.name, kind.period.as_deref().unwrap_or("-"));
        assert_eq!(found, expected, "{market_type:?} {name:?}");
    }

    #[test]
    fn types_get_our_names() {
        for (market_type, expected) in [
            ("MATCH_ODDS", "match_winner - -"),
            ("HALF_TIME", "match_winner - 1h"),
            ("OVER_UNDER_05", "over_under 0.5 -"),
            ("OVER_UNDER_25", "over_under 2.5 -"),
            ("OVER_UNDER_105_CORNR", "over_under_corners 10.5 -"),
            ("OVER_UNDER_45_CARDS", "over_under_cards 4.5 -"),
            ("OVER_UNDER_X", "over_under_x - -"),
            ("OVER_UNDER_99999999", "over_under_99999999 - -"),
            ("FIRST_HALF_GOALS_15", "over_under 1.5 1h"),
            ("BOTH_TEAMS_TO_SCORE", "both_teams_to_score - -"),
            ("ASIAN_HANDICAP", "asian_handicap - -"),
            ("CORRECT_SCORE", "correct_score - -"),
            ("HALF_TIME_SCORE", "correct_score - 1h"),
            ("HALF_TIME_FULL_TIME", "half_time_full_time - -"),
            ("SET_WINNER", "set_winner - -"),
            ("TEAM_A_1", "team_a_1 - -"),
        ] {
            check(Some(market_type), None, expected);
        }
    }

    #[test]
    fn names_supply_what_the_type_lacks() {
        check(Some("SET_WINNER"), Some("Set 2 Winner"), "set_winner - set2");
        check(Some("SET_WINNER"), Some("Last Set Winner"), "set_winner - -");
        check(None, Some("Man City First Goalscorer"), "man_city_first_goalscorer - -");
        check(None, Some(" "), "unknown - -");
        check(None, None, "unknown - -");
    }

    /// Runners written `id name priority`, with `-` for no name.
    fn check_outcomes(market_type: &str, betting_type: &str, runners: &[&str], expected: &str) {
        let definition = StreamMarketDefinition {
            market_type: Some(market_type.into()),
            betting_type: Some(betting_type.into()),
            runners: runners.iter().map(|text| runner(text)).collect(),
            ..StreamMarketDefinition::default()
        };
        let outcomes = Kind::from_definition(&definition).outcomes(&definition, Sport::Football);
        let names: Vec<_> = outcomes.iter().map(|o| o.map_or("-", |o| o.as_str())).collect();
        assert_eq!(names.join(" "), expected, "{market_type} {runners:?}");
    }

    fn runner(text: &str) -> RunnerDefinition<'_> {
        let parts: Vec<_> = text.split(' ').collect();
        let name = Some(parts[1]).filter(|&name| name != "-");
        RunnerDefinition {
            key: RunnerKey { id: parts[0].parse().expect("an id"), hc: Decimal::ZERO },
            name: name.map(Cow::Borrowed),
            status: None,
            sort_priority: parts[2].parse().ok(),
            ..RunnerDefinition::default()
        }
    }

    #[test]
    fn outcomes_are_those_that_all_bookmakers_share() {
        let check = check_outcomes;
        check("MATCH_ODDS", "ODDS", &["8 - 2", "7 - 1", "58805 - 3"], "away home draw");
        check("HALF_TIME", "ODDS", &["8 - 1", "7 - 2", "58805 - 3"], "home away draw");
        check("MATCH_ODDS", "ODDS", &["8 - 2", "7 - 1"], "- -");
        check("MATCH_ODDS", "ODDS", &["8 - x", "7 - 1", "58805 - 3"], "- - -");
        check("MATCH_ODDS", "LINE", &["8 - 2", "7 - 1", "58805 - 3"], "- - -");
        check("OVER_UNDER_25", "ODDS", &["47972 - 1", "47973 - 2"], "under over");
        check("OVER_UNDER_25", "ODDS", &["1 Over 1", "2 Under 2"], "over under");
        check("BOTH_TEAMS_TO_SCORE", "ODDS", &["30246 Yes 1", "110503 - 2", "9 - 3"], "yes no -");
        check("SENDING_OFF", "ODDS", &["30246 - 1", "110503 - 2"], "yes no");
        check("DRAW_NO_BET", "ODDS", &["8 - 2", "7 - 1"], "away home");
        check("DRAW_NO_BET", "ODDS", &["8 - 2"], "-");
        check("CORNER_MATCH_BET", "ODDS", &["8 - 1", "7 - 2", "143789 - 3"], "home away draw");
        check("CORRECT_SCORE", "ODDS", &["1 - 1"], "-");
    }
}
