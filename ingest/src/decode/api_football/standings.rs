//! The tables of an answer. Of them only that is of use which no result explains: points that a competition took or gave.

use std::sync::Arc;

use super::super::json;

/// The most teams that are named.
const NAMED_MAX: usize = 20;

json::lenient! {
    struct Answer {
        league: Option<League> as "json::known_value",
    }

    struct League {
        /// The rows of each table.
        standings: Vec<Vec<Row>> as "json::known_all",
    }

    struct Row {
        team: Option<Team> as "json::known_value",
        points: Option<i64> as "json::known_value",
        all: Option<Results> as "json::known_value",
    }

    struct Team {
        name: Option<Arc<str>> as "json::key",
    }

    struct Results {
        win: Option<u16> as "json::small",
        draw: Option<u16> as "json::small",
    }
}

impl Row {
    /// What it says of a team with other points than those of its results.
    fn difference(&self) -> Option<String> {
        let (team, results, points) = (self.team.as_ref()?, self.all.as_ref()?, self.points?);
        let by_results = i64::from(results.win?) * 3 + i64::from(results.draw?);
        let name = team.name.as_deref()?;
        (points != by_results)
            .then(|| format!("{name} has {points} points, and {by_results} by its results"))
    }
}

/// The teams whose points are others than those of their results, in words.
pub(super) fn differences(response: &str) -> Vec<String> {
    let answers = json::known_elements::<Answer>(response).into_iter();
    let rows = answers.filter_map(|answer| answer.league).flat_map(|league| league.standings);
    rows.flatten().filter_map(|row| row.difference()).take(NAMED_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::differences;

    #[test]
    fn points_that_no_result_explains_are_named() {
        let row = |name: &str, points: &str, win: u8, draw: u8| {
            format!(
                r#"{{"team":{{"id":1,"name":"{name}"}},"points":{points},"all":{{"win":{win},"draw":{draw}}}}}"#
            )
        };
        let rows = [
            row("Alder", "30", 9, 3),
            row("Birch", "27", 10, 9),
            row("Cedar", "-3", 0, 0),
            row("Elm", "null", 1, 1),
        ];
        let answer =
            format!(r#"[{{"league":{{"id":39,"standings":[[{}],[7]]}}}}]"#, rows.join(","));
        assert_eq!(
            differences(&answer),
            [
                "Birch has 27 points, and 39 by its results",
                "Cedar has -3 points, and 0 by its results",
            ]
        );
        for none in ["[]", "null", r#"{"league":{}}"#, r#"[{"league":{"standings":null}}]"#] {
            assert_eq!(differences(none), [""; 0], "{none}");
        }
    }
}
