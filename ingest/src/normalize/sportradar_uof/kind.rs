//! The feed's markets in our words, and what their outcomes stand for.
//!
//! Ids are those of the public market descriptions; outcomes of one sort have the same ids in all
//! markets. Only markets that other bookmakers have under the same name have our words; all others are
//! of the kind `uof-<id>`, with the provider's names once they are known (see [`super::names`]). Until then their
//! name is the kind with the specifiers, and their outcomes have ids alone.
//!
//! In football the result counts without extra time with everybody. In other sports it does not:
//! bookmakers offer the winner with overtime, so what is without is named `regular_time_*`.

use std::sync::Arc;

use facts::event::{Outcome, Sport};
use rust_decimal::Decimal;

use crate::decode::{decimal, sportradar_uof::Market};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: Arc<str>,
    pub(super) label: Option<Arc<str>>,
    pub(super) line: Option<Decimal>,
    pub(super) period: Option<Arc<str>>,
    rule: Rule,
}

/// How the outcomes of a market are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// 1, 2, 3.
    Result,
    /// 4, 5.
    Winner,
    /// 12, 13.
    Total,
    /// 1714, 1715, with the goals that the home side is given.
    Handicap,
    /// 74, 76.
    YesNo,
    /// 9, 10, 11: two of three results, which are called as everywhere.
    Double,
    Own,
}

/// Which part of the match a market is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    /// The whole in football; without overtime in the sports that have it.
    Regular,
    Half(&'static str),
    /// By the specifier `setnr`.
    Set,
}

const MARKETS: [(&str, &str, Part, Rule); 40] = [
    ("1", "match_winner", Part::Regular, Rule::Result),
    ("10", "double_chance", Part::Regular, Rule::Double),
    ("11", "draw_no_bet", Part::Regular, Rule::Winner),
    ("16", "asian_handicap", Part::Regular, Rule::Handicap),
    ("18", "over_under", Part::Regular, Rule::Total),
    ("29", "both_teams_to_score", Part::Regular, Rule::YesNo),
    ("60", "match_winner", Part::Half("1h"), Rule::Result),
    ("66", "asian_handicap", Part::Half("1h"), Rule::Handicap),
    ("68", "over_under", Part::Half("1h"), Rule::Total),
    ("75", "both_teams_to_score", Part::Half("1h"), Rule::YesNo),
    ("83", "match_winner", Part::Half("2h"), Rule::Result),
    ("88", "asian_handicap", Part::Half("2h"), Rule::Handicap),
    ("90", "over_under", Part::Half("2h"), Rule::Total),
    ("95", "both_teams_to_score", Part::Half("2h"), Rule::YesNo),
    ("166", "over_under_corners", Part::Whole, Rule::Total),
    ("177", "over_under_corners", Part::Half("1h"), Rule::Total),
    ("186", "match_winner", Part::Whole, Rule::Winner),
    ("187", "asian_handicap", Part::Whole, Rule::Handicap),
    ("188", "set_handicap", Part::Whole, Rule::Handicap),
    ("189", "over_under", Part::Whole, Rule::Total),
    ("202", "set_winner", Part::Set, Rule::Winner),
    ("203", "asian_handicap", Part::Set, Rule::Handicap),
    ("204", "over_under", Part::Set, Rule::Total),
    ("219", "match_winner", Part::Whole, Rule::Winner),
    ("223", "asian_handicap", Part::Whole, Rule::Handicap),
    ("225", "over_under", Part::Whole, Rule::Total),
    ("237", "asian_handicap", Part::Whole, Rule::Handicap),
    ("238", "over_under", Part::Whole, Rule::Total),
    ("251", "match_winner", Part::Whole, Rule::Winner),
    ("256", "asian_handicap", Part::Whole, Rule::Handicap),
    ("258", "over_under", Part::Whole, Rule::Total),
    ("314", "over_under_sets", Part::Whole, Rule::Total),
    ("327", "map_handicap", Part::Whole, Rule::Handicap),
    ("328", "over_under_maps", Part::Whole, Rule::Total),
    ("340", "match_winner", Part::Whole, Rule::Winner),
    ("406", "match_winner", Part::Whole, Rule::Winner),
    ("410", "asian_handicap", Part::Whole, Rule::Handicap),
    ("412", "over_under", Part::Whole, Rule::Total),
    ("493", "over_under_frames", Part::Whole, Rule::Total),
    ("494", "frame_handicap", Part::Whole, Rule::Handicap),
];

impl Kind {
    pub(super) fn new(market: &Market, sport: Sport) -> Self {
        let row = MARKETS.iter().find(|(id, ..)| *id == market.id);
        let Some((_, name, part, rule)) = row else { return Self::unknown(market) };
        let line = |name: &str| decimal::exact(market.specifier(name)?);
        let line = match rule {
            Rule::Total => line("total"),
            Rule::Handicap => line("hcp"),
            Rule::Result | Rule::Winner | Rule::YesNo | Rule::Double | Rule::Own => None,
        };
        let three_way = *rule == Rule::Result;
        let regular = *part == Part::Regular || three_way;
        let name = match sport {
            Sport::Football => (*name).to_owned(),
            _ if three_way => "regular_time_winner".to_owned(),
            _ if regular && sport.profile().has_regular_time => format!("regular_time_{name}"),
            _ => (*name).to_owned(),
        };
        Self { name: name.into(), label: None, line, period: part.period(market), rule: *rule }
    }

