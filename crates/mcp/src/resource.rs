//! Resources: the documents of channels, and the pages of the documentation.

use std::{sync::Arc, time::Duration};

use accounts::{Caller, products::Product};
use fanout::encode::payload;
use hub::channels::{BOOK_PRICES, needs_of_name};
use rmcp::{
    ErrorData,
    model::{
        CacheScope, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
        ResourceTemplate,
    },
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    argument::Notes,
    call::{self, status_word},
    envelope::{Answer, AnswerData, Citation, DataState, RESULT_BYTES_MAX, Rendered},
    refusal::Refusal,
    server::Server,
};

const SCHEME: &str = "matchwire://";

/// The resources of one list. All matches are in the tools.
const LISTED_MAX: usize = 100;

/// How long a list of resources, and an answer before and after play, stays as it is.
const LIST_TTL_MS: u64 = 5_000;
const PREMATCH_TTL_MS: u64 = 30_000;
const ENDED_TTL_MS: u64 = 3_600_000;

/// How long the state of all sources is remembered.
const FEEDS_FOR: Duration = Duration::from_millis(500);

/// The document of a channel in one version.
#[derive(Debug)]
pub(crate) struct Document {
    data: Arc<Rendered>,
    state: DataState,
    ttl_ms: u64,
}

/// What a URI names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResourceName {
    Channel(String),
    Docs(String),
}

/// Reads a URI.
pub(crate) fn named(uri: &str) -> Option<ResourceName> {
    let path = uri.strip_prefix(SCHEME)?;
    Some(match path.strip_prefix("docs/") {
        Some(page) => ResourceName::Docs(page.to_owned()),
        None => ResourceName::Channel(path.to_owned()),
    })
}

fn uri(path: &str) -> String {
    format!("{SCHEME}{path}")
}

