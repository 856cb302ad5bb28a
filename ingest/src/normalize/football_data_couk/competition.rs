//! The leagues of the division codes, and the season of a date.

use facts::event::{Competition, Id};
use jiff::civil::Date;

use super::PROVIDER;

/// `season` is what the file says; else it is that of the `first` match of the division in the file,
/// because a season may go on for longer than usual: that of 2019 until August 2020.
pub(super) fn from_division(
    division: &str,
    season: Option<&str>,
    date: Date,
    first: Date,
) -> Competition {
    let of_file = || season_of(if is_of_one_season(first, date) { first } else { date });
    Competition {
        id: Id::derive(PROVIDER, "competition", division),
        name: name(division).into(),
        season: Some(season.map_or_else(of_file, str::to_owned).into()),
    }
}

fn is_of_one_season(first: Date, date: Date) -> bool {
    first.until(date).is_ok_and(|span| span.get_days() < 400)
}

/// `2016/17`, from July to June.
fn season_of(date: Date) -> String {
    let first = if date.month() < 7 { date.year() - 1 } else { date.year() };
    format!("{first}/{:02}", (first + 1).rem_euclid(100))
}

/// By the codes of the notes; one that is not known names itself.
fn name(division: &str) -> &str {
    match division {
        "E0" => "Premier League",
        "E1" => "Championship",
        "E2" => "League One",
        "E3" => "League Two",
        "EC" => "National League",
        "SC0" => "Scottish Premiership",
        "SC1" => "Scottish Championship",
        "SC2" => "Scottish League One",
        "SC3" => "Scottish League Two",
        "D1" => "Bundesliga",
        "D2" => "2. Bundesliga",
        "I1" => "Serie A",
        "I2" => "Serie B",
        "SP1" => "La Liga",
        "SP2" => "Segunda División",
        "F1" => "Ligue 1",
        "F2" => "Ligue 2",
        "N1" => "Eredivisie",
        "B1" => "Belgian Pro League",
        "P1" => "Primeira Liga",
        "T1" => "Süper Lig",
        "G1" => "Super League Greece",
        other => other,
    }
}

/// The country of a league, by the letters of its code.
pub(super) fn country(division: &str) -> Option<&'static str> {
    Some(match division.trim_end_matches(|it: char| it.is_ascii_digit()) {
        "E" | "EC" => "England",
        "SC" => "Scotland",
        "D" => "Germany",
        "I" => "Italy",
        "SP" => "Spain",
        "F" => "France",
        "N" => "Netherlands",
        "B" => "Belgium",
        "P" => "Portugal",
        "T" => "Turkey",
        "G" => "Greece",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn season_is_that_of_the_first_match() {
        let date = |(year, month): (i16, i8)| Date::new(year, month, 1).unwrap();
        for (first, day, expected) in [
            ((2016, 8), (2017, 5), "2016/17"),
            ((2017, 5), (2017, 5), "2016/17"),
            ((1999, 8), (1999, 9), "1999/00"),
            ((2019, 8), (2020, 8), "2019/20"),
            ((2020, 8), (2020, 8), "2020/21"),
            ((2016, 8), (2017, 12), "2017/18"),
        ] {
            let competition = from_division("E0", None, date(day), date(first));
            assert_eq!(competition.season.as_deref(), Some(expected), "{first:?} {day:?}");
        }
        let competition =
            from_division("Brazil Serie A", Some("2024"), date((2024, 5)), date((2012, 5)));
        assert_eq!(competition.season.as_deref(), Some("2024"));
    }
}