    fn unknown(market: &Market) -> Self {
        let name: Arc<str> = format!("uof-{}", market.id).into();
        let label = match market.specifiers.as_str() {
            "" => name.clone(),
            specifiers => format!("{name} {specifiers}").into(),
        };
        Self { name, label: Some(label), line: None, period: None, rule: Rule::Own }
    }

    /// Whether the provider's names are used.
    pub(super) fn is_own(&self) -> bool {
        self.rule == Rule::Own
    }

    /// What an outcome stands for.
    pub(super) fn outcome(&self, id: &str, sport: Sport) -> Option<Outcome> {
        let [first, second] = match sport {
            Sport::Tennis => [Outcome::Player1, Outcome::Player2],
            _ => [Outcome::Home, Outcome::Away],
        };
        Some(match (self.rule, id) {
            (Rule::Result, "1") | (Rule::Winner, "4") | (Rule::Handicap, "1714") => first,
            (Rule::Result, "3") | (Rule::Winner, "5") | (Rule::Handicap, "1715") => second,
            (Rule::Result, "2") => Outcome::Draw,
            (Rule::Total, "12") => Outcome::Over,
            (Rule::Total, "13") => Outcome::Under,
            (Rule::YesNo, "74") => Outcome::Yes,
            (Rule::YesNo, "76") => Outcome::No,
            _ => return None,
        })
    }
}

impl Kind {
    /// What an outcome is called that has no word of its own.
    pub(super) fn outcome_name(&self, id: &str) -> Option<&'static str> {
        match (self.rule, id) {
            (Rule::Double, "9") => Some("Home or Draw"),
            (Rule::Double, "10") => Some("Home or Away"),
            (Rule::Double, "11") => Some("Draw or Away"),
            _ => None,
        }
    }
}

impl Part {
    fn period(self, market: &Market) -> Option<Arc<str>> {
        match self {
            Self::Whole | Self::Regular => None,
            Self::Half(half) => Some(half.into()),
            Self::Set => market.specifier("setnr").map(|number| format!("set{number}").into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `kind line period` of a market, and what its outcomes stand for.
    #[track_caller]
    fn check(sport: Sport, id: &str, specifiers: &str, outcomes: &[&str], expected: &str) {
        let (id, specifiers) = (id.to_owned(), specifiers.to_owned());
        let kind = Kind::new(&Market { id, specifiers, ..Market::default() }, sport);
        let line = kind.line.map_or_else(|| "-".to_owned(), |line| line.to_string());
        let period = kind.period.as_deref().unwrap_or("-");
        let outcomes: Vec<_> = outcomes
            .iter()
            .map(|id| kind.outcome(id, sport).map_or("-", |outcome| outcome.as_str()))
            .collect();
        assert_eq!(format!("{} {line} {period} {}", kind.name, outcomes.join(" ")), expected);
    }

    #[test]
    fn common_markets_have_our_names() {
        use Sport::{Basketball, Football, Hockey, Tennis};
        let result = ["1", "2", "3", "4"];
        check(Football, "1", "", &result, "match_winner - - home draw away -");
        check(Football, "60", "", &result, "match_winner - 1h home draw away -");
        check(Football, "18", "total=2.50", &["12", "13"], "over_under 2.5 - over under");
        check(Football, "16", "hcp=-0.25", &["1714", "1715"], "asian_handicap -0.25 - home away");
        check(Football, "29", "", &["74", "76"], "both_teams_to_score - - yes no");
        check(Football, "10", "", &["9", "10", "11"], "double_chance - - - - -");
        check(Hockey, "1", "", &result, "regular_time_winner - - home draw away -");
        check(Hockey, "18", "total=5.5", &["12"], "regular_time_over_under 5.5 - over");
        check(Hockey, "406", "", &["4", "5"], "match_winner - - home away");
        check(Basketball, "219", "", &["4", "5"], "match_winner - - home away");
        check(Basketball, "225", "total=200.5", &["12"], "over_under 200.5 - over");
        check(Tennis, "186", "", &["4", "5"], "match_winner - - p1 p2");
        check(Tennis, "202", "setnr=1", &["4", "5"], "set_winner - set1 p1 p2");
        check(Tennis, "204", "setnr=1|total=9.5", &["12"], "over_under 9.5 set1 over");
    }

    #[test]
    fn double_chances_have_names() {
        let id = "10".to_owned();
        let kind = Kind::new(&Market { id, ..Market::default() }, Sport::Football);
        let names = ["9", "10", "11", "12"].map(|id| kind.outcome_name(id));
        let expected = [Some("Home or Draw"), Some("Home or Away"), Some("Draw or Away"), None];
        assert_eq!(names, expected);
    }

    #[test]
    fn other_markets_are_named_by_their_id() {
        check(Sport::Football, "62", "goalnr=1", &["1", "4"], "uof-62 - - - -");
        let market = |specifiers: &str| Market {
            id: "62".to_owned(),
            specifiers: specifiers.to_owned(),
            ..Market::default()
        };
        let label = |specifiers| Kind::new(&market(specifiers), Sport::Football).label;
        assert_eq!(label("goalnr=1").as_deref(), Some("uof-62 goalnr=1"));
        assert_eq!(label("").as_deref(), Some("uof-62"));
    }
}
