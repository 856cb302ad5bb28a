//! A tennis match in play: status and score, and what each point ended.

use std::sync::Arc;

use ingest::event::{Eid, Point, Side, TennisFact, TennisScore, TennisStatus};

#[derive(Debug, Default)]
pub struct Tennis {
    /// `None` until a feed that follows the play has told it.
    pub status: Option<TennisStatus>,
    /// See [`Tennis::told_score`].
    score: TennisScore,
    /// The last point and what it ended, for taking it back.
    last: Option<(Eid, Ended)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TennisPart {
    Status,
    Score,
    /// A set, counted from 1, that the score no longer has.
    SetGone(usize),
}

/// What a point ended beside itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ended {
    pub game: bool,
    pub set: bool,
    pub match_: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TennisEvent {
    Point {
        point: Point,
        ended: Ended,
        /// The set in which the point was played, counted from 1.
        set: u8,
    },
    Retracted {
        of: Eid,
        why: Arc<str>,
        ended: Ended,
    },
}

impl Tennis {
    /// The score, once a feed follows the play: no feed is no 0-0.
    #[must_use]
    pub fn told_score(&self) -> Option<&TennisScore> {
        self.status.map(|_| &self.score)
    }

    pub(super) fn apply(
        &mut self,
        fact: &TennisFact,
        parts: &mut Vec<TennisPart>,
        events: &mut Vec<TennisEvent>,
    ) {
        match fact {
            TennisFact::Status(status) if self.status == Some(*status) => {}
            TennisFact::Status(status) => {
                if self.status.replace(*status).is_none() {
                    parts.push(TennisPart::Score);
                }
                parts.push(TennisPart::Status);
            }
            TennisFact::Score(score) => self.score(score, parts),
            TennisFact::Point(point) => self.point(point, parts, events),
            TennisFact::Retract { of, why, score } => self.retract(of, why, score, parts, events),
        }
    }

    fn score(&mut self, score: &TennisScore, parts: &mut Vec<TennisPart>) {
        if self.score != *score {
            let gone = score.sets.len() + 1..=self.score.sets.len();
            parts.extend(gone.map(TennisPart::SetGone));
            self.score = score.clone();
            parts.push(TennisPart::Score);
        }
    }

    /// A point whose number is not ahead of the score has been told before.
    fn point(&mut self, point: &Point, parts: &mut Vec<TennisPart>, events: &mut Vec<TennisEvent>) {
        if point.score.points <= self.score.points {
            return;
        }
        let ended = Ended::by(&self.score, &point.score);
        let set = u8::try_from(self.score.sets.len().max(1)).unwrap_or(u8::MAX);
        self.last = Some((Arc::clone(&point.eid), ended));
        events.push(TennisEvent::Point { point: point.clone(), ended, set });
        self.score(&point.score, parts);
    }

    fn retract(
        &mut self,
        of: &Eid,
        why: &Arc<str>,
        score: &TennisScore,
        parts: &mut Vec<TennisPart>,
        events: &mut Vec<TennisEvent>,
    ) {
        if let Some((_, ended)) = self.last.take_if(|(eid, _)| eid == of) {
            let (of, why) = (Arc::clone(of), Arc::clone(why));
            events.push(TennisEvent::Retracted { of, why, ended });
        }
        self.score(score, parts);
    }
}

impl Ended {
    fn by(before: &TennisScore, after: &TennisScore) -> Self {
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
