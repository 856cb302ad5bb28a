//! Prices of a match: side by side, and how they moved.

use accounts::products::Product;
use facts::market::{self, Market};
use record::{CONSENSUS, Key, bookmaker::canonical_slug};
use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::{
    argument::Arguments,
    call::{Call, RestRead, match_id},
    envelope::{Answer, AnswerData, DataState},
    prices,
    refusal::Refusal,
};

/// The pages of price changes that one history reads.
const HISTORY_PAGES_MAX: usize = 25;
const HISTORY_PAGE: usize = 200;

const NO_CONSENSUS: &str = "The comparison has bookmakers only. The consensus is the median of their prices: \
                            get_match_detail with include=odds and get_odds_history have it.";

impl Call<'_> {
    /// Writes the market of a list of prices in REST's words. REST refuses what is none.
    pub(crate) fn name_market(&self, arguments: &mut Arguments) {
        let asked = arguments.text("market").filter(|_| self.tool.rest.is_some());
        // A name says neither every line nor a selection.
        let market = asked.and_then(Market::named);
        if let Some(market) = market.filter(|it| Market::named(it.name) == Some(*it)) {
            arguments.set("market", market.name);
        }
    }

    pub(crate) async fn compare_odds(&self, arguments: &Arguments) -> Result<Answer, Refusal> {
        let id = match_id(arguments)?;
        let address = format!("/api/v2/events/{id}/odds/comparison/");
        let RestRead { answer, state } = self.read(&address, Some(id)).await?;
        if arguments.get("market").is_none() && arguments.get("bookmaker").is_none() {
            return self.about(AnswerData::Rest(answer), state, &address, arguments);
        }
        let mut data = answer.value()?;
        if let Some(asked) = arguments.text("market") {
            let market = Market::named(asked);
            let is_open = |name: &str| name.eq_ignore_ascii_case(asked);
            if market.is_none() && !prices::market_names(&data).any(is_open) {
                return Err(unknown_market(asked));
            }
            prices::keep_market(&mut data, market, asked)?;
        }
        if let Some(asked) = arguments.text("bookmaker") {
            let slugs = prices::bookmaker_slugs(asked);
            let mut unpriced = prices::keep_bookmakers(&mut data, &slugs);
            // A list with others is answered without the consensus.
            let is_list = unpriced.len() < slugs.len();
            unpriced.retain(|slug| !is_list || slug != CONSENSUS);
            self.check_bookmakers(&unpriced, false)?;
        }
        self.about(AnswerData::Value(data), state, &address, arguments)
    }

    /// Refuses bookmakers that have never had prices, and the consensus where it is not among the prices.
    fn check_bookmakers(&self, slugs: &[String], has_consensus: bool) -> Result<(), Refusal> {
        let all = self.server.shared.parts.history.bookmakers();
        let bookmakers = all.iter().map(|slug| &**slug).filter(|slug| *slug != CONSENSUS);
        let accepted: Vec<&str> = bookmakers.chain(has_consensus.then_some(CONSENSUS)).collect();
        let is_refused = |slug: &&String| !accepted.iter().any(|it| canonical_slug(it) == *slug);
        let Some(slug) = slugs.iter().find(is_refused) else { return Ok(()) };
        let message = match slug.as_str() {
            CONSENSUS => NO_CONSENSUS.to_owned(),
            _ => format!("There is no bookmaker {slug:?}."),
        };
        Err(Refusal::bad_argument(message).with("argument", "bookmaker").with("accepted", accepted))
    }

    /// The price changes of one market of a match: of the consensus on the winner, unless the call says otherwise.
    pub(crate) async fn odds_history(&self, arguments: &Arguments) -> Result<Answer, Refusal> {
        let id = match_id(arguments)?;
        let asked = arguments.text("market").unwrap_or(Market::RESULT.kind);
        let market = Market::with_period(asked).map(|(market, _)| market);
        let address = self.history_address(id, market, arguments)?;
        let mut rows = Vec::new();
        let mut state = DataState::ARCHIVED;
        for page in 0..HISTORY_PAGES_MAX {
            let paged = format!("{address}&limit={HISTORY_PAGE}&offset={}", page * HISTORY_PAGE);
            let read = self.read(&paged, Some(id)).await?;
            if page == 0 {
                state = read.state;
            }
            let mut page = read.answer.value()?;
            let Some(Value::Array(more)) = page.get_mut("results").map(Value::take) else { break };
            let is_last = more.len() < HISTORY_PAGE;
            rows.extend(more);
            if is_last {
                break;
            }
        }
        // Bookmakers have markets of their own, which only prices tell.
        if market.is_none() && rows.is_empty() {
            return Err(unknown_market(asked));
        }
        if let Some(asked) = arguments.text("bookmaker").filter(|_| rows.is_empty()) {
            self.check_bookmakers(&prices::bookmaker_slugs(asked), true)?;
        }
        let points = arguments.count("points").unwrap_or(30);
        let data = json!({"series": prices::series(&rows, points)});
        self.about(AnswerData::Value(data), state, &address, arguments)
    }

    fn history_address(
        &self,
        id: Key,
        market: Option<Market>,
        arguments: &Arguments,
    ) -> Result<String, Refusal> {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let asked = arguments.text("market").unwrap_or(Market::RESULT.kind);
        let kind = market.filter(|_| !asked.contains(':')).map_or(asked, |market| market.kind);
        query.append_pair("market", kind);
        let bookmakers = prices::bookmaker_slugs(arguments.text("bookmaker").unwrap_or(CONSENSUS));
        query.append_pair("bookmaker", &bookmakers.join(","));
        let in_market = market.and_then(|market| market.selection);
        let selection = arguments.text("selection").or(in_market);
        let said = market.zip(selection).and_then(|(market, text)| outcome_and_line(market, text));
        if let Some(selection) = said.map(|(outcome, _)| outcome).or(selection) {
            query.append_pair("outcome", &self.outcome(id, market, selection)?);
        }
        let named_line =
            said.map(|(_, line)| line).or_else(|| market.and_then(|market| market.line));
        let named_line = named_line.map(|line| line.to_string());
        let line = arguments.text("line").map(ToOwned::to_owned).or(named_line);
        let times = [("date_from", "from"), ("date_to", "to")];
        let times = times.map(|(rest_name, name)| (rest_name, arguments.rest_text(name)));
        for (rest_name, value) in times.into_iter().chain([("line", line)]) {
            if let Some(value) = value {
                query.append_pair(rest_name, &value);
            }
        }
        Ok(format!("/odds/api/events/{id}/history/?{}", query.finish()))
    }

    /// An outcome in the words of records; the name of a side is its outcome.
    fn outcome(&self, id: Key, market: Option<Market>, asked: &str) -> Result<String, Refusal> {
        let Some(market) = market else { return Ok(asked.to_owned()) };
        if let Some(outcome) = market.outcome_named(asked) {
            return Ok(outcome.into_owned());
        }
        let side = self.server.kind.names.side_named(id, asked);
        let outcome = side.and_then(|side| market.outcome_named(["home", "away"][side]));
        outcome.map(std::borrow::Cow::into_owned).ok_or_else(|| {
            let accepted: Vec<&str> = market.outcome_names().collect();
            let message = format!("The market {} has no selection {asked:?}.", market.name);
            Refusal::bad_argument(message).with("argument", "selection").with("accepted", accepted)
        })
    }

    /// The matched money of every exchange's book, from its channel.
    pub(crate) async fn money(&self, arguments: &Arguments) -> Result<Answer, Refusal> {
        let id = match_id(arguments)?;
        let shared = &self.server.shared;
        if shared.parts.history.summary(id).is_none() {
            return Err(self.server.kind.names.no_match(id));
        }
        shared.admission.check(self.caller, Product::Odds)?;
        let pattern = format!("{}/{id}/odds/*", self.server.kind.sport.as_str());
        let mut markets = Vec::new();
        for channel in shared.channels.matching(&pattern).await? {
            if let Some(image) = shared.channels.image(&channel).await? {
                let bookmaker = channel.rsplit('/').next().unwrap_or_default();
                markets.extend(prices::money(bookmaker, &image["data"]));
            }
        }
        if markets.is_empty() {
            return Err(Refusal::new(
                "not_available",
                "No exchange reports matched money for this match.",
            ));
        }
        let address = format!("/api/v2/events/{id}/odds/comparison/");
        let data = AnswerData::Value(json!({"markets": markets}));
        self.about(data, self.state_of(id), &address, arguments)
    }
}

