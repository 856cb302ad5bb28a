//! True pairs, and pairs that only look similar.

use super::*;
use crate::identity::rule::Comparison;

const SAME: &str = "same";
const SWAPPED: &str = "same, swapped";
const DOUBTFUL: &str = "doubtful";
const DIFFERENT: &str = "different";

fn verdict(sport: Sport, one: &Fixture, other: &Fixture) -> Comparison {
    let [Some(one), Some(other)] = [one, other].map(|it| Reading::from_fixture(sport, it)) else {
        return Comparison::Different;
    };
    one.compare(&other)
}

/// In both directions.
#[track_caller]
fn check(sport: Sport, one: &Fixture, other: &Fixture, expected: &str) {
    for (one, other) in [(one, other), (other, one)] {
        let verdict = verdict(sport, one, other);
        let found = match verdict {
            Comparison::Same { swapped: false, .. } => SAME,
            Comparison::Same { swapped: true, .. } => SWAPPED,
            Comparison::Doubtful { .. } => DOUBTFUL,
            Comparison::Different => DIFFERENT,
        };
        assert_eq!(found, expected, "{one:?}\n{other:?}\n{verdict:?}");
    }
}

#[track_caller]
fn football(one: (&str, &str), other: (&str, &str), expected: &str) {
    let [one, other] = [("a", one), ("b", other)]
        .map(|(provider, (sides, start))| fixture(provider, "1", sides, start));
    check(Sport::Football, &one, &other, expected);
}

#[track_caller]
fn tennis(one: (&str, &str), other: (&str, &str), expected: &str) {
    let [one, other] = [("a", one), ("b", other)]
        .map(|(provider, (sides, start))| fixture(provider, "1", sides, start));
    check(Sport::Tennis, &one, &other, expected);
}

const NOON: &str = "2017-04-30T12:00:00Z";

#[test]
fn one_football_match_is_the_same_by_all_its_names() {
    for (one, other) in [
        ("Middlesbrough v Man City", "Middlesbrough v Manchester City"),
        ("Turkey v Italy", "Türkiye v Italy"),
        ("Nott'm Forest v Sheffield Weds", "Nottingham Forest v Sheffield Wednesday"),
        ("Ath Madrid v Ath Bilbao", "Atlético Madrid v Athletic Club"),
        ("Ein Frankfurt v M'gladbach", "Eintracht Frankfurt v Borussia Mönchengladbach"),
        ("South Korea v Ivory Coast", "Korea Republic v Côte d'Ivoire"),
        ("Arsenal (W) v Chelsea (W)", "Arsenal Women v Chelsea Women"),
        ("England U21 v Germany U21", "England Under 21 v Germany U-21"),
        ("Fictional FC v SC Imaginary", "Fictional v Imaginary"),
    ] {
        football((one, NOON), (other, NOON), SAME);
        football((one, NOON), (other, "2017-04-30"), SAME);
    }
}

#[test]
fn football_near_misses_are_distinguished() {
    for (other, expected) in [
        ("Middlesbrough v Man United", DIFFERENT),
        ("Manchester City v Middlesbrough", DOUBTFUL),
        ("Middlesbrough U21 v Man City U21", DIFFERENT),
        ("Middlesbrough v Man City U21", DIFFERENT),
        ("Middlesbrough Women v Man City Women", DIFFERENT),
        ("Middlesbrough II v Man City", DIFFERENT),
        ("Middlesborough v Man City", DOUBTFUL),
        ("Middlesbrough v Leeds", DIFFERENT),
        ("Middlesborough v Manchester C", DIFFERENT),
    ] {
        football(("Middlesbrough v Man City", NOON), (other, NOON), expected);
    }
}

#[test]
fn start_must_match_too() {
    let sides = "Middlesbrough v Man City";
    for (start, expected) in [
        ("2017-04-30T15:00:00Z", SAME),
        ("2017-04-30T15:00:01Z", DOUBTFUL),
        ("2017-05-02T00:00:00Z", DOUBTFUL),
        ("2017-05-02T00:00:01Z", DIFFERENT),
        ("2017-04-29", SAME),
        ("2017-05-01", SAME),
        ("2017-05-02", DIFFERENT),
        ("", DIFFERENT),
    ] {
        football((sides, NOON), (sides, start), expected);
    }
    football((sides, NOON), ("Man City v Middlesbrough", "2017-04-30T19:00:00Z"), DIFFERENT);
}

