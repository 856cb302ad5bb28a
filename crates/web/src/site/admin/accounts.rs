//! `/admin/accounts/`: accounts, a page at a time.

use askama::Template;
use axum::{extract::Query, response::Response};
use serde::Deserialize;

use super::operator::Operator;
use crate::{
    percent,
    site::{Moment, Shell, SiteError, html, title},
};
use accounts::{AccountId, AccountSearch, AccountState, AccountSummary, Addon, Micros};
use hyper::StatusCode;

/// Accounts on one page.
const PAGE: u32 = 50;

#[derive(Debug, Deserialize)]
pub(super) struct AccountListQuery {
    #[serde(default)]
    search: String,
    before: Option<i64>,
}

#[derive(Debug, Template)]
#[template(path = "admin/accounts.html")]
struct AccountsPage<'a> {
    shell: Shell<'a>,
    search: String,
    rows: Vec<AccountRow>,
    is_later_page: bool,
    /// The URL of the next page.
    next: Option<String>,
}

#[derive(Debug)]
struct AccountRow {
    id: AccountId,
    name: String,
    founder: bool,
    state: &'static str,
    tone: &'static str,
    created: Moment,
    addons: Vec<AddonChip>,
}

/// An add-on, as a chip.
#[derive(Debug)]
struct AddonChip {
    title: &'static str,
    tone: &'static str,
}

/// `/admin/accounts/`; `?search=` is a part of the address or of a key, or an id.
pub(super) async fn show(
    operator: Operator,
    Query(query): Query<AccountListQuery>,
) -> Result<Response, SiteError> {
    let search = AccountSearch {
        text: &query.search,
        before: query.before.map(AccountId),
        // One extra row shows whether there is another page.
        limit: PAGE + 1,
    };
    let mut found = operator.shared.parts.customers.accounts.search(search).await?;
    let has_more = found.len() > PAGE as usize;
    found.truncate(PAGE as usize);
    let last = found.last().filter(|_| has_more);
    let next = last.map(|last| next(&query.search, last.account));
    let page = AccountsPage {
        shell: operator.shell("/admin/accounts/"),
        rows: found.into_iter().map(|it| AccountRow::new(&it, operator.now)).collect(),
        is_later_page: query.before.is_some(),
        search: query.search,
        next,
    };
    html(StatusCode::OK, &page)
}

impl AccountRow {
    fn new(account: &AccountSummary, now: Micros) -> Self {
        let addons = account.addons.iter();
        Self {
            id: account.account,
            name: name(account),
            founder: account.founder.is_some(),
            state: account.state().as_str(),
            tone: tone(account.state()),
            created: Moment::minute(account.created),
            addons: addons.map(|(addon, expiry)| AddonChip::new(addon, expiry, now)).collect(),
        }
    }
}

impl AddonChip {
    fn new(addon: Addon, expiry: Micros, now: Micros) -> Self {
        Self { title: title(addon), tone: if expiry > now { "live" } else { "" } }
    }
}

/// The label of an account.
pub(super) fn name(account: &AccountSummary) -> String {
    account.email.clone().unwrap_or_else(|| match account.state() {
        AccountState::Deleted => format!("Deleted account {}", account.account),
        _ => format!("Account {} without an email address", account.account),
    })
}

/// The class of a state's chip.
pub(super) fn tone(state: AccountState) -> &'static str {
    match state {
        AccountState::Active => "live",
        AccountState::Inactive => "warn",
        AccountState::Blocked => "bad",
        AccountState::Deleted => "",
    }
}

fn next(search: &str, last: AccountId) -> String {
    format!("/admin/accounts/?search={}&before={last}", percent::encode(search))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_page_keeps_the_search_text() {
        assert_eq!(next("a b&c@d", AccountId(7)), "/admin/accounts/?search=a%20b%26c%40d&before=7");
    }
}
