//! Reading requests of version 1: SERVICE sections 1.2, 1.3 and 1.6.

use axum::http::Uri;
use fanout::Micros;
use hyper::HeaderMap;
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};

use crate::{
    api::{Api, ApiError, Page, PageUrl, Params, Spec, football::country, odds::status, time},
    archive::{EntityKind, Window},
    record::{Key, Status},
};

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

/// A request of version 1.
#[derive(Debug)]
pub(super) struct V1Query<'a> {
    pub(super) api: &'a Api,
    uri: &'a Uri,
    headers: &'a HeaderMap,
    pub(super) params: Params,
    zone: TimeZone,
    paging: PageStyle,
}

impl<'a> V1Query<'a> {
    /// Reads a request for a list with numbered pages. Names that are not `accepted` are ignored.
    ///
    /// # Errors
    ///
    /// If a value is not valid.
    pub(super) fn pages(
        api: &'a Api,
        uri: &'a Uri,
        headers: &'a HeaderMap,
        accepted: &'static [&'static str],
    ) -> Result<Self, ApiError> {
        let mut query = Self::windows(api, uri, headers, accepted)?;
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
    pub(super) fn windows(
        api: &'a Api,
        uri: &'a Uri,
        headers: &'a HeaderMap,
        accepted: &'static [&'static str],
    ) -> Result<Self, ApiError> {
        let params = known(uri, accepted)?;
        let zone = params.text("tz").and_then(|name| TimeZone::get(name).ok());
        let zone = zone.or_else(|| TimeZone::get(ZONE).ok()).unwrap_or(TimeZone::UTC);
        let paging = PageStyle::Window(params.window()?);
        Ok(Self { api, uri, headers, params, zone, paging })
    }

    pub(super) fn window(&self) -> Window {
        match self.paging {
            PageStyle::Window(window) => window,
            PageStyle::Page { page, size } => {
                Window { offset: (page - 1).saturating_mul(size), limit: size }
            }
        }
    }

    /// The requested page, of `count` rows.
    pub(super) fn page<T>(&self, count: usize, results: Vec<T>) -> Page<T> {
        let Self { api, headers, params, .. } = self;
        let page_url = PageUrl { api, headers, path: self.uri.path(), params };
        let PageStyle::Page { page, size } = self.paging else {
            return Page::new(&page_url, self.window(), count, results);
        };
        let address = |page: usize| {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(params.filters());
            query.append_pair("page", &page.to_string());
            query.append_pair("page_size", &size.to_string());
            format!("{}{}?{}", page_url.base(), page_url.path, query.finish())
        };
        let next = page.checked_mul(size).filter(|end| *end < count).map(|_| address(page + 1));
        let previous = (page > 1).then(|| address(page - 1));
        Page { count, next, previous, results }
    }

    /// The requested page of a complete list.
    pub(super) fn page_of<T>(&self, all: Vec<T>) -> Page<T> {
        let (count, window) = (all.len(), self.window());
        self.page(count, all.into_iter().skip(window.offset).take(window.limit).collect())
    }

    /// `2026-07-31T04:30:00+04:00`, in the requested time zone.
    pub(super) fn date(&self, at: Micros) -> Option<String> {
        let at = Timestamp::from_microsecond(at).ok()?.to_zoned(self.zone.clone());
        Some(at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
    }

    /// `date_from`, where a day begins at midnight in that zone.
    pub(super) fn from(&self) -> Result<Option<Micros>, ApiError> {
        self.params.parsed("date_from", time::EXPECTED, |text| match time::day(text) {
            Some(day) => self.midnight(day),
            None => time::begin(text),
        })
    }

    /// `date_to`, where a day ends at midnight in that zone.
    pub(super) fn before(&self) -> Result<Option<Micros>, ApiError> {
        self.params.parsed("date_to", time::EXPECTED, |text| match time::day(text) {
            Some(day) => self.midnight(day.checked_add(1.day()).ok()?),
            None => time::end(text),
        })
    }

    fn midnight(&self, day: Date) -> Option<Micros> {
        Some(day.to_zoned(self.zone.clone()).ok()?.timestamp().as_microsecond())
    }

    /// `status`; unknown words filter nothing in this version.
    pub(super) fn statuses(&self) -> Option<Vec<Status>> {
        self.params.text("status").and_then(status::parse)
    }

    /// Whether a text equals the value of this parameter, ignoring case; true without the parameter.
    pub(super) fn says(&self, name: &str, own: Option<&str>) -> bool {
        let is = |wanted: &str| own.is_some_and(|own| own.eq_ignore_ascii_case(wanted));
        self.params.text(name).is_none_or(is)
    }

    /// Whether a feed's country matches this parameter, which is a name or a code; true without it.
    pub(super) fn is_country(&self, name: &str, country: Option<&str>) -> bool {
        let is =
            |wanted: &str| country::is_named(country, wanted) || country::has_code(country, wanted);
        self.params.text(name).is_none_or(is)
    }

    pub(super) fn name(&self, kind: EntityKind, id: Option<Key>) -> Option<String> {
        self.api.archive.entity(kind, id?).map(|entity| entity.name.to_string())
    }
}

/// Keeps the parameters with these names and those of paging; ignores others.
fn known(uri: &Uri, accepted: &'static [&'static str]) -> Result<Params, ApiError> {
    const OF_PAGES: [&str; 5] = ["limit", "offset", "page", "page_size", "tz"];
    let query = uri.query().unwrap_or_default();
    let pairs = form_urlencoded::parse(query.as_bytes());
    let is_known = |name: &str| accepted.contains(&name) || OF_PAGES.contains(&name);
    let pairs = pairs.filter(|(name, _)| is_known(name));
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    Params::read(Some(&query), Spec { accepted, aliases: &[], tolerated: &OF_PAGES })
}
