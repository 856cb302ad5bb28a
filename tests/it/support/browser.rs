//! A browser without a screen: it keeps cookies, sends forms, and follows nothing by itself.

use std::collections::BTreeMap;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Hub, http::Answer};

/// Someone at the pages of a hub.
pub(crate) struct Browser<'a> {
    hub: &'a Hub,
    pub(crate) cookies: BTreeMap<String, String>,
    /// The token of the forms on the page that was read last.
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

    /// Sends a form of the page that was read last.
    pub(crate) async fn send(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let token = self.token.clone();
        let fields = [fields, &[("csrf", &*token)]].concat();
        self.send_with(path, &fields, &[]).await
    }

    /// Sends these fields and no others, with these headers besides.
    pub(crate) async fn send_with(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Answer {
        let (cookie, body) = (self.cookie(), encoded(fields));
        let own = [("cookie", &*cookie), ("content-type", "application/x-www-form-urlencoded")];
        let answer = self.hub.post(path, &[&own, headers].concat(), body.as_bytes()).await;
        self.take_in(&answer);
        answer
    }

    /// Reads the page of a form, and sends it.
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

/// What stands between the first `before` and the next `after`.
pub(crate) fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}

fn encoded(fields: &[(&str, &str)]) -> String {
    let percent = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let pair = |(name, value): &(&str, &str)| format!("{}={}", percent(name), percent(value));
    fields.iter().map(pair).collect::<Vec<_>>().join("&")
}
