//! Reading requests of this version.

use std::collections::HashMap;

use axum::http::Uri;
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;

use super::vocabulary::StatusFilter;
use crate::{
    api::{Api, ApiError, Page, PageUrl, Params, Spec},
    archive::{Filter, Window},
    record::{Key, Status},
};

/// Accepted and ignored everywhere: SERVICE section 1.3.
pub(super) const TOLERATED: &[&str] = &["tz", "full", "ordering"];

/// Names of version 1: SERVICE section 1.4. `page` is literally an alias of `offset`.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("league", "league_id"),
    ("season", "season_id"),
    ("team", "team_id"),
    ("page_size", "limit"),
    ("page", "offset"),
];

/// The parameters of an endpoint without any.
pub(super) const NONE: Spec = spec(&[]);

/// The parameters of an endpoint.
pub(super) const fn spec(accepted: &'static [&'static str]) -> Spec {
    Spec { accepted, aliases: ALIASES, tolerated: TOLERATED }
}

/// An id in a path; an invalid one is not found.
pub(super) fn key(text: &str) -> Result<Key, ApiError> {
    text.parse().map_err(|_| ApiError::NotFound)
}

/// A request for a list.
#[derive(Debug)]
pub(super) struct ListQuery<'a> {
    pub api: &'a Api,
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
    pub params: Params,
    pub window: Window,
}

impl<'a> ListQuery<'a> {
    pub(super) fn read(
        api: &'a Api,
        uri: &'a Uri,
        headers: &'a HeaderMap,
        spec: Spec,
    ) -> Result<Self, ApiError> {
        let params = Params::read(uri.query(), spec)?;
        let window = params.window()?;
        Ok(Self { api, uri, headers, params, window })
    }

    /// The requested page of a complete list.
    pub(super) fn page_of<T: Serialize>(&self, all: Vec<T>) -> Page<T> {
        Page::of_all(&self.page_url(), self.window, all)
    }

    /// The requested page, given its rows and the number of rows of all pages.
    pub(super) fn page<T: Serialize>(&self, count: usize, rows: Vec<T>) -> Page<T> {
        Page::new(&self.page_url(), self.window, count, rows)
    }

    fn page_url(&self) -> PageUrl<'_> {
        let Self { api, uri, headers, params, .. } = self;
        PageUrl { api, headers, path: uri.path(), params }
    }

    /// Whether a text contains the value of this parameter, ignoring case.
    pub(super) fn has_part(&self, name: &str, text: &str) -> bool {
        self.params.text(name).is_none_or(|part| holds(text, part))
    }

    /// `date_from` and `date_to`, or the single day of `date`.
    pub(super) fn days(&self, filter: &mut Filter) -> Result<(), ApiError> {
        let earlier = [self.params.from("date_from")?, self.params.from("date")?];
        let later = [self.params.before("date_to")?, self.params.before("date")?];
        filter.from = earlier.into_iter().flatten().max().or(filter.from);
        filter.before = later.into_iter().flatten().min().or(filter.before);
        Ok(())
    }

    /// `status`.
    pub(super) fn status(&self) -> Option<StatusFilter> {
        self.params.text("status").and_then(StatusFilter::read)
    }
}

pub(super) fn holds(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

/// A filter of football matches.
pub(super) fn football() -> Filter {
    Filter { sport: Some(Sport::Football), ..Filter::default() }
}

/// A filter of football matches with a result.
pub(super) fn with_result() -> Filter {
    Filter { statuses: Some(Status::RESULTS.to_vec()), ..football() }
}

/// The most frequent value; among equals the smallest.
pub(super) fn most_frequent<T: Copy + Ord + std::hash::Hash>(
    all: impl Iterator<Item = T>,
) -> Option<T> {
    let mut counts: HashMap<T, usize> = HashMap::new();
    all.for_each(|it| *counts.entry(it).or_default() += 1);
    let most = counts.into_iter().max_by_key(|(it, count)| (*count, std::cmp::Reverse(*it)));
    most.map(|(it, _)| it)
}
