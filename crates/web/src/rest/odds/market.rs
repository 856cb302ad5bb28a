//! How markets and outcomes of football are shown. Their names are those of [`facts::market`].

use rust_decimal::{Decimal, dec};

pub(in crate::rest) use facts::market::Market;

/// Where an outcome is shown among others of its market: home before draw before away.
#[must_use]
pub(super) fn rank(outcome: &str) -> usize {
    const ORDER: [&str; 12] =
        ["home", "p1", "draw", "away", "p2", "1x", "12", "x2", "over", "under", "yes", "no"];
    ORDER.iter().position(|candidate| *candidate == outcome).unwrap_or(ORDER.len())
}

/// What an outcome is called for people: `Home`, `Over 2.50`, `Home or Draw`, `Away +0.75`.
#[must_use]
pub(in crate::rest) fn outcome_name(outcome: &str, line: Option<Decimal>) -> String {
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
    fn outcomes_are_named_for_people() {
        assert_eq!(outcome_name("over", Some(dec!(2.5))), "Over 2.50");
        assert_eq!(outcome_name("home", None), "Home");
        assert_eq!(outcome_name("away", Some(dec!(-1.75))), "Away +1.75");
        assert_eq!(outcome_name("1x", None), "Home or Draw");
        let pushes = [dec!(2), dec!(2.5), dec!(-0.25), dec!(0.0)].map(|line| push(Some(line)));
        assert_eq!(pushes, [Some("full"), Some("none"), Some("half"), Some("full")]);
    }
}
