//! Lists of matches as lines: in the order that a call means, with the time that they cover.

use accounts::products::Product;
use base::Micros;
use facts::event::Sport;
use history::query::{DecidedBy, HeadToHead, MatchQuery, SideMatch};
use record::{Key, PlayRecord, Status};
use serde_json::{Map, Value, json};

use crate::{
    argument::Arguments,
    call::{Call, NOTE_CHARS_MAX, blocking, vocabulary},
    days::TimeSpan,
    envelope::{Answer, AnswerData},
    names::sides_of,
    refusal::Refusal,
    text::clean,
    tool_arguments::LIVE_LIMIT,
    tool_list::ToolAction,
};

/// The fields of REST's rows that a line has.
const LINE_FIELDS: &str = "id event_date status period current_minute home_team_id home_team away_team_id away_team home_score \
    away_score extra_time_score penalty_shootout league_id round_number round_name group_name";

/// Those of a match in play.
const LIVE_FIELDS: &str = "id status period current_minute home_team away_team home_score away_score extra_time_score \
    penalty_shootout league_name";

/// Those of the other sports. What is a row of its own, such as a team, is its name and its id here.
const SPORT_FIELDS: &str = "id name match_date event_date start_time starts_at status state round_name stage league tournament track \
    home_team away_team player1 player2 home_score away_score player1_sets player2_sets player1_legs \
    player2_legs sets_detail current_set current_point current_period is_overtime is_shootout winner_id \
    best_of competitors_count";

/// How long a match without another bound stays in the list of a team after its start.
const LASTS_US: Micros = 3 * 60 * MINUTE_US;
const MINUTE_US: Micros = 60 * 1_000_000;

/// The meetings that a head-to-head lists.
const MEETINGS_MAX: usize = 10;

