//! Pages of lists of matches by cursor: behind a match instead of behind a number of rows, which new rows before them would shift.

use std::sync::Arc;

use fanout::Micros;
use hyper::header::{HeaderValue, LINK};
use serde::Serialize;

use super::{
    ApiError, ApiRequest, ApiResult, CacheControl, Page, match_filter::MatchListParams,
    params::CURSOR, view::View,
};
use history::query::{MatchPage, MatchQuery};
use record::{Key, MatchSummary};

/// A place in a list of matches, by start and id. As text `START_ID`, in microseconds; clients take it as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cursor {
    /// Matches without a start come last.
    start: Micros,
    id: Key,
}

impl Cursor {
    fn new(summary: &MatchSummary) -> Self {
        Self { start: summary.start.unwrap_or(Micros::MAX), id: summary.id }
    }

    fn parse(text: &str) -> Option<Self> {
        let (start, id) = text.split_once('_')?;
        Some(Self { start: start.parse().ok()?, id: id.parse().ok()? })
    }

    /// Whether it comes here or before in a list.
    fn is_through(self, last: Self, newest_first: bool) -> bool {
        match [self, last].map(|cursor| cursor.start == Micros::MAX) {
            [false, true] => true,
            [true, false] => false,
            [..] if newest_first => self >= last,
            [..] => self <= last,
        }
    }

    /// How many rows of a list are here or before.
    fn rows_through(self, view: &View<'_>, query: &MatchQuery) -> usize {
        let newest_first = query.newest_first;
        let through_in = |rows: Vec<Arc<MatchSummary>>| {
            let through = rows.iter().map(|summary| Self::new(summary));
            through.filter(|cursor| cursor.is_through(self, newest_first)).count()
        };
        // In a zone, days are not in the order of the list.
        if self.start == Micros::MAX || query.has_days_in_zone() {
            return through_in(view.all(query));
        }
        let until = |end: Micros| Some(query.before.map_or(end, |before| before.min(end)));
        let since = |begin: Micros| Some(query.from.map_or(begin, |from| from.max(begin)));
        let (from, before) = (since(self.start), until(self.start.saturating_add(1)));
        let query = MatchQuery { zone: None, ..query.clone() };
        let others = if newest_first {
            MatchQuery { from: before.max(query.from), ..query.clone() }
        } else {
            MatchQuery { before: until(self.start), ..query.clone() }
        };
        let same = MatchQuery { from, before, ..query };
        view.count(&others) + through_in(view.all(&same))
    }
}

impl ApiRequest {
    /// The page of a list of matches that the request asks for: behind its cursor, or the last or next matches. With the query for
    /// [`match_page`](Self::match_page).
    ///
    /// # Errors
    ///
    /// If the cursor is not one of a response.
    pub(super) fn find_page(
        &self,
        view: &View<'_>,
        query: MatchQuery,
    ) -> Result<(MatchQuery, MatchPage), ApiError> {
        let query = self.behind_cursor(view, query)?;
        let list_params = MatchListParams::read(&self.params)?;
        let mut found = view.find(&query);
        if list_params.last.or(list_params.next).is_some() {
            found.count = found.summaries.len();
        }
        Ok((query, found))
    }

    /// The query with its window behind the cursor, if the request has one.
    fn behind_cursor(
        &self,
        view: &View<'_>,
        mut query: MatchQuery,
    ) -> Result<MatchQuery, ApiError> {
        let expected = "a cursor, as in the Link header of a page";
        if let Some(cursor) = self.params.parsed(CURSOR, expected, Cursor::parse)? {
            query.window.offset = cursor.rows_through(view, &query);
        }
        Ok(query)
    }

    /// Responds with a page of a list of matches. `Link` names the page behind its last match; so does `next` if the request
    /// has a cursor.
    pub(super) fn match_page<T: Serialize>(
        &self,
        query: &MatchQuery,
        found: &MatchPage,
        rows: Vec<T>,
    ) -> ApiResult {
        let page_url = self.page_url();
        let end = query.window.offset.saturating_add(found.summaries.len());
        let last = found.summaries.last().filter(|_| end < found.count).map(|it| Cursor::new(it));
        let next = last.map(|Cursor { start, id }| {
            page_url.address(query.window.limit, (CURSOR, format!("{start}_{id}")))
        });
        let mut page = Page::new(&page_url, query.window, found.count, rows);
        if self.params.text(CURSOR).is_some() {
            (page.next, page.previous) = (next.clone(), None);
        }
        let mut response = self.answer(CacheControl::LIST, &page)?;
        let link = next.map(|next| HeaderValue::try_from(format!("<{next}>; rel=\"next\"")));
        if let Some(Ok(link)) = link {
            response.headers_mut().insert(LINK, link);
        }
        Ok(response)
    }
}
