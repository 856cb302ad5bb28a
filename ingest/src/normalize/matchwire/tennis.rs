//! A tennis match's document to facts. Points come from the events of an update, which say who won
//! them and who served; the score after them is the document's. Where one update holds several
//! points, each is emitted with the score after the last.

use facts::event::{
    GameScore, Pair, Point, PointKind, SetScore, Side, TennisFact, TennisScore, TennisStatus,
};
use serde_json::Value;

use super::{
    field::{number, pair, shared, text},
    football::replace_if_changed,
};

const SIDES: [&str; 2] = ["p1", "p2"];

/// The reported state of a match.
#[derive(Debug, Default)]
pub(super) struct Tennis {
    status: Option<TennisStatus>,
    score: Option<TennisScore>,
}

impl Tennis {
    pub(super) fn diff(&mut self, document: &Value, events: &[Value]) -> Vec<TennisFact> {
        let mut facts = Vec::new();
        let status = text(document, "status");
        let status = status.and_then(TennisStatus::from_word);
        if let Some(status) = replace_if_changed(&mut self.status, status) {
            facts.push(TennisFact::Status(status));
        }
        let score = score(document);
        let before = facts.len();
        if let Some(score) = &score {
            facts.extend(events.iter().filter_map(|event| happened(event, score)));
        }
        let new_score = replace_if_changed(&mut self.score, score);
        if facts.len() == before {
            facts.extend(new_score.map(TennisFact::Score));
        }
        facts
    }
}

fn happened(event: &Value, score: &TennisScore) -> Option<TennisFact> {
    let score = score.clone();
    match text(event, "kind")? {
        "point" => Some(TennisFact::Point(Point {
            eid: shared(event, "eid")?,
            winner: side(event, "winner")?,
            server: side(event, "server")?,
            how: text(event, "how").and_then(PointKind::from_word),
            score,
        })),
        "retract" => {
            let eid = shared(event, "of")?;
            // The receiver of the retraction also undoes what the point ended.
            let ended = [":game", ":set", ":match"].iter().any(|end| eid.ends_with(end));
            let why = shared(event, "why").unwrap_or_else(|| "retracted".into());
            (!ended).then_some(TennisFact::Retract { eid, why, score })
        }
        _ => None,
    }
}

fn score(document: &Value) -> Option<TennisScore> {
    let sets = document.get("sets")?;
    // Numbered from 1, five at most.
    let sets: Vec<_> = (1..=5).map_while(|set: u8| self::set(sets.get(set.to_string())?)).collect();
    Some(TennisScore {
        server: side(document, "server"),
        game: game(document.get("game")?, sets.last())?,
        sets,
        stated_sets: None,
        points: number(document, "points")?,
        winner: side(document, "winner"),
    })
}

fn set(node: &Value) -> Option<SetScore> {
    let tie_break = node.get("tb").and_then(|points| pair(points, SIDES));
    Some(SetScore { games: pair(node, SIDES)?, tie_break })
}

/// `"0"` is love in a game and nothing in a tie-break: it is one where the current set shows the
/// same points as its own.
fn game(node: &Value, current: Option<&SetScore>) -> Option<GameScore> {
    let called: Pair<&str> = [text(node, "p1")?, text(node, "p2")?];
    if let Some(points) = current.and_then(|set| set.tie_break)
        && called == points.map(|count| count.to_string()).each_ref().map(String::as_str)
    {
        return Some(GameScore::TieBreak(points));
    }
    let calls = ["0", "15", "30", "40", "A"];
    let won = |shown: &str| {
        let index = calls.iter().position(|call| *call == shown)?;
        u8::try_from(index).ok()
    };
    Some(GameScore::Points([won(called[0])?, won(called[1])?]))
}

fn side(node: &Value, name: &str) -> Option<Side> {
    match number::<u8>(node, name)? {
        1 => Some(Side::First),
        2 => Some(Side::Second),
        _ => None,
    }
}
