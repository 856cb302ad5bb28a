//! The one vocabulary of markets and outcomes: every interface names them with it and understands all its words.
//!
//! A market has a **kind**, which records, the stream and the Odds API call it by (`match_winner`, `over_under`), and a **name**
//! in football's REST interface (`1x2`, `over_under_25`), which may include a line. Both are understood everywhere, as are
//! the stream's ids (`over_under@2.5`, `match_winner:1h`) and common words (`moneyline`, `Over/Under 2.5`, `ah`), in any
//! case, with spaces, hyphens and slashes for underscores. So are outcomes: `home`, `HOME`, `1`, `h`; and a market with one of
//! its outcomes: `over 2.5`, `under 9.5 corners`, `btts yes`, `handicap away +1.5`.
//!
//! Bookmakers have more markets than these, whose kinds are their own words. Callers that have the prices of a match accept
//! those kinds too, as they are spelled there.

use std::borrow::Cow;

use rust_decimal::{Decimal, dec};

/// The outcomes of a market, in the order in which they are shown: in records, and in football's REST interface.
type Outcomes = &'static [(&'static str, &'static str)];

const RESULT: Outcomes = &[("home", "HOME"), ("draw", "DRAW"), ("away", "AWAY")];
const SIDES: Outcomes = &[("home", "HOME"), ("away", "AWAY")];
const TOTALS: Outcomes = &[("over", "over"), ("under", "under")];
const YES_NO: Outcomes = &[("yes", "yes"), ("no", "no")];
const DOUBLE: Outcomes = &[("1x", "1X"), ("12", "12"), ("x2", "X2")];

/// Bookmakers name these outcomes as they like.
const ANY: Outcomes = &[];

/// Markets whose names do not depend on the line.
const PLAIN: [Market; 13] = [
    Market::RESULT,
    Market::new("btts", "both_teams_to_score", YES_NO),
    Market::new("double_chance", "double_chance", DOUBLE),
    Market::new("draw_no_bet", "draw_no_bet", SIDES),
    Market::new("asian_handicap", "asian_handicap", SIDES),
    Market::new("total_corners", "over_under_corners", TOTALS),
    Market::new("total_cards", "over_under_cards", TOTALS),
    Market::new("total_red_cards", "over_under_red_cards", TOTALS),
    Market::new("corners_1x2", "corners_winner", RESULT),
    Market::new("red_card", "red_card", YES_NO),
    // Goals at a line without its own name, such as 2.25.
    Market::new(GOALS, GOALS, TOTALS),
    Market::new("correct_score", "correct_score", ANY),
    Market::new("half_time_full_time", "half_time_full_time", ANY),
];

const GOALS: &str = "over_under";

/// Goals by halves: `over_under_25` is the line 2.5.
const NAMED_LINES: [(&str, Decimal); 10] = [
    ("over_under_05", dec!(0.5)),
    ("over_under_15", dec!(1.5)),
    ("over_under_25", dec!(2.5)),
    ("over_under_35", dec!(3.5)),
    ("over_under_45", dec!(4.5)),
    ("over_under_55", dec!(5.5)),
    ("over_under_65", dec!(6.5)),
    ("over_under_75", dec!(7.5)),
    ("over_under_85", dec!(8.5)),
    ("over_under_95", dec!(9.5)),
];

/// Other words for kinds.
const KIND_ALIASES: [(&str, &str); 29] = [
    ("winner", "match_winner"),
    ("result", "match_winner"),
    ("match_result", "match_winner"),
    ("full_time_result", "match_winner"),
    ("moneyline", "match_winner"),
    ("money_line", "match_winner"),
    ("h2h", "match_winner"),
    ("match_odds", "match_winner"),
    ("ml", "match_winner"),
    ("both_teams_score", "both_teams_to_score"),
    ("gg", "both_teams_to_score"),
    ("gg_ng", "both_teams_to_score"),
    ("dc", "double_chance"),
    ("dnb", "draw_no_bet"),
    ("ah", "asian_handicap"),
    ("handicap", "asian_handicap"),
    ("spread", "asian_handicap"),
    ("spreads", "asian_handicap"),
    ("ou", GOALS),
    ("o_u", GOALS),
    ("total", GOALS),
    ("totals", GOALS),
    ("goals", GOALS),
    ("total_goals", GOALS),
    ("goals_over_under", GOALS),
    ("corners", "over_under_corners"),
    ("cards", "over_under_cards"),
    ("red_cards", "over_under_red_cards"),
    ("ht_ft", "half_time_full_time"),
];

