//! Line-ups as feeds report them: `lineups` of an event, and `/api/predicted-lineup/{event_id}/`, which is 404
//! before they are known. The hub does not predict line-ups.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use utoipa::ToSchema;

use super::request::NONE;
use crate::rest::{
    ApiError, ApiRequest, ApiResult, CacheControl, football::short_name, odds::football_record,
};
use history::query::Appearance;
use record::{EntityRef, FootballRecord, Key, LineUpPlayerRecord, LineUpRecord, MatchRecord};

/// `lineups` of an event.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = V1EventLineUps)]
pub(super) struct EventLineUps {
    /// Always true: only those that a feed has reported are there.
    confirmed: bool,
    /// `null` while only the other side's is known.
    home: Option<EventLineUp>,
    away: Option<EventLineUp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = V1EventLineUp)]
struct EventLineUp {
    formation: Option<String>,
    players: Vec<EventPlayer>,
    substitutes: Vec<EventPlayer>,
}

/// A player in a line-up, and what the player has done in the match.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = V1EventPlayer)]
struct EventPlayer {
    name: String,
    player_id: u64,
    /// An id of the feed, which is not public.
    api_id: Option<u64>,
    /// `G`, `D`, `M`, `F` or nothing.
    position: String,
    /// `GK` or nothing: what feeds report of others is no finer than `position`.
    specific_position: &'static str,
    positions_detailed: Vec<String>,
    jersey_number: Option<String>,
    /// Without own goals.
    goals: u32,
    yellow_card: bool,
    red_card: bool,
    rating: Option<f64>,
    /// The minutes in which the player came on and went off.
    sub_in: Option<u16>,
    sub_out: Option<u16>,
    replaces_player_id: Option<u64>,
    replaced_by_player_id: Option<u64>,
}

/// A substitution of a player: its minute, and the other player.
type Swap = (u16, Option<Key>);

/// What happened to the players of a match.
struct Players {
    appearances: BTreeMap<Key, Appearance>,
    came_on: HashMap<Key, Swap>,
    went_off: HashMap<Key, Swap>,
}

impl EventLineUps {
    /// `None` before they are known.
    pub(super) fn new(record: &MatchRecord) -> Option<Self> {
        let football = record.play.football()?;
        let players = Players::new(record, football);
        let [home, away] = football
            .line_ups
            .each_ref()
            .map(|line_up| line_up.as_ref().map(|line_up| EventLineUp::new(line_up, &players)));
        (home.is_some() || away.is_some()).then_some(Self { confirmed: true, home, away })
    }
}

impl Players {
    fn new(record: &MatchRecord, football: &FootballRecord) -> Self {
        let appearances = Appearance::of_record(record);
        let (mut came_on, mut went_off) = (HashMap::new(), HashMap::new());
        let standing = football.incidents.iter().filter(|it| it.retracted.is_none());
        for incident in standing.filter(|it| &*it.kind == "substitution") {
            let [off, on] =
                [&incident.player, &incident.assist].map(|it| it.as_ref().map(|it| it.id));
            if let Some(player) = on {
                came_on.insert(player, (incident.minute, off));
            }
            if let Some(player) = off {
                went_off.insert(player, (incident.minute, on));
            }
        }
        Self { appearances, came_on, went_off }
    }
}

impl EventLineUp {
    fn new(line_up: &LineUpRecord, players: &Players) -> Self {
        let listed = |starter: bool| {
            let listed = line_up.players.iter().filter(move |it| it.starter == starter);
            listed.map(|it| EventPlayer::new(it, players)).collect()
        };
        Self {
            formation: line_up.formation.as_ref().map(|it| it.to_string()),
            players: listed(true),
            substitutes: listed(false),
        }
    }
}

