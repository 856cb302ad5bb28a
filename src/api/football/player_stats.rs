//! What a player did in a match: rows of `events/{id}/player-stats/` and `players/{id}/stats/`.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    archive::Appearance,
    record::{Key, MatchRecord},
};

/// SERVICE section 1.2: no envelope of pages.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct MatchPlayerStats {
    event_id: Key,
    count: usize,
    player_stats: Vec<PlayerStats>,
}

/// The row: after whom it is of come counters, each by the name under which feeds tell it. Some no
/// feed of ours tells; they are there since clients read them.
macro_rules! row {
    ($($counter:ident)+) => {
        /// `null` is what was not told; that is not 0.
        #[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, ToSchema)]
        pub(in crate::api) struct PlayerStats {
            pub id: Key,
            pub player_id: Key,
            pub event_id: Key,
            pub team_id: Option<Key>,
            $(pub $counter: Option<u32>,)+
        }

        impl PlayerStats {
            fn of_counters(values: &Counters) -> Self {
                Self {
                    $($counter: values.get(stringify!($counter)).copied(),)+
                    ..Self::default()
                }
            }
        }
    };
}

row! {
    minutes_played
    rating
    touches
    goals
    goal_assist
    expected_goals
    expected_assists
    total_shots
    shots_on_target
    key_pass
    total_pass
    accurate_pass
    total_long_balls
    accurate_long_balls
    total_cross
    accurate_cross
    total_contest
    won_contest
    duel_won
    duel_lost
    aerial_won
    aerial_lost
    total_tackle
    won_tackle
    total_clearance
    interception
    ball_recovery
    blocked_scoring_attempt
    dispossessed
    possession_lost
    was_fouled
    fouls
    yellow_card
    red_card
    saves
    goals_conceded
    punches
    high_claims
    good_high_claim
    accurate_keeper_sweeper
    total_keeper_sweeper
    goals_prevented
    keeper_save_value
    goalkeeper_value_normalized
    big_chance_created
    big_chance_missed
    expected_goals_on_target
    hit_woodwork
    last_man_tackle
    outfielder_block
    saved_shots_from_inside_the_box
    clearance_off_line
    challenge_lost
    total_offside
    error_lead_to_a_goal
    error_lead_to_a_shot
    defensive_value_normalized
    pass_value_normalized
    shot_value_normalized
    dribble_value_normalized
    ball_carries_count
    progressive_ball_carries_count
    total_ball_carries_distance
    total_progressive_ball_carries_distance
    best_ball_carry_progression
    total_progression
    unsuccessful_touch
    accurate_opposition_half_passes
    total_opposition_half_passes
    accurate_own_half_passes
    total_own_half_passes
}

/// By the names of `ingest::event::PlayerStat`.
type Counters = BTreeMap<Arc<str>, u32>;

impl PlayerStats {
    pub(in crate::api) fn of(it: &Appearance) -> Self {
        // Who is counted to have none has 0; of whom nobody counts it, nothing is known.
        let known = |name: &str, sum: u32| (sum > 0 || it.stats.contains_key(name)).then_some(sum);
        Self {
            id: it.id(),
            player_id: it.player,
            event_id: it.match_id,
            team_id: Some(it.team),
            goals: known("goals", it.goals),
            goal_assist: known("goal_assist", it.assists),
            yellow_card: known("yellow_card", it.yellow),
            red_card: known("red_card", it.red),
            ..Self::of_counters(&it.stats)
        }
    }
}

impl MatchPlayerStats {
    /// Everybody who was on the pitch: the home side first, then by player.
    pub(super) fn of(record: &MatchRecord) -> Self {
        let appearances = Appearance::of_record(record);
        let mut played: Vec<_> = appearances.values().filter(|it| it.played).collect();
        played.sort_by_key(|it| record.brief.sides.is_some_and(|sides| sides[0] != it.team));
        let player_stats: Vec<_> = played.into_iter().map(PlayerStats::of).collect();
        Self { event_id: record.brief.id, count: player_stats.len(), player_stats }
    }
}