/// The longest text in which a market and its outcome are looked for.
const BYTES_MAX: usize = 64;

/// Words before the line of a total, the longest first.
const TOTAL_WORDS: [(&str, &str); 4] =
    [("over", "over"), ("under", "under"), ("o", "over"), ("u", "under")];

/// Other words for outcomes.
const OUTCOME_ALIASES: [(&str, &str); 24] = [
    ("1", "home"),
    ("h", "home"),
    ("home_win", "home"),
    ("x", "draw"),
    ("d", "draw"),
    ("tie", "draw"),
    ("2", "away"),
    ("a", "away"),
    ("away_win", "away"),
    ("player1", "p1"),
    ("player_1", "p1"),
    ("player2", "p2"),
    ("player_2", "p2"),
    ("o", "over"),
    ("u", "under"),
    ("y", "yes"),
    ("n", "no"),
    ("home_or_draw", "1x"),
    ("draw_or_home", "1x"),
    ("home_draw", "1x"),
    ("home_or_away", "12"),
    ("home_away", "12"),
    ("draw_or_away", "x2"),
    ("draw_away", "x2"),
];

/// A market that every interface knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Market {
    /// In football's REST interface.
    pub name: &'static str,
    /// In records, the stream and the Odds API.
    pub kind: &'static str,
    /// The line that its name says.
    pub line: Option<Decimal>,
    /// The outcome that its name says, as records have it: `over` in `over 2.5`.
    pub selection: Option<&'static str>,
    outcomes: Outcomes,
}

impl Market {
    /// Who wins.
    pub const RESULT: Self = Self::new("1x2", "match_winner", RESULT);

    const fn new(name: &'static str, kind: &'static str, outcomes: Outcomes) -> Self {
        Self { name, kind, line: None, selection: None, outcomes }
    }

