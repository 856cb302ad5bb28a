//! Calls of tools.

use std::{sync::Arc, time::Duration};

use accounts::{Caller, products::Product};
use base::{
    Micros, time_format,
    work::{self, Pool},
};
use facts::event::Sport;
use fanout::Position;
use history::query::EntityKind;
use record::{Key, MatchRecord, MatchSummary, Vocabulary};
use rmcp::{RoleServer, service::RequestContext};
use rust_decimal::Decimal;
use serde_json::{Map, Value, json};

use crate::{
    BaseUrl,
    argument::{Argument, ArgumentKind, Arguments},
    days::Calendar,
    envelope::{self, Answer, AnswerData, Citation, DataState, ENVELOPE_BYTES, ToolResult},
    fit::{self, Cursor},
    refusal::Refusal,
    rest::RestAnswer,
    server::Server,
    text::clean,
    tool_arguments::{LIMIT_DEFAULT, RestPath, SECTIONS, ServerTool, find_kinds},
    tool_list::ToolAction,
    wait::{self, Progress, Until, Wait},
};

/// A call of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub server: &'a Server,
    pub tool: &'a ServerTool,
    pub caller: &'a Caller,
    /// The address of the hub as the client knows it.
    pub base: Option<&'a BaseUrl>,
    /// Only calls that wait need it, to be cancelled and to report progress.
    pub context: Option<&'a RequestContext<RoleServer>>,
}

/// The longest text that says what a name stands for, in characters.
pub(crate) const NOTE_CHARS_MAX: usize = 160;

/// How long `wait_for_change` waits by default.
const WAIT_S: usize = 25;

/// What is read of REST, and the state that it was in.
#[derive(Debug)]
pub(crate) struct RestRead {
    pub answer: RestAnswer,
    pub state: DataState,
}

