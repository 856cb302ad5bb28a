//! `/horseracing/api/v2/races/`, meetings and tracks.

use axum::extract::Path;
use ingest::event::Sport;

use super::{
    super::{
        request::{self, ApiResult, DAY, DateParams, PageParams, SportsQuery, SportsRequest},
        status,
    },
    card::Card,
    cards::CardsExtension,
    row::{MeetingRow, RaceDetail, RaceRow, TrackRow},
};
use crate::{
    api::{
        ApiError, CacheControl, Page, Spec,
        error::{ErrorBody, UnknownParametersBody},
    },
    record::{Key, Status},
};

const SPORT: Sport = Sport::HorseRacing;

const RACES: Spec = Spec {
    accepted: &["date_from", "date_to", "limit", "offset", "region", "status", "track"],
    aliases: &[
        ("page", "offset"),
        ("page_size", "limit"),
        ("state", "status"),
        ("track_id", "track"),
    ],
    tolerated: request::TOLERATED,
};

/// The default range: races of the last three days and the next seven.
pub(super) const PAST_DAYS: i64 = 3;
pub(super) const COMING_DAYS: i64 = 7;

/// The default and the maximum number of next races.
const NEXT_DEFAULT: usize = 10;
const NEXT_MAX: usize = 50;

/// How long after its scheduled time a race may still be waiting to start, in microseconds.
const LATE: i64 = 30 * 60 * 1_000_000;

