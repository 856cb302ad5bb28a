//! What is known of a match already, beside what is told of it now.

use std::collections::HashMap;

use super::{Brief, FootballRecord, MatchRecord, Names, PlayRecord, PriceRecord, odds_id};

impl MatchRecord {
    /// Takes over of an earlier record of the same match what this one does not know. What both know
    /// is as it is told here, but a match that has ended is not begun anew.
    pub fn fill_from(&mut self, kept: &Self) {
        for (provider, key) in &kept.refs {
            self.refs.entry(provider.clone()).or_insert_with(|| key.clone());
        }
        let went_back = kept.brief.status.is_over() && !self.brief.status.is_over();
        if went_back {
            self.brief.status = kept.brief.status;
        }
        fill_brief(&mut self.brief, &kept.brief, went_back);
        fill_names(&mut self.names, &kept.names);
        self.fill_play(kept, went_back);
        fill_prices(&mut self.prices, &kept.prices);
    }

    fn fill_play(&mut self, kept: &Self, went_back: bool) {
        match (&mut self.play, &kept.play) {
            (PlayRecord::Football(own), PlayRecord::Football(kept)) => {
                fill_football(own, kept, went_back);
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
            // Of another sport, which no match becomes.
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

/// The later one of each; those that are not told now stay as they were.
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

fn fill_brief(own: &mut Brief, kept: &Brief, went_back: bool) {
    fill(&mut own.competition, &kept.competition);
    fill(&mut own.season, &kept.season);
    fill(&mut own.start, &kept.start);
    fill(&mut own.sides, &kept.sides);
    fill(&mut own.round, &kept.round);
    fill(&mut own.round_name, &kept.round_name);
    fill(&mut own.group, &kept.group);
    fill(&mut own.venue, &kept.venue);
    fill(&mut own.referee, &kept.referee);
    fill(&mut own.coaches[0], &kept.coaches[0]);
    fill(&mut own.coaches[1], &kept.coaches[1]);
    fill(&mut own.attendance, &kept.attendance);
    fill(&mut own.neutral, &kept.neutral);
    fill(&mut own.best_of, &kept.best_of);
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

fn fill_names(own: &mut Names, kept: &Names) {
    fill(&mut own.competition, &kept.competition);
    fill(&mut own.country, &kept.country);
    fill(&mut own.season, &kept.season);
    fill(&mut own.sides, &kept.sides);
    if own.venue.is_none() {
        own.venue.clone_from(&kept.venue);
        own.city.clone_from(&kept.city);
    }
    fill(&mut own.city, &kept.city);
    fill(&mut own.referee, &kept.referee);
    fill(&mut own.coaches[0], &kept.coaches[0]);
    fill(&mut own.coaches[1], &kept.coaches[1]);
    fill(&mut own.surface, &kept.surface);
    fill(&mut own.category, &kept.category);
}

/// Two sources have different ids for one incident, so the list is one of them's: that of the one
/// who tells more.
fn fill_football(own: &mut FootballRecord, kept: &FootballRecord, went_back: bool) {
    own.followed |= kept.followed;
    if went_back || own.clock.is_none() {
        own.clock = kept.clock.or(own.clock);
    }
    if own.incidents.len() < kept.incidents.len() {
        own.incidents.clone_from(&kept.incidents);
    }
    for (own, kept) in own.stats.iter_mut().zip(&kept.stats) {
        for (stat, value) in kept {
            own.entry(stat.clone()).or_insert(*value);
        }
    }
    fill(&mut own.ball, &kept.ball);
    fill(&mut own.line_ups[0], &kept.line_ups[0]);
    fill(&mut own.line_ups[1], &kept.line_ups[1]);
    // Players, too, have other ids with another source.
    if own.players.is_empty() {
        own.players.clone_from(&kept.players);
    }
}
