//! Every tool over the recorded matches answers what REST answers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    client::McpClient,
    results::{Checker, compare_lines_with_rest, compare_with_rest},
};
use crate::{
    answers::agreement::check_stream,
    import::imported,
    support::{ALL_ADDONS, Client, Hub, ended, is_long, shared},
};

/// Tools whose `data` is not the body of REST's address: it is computed, or of a channel.
const COMPUTED: [&str; 7] = [
    "check_matches",
    "find",
    "get_account",
    "get_feeds",
    "get_money",
    "get_odds_history",
    "wait_for_change",
];

/// Tools whose rows are lines of REST's rows.
const LINES: [&str; 6] = [
    "get_live_scores",
    "get_team_fixtures",
    "list_events",
    "list_matches",
    "list_races",
    "search_matches",
];

/// Whether a tool is one of these, on a server whose sport may be in its name.
fn is_among(tools: &[&str], name: &str) -> bool {
    let is_it = |tool: &&str| {
        name.strip_suffix(*tool).is_some_and(|sport| sport.is_empty() || sport.ends_with('_'))
    };
    tools.iter().any(is_it)
}

/// The kinds of arguments that are ids, with the places in REST's rows where they are.
const IDS: [(&str, &[&str]); 12] = [
    ("match_id", &[]),
    ("race_id", &[]),
    ("league_id", &["/league_id", "/league/id", "/competition_id", "/competition/id"]),
    ("season_id", &["/season_id", "/season/id"]),
    ("team_id", &["/home_team_id", "/away_team_id", "/home_team/id", "/team1/id"]),
    ("player_id", &["/player1/id", "/player_id"]),
    ("venue_id", &["/venue_id", "/venue/id"]),
    ("manager_id", &["/home_manager_id", "/home_coach_id", "/home_manager/id", "/home_coach/id"]),
    ("tournament_id", &["/tournament_id", "/tournament/id"]),
    ("runner_id", &[]),
    ("horse_id", &["/horse_id", "/horse/id"]),
    ("jockey_id", &["/jockey_id", "/jockey/id"]),
];

