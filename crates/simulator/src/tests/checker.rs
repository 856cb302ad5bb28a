//! A naive reader of facts: applies them one by one, and fails on impossible ones.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;

use crate::names;
use facts::{
    event::{
        About, Analysis, Ball, Batch, Event, Fact, FootballFact, FootballScore, FootballStatus,
        GoalKind, Half, Id, Incident, IncidentKind, LineUp, MarketChange, MarketStatus,
        MatchMinute, Micros, OddsFact, Pair, PlayerStat, SelectionStatus, Shot, ShotOutcome, Side,
        Situation, Sport, Stat, TennisFact, TennisScore, TennisStatus, Timed,
    },
    tennis::MatchFormat,
};

use super::rules::{Boards, Races};

#[derive(Debug, Default)]
pub(super) struct Checker {
    pub(super) matches: BTreeMap<Id, ObservedMatch>,
    now: Micros,
}

/// What a reader knows of one match.
#[derive(Debug, Default)]
pub(super) struct ObservedMatch {
    pub(super) football: Football,
    pub(super) tennis: Tennis,
    pub(super) boards: Boards,
    pub(super) races: Races,
    about: Option<About>,
    /// By bookmaker and market.
    pub(super) markets: BTreeMap<(String, String), Market>,
    format: Option<MatchFormat>,
}

#[derive(Debug, Default)]
pub(super) struct Football {
    pub(super) statuses: Vec<FootballStatus>,
    pub(super) score: FootballScore,
    /// In order, without those taken back.
    pub(super) goals: Vec<Incident>,
    pub(super) retracted: Vec<String>,
    pub(super) others: Vec<Incident>,
    line_ups: Pair<Option<LineUp>>,
    stats: BTreeMap<(Side, Stat), u32>,
    players: BTreeMap<(Side, Id), BTreeMap<PlayerStat, u32>>,
    shots: BTreeMap<String, Shot>,
    momentum: Vec<MatchMinute>,
    halves: BTreeMap<(Half, Side, Stat), u32>,
    positions: Pair<usize>,
    ratings: BTreeSet<Id>,
    eids: BTreeSet<String>,
    last_minute: (u16, u16),
    last_second: u32,
}

#[derive(Debug, Default)]
pub(super) struct Tennis {
    pub(super) statuses: Vec<TennisStatus>,
    pub(super) score: TennisScore,
    pub(super) retracted: Vec<String>,
    /// Each point that stands, with the score before it.
    points: Vec<(String, TennisScore)>,
}

#[derive(Debug, Default)]
pub(super) struct Market {
    pub(super) status: Option<MarketStatus>,
    pub(super) winners: Vec<String>,
    removed: BTreeSet<String>,
    prices: BTreeMap<String, Option<Decimal>>,
    in_play: bool,
}

impl Checker {
    pub(super) fn apply(&mut self, timed: &Timed) {
        let Batch { at, events, .. } = &timed.batch;
        assert!(timed.clock_us >= self.now, "time ran backwards");
        assert_eq!(*at, Some(timed.clock_us));
        assert!(!events.is_empty());
        self.now = timed.clock_us;
        let match_id = events[0].match_id;
        assert!(events.iter().all(|event| event.match_id == match_id), "a batch is of one match");
        let seen = self.matches.entry(match_id).or_default();
        for Event { sport, fact, .. } in events {
            seen.apply(*sport, fact);
        }
        seen.check_after(events);
    }
}

impl ObservedMatch {
    fn apply(&mut self, sport: Sport, fact: &Fact) {
        match fact {
            Fact::Fixture(fixture) => {
                let competition = fixture.competition.as_ref().expect("every match has one");
                let mut tournaments = (0..names::TOURNAMENT_COUNT).map(names::tournament);
                let found = tournaments.find(|(tournament, _)| tournament.id == competition.id);
                self.format = found.map(|(_, format)| format);
                let races = sport == Sport::HorseRacing;
                assert_eq!((competition.season.is_none(), fixture.sides.is_none()), (races, races));
            }
            Fact::About(about) => {
                assert!(about.round.is_some_and(|round| round > 0), "{about:?}");
                self.about = Some(About::clone(about));
            }
            Fact::Football(fact) => self.football.apply(fact),
            Fact::Tennis(fact) => self.tennis.apply(fact, self.format),
            Fact::Odds(fact) => self.odds(fact),
            Fact::Scoreboard(board) => self.boards.apply(sport, board),
            Fact::Race(race) => self.races.apply(race),
        }
    }

