//! Bookmakers: their slugs, their names, `/api/v2/bookmakers/`.

use std::collections::BTreeSet;

use serde::Serialize;
use utoipa::ToSchema;

use crate::rest::{Api, ApiError, ApiRequest, ApiResult, CacheControl, Page, Spec, view::View};
use record::bookmaker::{canonical_slug, is_listed, slug_of_name};

pub(in crate::rest) use record::bookmaker::name;

/// The slug that a filter means, in our own spelling.
///
/// # Errors
///
/// If it is no slug but a name for people.
pub(in crate::rest) fn slug(text: &str) -> Result<String, ApiError> {
    let is_slug = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c);
    if text.chars().all(is_slug) {
        return Ok(canonical_slug(text).to_owned());
    }
    let hint = slug_of_name(text).map(|slug| format!(", here {slug:?}")).unwrap_or_default();
    Err(ApiError::BadParameter(format!(
        "bookmaker_slug is to be a slug{hint}, not the name {text:?}: see /api/v2/bookmakers/."
    )))
}

/// The bookmakers that the value of a parameter names, with commas between, in our own spelling; `None` without it.
///
/// # Errors
///
/// If one of them is a name for people, or neither a listed bookmaker nor one with prices.
pub(in crate::rest) fn slugs(
    api: &Api,
    parameter: &str,
    text: Option<&str>,
) -> Result<Option<Vec<String>>, ApiError> {
    let Some(text) = text else { return Ok(None) };
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    // Every price is compared with them.
    let slugs: Vec<_> = words.map(slug).collect::<Result<BTreeSet<_>, _>>()?.into_iter().collect();
    let priced = api.history.bookmakers();
    let is_archived =
        |slug: &String| is_listed(slug) || priced.iter().any(|priced| **priced == **slug);
    // The first prices of a bookmaker are with the hub before they are archived.
    let is_current = |slug: &String| {
        let view = View::now(&api.history, None);
        let mut prices = view.all_fresh().flat_map(|record| &record.prices);
        prices.any(|price| *price.bookmaker == **slug)
    };
    if slugs.iter().all(|slug| is_archived(slug) || is_current(slug)) {
        return Ok(Some(slugs));
    }
    Err(ApiError::unknown_value(parameter, priced.iter().map(ToString::to_string)))
}

/// SERVICE section 3.4.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(in crate::rest) struct Bookmaker {
    pub(in crate::rest) slug: String,
    pub(in crate::rest) name: String,
}

impl Bookmaker {
    pub(in crate::rest) fn from_slug(slug: &str) -> Self {
        Self { slug: slug.to_owned(), name: name(slug).into_owned() }
    }
}

const LIST: Spec = Spec {
    aliases: &[("page_size", "limit"), ("page", "offset")],
    tolerated: &["tz", "full", "ordering"],
    ..Spec::new(&[]).paged()
};

endpoints! {
    /// Every bookmaker with a price, and the consensus.
    "/api/v2/bookmakers/", params(LIST), answers(Page<Bookmaker>), |request| bookmakers(&request);
}

fn bookmakers(request: &ApiRequest) -> ApiResult {
    let bookmakers = request.api.history.bookmakers();
    request.page_of(CacheControl::REFERENCE, &bookmakers, |slug| Bookmaker::from_slug(slug))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slug_is_accepted_and_a_name_is_not() {
        assert_eq!(slug("pinnacle").unwrap(), "pinnacle");
        assert_eq!(slug("william-hill").unwrap(), "williamhill");
        assert_eq!(slug("never_heard").unwrap(), "never_heard");
        let Err(ApiError::BadParameter(message)) = slug("William Hill") else {
            panic!("a name was taken for a slug");
        };
        assert!(message.contains("\"williamhill\""), "{message}");
    }
}
