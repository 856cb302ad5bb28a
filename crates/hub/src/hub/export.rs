//! Exports what has changed in matches, for those who do not follow a channel.
//!
//! An export contains the state of play and the markets that changed, so its cost does not grow
//! with unchanged prices. The receiver makes complete records of it:
//! [`LiveRecords`](record::LiveRecords).

mod selection_names;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, mem, sync::Arc};

use facts::{
    event::{
        AveragePosition, Competition, Fixture, Id, MarketStatus, Pair, Participant,
        SelectionStatus, Shot, Side, Sport,
    },
    football::Period,
};
use fanout::Micros;

use super::{
    Hub, MatchEntry,
    state::{
        Book, Consensus, ConsensusKey, ExportMarks, Football, IncidentEntry, Life, Market, Match,
        MatchAnalysis, MatchClock, Play, PlayedPoint, PlayerTally, Racing, Scores, Selection,
        Tennis,
    },
};
use record::{
    AnalysisRecord, BallRecord, CONSENSUS, ClockRecord, EntityRef, FootballRecord, Freshness,
    IncidentRecord, Key, LineUpPlayerRecord, LineUpRecord, MarketPlace, MarketUpdate, MatchChange,
    MatchSummary, MatchUpdate, MomentumMinute, Names, PlayRecord, PlayerRecord, PointRecord,
    Position, PositionRecord, PriceRecord, RaceRecord, RunnerPriceRecord, RunnerRecord,
    ScoreboardRecord, SetRecord, ShotRecord, Status, TennisRecord, derived, runner, runner_key,
    season,
};

use crate::{channels::Subject, ids::PublicIds, signals::SignalRecord, wire};

/// Exports that the database does not have yet, of what the state no longer has.
#[derive(Debug, Clone, Default)]
pub struct Unwritten {
    /// The last changes of removed matches.
    pub removed: Vec<MatchChange>,
    /// The latest state of signals.
    pub signals: BTreeMap<Key, Arc<SignalRecord>>,
    /// How many decisions of identity since the start the database has.
    pub decisions_stored: u64,
}

/// What has changed since the export before.
#[derive(Debug)]
pub struct Export {
    /// Changes of removed matches.
    pub removed: Vec<MatchChange>,
    /// Changes of matches that there are.
    pub matches: Vec<MatchChange>,
    /// Signals that have begun, changed or ended, in their latest state.
    pub signals: Vec<Arc<SignalRecord>>,
    pub at: Micros,
}

impl Hub {
    /// Takes what has changed since the last call; `None` if nothing has.
    pub fn export(&mut self, now: Micros) -> Option<Export> {
        let removed = mem::take(&mut self.removed);
        let (matches, signals) = (self.take_updates(now), self.take_signals());
        let is_empty = removed.is_empty() && matches.is_empty() && signals.is_empty();
        (!is_empty).then_some(Export { removed, matches, signals, at: now })
    }

    /// Takes the changes of matches since the last call, removed matches first.
    pub fn take_changed(&mut self, now: Micros) -> Vec<MatchChange> {
        let mut changes = mem::take(&mut self.removed);
        changes.append(&mut self.take_updates(now));
        changes
    }

    fn take_updates(&mut self, now: Micros) -> Vec<MatchChange> {
        let mut changes = Vec::new();
        for id in mem::take(&mut self.changed) {
            // One that was removed, and perhaps came back, may be here twice.
            if self.matches.get(id).is_some_and(|entry| entry.is_changed) {
                changes.extend(self.match_update(id, now).map(MatchChange::Updated));
            }
        }
        changes
    }

    /// Makes the next export one of everything, for a history that begins.
    pub fn export_everything(&mut self) {
        self.changed.clear();
        for entry in self.matches.values_mut() {
            entry.is_changed = true;
            entry.state.touched = ExportMarks::all();
            self.changed.push(entry.state.id);
        }
    }

    /// Notes nothing for exports from now on, as nobody takes them. What was noted is forgotten.
    pub fn stop_exports(&mut self) {
        self.makes_exports = false;
        self.removed.clear();
        self.changed.clear();
        self.signals.changed.clear();
        for entry in self.matches.values_mut() {
            entry.is_changed = false;
            entry.state.touched = ExportMarks::default();
        }
    }

