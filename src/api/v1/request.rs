//! What the requests of version 1 have in common: SERVICE sections 1.2, 1.3 and 1.6.

use axum::http::Uri;
use fanout::Micros;
use hyper::HeaderMap;
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};

use crate::{
    api::{Api, ApiError, Page, PageUrl, Params, Spec, football::country, odds::status, time},
    archive::{EntityKind, Window},
    record::{Key, Status},
};

/// The zone of this version where a request names none.
const ZONE: &str = "Asia/Dubai";

const PAGE_SIZE: usize = 100;
const PAGE_SIZE_MAX: usize = 500;

/// Which part of a list is asked for, and how its other parts are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageStyle {
    /// `limit` and `offset`: of events and of what is live.
    Window(Window),
    /// `page`, from 1, and `page_size`.
    Page { page: usize, size: usize },
}

/// One request.
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
    /// A request for a list in numbered pages. Names that are not `accepted` are ignored.
    ///
    /// # Errors
    ///
    /// If a value cannot be used.
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
        // Who sends the names of the other version means them.
        let size = number("page_size")?.or(number("limit")?).unwrap_or(PAGE_SIZE);
        let page = number("page")?.unwrap_or(1);
        query.paging = PageStyle::Page { page, size: size.min(PAGE_SIZE_MAX) };
        Ok(query)
    }

    /// The same for a list by `limit` and `offset`.
    ///
    /// # Errors
    ///
    /// If a value cannot be used.
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

    /// The page that was asked for, of `count` rows.
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

    /// The same of a list that is at hand as a whole.
    pub(super) fn page_of<T>(&self, all: Vec<T>) -> Page<T> {
        let (count, window) = (all.len(), self.window());
        self.page(count, all.into_iter().skip(window.offset).take(window.limit).collect())
    }

    /// `2026-07-31T04:30:00+04:00`, in the zone that was asked for.
    pub(super) fn date(&self, at: Micros) -> Option<String> {
        let at = Timestamp::from_microsecond(at).ok()?.to_zoned(self.zone.clone());
        Some(at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
    }

    /// `date_from`, where a day begins in that zone.
    pub(super) fn from(&self) -> Result<Option<Micros>, ApiError> {
        self.params.parsed("date_from", time::EXPECTED, |text| match time::day(text) {
            Some(day) => self.midnight(day),
            None => time::begin(text),
        })
    }

    /// `date_to`, where a day ends there.
    pub(super) fn before(&self) -> Result<Option<Micros>, ApiError> {
        self.params.parsed("date_to", time::EXPECTED, |text| match time::day(text) {
            Some(day) => self.midnight(day.checked_add(1.day()).ok()?),
            None => time::end(text),
        })
    }

    fn midnight(&self, day: Date) -> Option<Micros> {
        Some(day.to_zoned(self.zone.clone()).ok()?.timestamp().as_microsecond())
    }

    /// `status`; words that nobody knows let everything through, as they do in this version.
    pub(super) fn statuses(&self) -> Option<Vec<Status>> {
        self.params.text("status").and_then(status::parse)
    }

    /// What a parameter says, against a text, in any case.
    pub(super) fn says(&self, name: &str, own: Option<&str>) -> bool {
        let is = |wanted: &str| own.is_some_and(|own| own.eq_ignore_ascii_case(wanted));
        self.params.text(name).is_none_or(is)
    }

    /// What a parameter says of a country, by name or by code, against what a feed has told.
    pub(super) fn is_country(&self, name: &str, country: Option<&str>) -> bool {
        let is =
            |wanted: &str| country::is_named(country, wanted) || country::has_code(country, wanted);
        self.params.text(name).is_none_or(is)
    }

    pub(super) fn name(&self, kind: EntityKind, id: Option<Key>) -> Option<String> {
        self.api.archive.entity(kind, id?).map(|entity| entity.name.to_string())
    }
}

/// The parameters of these names and of pages; others are ignored.
fn known(uri: &Uri, accepted: &'static [&'static str]) -> Result<Params, ApiError> {
    const OF_PAGES: [&str; 5] = ["limit", "offset", "page", "page_size", "tz"];
    let query = uri.query().unwrap_or_default();
    let pairs = form_urlencoded::parse(query.as_bytes());
    let is_known = |name: &str| accepted.contains(&name) || OF_PAGES.contains(&name);
    let pairs = pairs.filter(|(name, _)| is_known(name));
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    Params::read(Some(&query), Spec { accepted, aliases: &[], tolerated: &OF_PAGES })
}
