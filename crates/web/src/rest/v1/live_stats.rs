//! `live_stats` of an event: the counters of version 2 and the sums of players, under the names of SERVICE section 9.

use facts::event::ShotOutcome;
use serde::Serialize;
use utoipa::ToSchema;

use crate::rest::football::{
    player_sums::PlayerSums,
    stats::{Counters, Half, Parts, percent},
};
use record::{FootballRecord, MatchRecord, ShotRecord};

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = V1LiveStats)]
pub(super) struct LiveStats {
    home: SideStats,
    away: SideStats,
    /// Absent unless a feed counts the half by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_half: Option<HalfStats>,
    #[serde(skip_serializing_if = "Option::is_none")]
    second_half: Option<HalfStats>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = V1HalfStats)]
struct HalfStats {
    home: SideStats,
    away: SideStats,
}

/// What one side did; `null` is what no feed counts. A half has no sums of players.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = V1SideStats)]
struct SideStats {
    /// In percent, as `tackles_won` and `duels`.
    ball_possession: Option<u32>,
    total_shots: Option<u32>,
    shots_on_target: Option<u32>,
    shots_off_target: Option<u32>,
    blocked_shots: Option<u32>,
    shots_inside_box: Option<u32>,
    shots_outside_box: Option<u32>,
    hit_woodwork: Option<u32>,
    big_chances: Option<u32>,
    big_chances_scored: Option<u32>,
    big_chances_missed: Option<u32>,
    corner_kicks: Option<u32>,
    free_kicks: Option<u32>,
    goal_kicks: Option<u32>,
    throw_ins: Option<u32>,
    offsides: Option<u32>,
    fouls: Option<u32>,
    yellow_cards: Option<u32>,
    red_cards: Option<u32>,
    passes: Option<u32>,
    accurate_passes: Option<u32>,
    through_balls: Option<u32>,
    /// The same as `total_tackles`.
    tackles: Option<u32>,
    total_tackles: Option<u32>,
    tackles_won: Option<u32>,
    interceptions: Option<u32>,
    clearances: Option<u32>,
    recoveries: Option<u32>,
    dispossessed: Option<u32>,
    /// The side's share of all duels that were won.
    duels: Option<u32>,
    total_saves: Option<u32>,
    goalkeeper_saves: Option<u32>,
    big_saves: Option<u32>,
    punches: Option<u32>,
    high_claims: Option<u32>,
    touches_in_penalty_area: Option<u32>,
    fouled_in_final_third: Option<u32>,
    final_third_entries: Option<u32>,
    errors_lead_to_a_goal: Option<u32>,
    expected_goals: Option<f64>,
    goals_prevented: Option<f64>,
    /// `2/7 (29%)`: made, tried, and the share, as all texts.
    crosses: Option<String>,
    dribbles: Option<String>,
    long_balls: Option<String>,
    aerial_duels: Option<String>,
    ground_duels: Option<String>,
    final_third_phase: Option<String>,
}

impl LiveStats {
    /// `None` before anything was counted.
    pub(super) fn new(record: &MatchRecord) -> Option<Self> {
        let football = record.play.football()?;
        let parts = Parts::new(record);
        let expected = record.summary.expected_goals;
        let nothing = Counters::default();
        if parts.home == nothing && parts.away == nothing && expected.is_none() {
            return None;
        }
        let [home, away] = &PlayerSums::both(football);
        let woodwork = woodwork(football);
        let half = |index: usize, half: &Half| {
            // Shots alone do not make one: they are there while the half is played.
            let counts = &football.analysis.as_ref()?.halves[index];
            counts.iter().any(|side| !side.is_empty()).then(|| HalfStats::new(half))
        };
        let whole = |side: usize, counters: &Counters, sums, other| SideStats {
            hit_woodwork: woodwork.map(|hits| hits[side]),
            // Also known where the record lacks its shots, as in lists.
            expected_goals: counters
                .expected_goals
                .or_else(|| expected.map(|both| both[side].goals())),
            ..SideStats::new(counters).with_players(sums, other)
        };
        Some(Self {
            home: whole(0, &parts.home, home, away),
            away: whole(1, &parts.away, away, home),
            first_half: half(0, &parts.first_half),
            second_half: half(1, &parts.second_half),
        })
    }
}

/// Shots of each side at the frame of the goal; `None` where shots are not known one by one.
fn woodwork(football: &FootballRecord) -> Option<[u32; 2]> {
    let shots = &football.analysis.as_ref()?.shots;
    let hits = |side: u8| {
        let is_hit = |shot: &&ShotRecord| shot.side == side && shot.outcome == ShotOutcome::Post;
        u32::try_from(shots.iter().filter(is_hit).count()).ok()
    };
    if shots.is_empty() { None } else { Some([hits(0)?, hits(1)?]) }
}

impl HalfStats {
    fn new(half: &Half) -> Self {
        Self { home: SideStats::new(&half.home), away: SideStats::new(&half.away) }
    }
}

impl SideStats {
    fn new(counters: &Counters) -> Self {
        Self {
            ball_possession: counters.ball_possession,
            total_shots: counters.total_shots,
            shots_on_target: counters.shots_on_target,
            shots_off_target: counters.shots_off_target,
            blocked_shots: counters.blocked_shots,
            shots_inside_box: counters.shots_inside_box,
            shots_outside_box: counters.shots_outside_box,
            corner_kicks: counters.corner_kicks,
            free_kicks: counters.free_kicks,
            goal_kicks: counters.goal_kicks,
            throw_ins: counters.throw_ins,
            offsides: counters.offsides,
            fouls: counters.fouls,
            yellow_cards: counters.yellow_cards,
            red_cards: counters.red_cards,
            passes: counters.passes,
            accurate_passes: counters.accurate_passes,
            total_saves: counters.total_saves,
            goalkeeper_saves: counters.goalkeeper_saves,
            expected_goals: counters.expected_goals,
            ..Self::default()
        }
    }

