//! Real seasons of football-data.co.uk, for tests.

use std::{cmp::Ordering, collections::HashMap, fs, io::Read, path::Path};

use flate2::read::GzDecoder;
use jiff::civil::Date;
use record::Key;

use super::MatchResult;

/// A match of a season file.
#[derive(Debug, Clone)]
pub(super) struct SeasonRow {
    pub(super) sides: [Key; 2],
    pub(super) goals: [u32; 2],
    pub(super) day: Date,
    /// Decimal odds of home, draw and away: the mean of the bookmakers some days before the match.
    pub(super) average: Option<[f64; 3]>,
    /// The same of Pinnacle at the kick-off.
    pub(super) closing: Option<[f64; 3]>,
}

impl SeasonRow {
    /// As the model takes it on `today`.
    pub(super) fn result(&self, today: Date) -> MatchResult {
        let days = f64::from(self.day.until(today).unwrap().get_days());
        MatchResult { sides: self.sides, goals: self.goals, days }
    }

    /// 0 home, 1 draw, 2 away.
    pub(super) fn outcome(&self) -> usize {
        match self.goals[0].cmp(&self.goals[1]) {
            Ordering::Greater => 0,
            Ordering::Equal => 1,
            Ordering::Less => 2,
        }
    }
}

/// The matches of a file in the order in which they were played. `teams`: the ids of teams, to which new ones are added.
pub(super) fn read(path: &Path, teams: &mut HashMap<String, Key>) -> Vec<SeasonRow> {
    let mut bytes = fs::read(path).unwrap();
    if path.extension().is_some_and(|it| it == "gz") {
        let packed = std::mem::take(&mut bytes);
        GzDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    let header: Vec<_> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| header.iter().position(|title| *title == name);
    let mut rows = Vec::new();
    for line in lines {
        let cells: Vec<_> = line.split(',').collect();
        let cell = |name: &str| column(name).and_then(|index| cells.get(index).copied());
        let goals = |name: &str| cell(name).and_then(|it| it.parse().ok());
        let (Some(scored), Some(conceded)) = (goals("FTHG"), goals("FTAG")) else { continue };
        let prices = |name: &str| {
            let price = |side: &str| cell(&format!("{name}{side}"))?.parse().ok();
            Some([price("H")?, price("D")?, price("A")?])
        };
        let mut parts = cell("Date").unwrap().split('/').map(|part| part.parse::<i16>().unwrap());
        let [day, month, year] = [(); 3].map(|()| parts.next().unwrap());
        let year = if year < 100 { year + 2000 } else { year };
        let day =
            Date::new(year, i8::try_from(month).unwrap(), i8::try_from(day).unwrap()).unwrap();
        let sides = ["HomeTeam", "AwayTeam"].map(|name| {
            let next = u64::try_from(teams.len()).unwrap();
            *teams.entry(cell(name).unwrap().to_owned()).or_insert(next)
        });
        let (average, closing) = (prices("BbAv").or_else(|| prices("Avg")), prices("PSC"));
        rows.push(SeasonRow { sides, goals: [scored, conceded], day, average, closing });
    }
    rows.sort_by_key(|row| row.day);
    rows
}