impl Call<'_> {
    /// Runs the call.
    pub(crate) async fn run(&self, given: &Map<String, Value>) -> Result<ToolResult, Refusal> {
        let arguments = Arguments::read(&self.tool.arguments, given, self.caller.zone)?;
        let mut arguments = self.resolved(arguments).await?;
        let answer = self.answer(&mut arguments).await?;
        let id = arguments.id("match_id").or_else(|| arguments.id("race_id"));
        let tool = &self.server.kind.listed_name(self.tool);
        let shared = &self.server.shared;
        let is_partial = shared.parts.history.archive().is_partial();
        let cited = Citation { tool, id, notes: &arguments.notes, is_partial };
        answer.into_result(cited, shared.parts.stale_after_ms, &shared.rendered)
    }

    /// The arguments with ids in place of names.
    async fn resolved(&self, mut arguments: Arguments) -> Result<Arguments, Refusal> {
        arguments.spread_date(self.tool.rest.as_ref().is_some_and(|rest| rest.has("date")));
        self.name_market(&mut arguments);
        // `team` of a search is a name or a part of it; a number is an id.
        let team = arguments.text("team").and_then(|team| team.parse::<Key>().ok());
        if let Some(team) = team
            && self.tool.has("team_id")
        {
            arguments.remove("team");
            arguments.set("team_id", team);
        }
        if matches!(self.tool.declared.does, ToolAction::Matches { .. }) {
            self.take_pair(&mut arguments).await?;
        }
        // Last, since a season is one of a league.
        let is_season = |argument: &&Argument| argument.name == "season_id";
        let (seasons, others): (Vec<_>, Vec<_>) = self.tool.arguments.iter().partition(is_season);
        for Argument { name, kind, .. } in others.into_iter().chain(seasons) {
            let Some(asked) = arguments.text(name).map(ToOwned::to_owned) else { continue };
            let (id, described) = match *kind {
                ArgumentKind::EntityId(kind @ EntityKind::Season) => {
                    let names = &self.server.kind.names;
                    let id = names.season(&asked, arguments.id("league_id"))?;
                    (id, names.named(kind, id))
                }
                ArgumentKind::EntityId(kind) => {
                    let id = self.entity(kind, asked).await?;
                    (id, self.server.kind.names.named(kind, id))
                }
                ArgumentKind::MatchId => {
                    let id = self.match_named(asked, &arguments.calendar).await?;
                    (id, self.server.kind.names.described(id))
                }
                _ => continue,
            };
            arguments.set(name, id);
            if let Some(described) = described {
                let described = clean(&described, NOTE_CHARS_MAX);
                arguments.notes.resolved.insert((*name).to_owned(), described.into());
            }
        }
        Ok(arguments)
    }

    /// The one entity with this name.
    pub(crate) async fn entity(&self, kind: EntityKind, asked: String) -> Result<Key, Refusal> {
        let names = self.server.kind.names.clone();
        blocking(move || names.resolve(kind, &asked)).await?
    }

    async fn match_named(&self, asked: String, calendar: &Calendar) -> Result<Key, Refusal> {
        let (names, calendar) = (self.server.kind.names.clone(), calendar.clone());
        let tense = self.tool.declared.tense();
        blocking(move || names.match_named(&asked, tense, &calendar)).await?
    }

    async fn answer(&self, arguments: &mut Arguments) -> Result<Answer, Refusal> {
        match self.tool.declared.does {
            ToolAction::Rest { .. } if self.tool.has("stat") => self.leaders(arguments).await,
            ToolAction::Rest { .. } => self.rest(arguments).await,
            ToolAction::Matches { .. } => self.matches(arguments).await,
            ToolAction::LiveScores => self.live_scores(arguments).await,
            ToolAction::HeadToHead { .. } => self.head_to_head(arguments).await,
            ToolAction::MatchDetail => self.match_detail(arguments).await,
            ToolAction::CompareOdds => self.compare_odds(arguments).await,
            ToolAction::OddsHistory => self.odds_history(arguments).await,
            ToolAction::Money => self.money(arguments).await,
            ToolAction::Find => self.find(arguments).await,
            ToolAction::CheckMatches => self.check_matches(arguments).await,
            ToolAction::WaitForChange => self.wait_for_change(arguments).await,
            ToolAction::Feeds => self.feeds().await,
            ToolAction::Account => self.account().await,
            ToolAction::NotAvailable(why) => Err(Refusal::new("not_available", why)),
        }
    }

    /// An address of REST as the client would call it.
    pub(crate) fn url(&self, address: &str) -> String {
        let public_url = &*self.server.shared.parts.public_url;
        let base = self.base.map_or(public_url, |BaseUrl(base)| &**base);
        format!("{base}{address}")
    }

    pub(crate) fn state_of(&self, id: Key) -> DataState {
        let record = self.server.shared.parts.history.current(id);
        DataState::for_match(record.as_ref())
    }

    /// Reads an address of REST, about this match if there is one: with the position that the answer holds
    /// at least. If the match changes meanwhile, it reads again.
    pub(crate) async fn read(
        &self,
        address: &str,
        subject: Option<Key>,
    ) -> Result<RestRead, Refusal> {
        let shared = &self.server.shared;
        let path = address.split('?').next().unwrap_or_default();
        if let Some(product) = Product::from_path(path)
            && product != self.server.kind.product
        {
            shared.admission.check(self.caller, product)?;
        }
        let Some(id) = subject else {
            let answer = self.fetch(address, None).await?;
            return Ok(RestRead { answer, state: self.server.feeds_state().await });
        };
        let mut state = self.state_of(id);
        for _ in 0..3 {
            let answer = self.fetch(address, subject).await?;
            let after = self.state_of(id);
            if after == state {
                return Ok(RestRead { answer, state });
            }
            state = after;
        }
        // It changes all the time: resuming from before the answer repeats something and loses nothing.
        let state = self.state_of(id);
        let answer = self.fetch(address, subject).await?;
        Ok(RestRead { answer, state })
    }

    async fn fetch(&self, address: &str, subject: Option<Key>) -> Result<RestAnswer, Refusal> {
        let shared = &self.server.shared;
        let answer = shared.rest.get(address, self.caller).await;
        answer.map_err(|refusal| match (refusal.code, subject) {
            ("not_found", Some(id)) if shared.parts.history.summary(id).is_none() => {
                self.server.kind.names.no_match(id)
            }
            ("not_found", Some(_)) => {
                Refusal::new("not_available", "Nothing is known of this match there.")
            }
            ("not_found", None) => {
                Refusal::not_found("Nothing has this id. `find` searches by names.")
            }
            // It says what is missing.
            ("bookmakers_not_entitled", _) => {
                shared.admission.check(self.caller, Product::Odds).err().unwrap_or(refusal)
            }
            _ => refusal,
        })
    }

    /// REST ignores words of statuses that it does not know; a model takes the answer for a filtered one.
    pub(crate) fn check_status(&self, arguments: &Arguments) -> Result<(), Refusal> {
        const KNOWN: [&str; 5] = ["notstarted", "live", "finished", "postponed", "cancelled"];
        let vocabulary = vocabulary(self.server.kind.sport);
        let mut words = arguments.text("status").into_iter().flat_map(|words| words.split(','));
        match words.find(|word| vocabulary.parse(word).is_none()) {
            Some(word) => {
                Err(Refusal::bad_argument(format!("There is no status {:?}.", word.trim()))
                    .with("accepted", KNOWN.to_vec()))
            }
            None => Ok(()),
        }
    }

    pub(crate) async fn rest(&self, arguments: &Arguments) -> Result<Answer, Refusal> {
        self.check_status(arguments)?;
        let Some(rest) = &self.tool.rest else { return Err(Refusal::unavailable()) };
        let of_one = rest.of_match.is_some() && arguments.get("match_id").is_some();
        let subject = subject(rest, arguments, of_one);
        self.page(arguments, rest.paged.filter(|_| !of_one), subject).await
    }

    /// What the tool's path of REST answers, from the cursor on in its list at `paged`; about this match if there is one.
    pub(crate) async fn page(
        &self,
        arguments: &Arguments,
        paged: Option<&'static str>,
        subject: Option<Key>,
    ) -> Result<Answer, Refusal> {
        let rest = self.tool.rest.as_ref().ok_or_else(Refusal::unavailable)?;
        let cursor = cursor(arguments, paged.unwrap_or_default())?;
        let skip =
            cursor.as_ref().filter(|cursor| paged == Some(&cursor.at)).map_or(0, |it| it.skip);
        let address = rest.address(arguments, skip);
        let RestRead { answer, state } = self.read(&address, subject).await?;
        let (url, bytes_max) = (self.url(&address), self.tool.bytes_max);
        Ok(Answer { data: AnswerData::Rest(answer), state, url, bytes_max, cursor, paged })
    }

    async fn match_detail(&self, arguments: &Arguments) -> Result<Answer, Refusal> {
        let id = match_id(arguments)?;
        let address = format!("/api/v2/events/{id}/");
        let sections = arguments.words("include");
        let mut last = None;
        for _ in 0..3 {
            let RestRead { answer, state } = self.read(&address, Some(id)).await?;
            if sections.is_empty() {
                return self.about(AnswerData::Rest(answer), state, &address, arguments);
            }
            let mut data = answer.value()?;
            for (name, path) in SECTIONS.iter().filter(|(name, _)| sections.contains(name)) {
                data[*name] = self.section(path, id).await?;
            }
            let is_one_state = self.state_of(id) == state;
            last = Some((data, state));
            if is_one_state {
                break;
            }
        }
        let (data, state) = last.ok_or_else(Refusal::unavailable)?;
        self.about(AnswerData::Value(data), state, &address, arguments)
    }

    async fn section(&self, path: &str, id: Key) -> Result<Value, Refusal> {
        let address = match path {
            "/signals/api/" => format!("{path}?event_id={id}&active=true&limit={LIMIT_DEFAULT}"),
            path => path.replace("{id}", &id.to_string()),
        };
        match self.fetch(&address, Some(id)).await {
            Ok(answer) => {
                let mut data = answer.value()?;
                if data.get("results").is_some() {
                    envelope::remove_page_links(&mut data);
                }
                Ok(data)
            }
            // A match without a prediction is a match all the same.
            Err(refusal) if refusal.code == "not_available" => Ok(Value::Null),
            Err(refusal) => Err(refusal),
        }
    }

    async fn find(&self, arguments: &Arguments) -> Result<Answer, Refusal> {
        let asked = arguments.text("q").unwrap_or_default().to_owned();
        let limit = arguments.count("limit").unwrap_or(10);
        let kinds = find_kinds(&arguments.words("kind"));
        let names = self.server.kind.names.clone();
        let (search, calendar) = (asked.clone(), arguments.calendar.clone());
        let found = blocking(move || {
            let mut found = Vec::new();
            for kind in kinds {
                found.extend(match kind {
                    Some(kind) => names.entities(kind, &search, limit),
                    None => names.matches(&search, limit, &calendar),
                });
            }
            // Stable: matches stay first among equals.
            found.sort_by(|a, b| b.score.total_cmp(&a.score));
            found.truncate(limit);
            found
        });
        let found = found.await?;
        let query: String = form_urlencoded::byte_serialize(asked.as_bytes()).collect();
        let address = match self.server.kind.product {
            Product::Football => format!("/api/v2/teams/?name={query}"),
            product => {
                format!("/{product}/api/v2/{}/?search={query}", searched(self.server.kind.sport))
            }
        };
        let state = self.server.feeds_state().await;
        self.about(AnswerData::Value(json!({"results": found})), state, &address, arguments)
    }

    async fn check_matches(&self, arguments: &Arguments) -> Result<Answer, Refusal> {
        let since = arguments.span("since").map(|span| span.from);
        let mut rows = Vec::new();
        for asked in arguments.matches("match_ids") {
            let id = match (asked.as_u64(), asked.as_str()) {
                (Some(id), _) => id,
                (None, asked) => {
                    let asked = asked.unwrap_or_default().to_owned();
                    match self.match_named(asked.clone(), &arguments.calendar).await {
                        Ok(id) => id,
                        Err(refusal) => {
                            rows.push(json!({"asked": asked, "error": refusal.code, "nearest": refusal.details.get("nearest")}));
                            continue;
                        }
                    }
                }
            };
            let record = self.server.shared.parts.history.record(id).await;
            let record = record.map_err(|_| Refusal::unavailable())?;
            let record = record.filter(|it| it.summary.sport == self.server.kind.sport);
            rows.push(match record {
                Some(record) => {
                    checked(&record, self.server.kind.names.title(&record.summary), since)
                }
                None => json!({"match_id": id, "error": "not_found"}),
            });
        }
        shorten_names(&mut rows, self.tool.bytes_max - ENVELOPE_BYTES);
        let address = match self.server.kind.product {
            Product::Football => "/api/v2/events/".to_owned(),
            product => format!("/{product}/api/v2/"),
        };
        let state = self.server.feeds_state().await;
        self.about(AnswerData::Value(json!({"matches": rows})), state, &address, arguments)
    }

    async fn wait_for_change(&self, arguments: &Arguments) -> Result<Answer, Refusal> {
        let shared = &self.server.shared;
        let sport = self.server.kind.sport.as_str();
        let until = arguments.words("until");
        let until: Vec<Until> = until.into_iter().filter_map(Until::from_word).collect();
        let until = if until.is_empty() {
            vec![Until::Event, Until::Suspension, Until::End]
        } else {
            until
        };
        let names: Vec<String> = match (arguments.id("match_id"), arguments.text("channel")) {
            (Some(id), None) => {
                let match_channel = format!("{sport}/{id}");
                if shared.channels.since(&match_channel, None).await?.is_none() {
                    return Err(self.not_followed(id));
                }
                vec![match_channel.clone(), format!("{match_channel}/odds")]
            }
            (None, Some(channel)) => {
                self.server.may_follow(channel, self.caller)?;
                vec![channel.to_owned()]
            }
            _ => return Err(Refusal::bad_argument("Give match_id or channel, one of them.")),
        };
        let slot = shared.waits.take(self.caller.account);
        let is_full = shared.channels.watched() >= shared.parts.config.watched_channels_max;
        let _slot = slot.filter(|_| !is_full).ok_or_else(|| {
            Refusal::new("too_many_waits", "Too many calls wait already. Wait until one returns.")
        })?;
        let timeout = arguments.count("timeout_s").unwrap_or(WAIT_S);
        let price_move = arguments.number("price_move_pct").and_then(|percent| {
            Decimal::try_from(percent / 100.0).ok().filter(|part| part.is_sign_positive())
        });
        let channels = names.iter().map(|name| (name.clone(), since(arguments, name, &names[0])));
        let wait = Wait {
            channels: channels.collect(),
            until,
            price_move,
            timeout: Duration::from_secs(timeout.try_into().unwrap_or(50)),
        };
        let context = self.context.ok_or_else(Refusal::unavailable)?;
        let progress =
            Progress { peer: context.peer.clone(), token: context.meta.get_progress_token() };
        let waited = wait::wait(&shared.channels, wait, &progress);
        let data = tokio::select! {
            data = waited => data?,
            () = context.ct.cancelled() => return Err(Refusal::unavailable()),
            () = shared.parts.stop.cancelled() => return Err(Refusal::unavailable()),
            () = shared.admission.until_withdrawn(*self.caller, self.server.kind.product) => {
                return Err(Refusal::new("authentication_required", "The key or its add-on has ended."));
            }
        };
        let state = match arguments.id("match_id") {
            Some(id) => at(&self.state_of(id), &data["positions"][&names[0]]),
            None => at(&self.server.feeds_state().await, &data["positions"][&names[0]]),
        };
        let address = format!("/stream/v1/channels/{}", names[0]);
        self.about(AnswerData::Value(data), state, &address, arguments)
    }

    /// Why a match cannot be followed.
    fn not_followed(&self, id: Key) -> Refusal {
        match self.server.shared.parts.history.summary(id) {
            None => self.server.kind.names.no_match(id),
            Some(summary) if summary.status.is_over() => {
                Refusal::new("ended", "The match is over. `check_matches` has its result.")
            }
            Some(_) => Refusal::new("not_live", "The hub does not follow this match yet.")
                .with("start", summary_start(self, id)),
        }
    }

    async fn feeds(&self) -> Result<Answer, Refusal> {
        let image =
            self.server.shared.channels.image("feeds").await?.ok_or_else(Refusal::unavailable)?;
        let sources = image["data"]["sources"].as_object().into_iter().flatten();
        let sources: Vec<Value> = sources
            .map(|(name, source)| {
                let last = source["last"].as_i64().and_then(envelope::moment);
                json!({
                    "name": name, "state": source["state"], "kind": source["kind"], "last": last,
                    "why": source["why"], "messages": source["messages"],
                })
            })
            .collect();
        let state = self.server.feeds_state().await;
        let data = AnswerData::Value(json!({"sources": sources}));
        self.about(data, state, "/stream/v1/channels/feeds", &Arguments::default())
    }

    async fn account(&self) -> Result<Answer, Refusal> {
        self.server.shared.admission.check_account(self.caller)?;
        let address = "/api/v2/account/";
        let data = AnswerData::Rest(self.fetch(address, None).await?);
        let state = self.server.feeds_state().await;
        self.about(data, state, address, &Arguments::default())
    }

    /// An answer that is not a page of REST.
    pub(crate) fn about(
        &self,
        data: AnswerData,
        state: DataState,
        address: &str,
        arguments: &Arguments,
    ) -> Result<Answer, Refusal> {
        let cursor = cursor(arguments, "")?;
        let (url, bytes_max) = (self.url(address), self.tool.bytes_max);
        Ok(Answer { data, state, url, bytes_max, cursor, paged: None })
    }
}

