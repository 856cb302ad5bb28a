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
            decode::Fact::Fixture(decoded) => Fact::Fixture(self.fixture(match_key, decoded)?),
            decode::Fact::About(decoded) => Fact::About(Box::new(self.about(*decoded)?)),
            decode::Fact::Football(decoded) => Fact::Football(self.football(decoded)?),
            decode::Fact::Tennis(decoded) => Fact::Tennis(tennis(decoded)?),
            decode::Fact::Scoreboard(decoded) => Fact::Scoreboard(scoreboard(decoded)?),
            decode::Fact::Race(decoded) => Fact::Race(self.race(decoded)?),
            decode::Fact::Odds(decoded) => Fact::Odds(odds(decoded)?),
        })
    }

    fn fixture(&self, match_key: String, decoded: decode::Fixture) -> Result<Fixture> {
        let decode::Fixture { competition, start, date, sides } = decoded;
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

    fn about(&self, decoded: decode::About) -> Result<About> {
        let person =
            |kind, decoded: Option<_>| decoded.map(|it| self.participant(kind, it)).transpose();
        Ok(About {
            round: decoded.round,
            round_name: some_text("round_name", decoded.round_name)?,
            group: some_text("group", decoded.group)?,
            country: some_text("country", decoded.country)?,
            venue: decoded.venue.map(|venue| self.venue(venue)).transpose()?,
            referee: person("referee", decoded.referee)?,
            coaches: [
                person("manager", decoded.home_coach)?,
                person("manager", decoded.away_coach)?,
            ],
            attendance: decoded.attendance,
            neutral: decoded.neutral,
            surface: some_text("surface", decoded.surface)?,
            category: some_text("category", decoded.category)?,
            best_of: decoded.best_of,
            side_countries: [
                some_text("home_country", decoded.home_country)?,
                some_text("away_country", decoded.away_country)?,
            ],
            weather: decoded.weather,
        })
    }

    fn venue(&self, decoded: decode::Venue) -> Result<Venue> {
        let decode::Venue { name, key, id, city } = decoded;
        let id = self.id("venue", &name, key, id)?;
        Ok(Venue { id, name: name.into(), city: some_text("city", city)? })
    }

    fn competition(&self, decoded: decode::Competition) -> Result<Competition> {
        let decode::Competition { name, key, id, season } = decoded;
        let id = self.id("competition", &name, key, id)?;
        Ok(Competition { id, name: name.into(), season: some_text("season", season)? })
    }

    pub(super) fn participant(
        &self,
        kind: &str,
        decoded: decode::Participant,
    ) -> Result<Participant> {
        let decode::Participant { name, key, id } = decoded;
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

    fn football(&self, decoded: decode::Football) -> Result<FootballFact> {
        Ok(match decoded {
            decode::Football::Status(status) => FootballFact::Status(status.into()),
            decode::Football::Clock { second, running } => FootballFact::Clock { second, running },
            decode::Football::Score(score) => FootballFact::Score(football_score(score)),
            decode::Football::Incident(decoded) => FootballFact::Incident(self.incident(decoded)?),
            decode::Football::Correct(decoded) => FootballFact::Correct(self.incident(decoded)?),
            decode::Football::Retract { of, why, score } => {
                let (of, why) = (eid(of)?, reason(why)?);
                FootballFact::Retract { of, why, score: football_score(score) }
            }
            decode::Football::Stats { side, values } => {
                let values = values.into_iter().map(|(stat, value)| (stat.into(), value));
                FootballFact::Stats { side: side.into(), values: values.collect() }
            }
            decode::Football::Ball(decoded) => FootballFact::Ball(ball(decoded)?),
            decode::Football::LineUp(decoded) => {
                FootballFact::LineUp { side: decoded.side.into(), line_up: self.line_up(decoded)? }
            }
            decode::Football::PlayerStats { side, player, values } => {
                let values = values.into_iter().map(|(stat, value)| (stat.into(), value));
                FootballFact::PlayerStats {
                    side: side.into(),
                    player: self.participant("player", player)?,
                    values: values.collect(),
                }
            }
            decode::Football::Analysis(decoded) => FootballFact::Analysis(self.analysis(*decoded)?),
        })
    }

    fn line_up(&self, decoded: decode::LineUp) -> Result<LineUp> {
        few("players", decoded.players.len(), PLAYERS_MAX)?;
        let player = |decoded: decode::LineUpPlayer| {
            Ok(LineUpPlayer {
                player: self.participant("player", decoded.player)?,
                number: decoded.number,
                position: decoded.position.map(Into::into),
                country: some_text("country", decoded.country)?,
                starter: decoded.starter,
                captain: decoded.captain,
            })
        };
        Ok(LineUp {
            formation: some_text("formation", decoded.formation)?,
            players: decoded.players.into_iter().map(player).collect::<Result<_>>()?,
        })
    }

    fn incident(&self, decoded: decode::Incident) -> Result<Incident> {
        let decode::Incident { eid: own, kind, minute, added, side, player, assist, score } =
            decoded;
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

    fn race(&self, decoded: decode::Race) -> Result<Race> {
        few("runners", decoded.runners.len(), PARTS_MAX)?;
        let runners = decoded.runners.into_iter().map(|decoded| self.runner(decoded));
        Ok(Race { status: decoded.status.into(), runners: runners.collect::<Result<_>>()? })
    }

    fn runner(&self, decoded: decode::Runner) -> Result<RaceRunner> {
        let decode::Runner { runner, number, jockey, status, position } = decoded;
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

fn football_score(decoded: decode::FootballScore) -> FootballScore {
    let decode::FootballScore { goals, half_time, extra_time, penalties } = decoded;
    FootballScore { goals, half_time, extra_time, penalties }
}

fn incident_kind(decoded: decode::IncidentKind) -> IncidentKind {
    match decoded {
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

fn ball(decoded: decode::Ball) -> Result<Ball> {
    let decode::Ball { x, y, side, situation } = decoded;
    if x > 1000 || y > 1000 {
        return Err(wrong(format!("ball at {x}, {y} is beyond 1000, the end of the pitch")));
    }
    Ok(Ball { x, y, side: side.into(), situation: situation.into() })
}

fn tennis(decoded: decode::Tennis) -> Result<TennisFact> {
    Ok(match decoded {
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

fn tennis_score(decoded: decode::TennisScore) -> Result<TennisScore> {
    let decode::TennisScore { server, sets, game, points, winner } = decoded;
    few("sets", sets.len(), SETS_MAX)?;
    let set =
        |decoded: decode::Set| SetScore { games: decoded.games, tie_break: decoded.tie_break };
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

fn scoreboard(decoded: decode::Scoreboard) -> Result<Scoreboard> {
    let decode::Scoreboard { status, score, periods, period, clock, winner } = decoded;
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

fn odds(decoded: decode::Odds) -> Result<OddsFact> {
    let decode::Odds { book, market, change } = decoded;
    check::book(&book)?;
    check::key("market", &market)?;
    let change = match change {
        decode::Change::Define(decoded) => MarketChange::Define(definition(decoded)?),
        decode::Change::Clear => MarketChange::Clear,
        decode::Change::Prices { selections, volume } => MarketChange::Prices {
            selections: selections.into_iter().map(prices).collect::<Result<_>>()?,
            volume: volume.map(|it| check::amount("volume", it)).transpose()?,
        },
    };
    Ok(OddsFact { book: book.into(), market: market.into(), change })
}

fn definition(decoded: decode::Definition) -> Result<MarketDefinition> {
    let decode::Definition { kind, name, line, period, status, in_play, selections } = decoded;
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

fn selection(decoded: decode::Selection) -> Result<SelectionDefinition> {
    let decode::Selection { id, name, status, outcome } = decoded;
    check::key("selection", &id)?;
    let name = some_text("name", name)?;
    let outcome = outcome.map(Into::into);
    Ok(SelectionDefinition { id: id.into(), name, status: status.into(), outcome })
}

fn prices(decoded: decode::SelectionPrices) -> Result<SelectionChange> {
    let decode::SelectionPrices { id, price, last, volume, back, lay, traded } = decoded;
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