    fn odds(&mut self, fact: &OddsFact) {
        let key = (fact.book.to_string(), fact.market.to_string());
        let market = self.markets.entry(key).or_default();
        assert_ne!(market.status, Some(MarketStatus::Closed), "{fact:?} after the end");
        match &fact.change {
            MarketChange::Define(definition) => {
                market.status = Some(definition.status);
                market.in_play = definition.in_play;
                // A price from before a suspension is void: it must be reported again.
                market.prices.clear();
                for selection in &definition.selections {
                    let id = selection.id.to_string();
                    match selection.status {
                        SelectionStatus::Winner => market.winners.push(id),
                        SelectionStatus::Removed => {
                            market.removed.insert(id);
                        }
                        SelectionStatus::HalfWon
                        | SelectionStatus::HalfLost
                        | SelectionStatus::Push => panic!("{id} has no line"),
                        SelectionStatus::Active | SelectionStatus::Loser => {
                            assert!(!market.removed.contains(&id), "{id} came back");
                            market.prices.entry(id).or_default();
                        }
                    }
                }
            }
            MarketChange::Clear => unreachable!("the simulator never clears"),
            MarketChange::Prices { selections, .. } => {
                assert_eq!(market.status, Some(MarketStatus::Open), "a price while suspended");
                for selection in selections {
                    let price = market.prices.get_mut(&*selection.id).expect("it is defined");
                    assert_ne!(*price, selection.price, "a price that did not move");
                    *price = selection.price;
                }
            }
        }
    }

    /// Checks the invariants that hold after every batch.
    fn check_after(&self, events: &[Event]) {
        self.football.check_score();
        let changed = events.iter().any(|event| matches!(event.fact, Fact::Odds(_)));
        for (key, market) in &self.markets {
            if changed && market.status == Some(MarketStatus::Open) {
                assert!(market.overround() > Decimal::ONE, "{key:?} loses: {market:?}");
                assert_eq!(market.in_play, self.in_play(), "{key:?}");
            }
            if events.iter().any(|event| halts(&event.fact)) {
                let open = market.status == Some(MarketStatus::Open);
                assert!(!open, "{key:?} is open after {events:?}");
            }
        }
    }

    fn in_play(&self) -> bool {
        self.football.statuses.len() > 1
            || self.tennis.statuses.len() > 1
            || self.boards.statuses.len() > 1
            || self.races.statuses.len() > 2
    }

    /// What must hold at the end of every match.
    pub(super) fn check_end(&self) {
        assert!(self.about.is_some(), "no details were emitted");
        if !self.football.statuses.is_empty() {
            self.football.check_players();
            self.football.check_analysis();
        }
    }
}

impl Market {
    fn overround(&self) -> Decimal {
        let price = |price: &Option<Decimal>| price.expect("an open market has every price");
        let lowest = Decimal::new(101, 2);
        assert!(self.prices.values().map(price).all(|price| price >= lowest && price.scale() <= 2));
        self.prices.values().map(price).map(|price| Decimal::ONE / price).sum()
    }
}

