//! Messages of the Sportradar Unified Odds Feed to facts.
//!
//! - **Sport.** The feed's odds do not give the sport of an event, and a match cannot change it. It
//!   is known from the routing key of a live message ([`Interpreter::hint`]), from the event's
//!   fixture, or from what only football or tennis has in its status. Without any of these an event
//!   gets the default sport if there is one, and is refused otherwise. Once reported, the sport
//!   stays.
//! - **Markets** are known by id and specifiers and change only when they are named. They are
//!   suspended by a bet stop of the producer that offers them and of a group that their description names (without a
//!   description: of any group) and by a `product_down` of that producer, closed by a settlement or a cancellation, and
//!   suspended again when that is rolled back.
//! - **Order.** The hub ignores odds of a market whose timestamp is before that of the last message about it, from any
//!   producer.
//! - **Producers** hand markets over with the status -2: after the odds of another producer it means nothing any more.
//! - **Names.** Descriptions of markets, and the sides of a fixture, name the markets that we have no words for, also those
//!   that were reported before.
//! - **Cancellations** with a start or an end void only bets of that time, and leave the market
//!   as it is. Without both the market is void as a whole.
//! - `alive` and `snapshot_complete` are signals. A producer that is alive but no longer subscribed
//!   has lost something. A `fixture_change` moves the start if it gives one; the connection has to
//!   fetch the new fixture, and detects that by the routing key.

mod kind;
mod market;
mod names;
mod status;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc};

use facts::event::{
    Class, Competition, Fact, Fixture, Gender, Id, MarketDefinition, MarketStatus, Micros,
    Participant, Side, Sport,
};

use self::{
    market::{ClosedBy, Market},
    names::MarketNames,
};
use super::{Interpret, Interpretation, KnownMatch, Signal, batch};
use crate::{
    decode::sportradar_uof::{self as decode, Kind, MarketDescription, Message, Range, UofFixture},
    error::{DecodeError, RefusalKind, Result},
};

/// Our slug of the feed, as a provider of matches and as a bookmaker.
const PROVIDER: &str = "sportradar";

/// The most events tracked. Some 5,000 are offered by all producers together.
const EVENTS_MAX: usize = 20_000;

/// How many events are refused when full before eviction is tried again, because it visits every
/// event.
const REFUSALS_BETWEEN: u32 = 1_000;

/// Markets of one event, lines counted: a football match in play has about 1,000. One costs about
/// 500 bytes, and 200 for each outcome of a market that has the names of the provider.
const MARKETS_MAX: usize = 5_000;

/// How far a timestamp may be ahead of our clock; one that is further ahead is not used.
const AHEAD_MAX_MS: i64 = 60 * 60 * 1000;

/// The state of the events of one feed.
#[derive(Debug, Default)]
pub struct Interpreter {
    default_sport: Option<Sport>,
    events: HashMap<String, EventState>,
    names: MarketNames,
    /// Events refused since the last eviction that freed nothing.
    refused: u32,
    clock_us: Option<Micros>,
}

#[derive(Debug)]
struct EventState {
    id: Id,
    sport: Option<Sport>,
    fixture: Fixture,
    /// The reported sport and fixture. From then on the sport stays.
    reported: Option<(Sport, Fixture)>,
    in_play: bool,
    status: Vec<Fact>,
    markets: HashMap<String, Market>,
    /// The timestamp of the newest status.
    status_ms: Option<i64>,
}

impl Interpreter {
    /// With a default sport for events whose sport is unknown; without it they are refused.
    #[must_use]
    pub fn with_default(sport: Sport) -> Self {
        Self { default_sport: Some(sport), ..Self::default() }
    }

    /// Sets the sport of an event such as `sr:match:1`, before its first message.
    pub fn hint(&mut self, event: &str, sport: Sport) {
        if let Ok((state, _)) = self.state(event) {
            state.sport.get_or_insert(sport);
        }
    }