/// A server whose tools are called for all that a hub has of its sport.
struct TestedServer<'a> {
    hub: &'a Hub,
    key: String,
    checker: Checker,
    /// REST's list of all matches.
    matches: &'static str,
    /// Lists whose rows are entities, by the argument of their ids; `{}` is a match.
    lists: &'static [(&'static str, &'static str)],
    /// What every tool answered, by its name; `None` if it refused.
    answered: BTreeMap<String, usize>,
    refused: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> TestedServer<'a> {
    async fn new(
        hub: &'a Hub,
        path: &str,
        matches: &'static str,
        lists: &'static [(&'static str, &'static str)],
    ) -> Self {
        let key = hub.key(&ALL_ADDONS);
        let checker = Checker::new(McpClient::new(hub, &key).at(path)).await;
        Self {
            hub,
            key,
            checker,
            matches,
            lists,
            answered: BTreeMap::new(),
            refused: BTreeMap::new(),
        }
    }

    /// All rows of a list of REST.
    async fn all(&self, path: &str) -> Vec<Value> {
        let mut rows = Vec::new();
        loop {
            let path = format!("{path}limit=200&offset={}", rows.len());
            let page = self.hub.json(&self.key, &path).await;
            let more = page["results"].as_array().expect("rows").clone();
            if more.is_empty() {
                return rows;
            }
            rows.extend(more);
        }
    }

    async fn call(&mut self, tool: &str, arguments: Value) {
        match self.checker.call(tool, &arguments).await {
            Ok(answer) => {
                let what = format!("{tool} {arguments}");
                if LINES.contains(&tool) {
                    compare_lines_with_rest(self.hub, &self.key, &what, &answer).await;
                } else if !is_among(&COMPUTED, tool) && arguments.get("include").is_none() {
                    compare_with_rest(self.hub, &self.key, &what, &answer).await;
                }
                *self.answered.entry(tool.to_owned()).or_default() += 1;
            }
            Err(refusal) => {
                let code = refusal["code"].as_str().expect("a code").to_owned();
                let allowed = ["not_available", "ended", "not_live"];
                assert!(allowed.contains(&&*code), "{tool} {arguments}: {refusal}");
                self.refused.entry(tool.to_owned()).or_default().insert(code);
            }
        }
    }

    /// Calls every tool for every match, and for every entity of some matches.
    async fn run(&mut self) {
        let rows = self.all(self.matches).await;
        assert!(!rows.is_empty(), "no match in {}", self.matches);
        let tools = self.checker.listed.clone();
        let mut ids: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        let rows = few_of_each_season(rows);
        for row in &rows {
            for (name, places) in IDS {
                let found = places.iter().filter_map(|at| row.pointer(at)?.as_u64());
                ids.entry(name).or_default().extend(found);
            }
            let id = row["id"].as_u64().expect("an id");
            ids.entry("match_id").or_default().insert(id);
            ids.entry("race_id").or_default().insert(id);
        }
        for (name, path) in self.lists {
            let path = path.replace("{}", &rows[0]["id"].to_string());
            let rows = self.hub.json(&self.key, &path).await;
            let rows = rows["results"].as_array().expect("rows").clone();
            let listed = rows.iter().filter_map(|row| row["id"].as_u64());
            ids.entry(name).or_default().extend(listed.take(8));
        }
        let matches: Vec<u64> = ids["match_id"].iter().copied().collect();
        for tool in &tools {
            let name = tool["name"].as_str().expect("a name");
            let has = |argument: &str| tool["inputSchema"]["properties"].get(argument).is_some();
            let plain = ["find", "check_matches", "wait_for_change"];
            match plain.into_iter().find(|plain| is_among(&[*plain], name)).unwrap_or(name) {
                "find" => {
                    for row in &rows {
                        let title = json!(row["home_team"].as_str().unwrap_or("Wimbledon"));
                        self.call(name, json!({"q": title})).await;
                    }
                    continue;
                }
                "check_matches" => {
                    for some in matches.chunks(50) {
                        self.call(name, json!({"match_ids": some})).await;
                    }
                    continue;
                }
                "wait_for_change" => {
                    for id in &matches {
                        self.call(name, json!({"match_id": id, "timeout_s": 0})).await;
                    }
                    continue;
                }
                "get_match_detail" => {
                    let sections =
                        ["incidents", "stats", "lineups", "odds", "prediction", "h2h", "signals"];
                    for id in &matches {
                        self.call(name, json!({"match_id": id, "include": sections})).await;
                        for section in sections {
                            self.call(name, json!({"match_id": id, "include": [section]})).await;
                        }
                    }
                }
                _ => {}
            }
            // The refusal names what a tool requires.
            let one = match self.checker.call(name, &json!({})).await {
                Err(refusal) if refusal["code"] == "bad_argument" => {
                    let message = refusal["message"].as_str().expect("a text");
                    let mut id_names = IDS.iter().map(|(name, _)| *name);
                    let required = id_names.find(|it| message.starts_with(it));
                    Some(required.unwrap_or_else(|| panic!("{name}: {refusal}")))
                }
                Ok(_) | Err(_) => None,
            };
            let of_match = ["match_id", "race_id"].into_iter().find(|argument| has(argument));
            if one.is_none() {
                let limits = [json!({}), json!({"limit": 3}), json!({"limit": 50})];
                for arguments in limits.into_iter().take(if has("limit") { 3 } else { 1 }) {
                    self.call(name, arguments).await;
                }
            }
            let Some(one) = one.or(of_match) else { continue };
            for id in ids.get(one).cloned().unwrap_or_default() {
                self.call(name, json!({one: id})).await;
            }
        }
    }

    /// A race is found by its course, its time and its day.
    async fn check_races_by_name(&self) {
        let mut found = 0;
        for row in self.all(self.matches).await {
            let (track, at) = (row["track"]["name"].as_str(), row["starts_at"].as_str());
            let day = at.and_then(|at| at.get(..10));
            let time = at.and_then(|at| at.get(11..16));
            let (Some(track), Some(day), Some(time)) = (track, day, time) else { continue };
            for name in [format!("{track} {time} {day}"), format!("{time} at {track} on {day}")] {
                let answer = self.checker.call("get_race", &json!({"race_id": name})).await;
                let answer = answer.unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
                assert_eq!(answer["data"]["id"], row["id"], "{name}");
                found += 1;
            }
        }
        assert!(found > 0, "no race has a course and a time");
        let refused = self.checker.call("get_race", &json!({"race_id": "25:61 Nowhere"})).await;
        assert_eq!(refused.expect_err("there is none")["code"], "not_found");
    }

    /// Every tool has answered, but those for which the hub has no data.
    fn check_answered(&self, without_data: &[&str]) {
        let silent: Vec<&str> = self
            .checker
            .names()
            .filter(|name| !self.answered.contains_key(*name))
            .filter(|name| !is_among(without_data, name))
            .collect();
        assert!(silent.is_empty(), "{silent:?} never answered: {:?}", self.refused);
    }
}

