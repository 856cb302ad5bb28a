//! `/dashboard/keys/`: the named keys of the account.

use askama::Template;
use axum::{http::HeaderMap, response::Response};
use hyper::StatusCode;
use jiff::{civil::Date, tz::TimeZone};

use super::{
    consent,
    dashboard::is_fetched_early,
    error::{SiteError, see_other},
    form::SignedForm,
    moment::{Moment, left},
    page::Shell,
    register::sentence,
    visit::SignedIn,
};
use crate::http::form::Fields;
use accounts::{AccountsError, Key, KeySummary, KeyTerms, Micros, NewKeyKind, Scope, Scopes};

#[derive(Debug, Template)]
#[template(path = "keys.html")]
struct KeysPage<'a> {
    shell: Shell<'a>,
    problem: Option<String>,
    /// The full key, right after it was created.
    new_key: Option<&'a str>,
    keys: Vec<KeyRow>,
    /// What the form contains.
    name: &'a str,
    networks: &'a str,
    ends: &'a str,
    scopes: Vec<ScopeField>,
}

#[derive(Debug)]
struct KeyRow {
    name: String,
    prefix: String,
    scopes: String,
    /// Empty for every address.
    networks: String,
    created: Moment,
    ends: Option<Moment>,
    /// `None` once it has ended.
    left: Option<String>,
}

/// A scope in the form.
#[derive(Debug)]
struct ScopeField {
    name: &'static str,
    words: &'static str,
    is_chosen: bool,
}

impl KeyRow {
    fn new(key: KeySummary, now: Micros) -> Option<Self> {
        let terms = key.terms?;
        Some(Self {
            name: terms.name,
            prefix: key.prefix,
            scopes: terms.scopes.to_string(),
            networks: terms.networks.to_string(),
            created: Moment::day(key.created),
            ends: terms.ends.map(Moment::minute),
            left: terms.ends.and_then(|ends| left(ends, now)),
        })
    }
}

/// `/dashboard/keys/`
pub(super) async fn show(signed_in: SignedIn, headers: HeaderMap) -> Result<Response, SiteError> {
    let SignedIn { visit, customer } = &signed_in;
    let accounts = &visit.shared.parts.customers.accounts;
    // As on the dashboard: a prefetched page must not use up the one time that the key is shown.
    let new_key = match is_fetched_early(&headers) {
        true => None,
        false => accounts.take_new_key(customer.account, NewKeyKind::Named, visit.now),
    };
    show_list(&signed_in, StatusCode::OK, None, new_key.as_ref(), None).await
}

/// Creates or revokes a key: the field `do`. The next page shows a new key, so that reloading it creates no other.
pub(super) async fn act(
    SignedForm { signed_in, fields }: SignedForm,
) -> Result<Response, SiteError> {
    let SignedIn { visit, customer } = &signed_in;
    let (accounts, account, now) =
        (&visit.shared.parts.customers.accounts, customer.account, visit.now);
    match fields.text("do") {
        "create" => {
            let problem = match terms(&fields, now) {
                Ok(terms) => match accounts.create_named_key(account, &terms, now).await {
                    Ok(key) => {
                        accounts.keep_new_key(account, NewKeyKind::Named, key, now);
                        return Ok(see_other("/dashboard/keys/"));
                    }
                    Err(error @ AccountsError::TooManyKeys { .. }) => error.to_string(),
                    Err(error) => return Err(error.into()),
                },
                Err(problem) => problem,
            };
            let (status, problem) = (StatusCode::UNPROCESSABLE_ENTITY, sentence(&problem));
            show_list(&signed_in, status, Some(problem), None, Some(&fields)).await
        }
        "revoke" => {
            // One that is already revoked is gone, as the customer wants it.
            accounts.revoke_named_key(account, fields.text("key"), now).await?;
            Ok(see_other("/dashboard/keys/"))
        }
        _ => Err(SiteError::NotFound),
    }
}

async fn show_list(
    signed_in: &SignedIn,
    status: StatusCode,
    problem: Option<String>,
    new_key: Option<&Key>,
    fields: Option<&Fields>,
) -> Result<Response, SiteError> {
    let SignedIn { visit, customer } = signed_in;
    let keys = visit.shared.parts.customers.accounts.named_keys(customer.account).await?;
    let text = |name| fields.map_or("", |fields| fields.text(name));
    let scopes = Scope::ALL.into_iter().map(|scope| ScopeField {
        name: scope.as_str(),
        words: words(scope),
        is_chosen: fields.is_some_and(|fields| fields.has(scope.as_str())),
    });
    let page = KeysPage {
        shell: visit.shell("/dashboard/keys/"),
        problem,
        new_key: new_key.map(Key::expose),
        keys: keys.into_iter().filter_map(|key| KeyRow::new(key, visit.now)).collect(),
        name: text("name"),
        networks: text("networks"),
        ends: text("ends"),
        scopes: scopes.collect(),
    };
    visit.show_as(status, &page)
}

/// A scope in words.
fn words(scope: Scope) -> &'static str {
    match scope {
        // The usage of the account has a scope of its own.
        Scope::Football => "Read football matches, statistics, predictions and signals",
        other => consent::words(other).0,
    }
}

/// The terms in the form, or why it has none.
fn terms(fields: &Fields, now: Micros) -> Result<KeyTerms, String> {
    let scopes: Scopes =
        Scope::ALL.into_iter().filter(|scope| fields.has(scope.as_str())).collect();
    let ends = match fields.text("ends") {
        "" => None,
        date => Some(end_of(date).ok_or_else(|| "choose a date such as 2027-01-31".to_owned())?),
    };
    KeyTerms::new(fields.text("name"), scopes, fields.text("networks"), ends, now)
        .map_err(|error| error.to_string())
}

/// The end of a day in UTC.
fn end_of(date: &str) -> Option<Micros> {
    let next = date.parse::<Date>().ok()?.tomorrow().ok()?;
    Some(next.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_works_through_the_chosen_day() {
        assert_eq!(end_of("2026-11-22"), Some(1_795_392_000_000_000));
        for wrong in ["", "22.11.2026", "2026-02-30", "9999-12-31"] {
            assert_eq!(end_of(wrong), None, "{wrong}");
        }
    }
}