    /// The state of an event, and the names of markets.
    fn state(&mut self, event: &str) -> Result<(&mut EventState, &MarketNames)> {
        if self.events.len() >= EVENTS_MAX && !self.events.contains_key(event) {
            self.make_room()?;
        }
        let state = self.events.entry(event.to_owned()).or_insert_with(|| EventState::new(event));
        Ok((state, &self.names))
    }

    fn make_room(&mut self) -> Result<()> {
        if self.refused == 0 {
            self.events.retain(|_, state| !state.is_over());
        }
        if self.events.len() < EVENTS_MAX {
            return Ok(());
        }
        self.refused = (self.refused + 1) % REFUSALS_BETWEEN;
        Err(DecodeError::new(RefusalKind::Unknown, format!("an event more than {EVENTS_MAX}")))
    }

    /// Processes a message about an event.
    fn event(&mut self, message: &Message, played: &mut Interpretation) -> Result<()> {
        let Some(event) = &message.event else { return Ok(()) };
        let default = self.default_sport;
        let (state, names) = self.state(event)?;
        let by_status = || message.status.as_ref().and_then(status::sport);
        state.sport = state.sport.or_else(by_status).or(default);
        let mut facts = state.introduce(event)?;
        let mut prices = 0;
        state.message(message, names, &mut facts, &mut prices, &mut played.notices);
        self.play(event, message.timestamp_ms, facts, prices, played);
        Ok(())
    }

    fn fixture(&mut self, fixture: &UofFixture, played: &mut Interpretation) -> Result<()> {
        let by_fixture = fixture.sport.as_deref().map(sport);
        let default = self.default_sport;
        let (state, names) = self.state(&fixture.event)?;
        if let (Some(by_fixture), Some((reported, _))) = (by_fixture, &state.reported)
            && by_fixture != *reported
        {
            let event = &fixture.event;
            let reason =
                format!("{event} was reported as {} before its fixture", reported.as_str());
            played.notices.push(DecodeError::new(RefusalKind::Value, reason));
        }
        if state.reported.is_none() {
            state.sport = by_fixture.or(state.sport).or(default);
        }
        state.fixture = fixture_of(fixture);
        let mut facts = state.introduce(&fixture.event)?;
        if !facts.is_empty() {
            state.rename_markets(names, &mut facts);
        }
        self.play(&fixture.event, None, facts, 0, played);
        Ok(())
    }

    /// Takes the descriptions of all markets.
    fn describe(&mut self, descriptions: Vec<MarketDescription>, played: &mut Interpretation) {
        let names = MarketNames::new(descriptions);
        // They are requested daily, and seldom differ.
        if names.is_empty() || names == self.names {
            return;
        }
        self.names = names;
        let mut renamed = Vec::new();
        for (event, state) in &mut self.events {
            let mut facts = Vec::new();
            state.rename_markets(&self.names, &mut facts);
            renamed.push((event.clone(), facts));
        }
        // In an order that does not depend on the hash.
        renamed.sort_by(|one, other| one.0.cmp(&other.0));
        for (event, facts) in renamed {
            self.play(&event, None, facts, 0, played);
        }
    }

    /// Suspends all markets of a producer.
    fn suspend_all(&mut self, message: &Message, played: &mut Interpretation) {
        let mut events: Vec<_> = self.events.iter_mut().collect();
        events.sort_by(|one, other| one.0.cmp(other.0));
        let mut stopped = Vec::new();
        for (event, state) in events {
            let mut facts = Vec::new();
            state.stop(None, message, &self.names, &mut facts);
            stopped.push((event.clone(), facts));
        }
        for (event, facts) in stopped {
            self.play(&event, message.timestamp_ms, facts, 0, played);
        }
    }

