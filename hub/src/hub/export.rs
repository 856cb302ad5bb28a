//! From the hub's typed state to a record.

use std::{collections::BTreeMap, sync::Arc};

use fanout::Micros;
use ingest::{
    event::{
        AveragePosition, Competition, Fixture, GoalKind, Id, IncidentKind, MarketStatus, Pair,
        Participant, PointKind, SelectionStatus, Shot, Side, Sport, VarDecision,
    },
    football::Period,
};

use super::{
    AnalysisRecord, BallRecord, CONSENSUS, ClockRecord, EntityRef, FootballRecord, IncidentRecord,
    Key, LineUpPlayerRecord, LineUpRecord, MatchRecord, MatchSummary, MomentumMinute, Names,
    PlayRecord, PlayerRecord, PointRecord, PositionRecord, PriceRecord, RaceRecord,
    RunnerPriceRecord, RunnerRecord, ScoreboardRecord, SetRecord, ShotRecord, Status, TennisRecord,
    own, play::runner_key,
};
use crate::{
    hub::state::{
        Book, Consensus, Football, IncidentEntry, Life, Match, MatchAnalysis, MatchClock, Play,
        PlayedPoint, PlayerTally, Racing, Scores, Selection, Tennis,
    },
    ids::PublicIds,
    wire,
};

impl MatchRecord {
    /// Exports what the hub knows of the match now.
    #[must_use]
    pub fn of(state: &Match, ids: &PublicIds, now: Micros) -> Self {
        let names = names(state, ids);
        let mut brief = brief(state, &names, now);
        let play = play(state, ids, &mut brief);
        let prices = prices(state);
        let refs = state.members.iter();
        let refs = refs.map(|member| (Arc::clone(&member.provider), Arc::clone(&member.key)));
        Self { brief: brief.into(), refs: refs.collect(), names, play, prices, position: None }
    }
}

fn named(participant: &Participant) -> EntityRef {
    EntityRef { id: participant.id.0, name: Arc::clone(&participant.name) }
}

/// The digest of a season, from its competition's id and its name.
pub(super) fn season(competition: Id, season: &str) -> Id {
    Id::derive("matchwire", "season", &format!("{competition}|{season}"))
}

fn names(state: &Match, ids: &PublicIds) -> Names {
    let Fixture { competition, sides, .. } = &state.fixture;
    let about = &state.about;
    let season = |it: &Competition| {
        let name = it.season.clone()?;
        Some(EntityRef { id: ids.number(season(it.id, &name))?.0, name })
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
        coaches: about.coaches.each_ref().map(|coach| coach.as_ref().map(named)),
        surface: about.surface.clone(),
        category: about.category.clone(),
        side_countries: about.side_countries.clone(),
    }
}

