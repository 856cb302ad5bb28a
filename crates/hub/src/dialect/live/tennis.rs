//! Tennis: `event` and `score`.

use facts::event::{PointKind, Side, Sport, TennisScore};
use fanout::Micros;

use super::{MatchScene, frame, kickoff, uts};
use crate::{
    document::{Node, Object},
    hub::state::{Match, Tennis},
    wire::tennis::calls,
};
use record::{Status, Vocabulary};

pub(super) fn event(out: &mut Object, scene: &MatchScene<'_>, state: &Tennis) {
    let score_out = out.object("score");
    score(score_out, state.reported_score());
    let status = Status::from(scene.state.tennis_status(state));
    out.object("status").set("name", status.word(Vocabulary::Sport(Sport::Tennis)));
    out.set_or_null("kickoff_at", kickoff(scene.state));
    let stats = stats(state);
    out.set("stats", stats);
    let competition = scene.state.fixture.competition.as_ref();
    out.set_or_null(
        "tournament",
        competition.map(|competition| {
            let mut out = Object::default();
            out.set("id", competition.id.0);
            out.set("name", &competition.name);
            out
        }),
    );
}

/// The `score` frame: the score after a point.
#[must_use]
pub fn score_frame(state: &Match, tennis: &Tennis, at: Micros) -> Option<Object> {
    let mut out = frame("score", state);
    score(&mut out, Some(tennis.reported_score()?));
    out.set("uts", uts(at));
    Some(out)
}

/// Without a feed of the play there are no sets, and everything else is `null`.
fn score(out: &mut Object, score: Option<&TennisScore>) {
    let sets = score.map_or(&[][..], |score| &score.sets);
    let games = |games: [u8; 2]| Node::List(games.map(Node::from).to_vec());
    out.set("sets", Node::List(sets.iter().map(|set| games(set.games)).collect()));
    let won = score.map(TennisScore::sets_won);
    let current = score.map(|_| sets.last().map_or([0, 0], |set| set.games));
    for (index, [sets_name, games_name]) in
        [["home_sets", "home_games"], ["away_sets", "away_games"]].into_iter().enumerate()
    {
        out.set_or_null(sets_name, won.map(|won| won[index]));
        out.set_or_null(games_name, current.map(|games| games[index]));
    }
    let point = score.map(|score| {
        let [home, away] = calls(score.game);
        format!("{home}-{away}")
    });
    out.set_or_null("point", point);
    out.set_or_null("server", score.and_then(|score| score.server).map(side_name));
    let number = u64::try_from(sets.len()).ok().filter(|number| *number > 0);
    out.set_or_null("set", number);
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::First => "home",
        Side::Second => "away",
    }
}

/// Counted from the points if a feed reports how they were won.
fn stats(state: &Tennis) -> Object {
    let mut out = Object::default();
    let says_how = state.played.iter().any(|point| point.how.is_some());
    for side in Side::BOTH {
        let out = out.object(side_name(side));
        if !says_how {
            continue;
        }
        let served = |how: PointKind| {
            let all = state.played.iter();
            all.filter(|point| point.server == side && point.how == Some(how)).count() as u64
        };
        out.set("aces", served(PointKind::Ace));
        out.set("double_faults", served(PointKind::DoubleFault));
    }
    out
}
