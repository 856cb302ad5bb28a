//! Which documents and events a channel has, by its name.

use facts::event::{PlayKind, Sport};
use serde_json::{Map, Value, json};

use crate::patch::{self, Definitions};

/// A kind of channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelKind {
    /// The name, with placeholders: `football/{id}`.
    pub name: String,
    /// A regular expression of the names, without its anchors.
    pattern: String,
    /// The definition of its document.
    pub document: String,
    /// The definition of its events, if it has any.
    pub event: Option<&'static str>,
}

impl ChannelKind {
    fn new(name: &str, document: impl Into<String>, event: Option<&'static str>) -> Self {
        let pattern = name
            .replace("{sport}", "[a-z]+")
            .replace("{id}", "[0-9]+")
            .replace("{bookmaker}", "[^/]+");
        Self { name: name.to_owned(), pattern, document: document.into(), event }
    }

    /// The definition of changes of its document.
    #[must_use]
    pub fn patch(&self) -> String {
        patch::name_of(&self.document)
    }

    /// Whether a channel of this name is of this kind.
    #[must_use]
    pub fn has(&self, channel: &str) -> bool {
        let (mut pattern, mut segments) = (self.name.split('/'), channel.split('/'));
        loop {
            match (pattern.next(), segments.next()) {
                (None, None) => return true,
                (Some(part), Some(segment)) if part == segment || part.starts_with('{') => {}
                _ => return false,
            }
        }
    }
}

/// All kinds of channels.
#[must_use]
pub fn kinds() -> Vec<ChannelKind> {
    let mut kinds = Vec::new();
    for sport in Sport::ALL {
        let word = sport.as_str();
        let (name, document, event) = match sport.play() {
            PlayKind::Football => ("Football", "FootballMatch".to_owned(), "FootballEvent"),
            PlayKind::Tennis => ("Tennis", "TennisMatch".to_owned(), "TennisEvent"),
            PlayKind::Scoreboard => {
                let name = sport.profile().type_name;
                (name, format!("{name}Match"), "ScoreboardEvent")
            }
            PlayKind::Race => ("HorseRacing", "HorseRace".to_owned(), "RaceEvent"),
            PlayKind::None => continue,
        };
        kinds.push(ChannelKind::new(word, format!("{name}Board"), None));
        kinds.push(ChannelKind::new(&format!("{word}/{{id}}"), document, Some(event)));
    }
    kinds.extend([
        ChannelKind::new("{sport}/{id}/odds", "ConsensusOdds", Some("ConsensusEvent")),
        ChannelKind::new("{sport}/{id}/odds/{bookmaker}", "Odds", Some("OddsEvent")),
        ChannelKind::new("feeds", "Feeds", None),
        ChannelKind::new("signals", "Signals", Some("SignalEvent")),
        ChannelKind::new("test/football", "FootballMatch", Some("FootballEvent")),
        ChannelKind::new("test/football/odds", "ConsensusOdds", Some("ConsensusEvent")),
        ChannelKind::new("test/football/odds/{bookmaker}", "Odds", Some("OddsEvent")),
        ChannelKind::new("test/boards/football", "FootballBoard", None),
        ChannelKind::new("test/feeds", "Feeds", None),
        ChannelKind::new("test/signals", "Signals", Some("SignalEvent")),
    ]);
    kinds
}

/// The sports that are followed by their scoreboards, with their names in definitions.
pub(crate) fn scoreboards() -> impl Iterator<Item = (Sport, &'static str)> {
    let all = Sport::ALL.into_iter().filter(|sport| sport.play() == PlayKind::Scoreboard);
    all.map(|sport| (sport, sport.profile().type_name))
}

/// Adds the unions of documents, patches and boards, and the three definitions by the name of the channel.
pub(crate) fn add(definitions: &mut Definitions) {
    let kinds = kinds();
    let reference = |name: &str| json!({"$ref": format!("#/$defs/{name}")});
    let union = |description: &str, names: Vec<String>| {
        let branches: Vec<_> = names.iter().map(|name| reference(name)).collect();
        json!({"description": description, "anyOf": branches})
    };
    let documents: Vec<_> = kinds.iter().map(|kind| kind.document.clone()).collect();
    patch::add(definitions, &documents);
    let patches = documents.iter().map(|name| patch::name_of(name)).collect();
    let ending =
        |end: &str| documents.iter().filter(|it| it.ends_with(end)).cloned().collect::<Vec<_>>();
    let matches = [ending("Match"), ending("Race")].concat();
    let boards = ending("Board");
    let all = documents.iter().cloned().chain(["OpeningDocument".to_owned()]).collect();
    for (name, schema) in [
        ("Match", union("The document of a match or a race.", matches)),
        ("Board", union("The document of a board.", boards)),
        ("Document", union("The document of a channel.", all)),
        ("Patch", union("A change of the document of a channel.", patches)),
    ] {
        definitions.insert(name.to_owned(), schema);
    }
    let by_channel = |description: &str, schema_for: &dyn Fn(&ChannelKind) -> Option<Value>| {
        let each = kinds
            .iter()
            .filter_map(|kind| Some((format!("^{}$", kind.pattern), schema_for(kind)?)));
        let each: Map<_, _> = each.collect();
        json!({"description": description, "type": "object", "patternProperties": each})
    };
    for (name, schema) in [
        (
            "DocumentsByChannel",
            by_channel("Documents by the name of the channel.", &|kind| {
                let either = [reference(&kind.document), reference("OpeningDocument")];
                Some(json!({"anyOf": either}))
            }),
        ),
        (
            "PatchesByChannel",
            by_channel("Changes of documents by the name of the channel.", &|kind| {
                Some(reference(&kind.patch()))
            }),
        ),
        (
            "EventsByChannel",
            by_channel(
                "Lists of events by the name of the channel. Other channels have none.",
                &|kind| Some(json!({"type": "array", "items": reference(kind.event?)})),
            ),
        ),
    ] {
        definitions.insert(name.to_owned(), schema);
    }
}
