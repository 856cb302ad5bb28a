//! `/odds/api/events/`.

use serde::Serialize;
use utoipa::ToSchema;

use crate::rest::{
    Api, ApiError, ApiRequest, ApiResult, CacheControl, Page, Params, Spec,
    match_filter::MatchParams, time,
};
use history::query::{EntityKind, MatchQuery, regulation};
use record::{Key, MatchRecord, MatchSummary, Vocabulary};

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
    /// As the sport's own interface has it: in football without extra time.
    home_score: Option<u32>,
    away_score: Option<u32>,
}

impl OddsEvent {
    fn new(
        summary: &MatchSummary,
        league: Option<String>,
        [home, away]: [Option<String>; 2],
    ) -> Self {
        let score = regulation(summary);
        Self {
            event_id: summary.id,
            sport: summary.sport.as_str(),
            league_id: summary.competition,
            league_name: league,
            home_team_id: summary.sides.map(|sides| sides[0]),
            home_team: home,
            away_team_id: summary.sides.map(|sides| sides[1]),
            away_team: away,
            event_date: summary.start_text(time::zulu),
            status: summary.status.word(Vocabulary::Football),
            home_score: score.map(|score| score[0]),
            away_score: score.map(|score| score[1]),
        }
    }

    pub(super) fn from_record(record: &MatchRecord) -> Self {
        let names = &record.names;
        let league = names.competition.as_ref().map(|it| it.name.to_string());
        let side = |index: usize| names.sides.as_ref().map(|sides| sides[index].name.to_string());
        Self::new(&record.summary, league, [side(0), side(1)])
    }

    fn from_summary(api: &Api, summary: &MatchSummary) -> Self {
        let sides =
            if summary.sport.is_of_players() { EntityKind::Player } else { EntityKind::Team };
        let name = |kind, id: Option<Key>| {
            api.history.entity(kind, id?).map(|entity| entity.name.to_string())
        };
        let league = name(EntityKind::Competition, summary.competition);
        let side = |index: usize| name(sides, summary.sides.map(|sides| sides[index]));
        Self::new(summary, league, [side(0), side(1)])
    }
}

params! {
    /// Which matches are requested.
    pub(super) struct EventParams for MatchParams {
        sport: AnySport = "A sport. The OpenAPI document lists them",
        #[alias("league")] league_id: Ids = "One or more",
        #[alias("team")] team_id: Ids = "One or more teams or players, on either side",
        date_from: Begin = "A day or a timestamp",
        date_to: End = "A day (inclusive) or a timestamp",
        status: Text = "notstarted, inprogress, finished, ..; separate several with commas",
    }
}

/// The requested matches.
pub(super) fn filter(params: &Params) -> Result<MatchQuery, ApiError> {
    let filters = EventParams::read(params)?;
    let statuses = params.statuses(filters.status.as_deref(), Vocabulary::Football);
    Ok(MatchQuery { statuses, ..filters.query(params, filters.sport) })
}

const LIST: Spec = Spec {
    aliases: &[("page_size", "limit")],
    tolerated: &["tz", "ordering"],
    ..Spec::new(&[EventParams::PARAMS]).paged()
};

endpoints! {
    /// Matches of all sports, by their start.
    "/odds/api/events/", params(LIST), answers(Page<OddsEvent>), |request| events(&request);
}

fn events(request: &ApiRequest) -> ApiResult {
    let query = MatchQuery { window: request.window, ..filter(&request.params)? };
    let found = request.api.history.find(&query);
    let rows = found.summaries.iter().map(|it| OddsEvent::from_summary(&request.api, it)).collect();
    request.page(CacheControl::LIST, found.count, rows)
}
