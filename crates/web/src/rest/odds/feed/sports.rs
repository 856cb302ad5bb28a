//! `/odds/api/sports/`.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    clock::now,
    rest::{Api, ApiRequest, ApiResult, CacheControl, Page, Spec, view::View},
};
use history::query::MatchQuery;
use record::Status;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SportRow {
    /// As `sport` takes it.
    sport: &'static str,
    name: &'static str,
    /// Matches in play.
    live: usize,
    /// Matches that have not begun.
    upcoming: usize,
}

impl SportRow {
    fn new(api: &Api, sport: Sport) -> Self {
        let filter = MatchQuery {
            statuses: Some(Status::UPCOMING.to_vec()),
            from: Some(now()),
            ..MatchQuery::of_sport(sport)
        };
        Self {
            sport: sport.as_str(),
            name: sport.profile().title,
            live: api.history.live(sport).len(),
            upcoming: View::now(&api.history, Some(sport)).count(&filter),
        }
    }
}

const LIST: Spec = Spec { tolerated: &["tz"], ..Spec::new(&[]).paged() };

endpoints! {
    /// The sports with prices.
    "/odds/api/sports/", params(LIST), answers(Page<SportRow>), |request| sports(&request);
}

fn sports(request: &ApiRequest) -> ApiResult {
    request.page_of(CacheControl::LIST, Sport::ALL, |sport| SportRow::new(&request.api, sport))
}
