//! The state of a match from the API's scores.
//!
//! Scores are given by the name of the side and as text. The phase of a match is not given: only
//! that it has not started, is live (it has scores), or is completed. Unsupported sports get only
//! their fixture. In tennis, a score of sets without their games cannot be represented, so only the
//! status is reported.

use facts::event::{
    Fact, FootballFact, FootballScore, FootballStatus, Pair, PlayKind, Scoreboard,
    ScoreboardStatus, Side, Sport, TennisFact, TennisStatus,
};

use crate::decode::the_odds_api::{EventResult, OddsApiEvent};

/// The phase of a match, as far as the API gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    NotStarted,
    Live,
    Completed,
}

pub(super) fn facts(event: &OddsApiEvent, result: &EventResult, sport: Sport) -> Vec<Fact> {
    let phase = match (result.completed, &result.scores) {
        (true, _) => Phase::Completed,
        (false, Some(scores)) if !scores.is_empty() => Phase::Live,
        (false, _) => Phase::NotStarted,
    };
    let score = score(event, result);
    match sport.play() {
        PlayKind::Football => football(phase, score),
        PlayKind::Tennis => vec![Fact::Tennis(TennisFact::Status(tennis(phase)))],
        PlayKind::Scoreboard => vec![Fact::Scoreboard(scoreboard(phase, score))],
        PlayKind::Race | PlayKind::None => Vec::new(),
    }
}

fn score(event: &OddsApiEvent, result: &EventResult) -> Option<Pair<u32>> {
    let scores = result.scores.as_ref()?;
    let points = |side: &Option<String>| {
        let side = side.as_ref()?;
        scores.iter().find(|(name, _)| name == side)?.1.trim().parse().ok()
    };
    Some([points(&event.home)?, points(&event.away)?])
}

fn football(phase: Phase, score: Option<Pair<u32>>) -> Vec<Fact> {
    let goals = score.and_then(|score| {
        let [home, away] = score.map(|goals| u16::try_from(goals).ok());
        Some([home?, away?])
    });
    let score =
        goals.map(|goals| FootballFact::Score(FootballScore { goals, ..FootballScore::default() }));
    let status = FootballFact::Status(match phase {
        Phase::NotStarted => FootballStatus::NotStarted,
        // The current half is not given.
        Phase::Live => FootballStatus::Live,
        Phase::Completed => FootballStatus::Finished,
    });
    score.into_iter().chain([status]).map(Fact::Football).collect()
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
