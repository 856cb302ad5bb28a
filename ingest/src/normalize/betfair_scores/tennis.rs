//! A tennis match, stroke by stroke or by its scoreboard.
//!
//! The displayed score takes precedence. The rules fill in what it lacks: who serves next, and the
//! points of a tie-break on the point that ends it. Betfair rarely gives the number of sets, so a
//! match is over when Betfair reports it, not by the rules; with `bestOfSets` both apply.
//!
//! Incidents and scores share one numbering, and each number is processed once. A repeated incident
//! with `undo` retracts its point; a new one with `undo` retracts the last point, unless its score
//! shows that it is a point that was undone before it was received.

use std::collections::VecDeque;

use facts::{
    event::{
        Eid, Fact, Micros, Point, PointKind, SetScore, Side, TennisFact, TennisScore, TennisStatus,
    },
    tennis::{FinalSet, MatchFormat},
};

use super::{Match, reading, status};
use crate::{
    decode::betfair_scores::{Board, Kind, Reading, TennisIncident},
    error::{DecodeError, Result},
    normalize::{Interpretation, betfair::time},
};

/// The most points that can still be retracted. Only one of the last few is ever undone.
const UNDONE_MAX: usize = 32;

const UNDONE: &str = "taken back by the umpire";

#[derive(Debug)]
pub(super) struct Tennis {
    status: Option<TennisStatus>,
    score: TennisScore,
    /// The last reported score.
    reported: Option<TennisScore>,
    /// The number of the last incident.
    sequence: Option<u64>,
    /// The last reported points, the newest at the back.
    points: VecDeque<PointEntry>,
    format: MatchFormat,
    /// The clock of the batches, which never falls.
    clock_us: Option<Micros>,
}

#[derive(Debug)]
struct PointEntry {
    sequence: u64,
    before: TennisScore,
}

impl Default for Tennis {
    fn default() -> Self {
        Self {
            status: None,
            score: TennisScore { sets: vec![SetScore::default()], ..TennisScore::default() },
            reported: None,
            sequence: None,
            points: VecDeque::new(),
            // Until it is known: best of five, so that no set counts as the last too early.
            format: MatchFormat { sets_to_win: 3, final_set: FinalSet::TieBreak },
            clock_us: None,
        }
    }
}

impl Tennis {
    /// Processes new incidents, or a score that is newer than they are.
    pub(super) fn incidents(
        &mut self,
        tracked: &mut Match,
        incidents: &[TennisIncident],
        whole: bool,
        event_status: Option<&str>,
        received: Micros,
        out: &mut Interpretation,
    ) {
        for incident in incidents {
            let at = incident.updated.as_deref().and_then(time::micros);
            let clock_us = at.or(self.clock_us).unwrap_or(received);
            self.clock_us = self.clock_us.max(Some(clock_us));
            let mut facts = Vec::new();
            let result = self.incident(tracked, incident, whole, &mut facts);
            out.notices.extend(result.err());
            tracked.emit(self.clock_us.unwrap_or(clock_us), at, facts, out);
        }
        let mut facts = Vec::new();
        if let Some(text) = event_status {
            self.event_status(text, &mut facts, &mut out.notices);
        }
        let clock_us = self.clock_us.unwrap_or(received);
        tracked.emit(clock_us, None, facts, out);
    }

    fn incident(
        &mut self,
        tracked: &mut Match,
        incident: &TennisIncident,
        strokes: bool,
        facts: &mut Vec<Fact>,
    ) -> Result<()> {
        let reading = &incident.reading;
        if self.sequence >= Some(incident.sequence) {
            self.undo_known(incident, facts);
            return Ok(());
        }
        self.sequence = Some(incident.sequence);
        facts.extend(tracked.starts(reading.start.as_deref().and_then(time::micros)));
        if let Some(best_of) = reading.best_of {
            self.format.sets_to_win = best_of.div_ceil(2);
        }
        let status = reading.status.as_deref().and_then(status::tennis);
        let ends = status.is_some_and(status::is_over);
        facts.extend(status.filter(|_| !ends).and_then(|status| self.status(status)));
        let result = match incident.kind {
            _ if reading.undo => {
                self.undo(incident, facts);
                Ok(())
            }
            Kind::Other if strokes => {
                self.serve(reading, facts);
                Ok(())
            }
            Kind::Other => {
                self.shown(reading, facts);
                Ok(())
            }
            Kind::Point | Kind::Ace | Kind::DoubleFault => self.point(incident, facts),
        };
        if let Some(status) = status.filter(|_| ends) {
            self.end(status, facts);
        }
        result
    }