fn brief(state: &Match, names: &Names, now: Micros) -> MatchSummary {
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

fn play(state: &Match, ids: &PublicIds, brief: &mut MatchSummary) -> PlayRecord {
    match &state.play {
        Play::Football(it) => {
            if let Some(status) = state.football_status(it) {
                brief.status = status.into();
            }
            PlayRecord::Football(Box::new(football(it, brief)))
        }
        Play::Tennis(it) => {
            brief.status = state.tennis_status(it).into();
            PlayRecord::Tennis(Box::new(tennis(it, brief)))
        }
        Play::Scoreboard(it) => {
            brief.status = state.scoreboard_status(it).into();
            PlayRecord::Scoreboard(scoreboard(it, brief))
        }
        Play::Race(it) => {
            brief.status = state.race_status(it).into();
            PlayRecord::Race(race(state.id, it, &state.books, ids))
        }
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

fn football(state: &Football, brief: &mut MatchSummary) -> FootballRecord {
    if let Some(score) = state.reported_score() {
        brief.score = Some(wide(score.goals));
        brief.half_time = score.half_time;
        brief.extra_time = score.extra_time;
        brief.penalties = score.penalties;
    }
    let analysis = state.analysis.as_deref().map(|it| Box::new(analysis(it)));
    brief.expected_goals = analysis.as_ref().and_then(|it| it.expected_goals());
    let stats = state.stats.each_ref();
    let stats = stats.map(|side| side.iter().map(|(stat, n)| (stat.as_str().into(), *n)).collect());
    let ball = state.ball.map(|ball| BallRecord {
        x: f64::from(ball.x) / 10.0,
        y: f64::from(ball.y) / 10.0,
        side: number(ball.side),
        situation: ball.situation.as_str().into(),
    });
    let line_up = |line_up: &ingest::event::LineUp| LineUpRecord {
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
        analysis,
    }
}

fn line_up_player(it: &ingest::event::LineUpPlayer) -> LineUpPlayerRecord {
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
        place: it.place.map(|place| [place.x, place.y]),
        goal_mouth: it.goal_mouth.map(|mouth| [mouth.y, mouth.z]),
    };
    let momentum = state.momentum.iter();
    let momentum =
        momentum.map(|(at, value)| (at.minute * 2 + MomentumMinute::from(at.added), *value));
    let position = |it: &AveragePosition| PositionRecord {
        player: named(&it.player),
        x: it.place.x,
        y: it.place.y,
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
        let own = players.entry(who.id).or_insert_with(|| PlayerRecord {
            player: named(who),
            side: number(side),
            values: BTreeMap::new(),
        });
        *own.values.entry(name.into()).or_default() += value;
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
    let it = &entry.incident;
    let (kind, detail) = kind(it.kind);
    IncidentRecord {
        eid: Arc::clone(&it.eid),
        kind: kind.into(),
        detail: detail.map(Into::into),
        minute: it.minute,
        added: it.added,
        side: it.side.map(number),
        player: it.player.as_ref().map(named),
        assist: it.assist.as_ref().map(named),
        score: it.score,
        retracted: entry.retracted.clone(),
    }
}

fn kind(kind: IncidentKind) -> (&'static str, Option<&'static str>) {
    match kind {
        IncidentKind::Goal(GoalKind::Regular) => ("goal", Some("regular")),
        IncidentKind::Goal(GoalKind::Penalty) => ("goal", Some("penalty")),
        IncidentKind::Goal(GoalKind::OwnGoal) => ("goal", Some("own_goal")),
        IncidentKind::Yellow => ("yellow", None),
        IncidentKind::SecondYellow => ("second_yellow", None),
        IncidentKind::Red => ("red", None),
        IncidentKind::Substitution => ("substitution", None),
        IncidentKind::PenaltyMissed => ("penalty_missed", None),
        IncidentKind::Var(VarDecision::Checking) => ("var", Some("checking")),
        IncidentKind::Var(VarDecision::Confirmed) => ("var", Some("confirmed")),
        IncidentKind::Var(VarDecision::Overturned) => ("var", Some("overturned")),
        IncidentKind::Period(status) => ("period", Some(status.as_str())),
        IncidentKind::Shootout { scored: true } => ("shootout", Some("scored")),
        IncidentKind::Shootout { scored: false } => ("shootout", Some("missed")),
    }
}

fn tennis(state: &Tennis, brief: &mut MatchSummary) -> TennisRecord {
    let Some(score) = state.reported_score() else { return TennisRecord::default() };
    brief.score = Some(wide(score.sets_won()));
    brief.parts = score.sets.iter().map(|set| wide(set.games)).collect();
    brief.winner = score.winner.map(number);
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
        how: played.how.map(|how| match how {
            PointKind::Ace => "ace".into(),
            PointKind::DoubleFault => "double_fault".into(),
        }),
        set: played.set,
        games: played.games,
        game: wire::tennis::calls(played.game),
        ended_game: played.ended.game,
        ended_set: played.ended.set,
    }
}

fn scoreboard(state: &Scores, brief: &mut MatchSummary) -> ScoreboardRecord {
    let Some(board) = &state.board else { return ScoreboardRecord::default() };
    brief.score = board.score;
    brief.parts.clone_from(&board.periods);
    brief.winner = board.winner.map(number);
    ScoreboardRecord { followed: true, period: board.period.clone(), clock: state.clock.map(clock) }
}

/// The public id of an entity derived from other public ids, or from a name.
pub(super) fn derived(ids: &PublicIds, kind: &str, key: &str) -> Option<Key> {
    ids.number(Id::derive("matchwire", kind, key)).map(|id| id.0)
}

/// The public id of a horse in a race.
pub(super) fn runner(ids: &PublicIds, race: Id, horse: Key) -> Option<Key> {
    derived(ids, "runner", &format!("{race}|{horse}"))
}

fn race(id: Id, state: &Racing, books: &[Book], ids: &PublicIds) -> RaceRecord {
    let race = id;
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
    RaceRecord {
        followed: state.status.is_some(),
        runners: runners.collect(),
        prices: books.iter().flat_map(|book| runner_prices(race, book, ids)).collect(),
    }
}

fn runner_prices(
    race: Id,
    book: &Book,
    ids: &PublicIds,
) -> impl Iterator<Item = RunnerPriceRecord> {
    book.markets.iter().flat_map(move |market| {
        let open = book.status(market) == MarketStatus::Open;
        let own = market.selections.iter().filter(|selection| selection.outcome.is_none());
        own.map(move |selection| {
            let key = runner_key(&book.slug, &selection.id, selection.name.as_deref());
            let horse = derived(ids, "horse", &key).unwrap_or_default();
            RunnerPriceRecord {
                horse,
                runner: runner(ids, race, horse).unwrap_or_default(),
                bookmaker: Arc::clone(&book.slug),
                market: Arc::clone(&market.kind),
                selection: Arc::clone(&selection.id),
                name: selection.name.clone(),
                price: selection.price,
                previous: selection.prev,
                status: selection.status.as_str().into(),
                open: open && selection.status == SelectionStatus::Active,
                in_play: market.in_play,
                at: selection.priced_at,
            }
        })
    })
}

fn prices(state: &Match) -> Vec<PriceRecord> {
    let mut prices: Vec<_> =
        state.books.iter().flat_map(|book| book_prices(state.sport, book)).collect();
    prices.extend(consensus_prices(&state.consensus));
    prices
}

fn book_prices(sport: Sport, book: &Book) -> impl Iterator<Item = PriceRecord> {
    book.markets.iter().flat_map(move |market| {
        let open = book.status(market) == MarketStatus::Open;
        // A selection that never had a price gets no row.
        let was_priced = |it: &&Selection| it.price.is_some() || it.prev.is_some();
        market.selections.iter().filter(was_priced).map(move |selection| {
            let (kind, outcome) = own::names(sport, market, selection);
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
        })
    })
}

fn consensus_prices(consensus: &Consensus) -> impl Iterator<Item = PriceRecord> {
    consensus.markets.iter().flat_map(|(key, members)| {
        members.current.iter().flat_map(move |market| {
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
        })
    })
}
