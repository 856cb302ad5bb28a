//! Cookies of the pages: their names, and how they are read and set.
//!
//! Over https each name begins with `__Host-`, which a browser accepts only from this host, for the whole
//! host and over TLS: no other host of the domain can plant one. The operator's cookie is sent only to the
//! operator's pages and never with a link from elsewhere, which requires `__Secure-`. No cookie is visible to
//! scripts.

use cookie::{Cookie, SameSite, time::Duration};
use hyper::{
    HeaderMap,
    header::{COOKIE, HeaderValue},
};

/// A cookie of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CookieName {
    /// An anonymous browser: holds the secret of form tokens before log-in.
    Visitor,
    /// A customer who is logged in.
    Session,
    /// A browser that an account recognises.
    Device,
    /// An operator. A separate cookie, so that it cannot be confused with a customer's.
    Admin,
}

impl CookieName {
    fn as_str(self, secure: bool) -> &'static str {
        match (self, secure) {
            (Self::Visitor, true) => "__Host-mw_visitor",
            (Self::Visitor, false) => "mw_visitor",
            (Self::Session, true) => "__Host-mw_session",
            (Self::Session, false) => "mw_session",
            (Self::Device, true) => "__Host-mw_device",
            (Self::Device, false) => "mw_device",
            (Self::Admin, true) => "__Secure-mw_admin",
            (Self::Admin, false) => "mw_admin",
        }
    }

    /// The cookie's value; the first, if there are several.
    pub(super) fn read(self, headers: &HeaderMap, secure: bool) -> Option<&str> {
        let name = self.as_str(secure);
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs =
            lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
    }

    /// `Set-Cookie` for this value, which consists of hex digits and dots; without a maximum age it ends with
    /// the browser session.
    pub(super) fn set(self, value: &str, age_s: Option<i64>, secure: bool) -> Option<HeaderValue> {
        let (same_site, path) = match self {
            Self::Visitor | Self::Session | Self::Device => (SameSite::Lax, "/"),
            Self::Admin => (SameSite::Strict, "/admin/"),
        };
        let mut cookie = Cookie::build((self.as_str(secure), value))
            .http_only(true)
            .secure(secure)
            .same_site(same_site)
            .path(path);
        if let Some(age_s) = age_s {
            cookie = cookie.max_age(Duration::seconds(age_s));
        }
        HeaderValue::try_from(cookie.build().to_string()).ok()
    }

    /// `Set-Cookie` that deletes the cookie.
    pub(super) fn forget(self, secure: bool) -> Option<HeaderValue> {
        self.set("", Some(0), secure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str, secure: bool) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, line.parse().unwrap());
        CookieName::Session.read(&headers, secure).map(str::to_owned)
    }

    #[test]
    fn cookie_is_found_among_others() {
        assert_eq!(read("a=b; mw_session=12; c", false).as_deref(), Some("12"));
        assert_eq!(read("mw_session=12; mw_session=34", false).as_deref(), Some("12"));
        assert_eq!(read("xmw_session=12; mw_sessions=1", false), None);
    }

    /// A host of the same domain may set a bare name, but never one with the prefix.
    #[test]
    fn cookie_without_the_host_prefix_is_ignored_over_https() {
        assert_eq!(read("mw_session=12", true), None);
        assert_eq!(read("__Host-mw_session=12", true).as_deref(), Some("12"));
        assert_eq!(read("__Host-mw_session=12", false), None);
    }

    #[test]
    fn cookies_are_for_this_host_and_not_for_scripts() {
        let set = |secure| CookieName::Session.set("ab", Some(60), secure).unwrap();
        let (plain, secure) = (set(false), set(true));
        assert_eq!(plain, "mw_session=ab; HttpOnly; SameSite=Lax; Path=/; Max-Age=60");
        assert_eq!(
            secure,
            "__Host-mw_session=ab; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=60"
        );
        let operator = CookieName::Admin.set("ab", Some(60), true).unwrap();
        assert_eq!(
            operator,
            "__Secure-mw_admin=ab; HttpOnly; SameSite=Strict; Secure; Path=/admin/; Max-Age=60"
        );
        let forgotten = CookieName::Visitor.forget(true).unwrap();
        assert!(forgotten.to_str().unwrap().ends_with("Max-Age=0"), "{forgotten:?}");
    }
}
