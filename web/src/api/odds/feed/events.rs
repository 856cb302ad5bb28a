//! `/odds/api/events/`.

use axum::{extract::State, http::Uri, response::Response};
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    api::{
        Api, ApiError, CacheControl, Page, PageUrl, Params, Spec, odds::status, params, time,
        view::View,
    },
    archive::{EntityKind, Filter},
    record::{Key, MatchRecord, MatchSummary},
};

/// A match, as the other shapes of the Odds API begin.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct OddsEvent {
    event_id: u64,
    sport: &'static str,
    league_id: Option<u64>,
    league_name: Option<String>,
    home_team_id: Option<u64>,
    /// Or player 1.
    home_team: Option<String>,
    away_team_id: Option<u64>,
    away_team: Option<String>,
    event_date: Option<String>,
    status: &'static str,
    home_score: Option<u32>,
    away_score: Option<u32>,
}

impl OddsEvent {
    fn new(
        brief: &MatchSummary,
        league: Option<String>,
        [home, away]: [Option<String>; 2],
    ) -> Self {
        Self {
            event_id: brief.id,
            sport: brief.sport.as_str(),
            league_id: brief.competition,
            league_name: league,
            home_team_id: brief.sides.map(|sides| sides[0]),
            home_team: home,
            away_team_id: brief.sides.map(|sides| sides[1]),
            away_team: away,
            event_date: brief.start.and_then(time::zulu),
            status: status::word(brief.status),
            home_score: brief.score.map(|score| score[0]),
            away_score: brief.score.map(|score| score[1]),
        }
    }

    pub(super) fn of(record: &MatchRecord) -> Self {
        let names = &record.names;
        let league = names.competition.as_ref().map(|it| it.name.to_string());
        let side = |place: usize| names.sides.as_ref().map(|sides| sides[place].name.to_string());
        Self::new(&record.brief, league, [side(0), side(1)])
    }

    fn of_brief(api: &Api, brief: &MatchSummary) -> Self {
        let sides = if matches!(brief.sport, Sport::Tennis | Sport::Darts) {
            EntityKind::Player
        } else {
            EntityKind::Team
        };
        let name = |kind, id: Option<Key>| {
            api.archive.entity(kind, id?).map(|entity| entity.name.to_string())
        };
        let league = name(EntityKind::Competition, brief.competition);
        let side = |place: usize| name(sides, brief.sides.map(|sides| sides[place]));
        Self::new(brief, league, [side(0), side(1)])
    }
}

/// Which matches are asked for.
pub(super) fn filter(params: &Params) -> Result<Filter, ApiError> {
    let sport = |text: &str| params::sport(&text.to_ascii_lowercase());
    Ok(Filter {
        sport: params.parsed("sport", "one of /odds/api/sports/", sport)?,
        competition: params.id("league_id")?,
        team: params.id("team_id")?,
        from: params.from("date_from")?,
        before: params.before("date_to")?,
        statuses: params.text("status").and_then(status::parse),
        ..Filter::default()
    })
}

const LIST: Spec = Spec {
    accepted: &[
        "date_from",
        "date_to",
        "league_id",
        "limit",
        "offset",
        "sport",
        "status",
        "team_id",
    ],
    aliases: &[("league", "league_id"), ("team", "team_id"), ("page_size", "limit")],
    tolerated: &["tz", "ordering"],
};

/// Matches of all sports, by their start.
#[utoipa::path(
    get, path = "/odds/api/events/", tag = "odds",
    params(
        ("sport" = Option<String>, Query, description = "football, tennis, csgo, darts, hockey, basketball, horseracing, cricket, other"),
        ("league_id" = Option<u64>, Query),
        ("team_id" = Option<u64>, Query, description = "Team or player, on either side"),
        ("date_from" = Option<String>, Query, description = "A day or a timestamp"),
        ("date_to" = Option<String>, Query, description = "A day (inclusive) or a timestamp"),
        ("status" = Option<String>, Query, description = "notstarted, inprogress, finished, ..; separate several with commas"),
        ("limit" = Option<u64>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<u64>, Query),
    ),
    responses((status = 200, body = Page<OddsEvent>), (status = 400, description = "Unknown parameter or invalid value"))
)]
pub(super) async fn events(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let params = Params::read(uri.query(), LIST)?;
    let window = params.window()?;
    let found = View::now(&api, None).find(&filter(&params)?, window);
    let rows = found.briefs.iter().map(|brief| OddsEvent::of_brief(&api, brief)).collect();
    let page_url = PageUrl { api: &api, headers: &headers, path: uri.path(), params: &params };
    CacheControl::LIST.answer(&headers, &Page::new(&page_url, window, found.count, rows))
}