impl Server {
    fn sport_word(&self) -> &'static str {
        self.kind.sport.as_str()
    }

    /// Whether the caller may see a channel through this server: its own sport, and what the account has.
    pub(crate) fn may_follow(&self, channel: &str, caller: &Caller) -> Result<(), Refusal> {
        let first = channel.split('/').next().unwrap_or_default();
        let is_football = self.kind.product == Product::Football;
        let is_own = first == self.sport_word();
        let is_shared = is_football && matches!(first, "signals" | "feeds") && channel == first;
        if !is_own && !is_shared {
            return Err(Refusal::not_found(format!(
                "This server has the channels of {}. Other sports have servers of their own.",
                self.sport_word()
            )));
        }
        let has_books = needs_of_name(channel).cover(BOOK_PRICES);
        if has_books { self.shared.admission.check(caller, Product::Odds) } else { Ok(()) }
    }

    /// The state of all sources together: that of the worst one that has not ended.
    pub(crate) async fn feeds_state(&self) -> DataState {
        let mut remembered = self.shared.feeds.lock().await;
        if let Some((state, at)) = &*remembered
            && at.elapsed() < FEEDS_FOR
        {
            return state.clone();
        }
        let image = self.shared.channels.image("feeds").await.ok().flatten().unwrap_or_default();
        let state = worst(&image["data"]["sources"]);
        *remembered = Some((state.clone(), tokio::time::Instant::now()));
        state
    }

    /// The matches in play, the board, and the documentation.
    pub(crate) fn resources(&self) -> ListResourcesResult {
        let sport = self.sport_word();
        let json = "application/json";
        let mut listed =
            vec![Resource::new(uri(sport), format!("{sport} board")).with_mime_type(json)];
        if self.kind.product == Product::Football {
            listed.push(Resource::new(uri("signals"), "signals").with_mime_type(json));
            listed.push(Resource::new(uri("feeds"), "feeds").with_mime_type(json));
        }
        for page in &self.shared.parts.docs {
            let docs = Resource::new(uri(&format!("docs/{}", page.name)), page.title.clone());
            listed.push(docs.with_mime_type("text/markdown"));
        }
        let room = LISTED_MAX.saturating_sub(listed.len());
        for record in self.shared.parts.history.live(self.kind.sport).iter().take(room) {
            let title = crate::text::clean(&self.kind.names.title(&record.summary), 200);
            let about = format!("{title}, {}", status_word(&record.summary));
            let of_match = Resource::new(uri(&format!("{sport}/{}", record.summary.id)), title);
            listed.push(of_match.with_description(about).with_mime_type(json));
        }
        ListResourcesResult {
            ttl_ms: Some(LIST_TTL_MS),
            cache_scope: Some(self.cache_scope()),
            ..ListResourcesResult::with_all_items(listed)
        }
    }

    pub(crate) fn cache_scope(&self) -> CacheScope {
        if self.kind.product.addon().is_some() { CacheScope::Private } else { CacheScope::Public }
    }

    pub(crate) fn resource_templates(&self) -> Vec<ResourceTemplate> {
        let sport = self.sport_word();
        let template = |path: &str, name: &str, about: &str| {
            ResourceTemplate::new(uri(&format!("{sport}/{path}")), name)
                .with_description(about)
                .with_mime_type("application/json")
        };
        vec![
            template("{id}", "match", "A match; `id` completes from the names of its sides."),
            template("{id}/odds", "odds", "The consensus of all bookmakers on a match."),
            template(
                "{id}/odds/{bookmaker}",
                "book",
                "The prices of one bookmaker. Needs the Odds add-on.",
            ),
        ]
    }

    /// Reads a resource.
    pub(crate) async fn read(
        &self,
        uri: &str,
        caller: &Caller,
    ) -> Result<ReadResourceResult, ErrorData> {
        let missing = || {
            let shown: String = uri.chars().take(200).collect();
            ErrorData::resource_not_found(
                format!("there is no resource {shown:?}"),
                Some(json!({"uri": shown})),
            )
        };
        match named(uri).ok_or_else(missing)? {
            ResourceName::Docs(page) => {
                let page = self.shared.parts.docs.iter().find(|document| document.name == page);
                let page = page.ok_or_else(missing)?;
                let answer = self.shared.rest.get(&page.path, caller).await;
                let answer = answer.map_err(|refusal| refusal.error())?;
                let text = String::from_utf8_lossy(&answer.body).into_owned();
                Ok(contents(uri, "text/markdown", text, ENDED_TTL_MS, CacheScope::Public))
            }
            ResourceName::Channel(channel) => {
                self.may_follow(&channel, caller).map_err(|refusal| match refusal.code {
                    "not_found" => missing(),
                    _ => refusal.error(),
                })?;
                let (text, ttl_ms) = self.document(&channel, caller).await.map_err(|refusal| {
                    if refusal.code == "not_found" { missing() } else { refusal.error() }
                })?;
                let scope = self.cache_scope();
                Ok(contents(uri, "application/json", text, ttl_ms, scope))
            }
        }
    }

    /// The document of a channel; of a match that the hub no longer follows, what REST knows of it.
    async fn document(&self, channel: &str, caller: &Caller) -> Result<(String, u64), Refusal> {
        let shared = &self.shared;
        let url = format!("{}/stream/v1/channels/{channel}", shared.parts.public_url);
        let (data, state, ttl_ms, url) = match shared.channels.versioned_image(channel).await? {
            Some(image) => {
                let version = (image.epoch, image.seq);
                let make = async move {
                    call::blocking(move || document(&payload(&image.frame))).await?.map(Arc::new)
                };
                let document = shared.documents.get_or_make(channel, version, make).await?;
                let Document { data, state, ttl_ms } = &*document;
                (AnswerData::Rendered(Arc::clone(data)), state.clone(), *ttl_ms, url)
            }
            None => {
                let id = channel.split('/').nth(1).filter(|_| channel.split('/').count() == 2);
                let id = id.ok_or_else(|| crate::channels::no_channel(channel))?;
                let address = match self.kind.product {
                    Product::Football => format!("/api/v2/events/{id}/"),
                    product => {
                        format!("/{product}/api/v2/{}/{id}/", self.kind.sport.profile().matches)
                    }
                };
                let data = shared.rest.get(&address, caller).await?.value()?;
                let url = format!("{}{address}", shared.parts.public_url);
                (AnswerData::Value(data), DataState::ARCHIVED, ENDED_TTL_MS, url)
            }
        };
        let bytes_max = RESULT_BYTES_MAX;
        let answer = Answer { data, state, url, bytes_max, cursor: None, paged: None };
        let notes = Notes::default();
        let is_partial = shared.parts.history.archive().is_partial();
        let cited = Citation { tool: channel, id: None, notes: &notes, is_partial };
        let result = answer.into_result(cited, shared.parts.stale_after_ms, &shared.rendered)?;
        Ok((result.structured(), ttl_ms))
    }
}

fn contents(
    uri: &str,
    mime_type: &str,
    text: String,
    ttl_ms: u64,
    scope: CacheScope,
) -> ReadResourceResult {
    let contents = ResourceContents::TextResourceContents {
        uri: uri.to_owned(),
        mime_type: Some(mime_type.to_owned()),
        text,
        meta: None,
    };
    ReadResourceResult::new(vec![contents]).with_ttl_ms(ttl_ms).with_cache_scope(scope)
}

