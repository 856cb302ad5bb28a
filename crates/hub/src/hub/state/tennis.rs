//! A tennis match in play: status and score, and what each point ended.

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{
    Eid, GameScore, Pair, Point, PointKind, Side, TennisFact, TennisScore, TennisStatus,
};
use fanout::Micros;

use super::{MatchDelta, Moment};

#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub struct Tennis {
    /// `None` until a feed reports the play.
    pub status: Option<TennisStatus>,
    /// The last one that a source stated. See [`Tennis::reported_score`].
    score: Option<TennisScore>,
    /// The last point and what it ended, for a retraction.
    last: Option<(Eid, PointEndings)>,
    /// The latest source time of a score.
    scored_at: Option<Micros>,
    /// How often the score was lowered without a retracted point.
    put_right: u32,
    /// The reported points, in order. Empty for a source that reports only scores.
    pub played: Vec<PlayedPoint>,
}

/// A point and the score after it.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PlayedPoint {
    pub eid: Eid,
    pub winner: Side,
    pub server: Side,
    pub how: Option<PointKind>,
    /// The set in which it was played, counted from 1.
    pub set: u8,
    /// The games of that set, after it.
    pub games: Pair<u8>,
    /// The points of the game, after it; none each where it ended the game.
    pub game: GameScore,
    pub ended: PointEndings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TennisPart {
    Status,
    Score,
    /// A set, counted from 1, that the score no longer has.
    SetGone(usize),
}

/// What a point ended: a game, a set, the match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, BorshSerialize, BorshDeserialize)]
pub struct PointEndings {
    pub game: bool,
    pub set: bool,
    pub match_: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TennisEvent {
    Point {
        point: Point,
        ended: PointEndings,
        /// The set in which the point was played, counted from 1.
        set: u8,
    },
    Retracted {
        point: Eid,
        why: Arc<str>,
        ended: PointEndings,
    },
    /// The score was lowered without a retraction, with the number of times, this one included.
    Corrected(u32),
}

impl Tennis {
    /// The score of a match that has begun, as a source stated it: without a statement there is none, not 0-0.
    #[must_use]
    pub fn reported_score(&self) -> Option<&TennisScore> {
        self.score.as_ref().filter(|_| self.status.is_some_and(TennisStatus::has_begun))
    }

    pub(super) fn apply(&mut self, fact: &TennisFact, moment: Moment, delta: &mut MatchDelta) {
        match fact {
            TennisFact::Status(status) if self.status == Some(*status) => {}
            TennisFact::Status(status) => {
                let was_reported = self.reported_score().is_some();
                self.status = Some(*status);
                if self.reported_score().is_some() != was_reported {
                    delta.tennis.push(TennisPart::Score);
                }
                delta.tennis.push(TennisPart::Status);
            }
            TennisFact::Score(score) => self.put(score, moment, delta),
            TennisFact::Point(point) => self.point(point, moment, delta),
            TennisFact::Retract { eid: point, why, score } => {
                match self.last.take_if(|(eid, _)| eid == point) {
                    Some((point, ended)) => {
                        self.played.pop_if(|played| played.eid == point);
                        let why = Arc::clone(why);
                        delta.tennis_events.push(TennisEvent::Retracted { point, why, ended });
                        self.scored_at = self.scored_at.max(moment.source);
                        self.score(score, delta);
                    }
                    None => self.put(score, moment, delta),
                }
            }
        }
    }

    /// The current state as facts.
    pub(super) fn facts(&self) -> Vec<TennisFact> {
        let Some(status) = self.status else { return Vec::new() };
        let score = self.score.clone().map(TennisFact::Score);
        std::iter::once(TennisFact::Status(status)).chain(score).collect()
    }

    /// Sets a score. A lower score publishes an event of its own, unless its source time is before
    /// that of the current score: then it is late and ignored.
    fn put(&mut self, score: &TennisScore, moment: Moment, delta: &mut MatchDelta) {
        if self.score.as_ref().is_some_and(|current| current.is_ahead_of(score)) {
            if moment.source.is_some_and(|at| Some(at) < self.scored_at) {
                return;
            }
            if self.reported_score().is_some() {
                self.put_right += 1;
                delta.tennis_events.push(TennisEvent::Corrected(self.put_right));
            }
        }
        self.scored_at = self.scored_at.max(moment.source);
        self.score(score, delta);
    }

    fn score(&mut self, score: &TennisScore, delta: &mut MatchDelta) {
        if self.score.as_ref() != Some(score) {
            let sets = self.score.as_ref().map_or(0, |current| current.sets.len());
            delta.tennis.extend((score.sets.len() + 1..=sets).map(TennisPart::SetGone));
            self.score = Some(score.clone());
            delta.tennis.push(TennisPart::Score);
        }
    }

    /// Applies a point. One whose number is not ahead of the score is a repetition.
    fn point(&mut self, point: &Point, moment: Moment, delta: &mut MatchDelta) {
        let before = self.score.clone().unwrap_or_default();
        if point.score.points <= before.points {
            return;
        }
        let ended = PointEndings::between(&before, &point.score);
        let set = u8::try_from(before.sets.len().max(1)).unwrap_or(u8::MAX);
        self.last = Some((Arc::clone(&point.eid), ended));
        self.scored_at = self.scored_at.max(moment.source);
        let games = point.score.sets.get(usize::from(set) - 1).map_or([0, 0], |set| set.games);
        self.played.push(PlayedPoint {
            eid: Arc::clone(&point.eid),
            winner: point.winner,
            server: point.server,
            how: point.how,
            set,
            games,
            game: point.score.game,
            ended,
        });
        delta.tennis_events.push(TennisEvent::Point { point: point.clone(), ended, set });
        self.score(&point.score, delta);
    }
}

impl PointEndings {
    fn between(before: &TennisScore, after: &TennisScore) -> Self {
        let games = |score: &TennisScore| -> u32 {
            score.sets.iter().flat_map(|set| set.games).map(u32::from).sum()
        };
        let sets = |score: &TennisScore| -> u8 { score.sets_won().iter().sum() };
        Self {
            game: games(after) > games(before),
            set: sets(after) > sets(before),
            match_: after.winner.is_some() && before.winner.is_none(),
        }
    }
}

/// 1 or 2, as clients see a side of a tennis match.
#[must_use]
pub fn number(side: Side) -> u8 {
    match side {
        Side::First => 1,
        Side::Second => 2,
    }
}