    /// Saves the state as [`Self::save`] does, with exports that a hub restored from it makes again.
    pub fn save_with(&mut self, unwritten: &Unwritten, out: &mut Vec<u8>) {
        let unsaved = (self.removed.clone(), self.signals.changed.clone());
        self.removed.splice(..0, unwritten.removed.iter().cloned());
        for (id, record) in &unwritten.signals {
            self.signals.changed.entry(*id).or_insert_with(|| Arc::clone(record));
        }
        self.save(out);
        (self.removed, self.signals.changed) = unsaved;
    }

    /// Notes for the export that a match is removed, with all of its last state: a match that ends and is
    /// evicted within one message leaves its result, and a start may export nothing else of it.
    pub(super) fn export_removal(&mut self, id: Id, now: Micros) {
        let entry = self.matches.get_mut(id).filter(|_| self.makes_exports);
        let Some(entry) = entry else { return };
        entry.state.touched = ExportMarks::all();
        let last = self.match_update(id, now).map(MatchChange::Updated);
        self.removed.extend(last);
        self.removed.push(MatchChange::Gone(id.0));
    }

    /// Notes for the export that a match was dropped. Its last state is not exported, as its facts
    /// are those of another match now.
    pub(super) fn export_dropped(&mut self, id: Id) {
        if self.makes_exports {
            self.removed.push(MatchChange::Gone(id.0));
        }
    }

    fn match_update(&mut self, id: Id, now: Micros) -> Option<Box<MatchUpdate>> {
        let freshness = self.freshness(self.matches.get(id)?);
        let entry = self.matches.get_mut(id)?;
        entry.is_changed = false;
        let state = &mut entry.state;
        let touched = mem::take(&mut state.touched);
        let update = update(state, &touched, &self.ids, now);
        Some(Box::new(MatchUpdate { freshness, ..update }))
    }

    fn freshness(&self, match_entry: &MatchEntry) -> Option<Freshness> {
        let entry = match_entry.channels.get(Subject::Match(match_entry.state.id))?;
        let sequence = &entry.sequence;
        Some(Freshness {
            position: Position { epoch: sequence.channel.epoch.0, seq: sequence.head() },
            feed: self.match_header(match_entry).feed.as_str(),
            source_at: entry.stamp.and_then(|stamp| stamp.source),
            received_at: entry.stamp.map(|stamp| stamp.received),
        })
    }
}

fn update(state: &Match, touched: &ExportMarks, ids: &PublicIds, now: Micros) -> MatchUpdate {
    let names = names(state, ids);
    let mut summary = summarize(state, &names, now);
    summarize_play(state, &mut summary);
    let refs = state.members.iter();
    let refs = refs.map(|member| (Arc::clone(&member.provider), Arc::clone(&member.key)));
    MatchUpdate {
        summary,
        refs: refs.collect(),
        names,
        play: (touched.all || touched.play).then(|| play(state, ids)),
        is_complete: touched.all,
        markets: markets(state, touched, ids),
        freshness: None,
    }
}

fn named(participant: &Participant) -> EntityRef {
    participant.into()
}

fn names(state: &Match, ids: &PublicIds) -> Names {
    let Fixture { competition, sides, .. } = &state.fixture;
    let about = &state.about;
    let season = |competition: &Competition| {
        let name = competition.season.clone()?;
        Some(EntityRef { id: ids.number(season(competition.id, &name))?.0, name })
    };
    Names {
        competition: competition
            .as_ref()
            .map(|it| EntityRef { id: it.id.0, name: Arc::clone(&it.name) }),
        country: about.country.clone(),
        season: competition.as_ref().and_then(season),
        sides: sides.as_ref().map(|sides| sides.each_ref().map(named)),
        venue: about.venue.as_ref().map(|it| EntityRef { id: it.id.0, name: Arc::clone(&it.name) }),
        city: about.venue.as_ref().and_then(|venue| venue.city.clone()),
        referee: about.referee.as_ref().map(named),
        coaches: about.coaches().map(|coach| coach.map(named)),
        surface: about.surface.clone(),
        category: about.category.clone(),
        side_countries: about.side_countries().map(|country| country.cloned()),
    }
}

