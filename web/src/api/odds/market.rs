//! What clients of the football interface call markets and outcomes: SERVICE section 3.2.
//!
//! Ours are finer: a kind, a part of the match, a line. Markets of a part of the match have no name
//! there, and only the Odds API has them.

use std::borrow::Cow;

use rust_decimal::{Decimal, dec};

/// The outcomes of a market, in the order in which they are shown: ours, theirs.
type Outcomes = &'static [(&'static str, &'static str)];

const RESULT: Outcomes = &[("home", "HOME"), ("draw", "DRAW"), ("away", "AWAY")];
const SIDES: Outcomes = &[("home", "HOME"), ("away", "AWAY")];
const TOTALS: Outcomes = &[("over", "over"), ("under", "under")];
const YES_NO: Outcomes = &[("yes", "yes"), ("no", "no")];
const DOUBLE: Outcomes = &[("1x", "1X"), ("12", "12"), ("x2", "X2")];

/// What bookmakers have on offer there they call as they like.
const ANY: Outcomes = &[];

/// A market whose name does not depend on the line: theirs, ours, its outcomes.
const PLAIN: [(&str, &str, Outcomes); 13] = [
    ("1x2", "match_winner", RESULT),
    ("btts", "both_teams_to_score", YES_NO),
    ("double_chance", "double_chance", DOUBLE),
    ("draw_no_bet", "draw_no_bet", SIDES),
    ("asian_handicap", "asian_handicap", SIDES),
    ("total_corners", "over_under_corners", TOTALS),
    ("total_cards", "over_under_cards", TOTALS),
    ("total_red_cards", "over_under_red_cards", TOTALS),
    ("corners_1x2", "corners_winner", RESULT),
    ("red_card", "red_card", YES_NO),
    // Goals at a line without its own name, such as 2.25.
    ("over_under", "over_under", TOTALS),
    // Not among those that clients know; named as we do.
    ("correct_score", "correct_score", ANY),
    ("half_time_full_time", "half_time_full_time", ANY),
];

/// Goals by halves: `over_under_25` is the line 2.5.
const NAMED_LINES: [(&str, Decimal); 10] = [
    ("over_under_05", dec!(0.5)),
    ("over_under_15", dec!(1.5)),
    ("over_under_25", dec!(2.5)),
    ("over_under_35", dec!(3.5)),
    ("over_under_45", dec!(4.5)),
    ("over_under_55", dec!(5.5)),
    ("over_under_65", dec!(6.5)),
    ("over_under_75", dec!(7.5)),
    ("over_under_85", dec!(8.5)),
    ("over_under_95", dec!(9.5)),
];

/// A market as clients name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::api) struct Market {
    pub(in crate::api) name: &'static str,
    /// Its kind in our records.
    pub(in crate::api) kind: &'static str,
    /// The line that its name says.
    pub(in crate::api) line: Option<Decimal>,
    outcomes: Outcomes,
}

impl Market {
    pub(in crate::api) const RESULT: Self =
        Self { name: "1x2", kind: "match_winner", line: None, outcomes: RESULT };

    /// The market of this name, if there is one.
    #[must_use]
    pub(in crate::api) fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let of_line = NAMED_LINES.iter().find(|(own, _)| *own == name);
        if let Some((name, line)) = of_line {
            return Some(Self { name, kind: "over_under", line: Some(*line), outcomes: TOTALS });
        }
        let plain = PLAIN.iter().find(|(own, ..)| *own == name);
        plain.map(|(name, kind, outcomes)| Self { name, kind, line: None, outcomes })
    }

    /// The name that one of our outcomes has there, if any.
    #[must_use]
    pub(in crate::api) fn of(
        kind: &str,
        period: Option<&str>,
        line: Option<Decimal>,
    ) -> Option<Self> {
        if period.is_some() {
            return None;
        }
        let of_line =
            NAMED_LINES.iter().find(|(_, own)| kind == "over_under" && line == Some(*own));
        if let Some((name, line)) = of_line {
            return Some(Self { name, kind: "over_under", line: Some(*line), outcomes: TOTALS });
        }
        let plain = PLAIN.iter().find(|(_, own, _)| *own == kind);
        plain.map(|(name, kind, outcomes)| Self { name, kind, line: None, outcomes })
    }

    /// Their name of one of our outcomes.
    #[must_use]
    pub(in crate::api) fn outcome(self, own: &str) -> Option<&'static str> {
        self.outcomes.iter().find(|(ours, _)| *ours == own).map(|(_, theirs)| *theirs)
    }

    /// Our name of one of their outcomes, ignoring case; unchanged in markets where bookmakers name
    /// outcomes themselves.
    #[must_use]
    pub(in crate::api) fn own_outcome(self, theirs: &str) -> Option<Cow<'static, str>> {
        if self.outcomes.is_empty() {
            return Some(theirs.to_owned().into());
        }
        let same = |(_, it): &&(&str, &str)| it.eq_ignore_ascii_case(theirs);
        self.outcomes.iter().find(same).map(|(ours, _)| (*ours).into())
    }
}

