//! `/api/v2/events/live/` and `/api/v2/events/{id}/`, from memory.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, Request, State},
    response::Response,
};
use fanout::Micros;
use hyper::header::{HeaderName, HeaderValue};
use ingest::event::Sport;
use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::{
    event::{Event, LiveEvent},
    matches::Matches,
    request::{self, key},
    shown::{MadeOf, Shown},
};
use crate::{
    api::{Api, ApiError, ErrorBody, Kept, Params, Spec, UnknownParametersBody, answer::Prepared},
    archive::{Filter, Window},
    record::{Key, MatchRecord, MatchSummary, Status},
};

/// Where the channel of the match stood when the answer was made, as `EPOCH:SEQ`.
const POSITION: HeaderName = HeaderName::from_static("x-matchwire-seq");

/// How long before its kick-off a match is listed, in microseconds.
const AHEAD_US: Micros = 5 * MINUTE_US;
/// For how long a match stays listed that should have kicked off and has not.
const LATE_US: Micros = 60 * MINUTE_US;
/// For how long a match stays listed after its end.
const OVER_US: Micros = 10 * MINUTE_US;
/// No match takes longer than this from its kick-off to its end.
const LENGTH_US_MAX: Micros = 6 * 60 * MINUTE_US;

const MINUTE_US: Micros = 60 * 1_000_000;

const LIVE: Spec = request::spec(&["league_id", "limit", "offset", "season_id", "team_id"]);

/// SERVICE section 1.2: no envelope of pages.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Live {
    /// Matches that the filters let through, on whichever page.
    count: usize,
    events: Vec<LiveEvent>,
}

/// Which rows of the list are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wanted {
    league: Option<Key>,
    season: Option<Key>,
    team: Option<Key>,
    window: Window,
}

impl Wanted {
    const ALL: Self = Self { league: None, season: None, team: None, window: Window::ALL };

    fn read(params: &Params) -> Result<Self, ApiError> {
        let is_page = ["limit", "offset"].iter().any(|name| params.text(name).is_some());
        let window = params.window()?;
        Ok(Self {
            league: params.id("league_id")?,
            season: params.id("season_id")?,
            team: params.id("team_id")?,
            window: if is_page { window } else { Window::ALL },
        })
    }

    fn lets_through(&self, brief: &MatchSummary) -> bool {
        let is = |wanted: Option<Key>, own| wanted.is_none() || wanted == own;
        let plays = |team| brief.sides.is_some_and(|sides| sides.contains(&team));
        is(self.league, brief.competition)
            && is(self.season, brief.season)
            && self.team.is_none_or(plays)
    }
}

/// Matches in play, those that kick off within five minutes, and those that ended less than ten minutes
/// ago: in this order, and each of them the earliest first.
#[utoipa::path(
    get,
    path = "/api/v2/events/live/",
    tag = "football v2",
    params(
        ("league_id" = Option<u64>, Query, description = "Filter by league; also `league`"),
        ("season_id" = Option<u64>, Query, description = "Filter by season; also `season`"),
        ("team_id" = Option<u64>, Query, description = "Team, home or away; also `team`"),
        ("limit" = Option<usize>, Query, description = "Page size (max 200); without `limit` and `offset`, all rows"),
        ("offset" = Option<usize>, Query, description = "Number of rows to skip"),
    ),
    responses(
        (status = 200, body = Live, headers(("X-Cache-Status" = String, description = "HIT or MISS"))),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
    ),
)]
pub(super) async fn live(
    State(api): State<Api>,
    Extension(shown): Extension<Shown>,
    request: Request,
) -> Result<Response, ApiError> {
    let params = Params::read(request.uri().query(), LIVE)?;
    let wanted = Wanted::read(&params)?;
    if wanted != Wanted::ALL {
        return Kept::LIVE.answer(request.headers(), &listed(&api, &wanted));
    }
    let reader = api.reader.clone();
    let make = move || Prepared::json(&listed(&api, &wanted));
    let served = shown.live(|| reader.version(), make).await?;
    Ok(served.answer(Kept::LIVE, request.headers()))
}