fn summarize(state: &Match, names: &Names, now: Micros) -> MatchSummary {
    let id = |named: &Option<EntityRef>| named.as_ref().map(|named| named.id);
    let about = &state.about;
    let noon = || {
        let noon = state.fixture.date?.at(12, 0, 0, 0).in_tz("UTC").ok()?;
        Some(noon.timestamp().as_microsecond())
    };
    MatchSummary {
        id: state.id.0,
        sport: state.sport,
        competition: id(&names.competition),
        season: id(&names.season),
        start: state.fixture.start.or_else(noon),
        day_only: state.fixture.start.is_none() && state.fixture.date.is_some(),
        status: life_status(state.life()),
        sides: names.sides.as_ref().map(|sides| sides.each_ref().map(|side| side.id)),
        round: about.round,
        round_name: about.round_name.clone(),
        group: about.group.clone(),
        venue: id(&names.venue),
        referee: id(&names.referee),
        coaches: names.coaches.each_ref().map(id),
        attendance: about.attendance,
        neutral: about.neutral,
        score: None,
        half_time: None,
        extra_time: None,
        penalties: None,
        parts: Vec::new(),
        winner: None,
        best_of: about.best_of,
        ended: state.ended_at,
        expected_goals: None,
        period_starts: None,
        weather: about.weather,
        updated: now,
    }
}

fn life_status(life: Life) -> Status {
    match life {
        Life::Prematch => Status::NotStarted,
        Life::Live => Status::Live,
        Life::Suspended => Status::Interrupted,
        Life::Ended => Status::Finished,
    }
}

/// Adds what the summary has of the play.
fn summarize_play(state: &Match, summary: &mut MatchSummary) {
    match &state.play {
        Play::Football(it) => {
            if let Some(status) = state.football_status(it) {
                summary.status = status.into();
            }
            if let Some(score) = it.reported_score() {
                summary.score = Some(wide(score.goals));
                summary.half_time = score.half_time;
                summary.extra_time = score.extra_time;
                summary.penalties = score.penalties;
            }
            let starts = Some(&it.period_starts).filter(|starts| !starts.is_empty());
            summary.period_starts = starts.cloned().map(Box::new);
        }
        Play::Tennis(it) => {
            summary.status = state.tennis_status(it).into();
            if let Some(score) = it.reported_score() {
                summary.score = Some(wide(score.sets_won()));
                summary.parts = score.sets.iter().map(|set| wide(set.games)).collect();
                summary.winner = score.winner.map(number);
            }
        }
        Play::Scoreboard(it) => {
            summary.status = state.scoreboard_status(it).into();
            if let Some(board) = &it.board {
                summary.score = it.reported_score();
                summary.parts.clone_from(&board.periods);
                summary.winner = board.winner.map(number);
            }
        }
        Play::Race(it) => summary.status = state.race_status(it).into(),
        Play::None => {}
    }
}

fn play(state: &Match, ids: &PublicIds) -> PlayRecord {
    match &state.play {
        Play::Football(it) => PlayRecord::Football(Box::new(football(it))),
        Play::Tennis(it) => PlayRecord::Tennis(Box::new(tennis(it))),
        Play::Scoreboard(it) => PlayRecord::Scoreboard(scoreboard(it)),
        Play::Race(it) => PlayRecord::Race(race(state.id, it, ids)),
        Play::None => PlayRecord::None,
    }
}

fn number(side: Side) -> u8 {
    match side {
        Side::First => 0,
        Side::Second => 1,
    }
}

fn clock(clock: MatchClock) -> ClockRecord {
    ClockRecord { at: clock.at, second: clock.second, running: clock.running }
}

fn wide<T: Into<u32>>(pair: Pair<T>) -> Pair<u32> {
    pair.map(Into::into)
}

fn football(state: &Football) -> FootballRecord {
    let stats = state.stats.each_ref();
    let stats = stats.map(|side| side.iter().map(|(stat, n)| (stat.as_str().into(), *n)).collect());
    let ball = state.ball.map(|ball| BallRecord {
        x: f64::from(ball.x) / 10.0,
        y: f64::from(ball.y) / 10.0,
        side: number(ball.side),
        situation: ball.situation.as_str().into(),
    });
    let line_up = |line_up: &facts::event::LineUp| LineUpRecord {
        formation: line_up.formation.clone(),
        players: line_up.players.iter().map(line_up_player).collect(),
    };
    FootballRecord {
        followed: state.status.is_some(),
        clock: state.clock.map(clock),
        incidents: state.incidents.iter().map(incident).collect(),
        stats,
        ball,
        line_ups: state.line_ups.each_ref().map(|it| it.as_ref().map(line_up)),
        players: players(state),
        analysis: state.analysis.as_deref().map(|it| Box::new(analysis(it))),
    }
}

fn line_up_player(it: &facts::event::LineUpPlayer) -> LineUpPlayerRecord {
    LineUpPlayerRecord {
        player: named(&it.player),
        number: it.number,
        position: it.position.map(|position| position.letter().into()),
        country: it.country.clone(),
        starter: it.starter,
        captain: it.captain,
    }
}