    /// The market of the whole match with this name, kind, id or other word; `None` if there is none.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        match Self::with_period(text)? {
            (market, None) => Some(market),
            (_, Some(_)) => None,
        }
    }

    /// The same, with the part of the match that an id says: `1h` in `match_winner:1h` and in `over_under:1h@0.5`.
    #[must_use]
    pub fn with_period(text: &str) -> Option<(Self, Option<&str>)> {
        let (text, line) = match text.trim().split_once('@') {
            Some((text, line)) => (text, Some(Decimal::from_str_exact(line.trim()).ok()?)),
            None => (text.trim(), None),
        };
        let (text, period) = match text.split_once(':') {
            Some((text, period)) => (text, Some(period.trim())),
            None => (text, None),
        };
        let market = Self::plain(&folded(text))?;
        let market = match (market.line, line) {
            (Some(named), Some(line)) if named != line => return None,
            (Some(_), _) | (None, None) => market,
            (None, Some(line)) => market.at(line)?,
        };
        Some((market, period))
    }

    /// The market of a folded text, also with one of its outcomes.
    fn plain(text: &str) -> Option<Self> {
        let selected = || Self::total(text).or_else(|| Self::with_selection(text));
        Self::whole(text).or_else(|| (text.len() <= BYTES_MAX).then(selected)?)
    }

    /// The market of a folded text with all its outcomes.
    fn whole(text: &str) -> Option<Self> {
        if let Some((name, line)) = NAMED_LINES.iter().find(|(name, _)| *name == text) {
            return Some(Self::goals(name, *line));
        }
        let alias = KIND_ALIASES.iter().find(|(alias, _)| *alias == text);
        let kind = alias.map_or(text, |(_, kind)| *kind);
        let mut plain = PLAIN.into_iter();
        if let Some(market) = plain.find(|market| market.name == kind || market.kind == kind) {
            return Some(market);
        }
        // `over_under_2.5`
        let (text, line) = text.rsplit_once('_').filter(|(_, line)| line.contains('.'))?;
        Self::whole(text)?.at(Decimal::from_str_exact(line).ok()?)
    }

    const fn goals(name: &'static str, line: Decimal) -> Self {
        Self { line: Some(line), ..Self::new(name, GOALS, TOTALS) }
    }

    /// `over_2.5`, `under_9.5_corners`, `o2.5`, `over25`
    fn total(text: &str) -> Option<Self> {
        let (outcome, rest) = TOTAL_WORDS.iter().find_map(|(word, outcome)| {
            let rest = text.strip_prefix(word)?;
            let rest = rest.strip_prefix('_').unwrap_or(rest);
            rest.starts_with(|c: char| c.is_ascii_digit()).then_some((*outcome, rest))
        })?;
        let (line, kind) = rest.split_once('_').unwrap_or((rest, GOALS));
        let at_line = || Self::whole(kind)?.at(Decimal::from_str_exact(line).ok()?);
        Self::whole(&format!("{kind}_{line}")).or_else(at_line)?.selecting(outcome)
    }

    /// `btts_yes`, `over_under_25_over`, `asian_handicap_away_+1.5`
    fn with_selection(text: &str) -> Option<Self> {
        text.match_indices('_').find_map(|(end, _)| {
            let (market, outcome) = (Self::whole(&text[..end])?, &text[end + 1..]);
            if let Some(selected) = market.selecting(outcome) {
                return Some(selected);
            }
            let (outcome, line) = outcome.rsplit_once('_')?;
            let selected = market.selecting(outcome)?;
            let line = Decimal::from_str_exact(line).ok()?;
            // The line of a handicap is that of the home side.
            let is_of_away = market.outcomes == SIDES && selected.selection == Some("away");
            let line = if is_of_away { -line } else { line };
            selected.at(line)
        })
    }

    /// The same at a line, if it has none yet.
    fn at(self, line: Decimal) -> Option<Self> {
        let recorded = Self::recorded(self.kind, None, Some(line))?;
        let market = Self { line: Some(line), selection: self.selection, ..recorded };
        self.line.is_none().then_some(market)
    }

    /// The same with one of its outcomes.
    fn selecting(self, outcome: &str) -> Option<Self> {
        let named = outcome_named(outcome)?;
        let (selection, _) = self.outcomes.iter().find(|(recorded, _)| *recorded == named)?;
        Some(Self { selection: Some(selection), ..self })
    }

    /// The market of a price in the records; `None` for markets that only their bookmaker has, and for those of a part of
    /// the match, which football's REST interface does not name.
    #[must_use]
    pub fn recorded(kind: &str, period: Option<&str>, line: Option<Decimal>) -> Option<Self> {
        if period.is_some() {
            return None;
        }
        let mut named = NAMED_LINES.iter().filter(|_| kind == GOALS);
        let named = named.find(|(_, named)| line == Some(*named));
        let plain = || PLAIN.into_iter().find(|market| market.kind == kind);
        named.map(|(name, line)| Self::goals(name, *line)).or_else(plain)
    }

    /// What football's REST interface calls an outcome of the records.
    #[must_use]
    pub fn outcome(self, recorded: &str) -> Option<&'static str> {
        self.outcomes.iter().find(|(name, _)| *name == recorded).map(|(_, name)| *name)
    }

    /// The outcome of this market with this name or other word, as the records have it; `None` if it has no such outcome.
    /// Unchanged in markets whose outcomes bookmakers name.
    #[must_use]
    pub fn outcome_named(self, text: &str) -> Option<Cow<'static, str>> {
        if self.outcomes.is_empty() {
            return Some(text.to_owned().into());
        }
        let named = outcome_named(text)?;
        self.outcomes.iter().find(|(recorded, _)| *recorded == named).map(|_| named.into())
    }

    /// Its outcomes in football's REST interface, for refusals; empty where bookmakers name them.
    pub fn outcome_names(self) -> impl Iterator<Item = &'static str> {
        self.outcomes.iter().map(|(_, name)| *name)
    }
}

