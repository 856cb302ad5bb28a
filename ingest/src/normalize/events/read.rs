//! A fact of the format to ours, its values checked.

use std::sync::Arc;

use super::check::{self, wrong};
use crate::{
    decode::events as decode,
    error::DecodeError,
    event::{
        About, Ball, Competition, Event, Fact, Fixture, FootballFact, FootballScore, GameScore, Id,
        Incident, IncidentKind, Level, LineUp, LineUpPlayer, MarketChange, MarketDefinition,
        MatchClock, OddsFact, Participant, Point, Race, RaceRunner, Scoreboard, SelectionChange,
        SelectionDefinition, SetScore, Sport, TennisFact, TennisScore, Venue,
    },
};

/// Sets of a match: five are played; more are no score.
const SETS_MAX: usize = 9;
/// Parts of a scoreboard and runners of a race: what is more is no scoreboard.
const PARTS_MAX: usize = 200;
/// More than any rules allow in a squad.
pub(super) const PLAYERS_MAX: usize = 60;

pub(super) type Result<T> = std::result::Result<T, DecodeError>;

/// How many prices and rungs a fact changes.
pub(super) fn price_changes(fact: &decode::Fact) -> u32 {
    let decode::Fact::Odds(decode::Odds { change, .. }) = fact else { return 0 };
    let decode::Change::Prices { selections, .. } = change else { return 0 };
    let of = |it: &decode::SelectionPrices| {
        let ladders = it.back.len() + it.lay.len() + it.traded.len();
        ladders + usize::from(it.price.is_some()) + usize::from(it.last.is_some())
    };
    u32::try_from(selections.iter().map(of).sum::<usize>()).unwrap_or(u32::MAX)
}

/// A fact about the match that this provider knows by this key.
pub(super) fn event(
    provider: &Arc<str>,
    sport: decode::Sport,
    name: &decode::MatchName,
    fact: decode::Fact,
) -> Result<Event> {
    let sport = Sport::from(sport);
    let (match_id, key) = match name {
        decode::MatchName::Key(key) => {
            check::key("match", key)?;
            (Id::derive(provider, "match", key), key.clone())
        }
        decode::MatchName::Id(id) => (Id(check::id(*id)?), id.to_string()),
    };
    let reader = Reader { provider, sport };
    Ok(Event { sport, match_id, fact: reader.fact(key, fact)? })
}

pub(super) struct Reader<'a> {
    provider: &'a Arc<str>,
    sport: Sport,
}