fn analysis(state: &MatchAnalysis) -> AnalysisRecord {
    let shot = |it: &Shot| ShotRecord {
        eid: Arc::clone(&it.eid),
        side: number(it.side),
        player: it.player.as_ref().map(named),
        period: it.period,
        minute: it.minute,
        added: it.added,
        outcome: it.outcome,
        situation: it.situation,
        body_part: it.body_part,
        expected_goals: it.expected_goals,
        expected_on_target: it.expected_on_target,
        location: it.location.map(|point| [point.x, point.y]),
        goal_mouth: it.goal_mouth.map(|mouth| [mouth.y, mouth.z]),
    };
    let momentum = state.momentum.iter();
    let momentum =
        momentum.map(|(at, value)| (at.minute * 2 + MomentumMinute::from(at.added), *value));
    let position = |it: &AveragePosition| PositionRecord {
        player: named(&it.player),
        x: it.location.x,
        y: it.location.y,
    };
    AnalysisRecord {
        shots: state.shots.iter().map(shot).collect(),
        expected_goals: state.expected_goals,
        momentum: momentum.collect(),
        halves: state.halves.clone(),
        positions: state.positions.each_ref().map(|side| side.iter().map(position).collect()),
    }
}

/// Each player's statistics, rating and expected goals.
fn players(state: &Football) -> Vec<PlayerRecord> {
    let mut players: BTreeMap<Id, PlayerRecord> =
        state.players.iter().map(|(id, tally)| (*id, player(tally))).collect();
    let Some(analysis) = state.analysis.as_deref() else { return players.into_values().collect() };
    let mut add = |who: &Participant, side: Side, name: &'static str, value: u32| {
        let record = players.entry(who.id).or_insert_with(|| PlayerRecord {
            player: named(who),
            side: number(side),
            values: BTreeMap::new(),
        });
        *record.values.entry(name.into()).or_default() += value;
    };
    for (side, who, rating) in analysis.ratings.values() {
        add(who, *side, "rating", u32::from(*rating));
    }
    for shot in analysis.shots.iter().filter(|shot| shot.period != Period::Shootout) {
        let Some(who) = &shot.player else { continue };
        if let Some(goals) = shot.expected_goals {
            add(who, shot.side, "expected_goals", goals.0);
        }
        if let Some(goals) = shot.expected_on_target {
            add(who, shot.side, "expected_goals_on_target", goals.0);
        }
    }
    players.into_values().collect()
}

fn player(tally: &PlayerTally) -> PlayerRecord {
    PlayerRecord {
        player: named(&tally.player),
        side: number(tally.side),
        values: tally.values.iter().map(|(stat, n)| (stat.as_str().into(), *n)).collect(),
    }
}

fn incident(entry: &IncidentEntry) -> IncidentRecord {
    IncidentRecord::new(&entry.incident, entry.retracted.clone())
}

fn tennis(state: &Tennis) -> TennisRecord {
    let Some(score) = state.reported_score() else { return TennisRecord::default() };
    TennisRecord {
        followed: true,
        server: score.server.map(number),
        sets: score
            .sets
            .iter()
            .map(|set| SetRecord { games: set.games, tie_break: set.tie_break })
            .collect(),
        game: wire::tennis::calls(score.game),
        points: state.played.iter().map(point).collect(),
    }
}

fn point(played: &PlayedPoint) -> PointRecord {
    PointRecord {
        winner: number(played.winner),
        server: number(played.server),
        how: played.how.map(|how| how.as_str().into()),
        set: played.set,
        games: played.games,
        game: wire::tennis::calls(played.game),
        ended_game: played.ended.game,
        ended_set: played.ended.set,
    }
}

fn scoreboard(state: &Scores) -> ScoreboardRecord {
    let Some(board) = &state.board else { return ScoreboardRecord::default() };
    ScoreboardRecord { followed: true, period: board.period.clone(), clock: state.clock.map(clock) }
}

/// Without the prices, which are exported by market.
fn race(race: Id, state: &Racing, ids: &PublicIds) -> RaceRecord {
    let runners = state.runners.iter().map(|(id, it)| RunnerRecord {
        id: id.0,
        runner: runner(ids, race, id.0).unwrap_or_default(),
        jockey_id: it.jockey.as_ref().and_then(|name| derived(ids, "jockey", name)),
        name: Arc::clone(&it.participant.name),
        number: it.number,
        jockey: it.jockey.clone(),
        status: it.status.as_str().into(),
        position: it.position,
    });
    RaceRecord { followed: state.status.is_some(), runners: runners.collect(), prices: Vec::new() }
}

