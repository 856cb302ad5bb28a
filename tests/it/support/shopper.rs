//! A customer who retries when the hub is killed: every request may fail, and the caller repeats
//! it. Otherwise like [`super::Browser`].

use std::{collections::BTreeMap, io};

use super::{
    between,
    http::{self, Answer},
};

#[derive(Debug)]
pub(crate) struct Shopper {
    address: String,
    pub(crate) cookies: BTreeMap<String, String>,
}

impl Shopper {
    pub(crate) fn new(address: &str) -> Self {
        Self { address: address.to_owned(), cookies: BTreeMap::new() }
    }

    /// Opens a page; redirections are not followed.
    pub(crate) async fn open(&mut self, path: &str) -> io::Result<Answer> {
        self.ask("GET", path, &[], b"").await
    }

    /// Opens a page, and submits its form to `action` with these fields.
    pub(crate) async fn submit(
        &mut self,
        page: &str,
        action: &str,
        fields: &[(&str, &str)],
    ) -> io::Result<Answer> {
        let shown = self.open(page).await?;
        let token = between(&shown.body, "name=\"csrf\" value=\"", "\"").unwrap_or_default();
        let fields = [&[("csrf", token)], fields].concat();
        let form = reqwest::Url::parse_with_params("http://form/", &fields).expect("an address");
        let body = form.query().unwrap_or_default().as_bytes().to_owned();
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        self.ask("POST", action, &headers, &body).await
    }

    async fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Answer> {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let (cookies, length) = (cookies.join("; "), body.len().to_string());
        let mut headers = headers.to_vec();
        headers.push(("content-length", &length));
        if !cookies.is_empty() {
            headers.push(("cookie", &cookies));
        }
        let answer = http::try_request(&self.address, method, path, &headers, body).await?;
        for set in answer.headers("set-cookie") {
            let (pair, attributes) = set.split_once(';').unwrap_or((set, ""));
            let (name, value) = pair.split_once('=').expect("a cookie has a name");
            if attributes.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        Ok(answer)
    }
}
