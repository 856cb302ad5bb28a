//! The play of a football match in its record, and what each field does when records are combined.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{Incident, Side};
use serde::{Deserialize, Serialize};

use super::{AnalysisRecord, ClockRecord, Counters, EntityRef};

/// Each field has a row in the table `football_fields!` below; one without a row does not compile.
#[derive(Debug, Clone, PartialEq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct FootballRecord {
    /// Whether a feed follows the play. If not, there is no score, instead of 0-0.
    pub followed: bool,
    pub clock: Option<ClockRecord>,
    /// In the order in which they became known; withdrawn ones stay and are marked.
    pub incidents: Vec<IncidentRecord>,
    /// By the names of `facts::event::Stat`.
    pub stats: [Counters; 2],
    pub ball: Option<BallRecord>,
    pub line_ups: [Option<LineUpRecord>; 2],
    pub players: Vec<PlayerRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Box<AnalysisRecord>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct IncidentRecord {
    pub eid: Arc<str>,
    /// As in the stream protocol: `goal`, `yellow`, `second_yellow`, `red`, `substitution`,
    /// `penalty_missed`, `var`, `period`, `shootout`.
    pub kind: Arc<str>,
    /// Of a goal: `regular`, `penalty` or `own_goal`; of a check: `checking`, `confirmed` or
    /// `overturned`; of a period: its status; of a kick: `scored` or `missed`.
    pub detail: Option<Arc<str>>,
    pub minute: u16,
    pub added: Option<u16>,
    /// 0 home, 1 away. For a goal, the side that benefits.
    pub side: Option<u8>,
    /// The scorer, the booked player, or the player who goes off.
    pub player: Option<EntityRef>,
    /// The player who gave the assist, or who comes on.
    pub assist: Option<EntityRef>,
    pub score: Option<[u16; 2]>,
    /// Why it was withdrawn, if it was.
    pub retracted: Option<Arc<str>>,
}

impl IncidentRecord {
    /// The record of an incident, and why it was withdrawn.
    #[must_use]
    pub fn new(incident: &Incident, retracted: Option<Arc<str>>) -> Self {
        Self {
            eid: Arc::clone(&incident.eid),
            kind: incident.kind.as_str().into(),
            detail: incident.kind.detail().map(Into::into),
            minute: incident.minute,
            added: incident.added,
            side: incident.side.map(|side| u8::from(side == Side::Second)),
            player: incident.player.as_ref().map(Into::into),
            assist: incident.assist.as_ref().map(Into::into),
            score: incident.score,
            retracted,
        }
    }
}

/// The position of the ball, in percent of the pitch, from the perspective of the side in
/// possession.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct BallRecord {
    pub x: f64,
    pub y: f64,
    pub side: u8,
    /// As in `facts::event::Situation`.
    pub situation: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct LineUpRecord {
    pub formation: Option<Arc<str>>,
    pub players: Vec<LineUpPlayerRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct LineUpPlayerRecord {
    pub player: EntityRef,
    pub number: Option<u16>,
    /// `G`, `D`, `M` or `F`.
    pub position: Option<Arc<str>>,
    /// The nationality, in the format of a competition's country.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<Arc<str>>,
    pub starter: bool,
    pub captain: bool,
}

/// The statistics of one player in the match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct PlayerRecord {
    pub player: EntityRef,
    pub side: u8,
    /// By the names of `facts::event::PlayerStat`; absent values are unknown. Also `rating` in
    /// hundredths, and `expected_goals` and `expected_goals_on_target` in hundred-thousandths.
    pub values: BTreeMap<Arc<str>, u32>,
}

/// Minutes by which two feeds may differ about one incident.
const APART_MAX: u16 = 3;

/// Defines what each field of a [`FootballRecord`] does when records are split or combined: a row per
/// field, a column per operation, and in each place the function that makes the new value.
macro_rules! football_fields {
    ($($field:ident: $summary:expr, $filled_from:expr, $merged_over:expr;)+) => {
        impl FootballRecord {
            /// The fields that lists of matches need; the others are empty. See
            /// [`MatchRecord::split`](crate::MatchRecord::split).
            pub(crate) fn summary(&self) -> Self {
                Self { $($field: $summary(&self.$field)),+ }
            }

            /// This record with what it lacks from an earlier one, which may be of another source.
            /// See [`MatchRecord::fill_from`](crate::MatchRecord::fill_from).
            pub(crate) fn filled_from(&self, earlier: &Self) -> Self {
                Self { $($field: $filled_from(&self.$field, &earlier.$field)),+ }
            }

            /// This record over the one stored before the hub was started. See
            /// [`MatchRecord::merged_over`](crate::MatchRecord::merged_over).
            pub(crate) fn merged_over(&self, stored: &Self) -> Self {
                Self { $($field: $merged_over(&self.$field, &stored.$field)),+ }
            }
        }
    };
}