    fn play(
        &self,
        event: &str,
        timestamp_ms: Option<i64>,
        facts: Vec<Fact>,
        prices: u32,
        played: &mut Interpretation,
    ) {
        let Some(state) = self.events.get(event).filter(|_| !facts.is_empty()) else { return };
        let sport = state.reported.as_ref().map_or(Sport::Other, |(sport, _)| *sport);
        let mut batch = batch(sport, state.id, facts);
        batch.at = timestamp_ms.and_then(|ms| ms.checked_mul(1000));
        batch.price_changes = prices;
        played.push(self.clock_us.unwrap_or_default(), batch);
    }
}

impl Interpret for Interpreter {
    fn message(&mut self, bytes: &[u8], received: Micros, out: &mut Interpretation) -> Result<()> {
        let mut message = decode::decode(bytes)?;
        out.notices.append(&mut message.notices);
        out.notices.extend(drop_future_timestamp(&mut message, received));
        let at = message.timestamp_ms.and_then(|ms| ms.checked_mul(1000)).unwrap_or(received);
        self.clock_us = Some(self.clock_us.map_or(at, |last| last.max(at)));
        match message.kind {
            Kind::Alive { subscribed: true } => out.signals.push(Signal::Alive),
            Kind::Alive { subscribed: false } => out.signals.push(Signal::Recovering),
            Kind::SnapshotComplete { .. } => out.signals.push(Signal::Fresh),
            Kind::ProductDown => {
                out.signals.push(Signal::Recovering);
                self.suspend_all(&message, out);
            }
            Kind::Fixtures => {
                for fixture in &message.fixtures {
                    let refused = self.fixture(fixture, out).err();
                    out.notices.extend(refused);
                }
                out.notices.truncate(decode::NOTICES_MAX);
            }
            Kind::Descriptions => self.describe(message.descriptions, out),
            _ => self.event(&message, out)?,
        }
        Ok(())
    }

    fn resume(&mut self, matches: Vec<KnownMatch>) {
        for KnownMatch { key, sport, markets } in matches {
            // Beyond the limit nothing is kept, as before the restart.
            if let Ok((state, _)) = self.state(&key) {
                state.resume(sport, markets);
            }
        }
    }
}

impl EventState {
    fn resume(&mut self, sport: Sport, markets: Vec<(Arc<str>, MarketDefinition)>) {
        self.sport.get_or_insert(sport);
        for (key, definition) in markets.into_iter().take(MARKETS_MAX) {
            self.in_play |= definition.in_play;
            let market = Market::resumed(Arc::from(PROVIDER), &key, definition, sport);
            self.markets.insert(key.to_string(), market);
        }
    }

    fn new(event: &str) -> Self {
        let fixture = fixture_of(&UofFixture { event: event.to_owned(), ..Default::default() });
        Self {
            id: Id::derive(PROVIDER, "match", event),
            sport: None,
            fixture,
            reported: None,
            in_play: false,
            status: Vec::new(),
            markets: HashMap::new(),
            status_ms: None,
        }
    }

    /// Nothing more is to be expected of it.
    fn is_over(&self) -> bool {
        self.markets.values().all(Market::is_over)
    }

    /// The fixture, when it is new or has changed.
    fn introduce(&mut self, event: &str) -> Result<Vec<Fact>> {
        let sport = match (&self.reported, self.sport) {
            (Some((_, fixture)), _) if *fixture == self.fixture => return Ok(Vec::new()),
            (&Some((sport, _)), _) | (None, Some(sport)) => sport,
            (None, None) => {
                let event: String = event.chars().take(80).collect();
                let reason = format!("the sport of {event} is not known");
                return Err(DecodeError::new(RefusalKind::Unknown, reason));
            }
        };
        self.reported = Some((sport, self.fixture.clone()));
        Ok(vec![Fact::Fixture(self.fixture.clone())])
    }

    /// Names the markets that have the provider's names.
    fn rename_markets(&mut self, names: &MarketNames, facts: &mut Vec<Fact>) {
        if self.reported.is_none() {
            return;
        }
        let mut markets: Vec<_> = self.markets.iter_mut().collect();
        markets.sort_by(|one, other| one.0.cmp(other.0));
        for (_, market) in markets {
            market.rename(names, &self.fixture, facts);
        }
    }