/// A check of matches at once tells the scores on the boards, which are those of REST's rows.
pub(crate) async fn check_boards(
    hub: &Hub,
    path: &str,
    rows: &[Value],
    score: impl Fn(&Value) -> Value,
) {
    let client = McpClient::new(hub, &hub.key(&ALL_ADDONS)).at(path);
    for some in rows.chunks(50) {
        let ids: Vec<&Value> = some.iter().map(|row| &row["id"]).collect();
        let answer = client.answer("check_matches", json!({"match_ids": ids})).await;
        let checked = answer["data"]["matches"].as_array().expect("matches");
        for row in some {
            let match_row = checked.iter().find(|it| it["match_id"] == row["id"]);
            let match_row = match_row.unwrap_or_else(|| panic!("{row} is not in {answer}"));
            assert_eq!(match_row["score"], score(row), "{row}");
        }
    }
}

#[tokio::test]
async fn every_tool_answers_what_rest_answers_about_archived_matches() {
    let Some(imported) = imported() else { return };
    let hub = imported.hub();
    let mut football = TestedServer::new(
        &hub,
        "/mcp",
        "/api/v2/events/?date_from=2000-01-01&",
        &[
            ("player_id", "/api/v2/players/"),
            ("league_id", "/api/v2/leagues/"),
            ("venue_id", "/api/v2/venues/"),
            ("manager_id", "/api/v2/managers/"),
        ],
    )
    .await;
    football.run().await;
    football.check_answered(&["wait_for_change", "get_money"]);
    let mut tennis = TestedServer::new(
        &hub,
        "/tennis/mcp",
        "/tennis/api/v2/matches/?date_from=2000-01-01&",
        &[("player_id", "/tennis/api/v2/players/")],
    )
    .await;
    tennis.run().await;
    tennis.check_answered(&["wait_for_change"]);
}

/// Recordings that are played together: matches with prices, points, runners, and fixtures alone.
const PLAYED: [&str; 8] = [
    "betfair-stream/football-1-event-77-markets.basic.bz2",
    "betfair-stream/racing-1.241629436.live.jsonl.gz",
    "betfair-stream/tennis-1.223716976.basic.bz2",
    "the-odds-api/sport-odds.json",
    "wyscout/2058009.events.json.gz",
    "statsbomb/15986.events.json.gz",
    "slam-pointbypoint/2023-usopen-4601.points.csv.gz",
    "api-football/fixtures-bundes-ns-pst.json",
];

