//! The fields of forms and queries, of pages and of OAuth.

use std::collections::HashSet;

use axum::{
    Form,
    extract::{FromRequest, Query, Request, rejection::FormRejection},
    response::IntoResponse,
};
use hyper::{StatusCode, Uri};

/// Maximum bytes of a form. The longest has an address, two passwords and a token.
pub(crate) const FORM_BYTES_MAX: usize = 16 * 1024;

/// The body is not a form, is too long, or is incomplete: the status that says so.
#[derive(Debug)]
pub(crate) struct NoForm(pub(crate) StatusCode);

/// The fields of a form. Missing ones read as empty.
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// The first field of this name, trimmed.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.raw(name).trim()
    }

    /// The first field of this name, unchanged: a password may begin with a space.
    pub(crate) fn secret(&self, name: &str) -> String {
        self.raw(name).to_owned()
    }

    /// The first field of this name, unchanged.
    pub(crate) fn raw(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// Whether there is a field of this name, even an empty one.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// Whether a name occurs more than once.
    pub(crate) fn has_repeated(&self) -> bool {
        let names: HashSet<_> = self.0.iter().map(|(name, _)| name).collect();
        names.len() < self.0.len()
    }

    /// The fields of a query; empty if it cannot be read.
    pub(crate) fn of_query(uri: &Uri) -> Self {
        let read = Query::<Vec<(String, String)>>::try_from_uri(uri);
        Self(read.map(|Query(fields)| fields).unwrap_or_default())
    }

    /// Parses the body, and nothing else of the request.
    ///
    /// # Errors
    ///
    /// If it is not a complete form.
    pub(crate) async fn read(request: Request) -> Result<Self, NoForm> {
        match Form::<Vec<(String, String)>>::from_request(request, &()).await {
            Ok(Form(fields)) => Ok(Self(fields)),
            Err(refused) => Err(NoForm(status(refused))),
        }
    }
}

impl std::fmt::Debug for Fields {
    /// Only the names: the values include passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

fn status(refused: FormRejection) -> StatusCode {
    refused.into_response().status()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_a_missing_one_is_empty() {
        let pairs = [("email", " a@b "), ("password", " x "), ("email", "c@d")];
        let fields = Fields(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert_eq!(fields.text("email"), "a@b");
        assert_eq!(fields.secret("password"), " x ");
        assert_eq!(fields.text("none"), "");
        assert!(fields.has("email") && !fields.has("none"));
        assert!(!format!("{fields:?}").contains(" x "), "a password is shown: {fields:?}");
    }
    #[test]
    fn query_is_read_like_a_form() {
        let fields = |uri: &str| Fields::of_query(&uri.parse().unwrap());
        assert_eq!(fields("/a/?next=%2Fb%2F&next=c").text("next"), "/b/");
        assert!(fields("/a/?again").has("again"));
        assert!(!fields("/a/").has("again"));
    }
}
