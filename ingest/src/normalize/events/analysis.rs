//! Analysis of football matches: lines to facts, checked, and facts to lines.

use super::{
    check::{self, wrong},
    read::{PLAYERS_MAX, Reader, Result, eid, few},
    write::participant,
};
use crate::{
    decode::events as decode,
    event::{
        Analysis, AveragePosition, ExpectedGoals, GoalMouth, MatchMinute, Momentum, PitchPlace,
        PlayerRating, Shot,
    },
};

impl Reader<'_> {
    pub(super) fn analysis(&self, decoded: decode::Analysis) -> Result<Analysis> {
        Ok(match decoded {
            decode::Analysis::Shot(decoded) => Analysis::Shot(self.shot(decoded)?),
            decode::Analysis::ExpectedGoals { side, goals } => Analysis::ExpectedGoals {
                side: side.into(),
                goals: expected(goals, ExpectedGoals::GOALS_MAX)?,
            },
            decode::Analysis::Momentum { minute, added, value } => {
                if !(-100..=100).contains(&value) {
                    return Err(wrong(format!("momentum {value} is not from -100 to 100")));
                }
                check::match_minute(minute)?;
                Analysis::Momentum(Momentum { minute: MatchMinute { minute, added }, value })
            }
            decode::Analysis::HalfStats { half, side, values } => Analysis::HalfStats {
                half,
                side: side.into(),
                values: values.into_iter().map(|(stat, value)| (stat.into(), value)).collect(),
            },
            decode::Analysis::AveragePositions { side, players } => {
                few("players", players.len(), PLAYERS_MAX)?;
                let read = |it: decode::AveragePosition| {
                    let player = self.participant("player", it.player)?;
                    Ok(AveragePosition { player, place: place(it.place)? })
                };
                let players = players.into_iter().map(read).collect::<Result<_>>()?;
                Analysis::AveragePositions { side: side.into(), players }
            }
            decode::Analysis::Ratings { side, players } => {
                few("players", players.len(), PLAYERS_MAX)?;
                let read = |it: decode::PlayerRating| {
                    if it.rating > PlayerRating::RATING_MAX {
                        return Err(wrong(format!("rating {} is beyond 1000", it.rating)));
                    }
                    let player = self.participant("player", it.player)?;
                    Ok(PlayerRating { player, rating: it.rating })
                };
                let players = players.into_iter().map(read).collect::<Result<_>>()?;
                Analysis::Ratings { side: side.into(), players }
            }
        })
    }

    fn shot(&self, decoded: decode::Shot) -> Result<Shot> {
        check::match_minute(decoded.minute)?;
        let mouth = |it: decode::GoalMouth| match it.y {
            0..=1000 => Ok(GoalMouth { y: it.y, z: it.z }),
            y => Err(wrong(format!("goal mouth at {y} is beyond 1000, the end of the pitch"))),
        };
        let probability = |it: Option<f64>| it.map(|goals| expected(goals, 1.0)).transpose();
        Ok(Shot {
            eid: eid(decoded.eid)?,
            side: decoded.side.into(),
            player: decoded.player.map(|it| self.participant("player", it)).transpose()?,
            period: decoded.period,
            minute: decoded.minute,
            added: decoded.added,
            outcome: decoded.outcome,
            situation: decoded.situation,
            body_part: decoded.body_part,
            expected_goals: probability(decoded.expected_goals)?,
            expected_on_target: probability(decoded.expected_on_target)?,
            place: decoded.place.map(place).transpose()?,
            goal_mouth: decoded.goal_mouth.map(mouth).transpose()?,
        })
    }
}

fn expected(goals: f64, max: f64) -> Result<ExpectedGoals> {
    let read = ExpectedGoals::from_goals(goals).filter(|_| goals <= max);
    read.ok_or_else(|| wrong(format!("expected goals {goals} are not from 0 to {max}")))
}

fn place(decoded: decode::PitchPlace) -> Result<PitchPlace> {
    let decode::PitchPlace { x, y } = decoded;
    if x > 1000 || y > 1000 {
        return Err(wrong(format!("place {x}, {y} is beyond 1000, the end of the pitch")));
    }
    Ok(PitchPlace { x, y })
}

pub(super) fn line(known: &Analysis) -> decode::Analysis {
    match known {
        Analysis::Shot(known) => decode::Analysis::Shot(shot(known)),
        Analysis::ExpectedGoals { side, goals } => {
            decode::Analysis::ExpectedGoals { side: (*side).into(), goals: goals.goals() }
        }
        Analysis::Momentum(Momentum { minute: MatchMinute { minute, added }, value }) => {
            decode::Analysis::Momentum { minute: *minute, added: *added, value: *value }
        }
        Analysis::HalfStats { half, side, values } => decode::Analysis::HalfStats {
            half: *half,
            side: (*side).into(),
            values: values.iter().map(|(stat, value)| ((*stat).into(), *value)).collect(),
        },
        Analysis::AveragePositions { side, players } => {
            let line = |it: &AveragePosition| decode::AveragePosition {
                player: participant(&it.player),
                place: written_place(it.place),
            };
            let players = players.iter().map(line).collect();
            decode::Analysis::AveragePositions { side: (*side).into(), players }
        }
        Analysis::Ratings { side, players } => {
            let line = |it: &PlayerRating| decode::PlayerRating {
                player: participant(&it.player),
                rating: it.rating,
            };
            let players = players.iter().map(line).collect();
            decode::Analysis::Ratings { side: (*side).into(), players }
        }
    }
}

fn shot(known: &Shot) -> decode::Shot {
    decode::Shot {
        eid: known.eid.to_string(),
        side: known.side.into(),
        player: known.player.as_ref().map(participant),
        period: known.period,
        minute: known.minute,
        added: known.added,
        outcome: known.outcome,
        situation: known.situation,
        body_part: known.body_part,
        expected_goals: known.expected_goals.map(ExpectedGoals::goals),
        expected_on_target: known.expected_on_target.map(ExpectedGoals::goals),
        place: known.place.map(written_place),
        goal_mouth: known.goal_mouth.map(|it| decode::GoalMouth { y: it.y, z: it.z }),
    }
}

fn written_place(known: PitchPlace) -> decode::PitchPlace {
    decode::PitchPlace { x: known.x, y: known.y }
}