    /// Adds what feeds count of players only, as sums of this side and of the other.
    fn with_players(self, sums: &PlayerSums<'_>, other: &PlayerSums<'_>) -> Self {
        let tackles = sums.get("total_tackle");
        let [duels, others_duels] = [sums, other].map(|side| side.get("duel_won"));
        let [aerials, others_aerials] = [sums, other].map(|side| side.get("aerial_won"));
        let ground = |duels: Option<u32>, aerials: Option<u32>| duels?.checked_sub(aerials?);
        let [grounds, others_grounds] =
            [ground(duels, aerials), ground(others_duels, others_aerials)];
        // What one side does not win, the other does.
        let won = |won: Option<u32>, lost: Option<u32>| Some((won?, won?.saturating_add(lost?)));
        let made = |made: &str, tried: &str| Some((sums.get(made)?, sums.get(tried)?));
        let share = |(made, tried): (u32, u32)| percent(made, tried);
        Self {
            tackles,
            total_tackles: tackles,
            tackles_won: made("won_tackle", "total_tackle").and_then(share),
            interceptions: sums.get("interception"),
            clearances: sums.get("total_clearance"),
            recoveries: sums.get("ball_recovery"),
            dispossessed: sums.get("dispossessed"),
            duels: won(duels, others_duels).and_then(share),
            crosses: made("accurate_cross", "total_cross").map(ratio),
            dribbles: made("won_contest", "total_contest").map(ratio),
            long_balls: made("accurate_long_balls", "total_long_balls").map(ratio),
            aerial_duels: won(aerials, others_aerials).map(ratio),
            ground_duels: won(grounds, others_grounds).map(ratio),
            ..self
        }
    }
}

fn ratio((made, tried): (u32, u32)) -> String {
    format!("{made}/{tried} ({}%)", percent(made, tried).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use facts::{
        event::{ExpectedGoals, Stat},
        football::Period,
    };
    use record::{AnalysisRecord, MatchSummary, PlayerRecord, testing};

    #[test]
    fn duels_of_a_side_are_those_that_it_won_of_all() {
        let player = |id, side, values: &[(&str, u32)]| PlayerRecord {
            player: testing::named(id),
            side,
            values: values.iter().map(|(name, count)| ((*name).into(), *count)).collect(),
        };
        let players = vec![
            player(101, 0, &[("duel_won", 5), ("aerial_won", 1), ("total_tackle", 3)]),
            player(102, 0, &[("duel_won", 3), ("won_tackle", 2)]),
            player(201, 1, &[("duel_won", 4), ("aerial_won", 2), ("accurate_cross", 1)]),
            player(202, 1, &[("total_cross", 4)]),
        ];
        let stats = [[("fouls".into(), 2)].into(), [].into()];
        let football = FootballRecord { players, stats, ..testing::football() };
        let stats = LiveStats::new(&testing::record(testing::MATCH, football)).expect("counters");
        let json = serde_json::to_value(&stats).expect("it is JSON");
        let values = |side: &str| {
            ["duels", "aerial_duels", "ground_duels", "tackles", "tackles_won", "crosses", "fouls"]
                .map(|name| json[side][name].clone())
        };
        let home = json!([67, "1/3 (33%)", "7/9 (78%)", 3, 67, "0/0 (0%)", 2]);
        let away = json!([33, "2/3 (67%)", "2/9 (22%)", 0, Value::Null, "1/4 (25%)", 0]);
        assert_eq!((json!(values("home")), json!(values("away"))), (home, away), "{json}");
        assert!(json["home"]["long_balls"].is_null() && json.get("first_half").is_none(), "{json}");
    }

    #[test]
    fn half_is_there_once_it_is_counted_and_expected_goals_are_exact() {
        let shot = |period, side| ShotRecord {
            eid: format!("shot {side}").into(),
            side,
            player: None,
            period,
            minute: 50,
            added: None,
            outcome: ShotOutcome::Saved,
            situation: None,
            body_part: None,
            expected_goals: Some(ExpectedGoals(12_345)),
            expected_on_target: None,
            location: Some([900, 500]),
            goal_mouth: None,
        };
        let analysis = AnalysisRecord {
            shots: vec![shot(Period::FirstHalf, 0), shot(Period::SecondHalf, 1)],
            halves: [[[(Stat::Fouls, 2)].into(), [].into()], [[].into(), [].into()]],
            ..AnalysisRecord::default()
        };
        let football = FootballRecord { analysis: Some(Box::new(analysis)), ..testing::football() };
        let record = testing::record(testing::MATCH, football);
        let stats = LiveStats::new(&record).expect("counters");
        assert!(stats.first_half.is_some_and(|half| half.away.fouls == Some(0)));
        assert_eq!(stats.second_half, None, "its shots alone are known");
        assert_eq!(stats.home.expected_goals, Some(0.12345));
        // A list has no shots, but their sum.
        let summary = MatchSummary {
            expected_goals: Some([ExpectedGoals(12_345); 2]),
            ..MatchSummary::clone(&record.summary)
        };
        let row = testing::record(testing::MATCH, testing::football());
        let row = LiveStats::new(&MatchRecord { summary: summary.into(), ..row });
        assert_eq!(row.expect("expected goals").home.expected_goals, Some(0.12345));
    }

    #[test]
    fn nothing_is_counted_before_the_kick_off() {
        assert_eq!(LiveStats::new(&testing::record(testing::MATCH, testing::football())), None);
    }
}
