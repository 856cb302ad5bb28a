//! Access to the ids in a fact, for replacing them by other numbers.

use super::{
    About, Analysis, Batch, Event, Fact, Fixture, FootballFact, Id, Incident, Participant,
};

/// What an id in a fact identifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntityKind {
    Competition,
    /// A side of a fixture: a team or a player, by sport.
    Side,
    Venue,
    Referee,
    Coach,
    Player,
    Runner,
}

impl Batch {
    /// Visits every id in the batch: of matches, participants, competitions and venues.
    pub fn each_id(&mut self, visit: &mut impl FnMut(&mut Id)) {
        self.events.iter_mut().for_each(|event| event.each_id(visit));
    }
}

impl Event {
    /// Visits every id in the event, the match first.
    pub fn each_id(&mut self, visit: &mut impl FnMut(&mut Id)) {
        visit(&mut self.match_id);
        self.fact.each_id(visit);
    }
}

impl Fact {
    /// Visits every id in the fact.
    pub fn each_id(&mut self, visit: &mut impl FnMut(&mut Id)) {
        self.each_entity(&mut |_, id, _| visit(id));
    }

    /// Visits every entity in the fact: what it is, its id and its name.
    pub fn each_entity(&mut self, visit: &mut impl FnMut(EntityKind, &mut Id, &str)) {
        match self {
            Self::Fixture(fixture) => fixture.each_entity(visit),
            Self::About(about) => about.each_entity(visit),
            Self::Football(fact) => fact.each_entity(visit),
            Self::Race(race) => {
                let runners = race.runners.iter_mut();
                runners.for_each(|it| it.participant.visit(EntityKind::Runner, visit));
            }
            Self::Tennis(_) | Self::Scoreboard(_) | Self::Odds(_) => {}
        }
    }
}

impl Participant {
    fn visit(&mut self, kind: EntityKind, visit: &mut impl FnMut(EntityKind, &mut Id, &str)) {
        visit(kind, &mut self.id, &self.name);
    }
}

impl Fixture {
    /// Visits the ids of the competition and of both sides.
    pub fn each_id(&mut self, visit: &mut impl FnMut(&mut Id)) {
        self.each_entity(&mut |_, id, _| visit(id));
    }

    fn each_entity(&mut self, visit: &mut impl FnMut(EntityKind, &mut Id, &str)) {
        if let Some(competition) = &mut self.competition {
            visit(EntityKind::Competition, &mut competition.id, &competition.name);
        }
        let sides = self.sides.iter_mut().flatten();
        sides.for_each(|side| side.visit(EntityKind::Side, visit));
    }
}

impl About {
    fn each_entity(&mut self, visit: &mut impl FnMut(EntityKind, &mut Id, &str)) {
        if let Some(venue) = &mut self.venue {
            visit(EntityKind::Venue, &mut venue.id, &venue.name);
        }
        self.referee.iter_mut().for_each(|person| person.visit(EntityKind::Referee, visit));
        let coaches = self.home_coach.iter_mut().chain(&mut self.away_coach);
        coaches.for_each(|person| person.visit(EntityKind::Coach, visit));
    }
}

impl FootballFact {
    fn each_entity(&mut self, visit: &mut impl FnMut(EntityKind, &mut Id, &str)) {
        match self {
            Self::Incident(incident) | Self::Correct(incident) => incident.each_entity(visit),
            Self::LineUp { line_up, .. } => {
                line_up
                    .players
                    .iter_mut()
                    .for_each(|it| it.player.visit(EntityKind::Player, visit));
            }
            Self::PlayerStats { player, .. } => player.visit(EntityKind::Player, visit),
            Self::Analysis(analysis) => analysis.each_entity(visit),
            Self::Status(_)
            | Self::PeriodStart { .. }
            | Self::Clock { .. }
            | Self::Score(_)
            | Self::Retract { .. }
            | Self::Stats { .. }
            | Self::Ball(_) => {}
        }
    }
}

impl Analysis {
    fn each_entity(&mut self, visit: &mut impl FnMut(EntityKind, &mut Id, &str)) {
        let mut player = |player: &mut Participant| player.visit(EntityKind::Player, visit);
        match self {
            Self::Shot(shot) => shot.player.iter_mut().for_each(player),
            Self::AveragePositions { players, .. } => {
                players.iter_mut().for_each(|it| player(&mut it.player));
            }
            Self::Ratings { players, .. } => {
                players.iter_mut().for_each(|it| player(&mut it.player));
            }
            Self::ExpectedGoals { .. } | Self::Momentum(_) | Self::HalfStats { .. } => {}
        }
    }
}

impl Incident {
    fn each_entity(&mut self, visit: &mut impl FnMut(EntityKind, &mut Id, &str)) {
        let people = self.player.iter_mut().chain(&mut self.assist);
        people.for_each(|person| person.visit(EntityKind::Player, visit));
    }
}
