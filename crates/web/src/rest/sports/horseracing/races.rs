//! `/horseracing/api/v2/races/`, meetings and tracks.

use facts::event::Sport;
use fanout::Micros;

use super::{
    super::{
        index::{ANY, index},
        request::{self, DAY, DateParams, HIDDEN_STATUS, NONE, SearchParams},
    },
    card::RaceCard,
    row::{MeetingRow, RaceDetail, RaceRow, TrackRow},
};
use crate::{
    clock::now,
    rest::{
        ApiError, ApiRequest, ApiResult, CacheControl, Page, PageSize, Param, Spec,
        kind::{Number, Text},
        match_filter,
        params::STATUS,
    },
};
use record::{Status, Vocabulary};

const SPORT: Sport = Sport::HorseRacing;

/// The default range: races of the last three days and the next seven.
pub(super) const PAST_DAYS: i64 = 3;
pub(super) const COMING_DAYS: i64 = 7;

/// The default and the maximum number of next races.
const NEXT: PageSize = PageSize { default: 10, max: 50 };

/// How long after its scheduled time a race may still be waiting to start, in microseconds.
const LATE: i64 = 30 * 60 * 1_000_000;

params! {
    struct TrackParams { track: Ids = "One or more tracks." }
    struct RegionParams { region: Word = "Filter by country code (ISO 3166-1 alpha-2)." }
    struct SortParams { sort: Sort = match_filter::SORT }
}

/// The parameters of lists of races.
const fn spec(params: &'static [&'static [Param]]) -> Spec {
    Spec {
        aliases: &[
            ("page", "offset"),
            ("page_size", "limit"),
            ("state", "status"),
            ("track_id", "track"),
        ],
        tolerated: request::TOLERATED,
        ..Spec::new(params).paged()
    }
}

const RACES: Spec = spec(&[
    DateParams::PARAMS,
    TrackParams::PARAMS,
    RegionParams::PARAMS,
    &[Param::new::<Text>(
        STATUS,
        "One or more states, separated by commas: prematch, idle, live, archived, cancelled, \
         unresolved.",
    )],
    SortParams::PARAMS,
]);

const LIVE: Spec =
    spec(&[TrackParams::PARAMS, RegionParams::PARAMS]).hiding(&[DateParams::PARAMS, HIDDEN_STATUS]);

const MEETINGS: Spec = spec(&[
    DateParams::PARAMS,
    TrackParams::PARAMS,
    RegionParams::PARAMS,
    &[Param::new::<Text>(STATUS, "One or more race states, separated by commas.")],
]);

const NEXT_TO_JUMP: Spec = request::spec(&[
    TrackParams::PARAMS,
    RegionParams::PARAMS,
    &[Param::new::<Number>("limit", "Number of rows (default 10, max 50).")],
]);

const MEETING: Spec =
    request::spec(&[&[Param::new::<Text>("id", "A track and a day: `1234-2026-08-30`").in_path()]]);

const TRACKS: Spec = request::spec(&[SearchParams::PARAMS, RegionParams::PARAMS]).paged();

endpoints! {
    /// The lists of this product, by their names.
    "/horseracing/api/v2/", params(ANY), answers(BTreeMap<String, String>), |request| index(&request);

    /// Races by start time, the earliest first unless `sort` says otherwise. The default range is the last three and the next seven days.
    "/horseracing/api/v2/races/", params(RACES), answers(Page<RaceRow>),
        |request| list(&request).await;

    /// Races that are being run.
    "/horseracing/api/v2/races/live/", params(LIVE), answers(Page<RaceRow>),
        |request| live(&request);

    /// The races that start next, without an envelope.
    "/horseracing/api/v2/races/next-to-jump/", params(NEXT_TO_JUMP), answers(Vec<RaceRow>),
        |request| next_to_jump(&request).await;

    /// One race, and who runs.
    "/horseracing/api/v2/races/{id}/", params(NONE), answers(RaceDetail),
        |request| detail(&request).await;

    /// Meetings by day: the races of one track on one day.
    "/horseracing/api/v2/meetings/", params(MEETINGS), answers(Page<MeetingRow>),
        |request| meetings(&request).await;

    /// One meeting.
    "/horseracing/api/v2/meetings/{id}/", params(MEETING), answers(MeetingRow),
        |request| meeting(&request).await;

    /// Tracks, by name.
    "/horseracing/api/v2/tracks/", params(TRACKS), answers(Page<TrackRow>),
        |request| tracks(&request).await;

    /// One track.
    "/horseracing/api/v2/tracks/{id}/", params(NONE), answers(TrackRow),
        |request| track(&request).await;
}

async fn list(request: &ApiRequest) -> ApiResult {
    let all = request.race_cards().await?;
    let mut races = filter_races(request, all.iter().map(AsRef::as_ref))?;
    if SortParams::read(&request.params)?.sort == Some(true) {
        races.reverse();
    }
    request.page_of(CacheControl::LIST, &races, |card| RaceRow::new(card))
}

fn live(request: &ApiRequest) -> ApiResult {
    let is_here = is_at(request)?;
    let live: Vec<_> =
        request.api.history.live(SPORT).iter().filter_map(|record| RaceCard::new(record)).collect();
    let live: Vec<_> = live.iter().filter(|card| is_here(card)).collect();
    request.page_of(CacheControl::LIVE, &live, |card| RaceRow::new(card))
}