    fn message(
        &mut self,
        message: &Message,
        names: &MarketNames,
        facts: &mut Vec<Fact>,
        prices: &mut u32,
        notices: &mut Vec<DecodeError>,
    ) {
        match message.kind {
            Kind::OddsChange => self.status(message, facts),
            Kind::BetStop { market_status } => self.stop(market_status, message, names, facts),
            Kind::FixtureChange { start_ms } => self.reschedule(start_ms, facts),
            _ => {}
        }
        // Odds from before the newest status do not say whether a market is in play now.
        let is_current =
            self.status_ms.zip(message.timestamp_ms).is_none_or(|(last, at)| at >= last);
        let mut older = 0_usize;
        let sport = self.reported.as_ref().map_or(Sport::Other, |(sport, _)| *sport);
        for change in &message.markets {
            let market = match market(&mut self.markets, change, sport) {
                Ok(market) => market,
                Err(refused) => {
                    notices.push(refused);
                    break;
                }
            };
            if message.kind == Kind::OddsChange && market.is_older(message.timestamp_ms) {
                older += 1;
                continue;
            }
            market.note_time(message.timestamp_ms);
            market.learn_names(names, &self.fixture, &change.outcomes);
            match message.kind {
                Kind::OddsChange => {
                    let in_play = if is_current { self.in_play } else { market.in_play() };
                    *prices += market.change(change, message.product, in_play, facts);
                }
                Kind::BetSettlement => market.settle(change, facts),
                Kind::BetCancel(Range::WHOLE) => market.cancel(facts),
                Kind::RollbackBetSettlement => market.roll_back(ClosedBy::Settlement, facts),
                Kind::RollbackBetCancel(Range::WHOLE) => {
                    market.roll_back(ClosedBy::Cancellation, facts);
                }
                // Bets of a time are void, or no longer so: the market is what it was.
                Kind::BetCancel(_) | Kind::RollbackBetCancel(_) => market.introduce(facts),
                _ => {}
            }
        }
        if older > 0 {
            let reason = format!("odds of {older} markets are older than what came before");
            notices.push(DecodeError::new(RefusalKind::TimeBackwards, reason));
        }
    }

    fn status(&mut self, message: &Message, facts: &mut Vec<Fact>) {
        let Some(status) = &message.status else { return };
        if self.status_ms.zip(message.timestamp_ms).is_some_and(|(last, at)| at < last) {
            return;
        }
        self.status_ms = self.status_ms.max(message.timestamp_ms);
        self.in_play = status::in_play(status).unwrap_or(self.in_play);
        let Some((sport, _)) = self.reported else { return };
        let winner = status.winner.as_deref().map(participant_id).and_then(|winner| {
            let sides = self.fixture.sides.as_ref()?;
            Side::BOTH.into_iter().find(|side| sides[side.index()].id == winner)
        });
        let new = status::facts(status, winner, sport);
        facts.extend(new.iter().filter(|fact| !self.status.contains(fact)).cloned());
        self.status = new;
    }

    fn stop(
        &mut self,
        market_status: Option<i32>,
        message: &Message,
        names: &MarketNames,
        facts: &mut Vec<Fact>,
    ) {
        let status = match market_status {
            Some(0) => MarketStatus::Inactive,
            _ => MarketStatus::Suspended,
        };
        let is_meant = |key: &str, market: &Market| {
            let id = key.split('/').next().unwrap_or(key);
            market.is_of_producer(message.product)
                && names.is_in_group(id, message.groups.as_deref())
        };
        let mut meant: Vec<_> =
            self.markets.iter_mut().filter(|(key, market)| is_meant(key, market)).collect();
        meant.sort_by(|one, other| one.0.cmp(other.0));
        for (_, market) in meant {
            // What a producer recovers after it was down keeps its times.
            if message.kind != Kind::ProductDown {
                market.note_time(message.timestamp_ms);
            }
            if market.is_open() {
                market.stop(status, facts);
            }
        }
    }

