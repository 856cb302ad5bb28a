//! Merges a new record of a match with an earlier one: particulars, such as names and places, which
//! any later report completes (also in the archive), and the play, as files report it.

use std::{collections::HashMap, sync::Arc};

use base::Micros;

use super::{MatchRecord, MatchSummary, Names, PlayRecord, PriceRecord, odds_id};

/// A day in microseconds.
const DAY: Micros = 24 * 60 * 60 * 1_000_000;

impl MatchRecord {
    /// The summary for changes; it is copied first if it is shared.
    pub fn summary_mut(&mut self) -> &mut MatchSummary {
        Arc::make_mut(&mut self.summary)
    }

    /// Takes from an earlier record of the same match what this one lacks. Where both have a value,
    /// this one wins, except that an ended match is not started again.
    pub fn fill_from(&mut self, earlier: &Self) {
        for (provider, key) in &earlier.refs {
            self.refs.entry(provider.clone()).or_insert_with(|| key.clone());
        }
        let went_back = earlier.summary.status.is_over() && !self.summary.status.is_over();
        if went_back {
            self.summary_mut().status = earlier.summary.status;
        }
        if earlier.summary.status.is_over() && self.summary.status.is_over() {
            // A match that is reported again after a restart did not end again.
            self.summary_mut().ended =
                self.summary.ended.into_iter().chain(earlier.summary.ended).min();
        }
        fill_score(self.summary_mut(), &earlier.summary, went_back);
        self.summary_mut().fill_particulars(&earlier.summary);
        self.names.fill(&earlier.names);
        self.fill_play(earlier, went_back);
        fill_prices(&mut self.prices, &earlier.prices);
    }

    fn fill_play(&mut self, earlier: &Self, went_back: bool) {
        match (&mut self.play, &earlier.play) {
            (PlayRecord::Football(record), PlayRecord::Football(earlier)) => {
                **record = record.filled_from(earlier);
                if went_back {
                    record.clock = earlier.clock.or(record.clock);
                }
            }
            (PlayRecord::Tennis(record), PlayRecord::Tennis(earlier)) => {
                if went_back || !record.followed || record.points.len() < earlier.points.len() {
                    record.clone_from(earlier);
                }
            }
            (PlayRecord::Scoreboard(record), PlayRecord::Scoreboard(earlier)) => {
                if went_back || !record.followed {
                    record.clone_from(earlier);
                }
            }
            (PlayRecord::Race(record), PlayRecord::Race(earlier)) => {
                if went_back || !record.followed {
                    record.clone_from(earlier);
                }
            }
            (record @ PlayRecord::None, earlier) => record.clone_from(earlier),
            // Another sport: a match never changes its sport.
            (
                PlayRecord::Football(_)
                | PlayRecord::Tennis(_)
                | PlayRecord::Scoreboard(_)
                | PlayRecord::Race(_),
                _,
            ) => {}
        }
    }
}

/// The later price of each pair; prices without a new report stay.
fn fill_prices(newer: &mut Vec<PriceRecord>, earlier: &[PriceRecord]) {
    let places = newer.iter().enumerate().map(|(index, price)| (odds_id(0, price), index));
    let places: HashMap<_, _> = places.collect();
    for price in earlier {
        match places.get(&odds_id(0, price)) {
            Some(index) if newer[*index].at < price.at => newer[*index].clone_from(price),
            Some(_) => {}
            None => newer.push(price.clone()),
        }
    }
}

fn fill<T: Clone>(newer: &mut Option<T>, earlier: &Option<T>) {
    if newer.is_none() {
        newer.clone_from(earlier);
    }
}

impl MatchSummary {
    /// Takes sides, time, place and competition where this record lacks them.
    pub fn fill_particulars(&mut self, earlier: &Self) {
        let Self {
            id: _,
            sport: _,
            competition,
            season,
            start,
            day_only,
            status: _,
            sides,
            round,
            round_name,
            group,
            venue,
            referee,
            coaches,
            attendance,
            neutral,
            score: _,
            half_time: _,
            extra_time: _,
            penalties: _,
            parts: _,
            winner: _,
            best_of,
            ended: _,
            expected_goals,
            period_starts,
            weather,
            updated: _,
        } = self;
        fill(competition, &earlier.competition);
        fill(season, &earlier.season);
        let day = |start: Option<Micros>| start.map(|start| start.div_euclid(DAY));
        // A day does not replace a time of that day.
        let is_vaguer = *day_only && !earlier.day_only && day(*start) == day(earlier.start);
        if start.is_none() || is_vaguer {
            (*start, *day_only) = (earlier.start, earlier.day_only);
        }
        fill(sides, &earlier.sides);
        fill(round, &earlier.round);
        fill(round_name, &earlier.round_name);
        fill(group, &earlier.group);
        fill(venue, &earlier.venue);
        fill(referee, &earlier.referee);
        fill(&mut coaches[0], &earlier.coaches[0]);
        fill(&mut coaches[1], &earlier.coaches[1]);
        fill(attendance, &earlier.attendance);
        fill(neutral, &earlier.neutral);
        fill(best_of, &earlier.best_of);
        fill(expected_goals, &earlier.expected_goals);
        fill(weather, &earlier.weather);
        if let Some(earlier) = &earlier.period_starts {
            let newer = period_starts.get_or_insert_default();
            for (period, at) in &**earlier {
                newer.entry(*period).or_insert(*at);
            }
        }
    }
}

