//! Reading requests of version 1: SERVICE sections 1.2, 1.3 and 1.6.

use facts::event::Sport;
use fanout::Micros;
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

use crate::rest::{
    Api, ApiError, ApiRequest, ApiResult, CacheControl, Page, PageSize, Param, Params, Spec,
    kind::Text,
};
use history::query::{EntityKind, MatchQuery, Window};
use record::{Key, MatchSummary, Vocabulary};

const PAGE_SIZE: usize = 100;
const PAGE_SIZE_MAX: usize = 500;

/// How a list is paged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageStyle {
    /// `limit` and `offset`: events and live events.
    Window(Window),
    /// `page`, from 1, and `page_size`.
    Page { page: usize, size: usize },
}

/// The parameters of an endpoint without its own.
pub(super) const NONE: Spec = spec(&[]);

/// Those of an endpoint of one event, whose answer has dates.
pub(super) const ONE: Spec = spec(&[TZ]);

pub(super) const IDS: &str = "One or more IDs, separated by commas";
pub(super) const NAME: &str = "Part of the name";
pub(super) const TZ: &[Param] = &[Param::new::<Text>("tz", "")];

params! {
    pub(super) struct DateParams {
        date_from: BeginInTz = "Matches from this day in the time zone, or this timestamp",
        date_to: EndInTz = "Up to the end of this day in the time zone, or this timestamp",
    }
    /// Filters of things with a name and a country.
    pub(super) struct EntityParams { country: Country = "", name: Name = NAME }
    pub(super) struct CompetitionParams { league: Ids = IDS, season: Ids = IDS }
    pub(super) struct TeamParams { team: Ids = "One or more teams, home or away" }
    pub(super) struct RoundParams { round_number: Number = "" }
    pub(super) struct StatusParams { status: Text = "" }
}

/// The parameters of an endpoint. Others are ignored.
pub(super) const fn spec(params: &'static [&'static [Param]]) -> Spec {
    Spec {
        tolerated: &["limit", "offset", "page", "page_size", "tz"],
        ignores_others: true,
        ..Spec::new(params)
    }
}

/// A request of version 1.
#[derive(Debug)]
pub(super) struct V1Query<'a> {
    pub(super) request: &'a ApiRequest,
    pub(super) api: &'a Api,
    pub(super) params: &'a Params,
    zone: TimeZone,
    paging: PageStyle,
}