football_fields! {
    //         summary       filled_from   merged_over
    followed:  Clone::clone, either,       either;
    clock:     Clone::clone, or,           or;
    // Sources have different ids for one incident, so an import takes the list of one of them.
    incidents: Clone::clone, longer,       incidents;
    stats:     Clone::clone, counters,     counters;
    ball:      Clone::clone, or,           or;
    line_ups:  omitted,      each_side,    each_side;
    // Sources also have different ids for players and shots.
    players:   omitted,      unless_empty, players;
    analysis:  omitted,      or,           analysis;
}

fn omitted<T: Default>(_: &T) -> T {
    T::default()
}

fn either(new: &bool, old: &bool) -> bool {
    *new || *old
}

pub(crate) fn or<T: Clone>(new: &Option<T>, old: &Option<T>) -> Option<T> {
    new.as_ref().or(old.as_ref()).cloned()
}

fn each_side<T: Clone>(new: &[Option<T>; 2], old: &[Option<T>; 2]) -> [Option<T>; 2] {
    [0, 1].map(|side| or(&new[side], &old[side]))
}

fn longer<T: Clone>(new: &[T], old: &[T]) -> Vec<T> {
    if new.len() < old.len() { old.to_vec() } else { new.to_vec() }
}

fn unless_empty<T: Clone>(new: &[T], old: &[T]) -> Vec<T> {
    if new.is_empty() { old.to_vec() } else { new.to_vec() }
}

/// The counters of both, each side by itself.
fn counters(new: &[Counters; 2], old: &[Counters; 2]) -> [Counters; 2] {
    [0, 1].map(|side: usize| {
        let mut counters = old[side].clone();
        counters.extend(new[side].iter().map(|(stat, n)| (Arc::clone(stat), *n)));
        counters
    })
}

/// Incidents that are only stored, and then the current ones. Two are the same if they have the
/// same id, or, since feeds use different ids, the same kind and side within three minutes.
fn incidents(new: &[IncidentRecord], old: &[IncidentRecord]) -> Vec<IncidentRecord> {
    let names: HashSet<_> = old.iter().map(|it| &it.eid).collect();
    // Those without a counterpart by id may have one by kind and minute.
    let mut unnamed: Vec<_> = new.iter().filter(|it| !names.contains(&it.eid)).collect();
    let mut is_known = |before: &IncidentRecord| {
        if new.iter().any(|it| it.eid == before.eid) {
            return true;
        }
        let is_same = |incident: &&IncidentRecord| {
            (&incident.kind, incident.side) == (&before.kind, before.side)
                && incident.minute.abs_diff(before.minute) <= APART_MAX
        };
        let index = unnamed.iter().position(is_same);
        index.map(|index| unnamed.swap_remove(index)).is_some()
    };
    let mut all: Vec<_> = old.iter().filter(|it| !is_known(it)).cloned().collect();
    all.extend_from_slice(new);
    all
}

fn players(new: &[PlayerRecord], old: &[PlayerRecord]) -> Vec<PlayerRecord> {
    let completed = |player: &PlayerRecord| {
        let before = old.iter().find(|it| it.player.id == player.player.id);
        let mut values = before.map(|before| before.values.clone()).unwrap_or_default();
        values.extend(player.values.clone());
        PlayerRecord { values, ..player.clone() }
    };
    let mut all: Vec<_> = new.iter().map(completed).collect();
    let is_known = |before: &PlayerRecord| new.iter().any(|it| it.player.id == before.player.id);
    all.extend(old.iter().filter(|before| !is_known(before)).cloned());
    all
}

/// The analysis over the stored one, if either is known.
fn analysis(
    new: &Option<Box<AnalysisRecord>>,
    old: &Option<Box<AnalysisRecord>>,
) -> Option<Box<AnalysisRecord>> {
    match (new, old) {
        (Some(new), Some(old)) => Some(Box::new(new.merged_over(old))),
        _ => or(new, old),
    }
}