/// The names of all markets, for refusals and documents.
pub fn names() -> impl Iterator<Item = &'static str> {
    let plain = PLAIN.iter().map(|market| market.name);
    plain.chain(NAMED_LINES.iter().map(|(name, _)| *name))
}

/// The outcomes of all markets in football's REST interface, each once, for refusals.
#[must_use]
pub fn all_outcome_names() -> Vec<&'static str> {
    let mut names = Vec::new();
    for (_, name) in PLAIN.iter().flat_map(|market| market.outcomes) {
        if !names.contains(name) {
            names.push(*name);
        }
    }
    names
}

/// The outcome with this name or other word in any market, as the records have it; `None` if no market has it.
#[must_use]
pub fn outcome_named(text: &str) -> Option<&'static str> {
    let text = folded(text);
    let alias = OUTCOME_ALIASES.iter().find(|(alias, _)| *alias == text);
    let outcome = alias.map_or(&*text, |(_, outcome)| *outcome);
    if let Some(player) = ["p1", "p2"].into_iter().find(|player| *player == outcome) {
        return Some(player);
    }
    let mut outcomes = PLAIN.iter().flat_map(|market| market.outcomes);
    outcomes.find(|(recorded, _)| *recorded == outcome).map(|(recorded, _)| *recorded)
}