/// The document of an image as it is answered.
fn document(image: &[u8]) -> Result<Document, Refusal> {
    let (document, state, ttl_ms) = image_parts(image)?;
    let document = serde_json::from_str(document.get()).map_err(|_| Refusal::unavailable())?;
    let data = Arc::new(Rendered::from_document(document, RESULT_BYTES_MAX));
    Ok(Document { data, state, ttl_ms })
}

/// The document of an image, its state, and how long it stays as it is.
fn image_parts(image: &[u8]) -> Result<(&RawValue, DataState, u64), Refusal> {
    #[derive(Deserialize)]
    struct Frame<'a> {
        epoch: &'a str,
        seq: u64,
        #[serde(default)]
        at: Value,
        #[serde(borrow)]
        data: &'a RawValue,
    }
    #[derive(Deserialize, Default)]
    struct Words {
        life: Option<String>,
        feed: Option<String>,
    }
    let frame: Frame<'_> = serde_json::from_slice(image).map_err(|_| Refusal::unavailable())?;
    let Frame { epoch, seq, at, data } = frame;
    let position = fanout::Epoch::parse(epoch).map(|it| record::Position { epoch: it.0, seq });
    // Not every document has them.
    let Words { life, feed: word } = serde_json::from_str(data.get()).unwrap_or_default();
    let (source_at, received_at) = (at["src"].as_i64(), at["in"].as_i64());
    let state = DataState { feed: feed(word.as_deref()), source_at, received_at, position };
    let ttl_ms = match life.as_deref() {
        Some("prematch") => PREMATCH_TTL_MS,
        Some("ended") => ENDED_TTL_MS,
        _ => 0,
    };
    Ok((data, state, ttl_ms))
}

fn feed(word: Option<&str>) -> &'static str {
    const FEEDS: [&str; 4] = ["down", "recovering", "late", "live"];
    FEEDS.into_iter().find(|feed| word == Some(*feed)).unwrap_or("down")
}

/// The state of the worst source, and the time of the latest message of all.
fn worst(sources: &Value) -> DataState {
    const WORST_FIRST: [&str; 3] = ["down", "recovering", "late"];
    let sources = sources.as_object();
    let running: Vec<&Value> = sources
        .into_iter()
        .flat_map(serde_json::Map::values)
        .filter(|it| it["ended"] != true)
        .collect();
    let has = |state: &&&str| running.iter().any(|source| source["state"] == **state);
    let last = running.iter().filter_map(|source| source["last"].as_i64()).max();
    let state = WORST_FIRST.iter().find(has).copied();
    let calm = if running.is_empty() { DataState::ARCHIVED.feed } else { "live" };
    DataState { feed: state.unwrap_or(calm), source_at: None, received_at: last, position: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_name_channels_and_pages() {
        assert_eq!(
            named("matchwire://football/7/odds"),
            Some(ResourceName::Channel("football/7/odds".into()))
        );
        assert_eq!(named("matchwire://docs/football"), Some(ResourceName::Docs("football".into())));
        assert_eq!(named("file:///etc/passwd"), None);
    }

    #[test]
    fn document_of_an_image_has_its_state_and_is_not_copied() {
        let data = r#"{"life":"ended","feed":"live","matches":{"7":{"home":"A"}}}"#;
        let frame = |data: &str| {
            let head = r#"{"type":"image","ch":"football","epoch":"a1","seq":7,"at":{"in":5}"#;
            format!(r#"{head},"data":{data}}}"#).into_bytes()
        };
        let image = frame(data);
        let (document, state, ttl_ms) = image_parts(&image).unwrap();
        assert_eq!((document.get(), ttl_ms), (data, ENDED_TTL_MS));
        assert!(image.as_ptr_range().contains(&document.get().as_ptr()));
        assert_eq!((state.feed, state.source_at, state.received_at), ("live", None, Some(5)));
        assert_eq!(state.position.map(|position| position.seq), Some(7));
        let other = frame(r#"{"life":1,"sources":{}}"#);
        let (_, state, ttl_ms) = image_parts(&other).unwrap();
        assert_eq!((state.feed, ttl_ms), ("down", 0));
        assert!(image_parts(b"{}").is_err());
    }

    #[test]
    fn worst_source_counts_until_it_has_ended() {
        let source = |state: &str, ended: bool| json!({"state": state, "ended": ended, "last": 5});
        let state = worst(&json!({"a": source("live", false), "b": source("late", false)}));
        assert_eq!((state.feed, state.received_at), ("late", Some(5)));
        assert_eq!(
            worst(&json!({"a": source("live", false), "b": source("down", true)})).feed,
            "live"
        );
        assert_eq!(worst(&json!({})).feed, "archived");
    }
}
