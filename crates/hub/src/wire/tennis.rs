//! A tennis match: `server`, `sets`, `game`, `points`, `winner`, and its events.

use std::sync::Arc;

use facts::event::{self, GameScore, Pair, SetScore, TennisScore};

use super::{
    DocumentHeader, MatchHead, Participant,
    football::Retract,
    values::{Map, PlayerNumber, PointKind, TennisStatus, Text, Timestamp},
};
use crate::{
    document::{FieldKey, Node, Object},
    hub::state::{self, Moment, PointEndings, Tennis, TennisPart},
};

wire! {
    /// A tennis match: the document of `tennis/{id}`.
    document TennisMatch {
        #[schemars(flatten)] header: @shared DocumentHeader,
        #[schemars(flatten)] head: @shared MatchHead,
        /// Always `tennis`.
        #[schemars(extend("const" = "tennis"))] sport: @shared Text,
        #[schemars(flatten)] players: @shared Players,
        /// The status.
        status: @shared TennisStatus,
        /// The side that serves the next point.
        server: Option<PlayerNumber>,
        /// Each set that has begun, by its number from `"1"`. Absent if no source reports the play.
        sets: Option<Map<TennisSet>>,
        /// The current game. Absent if no source reports the play.
        game: Option<TennisGame>,
        /// Points played in the match. Absent if no source reports the play.
        points: Option<u32>,
        /// The winner of the match.
        winner: Option<PlayerNumber>,
    }

    /// The sides of a tennis match.
    document Players {
        /// The first player or pair; absent if no source names it.
        p1: Option<Participant>,
        /// The second player or pair; absent if no source names it.
        p2: Option<Participant>,
    }

    /// The score of a set.
    object TennisSet {
        /// Games of the first side.
        p1: u8,
        /// Games of the second side.
        p2: u8,
        /// Points of the tie-break, if there is one.
        tb: Option<PlayerPair>,
    }

    /// A count of each side of a tennis match.
    object PlayerPair {
        /// Of the first side.
        p1: u16,
        /// Of the second side.
        p2: u16,
    }

    /// The points of a game: `"0"`, `"15"`, `"30"`, `"40"`, `"A"`, or the points of a tie-break.
    object TennisGame {
        /// Of the first side.
        #[schemars(regex(pattern = "^([0-9]+|A)$"))]
        p1: Text,
        /// Of the second side.
        #[schemars(regex(pattern = "^([0-9]+|A)$"))]
        p2: Text,
    }

    /// An event of a tennis match.
    union TennisEvent { Point, GameWon, SetWon, MatchWon, Retract, TennisCorrect }

    /// A point of a tennis match.
    event Point = "point" {
        /// The side that won it.
        winner: PlayerNumber,
        /// The side that served.
        server: PlayerNumber,
        /// How it was won, if the source reports it.
        how: Option<PointKind>,
        /// The number of the set, from 1.
        set: u8,
        /// The number of the point in the match.
        point: u32,
        /// When it happened, if the source says.
        at: Option<Timestamp>,
    }

    /// What a point ended.
    group Ending {
        /// The side that won it.
        winner: PlayerNumber,
        /// The number of the set, from 1.
        set: u8,
        /// The games of that set.
        games: Option<PlayerPair>,
    }

    /// A point ended a game. It follows the point in the same update.
    event GameWon = "game" {
        #[schemars(flatten)] ending: Ending,
    }

    /// A point ended a set. It follows the point and its game in the same update.
    event SetWon = "set" {
        #[schemars(flatten)] ending: Ending,
    }

    /// A point ended the match. It follows the point, its game and its set in the same update.
    event MatchWon = "match" {
        #[schemars(flatten)] ending: Ending,
    }

    /// The score of a tennis match decreased without a retracted point. The current score is in the patch.
    event TennisCorrect = "correct" {
        /// Always `score`.
        #[schemars(extend("const" = "score"))] of: Text,
    }
}

pub(super) fn image(out: &mut Object, state: &Tennis) {
    if let Some(current) = state.reported_score() {
        score(out, current, None);
    }
}

pub(super) fn patch(out: &mut Object, state: &Tennis, parts: &[TennisPart]) {
    // The status is in the header.
    if !parts.contains(&TennisPart::Score) {
        return;
    }
    match state.reported_score() {
        Some(current) => score(out, current, Some(parts)),
        None => {
            let fields: [FieldKey; 5] = [
                TennisMatch::server().into(),
                TennisMatch::winner().into(),
                TennisMatch::sets().into(),
                TennisMatch::game().into(),
                TennisMatch::points().into(),
            ];
            fields.into_iter().for_each(|field| out.set(field, Node::Null));
        }
    }
}