/// In lower case, with one underscore for each run of spaces, hyphens and slashes. A hyphen before a line of its own word is its
/// sign: `handicap -1.5`.
fn folded(text: &str) -> String {
    let is_line = |word: &str| word.contains('.') && Decimal::from_str_exact(word).is_ok();
    let words = text.split([' ', '/', '_']).flat_map(|word| {
        let hyphens: &[char] = if is_line(word) { &[] } else { &['-'] };
        word.split(hyphens)
    });
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join("_").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_market_means_the_same() {
        let check = |words: &[&str], name: &str, kind: &str, line: Option<Decimal>| {
            for text in words {
                let market = Market::named(text).unwrap_or_else(|| panic!("{text}"));
                assert_eq!((market.name, market.kind, market.line), (name, kind, line), "{text}");
            }
        };
        check(&["1x2", "1X2", "match_winner", "Moneyline", " h2h "], "1x2", "match_winner", None);
        check(
            &["btts", "both_teams_to_score", "Both Teams To Score"],
            "btts",
            "both_teams_to_score",
            None,
        );
        let words =
            ["over_under_25", "over_under@2.5", "over_under@2.50", "Over/Under 2.5", "ou_2.5"];
        check(&words, "over_under_25", "over_under", Some(dec!(2.5)));
        check(&["over_under", "totals", "OU"], "over_under", "over_under", None);
        check(&["over_under@2.25", "totals 2.25"], "over_under", "over_under", Some(dec!(2.25)));
        check(
            &["asian_handicap@-1.5", "AH@-1.5", "Asian Handicap -1.5", "spread_-1.5"],
            "asian_handicap",
            "asian_handicap",
            Some(dec!(-1.5)),
        );
        check(
            &["total_corners", "over_under_corners"],
            "total_corners",
            "over_under_corners",
            None,
        );
        for text in ["", "nonsense", "over_under_1h", "over_under_25@3.5", "over_under@x", "1x2:1h"]
        {
            assert_eq!(Market::named(text), None, "{text}");
        }
        let (market, period) = Market::with_period("over_under:1h@0.5").unwrap();
        assert_eq!((market.kind, market.line, period), ("over_under", Some(dec!(0.5)), Some("1h")));
    }

    #[test]
    fn market_may_say_its_line_and_its_selection() {
        for (text, name, line, selection) in [
            ("over 2.5", "over_under_25", Some(dec!(2.5)), Some("over")),
            ("Under 2.25 goals", "over_under", Some(dec!(2.25)), Some("under")),
            ("o2.5", "over_under_25", Some(dec!(2.5)), Some("over")),
            ("U 3.5", "over_under_35", Some(dec!(3.5)), Some("under")),
            ("over 3", "over_under", Some(dec!(3)), Some("over")),
            ("over25", "over_under_25", Some(dec!(2.5)), Some("over")),
            ("over 9.5 corners", "total_corners", Some(dec!(9.5)), Some("over")),
            ("over_under_25 under", "over_under_25", Some(dec!(2.5)), Some("under")),
            ("Over/Under 2.5 over", "over_under_25", Some(dec!(2.5)), Some("over")),
            ("btts yes", "btts", None, Some("yes")),
            ("both teams to score - no", "btts", None, Some("no")),
            ("1x2 home", "1x2", None, Some("home")),
            ("double chance home or draw", "double_chance", None, Some("1x")),
            ("asian handicap home -1.5", "asian_handicap", Some(dec!(-1.5)), Some("home")),
            ("handicap away +1.5", "asian_handicap", Some(dec!(-1.5)), Some("away")),
            ("draw no bet away", "draw_no_bet", None, Some("away")),
            ("asian_handicap_home@-1.5", "asian_handicap", Some(dec!(-1.5)), Some("home")),
        ] {
            let market = Market::named(text).unwrap_or_else(|| panic!("{text}"));
            let read = (market.name, market.line, market.selection);
            assert_eq!(read, (name, line, selection), "{text}");
        }
        for text in
            ["over", "over goals", "over 2.5 yes", "btts over", "over x", "home", "over 2.5 over"]
        {
            assert_eq!(Market::named(text), None, "{text}");
        }
    }

    #[test]
    fn every_name_and_alias_is_understood_and_none_hides_another() {
        for name in names() {
            assert_eq!(Market::named(name).map(|market| market.name), Some(name));
        }
        for (alias, kind) in KIND_ALIASES {
            assert_eq!(Market::named(alias).map(|market| market.kind), Some(kind), "{alias}");
            assert!(
                PLAIN.iter().all(|market| market.name != alias && market.kind != alias),
                "{alias}"
            );
        }
        for (alias, outcome) in OUTCOME_ALIASES {
            assert_eq!(outcome_named(alias), Some(outcome), "{alias}");
        }
    }

    #[test]
    fn records_round_trip() {
        for (kind, line, name) in [
            ("match_winner", None, "1x2"),
            ("over_under", Some(dec!(2.50)), "over_under_25"),
            ("over_under", Some(dec!(2.25)), "over_under"),
            ("both_teams_to_score", None, "btts"),
            ("asian_handicap", Some(dec!(-1.75)), "asian_handicap"),
            ("over_under_corners", Some(dec!(9.5)), "total_corners"),
        ] {
            let market = Market::recorded(kind, None, line).unwrap();
            assert_eq!(market.name, name);
            assert_eq!(Market::named(name), Some(market), "{name}");
            assert_eq!(Market::recorded(kind, Some("1h"), line), None, "of a half");
        }
        assert_eq!(Market::recorded("first_goalscorer", None, None), None);
    }

    #[test]
    fn outcomes_are_those_of_the_market() {
        let result = Market::RESULT;
        for text in ["home", "HOME", "1", "h", "Home Win"] {
            assert_eq!(result.outcome_named(text).as_deref(), Some("home"), "{text}");
        }
        assert_eq!((result.outcome("away"), result.outcome_named("over")), (Some("AWAY"), None));
        assert_eq!(result.outcome_names().collect::<Vec<_>>(), ["HOME", "DRAW", "AWAY"]);
        let double = Market::named("double_chance").unwrap();
        assert_eq!(double.outcome_named("Home or Draw").as_deref(), Some("1x"));
        let score = Market::named("correct_score").unwrap();
        assert_eq!((score.outcome("2-1"), score.outcome_named("2-1")), (None, Some("2-1".into())));
        assert_eq!((outcome_named("Player 1"), outcome_named("maybe")), (Some("p1"), None));
    }
}