fn summary_start(call: &Call<'_>, id: Key) -> Value {
    let summary = call.server.shared.parts.history.summary(id);
    summary.and_then(|summary| summary.start_text(time_format::zulu)).into()
}

/// The list of a sport whose names are searched most.
fn searched(sport: Sport) -> &'static str {
    match sport {
        Sport::HorseRacing => "horses",
        sport if sport.is_of_players() => "players",
        _ => "teams",
    }
}

pub(crate) fn match_id(arguments: &Arguments) -> Result<Key, Refusal> {
    arguments.id("match_id").ok_or_else(|| Refusal::bad_argument("match_id is required."))
}

fn cursor(arguments: &Arguments, list: &str) -> Result<Option<Cursor>, Refusal> {
    arguments.text("cursor").map(|text| Cursor::parse(text, list)).transpose()
}

/// The match that an address is about.
fn subject(rest: &RestPath, arguments: &Arguments, of_one: bool) -> Option<Key> {
    let in_path = |name: &str| rest.parameters.iter().any(|(key, _, path)| *key == name && *path);
    if of_one || in_path("match_id") {
        return arguments.id("match_id");
    }
    in_path("race_id").then(|| arguments.id("race_id")).flatten()
}

/// The position in `since` of a channel: of all channels by their names, or of the first one alone.
fn since(arguments: &Arguments, channel: &str, first: &str) -> Option<Position> {
    let all = arguments.positions("since")?;
    all.get(channel).or_else(|| all.get("").filter(|_| channel == first)).copied()
}