/// The markets that have changed, or all of them.
fn markets(state: &Match, touched: &ExportMarks, ids: &PublicIds) -> Vec<MarketUpdate> {
    let of_book = |&(book, market): &(usize, usize)| market_update(state, (book, market), ids);
    let of_consensus = |key: &ConsensusKey| consensus_update(&state.consensus, key);
    if touched.all {
        let books = state.books.iter().enumerate();
        let places =
            books.flat_map(|(index, book)| (0..book.markets.len()).map(move |it| (index, it)));
        let books = places.filter_map(|index| of_book(&index));
        return books.chain(state.consensus.markets.keys().map(of_consensus)).collect();
    }
    let books = touched.markets.iter().filter_map(of_book);
    books.chain(touched.consensus.iter().map(of_consensus)).collect()
}

fn market_update(
    state: &Match,
    (book_index, market_index): (usize, usize),
    ids: &PublicIds,
) -> Option<MarketUpdate> {
    let book = state.books.get(book_index)?;
    let market = book.markets.get(market_index)?;
    let runners = match &state.play {
        Play::Race(_) => runner_prices(state.id, book, market, ids),
        Play::Football(_) | Play::Tennis(_) | Play::Scoreboard(_) | Play::None => Vec::new(),
    };
    Some(MarketUpdate {
        position: MarketPlace::Book(book_index, market_index),
        prices: market_prices(state.sport, book, market),
        runners,
    })
}

fn runner_prices(
    race: Id,
    book: &Book,
    market: &Market,
    ids: &PublicIds,
) -> Vec<RunnerPriceRecord> {
    let open = book.status(market) == MarketStatus::Open;
    let unnamed = market.selections.iter().filter(|selection| selection.outcome.is_none());
    let prices = unnamed.map(|selection| {
        let key = runner_key(&book.slug, &selection.id, selection.name.as_deref());
        let horse = derived(ids, "horse", &key).unwrap_or_default();
        let terms = selection.extras().map(|extras| &extras.terms);
        RunnerPriceRecord {
            horse,
            runner: runner(ids, race, horse).unwrap_or_default(),
            bookmaker: Arc::clone(&book.slug),
            market: Arc::clone(&market.kind),
            selection: Arc::clone(&selection.id),
            name: selection.name.clone(),
            price: selection.price,
            previous: selection.prev,
            bsp: terms.and_then(|terms| terms.bsp),
            adjustment_factor: terms.and_then(|terms| terms.adjustment_factor),
            status: selection.status.as_str().into(),
            open: open && selection.status == SelectionStatus::Active,
            in_play: market.in_play,
            at: selection.priced_at,
        }
    });
    prices.collect()
}

fn market_prices(sport: Sport, book: &Book, market: &Market) -> Vec<PriceRecord> {
    let open = book.status(market) == MarketStatus::Open;
    // A selection that never had a price gets no row.
    let was_priced = |it: &&Selection| it.price.is_some() || it.prev.is_some();
    let prices = market.selections.iter().filter(was_priced).map(|selection| {
        let (kind, outcome) = selection_names::names(sport, market, selection);
        PriceRecord {
            bookmaker: Arc::clone(&book.slug),
            market: kind,
            period: market.period.clone(),
            line: market.line,
            outcome,
            price: selection.price,
            open: open && selection.status == SelectionStatus::Active,
            in_play: market.in_play,
            at: selection.priced_at,
        }
    });
    prices.collect()
}

/// The prices of one market of the consensus: none if it has gone.
fn consensus_update(consensus: &Consensus, key: &ConsensusKey) -> MarketUpdate {
    let entry = consensus.markets.get(key);
    let current = entry.and_then(|members| members.current.as_ref()).into_iter();
    let prices = current.flat_map(|market| {
        market.selections.iter().filter_map(move |(outcome, price)| {
            let offer = price.offer.as_ref()?;
            Some(PriceRecord {
                bookmaker: CONSENSUS.into(),
                market: Arc::clone(&key.kind),
                period: key.period.clone(),
                line: key.line,
                outcome: outcome.as_str().into(),
                price: Some(offer.median),
                open: market.status == MarketStatus::Open
                    && price.status == SelectionStatus::Active,
                in_play: market.in_play,
                at: offer.oldest,
            })
        })
    });
    let prices = prices.collect();
    let ConsensusKey { kind, period, line } = key.clone();
    let position = MarketPlace::Consensus { kind, period, line };
    MarketUpdate { position, prices, runners: Vec::new() }
}
