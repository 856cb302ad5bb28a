//! Facts of any source as lines of the format, for exports and for pushing them elsewhere.
//!
//! Reading a line again, as a source of all matches, gives the same facts with the same ids.

use std::{collections::HashMap, sync::Arc};

use super::analysis;
use crate::{
    decode::events::{self as decode, Line, MatchName, Number},
    event::{
        About, Batch, Competition, Event, Fact, Fixture, FootballFact, FootballScore, GameScore,
        Id, Incident, IncidentKind, Level, LineUp, LineUpPlayer, MarketChange, MarketDefinition,
        Micros, OddsFact, Participant, Race, RaceRunner, Scoreboard, SelectionChange,
        SelectionDefinition, TennisFact, TennisScore, Timed,
    },
};

/// Writes batches as lines. It keeps the provider's key of each match of which it saw the fixture.
#[derive(Debug, Default)]
pub struct LineWriter {
    keys: HashMap<Id, (Arc<str>, Arc<str>)>,
}

impl LineWriter {
    /// One line, without its end. It has no moment where the batch has none.
    pub fn batch(&mut self, batch: &Batch) -> String {
        self.line(batch.at, batch)
    }

    /// The same with the clock as its moment where the batch has none: a line of a recording.
    pub fn timed(&mut self, timed: &Timed) -> String {
        self.line(Some(timed.batch.at.unwrap_or(timed.clock_us)), &timed.batch)
    }