    fn reschedule(&mut self, start_ms: Option<i64>, facts: &mut Vec<Fact>) {
        let start = start_ms.and_then(|ms| ms.checked_mul(1000));
        let Some((_, last)) = self.reported.as_mut().filter(|_| start.is_some()) else { return };
        self.fixture.start = start;
        if *last != self.fixture {
            last.clone_from(&self.fixture);
            // The batch holds only this message, and of two fixtures the last one counts.
            facts.push(Fact::Fixture(self.fixture.clone()));
        }
    }
}

/// Drops a timestamp that is far ahead of our clock, so that it does not make all later messages look old.
fn drop_future_timestamp(message: &mut Message, received: Micros) -> Option<DecodeError> {
    // A recording that is played from 0 has no clock to compare with.
    let latest = (received > 0).then(|| (received / 1000).saturating_add(AHEAD_MAX_MS))?;
    let ms = message.timestamp_ms.take_if(|ms| *ms > latest)?;
    Some(DecodeError::value(format!("timestamp {ms} is in the future")))
}

/// A market of an event of this sport, which may be new.
fn market<'a>(
    markets: &'a mut HashMap<String, Market>,
    change: &decode::Market,
    sport: Sport,
) -> Result<&'a mut Market> {
    let key = change.key();
    if markets.len() >= MARKETS_MAX && !markets.contains_key(&key) {
        markets.retain(|_, market| !market.is_over());
        if markets.len() >= MARKETS_MAX {
            let reason = format!("a market more than {MARKETS_MAX} of one event");
            return Err(DecodeError::new(RefusalKind::Unknown, reason));
        }
    }
    let new = || Market::new(Arc::from(PROVIDER), change, sport);
    Ok(markets.entry(key).or_insert_with(new))
}

/// The feed's sports; esports are a sport for each game.
#[must_use]
pub fn sport(urn: &str) -> Sport {
    Sport::find(|it| it.sportradar == Some(urn))
}

/// What the competitors have in common, and the country of the tournament. Virtual sports have events
/// of their own kind: `vf:match:1`. A competitor that is `virtual` is a placeholder.
fn class(fixture: &UofFixture) -> Class {
    let common = |field: fn(&decode::Competitor) -> Option<&String>| {
        let mut all = fixture.competitors.iter().map(field);
        let first = all.next()??;
        all.all(|other| other == Some(first)).then_some(first)
    };
    Class {
        gender: common(|it| it.gender.as_ref()).and_then(|word| Gender::named(word)),
        age: common(|it| it.age.as_ref()).and_then(|age| age.parse().ok()),
        simulated: fixture.event.starts_with('v').then_some(true),
        ..Class::in_country(fixture.country.as_deref())
    }
}

fn participant_id(competitor: &str) -> Id {
    Id::derive(PROVIDER, "participant", competitor)
}

fn fixture_of(fixture: &UofFixture) -> Fixture {
    let competition = fixture.tournament.as_ref().map(|(id, name)| Competition {
        id: Id::derive(PROVIDER, "competition", id),
        name: name.as_str().into(),
        season: fixture.season.as_deref().map(Arc::from),
    });
    let participant = |competitor: &decode::Competitor| Participant {
        id: participant_id(&competitor.id),
        name: competitor.name.as_str().into(),
    };
    // The first competitor is the home side if none is marked as home.
    let sides = match fixture.competitors.as_slice() {
        [away, home] if away.away => Some([home, away].map(participant)),
        [home, away] => Some([home, away].map(participant)),
        _ => None,
    };
    Fixture {
        provider: PROVIDER.into(),
        provider_key: fixture.event.as_str().into(),
        competition,
        start: fixture.start,
        date: None,
        sides,
        class: class(fixture),
    }
}