fn listed(api: &Api, wanted: &Wanted) -> Live {
    let matches = Matches::now(api);
    let fresh = matches.all_fresh().filter(|record| wanted.lets_through(&record.brief));
    let fresh = fresh.filter(|record| rank(&record.brief, matches.now).is_some());
    let mut briefs: Vec<_> = fresh.map(|record| Arc::clone(&record.brief)).collect();
    // The hub may know a match no longer that has just ended, above all after a restart.
    let ended = Filter {
        from: Some(matches.now - LENGTH_US_MAX),
        before: Some(matches.now),
        competition: wanted.league,
        statuses: Some(Status::RESULTS.to_vec()),
        ..request::football()
    };
    let also = |brief: &MatchSummary| {
        matches.fresh(brief.id).is_none()
            && wanted.lets_through(brief)
            && rank(brief, matches.now).is_some()
    };
    briefs.extend(matches.find_with(&ended, Window::ALL, Some(&also)).briefs);
    briefs.sort_by_key(|brief| (rank(brief, matches.now), brief.start, brief.id));
    let count = briefs.len();
    let Window { offset, limit } = wanted.window;
    let briefs: Vec<_> = briefs.into_iter().skip(offset).take(limit).collect();
    let rows = matches.rows(&briefs).into_iter().zip(&briefs);
    let events = rows.map(|(event, brief)| LiveEvent::of(&matches, brief, event));
    Live { count, events: events.collect() }
}

/// Where a match stands in the list: in play, about to kick off, just over; `None` if not at all.
fn rank(brief: &MatchSummary, now: Micros) -> Option<u8> {
    let starts_now = || {
        brief
            .start
            .is_some_and(|start| start <= now + AHEAD_US && now.saturating_sub(start) < LATE_US)
    };
    let just_ended =
        || brief.ended.is_some_and(|ended| now.saturating_sub(ended).saturating_abs() < OVER_US);
    match brief.status {
        Status::NotStarted | Status::AtThePost => starts_now().then_some(1),
        Status::Finished | Status::Retired | Status::Walkover => just_ended().then_some(2),
        status => status.is_live().then_some(0),
    }
}

/// A match.
#[utoipa::path(
    get,
    path = "/api/v2/events/{id}/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The match")),
    responses(
        (status = 200, body = Event, headers(
            ("X-Cache-Status" = String, description = "HIT or MISS"),
            ("X-Matchwire-Seq" = String, description = "EPOCH:SEQ of the match's channel, while it has one"),
        )),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn detail(
    State(api): State<Api>,
    Extension(shown): Extension<Shown>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    Params::read(request.uri().query(), request::NONE)?;
    let id = key(&id)?;
    let known = match api.reader.get(id) {
        Some(record) => Known::Fresh(record),
        None => Known::Kept(api.archive.brief(id).ok_or(ApiError::NotFound)?),
    };
    let brief = known.brief();
    if brief.sport != Sport::Football {
        return Err(ApiError::NotFound);
    }
    let make = || Prepared::json(&known.event(&api));
    let served = shown.detail(id, known.made_of(), Instant::now(), make)?;
    let kept = if brief.status.is_live() { Kept::LIVE } else { Kept::LIST };
    let mut response = served.answer(kept, request.headers());
    if let Some(position) = known.position() {
        response.headers_mut().insert(POSITION, position);
    }
    Ok(response)
}

/// What there is of a match.
enum Known {
    /// As the hub knows it.
    Fresh(Arc<MatchRecord>),
    /// As it was kept.
    Kept(Arc<MatchSummary>),
}

impl Known {
    fn brief(&self) -> &MatchSummary {
        match self {
            Self::Fresh(record) => &record.brief,
            Self::Kept(brief) => brief,
        }
    }

    fn made_of(&self) -> MadeOf {
        match self {
            Self::Fresh(record) => MadeOf::Fresh(Arc::clone(record)),
            Self::Kept(brief) => MadeOf::Kept(Arc::clone(brief)),
        }
    }

    fn event(&self, api: &Api) -> Event {
        let (fresh, brief) = match self {
            Self::Fresh(record) => (Some(Arc::clone(record)), &Arc::clone(&record.brief)),
            Self::Kept(brief) => (None, brief),
        };
        Matches::with(api, fresh).row(brief)
    }

    fn position(&self) -> Option<HeaderValue> {
        match self {
            Self::Fresh(record) => position(record),
            Self::Kept(_) => None,
        }
    }
}

fn position(record: &MatchRecord) -> Option<HeaderValue> {
    let position = record.position?;
    HeaderValue::try_from(format!("{}:{}", position.epoch, position.seq)).ok()
}