impl Football {
    fn apply(&mut self, fact: &FootballFact) {
        match fact {
            FootballFact::Status(status) => self.statuses.push(*status),
            FootballFact::Clock { second, .. } => {
                let second_half = self.statuses.last() == Some(&FootballStatus::SecondHalf);
                assert!(*second >= self.last_second || second_half && *second >= 2_700);
                self.last_second = *second;
            }
            FootballFact::Score(score) => self.score = *score,
            FootballFact::Incident(incident) => self.incident(incident),
            FootballFact::Retract { eid, score, .. } => {
                let goal = self.goals.pop().expect("a goal stands");
                assert_eq!(goal.eid, *eid, "only the last goal is ever taken back");
                self.retracted.push(eid.to_string());
                self.score = *score;
            }
            FootballFact::Ball(Ball { x, y, .. }) => assert!(*x <= 1000 && *y <= 1000),
            FootballFact::Stats { side, values } => {
                assert!(!values.is_empty());
                self.stats.extend(values.iter().map(|(stat, n)| ((*side, *stat), *n)));
            }
            FootballFact::LineUp { side, line_up } => {
                assert_eq!(self.statuses, [FootballStatus::NotStarted], "a late line-up");
                let starters = line_up.players.iter().filter(|player| player.starter).count();
                let captains = line_up.players.iter().filter(|player| player.captain).count();
                let numbers: BTreeSet<_> = line_up.players.iter().map(|it| it.number).collect();
                assert_eq!((starters, captains, numbers.len()), (11, 1, line_up.players.len()));
                self.line_ups[side.index()] = Some(line_up.clone());
            }
            FootballFact::PlayerStats { side, player, values } => {
                assert!(!values.is_empty());
                let line_up = self.line_ups[side.index()].as_ref().expect("there is a line-up");
                assert!(line_up.players.iter().any(|it| it.player == *player), "{player:?}");
                let counts = self.players.entry((*side, player.id)).or_default();
                counts.extend(values.iter().copied());
            }
            FootballFact::Analysis(analysis) => self.analysis(analysis),
            FootballFact::Correct(_) => unreachable!("the simulator never corrects"),
            FootballFact::PeriodStart { .. } => {}
        }
    }

    fn analysis(&mut self, analysis: &Analysis) {
        match analysis {
            Analysis::Shot(shot) => {
                let expected = shot.expected_goals.expect("every shot has its expected goals");
                assert!((0.0..1.0).contains(&expected.goals()), "{shot:?}");
                assert!(shot.location.is_some_and(|at| at.x > 500), "{shot:?}");
                self.shots.insert(shot.eid.to_string(), shot.clone());
            }
            Analysis::Momentum(momentum) => {
                assert!(self.momentum.last() < Some(&momentum.minute), "{momentum:?} again");
                self.momentum.push(momentum.minute);
            }
            Analysis::HalfStats { half, side, values } => {
                assert!(!values.is_empty());
                self.halves.extend(values.iter().map(|(stat, n)| ((*half, *side, *stat), *n)));
            }
            Analysis::AveragePositions { side, players } => {
                self.positions[side.index()] = players.len();
            }
            Analysis::Ratings { players, .. } => {
                self.ratings.extend(players.iter().map(|it| it.player.id));
            }
            Analysis::ExpectedGoals { .. } => unreachable!("shots contain it"),
        }
    }

    /// The analysis agrees with the other facts of the match.
    fn check_analysis(&self) {
        for side in Side::BOTH {
            let of_side = |stat| self.stats.get(&(side, stat)).copied().unwrap_or(0);
            let shots = || self.shots.values().filter(|shot| shot.side == side);
            assert_eq!(shots().count() as u32, of_side(Stat::TotalShots));
            let blocked = shots().filter(|shot| shot.outcome == ShotOutcome::Blocked);
            assert_eq!(blocked.count() as u32, of_side(Stat::BlockedShots));
            let goals = shots().filter(|shot| shot.outcome == ShotOutcome::Goal).count();
            let scored = self.goals.iter().filter(|goal| {
                goal.side == Some(side) && goal.kind != IncidentKind::Goal(GoalKind::OwnGoal)
            });
            assert_eq!(goals, scored.count());
            for stat in [Stat::TotalShots, Stat::CornerKicks, Stat::Passes] {
                let halves = Half::BOTH.map(|half| self.halves.get(&(half, side, stat)));
                let sum: u32 = halves.into_iter().flatten().sum();
                assert_eq!(sum, of_side(stat), "{stat:?} of the halves");
            }
            assert!(self.positions[side.index()] >= 11);
        }
        let half = |first: u16, last: u16| {
            let regular = (first..=last).map(|minute| MatchMinute { minute, added: false });
            regular.chain([MatchMinute { minute: last, added: true }])
        };
        let minutes: Vec<_> = half(1, 45).chain(half(46, 90)).collect();
        assert_eq!(self.momentum, minutes, "the momentum of each minute");
        assert!(self.ratings.len() >= 22, "{} ratings", self.ratings.len());
    }

