//! What a player did in a match: rows of `events/{id}/player-stats/` and `players/{id}/stats/`.

use std::{collections::BTreeMap, sync::Arc};

use ingest::event::Id;
use serde::Serialize;
use utoipa::ToSchema;

use super::event::football;
use crate::record::{FootballRecord, Key, MatchRecord};

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
        pub(super) struct PlayerStats {
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
pub(super) type Counters = BTreeMap<Arc<str>, u32>;

impl PlayerStats {
    pub(super) fn of(event: Key, player: Key, team: Option<Key>, values: &Counters) -> Self {
        let id = Id::derive("matchwire", "appearance", &format!("{event}|{player}")).0;
        Self { id, player_id: player, event_id: event, team_id: team, ..Self::of_counters(values) }
    }
}

impl MatchPlayerStats {
    /// Everybody of whom something was counted, and everybody who started.
    pub(super) fn of(record: &MatchRecord) -> Self {
        let rows = football(record).map(|football| rows(record, football)).unwrap_or_default();
        Self { event_id: record.brief.id, count: rows.len(), player_stats: rows }
    }
}

fn rows(record: &MatchRecord, football: &FootballRecord) -> Vec<PlayerStats> {
    let team = |side: usize| Some(record.brief.sides?[side]);
    // By side, then in the order in which line-ups and counters name them.
    let mut rows: Vec<(usize, Key, Counters)> = Vec::new();
    for (side, line_up) in football.line_ups.iter().enumerate() {
        let starters = line_up.iter().flat_map(|it| &it.players).filter(|it| it.starter);
        rows.extend(starters.map(|it| (side, it.player.id, Counters::new())));
    }
    for tally in &football.players {
        match rows.iter_mut().find(|(_, player, _)| *player == tally.player.id) {
            Some((_, _, values)) => values.clone_from(&tally.values),
            None => rows.push((usize::from(tally.side), tally.player.id, tally.values.clone())),
        }
    }
    from_incidents(football, &mut rows);
    rows.sort_by_key(|(side, ..)| *side);
    let row = |(side, player, values): &(usize, Key, Counters)| {
        PlayerStats::of(record.brief.id, *player, team(*side), values)
    };
    rows.iter().map(row).collect()
}

/// Where nobody counts goals and cards by player, incidents that name players do.
fn from_incidents(football: &FootballRecord, rows: &mut Vec<(usize, Key, Counters)>) {
    let is_counted = |name: &str| football.players.iter().any(|it| it.values.contains_key(name));
    let standing = football.incidents.iter().filter(|it| it.retracted.is_none());
    for it in standing {
        // The scorer of an own goal has not scored for the side.
        let counts: &[_] = match (&*it.kind, it.detail.as_deref()) {
            ("goal", Some("own_goal")) => &[],
            ("goal", _) => &[("goals", &it.player), ("goal_assist", &it.assist)],
            ("yellow", _) => &[("yellow_card", &it.player)],
            ("red" | "second_yellow", _) => &[("red_card", &it.player)],
            _ => &[],
        };
        for (name, player) in counts {
            let (Some(player), Some(side), false) = (player, it.side, is_counted(name)) else {
                continue;
            };
            let place = rows.iter().position(|(_, own, _)| *own == player.id);
            let place = place.unwrap_or_else(|| {
                rows.push((usize::from(side), player.id, Counters::new()));
                rows.len() - 1
            });
            *rows[place].2.entry((*name).into()).or_default() += 1;
        }
    }
}