    fn line(&mut self, at: Option<Micros>, batch: &Batch) -> String {
        let mut all: Vec<_> = batch.events.iter().map(|event| self.batch_fact(event)).collect();
        let line = match (all.pop(), all.is_empty()) {
            (Some(decode::BatchFact { provider, sport, r#match, fact }), true) => {
                let id = None;
                let line = decode::Message { at, id, provider, sport, r#match, fact };
                Line::One(Box::new(line))
            }
            (last, _) => {
                all.extend(last);
                Line::Batch(decode::Batch { at, id: None, batch: all })
            }
        };
        serde_json::to_string(&line).expect("a line is JSON")
    }

    fn batch_fact(&mut self, event: &Event) -> decode::BatchFact {
        if let Fact::Fixture(Fixture { provider, provider_key, .. }) = &event.fact
            && Id::derive(provider, "match", provider_key) == event.match_id
        {
            let names = (Arc::clone(provider), Arc::clone(provider_key));
            self.keys.insert(event.match_id, names);
        }
        let (provider, name) = match self.keys.get(&event.match_id) {
            Some((provider, key)) => (Some(provider.to_string()), MatchName::Key(key.to_string())),
            None => (None, MatchName::Id(event.match_id.0)),
        };
        let fact = fact(&event.fact);
        decode::BatchFact { provider, sport: event.sport.into(), r#match: name, fact }
    }
}

fn fact(known: &Fact) -> decode::Fact {
    match known {
        Fact::Fixture(known) => decode::Fact::Fixture(fixture(known)),
        Fact::About(known) => decode::Fact::About(Box::new(about(known))),
        Fact::Football(known) => decode::Fact::Football(football(known)),
        Fact::Tennis(known) => decode::Fact::Tennis(tennis(known)),
        Fact::Scoreboard(known) => decode::Fact::Scoreboard(scoreboard(known)),
        Fact::Race(known) => decode::Fact::Race(race(known)),
        Fact::Odds(known) => decode::Fact::Odds(odds(known)),
    }
}

fn text(known: Option<&Arc<str>>) -> Option<String> {
    known.map(|text| text.to_string())
}

fn fixture(known: &Fixture) -> decode::Fixture {
    decode::Fixture {
        competition: known.competition.as_ref().map(competition),
        start: known.start,
        date: known.date.map(|date| date.to_string()),
        sides: known.sides.as_ref().map(|sides| sides.each_ref().map(participant)),
    }
}

fn about(known: &About) -> decode::About {
    let venue = known.venue.as_ref().map(|venue| decode::Venue {
        name: venue.name.to_string(),
        key: None,
        id: Some(venue.id.0),
        city: text(venue.city.as_ref()),
    });
    let [home_coach, away_coach] =
        known.coaches.each_ref().map(|coach| coach.as_ref().map(participant));
    decode::About {
        round: known.round,
        round_name: text(known.round_name.as_ref()),
        group: text(known.group.as_ref()),
        country: text(known.country.as_ref()),
        venue,
        referee: known.referee.as_ref().map(participant),
        home_coach,
        away_coach,
        attendance: known.attendance,
        neutral: known.neutral,
        surface: text(known.surface.as_ref()),
        category: text(known.category.as_ref()),
        best_of: known.best_of,
        home_country: text(known.side_countries[0].as_ref()),
        away_country: text(known.side_countries[1].as_ref()),
        weather: known.weather,
    }
}

fn competition(known: &Competition) -> decode::Competition {
    let Competition { id, name, season } = known;
    let (name, season) = (name.to_string(), text(season.as_ref()));
    decode::Competition { name, key: None, id: Some(id.0), season }
}

pub(super) fn participant(known: &Participant) -> decode::Participant {
    decode::Participant { name: known.name.to_string(), key: None, id: Some(known.id.0) }
}

fn football(known: &FootballFact) -> decode::Football {
    match known {
        FootballFact::Status(status) => decode::Football::Status((*status).into()),
        &FootballFact::Clock { second, running } => decode::Football::Clock { second, running },
        FootballFact::Score(score) => decode::Football::Score(football_score(*score)),
        FootballFact::Incident(known) => decode::Football::Incident(incident(known)),
        FootballFact::Correct(known) => decode::Football::Correct(incident(known)),
        FootballFact::Retract { of, why, score } => decode::Football::Retract {
            of: of.to_string(),
            why: why.to_string(),
            score: football_score(*score),
        },
        FootballFact::Stats { side, values } => decode::Football::Stats {
            side: (*side).into(),
            values: values.iter().map(|(stat, value)| ((*stat).into(), *value)).collect(),
        },
        FootballFact::Ball(ball) => decode::Football::Ball(decode::Ball {
            x: ball.x,
            y: ball.y,
            side: ball.side.into(),
            situation: ball.situation.into(),
        }),
        FootballFact::LineUp { side, line_up: known } => {
            decode::Football::LineUp(line_up((*side).into(), known))
        }
        FootballFact::PlayerStats { side, player, values } => decode::Football::PlayerStats {
            side: (*side).into(),
            player: participant(player),
            values: values.iter().map(|(stat, value)| ((*stat).into(), *value)).collect(),
        },
        FootballFact::Analysis(known) => {
            decode::Football::Analysis(Box::new(analysis::line(known)))
        }
    }
}

fn line_up(side: decode::Side, known: &LineUp) -> decode::LineUp {
    let player = |known: &LineUpPlayer| decode::LineUpPlayer {
        player: participant(&known.player),
        number: known.number,
        position: known.position.map(Into::into),
        country: text(known.country.as_ref()),
        starter: known.starter,
        captain: known.captain,
    };
    decode::LineUp {
        side,
        formation: text(known.formation.as_ref()),
        players: known.players.iter().map(player).collect(),
    }
}

fn football_score(known: FootballScore) -> decode::FootballScore {
    let FootballScore { goals, half_time, extra_time, penalties } = known;
    decode::FootballScore { goals, half_time, extra_time, penalties }
}

fn incident(known: &Incident) -> decode::Incident {
    decode::Incident {
        eid: known.eid.to_string(),
        kind: incident_kind(known.kind),
        minute: known.minute,
        added: known.added,
        side: known.side.map(Into::into),
        player: known.player.as_ref().map(participant),
        assist: known.assist.as_ref().map(participant),
        score: known.score,
    }
}

fn incident_kind(known: IncidentKind) -> decode::IncidentKind {
    match known {
        IncidentKind::Goal(kind) => decode::IncidentKind::Goal(kind.into()),
        IncidentKind::Yellow => decode::IncidentKind::Yellow,
        IncidentKind::SecondYellow => decode::IncidentKind::SecondYellow,
        IncidentKind::Red => decode::IncidentKind::Red,
        IncidentKind::Substitution => decode::IncidentKind::Substitution,
        IncidentKind::PenaltyMissed => decode::IncidentKind::PenaltyMissed,
        IncidentKind::Var(decision) => decode::IncidentKind::Var(decision.into()),
        IncidentKind::Period(status) => decode::IncidentKind::Period(status.into()),
        IncidentKind::Shootout { scored } => decode::IncidentKind::Shootout { scored },
    }
}

fn tennis(known: &TennisFact) -> decode::Tennis {
    match known {
        TennisFact::Status(status) => decode::Tennis::Status((*status).into()),
        TennisFact::Point(point) => decode::Tennis::Point {
            eid: point.eid.to_string(),
            winner: point.winner.into(),
            server: point.server.into(),
            how: point.how.map(Into::into),
            score: tennis_score(&point.score),
        },
        TennisFact::Score(score) => decode::Tennis::Score(tennis_score(score)),
        TennisFact::Retract { of, why, score } => decode::Tennis::Retract {
            of: of.to_string(),
            why: why.to_string(),
            score: tennis_score(score),
        },
    }
}

fn tennis_score(known: &TennisScore) -> decode::TennisScore {
    let set =
        |it: &crate::event::SetScore| decode::Set { games: it.games, tie_break: it.tie_break };
    decode::TennisScore {
        server: known.server.map(Into::into),
        sets: known.sets.iter().map(set).collect(),
        game: match known.game {
            GameScore::Points(points) => decode::Game::Points(points),
            GameScore::TieBreak(points) => decode::Game::TieBreak(points),
        },
        points: known.points,
        winner: known.winner.map(Into::into),
    }
}

fn scoreboard(known: &Scoreboard) -> decode::Scoreboard {
    let clock = known.clock;
    decode::Scoreboard {
        status: known.status.into(),
        score: known.score,
        periods: known.periods.clone(),
        period: text(known.period.as_ref()),
        clock: clock.map(|it| decode::MatchClock { second: it.second, running: it.running }),
        winner: known.winner.map(Into::into),
    }
}

fn race(known: &Race) -> decode::Race {
    let runner = |it: &RaceRunner| decode::Runner {
        runner: participant(&it.participant),
        number: it.number,
        jockey: text(it.jockey.as_ref()),
        status: it.status.into(),
        position: it.position,
    };
    decode::Race {
        status: known.status.into(),
        runners: known.runners.iter().map(runner).collect(),
    }
}

fn odds(known: &OddsFact) -> decode::Odds {
    let change = match &known.change {
        MarketChange::Define(known) => decode::Change::Define(definition(known)),
        MarketChange::Clear => decode::Change::Clear,
        MarketChange::Prices { selections, volume } => decode::Change::Prices {
            selections: selections.iter().map(prices).collect(),
            volume: volume.map(Number),
        },
    };
    decode::Odds { book: known.book.to_string(), market: known.market.to_string(), change }
}

fn definition(known: &MarketDefinition) -> decode::Definition {
    let selection = |it: &SelectionDefinition| decode::Selection {
        id: it.id.to_string(),
        name: text(it.name.as_ref()),
        status: it.status.into(),
        outcome: it.outcome.map(Into::into),
    };
    decode::Definition {
        kind: known.kind.to_string(),
        name: text(known.name.as_ref()),
        line: known.line.map(Number),
        period: text(known.period.as_ref()),
        status: known.status.into(),
        in_play: known.in_play,
        selections: known.selections.iter().map(selection).collect(),
    }
}

fn prices(known: &SelectionChange) -> decode::SelectionPrices {
    let ladder = |levels: &[Level]| {
        let level = |it: &Level| decode::Level(Number(it.price), Number(it.size));
        levels.iter().map(level).collect()
    };
    decode::SelectionPrices {
        id: known.id.to_string(),
        price: known.price.map(Number),
        last: known.last.map(Number),
        volume: known.volume.map(Number),
        back: ladder(&known.back),
        lay: ladder(&known.lay),
        traded: ladder(&known.traded),
    }
}