impl Names {
    /// Takes the names that this record lacks.
    pub fn fill(&mut self, earlier: &Self) {
        let Self {
            competition,
            country,
            season,
            sides,
            venue,
            city,
            referee,
            coaches,
            surface,
            category,
            side_countries,
        } = self;
        fill(competition, &earlier.competition);
        fill(country, &earlier.country);
        fill(season, &earlier.season);
        fill(sides, &earlier.sides);
        // A city belongs to a venue.
        if venue.is_none() {
            venue.clone_from(&earlier.venue);
            city.clone_from(&earlier.city);
        }
        fill(city, &earlier.city);
        fill(referee, &earlier.referee);
        fill(&mut coaches[0], &earlier.coaches[0]);
        fill(&mut coaches[1], &earlier.coaches[1]);
        fill(surface, &earlier.surface);
        fill(category, &earlier.category);
        fill(&mut side_countries[0], &earlier.side_countries[0]);
        fill(&mut side_countries[1], &earlier.side_countries[1]);
    }
}

fn fill_score(newer: &mut MatchSummary, earlier: &MatchSummary, went_back: bool) {
    if went_back || newer.score.is_none() {
        newer.score = earlier.score.or(newer.score);
        newer.winner = earlier.winner.or(newer.winner);
    }
    if newer.parts.len() < earlier.parts.len() {
        newer.parts.clone_from(&earlier.parts);
    }
    fill(&mut newer.half_time, &earlier.half_time);
    fill(&mut newer.extra_time, &earlier.extra_time);
    fill(&mut newer.penalties, &earlier.penalties);
    fill(&mut newer.winner, &earlier.winner);
    newer.updated = newer.updated.max(earlier.updated);
}

#[cfg(test)]
mod tests {
    use facts::football::Period;

    use super::*;
    use crate::testing::summary;

    #[test]
    fn starts_of_periods_are_filled_one_by_one() {
        let starts = |all: &[(Period, Micros)]| MatchSummary {
            period_starts: Some(Box::new(all.iter().copied().collect())),
            ..summary(1)
        };
        let earlier = starts(&[(Period::FirstHalf, 1), (Period::SecondHalf, 2)]);
        let newer = starts(&[(Period::SecondHalf, 3), (Period::ExtraFirst, 4)]);
        let both =
            starts(&[(Period::FirstHalf, 1), (Period::SecondHalf, 3), (Period::ExtraFirst, 4)]);
        for (newer, earlier, expected) in [
            (&newer, &earlier, &both),
            (&newer, &summary(1), &newer),
            (&summary(1), &earlier, &earlier),
            (&summary(1), &summary(1), &summary(1)),
        ] {
            let mut filled = newer.clone();
            filled.fill_particulars(earlier);
            assert_eq!(filled.period_starts, expected.period_starts);
        }
    }

    #[test]
    fn day_is_no_time() {
        // 2016-08-13T12:00:00Z, 15:00, and 15:00 on the next day
        let noon = 1_471_089_600_000_000;
        let [three, tomorrow] = [noon + DAY / 8, noon + DAY / 8 + DAY];
        let unknown = MatchSummary { start: None, ..summary(1) };
        let at = |start| MatchSummary { start: Some(start), ..summary(1) };
        let timed = at(three);
        let day = MatchSummary { day_only: true, ..at(noon) };
        for (newer, earlier, expected) in [
            (&unknown, at(three), Some("written")),
            (&unknown, day.clone(), Some("2016-08-13")),
            (&unknown, unknown.clone(), None),
            (&day, at(three), Some("written")),
            (&day, at(tomorrow), Some("2016-08-13")),
            (&day, unknown.clone(), Some("2016-08-13")),
            (&timed, day.clone(), Some("written")),
        ] {
            let mut filled = newer.clone();
            filled.fill_particulars(&earlier);
            let text = filled.start_text(|_| Some("written".to_owned()));
            assert_eq!(text.as_deref(), expected);
        }
    }
}
