//! `/tennis/api/v2/players/`.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        lists,
        request::{self, NONE, SearchParams},
        shape,
        sport_stats::SportStats,
    },
    row::{self, CurrentRanking},
};
use crate::rest::{Api, ApiRequest, ApiResult, CacheControl, Page, Spec};
use history::query::{Entity, EntityKind, MatchQuery, Window};
use record::Key;

/// What no feed provides of players is null.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TennisPlayer {
    pub(super) id: Key,
    pub(super) name: String,
    pub(super) short_name: Option<String>,
    /// By the circuit of the last tournament with a result, else of the last match that is known:
    /// `M`, `F`.
    pub(super) gender: Option<&'static str>,
    pub(super) country_code: Option<String>,
    pub(super) country_name: String,
    date_of_birth: Option<String>,
    height: Option<u32>,
    weight: Option<u32>,
    plays: Option<String>,
    turned_pro: Option<u32>,
    birthplace: Option<String>,
    residence: Option<String>,
    prize_current_usd: Option<u64>,
    prize_total_usd: Option<u64>,
    /// Calculated from stored results.
    current_ranking: Option<CurrentRanking>,
}

params! {
    struct ListParams {
        gender: Gender = "`M` or `F`.",
        country: Country = "Country code (ISO 3166-1 alpha-2).",
    }
}

const LIST: Spec = request::spec(&[ListParams::PARAMS, SearchParams::PARAMS]).paged();

endpoints! {
    /// Players, by name.
    "/tennis/api/v2/players/", params(LIST), answers(Page<TennisPlayer>),
        |request| list(&request).await;

    /// One player.
    "/tennis/api/v2/players/{id}/", params(NONE), answers(TennisPlayer), |request| {
            lists::side(&request, Sport::Tennis, |player, sport_stats| {
                TennisPlayer::new(&request.api, player, sport_stats)
            })
            .await
        };
}

async fn list(request: &ApiRequest) -> ApiResult {
    let ListParams { gender, country } = ListParams::read(&request.params)?;
    let SearchParams { search } = SearchParams::read(&request.params)?;
    let sport_stats = request.sport_stats(Sport::Tennis).await?;
    let players = request.api.history.entities(EntityKind::Player, |player| {
        player.sport == Sport::Tennis
            && search.is_in(&player.name)
            && country.passes(player.country.as_deref())
    });
    let players: Vec<_> = players
        .into_iter()
        .filter(|player| {
            gender.is_none() || self::gender(&request.api, player.id, &sport_stats) == gender
        })
        .collect();
    request.page_of(CacheControl::REFERENCE, &players, |player| {
        TennisPlayer::new(&request.api, player, &sport_stats)
    })
}

impl TennisPlayer {
    pub(super) fn new(api: &Api, player: &Entity, sport_stats: &SportStats) -> Self {
        Self {
            id: player.id,
            name: player.name.to_string(),
            short_name: None,
            gender: gender(api, player.id, sport_stats),
            country_code: shape::country_code(player.country.as_ref()),
            country_name: shape::country_name(player.country.as_ref()),
            date_of_birth: None,
            height: None,
            weight: None,
            plays: None,
            turned_pro: None,
            birthplace: None,
            residence: None,
            prize_current_usd: None,
            prize_total_usd: None,
            current_ranking: CurrentRanking::new(player.id, sport_stats),
        }
    }
}

fn gender(api: &Api, player: Key, sport_stats: &SportStats) -> Option<&'static str> {
    if let Some(circuit) = sport_stats.circuit(player) {
        return row::gender(Some(circuit));
    }
    let played = sport_stats.table.get(player).and_then(|row| row.competition);
    let tournament = played.or_else(|| entered(api, player))?;
    let tournament = api.history.entity(EntityKind::Competition, tournament)?;
    let category = tournament.about.get("category").and_then(|it| it.as_str());
    row::gender(row::circuit(&tournament.name, category))
}

/// The tournament of the player's last known match, played or not.
fn entered(api: &Api, player: Key) -> Option<Key> {
    let last = api.history.find(&MatchQuery {
        team: Some(player),
        newest_first: true,
        window: Window::FIRST,
        ..MatchQuery::of_sport(Sport::Tennis)
    });
    last.summaries.first()?.competition
}
