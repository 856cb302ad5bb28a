//! Parses refused messages again, and pushes those that are usable now.

use std::{
    collections::HashMap,
    io::{self, Read as _, Write},
    sync::Arc,
};

use facts::line::LineWriter;
use ingest::{
    normalize::{Interpret, Interpretation},
    recording::Format,
};
use serde::Deserialize;

use super::{QuarantineError, read};
use crate::cli::feeds::RetryArgs;
use base::tls;
use hub::{
    push::FORMAT,
    quarantine::{QuarantineEntry, QuarantinedLine},
};

/// Lines per push: at most as many as a response can list refusals of.
const LINES_AT_ONCE: usize = 100;

/// Whether a message is usable now.
enum RetryVerdict {
    /// These lines of the push format.
    Usable(Vec<String>),
    Unusable(String),
}

pub(super) async fn run(args: RetryArgs, out: &mut impl Write) -> Result<(), QuarantineError> {
    let all = read(&args.which)?;
    let mut readers = MessageReaders::default();
    let mut usable: Vec<(QuarantinedLine, Vec<String>)> = Vec::new();
    let mut unusable = 0;
    for message in all {
        let QuarantineEntry { source, location, .. } = &message.entry;
        match readers.verdict(&message.entry) {
            RetryVerdict::Usable(lines) => {
                writeln!(out, "usable\t{source}\t{location}")?;
                usable.push((message, lines));
            }
            RetryVerdict::Unusable(reason) => {
                writeln!(out, "refused\t{source}\t{location}\t{reason}")?;
                unusable += 1;
            }
        }
    }
    writeln!(out, "{} usable now, {unusable} not", usable.len())?;
    let (Some(url), Some(key)) = (args.push, args.key) else { return Ok(()) };
    let client = PushClient::new(&url, &key)?;
    let mut dropped = 0;
    for part in parts(&usable) {
        dropped += client.push(part, out).await?;
    }
    Ok(writeln!(out, "{dropped} pushed and dropped from the quarantine")?)
}

/// Batches of messages, each of one source, in order.
fn parts(usable: &[(QuarantinedLine, Vec<String>)]) -> Vec<&[(QuarantinedLine, Vec<String>)]> {
    let mut parts = Vec::new();
    let (mut begin, mut lines) = (0, 0);
    for (index, (message, entry_lines)) in usable.iter().enumerate() {
        let other = usable[begin].0.entry.source != message.entry.source;
        if index > begin && (other || lines + entry_lines.len() > LINES_AT_ONCE) {
            parts.push(&usable[begin..index]);
            (begin, lines) = (index, 0);
        }
        lines += entry_lines.len();
    }
    parts.extend((begin < usable.len()).then(|| &usable[begin..]));
    parts
}

/// One interpreter for each source, since a message may depend on those before it.
#[derive(Default)]
struct MessageReaders {
    interpreters: HashMap<String, Option<Box<dyn Interpret>>>,
    lines: LineWriter,
}

impl MessageReaders {
    fn verdict(&mut self, line: &QuarantineEntry) -> RetryVerdict {
        if line.truncated {
            return RetryVerdict::Unusable("only the beginning of it was stored".to_owned());
        }
        let Some(bytes) = line.message().filter(|bytes| !bytes.is_empty()) else {
            return RetryVerdict::Unusable("nothing of it was stored".to_owned());
        };
        let source: Arc<str> = line.source.as_str().into();
        let interpreter = self.interpreters.entry(line.source.clone()).or_insert_with(|| {
            Format::of_name(&line.format).and_then(|format| format.interpreter(&source))
        });
        let Some(interpreter) = interpreter else {
            let reason = format!("single messages of {:?} cannot be read", line.format);
            return RetryVerdict::Unusable(reason);
        };
        let mut played = Interpretation::default();
        let outcome = interpreter.message(&bytes, line.at, &mut played);
        if let Some(error) = outcome.err().or_else(|| played.notices.into_iter().next()) {
            return RetryVerdict::Unusable(format!("{}: {error}", error.kind.as_str()));
        }
        match String::from_utf8(bytes) {
            // Unchanged, with its id.
            Ok(text) if line.format == FORMAT => RetryVerdict::Usable(vec![text]),
            _ => {
                RetryVerdict::Usable(played.batches.iter().map(|it| self.lines.timed(it)).collect())
            }
        }
    }
}

struct PushClient<'a> {
    client: reqwest::Client,
    url: &'a str,
    key: String,
}

