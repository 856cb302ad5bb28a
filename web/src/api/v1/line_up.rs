//! `/api/predicted-lineup/{event_id}/`: the line-ups from feeds, or 404 before they are known. The hub does
//! not predict line-ups.

use serde::Serialize;
use utoipa::ToSchema;

use super::request::NONE;
use crate::api::{ApiError, ApiRequest, ApiResult, CacheControl, odds::football_record};
use record::{EntityRef, LineUpPlayerRecord, LineUpRecord};

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
    fn of(line_up: &LineUpRecord, team: Option<&EntityRef>) -> Self {
        let of = |starter: bool| {
            let players = line_up.players.iter().filter(move |it| it.starter == starter);
            players.map(LineUpPlayer::of).collect()
        };
        Self {
            team_id: team.map(|team| team.id),
            team_name: team.map(|team| team.name.to_string()),
            formation: line_up.formation.as_ref().map(|it| it.to_string()),
            players: of(true),
            substitutes: of(false),
        }
    }
}

impl LineUpPlayer {
    fn of(record: &LineUpPlayerRecord) -> Self {
        Self {
            id: record.player.id,
            name: record.player.name.to_string(),
            short_name: record.player.name.to_string(),
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
    let side = |place: usize| {
        let team = record.names.sides.as_ref().map(|sides| &sides[place]);
        football.line_ups[place].as_ref().map(|line_up| LineUp::of(line_up, team))
    };
    let lineups = SideLineUps { home: side(0), away: side(1) };
    if lineups.home.is_none() && lineups.away.is_none() {
        return Err(ApiError::NotFound);
    }
    let answer = LineUps { event_id: record.brief.id, lineup_status: "confirmed", lineups };
    request.answer(CacheControl::LIST, &answer)
}
