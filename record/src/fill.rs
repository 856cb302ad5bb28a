//! Merges a new record of a match with an earlier one: particulars, such as names and places, which
//! any later report completes (also in the archive), and the play, as files report it.

use std::{collections::HashMap, sync::Arc};

use super::{MatchRecord, MatchSummary, Names, PlayRecord, PriceRecord, odds_id};

impl MatchRecord {
    /// The summary for changes; it is copied first if it is shared.
    pub fn brief_mut(&mut self) -> &mut MatchSummary {
        Arc::make_mut(&mut self.brief)
    }

    /// Takes from an earlier record of the same match what this one lacks. Where both have a value,
    /// this one wins, except that an ended match is not started again.
    pub fn fill_from(&mut self, kept: &Self) {
        for (provider, key) in &kept.refs {
            self.refs.entry(provider.clone()).or_insert_with(|| key.clone());
        }
        let went_back = kept.brief.status.is_over() && !self.brief.status.is_over();
        if went_back {
            self.brief_mut().status = kept.brief.status;
        }
        if kept.brief.status.is_over() && self.brief.status.is_over() {
            // A match that is reported again after a restart did not end again.
            self.brief_mut().ended = self.brief.ended.into_iter().chain(kept.brief.ended).min();
        }
        fill_score(self.brief_mut(), &kept.brief, went_back);
        self.brief_mut().fill_particulars(&kept.brief);
        self.names.fill(&kept.names);
        self.fill_play(kept, went_back);
        fill_prices(&mut self.prices, &kept.prices);
    }

    fn fill_play(&mut self, kept: &Self, went_back: bool) {
        match (&mut self.play, &kept.play) {
            (PlayRecord::Football(own), PlayRecord::Football(kept)) => {
                **own = own.filled_from(kept);
                if went_back {
                    own.clock = kept.clock.or(own.clock);
                }
            }
            (PlayRecord::Tennis(own), PlayRecord::Tennis(kept)) => {
                if went_back || !own.followed || own.points.len() < kept.points.len() {
                    own.clone_from(kept);
                }
            }
            (PlayRecord::Scoreboard(own), PlayRecord::Scoreboard(kept)) => {
                if went_back || !own.followed {
                    own.clone_from(kept);
                }
            }
            (PlayRecord::Race(own), PlayRecord::Race(kept)) => {
                if went_back || !own.followed {
                    own.clone_from(kept);
                }
            }
            (own @ PlayRecord::None, kept) => own.clone_from(kept),
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

/// The later price of each pair; prices without a new report are kept.
fn fill_prices(own: &mut Vec<PriceRecord>, kept: &[PriceRecord]) {
    let places = own.iter().enumerate().map(|(place, price)| (odds_id(0, price), place));
    let places: HashMap<_, _> = places.collect();
    for price in kept {
        match places.get(&odds_id(0, price)) {
            Some(place) if own[*place].at < price.at => own[*place].clone_from(price),
            Some(_) => {}
            None => own.push(price.clone()),
        }
    }
}

fn fill<T: Clone>(own: &mut Option<T>, kept: &Option<T>) {
    if own.is_none() {
        own.clone_from(kept);
    }
}

impl MatchSummary {
    /// Takes sides, time, place and competition where this record lacks them.
    pub fn fill_particulars(&mut self, kept: &Self) {
        let Self {
            id: _,
            sport: _,
            competition,
            season,
            start,
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
            weather,
            updated: _,
        } = self;
        fill(competition, &kept.competition);
        fill(season, &kept.season);
        fill(start, &kept.start);
        fill(sides, &kept.sides);
        fill(round, &kept.round);
        fill(round_name, &kept.round_name);
        fill(group, &kept.group);
        fill(venue, &kept.venue);
        fill(referee, &kept.referee);
        fill(&mut coaches[0], &kept.coaches[0]);
        fill(&mut coaches[1], &kept.coaches[1]);
        fill(attendance, &kept.attendance);
        fill(neutral, &kept.neutral);
        fill(best_of, &kept.best_of);
        fill(expected_goals, &kept.expected_goals);
        fill(weather, &kept.weather);
    }
}

impl Names {
    /// Takes the names that this record lacks.
    pub fn fill(&mut self, kept: &Self) {
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
        fill(competition, &kept.competition);
        fill(country, &kept.country);
        fill(season, &kept.season);
        fill(sides, &kept.sides);
        // A city belongs to a venue.
        if venue.is_none() {
            venue.clone_from(&kept.venue);
            city.clone_from(&kept.city);
        }
        fill(city, &kept.city);
        fill(referee, &kept.referee);
        fill(&mut coaches[0], &kept.coaches[0]);
        fill(&mut coaches[1], &kept.coaches[1]);
        fill(surface, &kept.surface);
        fill(category, &kept.category);
        fill(&mut side_countries[0], &kept.side_countries[0]);
        fill(&mut side_countries[1], &kept.side_countries[1]);
    }
}

fn fill_score(own: &mut MatchSummary, kept: &MatchSummary, went_back: bool) {
    if went_back || own.score.is_none() {
        own.score = kept.score.or(own.score);
        own.winner = kept.winner.or(own.winner);
    }
    if own.parts.len() < kept.parts.len() {
        own.parts.clone_from(&kept.parts);
    }
    fill(&mut own.half_time, &kept.half_time);
    fill(&mut own.extra_time, &kept.extra_time);
    fill(&mut own.penalties, &kept.penalties);
    fill(&mut own.winner, &kept.winner);
    own.updated = own.updated.max(kept.updated);
}