/// Races by their start: of the last three days and of the next seven, unless dates are asked for.
#[utoipa::path(get, path = "/horseracing/api/v2/races/", tag = "horseracing",
    params(
        DateParams,
        ("track" = Option<u64>, Query, description = "Filter by track."),
        ("region" = Option<String>, Query, description = "Filter by country code (ISO 3166-1 alpha-2)."),
        ("status" = Option<String>, Query, description = "One or more states, separated by commas: prematch, idle, live, archived, cancelled, unresolved."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<RaceRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn list(cards: CardsExtension, request: SportsRequest) -> ApiResult {
    let query = request.read(RACES)?;
    let all = cards.all(&request.api).await?;
    let races = filter_races(&query, all.iter().map(AsRef::as_ref))?;
    query.page(CacheControl::LIST, &races, |card| RaceRow::of(card))
}

/// Races that are being run.
#[utoipa::path(get, path = "/horseracing/api/v2/races/live/", tag = "horseracing",
    params(
        ("track" = Option<u64>, Query, description = "Filter by track."),
        ("region" = Option<String>, Query, description = "Filter by country code (ISO 3166-1 alpha-2)."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<RaceRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn live(request: SportsRequest) -> ApiResult {
    let query = request.read(RACES)?;
    query.params.id("track")?;
    let live: Vec<_> =
        request.api.reader.live(SPORT).iter().filter_map(|record| Card::of(record)).collect();
    let live: Vec<_> = live.iter().filter(|card| is_at(&query, card)).collect();
    query.page(CacheControl::LIVE, &live, |card| RaceRow::of(card))
}

/// The races that start next, without an envelope.
#[utoipa::path(get, path = "/horseracing/api/v2/races/next-to-jump/", tag = "horseracing",
    params(
        ("track" = Option<u64>, Query, description = "Filter by track."),
        ("region" = Option<String>, Query, description = "Filter by country code (ISO 3166-1 alpha-2)."),
        ("limit" = Option<u64>, Query, description = "Number of rows (default 10, max 50)."),
    ),
    responses(
        (status = 200, body = Vec<RaceRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn next_to_jump(cards: CardsExtension, request: SportsRequest) -> ApiResult {
    let query = request.read(request::spec(&["limit", "region", "track"]))?;
    query.params.id("track")?;
    let all = cards.all(&request.api).await?;
    let window = query.params.window_of(NEXT_DEFAULT, NEXT_MAX)?;
    let is_next = |card: &&Card| {
        matches!(card.status, Status::NotStarted | Status::AtThePost)
            && card.start.is_some_and(|start| start > query.now - LATE)
            && is_at(&query, card)
    };
    let next = all.iter().map(AsRef::as_ref).filter(is_next).take(window.limit);
    let rows: Vec<_> = next.map(RaceRow::of).collect();
    request.answer(CacheControl::LIVE, &rows)
}

/// One race, and who runs.
#[utoipa::path(get, path = "/horseracing/api/v2/races/{id}/", tag = "horseracing",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = RaceDetail),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn detail(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    request.read(request::NONE)?;
    let record = request::record(&request.api, SPORT, &id).await?;
    let card = Card::of(&record).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::LIST, &RaceDetail::of(&card))
}

/// Meetings by day: the races of one track on one day.
#[utoipa::path(get, path = "/horseracing/api/v2/meetings/", tag = "horseracing",
    params(
        DateParams,
        ("track" = Option<u64>, Query, description = "Filter by track."),
        ("region" = Option<String>, Query, description = "Filter by country code (ISO 3166-1 alpha-2)."),
        ("status" = Option<String>, Query, description = "One or more race states, separated by commas."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<MeetingRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn meetings(cards: CardsExtension, request: SportsRequest) -> ApiResult {
    let query = request.read(RACES)?;
    let all = cards.all(&request.api).await?;
    let races = filter_races(&query, all.iter().map(AsRef::as_ref))?;
    let mut meetings: Vec<MeetingRow> = Vec::new();
    for card in races {
        let Some(new) = MeetingRow::of(card) else { continue };
        match meetings.iter_mut().rev().find(|known| known.id == new.id) {
            Some(known) => known.add(new),
            None => meetings.push(new),
        }
    }
    query.page(CacheControl::LIST, &meetings, Clone::clone)
}

/// One meeting.
#[utoipa::path(get, path = "/horseracing/api/v2/meetings/{id}/", tag = "horseracing",
    params(
        ("id" = String, Path, description = "A track and a day: `1234-2026-08-30`"),
    ),
    responses(
        (status = 200, body = MeetingRow),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn meeting(
    cards: CardsExtension,
    Path(id): Path<String>,
    request: SportsRequest,
) -> ApiResult {
    request.read(request::NONE)?;
    let all = cards.all(&request.api).await?;
    let own = all.iter().filter_map(|card| MeetingRow::of(card)).filter(|it| it.id == id);
    let meeting = own.reduce(|mut known, new| {
        known.add(new);
        known
    });
    request.answer(CacheControl::LIST, &meeting.ok_or(ApiError::NotFound)?)
}

/// Tracks, by name.
#[utoipa::path(get, path = "/horseracing/api/v2/tracks/", tag = "horseracing",
    params(
        ("search" = Option<String>, Query, description = "Part of the name, case-insensitive."),
        ("region" = Option<String>, Query, description = "Filter by country code (ISO 3166-1 alpha-2)."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<TrackRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn tracks(cards: CardsExtension, request: SportsRequest) -> ApiResult {
    let query = request.read(request::spec(&["limit", "offset", "region", "search"]))?;
    let all = cards.all(&request.api).await?;
    let is_like = request::search(query.params.text("search").unwrap_or_default());
    let tracks =
        all.iter().filter(|card| is_at(&query, card)).filter_map(|card| TrackRow::of(card));
    let mut tracks: Vec<_> = tracks.filter(|track| is_like(&track.brief.name)).collect();
    tracks.sort_by(|a, b| (&a.brief.name, a.brief.id).cmp(&(&b.brief.name, b.brief.id)));
    tracks.dedup_by_key(|track| track.brief.id);
    query.page(CacheControl::REFERENCE, &tracks, Clone::clone)
}

/// One track.
#[utoipa::path(get, path = "/horseracing/api/v2/tracks/{id}/", tag = "horseracing",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = TrackRow),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn track(
    cards: CardsExtension,
    Path(id): Path<String>,
    request: SportsRequest,
) -> ApiResult {
    request.read(request::NONE)?;
    let id = request::key(&id)?;
    let all = cards.all(&request.api).await?;
    let mut tracks = all.iter().rev().filter_map(|card| TrackRow::of(card));
    let track = tracks.find(|track| track.brief.id == id).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::REFERENCE, &track)
}

/// The races that pass the request's filters.
fn filter_races<'a>(
    query: &SportsQuery<'_>,
    races: impl Iterator<Item = &'a Card>,
) -> Result<Vec<&'a Card>, ApiError> {
    let (mut from, mut before) = query.days()?;
    if from.is_none() && before.is_none() {
        from = Some(query.now - PAST_DAYS * DAY);
        before = Some(query.now + COMING_DAYS * DAY);
    }
    let statuses = query.params.text("status").and_then(|text| status::read(SPORT, text));
    query.params.id("track")?;
    let races = races.filter(|card| {
        card.start.is_some_and(|start| {
            from.is_none_or(|from| from <= start) && before.is_none_or(|before| start < before)
        }) && statuses.as_ref().is_none_or(|statuses| statuses.contains(&card.status))
            && is_at(query, card)
    });
    Ok(races.collect())
}

/// Whether a race is at the requested track and in the requested country.
fn is_at(query: &SportsQuery<'_>, card: &Card) -> bool {
    let track = query.params.text("track").and_then(|track| track.parse::<Key>().ok());
    let own = card.track.as_ref().map(|track| track.id);
    let region = query.params.text("region");
    (track.is_none() || own == track)
        && region.is_none_or(|region| {
            card.region.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(region))
        })
}