/// The state with the position that an answer has reached.
fn at(state: &DataState, position: &Value) -> DataState {
    let epoch = position["epoch"].as_str().and_then(fanout::Epoch::parse);
    let position = epoch.zip(position["seq"].as_u64());
    let position = position.map(|(epoch, seq)| record::Position { epoch: epoch.0, seq });
    DataState { position: position.or(state.position), ..state.clone() }
}

/// The status in the words of the sport's REST interface.
pub(crate) fn status_word(summary: &MatchSummary) -> &'static str {
    summary.status.word(vocabulary(summary.sport))
}

pub(crate) fn vocabulary(sport: Sport) -> Vocabulary {
    match sport {
        Sport::Football => Vocabulary::FootballV2,
        sport => Vocabulary::Sport(sport),
    }
}

/// The line of a match in a check.
fn checked(record: &Arc<MatchRecord>, title: String, since: Option<Micros>) -> Value {
    let summary = &record.summary;
    let state = DataState::for_match(Some(record));
    let sides = record.names.sides.as_ref();
    let name = sides.map_or(title, |[home, away]| format!("{} v {}", home.name, away.name));
    let mut row = json!({
        "match_id": summary.id,
        "status": status_word(summary),
        "start": summary.start_text(time_format::zulu),
        "name": name,
        "score": summary.score,
        "feed": state.feed,
        "seq": state.position.map(|position| position.seq),
    });
    if let Some(since) = since {
        row["changed"] = (summary.updated > since).into();
    }
    row
}

/// Shortens the names of sides until the rows fit, so that one call checks a whole slate. The ids say which
/// matches they are.
fn shorten_names(rows: &mut [Value], bytes_max: usize) {
    for chars in [60, 30, 20, 14, 10, 7] {
        if fit::size(&json!({"matches": rows})) <= bytes_max {
            return;
        }
        for name in rows.iter_mut().filter_map(|row| row.get_mut("name")) {
            if let Some((home, away)) = name.as_str().and_then(|name| name.split_once(" v ")) {
                *name = format!("{} v {}", clean(home, chars), clean(away, chars)).into();
            }
        }
    }
}

/// Runs a search through all names where it holds up no other request, in turn with those of other accounts.
pub(crate) async fn blocking<T: Send + 'static>(
    search: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    work::run_blocking(Pool::Mcp, search).await.map_err(|_| Refusal::unavailable())
}