impl Reader<'_> {
    fn fact(&self, match_key: String, fact: decode::Fact) -> Result<Fact> {
        let fits = match fact {
            decode::Fact::Fixture(_) | decode::Fact::About(_) | decode::Fact::Odds(_) => true,
            decode::Fact::Football(_) => self.sport == Sport::Football,
            decode::Fact::Tennis(_) => self.sport == Sport::Tennis,
            decode::Fact::Race(_) => self.sport == Sport::HorseRacing,
            decode::Fact::Scoreboard(_) => {
                let followed = [Sport::Cs2, Sport::Darts, Sport::Hockey, Sport::Basketball];
                followed.contains(&self.sport)
            }
        };
        if !fits {
            let sport = self.sport.as_str();
            return Err(wrong(format!("a match of {sport} has no fact of this kind")));
        }
        Ok(match fact {
            decode::Fact::Fixture(told) => Fact::Fixture(self.fixture(match_key, told)?),
            decode::Fact::About(told) => Fact::About(Box::new(self.about(*told)?)),
            decode::Fact::Football(told) => Fact::Football(self.football(told)?),
            decode::Fact::Tennis(told) => Fact::Tennis(tennis(told)?),
            decode::Fact::Scoreboard(told) => Fact::Scoreboard(scoreboard(told)?),
            decode::Fact::Race(told) => Fact::Race(self.race(told)?),
            decode::Fact::Odds(told) => Fact::Odds(odds(told)?),
        })
    }

    fn fixture(&self, match_key: String, told: decode::Fixture) -> Result<Fixture> {
        let decode::Fixture { competition, start, date, sides } = told;
        check::moment("start", start)?;
        let date = date.map(|date| {
            date.parse().map_err(|_| wrong(format!("date {date:?} is not a day as 2026-08-30")))
        });
        let kind = match self.sport {
            Sport::Tennis | Sport::Darts => "player",
            _ => "team",
        };
        let sides = sides.map(|[first, second]| -> Result<_> {
            Ok([self.participant(kind, first)?, self.participant(kind, second)?])
        });
        Ok(Fixture {
            provider: Arc::clone(self.provider),
            provider_key: match_key.into(),
            competition: competition.map(|it| self.competition(it)).transpose()?,
            start,
            date: date.transpose()?,
            sides: sides.transpose()?,
        })
    }

    fn about(&self, told: decode::About) -> Result<About> {
        let person = |kind, told: Option<_>| told.map(|it| self.participant(kind, it)).transpose();
        Ok(About {
            round: told.round,
            round_name: some_text("round_name", told.round_name)?,
            group: some_text("group", told.group)?,
            country: some_text("country", told.country)?,
            venue: told.venue.map(|venue| self.venue(venue)).transpose()?,
            referee: person("referee", told.referee)?,
            coaches: [person("manager", told.home_coach)?, person("manager", told.away_coach)?],
            attendance: told.attendance,
            neutral: told.neutral,
            surface: some_text("surface", told.surface)?,
            category: some_text("category", told.category)?,
            best_of: told.best_of,
            side_countries: [
                some_text("home_country", told.home_country)?,
                some_text("away_country", told.away_country)?,
            ],
            weather: told.weather,
        })
    }

    fn venue(&self, told: decode::Venue) -> Result<Venue> {
        let decode::Venue { name, key, id, city } = told;
        let id = self.id("venue", &name, key, id)?;
        Ok(Venue { id, name: name.into(), city: some_text("city", city)? })
    }

    fn competition(&self, told: decode::Competition) -> Result<Competition> {
        let decode::Competition { name, key, id, season } = told;
        let id = self.id("competition", &name, key, id)?;
        Ok(Competition { id, name: name.into(), season: some_text("season", season)? })
    }

    pub(super) fn participant(&self, kind: &str, told: decode::Participant) -> Result<Participant> {
        let decode::Participant { name, key, id } = told;
        Ok(Participant { id: self.id(kind, &name, key, id)?, name: name.into() })
    }

    fn id(&self, kind: &str, name: &str, key: Option<String>, id: Option<u64>) -> Result<Id> {
        check::key("name", name)?;
        match (key, id) {
            (None, Some(id)) => Ok(Id(check::id(id)?)),
            (Some(_), Some(_)) => Err(wrong(format!("{name:?} has both a key and an id"))),
            (key, None) => {
                let key = key.as_deref().unwrap_or(name);
                check::key("key", key)?;
                Ok(Id::derive(self.provider, kind, key))
            }
        }
    }

    fn football(&self, told: decode::Football) -> Result<FootballFact> {
        Ok(match told {
            decode::Football::Status(status) => FootballFact::Status(status.into()),
            decode::Football::Clock { second, running } => FootballFact::Clock { second, running },
            decode::Football::Score(score) => FootballFact::Score(football_score(score)),
            decode::Football::Incident(told) => FootballFact::Incident(self.incident(told)?),
            decode::Football::Correct(told) => FootballFact::Correct(self.incident(told)?),
            decode::Football::Retract { of, why, score } => {
                let (of, why) = (eid(of)?, reason(why)?);
                FootballFact::Retract { of, why, score: football_score(score) }
            }
            decode::Football::Stats { side, values } => {
                let values = values.into_iter().map(|(stat, value)| (stat.into(), value));
                FootballFact::Stats { side: side.into(), values: values.collect() }
            }
            decode::Football::Ball(told) => FootballFact::Ball(ball(told)?),
            decode::Football::LineUp(told) => {
                FootballFact::LineUp { side: told.side.into(), line_up: self.line_up(told)? }
            }
            decode::Football::PlayerStats { side, player, values } => {
                let values = values.into_iter().map(|(stat, value)| (stat.into(), value));
                FootballFact::PlayerStats {
                    side: side.into(),
                    player: self.participant("player", player)?,
                    values: values.collect(),
                }
            }
            decode::Football::Analysis(told) => FootballFact::Analysis(self.analysis(*told)?),
        })
    }

    fn line_up(&self, told: decode::LineUp) -> Result<LineUp> {
        few("players", told.players.len(), PLAYERS_MAX)?;
        let player = |told: decode::LineUpPlayer| {
            Ok(LineUpPlayer {
                player: self.participant("player", told.player)?,
                number: told.number,
                position: told.position.map(Into::into),
                country: some_text("country", told.country)?,
                starter: told.starter,
                captain: told.captain,
            })
        };
        Ok(LineUp {
            formation: some_text("formation", told.formation)?,
            players: told.players.into_iter().map(player).collect::<Result<_>>()?,
        })
    }

    fn incident(&self, told: decode::Incident) -> Result<Incident> {
        let decode::Incident { eid: own, kind, minute, added, side, player, assist, score } = told;
        let player_of = |it: Option<_>| it.map(|it| self.participant("player", it)).transpose();
        Ok(Incident {
            eid: eid(own)?,
            kind: incident_kind(kind),
            minute,
            added,
            side: side.map(Into::into),
            player: player_of(player)?,
            assist: player_of(assist)?,
            score,
        })
    }

    fn race(&self, told: decode::Race) -> Result<Race> {
        few("runners", told.runners.len(), PARTS_MAX)?;
        let runners = told.runners.into_iter().map(|told| self.runner(told));
        Ok(Race { status: told.status.into(), runners: runners.collect::<Result<_>>()? })
    }

    fn runner(&self, told: decode::Runner) -> Result<RaceRunner> {
        let decode::Runner { runner, number, jockey, status, position } = told;
        Ok(RaceRunner {
            participant: self.participant("runner", runner)?,
            number,
            jockey: some_text("jockey", jockey)?,
            status: status.into(),
            position,
        })
    }
}

