//! A headless browser: it keeps cookies, submits forms, and does not follow redirects.

use std::collections::BTreeMap;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Hub, http::Answer};

/// A visitor of a hub's pages.
pub(crate) struct Browser<'a> {
    hub: &'a Hub,
    pub(crate) cookies: BTreeMap<String, String>,
    /// The form token of the last page.
    pub(crate) token: String,
}

impl<'a> Browser<'a> {
    pub(crate) fn new(hub: &'a Hub) -> Self {
        Self { hub, cookies: BTreeMap::new(), token: String::new() }
    }

    /// Reads a page.
    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        let cookie = self.cookie();
        let answer = self.hub.request("GET", path, &[("cookie", &cookie)]).await;
        self.take_in(&answer);
        answer
    }

    /// Submits a form of the last page.
    pub(crate) async fn send(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let token = self.token.clone();
        let fields = [fields, &[("csrf", &*token)]].concat();
        self.send_with(path, &fields, &[]).await
    }

    /// Sends exactly these fields, with these additional headers.
    pub(crate) async fn send_with(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Answer {
        let (cookie, body) = (self.cookie(), encoded(fields));
        let required =
            [("cookie", &*cookie), ("content-type", "application/x-www-form-urlencoded")];
        let answer = self.hub.post(path, &[&required, headers].concat(), body.as_bytes()).await;
        self.take_in(&answer);
        answer
    }

    /// Reads the page of a form, and submits it.
    pub(crate) async fn fill(&mut self, page: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let answer = self.get(page).await;
        assert_eq!(answer.status, 200, "{page}: {answer:?}");
        self.send(path, fields).await
    }

    fn cookie(&self) -> String {
        let pairs = self.cookies.iter().map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join("; ")
    }

    fn take_in(&mut self, answer: &Answer) {
        for line in answer.head.lines() {
            let Some((name, cookie)) = line.split_once(": ") else { continue };
            if !name.eq_ignore_ascii_case("set-cookie") {
                continue;
            }
            let (pair, terms) = cookie.split_once("; ").expect("a cookie has terms");
            let (name, value) = pair.split_once('=').expect("a cookie has a value");
            if terms.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        if let Some(token) = between(&answer.body, "name=\"csrf\" value=\"", "\"") {
            self.token = token.to_owned();
        }
    }
}

/// The text between the first `before` and the next `after`.
pub(crate) fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}

fn encoded(fields: &[(&str, &str)]) -> String {
    let percent = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let pair = |(name, value): &(&str, &str)| format!("{}={}", percent(name), percent(value));
    fields.iter().map(pair).collect::<Vec<_>>().join("&")
}