    /// Emits the status if it changed.
    fn status(&mut self, status: TennisStatus) -> Option<Fact> {
        let changed = self.status.replace(status) != Some(status);
        changed.then_some(Fact::Tennis(TennisFact::Status(status)))
    }

    /// Between points only the server on the scoreboard is reliable.
    fn serve(&mut self, reading: &Reading, facts: &mut Vec<Fact>) {
        let server =
            side(reading.server).or(self.score.server).or_else(|| side(reading.first_to_serve));
        self.score.server = server.filter(|_| self.score.winner.is_none());
        if self.status == Some(TennisStatus::Live) {
            self.report_score(facts);
        }
    }

    fn shown(&mut self, reading: &Reading, facts: &mut Vec<Fact>) {
        if !reading::agrees(&self.score, reading) {
            self.score = reading::score(&self.score, reading, None);
        }
        self.score.server = side(reading.server).or(self.score.server);
        self.report_score(facts);
    }

    fn report_score(&mut self, facts: &mut Vec<Fact>) {
        if self.reported.as_ref() != Some(&self.score) {
            self.reported = Some(self.score.clone());
            facts.push(Fact::Tennis(TennisFact::Score(self.score.clone())));
        }
    }

    fn point(&mut self, incident: &TennisIncident, facts: &mut Vec<Fact>) -> Result<()> {
        let (number, reading) = (incident.sequence, &incident.reading);
        let winner = side(reading.won_by);
        let winner = winner.ok_or_else(|| super::value(format!("point {number} has no winner")))?;
        let server = side(reading.server).or(self.score.server);
        let server = server.ok_or_else(|| super::value(format!("point {number} has no server")))?;
        self.reopen();
        facts.extend(self.status(TennisStatus::Live));
        self.score.server = Some(server);
        let before = self.score.clone();
        let mut after = before.clone();
        after.point(winner, self.format);
        let by_rules = reading::agrees(&after, reading);
        if !by_rules {
            let next = after.server;
            after = reading::score(&before, reading, Some(winner));
            after.server = next;
        }
        self.score = after.clone();
        self.reported = Some(after.clone());
        if self.points.len() == UNDONE_MAX {
            self.points.pop_front();
        }
        self.points.push_back(PointEntry { sequence: number, before });
        let over = after.winner.is_some();
        let point =
            Point { eid: eid(number), winner, server, how: how(incident.kind), score: after };
        facts.push(Fact::Tennis(TennisFact::Point(point)));
        facts.extend(over.then(|| self.status(TennisStatus::Finished)).flatten());
        if by_rules {
            return Ok(());
        }
        Err(super::value(format!("score after point {number} is not by the rules")))
    }

    /// Reopens the match: a point after its end shows that it was not over.
    fn reopen(&mut self) {
        if self.score.winner.take().is_some() {
            self.format.sets_to_win = 3;
            if self.score.sets.last().is_some_and(|set| set.winner().is_some()) {
                self.score.sets.push(SetScore::default());
            }
        }
    }

    fn undo(&mut self, incident: &TennisIncident, facts: &mut Vec<Fact>) {
        let Some(last) = self.points.back() else { return };
        let reading = &incident.reading;
        if !reading::agrees(&last.before, reading) {
            let mut with_it = self.score.clone();
            if let (Some(winner), true) = (side(reading.won_by), incident.kind != Kind::Other) {
                with_it.point(winner, self.format);
            }
            if reading::agrees(&with_it, reading) {
                return;
            }
        }
        let Some(last) = self.points.pop_back() else { return };
        let by_memory = reading::agrees(&last.before, reading);
        self.score = last.before;
        if !by_memory {
            self.score = reading::score(&self.score, reading, None);
        }
        self.retract(last.sequence, facts);
    }

