//! What a scoreboard of football shows: the phase, the clock, the score and the counts, as an image
//! that has the last word over what its timeline adds up to.

use facts::event::{FootballFact, FootballScore, FootballStatus, Pair, Side, Stat};

use super::Football;
use crate::{
    decode::betfair_scores::{Board, Team},
    error::DecodeError,
    normalize::betfair_scores::{
        period::{in_extra_time, is_over, runs, second_of},
        status::{self, Meaning},
        value,
    },
};

impl Football {
    /// What the scoreboard shows now.
    pub(super) fn image(
        &mut self,
        board: &Board,
        facts: &mut Vec<FootballFact>,
        notices: &mut Vec<DecodeError>,
    ) {
        let status = [&board.status, &board.phase]
            .into_iter()
            .flatten()
            .filter_map(|word| self.image_status(word, board, notices))
            .max_by_key(|status| is_over(*status));
        if let Some(status) = status
            && self.status != Some(status)
        {
            self.status = Some(status);
            // That the period is over was not in the timeline, and when it began says no more.
            self.began = self.began.filter(|_| runs(status));
            facts.push(FootballFact::Status(status));
        }
        self.clock(board, facts);
        self.score(board, facts);
        for side in Side::BOTH {
            self.stats(side, &board.teams[side.index()], facts);
        }
    }

    /// The status in the scoreboard, unless the timeline reported it: the scoreboard gives the last
    /// change of phase, and the timeline is more precise about its result.
    fn image_status(
        &self,
        word: &str,
        board: &Board,
        notices: &mut Vec<DecodeError>,
    ) -> Option<FootballStatus> {
        let status = match status::football(word) {
            Meaning::Status(status) => status,
            Meaning::FullTime => FootballStatus::Finished,
            Meaning::Unknown => {
                notices.push(value(format!("status {word:?} of a match is not known")));
                return None;
            }
            _ => return None,
        };
        let updates = board.updates.as_deref().unwrap_or_default();
        let last =
            updates.iter().any(|update| status::football(&update.kind) == status::football(word));
        (!last).then_some(status)
    }

    /// The clock of the scoreboard, where it shows more than is known from when the period began.
    fn clock(&mut self, board: &Board, facts: &mut Vec<FootballFact>) {
        let Some(minute) = board.minute else { return };
        let shown = Some((minute, board.second));
        let between_halves = board.second.is_none() && self.began.is_some();
        let Some(status) = self.status.filter(|_| shown != self.shown && !between_halves) else {
            return;
        };
        self.shown = shown;
        let running = runs(status);
        // While the match stands still, one look at the clock is enough.
        if running || self.ticks != Some(false) {
            self.ticks = Some(running);
            let second = second_of(minute) + u32::from(board.second.unwrap_or(0));
            facts.push(FootballFact::Clock { second, running });
        }
    }

    fn score(&mut self, board: &Board, facts: &mut Vec<FootballFact>) {
        let both = |field: fn(&Team) -> Option<u16>| pair(board, field);
        let before = self.score;
        // Without goals of both sides there is no score, unless an earlier one is known or goals were reported.
        let is_known = self.scored || self.counted != [0, 0];
        self.has_goal_of_no_side &= goals(board).is_none();
        let Some(goals) = goals(board).or_else(|| is_known.then_some(before.goals)) else { return };
        let extra = self.status.is_some_and(in_extra_time) || before.extra_time.is_some();
        let full_time = both(|team| team.full_time).filter(|_| extra);
        let added =
            full_time.map(|after_90| [0, 1].map(|at| goals[at].saturating_sub(after_90[at])));
        self.score = FootballScore {
            goals,
            half_time: both(|team| team.half_time).or(before.half_time),
            extra_time: added.or(before.extra_time),
            penalties: both(|team| team.penalties).or(before.penalties),
        };
        if self.score != before || !self.scored {
            self.scored = true;
            facts.push(FootballFact::Score(self.score));
        }
    }

    fn stats(&mut self, side: Side, team: &Team, facts: &mut Vec<FootballFact>) {
        let last = &mut self.stats[side.index()];
        let counts = [
            (Stat::CornerKicks, team.corners),
            (Stat::YellowCards, team.yellow_cards),
            (Stat::RedCards, team.red_cards),
        ];
        let counts = counts.into_iter().filter_map(|(stat, count)| Some((stat, count?)));
        let values: Vec<_> =
            counts.filter(|(stat, n)| last.insert(*stat, *n) != Some(*n)).collect();
        if !values.is_empty() {
            facts.push(FootballFact::Stats { side, values });
        }
    }
}

pub(super) fn goals(board: &Board) -> Option<Pair<u16>> {
    pair(board, |team| team.goals)
}

fn pair(board: &Board, field: fn(&Team) -> Option<u16>) -> Option<Pair<u16>> {
    let [home, away] = board.teams.each_ref().map(field);
    Some([home?, away?])
}