/// The fields of the hub's answer that matter here.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct PushResponse {
    refusals: Vec<LineRefusal>,
    detail: Option<String>,
}

#[derive(Deserialize)]
struct LineRefusal {
    line: usize,
    reason: String,
}

impl<'a> PushClient<'a> {
    fn new(url: &'a str, key: &str) -> Result<Self, QuarantineError> {
        let mut key_text = String::new();
        if key == "-" {
            io::stdin().read_to_string(&mut key_text)?;
        } else {
            key_text.push_str(key);
        }
        let client = reqwest::Client::builder().no_proxy();
        let client = if url.starts_with("https:") {
            client.tls_backend_preconfigured(tls::client(None)?.as_ref().clone())
        } else {
            client.tls_backend_preconfigured(tls::without_authorities().as_ref().clone())
        };
        let url = url.trim_end_matches('/');
        let client = client.build();
        let client = client
            .map_err(|source| QuarantineError::Unreachable { url: url.to_owned(), source })?;
        Ok(Self { client, url, key: key_text.trim().to_owned() })
    }

    /// Pushes messages of one source, and removes those that are accepted; returns their number.
    async fn push(
        &self,
        messages: &[(QuarantinedLine, Vec<String>)],
        out: &mut impl Write,
    ) -> Result<usize, QuarantineError> {
        let Some((first, _)) = messages.first() else { return Ok(0) };
        let source = &first.entry.source;
        let body: Vec<&str> =
            messages.iter().flat_map(|(_, lines)| lines.iter().map(String::as_str)).collect();
        let refused = self.post(source, body.join("\n")).await?;
        let (mut number, mut dropped) = (0, 0);
        for (message, lines) in messages {
            let entry_lines = number + 1..=number + lines.len();
            number += lines.len();
            match refused.iter().find(|it| entry_lines.contains(&it.line)) {
                None => {
                    message.remove()?;
                    dropped += 1;
                }
                Some(LineRefusal { reason, .. }) => {
                    writeln!(
                        out,
                        "refused by the hub\t{source}\t{}\t{reason}",
                        message.entry.location
                    )?;
                }
            }
        }
        Ok(dropped)
    }

    async fn post(&self, source: &str, body: String) -> Result<Vec<LineRefusal>, QuarantineError> {
        let url = format!("{}/ingest/v1/{source}", self.url);
        let unreachable = |error: reqwest::Error| QuarantineError::Unreachable {
            url: url.clone(),
            // It may contain the address, which is printed already.
            source: error.without_url(),
        };
        let request = self.client.post(&url).header("authorization", format!("Token {}", self.key));
        let response = request.body(body).send().await.map_err(unreachable)?;
        let status = response.status().as_u16();
        let text = response.text().await.map_err(unreachable)?;
        let response_body: PushResponse = serde_json::from_str(&text).unwrap_or_default();
        if status != 200 {
            let detail = response_body.detail.unwrap_or_default();
            return Err(QuarantineError::NotTaken { url, status, detail });
        }
        Ok(response_body.refusals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_parsed_by_their_format() {
        let line = |format: &str, bytes: &str| QuarantineEntry {
            at: 1,
            source: format!("of {format}"),
            format: format.to_owned(),
            location: String::new(),
            kind: "syntax".to_owned(),
            reason: String::new(),
            bytes: Some(bytes.to_owned()),
            base64: None,
            truncated: false,
        };
        let mut readers = MessageReaders::default();
        let mut check =
            |line: &QuarantineEntry, expected: Result<usize, &str>| match readers.verdict(line) {
                RetryVerdict::Usable(lines) => assert_eq!(Ok(lines.len()), expected),
                RetryVerdict::Unusable(reason) => assert_eq!(Err(&*reason), expected),
            };
        let fixture = r#"{"id":"1","sport":"hockey","match":"m","fact":{"fixture":{}}}"#;
        check(&line(FORMAT, fixture), Ok(1));
        check(&line(FORMAT, "{"), Err("truncated: EOF while parsing an object at line 1 column 1"));
        check(&line(FORMAT, ""), Err("nothing of it was stored"));
        let unknown = "single messages of \"wyscout\" cannot be read";
        check(&line("wyscout", "x"), Err(unknown));
        let cut = QuarantineEntry { truncated: true, ..line(FORMAT, fixture) };
        check(&cut, Err("only the beginning of it was stored"));
    }
}