impl EventPlayer {
    fn new(listed: &LineUpPlayerRecord, players: &Players) -> Self {
        let id = listed.player.id;
        let appearance = players.appearances.get(&id);
        let count = |count: fn(&Appearance) -> u32| appearance.map(count).unwrap_or_default();
        let rating = appearance.and_then(|it| it.stats.get("rating"));
        let (on, off) = (players.came_on.get(&id), players.went_off.get(&id));
        let position = listed.position.as_deref().unwrap_or_default();
        Self {
            name: listed.player.name.to_string(),
            player_id: id,
            api_id: None,
            position: position.to_owned(),
            specific_position: if position == "G" { "GK" } else { "" },
            positions_detailed: Vec::new(),
            jersey_number: listed.number.map(|number| number.to_string()),
            goals: count(|it| it.goals),
            yellow_card: count(|it| it.yellow) > 0,
            red_card: count(|it| it.red) > 0,
            rating: rating.map(|hundredths| f64::from(*hundredths) / 100.0),
            sub_in: on.map(|(minute, _)| *minute),
            sub_out: off.map(|(minute, _)| *minute),
            replaces_player_id: on.and_then(|(_, other)| *other),
            replaced_by_player_id: off.and_then(|(_, other)| *other),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = V1LineUps)]
pub(super) struct LineUps {
    event_id: u64,
    /// Always `confirmed`.
    lineup_status: &'static str,
    lineups: SideLineUps,
}

#[derive(Debug, Serialize, ToSchema)]
struct SideLineUps {
    home: Option<LineUp>,
    away: Option<LineUp>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = V1LineUp)]
struct LineUp {
    team_id: Option<u64>,
    team_name: Option<String>,
    formation: Option<String>,
    players: Vec<LineUpPlayer>,
    substitutes: Vec<LineUpPlayer>,
}

#[derive(Debug, Serialize, ToSchema)]
struct LineUpPlayer {
    id: u64,
    name: String,
    short_name: String,
    /// `G`, `D`, `M`, `F` or nothing.
    position: String,
    jersey_number: Option<u16>,
    captain: bool,
}

impl LineUp {
    fn new(line_up: &LineUpRecord, team: Option<&EntityRef>) -> Self {
        let listed_players = |starter: bool| {
            let players = line_up.players.iter().filter(move |it| it.starter == starter);
            players.map(LineUpPlayer::new).collect()
        };
        Self {
            team_id: team.map(|team| team.id),
            team_name: team.map(|team| team.name.to_string()),
            formation: line_up.formation.as_ref().map(|it| it.to_string()),
            players: listed_players(true),
            substitutes: listed_players(false),
        }
    }
}

impl LineUpPlayer {
    fn new(record: &LineUpPlayerRecord) -> Self {
        Self {
            id: record.player.id,
            name: record.player.name.to_string(),
            short_name: short_name(&record.player.name),
            position: record.position.as_deref().unwrap_or_default().to_owned(),
            jersey_number: record.number,
            captain: record.captain,
        }
    }
}

endpoints! {
    /// The line-ups of an event, once they are known.
    "/api/predicted-lineup/{event_id}/", params(NONE), answers(LineUps),
        or(status = 404, description = "No such event, or its line-ups are not known"),
        |request| line_ups(&request).await;
}

async fn line_ups(request: &ApiRequest) -> ApiResult {
    let record = football_record(&request.api, request.key("event_id")?).await?;
    let football = record.play.football().ok_or(ApiError::NotFound)?;
    let side = |index: usize| {
        let team = record.names.sides.as_ref().map(|sides| &sides[index]);
        football.line_ups[index].as_ref().map(|line_up| LineUp::new(line_up, team))
    };
    let lineups = SideLineUps { home: side(0), away: side(1) };
    if lineups.home.is_none() && lineups.away.is_none() {
        return Err(ApiError::NotFound);
    }
    let answer = LineUps { event_id: record.summary.id, lineup_status: "confirmed", lineups };
    request.answer(CacheControl::LIST, &answer)
}