/// The hub still follows some of these matches, so answers have positions.
#[tokio::test]
async fn every_tool_answers_what_rest_answers_about_replayed_matches() {
    let files: Option<Vec<_>> = PLAYED.into_iter().map(shared).collect();
    let Some(files) = files else { return };
    let files = files.iter().map(|file| file.to_str().expect("a path of text"));
    let arguments: Vec<_> = ["replay", "--speed", "max"].into_iter().chain(files).collect();
    let hub = Hub::start(&arguments);
    let mut client = Client::connect(&hub.address, &hub.key(&ALL_ADDONS)).await;
    client.subscribe("feeds").await;
    client.until(ended).await;
    let mut football =
        TestedServer::new(&hub, "/mcp", "/api/v2/events/?date_from=2000-01-01&", &[]).await;
    football.run().await;
    let mut streamed = 0;
    for row in football.all("/api/v2/events/?").await {
        streamed += usize::from(check_stream(&hub, &football.key, "football", &row).await);
    }
    assert!(streamed >= 2, "{streamed} matches have a document");
    for name in ["get_match_detail", "compare_odds", "get_match_incidents", "get_odds_history"] {
        assert!(football.answered.contains_key(name), "{name}: {:?}", football.refused);
    }
    let matches = "/tennis/api/v2/matches/?date_from=2000-01-01&";
    let mut tennis = TestedServer::new(&hub, "/tennis/mcp", matches, &[]).await;
    tennis.run().await;
    tennis.check_answered(&["wait_for_change", "get_predictions"]);
    for row in tennis.all(matches).await {
        check_stream(&hub, &tennis.key, "tennis", &row).await;
    }
    let matches = "/hockey/api/v2/matches/?date_from=2000-01-01&";
    let mut hockey = TestedServer::new(&hub, "/hockey/mcp", matches, &[]).await;
    hockey.run().await;
    hockey.check_answered(&["wait_for_change", "get_predictions"]);
    for row in hockey.all(matches).await {
        check_stream(&hub, &hockey.key, "hockey", &row).await;
    }
    let runners = &[("runner_id", "/horseracing/api/v2/runners/?race={}")];
    let matches = "/horseracing/api/v2/races/?date_from=2000-01-01&";
    let mut racing = TestedServer::new(&hub, "/horseracing/mcp", matches, runners).await;
    racing.run().await;
    racing.check_races_by_name().await;
    racing.check_answered(&["get_horse", "get_jockey", "wait_for_change"]);
}

/// All matches, but few of those that are like each other: of a season of results.
fn few_of_each_season(rows: Vec<Value>) -> Vec<Value> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut is_chosen = |row: &Value| {
        let is_result = row["has_xg"] == false && row["season_id"].is_u64();
        let seen = seen.entry(row["season_id"].to_string()).or_default();
        *seen += 1;
        !is_result || *seen <= 12 || is_long()
    };
    rows.into_iter().filter(|row| is_chosen(row)).collect()
}

/// REST's lists are pages: the cursor of a tool leads through all rows, each once.
#[tokio::test]
async fn cursors_lead_through_a_season() {
    let Some(imported) = imported() else { return };
    let hub = imported.hub();
    let key = hub.key(&[]);
    let client = McpClient::new(&hub, &key);
    let range = json!({"date_from": "2016-08-01", "date_to": "2017-06-30", "limit": 50});
    let mut ids = Vec::new();
    let mut arguments = range.clone();
    loop {
        let answer = client.answer("search_matches", arguments.clone()).await;
        let rows = answer["data"]["results"].as_array().expect("rows");
        assert!(!rows.is_empty(), "{arguments} has no rows");
        ids.extend(rows.iter().map(|row| row["id"].as_u64().expect("an id")));
        let cuts = answer["truncated"].as_array().into_iter().flatten();
        let Some(cut) = cuts.into_iter().find(|cut| cut["at"] == "/results") else { break };
        assert_eq!(cut["shown"], rows.len());
        arguments = range.clone();
        arguments["cursor"] = cut["cursor"].clone();
    }
    let count = ids.len();
    let distinct: BTreeSet<u64> = ids.into_iter().collect();
    let rest = "/api/v2/events/?date_from=2016-08-01&date_to=2017-06-30";
    let rest = hub.json(&key, rest).await["count"].clone();
    assert_eq!((json!(count), json!(distinct.len())), (rest.clone(), rest));
}
