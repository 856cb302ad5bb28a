//! How a match stands, by the API's scores.
//!
//! They come by the name of the side and as text. The phase of a match is not told: only that it
//! has not begun, goes on (it has scores), or is completed. Sports without a scoreboard of ours
//! get their fixture alone; in tennis a score of sets without their games is no score of ours, so
//! only the status is told.

use crate::{
    decode::the_odds_api::{Event, Result as EventResult},
    event::{
        Fact, FootballFact, FootballScore, FootballStatus, Pair, Scoreboard, ScoreboardStatus,
        Side, Sport, TennisFact, TennisStatus,
    },
};

/// Where a match is in its life, as far as the API tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    NotStarted,
    Live,
    Completed,
}

pub(super) fn facts(event: &Event, result: &EventResult, sport: Sport) -> Vec<Fact> {
    let phase = match (result.completed, &result.scores) {
        (true, _) => Phase::Completed,
        (false, Some(scores)) if !scores.is_empty() => Phase::Live,
        (false, _) => Phase::NotStarted,
    };
    let score = score(event, result);
    match sport {
        Sport::Football => football(phase, score),
        Sport::Tennis => vec![Fact::Tennis(TennisFact::Status(tennis(phase)))],
        Sport::Hockey | Sport::Basketball | Sport::Darts | Sport::Cs2 => {
            vec![Fact::Scoreboard(scoreboard(phase, score))]
        }
        Sport::HorseRacing | Sport::Cricket | Sport::Other => Vec::new(),
    }
}

fn score(event: &Event, result: &EventResult) -> Option<Pair<u32>> {
    let scores = result.scores.as_ref()?;
    let of = |side: &Option<String>| {
        let side = side.as_ref()?;
        scores.iter().find(|(name, _)| name == side)?.1.trim().parse().ok()
    };
    Some([of(&event.home)?, of(&event.away)?])
}

fn football(phase: Phase, score: Option<Pair<u32>>) -> Vec<Fact> {
    let goals = score.and_then(|score| {
        let [home, away] = score.map(|goals| u16::try_from(goals).ok());
        Some([home?, away?])
    });
    let score =
        goals.map(|goals| FootballFact::Score(FootballScore { goals, ..FootballScore::default() }));
    let status = match phase {
        Phase::NotStarted => Some(FootballFact::Status(FootballStatus::NotStarted)),
        // Which half it is, is not told.
        Phase::Live => None,
        Phase::Completed => Some(FootballFact::Status(FootballStatus::Finished)),
    };
    score.into_iter().chain(status).map(Fact::Football).collect()
}

fn tennis(phase: Phase) -> TennisStatus {
    match phase {
        Phase::NotStarted => TennisStatus::NotStarted,
        Phase::Live => TennisStatus::Live,
        Phase::Completed => TennisStatus::Finished,
    }
}

fn scoreboard(phase: Phase, score: Option<Pair<u32>>) -> Scoreboard {
    let status = match phase {
        Phase::NotStarted => ScoreboardStatus::NotStarted,
        Phase::Live => ScoreboardStatus::Live,
        Phase::Completed => ScoreboardStatus::Finished,
    };
    let winner = match score {
        Some([home, away]) if phase == Phase::Completed && home != away => {
            Some(if home > away { Side::First } else { Side::Second })
        }
        _ => None,
    };
    Scoreboard { status, score, periods: Vec::new(), period: None, clock: None, winner }
}