#[test]
fn derbies_of_one_day_are_different() {
    let derbies =
        ["AC Milan v Juventus", "Inter v Torino", "Man City v Leeds", "Man United v Everton"];
    for (at, one) in derbies.iter().enumerate() {
        for other in &derbies[at + 1..] {
            football((one, NOON), (other, NOON), DIFFERENT);
        }
    }
}

#[test]
fn competition_counts_where_it_disagrees_strongly() {
    let played =
        |provider, sides, competition| within(fixture(provider, "1", sides, NOON), competition);
    for (one, other, expected) in [
        ("English Premier League", "England Premier League", SAME),
        ("English Premier League", "Premier League", SAME),
        ("English Premier League", "Chilean Primera Division", DIFFERENT),
        ("Women's Super League", "Premier League", DIFFERENT),
        ("UEFA Youth League", "UEFA Champions League", DIFFERENT),
    ] {
        let (one, other) =
            (played("a", "Everton v Arsenal", one), played("b", "Everton v Arsenal", other));
        check(Sport::Football, &one, &other, expected);
    }
    let marked = fixture("a", "1", "Arsenal Women v Chelsea Women", NOON);
    check(
        Sport::Football,
        &marked,
        &played("b", "Arsenal v Chelsea", "FA Women's Super League"),
        SAME,
    );
    let young = fixture("a", "1", "Ajax U19 v Porto U19", NOON);
    check(Sport::Football, &young, &played("b", "Ajax v Porto", "UEFA Youth League"), SAME);
    let brazil = played("a", "Inter v Santos", "Brazil Série A");
    check(Sport::Football, &brazil, &played("b", "Inter Milan v Santos", "Friendlies"), DOUBTFUL);
}

#[test]
fn one_tennis_match_is_the_same_by_all_its_names() {
    let late = "2017-05-01T23:00:00Z";
    for (one, other, expected) in [
        ("Novak Djokovic v Rafael Nadal", "Djokovic N. v Nadal R.", SAME),
        ("Novak Djokovic v Rafael Nadal", "R. Nadal v N. Djokovic", SWAPPED),
        (
            "Dabrowski/Routliffe v Hsieh/Mertens",
            "E Mertens / SW Hsieh v E Routliffe / G Dabrowski",
            SWAPPED,
        ),
        ("A. Zverev v M. Zverev", "Alexander Zverev v Mischa Zverev", SAME),
        ("A. Zverev v M. Zverev", "Mischa Zverev v Alexander Zverev", SWAPPED),
        ("Serena Williams v Venus Williams", "V Williams v S Williams", SWAPPED),
    ] {
        tennis((one, NOON), (other, late), expected);
    }
}

#[test]
fn tennis_near_misses_are_distinguished() {
    for (one, other, expected) in [
        ("A. Zverev v R. Nadal", "M. Zverev v R. Nadal", DIFFERENT),
        ("Serena Williams v Li Na", "Venus Williams v Li Na", DIFFERENT),
        ("Ka. Pliskova v S. Halep", "Kr. Pliskova v S. Halep", DIFFERENT),
        ("Djokovic v Rafael Nadal", "Novak Djokovic v R. Nadal", DOUBTFUL),
        ("Djokovic v Nadal", "Djokovic N./Nadal R. v Federer R./Murray A.", DIFFERENT),
        ("Aleksandr Bublik v R. Nadal", "Alexander Bublik v R. Nadal", DOUBTFUL),
    ] {
        tennis((one, NOON), (other, NOON), expected);
    }
    tennis(
        ("A. Zverev v R. Nadal", NOON),
        ("A. Zverev v R. Nadal", "2017-05-02T01:00:00Z"),
        DIFFERENT,
    );
}

#[test]
fn sides_that_are_not_known_are_never_matched() {
    for sides in
        ["TBD v TBD", "Winner QF1 v Italy", "Italy v To be determined", "? v !", "no names"]
    {
        football((sides, NOON), (sides, NOON), DIFFERENT);
    }
    let race = fixture("a", "1", "One v Other", NOON);
    check(Sport::HorseRacing, &race, &race, DIFFERENT);
}

#[test]
fn order_of_sides_matters_in_sports_with_a_home_side() {
    let [one, other] =
        ["Lakers v Bulls", "Bulls v Lakers"].map(|sides| fixture("a", "1", sides, NOON));
    check(Sport::Basketball, &one, &other, DOUBTFUL);
    check(Sport::Cs2, &one, &other, SWAPPED);
    let [one, other] = ["Michael van Gerwen v Luke Littler", "L Littler v M van Gerwen"]
        .map(|it| fixture("a", "1", it, NOON));
    check(Sport::Darts, &one, &other, SWAPPED);
}