/// All names of markets, for people.
#[must_use]
pub(crate) fn names() -> String {
    let plain = PLAIN.iter().map(|(name, ..)| *name);
    plain.chain(NAMED_LINES.iter().map(|(name, _)| *name)).collect::<Vec<_>>().join(", ")
}

/// Our name of one of their outcomes, which is the same in all markets; `None` if no market has it.
#[must_use]
pub(super) fn own_outcome(theirs: &str) -> Option<&'static str> {
    let mut all = PLAIN.iter().flat_map(|(.., outcomes)| outcomes.iter());
    all.find(|(_, it)| it.eq_ignore_ascii_case(theirs)).map(|(ours, _)| *ours)
}

/// Where an outcome is shown among others of its market: home before draw before away.
#[must_use]
pub(super) fn rank(outcome: &str) -> usize {
    const ORDER: [&str; 12] =
        ["home", "p1", "draw", "away", "p2", "1x", "12", "x2", "over", "under", "yes", "no"];
    ORDER.iter().position(|own| *own == outcome).unwrap_or(ORDER.len())
}

/// What an outcome is called for people: `Home`, `Over 2.50`, `Home or Draw`, `Away +0.75`.
#[must_use]
pub(in crate::api) fn outcome_name(outcome: &str, line: Option<Decimal>) -> String {
    let word = match outcome {
        "home" => "Home",
        "draw" => "Draw",
        "away" => "Away",
        "p1" => "Player 1",
        "p2" => "Player 2",
        "over" => "Over",
        "under" => "Under",
        "yes" => "Yes",
        "no" => "No",
        "1x" => "Home or Draw",
        "12" => "Home or Away",
        "x2" => "Draw or Away",
        other => other,
    };
    match (outcome, line) {
        ("over" | "under", Some(line)) => format!("{word} {line:.2}"),
        // The line is what the home side is given.
        ("home" | "p1", Some(line)) => format!("{word} {line:+.2}"),
        ("away" | "p2", Some(line)) => format!("{word} {:+.2}", -line),
        (_, _) => word.to_owned(),
    }
}

/// How much of a stake may come back: nothing at a half, all at a whole number, one half of it at a
/// quarter.
#[must_use]
pub(super) fn push(line: Option<Decimal>) -> Option<&'static str> {
    let quarters = line?.checked_mul(dec!(4))?;
    if !quarters.fract().is_zero() {
        return Some("none");
    }
    Some(match quarters.abs() % dec!(4) {
        rest if rest.is_zero() => "full",
        rest if rest == dec!(2) => "none",
        _ => "half",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn market_names_round_trip() {
        for (kind, line, name) in [
            ("match_winner", None, "1x2"),
            ("over_under", Some(dec!(2.50)), "over_under_25"),
            ("over_under", Some(dec!(2.25)), "over_under"),
            ("both_teams_to_score", None, "btts"),
            ("asian_handicap", Some(dec!(-1.75)), "asian_handicap"),
            ("over_under_corners", Some(dec!(9.5)), "total_corners"),
        ] {
            let market = Market::of(kind, None, line).unwrap();
            assert_eq!(market.name, name);
            assert_eq!(Market::named(name), Some(market), "{name}");
            assert_eq!(Market::of(kind, Some("1h"), line), None, "of a half");
        }
        assert_eq!(Market::named("over_under_1h"), None);
        assert_eq!(Market::of("first_goalscorer", None, None), None);
        let result = Market::named("1X2").unwrap();
        assert_eq!(
            (result.own_outcome("home"), result.outcome("away")),
            (Some("home".into()), Some("AWAY"))
        );
        assert_eq!(result.own_outcome("over"), None, "incoherent");
        let score = Market::of("correct_score", None, None).unwrap();
        assert_eq!((score.outcome("2-1"), score.own_outcome("2-1")), (None, Some("2-1".into())));
        assert_eq!((own_outcome("HOME"), own_outcome("maybe")), (Some("home"), None));
    }

    #[test]
    fn outcomes_are_named_for_people() {
        assert_eq!(outcome_name("over", Some(dec!(2.5))), "Over 2.50");
        assert_eq!(outcome_name("home", None), "Home");
        assert_eq!(outcome_name("away", Some(dec!(-1.75))), "Away +1.75");
        assert_eq!(outcome_name("1x", None), "Home or Draw");
        let pushes = [dec!(2), dec!(2.5), dec!(-0.25), dec!(0.0)].map(|line| push(Some(line)));
        assert_eq!(pushes, [Some("full"), Some("none"), Some("half"), Some("full")]);
    }
}