    fn incident(&mut self, incident: &Incident) {
        assert!(self.eids.insert(incident.eid.to_string()), "{} came twice", incident.eid);
        let minute = (incident.minute, incident.added.unwrap_or(0));
        assert!(minute >= self.last_minute, "{minute:?} after {:?}", self.last_minute);
        assert!(minute.1 == 0 || minute.0 == 45 || minute.0 == 90);
        self.last_minute = minute;
        if matches!(incident.kind, IncidentKind::Goal(_)) {
            self.goals.push(incident.clone());
        } else {
            self.others.push(incident.clone());
        }
    }

    /// What players did adds up to what their sides did, and to the incidents.
    fn check_players(&self) {
        for side in Side::BOTH {
            let sum = |stat: PlayerStat| -> u32 {
                let values = self.players.iter().filter(|((whose, _), _)| *whose == side);
                values.filter_map(|(_, counts)| counts.get(&stat)).sum()
            };
            let of_side = |stat| self.stats.get(&(side, stat)).copied().unwrap_or(0);
            for (of_players, stat) in [
                (PlayerStat::TotalShots, Stat::TotalShots),
                (PlayerStat::ShotsOnTarget, Stat::ShotsOnTarget),
                (PlayerStat::TotalPasses, Stat::Passes),
                (PlayerStat::AccuratePasses, Stat::AccuratePasses),
                (PlayerStat::Fouls, Stat::Fouls),
                (PlayerStat::Offsides, Stat::Offsides),
                (PlayerStat::YellowCards, Stat::YellowCards),
                (PlayerStat::RedCards, Stat::RedCards),
            ] {
                assert_eq!(sum(of_players), of_side(stat), "{stat:?} of {side:?}");
            }
            let is_by_side = |goal: &&Incident| goal.side == Some(side);
            let scored = self.goals.iter().filter(is_by_side);
            let scored = scored.filter(|it| it.kind != IncidentKind::Goal(GoalKind::OwnGoal));
            assert_eq!(sum(PlayerStat::Goals), scored.count() as u32);
            let assisted =
                self.goals.iter().filter(is_by_side).filter(|goal| goal.assist.is_some());
            assert_eq!(sum(PlayerStat::Assists), assisted.count() as u32);
            let sent_off = of_side(Stat::RedCards);
            let minutes = sum(PlayerStat::MinutesPlayed);
            assert!(minutes <= 990 && (sent_off > 0 || minutes == 990), "{minutes} of {side:?}");
        }
    }

    fn check_score(&self) {
        let counted = Side::BOTH
            .map(|side| self.goals.iter().filter(|goal| goal.side == Some(side)).count() as u16);
        assert_eq!(self.score.goals, counted, "the score is not that of the goals");
        if let Some(goal) = self.goals.last() {
            assert_eq!(goal.score, Some(counted));
        }
    }
}

impl Tennis {
    fn apply(&mut self, fact: &TennisFact, format: Option<MatchFormat>) {
        match fact {
            TennisFact::Status(status) => self.statuses.push(*status),
            TennisFact::Score(score) => self.score = score.clone(),
            TennisFact::Point(point) => {
                let before = self.score.clone();
                assert_eq!(before.server, Some(point.server));
                self.score.point(point.winner, format.expect("tennis has a format"));
                assert_eq!(self.score, point.score, "not by the rules, after {before:?}");
                let eid = point.eid.to_string();
                assert!(self.points.iter().all(|(earlier, _)| *earlier != eid), "{eid} came twice");
                self.points.push((eid, before));
            }
            TennisFact::Retract { eid: retracted, score, .. } => {
                let (eid, before) = self.points.pop().expect("a point stands");
                assert_eq!((eid.as_str(), score), (&**retracted, &before));
                self.score = before;
                self.retracted.push(eid);
            }
        }
    }
}

/// Whether every market must be suspended in the batch that holds this.
fn halts(fact: &Fact) -> bool {
    match fact {
        Fact::Football(FootballFact::Incident(incident)) => matches!(
            incident.kind,
            IncidentKind::Goal(_)
                | IncidentKind::SecondYellow
                | IncidentKind::Red
                | IncidentKind::Var(_)
        ),
        Fact::Football(FootballFact::Ball(ball)) => ball.situation == Situation::Penalty,
        Fact::Football(FootballFact::Retract { .. }) | Fact::Tennis(TennisFact::Retract { .. }) => {
            true
        }
        _ => false,
    }
}