pub(super) fn eid(eid: String) -> Result<Arc<str>> {
    check::key("eid", &eid)?;
    Ok(eid.into())
}

fn reason(why: String) -> Result<Arc<str>> {
    check::text("why", &why)?;
    Ok(why.into())
}

fn some_text(name: &str, text: Option<String>) -> Result<Option<Arc<str>>> {
    text.as_deref().map_or(Ok(()), |text| check::text(name, text))?;
    Ok(text.map(Into::into))
}

pub(super) fn few(name: &str, count: usize, max: usize) -> Result<()> {
    if count <= max { Ok(()) } else { Err(wrong(format!("{count} {name} are more than {max}"))) }
}

fn football_score(told: decode::FootballScore) -> FootballScore {
    let decode::FootballScore { goals, half_time, extra_time, penalties } = told;
    FootballScore { goals, half_time, extra_time, penalties }
}

fn incident_kind(told: decode::IncidentKind) -> IncidentKind {
    match told {
        decode::IncidentKind::Goal(kind) => IncidentKind::Goal(kind.into()),
        decode::IncidentKind::Yellow => IncidentKind::Yellow,
        decode::IncidentKind::SecondYellow => IncidentKind::SecondYellow,
        decode::IncidentKind::Red => IncidentKind::Red,
        decode::IncidentKind::Substitution => IncidentKind::Substitution,
        decode::IncidentKind::PenaltyMissed => IncidentKind::PenaltyMissed,
        decode::IncidentKind::Var(decision) => IncidentKind::Var(decision.into()),
        decode::IncidentKind::Period(status) => IncidentKind::Period(status.into()),
        decode::IncidentKind::Shootout { scored } => IncidentKind::Shootout { scored },
    }
}

fn ball(told: decode::Ball) -> Result<Ball> {
    let decode::Ball { x, y, side, situation } = told;
    if x > 1000 || y > 1000 {
        return Err(wrong(format!("ball at {x}, {y} is beyond 1000, the end of the pitch")));
    }
    Ok(Ball { x, y, side: side.into(), situation: situation.into() })
}

