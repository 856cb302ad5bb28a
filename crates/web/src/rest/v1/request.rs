//! Reading requests of version 1: SERVICE sections 1.2, 1.3 and 1.6.

use facts::event::Sport;
use fanout::Micros;
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

use crate::rest::{
    Api, ApiError, ApiRequest, ApiResult, CacheControl, Page, PageSize, Param, Params, Spec,
    football::country::WantedCountry, match_filter::IDS_MAX, time,
};
use history::query::{EntityKind, MatchQuery, Window};
use record::{Key, MatchSummary, Vocabulary};

/// The default time zone of this version.
const ZONE: &str = "Asia/Dubai";

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

pub(super) const LEAGUE: Param = Param::ids("league", "One or more IDs, separated by commas");
pub(super) const SEASON: Param = Param::ids("season", "One or more IDs, separated by commas");
pub(super) const TEAM: Param = Param::ids("team", "One or more teams, home or away");
pub(super) const ROUND: Param = Param::number("round_number", "");
pub(super) const NAME: Param = Param::text("name", "Part of the name");
pub(super) const TZ: Param = Param::text("tz", "");
pub(super) const DATE_FROM: Param =
    Param::text("date_from", "Matches from this day in the time zone, or this timestamp");
pub(super) const DATE_TO: Param =
    Param::text("date_to", "Up to the end of this day in the time zone, or this timestamp");

/// The parameters of an endpoint. Others are ignored.
pub(super) const fn spec(params: &'static [Param]) -> Spec {
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
        let zone = params.text("tz").and_then(|name| TimeZone::get(name).ok());
        let zone = zone.or_else(|| TimeZone::get(ZONE).ok()).unwrap_or(TimeZone::UTC);
        let paging = PageStyle::Window(params.window_of(PageSize::USUAL)?);
        Ok(Self { request, api, params, zone, paging })
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

    /// `date_from` in the time zone.
    pub(super) fn from(&self) -> Result<Option<Micros>, ApiError> {
        let parse = |text: &str| time::begin_in(text, &self.zone);
        self.params.parsed("date_from", time::EXPECTED, parse)
    }

    /// `date_to` in the time zone.
    pub(super) fn before(&self) -> Result<Option<Micros>, ApiError> {
        self.params.parsed("date_to", time::EXPECTED, |text| time::end_in(text, &self.zone))
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
        Ok(MatchQuery {
            from: self.from()?,
            before: self.before()?,
            zone: Some(self.zone()),
            competitions: self.params.ids_up_to("league", IDS_MAX)?,
            seasons: self.params.ids_up_to("season", IDS_MAX)?,
            teams: self.params.ids_up_to("team", IDS_MAX)?,
            round: self.round()?,
            // Unknown words filter nothing in this version.
            statuses: self.params.text("status").and_then(|it| Vocabulary::Football.parse(it)),
            window: self.window(),
            ..MatchQuery::of_sport(Sport::Football)
        })
    }

    /// `round_number`, which no match has if it is out of range.
    fn round(&self) -> Result<Option<u16>, ApiError> {
        let number = self.params.number("round_number")?;
        Ok(number.map(|number| u16::try_from(number).unwrap_or(u16::MAX)))
    }

    /// Whether a text equals the value of this parameter, ignoring case; true without the parameter.
    pub(super) fn says(&self, name: &str, value: Option<&str>) -> bool {
        let is = |wanted: &str| value.is_some_and(|value| value.eq_ignore_ascii_case(wanted));
        self.params.text(name).is_none_or(is)
    }

    /// Whether a feed's country matches this parameter, which is a name or a code; true without it.
    pub(super) fn is_country(&self, name: &str) -> impl Fn(Option<&str>) -> bool {
        let wanted = self.params.text(name).map(WantedCountry::new);
        move |country: Option<&str>| wanted.as_ref().is_none_or(|wanted| wanted.is(country))
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