impl<'a> V1Query<'a> {
    /// Reads a request for a list with numbered pages.
    ///
    /// # Errors
    ///
    /// If a value is not valid.
    pub(super) fn pages(request: &'a ApiRequest) -> Result<Self, ApiError> {
        let mut query = Self::windows(request)?;
        let number = |name: &str| -> Result<Option<usize>, ApiError> {
            let number = query.params.number(name)?.filter(|number| *number > 0);
            Ok(number.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
        };
        // Clients that send the names of the other version mean them.
        let size = number("page_size")?.or(number("limit")?).unwrap_or(PAGE_SIZE);
        let page = number("page")?.unwrap_or(1);
        query.paging = PageStyle::Page { page, size: size.min(PAGE_SIZE_MAX) };
        Ok(query)
    }

    /// The same for a list with `limit` and `offset`.
    ///
    /// # Errors
    ///
    /// If a value is not valid.
    pub(super) fn windows(request: &'a ApiRequest) -> Result<Self, ApiError> {
        let ApiRequest { api, params, .. } = request;
        let paging = PageStyle::Window(params.window_of(PageSize::USUAL)?);
        Ok(Self { request, api, params, zone: params.tz(), paging })
    }

    pub(super) fn window(&self) -> Window {
        match self.paging {
            PageStyle::Window(window) => window,
            PageStyle::Page { page, size } => {
                Window { offset: (page - 1).saturating_mul(size), limit: size }
            }
        }
    }

    /// Responds with the requested page, of `count` rows.
    pub(super) fn page<T: Serialize>(
        &self,
        cache: CacheControl,
        count: usize,
        results: Vec<T>,
    ) -> ApiResult {
        let page_url = self.request.page_url();
        let PageStyle::Page { page, size } = self.paging else {
            let page = Page::new(&page_url, self.window(), count, results);
            return self.request.answer(cache, &page);
        };
        let address = |page: usize| {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(self.params.filters());
            query.append_pair("page", &page.to_string());
            query.append_pair("page_size", &size.to_string());
            format!("{}{}?{}", page_url.base(), page_url.path, query.finish())
        };
        let next = page.checked_mul(size).filter(|end| *end < count).map(|_| address(page + 1));
        let previous = (page > 1).then(|| address(page - 1));
        let warnings = page_url.warnings();
        self.request.answer(cache, &Page { count, next, previous, results, warnings })
    }

    /// Responds with the requested page of a complete list, whose rows are converted to their public shape.
    pub(super) fn page_of<S, T: Serialize>(
        &self,
        cache: CacheControl,
        all: impl IntoIterator<Item = S, IntoIter: ExactSizeIterator>,
        row: impl FnMut(S) -> T,
    ) -> ApiResult {
        let (all, window) = (all.into_iter(), self.window());
        let count = all.len();
        self.page(cache, count, all.skip(window.offset).take(window.limit).map(row).collect())
    }

    /// The name of the requested time zone.
    pub(super) fn zone_name(&self) -> Option<Box<str>> {
        self.zone.iana_name().map(Into::into)
    }

    /// The start of a match in the requested time zone: `2026-07-31T04:30:00+04:00`.
    pub(super) fn start(&self, summary: &MatchSummary) -> Option<String> {
        start_in(&self.zone, summary.start?, summary.day_only)
    }

    /// The requested zone.
    pub(super) fn zone(&self) -> TimeZone {
        self.zone.clone()
    }

    /// The requested list of matches: every filter that the endpoint accepts, and the page.
    ///
    /// # Errors
    ///
    /// If a value is not valid.
    pub(super) fn matches(&self) -> Result<MatchQuery, ApiError> {
        let DateParams { date_from, date_to } = DateParams::read(self.params)?;
        let CompetitionParams { league, season } = CompetitionParams::read(self.params)?;
        let status = StatusParams::read(self.params)?.status;
        // No match has a round that is out of range.
        let round = RoundParams::read(self.params)?.round_number;
        let round = round.map(|number| u16::try_from(number).unwrap_or(u16::MAX));
        Ok(MatchQuery {
            from: date_from,
            before: date_to,
            zone: Some(self.zone()),
            competitions: league.ids(),
            seasons: season.ids(),
            teams: TeamParams::read(self.params)?.team.ids(),
            round,
            // Unknown words filter nothing in this version.
            statuses: status.and_then(|it| Vocabulary::Football.parse(&it)),
            window: self.window(),
            ..MatchQuery::of_sport(Sport::Football)
        })
    }

    pub(super) fn name(&self, kind: EntityKind, id: Option<Key>) -> Option<String> {
        self.api.history.name(kind, id?)
    }
}

/// A start in a time zone. Where only its day is known, the midnight of that day.
fn start_in(zone: &TimeZone, at: Micros, day_only: bool) -> Option<String> {
    let at = Timestamp::from_microsecond(at).ok()?;
    let at = if day_only {
        at.to_zoned(TimeZone::UTC).date().to_zoned(zone.clone()).ok()?
    } else {
        at.to_zoned(zone.clone())
    };
    Some(at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_is_its_midnight_in_the_zone() {
        let noon: Timestamp = "2016-08-13T12:00:00Z".parse().expect("a time");
        for (zone, day_only, expected) in [
            ("Asia/Dubai", false, "2016-08-13T16:00:00+04:00"),
            ("Asia/Dubai", true, "2016-08-13T00:00:00+04:00"),
            ("Pacific/Kiritimati", true, "2016-08-13T00:00:00+14:00"),
            ("America/New_York", true, "2016-08-13T00:00:00-04:00"),
        ] {
            let zone = TimeZone::get(zone).expect("a known zone");
            let date = start_in(&zone, noon.as_microsecond(), day_only);
            assert_eq!(date.as_deref(), Some(expected));
        }
    }
}