fn tennis(told: decode::Tennis) -> Result<TennisFact> {
    Ok(match told {
        decode::Tennis::Status(status) => TennisFact::Status(status.into()),
        decode::Tennis::Point { eid: own, winner, server, how, score } => {
            TennisFact::Point(Point {
                eid: eid(own)?,
                winner: winner.into(),
                server: server.into(),
                how: how.map(Into::into),
                score: tennis_score(score)?,
            })
        }
        decode::Tennis::Score(score) => TennisFact::Score(tennis_score(score)?),
        decode::Tennis::Retract { of, why, score } => {
            let (of, why) = (eid(of)?, reason(why)?);
            TennisFact::Retract { of, why, score: tennis_score(score)? }
        }
    })
}

fn tennis_score(told: decode::TennisScore) -> Result<TennisScore> {
    let decode::TennisScore { server, sets, game, points, winner } = told;
    few("sets", sets.len(), SETS_MAX)?;
    let set = |told: decode::Set| SetScore { games: told.games, tie_break: told.tie_break };
    let game = match game {
        decode::Game::Points(points) if points.iter().all(|own| *own <= 4) => {
            GameScore::Points(points)
        }
        decode::Game::Points(points) => {
            return Err(wrong(format!("points {points:?} of a game go to 4")));
        }
        decode::Game::TieBreak(points) => GameScore::TieBreak(points),
    };
    Ok(TennisScore {
        server: server.map(Into::into),
        sets: sets.into_iter().map(set).collect(),
        game,
        points,
        winner: winner.map(Into::into),
    })
}

fn scoreboard(told: decode::Scoreboard) -> Result<Scoreboard> {
    let decode::Scoreboard { status, score, periods, period, clock, winner } = told;
    few("periods", periods.len(), PARTS_MAX)?;
    let clock = clock.map(|it| MatchClock { second: it.second, running: it.running });
    Ok(Scoreboard {
        status: status.into(),
        score,
        periods,
        period: some_text("period", period)?,
        clock,
        winner: winner.map(Into::into),
    })
}

fn odds(told: decode::Odds) -> Result<OddsFact> {
    let decode::Odds { book, market, change } = told;
    check::book(&book)?;
    check::key("market", &market)?;
    let change = match change {
        decode::Change::Define(told) => MarketChange::Define(definition(told)?),
        decode::Change::Clear => MarketChange::Clear,
        decode::Change::Prices { selections, volume } => MarketChange::Prices {
            selections: selections.into_iter().map(prices).collect::<Result<_>>()?,
            volume: volume.map(|it| check::amount("volume", it)).transpose()?,
        },
    };
    Ok(OddsFact { book: book.into(), market: market.into(), change })
}

fn definition(told: decode::Definition) -> Result<MarketDefinition> {
    let decode::Definition { kind, name, line, period, status, in_play, selections } = told;
    check::key("kind", &kind)?;
    Ok(MarketDefinition {
        kind: kind.into(),
        name: some_text("name", name)?,
        line: line.map(|it| it.0),
        period: some_text("period", period)?,
        status: status.into(),
        in_play,
        selections: selections.into_iter().map(selection).collect::<Result<_>>()?,
    })
}

fn selection(told: decode::Selection) -> Result<SelectionDefinition> {
    let decode::Selection { id, name, status, outcome } = told;
    check::key("selection", &id)?;
    let name = some_text("name", name)?;
    let outcome = outcome.map(Into::into);
    Ok(SelectionDefinition { id: id.into(), name, status: status.into(), outcome })
}

fn prices(told: decode::SelectionPrices) -> Result<SelectionChange> {
    let decode::SelectionPrices { id, price, last, volume, back, lay, traded } = told;
    check::key("selection", &id)?;
    let some = |name, it: Option<_>| it.map(|it| check::amount(name, it)).transpose();
    let ladder = |levels: Vec<decode::Level>| levels.into_iter().map(level).collect::<Result<_>>();
    Ok(SelectionChange {
        id: id.into(),
        price: some("price", price)?,
        last: some("last", last)?,
        volume: some("volume", volume)?,
        back: ladder(back)?,
        lay: ladder(lay)?,
        traded: ladder(traded)?,
    })
}

/// Without trailing zeros, so that one price is one rung.
fn level(decode::Level(price, size): decode::Level) -> Result<Level> {
    let (price, size) = (check::amount("price", price)?, check::amount("size", size)?);
    Ok(Level { price: price.normalize(), size: size.normalize() })
}