    /// Undoes an incident that was already processed.
    fn undo_known(&mut self, incident: &TennisIncident, facts: &mut Vec<Fact>) {
        if !incident.reading.undo {
            return;
        }
        let index = self.points.iter().position(|entry| entry.sequence == incident.sequence);
        let Some(entry) = index.and_then(|index| self.points.remove(index)) else { return };
        if index == Some(self.points.len()) {
            self.score = entry.before;
        }
        self.retract(entry.sequence, facts);
    }

    fn retract(&mut self, sequence: u64, facts: &mut Vec<Fact>) {
        let (eid, score) = (eid(sequence), self.score.clone());
        self.reported = Some(score.clone());
        facts.push(Fact::Tennis(TennisFact::Retract { eid, why: UNDONE.into(), score }));
    }

    /// What is said of the whole match now, which is less than what its last incident said, unless
    /// it is no longer in progress.
    fn event_status(&mut self, text: &str, facts: &mut Vec<Fact>, notices: &mut Vec<DecodeError>) {
        match status::tennis(text) {
            None => notices.push(super::value(format!("status {text:?} of a match is not known"))),
            Some(TennisStatus::Live) if self.status.is_some_and(|it| !interrupted(it)) => {}
            Some(over) if status::is_over(over) => self.end(over, facts),
            Some(status) => facts.extend(self.status(status)),
        }
    }

    /// Ends the match. The winner is known if the last set is over and one side is ahead.
    fn end(&mut self, status: TennisStatus, facts: &mut Vec<Fact>) {
        if self.status.is_some_and(status::is_over) {
            return;
        }
        let [first, second] = self.score.sets_won();
        let fresh = self.score.sets.last() == Some(&SetScore::default());
        let over = self.score.sets.last().is_some_and(|set| set.winner().is_some());
        if (fresh || over) && first != second && status == TennisStatus::Finished {
            self.score.sets.pop_if(|_| fresh);
            self.score.winner = Some(if first > second { Side::First } else { Side::Second });
        }
        self.score.server = None;
        self.report_score(facts);
        facts.extend(self.status(status));
    }

    /// Processes a scoreboard of the in-play service.
    pub(super) fn board(
        &mut self,
        board: &Board,
        facts: &mut Vec<Fact>,
        notices: &mut Vec<DecodeError>,
    ) {
        let text = board.phase.as_deref().or(board.status.as_deref());
        let status = text.and_then(status::tennis);
        if let (Some(text), None) = (text, status) {
            notices.push(super::value(format!("status {text:?} of a match is not known")));
        }
        let [first, second] = &board.teams;
        let pair = |first: Option<u8>, second: Option<u8>| first.zip(second).map(<[u8; 2]>::from);
        let serves = [first.serves, second.serves];
        let mut set_games = [first.sets_over.clone(), second.sets_over.clone()];
        if let Some([first_games, other]) = pair(first.games, second.games) {
            // The finished sets, followed by the current one.
            set_games[0].push(first_games);
            set_games[1].push(other);
        }
        let reading = Reading {
            server: serves.iter().position(|serves| *serves).map(|at| at as u8 + 1),
            shown: first.points.zip(second.points).map(Into::into),
            games: pair(first.games, second.games),
            sets: pair(first.sets, second.sets),
            set_games,
            ..Reading::default()
        };
        let over = status.filter(|status| status::is_over(*status));
        facts.extend(status.filter(|_| over.is_none()).and_then(|status| self.status(status)));
        self.shown(&reading, facts);
        if let Some(status) = over {
            self.end(status, facts);
        }
    }
}

fn interrupted(status: TennisStatus) -> bool {
    status == TennisStatus::Interrupted
}

fn eid(sequence: u64) -> Eid {
    format!("p{sequence}").into()
}

fn how(kind: Kind) -> Option<PointKind> {
    match kind {
        Kind::Ace => Some(PointKind::Ace),
        Kind::DoubleFault => Some(PointKind::DoubleFault),
        Kind::Point | Kind::Other => None,
    }
}

fn side(player: Option<u8>) -> Option<Side> {
    match player {
        Some(1) => Some(Side::First),
        Some(2) => Some(Side::Second),
        _ => None,
    }
}
