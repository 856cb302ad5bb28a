//! What a player did in a match: rows of `events/{id}/player-stats/` and `players/{id}/stats/`.

use std::{collections::BTreeMap, sync::Arc};

use facts::event::ExpectedGoals;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use history::query::Appearance;
use record::{Key, MatchRecord};

/// SERVICE section 1.2: no envelope of pages.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct MatchPlayerStats {
    event_id: Key,
    count: usize,
    player_stats: Vec<PlayerStats>,
}

/// A value as a feed reports it, or `null`.
trait FromCount {
    fn from_count(count: Option<u32>) -> Self;
}

/// A counter that no feed reports is 0.
impl FromCount for u32 {
    fn from_count(count: Option<u32>) -> Self {
        count.unwrap_or_default()
    }
}

/// `null` unless a feed reports it.
impl FromCount for Option<u32> {
    fn from_count(count: Option<u32>) -> Self {
        count
    }
}

/// The row: the player and the match, then counters, each by the name that feeds use. No feed
/// reports some of them; they are present because clients read them.
macro_rules! row {
    ($($(#[$attribute:meta])* $counter:ident: $kind:ty,)+) => {
        /// Counters are numbers, 0 if not counted. Ratings, expected goals and values are `null`
        /// unless a feed reports them.
        #[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, ToSchema)]
        pub(in crate::rest) struct PlayerStats {
            pub id: Key,
            pub player_id: Key,
            pub event_id: Key,
            pub team_id: Option<Key>,
            $($(#[$attribute])* pub $counter: $kind,)+
        }

        impl PlayerStats {
            fn from_counters(values: &CountsByName) -> Self {
                Self {
                    $($counter: FromCount::from_count(values.get(stringify!($counter)).copied()),)+
                    ..Self::default()
                }
            }
        }
    };
}

row! {
    minutes_played: u32,
    #[serde(serialize_with = "hundredths")]
    #[schema(value_type = Option<f64>)]
    rating: Option<u32>,
    touches: u32,
    goals: u32,
    goal_assist: u32,
    #[serde(serialize_with = "expected_goals")]
    #[schema(value_type = Option<f64>)]
    expected_goals: Option<u32>,
    #[serde(serialize_with = "expected_goals")]
    #[schema(value_type = Option<f64>)]
    expected_assists: Option<u32>,
    total_shots: u32,
    shots_on_target: u32,
    key_pass: u32,
    total_pass: u32,
    accurate_pass: u32,
    total_long_balls: u32,
    accurate_long_balls: u32,
    total_cross: u32,
    accurate_cross: u32,
    total_contest: u32,
    won_contest: u32,
    duel_won: u32,
    duel_lost: u32,
    aerial_won: u32,
    aerial_lost: u32,
    total_tackle: u32,
    won_tackle: u32,
    total_clearance: u32,
    interception: u32,
    ball_recovery: u32,
    blocked_scoring_attempt: u32,
    dispossessed: u32,
    possession_lost: u32,
    was_fouled: u32,
    fouls: u32,
    yellow_card: u32,
    red_card: u32,
    saves: u32,
    goals_conceded: u32,
    punches: u32,
    high_claims: u32,
    good_high_claim: u32,
    accurate_keeper_sweeper: u32,
    total_keeper_sweeper: u32,
    goals_prevented: Option<u32>,
    keeper_save_value: Option<u32>,
    goalkeeper_value_normalized: Option<u32>,
    big_chance_created: u32,
    big_chance_missed: u32,
    #[serde(serialize_with = "expected_goals")]
    #[schema(value_type = Option<f64>)]
    expected_goals_on_target: Option<u32>,
    hit_woodwork: u32,
    last_man_tackle: u32,
    outfielder_block: u32,
    saved_shots_from_inside_the_box: u32,
    clearance_off_line: u32,
    challenge_lost: u32,
    total_offside: u32,
    error_lead_to_a_goal: u32,
    error_lead_to_a_shot: u32,
    defensive_value_normalized: Option<u32>,
    pass_value_normalized: Option<u32>,
    shot_value_normalized: Option<u32>,
    dribble_value_normalized: Option<u32>,
    ball_carries_count: u32,
    progressive_ball_carries_count: u32,
    total_ball_carries_distance: u32,
    total_progressive_ball_carries_distance: u32,
    best_ball_carry_progression: u32,
    total_progression: u32,
    unsuccessful_touch: u32,
    accurate_opposition_half_passes: u32,
    total_opposition_half_passes: u32,
    accurate_own_half_passes: u32,
    total_own_half_passes: u32,
}

/// Serde asks for a reference.
type OptionalCount = Option<u32>;

fn hundredths<S: Serializer>(value: &OptionalCount, out: S) -> Result<S::Ok, S::Error> {
    value.map(|it| f64::from(it) / 100.0).serialize(out)
}

fn expected_goals<S: Serializer>(value: &OptionalCount, out: S) -> Result<S::Ok, S::Error> {
    value.map(|it| ExpectedGoals(it).goals()).serialize(out)
}

/// By the names of `facts::event::PlayerStat`.
type CountsByName = BTreeMap<Arc<str>, u32>;

impl PlayerStats {
    pub(in crate::rest) fn new(it: &Appearance) -> Self {
        Self {
            id: it.id(),
            player_id: it.player,
            event_id: it.match_id,
            team_id: Some(it.team),
            goals: it.goals,
            goal_assist: it.assists,
            yellow_card: it.yellow,
            red_card: it.red,
            ..Self::from_counters(&it.stats)
        }
    }
}

impl MatchPlayerStats {
    /// Everyone who was on the pitch: the home side first, then by player.
    pub(super) fn new(record: &MatchRecord) -> Self {
        let appearances = Appearance::of_record(record);
        let mut played: Vec<_> = appearances.values().filter(|it| it.has_row()).collect();
        played.sort_by_key(|it| record.summary.sides.is_some_and(|sides| sides[0] != it.team));
        let player_stats: Vec<_> = played.into_iter().map(PlayerStats::new).collect();
        Self { event_id: record.summary.id, count: player_stats.len(), player_stats }
    }
}