impl Call<'_> {
    /// Reads the two sides in a text that is expected to name one: `A v B`.
    pub(crate) async fn take_pair(&self, arguments: &mut Arguments) -> Result<(), Refusal> {
        let names = &self.server.kind.names;
        for name in ["team", "team_id", "player_id"] {
            let Some(text) = arguments.text(name).map(ToOwned::to_owned) else { continue };
            let [first, second] = sides_of(&text)[..] else { continue };
            let kind = names.side();
            let pair = [
                self.entity(kind, first.to_owned()).await?,
                self.entity(kind, second.to_owned()).await?,
            ];
            let named = pair.map(|id| names.named(kind, id).unwrap_or_default()).join(" v ");
            arguments.notes.resolved.insert(name.to_owned(), clean(&named, NOTE_CHARS_MAX).into());
            arguments.remove(name);
            let [first, second] = pair;
            if matches!(self.tool.declared.does, ToolAction::Matches { id, .. } if id == name) {
                arguments.set(name, first);
            }
            arguments.set("h2h", format!("{first},{second}"));
            return Ok(());
        }
        Ok(())
    }

    pub(crate) async fn matches(&self, arguments: &mut Arguments) -> Result<Answer, Refusal> {
        self.check_status(arguments)?;
        self.correct_team(arguments).await?;
        self.order(arguments)?;
        let page = self.page(arguments, Some(RESULTS), None).await?;
        page.with_rows(|row| self.shorten(row, LINE_FIELDS))
    }

    /// Sets the bounds and the order that the call means, and notes them.
    fn order(&self, arguments: &mut Arguments) -> Result<(), Refusal> {
        let vocabulary = vocabulary(self.server.kind.sport);
        let (last, next) = (arguments.remove("last"), arguments.remove("next"));
        if last.is_some() && next.is_some() {
            return Err(Refusal::bad_argument("Give last or next, one of them."));
        }
        if arguments.get("status").is_none() && (last.is_some() || next.is_some()) {
            let wanted = match last {
                Some(_) => Status::RESULTS.to_vec(),
                None => vec![Status::NotStarted],
            };
            let mut words: Vec<&str> = wanted.iter().map(|it| it.word(vocabulary)).collect();
            words.dedup();
            words.retain(|word| vocabulary.parse(word).is_some());
            arguments.set("status", words.join(","));
        }
        let statuses = arguments.text("status").and_then(|words| vocabulary.parse(words));
        let are_all = |is: fn(&Status) -> bool| {
            statuses.as_ref().is_some_and(|all| !all.is_empty() && all.iter().all(is))
        };
        let are_results = are_all(|status| status.is_over() || status.is_live())
            && !are_all(|status| status.is_live());
        let is_newest_first = last.is_some() || are_results;
        let is_ahead = next.is_some() || are_all(|status| Status::UPCOMING.contains(status));
        if let Some(count) = last.or(next) {
            arguments.set("limit", count);
        }
        let now = arguments.calendar.now() / MINUTE_US * MINUTE_US;
        let is_bounded =
            ["date", "date_from", "date_to"].iter().any(|name| arguments.span(name).is_some());
        let is_of_team = arguments.get("team_id").is_some()
            && arguments.get("h2h").is_none()
            && self.tool.rest.as_ref().is_some_and(|rest| rest.path.ends_with("/fixtures/"));
        if !is_bounded && is_ahead {
            arguments.set_span("date_from", TimeSpan::at(now));
        } else if !is_bounded && is_of_team && statuses.is_none() {
            arguments.set_span("date_from", TimeSpan::at(now - LASTS_US));
        }
        let from = arguments.span("date_from").or_else(|| arguments.span("date"));
        let to = arguments.span("date_to").or_else(|| arguments.span("date"));
        let is_football = self.server.kind.product == Product::Football;
        let window = &mut arguments.notes.window;
        window.extend(from.and_then(TimeSpan::begin_text).map(|it| ("from".to_owned(), it.into())));
        window.extend(to.and_then(TimeSpan::end_text).map(|it| ("to".to_owned(), it.into())));
        let order = match is_newest_first {
            true => Some("newest first"),
            // Without a begin, lists of some other sports have another order.
            false => (is_football || from.is_some()).then_some("earliest first"),
        };
        window.extend(order.map(|order| ("order".to_owned(), order.into())));
        // Without a bound, REST has the next week of a team only, and the races of some days.
        let is_of_races = self.server.kind.sport == Sport::HorseRacing && is_newest_first;
        if (is_of_team || is_of_races) && statuses.is_some() && from.is_none() && to.is_none() {
            arguments.set_span("date_from", TimeSpan::at(0));
        }
        if is_newest_first {
            arguments.set("sort", "-date");
        }
        Ok(())
    }

    /// Finds the team that a text means which is no part of a name. A list without matches would look like an answer.
    async fn correct_team(&self, arguments: &mut Arguments) -> Result<(), Refusal> {
        let Some(text) = arguments.text("team").map(ToOwned::to_owned) else { return Ok(()) };
        if arguments.get("team_id").is_some() {
            return Ok(());
        }
        let names = self.server.kind.names.clone();
        let kind = names.side();
        let correct = move || match names.has_part(&text) {
            true => Ok(None),
            false => names.resolve(kind, &text).map(Some),
        };
        let Some(id) = blocking(correct).await?? else { return Ok(()) };
        let named = self.server.kind.names.named(kind, id).unwrap_or_default();
        arguments.remove("team");
        arguments.set("team_id", id);
        arguments.notes.resolved.insert("team".to_owned(), clean(&named, NOTE_CHARS_MAX).into());
        Ok(())
    }

    pub(crate) async fn live_scores(&self, arguments: &mut Arguments) -> Result<Answer, Refusal> {
        if arguments.get("limit").is_none() {
            arguments.set("limit", LIVE_LIMIT);
        }
        let page = self.page(arguments, Some(EVENTS), None).await?;
        page.with_rows(|row| {
            let cards = row["id"].as_u64().map_or([0, 0], |id| self.red_cards(id));
            let start = row["event_date"].take();
            self.shorten(row, LIVE_FIELDS);
            if row["status"] == "notstarted" {
                row["event_date"] = start;
            }
            for (name, count) in ["home_red_cards", "away_red_cards"].into_iter().zip(cards) {
                if count > 0 {
                    row[name] = count.into();
                }
            }
        })
    }

    /// The red cards of both sides of a match that the hub follows.
    fn red_cards(&self, id: Key) -> [u32; 2] {
        let record = self.server.shared.parts.history.current(id);
        let Some(PlayRecord::Football(football)) = record.as_ref().map(|record| &record.play)
        else {
            return [0, 0];
        };
        football.counters().map(|side| side.get("red_cards").copied().unwrap_or(0))
    }

    /// A row with these fields only, as far as they say something; those of other sports have fields of their own.
    fn shorten(&self, row: &mut Value, fields: &str) {
        let is_football = self.server.kind.product == Product::Football;
        let league = row["league_id"].as_u64().filter(|_| is_football);
        if let Some(row) = row.as_object_mut() {
            keep(row, if is_football { fields } else { SPORT_FIELDS });
            flatten(row);
            let names = &self.server.kind.names;
            if let Some(league) = league.and_then(|id| names.league(id)) {
                row.insert("league_name".to_owned(), league.into());
            }
        }
    }

    /// The earlier meetings of the sides of a match, or all of two sides.
    pub(crate) async fn head_to_head(&self, arguments: &Arguments) -> Result<Answer, Refusal> {
        let kind = &self.server.kind;
        let (home, away) = match (arguments.id("home"), arguments.id("away")) {
            (Some(home), Some(away)) => (home, away),
            (None, None) if arguments.get("match_id").is_some() => {
                return self.rest(arguments).await;
            }
            _ => return Err(Refusal::bad_argument("match_id is required, or home and away.")),
        };
        let query = MatchQuery {
            team: Some(home),
            meeting: Some([vec![home], vec![away]]),
            statuses: Some(Status::RESULTS.to_vec()),
            newest_first: true,
            ..MatchQuery::of_sport(kind.sport)
        };
        let met = self.server.shared.parts.history.find(&query).summaries;
        let is_football = kind.product == Product::Football;
        let rule = if is_football { DecidedBy::Goals } else { DecidedBy::Winner };
        let meetings = met.iter().filter_map(|it| SideMatch::new(std::sync::Arc::clone(it), home));
        let record = HeadToHead::new(meetings, rule);
        let recent = record.meetings.iter().take(MEETINGS_MAX).map(|side_match| {
            let summary = &*side_match.summary;
            json!({
                "event_id": summary.id, "date": summary.start_text(base::time_format::offset),
                "match": kind.names.title(summary),
                "score": summary.score.map(|[home, away]| format!("{home}-{away}")),
            })
        });
        let mut data = json!({
            "home": kind.names.named(kind.names.side(), home),
            "away": kind.names.named(kind.names.side(), away),
            "total_matches": record.meetings.len(), "home_wins": record.wins, "draws": record.draws,
            "away_wins": record.losses, "recent_matches": recent.collect::<Vec<_>>(),
        });
        if is_football {
            data["home_goals"] = record.goals[0].into();
            data["away_goals"] = record.goals[1].into();
        }
        let list = match kind.product {
            Product::Football => "/api/v2/events/".to_owned(),
            product => format!("/{product}/api/v2/{}/", kind.sport.profile().matches),
        };
        let address = format!("{list}?h2h={home},{away}&status=finished");
        let state = self.server.feeds_state().await;
        self.about(AnswerData::Value(data), state, &address, arguments)
    }
}