async fn next_to_jump(request: &ApiRequest) -> ApiResult {
    let all = request.race_cards().await?;
    let is_here = is_at(request)?;
    let window = request.params.window_of(NEXT)?;
    let now = now();
    let is_wanted = |card: &&RaceCard| is_next(card, now) && is_here(card);
    let next = all.iter().map(AsRef::as_ref).filter(is_wanted).take(window.limit);
    let rows: Vec<_> = next.map(RaceRow::new).collect();
    request.answer(CacheControl::LIVE, &rows)
}

async fn detail(request: &ApiRequest) -> ApiResult {
    let record = request.record(SPORT).await?;
    let card = RaceCard::new(&record).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::LIST, &RaceDetail::new(&card))
}

async fn meetings(request: &ApiRequest) -> ApiResult {
    let all = request.race_cards().await?;
    let races = filter_races(request, all.iter().map(AsRef::as_ref))?;
    let mut meetings: Vec<MeetingRow> = Vec::new();
    for card in races {
        let Some(new) = MeetingRow::new(card) else { continue };
        match meetings.iter_mut().rev().find(|existing| existing.id == new.id) {
            Some(existing) => existing.add(new),
            None => meetings.push(new),
        }
    }
    request.page_of(CacheControl::LIST, meetings, |row| row)
}

async fn meeting(request: &ApiRequest) -> ApiResult {
    let all = request.race_cards().await?;
    let rows =
        all.iter().filter_map(|it| MeetingRow::new(it)).filter(|it| it.id == request.path("id"));
    let meeting = rows.reduce(|mut existing, new| {
        existing.add(new);
        existing
    });
    request.answer(CacheControl::LIST, &meeting.ok_or(ApiError::NotFound)?)
}

async fn tracks(request: &ApiRequest) -> ApiResult {
    let all = request.race_cards().await?;
    let (SearchParams { search }, is_here) =
        (SearchParams::read(&request.params)?, is_at(request)?);
    let tracks = all.iter().filter(|card| is_here(card)).filter_map(|card| TrackRow::new(card));
    let mut tracks: Vec<_> = tracks.filter(|track| search.is_in(&track.summary.name)).collect();
    tracks.sort_by(|a, b| (&a.summary.name, a.summary.id).cmp(&(&b.summary.name, b.summary.id)));
    tracks.dedup_by_key(|track| track.summary.id);
    request.page_of(CacheControl::REFERENCE, tracks, |row| row)
}

async fn track(request: &ApiRequest) -> ApiResult {
    let id = request.id()?;
    let all = request.race_cards().await?;
    let mut tracks = all.iter().rev().filter_map(|card| TrackRow::new(card));
    let track = tracks.find(|track| track.summary.id == id).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::REFERENCE, &track)
}

/// The races that pass the request's filters.
fn filter_races<'a>(
    request: &ApiRequest,
    races: impl Iterator<Item = &'a RaceCard>,
) -> Result<Vec<&'a RaceCard>, ApiError> {
    let (mut from, mut before) = request.days()?;
    if from.is_none() && before.is_none() {
        from = Some(now() - PAST_DAYS * DAY);
        before = Some(now() + COMING_DAYS * DAY);
    }
    let status = request.params.text(STATUS);
    let statuses = request.params.statuses(status, Vocabulary::Sport(SPORT));
    let is_here = is_at(request)?;
    let races = races.filter(|card| {
        card.start.is_some_and(|start| {
            from.is_none_or(|from| from <= start) && before.is_none_or(|before| start < before)
        }) && statuses.as_ref().is_none_or(|statuses| statuses.contains(&card.status))
            && is_here(card)
    });
    Ok(races.collect())
}

/// Whether a race may start next, which is not known of one without a time.
fn is_next(card: &RaceCard, now: Micros) -> bool {
    Status::UPCOMING.contains(&card.status)
        && !card.day_only
        && card.start.is_some_and(|start| start > now - LATE)
}

/// Whether a race is at one of the requested tracks and in the requested country.
fn is_at(request: &ApiRequest) -> Result<impl Fn(&RaceCard) -> bool, ApiError> {
    let TrackParams { track } = TrackParams::read(&request.params)?;
    let RegionParams { region } = RegionParams::read(&request.params)?;
    Ok(move |card: &RaceCard| {
        track.passes(card.track.as_ref().map(|track| track.id))
            && region.passes(card.region.as_deref())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::super::shape::NamedRow, *};

    #[test]
    fn race_of_which_the_day_is_known_has_no_time() {
        // 2016-08-13T12:00:00Z
        let noon = 1_471_089_600_000_000;
        for (day_only, name, at) in [
            (false, json!("Ascot 12:00"), "2016-08-13T12:00:00+00:00"),
            (true, json!(null), "2016-08-13"),
        ] {
            let card = RaceCard {
                race: 1,
                start: Some(noon),
                day_only,
                status: Status::NotStarted,
                name: None,
                track: Some(NamedRow { id: 2, name: "Ascot".to_owned() }),
                region: None,
                provider: None,
                runners: Vec::new(),
                updated: 0,
            };
            let row = serde_json::to_value(RaceRow::new(&card)).expect("it is JSON");
            assert_eq!((&row["name"], &row["starts_at"]), (&name, &json!(at)));
            let meeting = serde_json::to_value(MeetingRow::new(&card)).expect("it is JSON");
            assert_eq!(
                (&meeting["id"], &meeting["first_race_at"]),
                (&json!("2-2016-08-13"), &json!(at))
            );
            assert_eq!(is_next(&card, noon), !day_only);
        }
    }
}
