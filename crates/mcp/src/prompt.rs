//! Prompts, and completion of their arguments and of resource templates.

use base::{Micros, clock, names::NamePart};
use history::query::{MatchQuery, Window};
use record::MatchSummary;
use rmcp::{
    ErrorData,
    model::{
        CompleteRequestParams, CompleteResult, CompletionInfo, GetPromptRequestParams,
        GetPromptResult, Prompt, PromptArgument, PromptMessage, Reference, Role,
    },
};
use serde_json::json;

use crate::{server::Server, text::clean};

/// A prompt: its name, what it is for, its arguments, and its text, where `{argument}` is replaced.
#[derive(Debug, Clone, Copy)]
struct Template {
    name: &'static str,
    about: &'static str,
    arguments: &'static [&'static str],
    text: &'static str,
}

/// What every prompt asks for.
const MANNERS: &str = "State `as_of` with every figure and cite with `cite`. If `feed` is not live, say so first. \
                       Prices that are missing are suspended or not offered: do not fill them in.";

const PROMPTS: [Template; 5] = [
    Template {
        name: "match_preview",
        about: "A preview of a match",
        arguments: &["match"],
        text: "Write a preview of the match {match}. Use the tools of this server for form, earlier meetings, line-ups, \
               prices and the prediction.",
    },
    Template {
        name: "live_brief",
        about: "What is going on in a match now",
        arguments: &["match"],
        text: "Describe the state of the match {match} in five lines: score and clock, the latest incidents, and what \
               the prices say.",
    },
    Template {
        name: "what_changed",
        about: "What has happened in a match since a position",
        arguments: &["match", "since"],
        text: "Call wait_for_change for the match {match} with since {since} and timeout_s 0, and list what has happened \
               since then, in order.",
    },
    Template {
        name: "odds_check",
        about: "Where the best price of a market is",
        arguments: &["match", "market"],
        text: "Compare the prices of the market {market} of the match {match}: the best price of each outcome, its \
               bookmaker, how old it is, and how it moved.",
    },
    Template {
        name: "slate",
        about: "The matches of a day",
        arguments: &["date"],
        text: "List the matches of {date} by league with their start. Check all of them with check_matches, and say which \
               are in play, postponed or over.",
    },
];

/// The values of one completion.
const VALUES_MAX: usize = 20;

/// How far from now a match may be that a completion offers.
const NEAR_US: Micros = 2 * 24 * 60 * 60 * 1_000_000;

const MARKETS: [&str; 6] =
    ["1x2", "over_under_25", "btts", "double_chance", "draw_no_bet", "asian_handicap"];

impl Server {
    pub(crate) fn prompts(&self) -> Vec<Prompt> {
        let argument = |name: &&str| PromptArgument::new(*name).with_required(true);
        let prompt = |template: &Template| {
            let arguments = template.arguments.iter().map(argument).collect();
            Prompt::new(template.name, Some(template.about), Some(arguments))
        };
        PROMPTS.iter().map(prompt).collect()
    }

    /// The text of a prompt with its arguments.
    pub(crate) fn prompt(
        &self,
        request: &GetPromptRequestParams,
    ) -> Result<GetPromptResult, ErrorData> {
        let Some(template) = PROMPTS.iter().find(|template| template.name == request.name) else {
            let names: Vec<_> = PROMPTS.iter().map(|template| template.name).collect();
            let accepted = Some(json!({"accepted": names}));
            return Err(ErrorData::invalid_params("there is no such prompt", accepted));
        };
        let mut text = template.text.to_owned();
        for name in template.arguments {
            let value = request.arguments.as_ref().and_then(|given| given.get(*name));
            let value =
                value.and_then(serde_json::Value::as_str).filter(|value| !value.trim().is_empty());
            let value = value.ok_or_else(|| {
                let accepted = Some(json!({"accepted": template.arguments}));
                ErrorData::invalid_params(format!("the argument {name} is required"), accepted)
            })?;
            text = text.replace(&format!("{{{name}}}"), &clean(value, 200));
        }
        let message = PromptMessage::new_text(Role::User, format!("{text} {MANNERS}"));
        Ok(GetPromptResult::new(vec![message]).with_description(template.about))
    }

    /// Values for an argument that begins like this.
    pub(crate) fn completion(&self, request: &CompleteRequestParams) -> CompleteResult {
        let (argument, typed) = (request.argument.name.as_str(), request.argument.value.trim());
        let values = match (&request.r#ref, argument) {
            (Reference::Resource(_), "id") => self.match_ids(typed),
            (_, "match") => self.match_titles(typed),
            (Reference::Resource(_), "bookmaker") => {
                let all = self.shared.parts.history.bookmakers();
                let all = all.iter().map(|slug| slug.to_string());
                all.filter(|slug| slug.starts_with(typed)).collect()
            }
            (_, "market") => {
                let markets = MARKETS.iter().filter(|market| market.starts_with(typed));
                markets.map(|market| (*market).to_owned()).collect()
            }
            (_, "date") => {
                let days = (-1..7).filter_map(|day| {
                    let at = clock::wall() + day * NEAR_US / 2;
                    base::time_format::zulu(at).map(|text| text[..10].to_owned())
                });
                days.filter(|day| day.starts_with(typed)).collect()
            }
            _ => Vec::new(),
        };
        let total = values.len();
        let values: Vec<String> = values.into_iter().take(VALUES_MAX).collect();
        let total_shown = u32::try_from(total).ok();
        let has_more = total > values.len();
        let info = CompletionInfo::with_pagination(values, total_shown, has_more);
        CompleteResult::new(info.unwrap_or_default())
    }

    /// Matches near now, those in play first, whose sides or id begin like this.
    fn near(&self, typed: &str) -> Vec<(std::sync::Arc<MatchSummary>, String)> {
        let now = clock::wall();
        let query = MatchQuery {
            from: Some(now - NEAR_US),
            before: Some(now + NEAR_US),
            window: Window { offset: 0, limit: 1000 },
            ..MatchQuery::of_sport(self.kind.sport)
        };
        let mut near = self.shared.parts.history.find(&query).summaries;
        near.sort_by_key(|summary| (!summary.status.is_live(), summary.start));
        let part = NamePart::new(typed);
        let titled = near.into_iter().map(|summary| {
            let title = clean(&self.kind.names.title(&summary), 200);
            (summary, title)
        });
        let fits = |(summary, title): &(std::sync::Arc<MatchSummary>, String)| {
            summary.id.to_string().starts_with(typed) || part.is_in(title)
        };
        titled.filter(fits).collect()
    }

    fn match_ids(&self, typed: &str) -> Vec<String> {
        self.near(typed).into_iter().map(|(summary, _)| summary.id.to_string()).collect()
    }

    fn match_titles(&self, typed: &str) -> Vec<String> {
        let near = self.near(typed).into_iter();
        near.map(|(summary, title)| format!("{title} ({})", summary.id)).collect()
    }
}