/// Leaves these fields, without those that are empty.
fn keep(row: &mut Map<String, Value>, fields: &str) {
    row.retain(|name, value| {
        let is_empty = match value {
            Value::Null | Value::Bool(false) => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        !is_empty && fields.split(' ').any(|field| field == name)
    });
}

/// Writes a team as `home_team`, its name, and `home_team_id`; and so on.
fn flatten(row: &mut Map<String, Value>) {
    let mut ids = Vec::new();
    for (name, value) in row.iter_mut() {
        if let Value::Object(entity) = value
            && let Some(named) = entity.remove("name")
        {
            ids.extend(entity.remove("id").map(|id| (format!("{name}_id"), id)));
            *value = named;
        }
    }
    row.extend(ids);
}

/// Where the rows of pages are.
const RESULTS: &str = "/results";
const EVENTS: &str = "/events";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_of_another_sport_has_names_and_no_empty_fields() {
        let mut row = json!({
            "id": 7, "home_team": {"id": 1, "name": "Alpha", "elo_rating": 1500}, "away_team": null,
            "league": {"id": 3, "name": "Liga", "country": ""}, "match_date": "2026-08-30T18:00:00+00:00",
            "status": "live", "home_score": 0, "is_overtime": false, "sets_detail": [], "round_name": "",
            "p1_aces": 3,
        });
        let row = row.as_object_mut().expect("a row");
        keep(row, SPORT_FIELDS);
        flatten(row);
        let expected = json!({
            "id": 7, "home_team": "Alpha", "home_team_id": 1, "league": "Liga", "league_id": 3,
            "match_date": "2026-08-30T18:00:00+00:00", "status": "live", "home_score": 0,
        });
        assert_eq!(Value::from(row.clone()), expected);
    }
}