/// The outcome and the line in `over 2.5`, if the market has both.
fn outcome_and_line(market: Market, text: &str) -> Option<(&str, Decimal)> {
    let (outcome, line) = text.rsplit_once(' ')?;
    let line: Decimal = line.parse().ok()?;
    // Where bookmakers name the outcomes, the number is a part of the name.
    let has_outcome =
        market.outcome_names().next().is_some() && market.outcome_named(outcome).is_some();
    let has_both = has_outcome && market.line.is_none_or(|market_line| market_line == line);
    has_both.then_some((outcome, line))
}

fn unknown_market(asked: &str) -> Refusal {
    let accepted: Vec<&str> = market::names().collect();
    Refusal::bad_argument(format!("There is no market {asked:?}."))
        .with("argument", "market")
        .with("accepted", accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_may_say_their_line() {
        let read = |market: &str, text: &'static str| {
            let said = outcome_and_line(Market::named(market).expect("a market"), text);
            said.map(|(outcome, line)| format!("{outcome} {line}"))
        };
        assert_eq!(read("over_under_25", "over 2.5").as_deref(), Some("over 2.5"));
        assert_eq!(read("over_under", "under 3.5").as_deref(), Some("under 3.5"));
        assert_eq!(read("over_under_25", "over 3.5"), None);
        assert_eq!(read("1x2", "Hannover 96"), None);
    }
}