/// The score's fields. In a patch (`Some`, with the changed parts), absent values are deleted.
fn score(out: &mut Object, score: &TennisScore, patch: Option<&[TennisPart]>) {
    out.put_optional(TennisMatch::server(), score.server, patch.is_some());
    out.put_optional(TennisMatch::winner(), score.winner, patch.is_some());
    sets(out.object(TennisMatch::sets()), score, patch);
    out.put_some(TennisMatch::game(), Some(score.game));
    out.put_some(TennisMatch::points(), Some(score.points));
}

/// `{"1":{p1,p2,tb{p1,p2}}}`: by the number of the set.
pub(super) fn sets(out: &mut Object, score: &TennisScore, patch: Option<&[TennisPart]>) {
    for part in patch.into_iter().flatten() {
        if let TennisPart::SetGone(number) = part {
            out.set(FieldKey::Int(*number as u64), Node::Null);
        }
    }
    for (number, set) in (1..).zip(&score.sets) {
        out.set(FieldKey::Int(number), TennisSet::from(set).object(patch.is_some()));
    }
}

impl From<&SetScore> for TennisSet {
    fn from(set: &SetScore) -> Self {
        let [p1, p2] = set.games;
        Self { p1, p2, tb: set.tie_break.map(PlayerPair::from) }
    }
}

impl<T: Into<u16>> From<Pair<T>> for PlayerPair {
    fn from(pair: Pair<T>) -> Self {
        let [p1, p2] = pair.map(Into::into);
        Self { p1, p2 }
    }
}

impl From<GameScore> for TennisGame {
    fn from(game: GameScore) -> Self {
        let [p1, p2] = match game {
            GameScore::Points(points) => points.map(|won| call(won).into()),
            GameScore::TieBreak(points) => points.map(|won| won.to_string().into()),
        };
        Self { p1, p2 }
    }
}

/// The points of a game as texts, in order of the sides.
#[must_use]
pub fn calls(game: GameScore) -> Pair<Arc<str>> {
    match game {
        GameScore::Points(points) => points.map(|won| call(won).into()),
        GameScore::TieBreak(points) => points.map(|won| won.to_string().into()),
    }
}

/// The umpire's call for the points won in a game.
fn call(points: u8) -> &'static str {
    match points {
        0 => "0",
        1 => "15",
        2 => "30",
        3 => "40",
        _ => "A",
    }
}

pub(super) fn events(events: &[state::TennisEvent], moment: Moment) -> Vec<Node> {
    let mut out = Vec::new();
    let mut push = |event: TennisEvent| out.push(event.into());
    for event in events {
        match event {
            state::TennisEvent::Point { point, ended, set } => {
                self::point(&mut push, point, *ended, *set, moment);
            }
            state::TennisEvent::Retracted { point, why, ended } => {
                retracted(&mut push, point, why, *ended);
            }
            // The score decreased although no point was taken back; the current score is in the same update.
            state::TennisEvent::Corrected(number) => {
                let eid = format!("correct-score-{number}").into();
                push(TennisCorrect { eid, of: "score".into() }.into());
            }
        }
    }
    out
}

/// A point, and the game, set and match that it ended, named after the point. If a point is taken back and replayed, they
/// end again under another name.
fn point(
    push: &mut impl FnMut(TennisEvent),
    point: &event::Point,
    ended: PointEndings,
    set: u8,
    moment: Moment,
) {
    let event::Point { eid, winner, server, how, score } = point;
    let event = Point {
        eid: eid.into(),
        winner: (*winner).into(),
        server: (*server).into(),
        how: how.map(PointKind::from),
        set,
        point: score.points,
        at: moment.source.map(Timestamp::from),
    };
    push(event.into());
    let name = |kind: &str| Text::from(format!("{eid}:{kind}"));
    let ending = || {
        let games = score.sets.get(usize::from(set) - 1).map(|won| won.games.into());
        Ending { winner: (*winner).into(), set, games }
    };
    if ended.game {
        push(GameWon { eid: name("game"), ending: ending() }.into());
    }
    if ended.set {
        push(SetWon { eid: name("set"), ending: ending() }.into());
    }
    if ended.match_ {
        push(MatchWon { eid: name("match"), ending: ending() }.into());
    }
}

fn retracted(
    push: &mut impl FnMut(TennisEvent),
    point: &Arc<str>,
    why: &Arc<str>,
    ended: PointEndings,
) {
    let kinds = [("match", ended.match_), ("set", ended.set), ("game", ended.game)];
    let endings = kinds.into_iter().filter(|(_, it)| *it);
    let all = endings.map(|(kind, _)| format!("{point}:{kind}").into()).chain([Arc::clone(point)]);
    for point in all {
        let eid = format!("retract-{point}").into();
        push(Retract { eid, of: (&point).into(), why: Some(why.into()), score: None }.into());
    }
}
