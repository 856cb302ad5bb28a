//! The names of markets and outcomes, from the provider's descriptions.
//!
//! A description is a template, whose placeholders are specifiers of the market or the sides of the event (UOF pages of
//! docs.betradar.com, "Market descriptions"):
//!
//! | placeholder | stands for |
//! |---|---|
//! | `{total}` | the specifier as it is |
//! | `{+hcp}`, `{-hcp}` | it with its sign, and the negated number |
//! | `{!goalnr}` | it as an ordinal: `1st` |
//! | `{(nr+1)}`, `{!(nr-1)}` | a sum or a difference |
//! | `{$competitor1}`, `{$competitor2}`, `{$event}` | the names of the sides |
//!
//! `{%player}` needs a document of each player, which is not requested. A template with a placeholder that nothing stands for
//! gives no name.

use std::{collections::HashMap, fmt::Write, sync::Arc};

use facts::event::Fixture;
use rust_decimal::Decimal;

use crate::decode::sportradar_uof::MarketDescription;

/// The descriptions of all markets, by the id of the market.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MarketNames {
    markets: HashMap<String, MarketTemplates>,
}

#[derive(Debug, PartialEq, Eq)]
struct MarketTemplates {
    name: String,
    /// `all|score|regular_play`.
    groups: String,
    outcomes: HashMap<String, String>,
}

/// A market whose names are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamedMarket<'a> {
    pub(super) id: &'a str,
    /// `goalnr=1|total=2.5`.
    pub(super) specifiers: &'a str,
    pub(super) fixture: &'a Fixture,
}

impl MarketNames {
    pub(super) fn new(descriptions: Vec<MarketDescription>) -> Self {
        let markets = descriptions
            .into_iter()
            .filter(|description| !description.id.is_empty())
            .map(|description| {
                let outcomes = description.outcomes.into_iter().collect();
                (
                    description.id,
                    MarketTemplates {
                        name: description.name,
                        groups: description.groups,
                        outcomes,
                    },
                )
            });
        Self { markets: markets.collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.markets.is_empty()
    }

    /// Whether a market is in one of these groups, such as `corners|cards`. Without groups, or without a description that names
    /// some, it may be.
    pub(super) fn is_in_group(&self, market: &str, groups: Option<&str>) -> bool {
        let described = self.markets.get(market).map(|templates| templates.groups.as_str());
        let described = described.filter(|described| !described.is_empty());
        let (Some(described), Some(groups)) = (described, groups) else { return true };
        let is_described = |group| described.split('|').any(|described| described == group);
        groups.split('|').any(|group| group == "all" || is_described(group))
    }

    /// The name of a market. Specifiers that are not in it follow, since two markets must not have the same name: many
    /// handicaps are called alike, and only their outcomes have the number.
    pub(super) fn market(&self, named_market: &NamedMarket<'_>) -> Option<Arc<str>> {
        let template = &self.markets.get(named_market.id)?.name;
        let name = named_market.fill(template)?;
        let others: Vec<_> =
            named_market.specifiers.split('|').filter(|it| !is_named(template, it)).collect();
        Some(if others.is_empty() {
            name
        } else {
            format!("{name} ({})", others.join(", ")).into()
        })
    }

    /// The name of an outcome of a market.
    pub(super) fn outcome(
        &self,
        named_market: &NamedMarket<'_>,
        outcome: &str,
    ) -> Option<Arc<str>> {
        named_market.fill(self.markets.get(named_market.id)?.outcomes.get(outcome)?)
    }
}

/// Whether a template has a placeholder for a specifier such as `total=2.5`.
fn is_named(template: &str, specifier: &str) -> bool {
    let name = specifier.split_once('=').map_or(specifier, |(name, _)| name);
    let placeholders = template.split('{').skip(1).filter_map(|part| part.split_once('}'));
    let mut words =
        placeholders.flat_map(|(it, _)| it.split(|c: char| !c.is_alphanumeric() && c != '_'));
    specifier.is_empty() || words.any(|word| word == name)
}

impl NamedMarket<'_> {
    /// Fills the placeholders of a template.
    fn fill(&self, template: &str) -> Option<Arc<str>> {
        let (mut name, mut rest) = (String::with_capacity(template.len()), template);
        while let Some((before, after)) = rest.split_once('{') {
            let (placeholder, after) = after.split_once('}')?;
            name.push_str(before);
            self.write(&mut name, placeholder)?;
            rest = after;
        }
        name.push_str(rest);
        (!name.is_empty()).then(|| name.into())
    }

    fn write(&self, name: &mut String, placeholder: &str) -> Option<()> {
        match placeholder.split_at_checked(1)? {
            ("$", side) => name.push_str(&self.side(side)?),
            ("+", number) => {
                let number = self.number(number)?;
                let sign = if number > Decimal::ZERO { "+" } else { "" };
                write!(name, "{sign}{number}").ok()?;
            }
            ("-", number) => {
                let number = -self.number(number)?;
                let sign = if number > Decimal::ZERO { "+" } else { "" };
                write!(name, "{sign}{number}").ok()?;
            }
            ("!", number) => name.push_str(&ordinal(&self.number(number)?.to_string())),
            ("%", _) => return None,
            ("(", _) => write!(name, "{}", self.number(placeholder)?).ok()?,
            _ => name.push_str(self.specifier(placeholder)?),
        }
        Some(())
    }

    fn side(&self, name: &str) -> Option<String> {
        let [home, away] = self.fixture.sides.as_ref()?;
        Some(match name {
            "competitor1" => home.name.to_string(),
            "competitor2" => away.name.to_string(),
            "event" => format!("{} vs {}", home.name, away.name),
            _ => return None,
        })
    }

    /// A specifier that is a number, or `(specifier+1)`.
    fn number(&self, text: &str) -> Option<Decimal> {
        let Some(sum) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) else {
            return Some(self.specifier(text)?.parse::<Decimal>().ok()?.normalize());
        };
        let sign = sum.find(['+', '-'])?;
        let (specifier, added) = sum.split_at(sign);
        let added: Decimal = added.parse().ok()?;
        self.number(specifier)?.checked_add(added)
    }

    fn specifier(&self, name: &str) -> Option<&str> {
        let mut pairs = self.specifiers.split('|').filter_map(|it| it.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// `1st`, `12th`.
fn ordinal(number: &str) -> String {
    let is_teen = ["11", "12", "13"].iter().any(|teen| number.ends_with(teen));
    let ending = match number.chars().next_back() {
        Some('1') if !is_teen => "st",
        Some('2') if !is_teen => "nd",
        Some('3') if !is_teen => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use facts::event::{Id, Participant};

    use super::*;

    fn fixture(sides: Option<[&str; 2]>) -> Fixture {
        let participant = |name: &str| Participant { id: Id(1), name: name.into() };
        Fixture {
            provider: "sportradar".into(),
            provider_key: "sr:match:1".into(),
            competition: None,
            start: None,
            date: None,
            sides: sides.map(|sides| sides.map(participant)),
            ..Fixture::default()
        }
    }

    #[test]
    fn placeholders_are_filled() {
        let fixture = fixture(Some(["Bears", "Wolves"]));
        let market = NamedMarket {
            id: "1",
            specifiers: "goalnr=3|hcp=-1.50|mapnr=11|to=15|total=2.5",
            fixture: &fixture,
        };
        let check = |template: &str, expected: Option<&str>| {
            assert_eq!(market.fill(template).as_deref(), expected, "{template}");
        };
        check("{!goalnr} goal", Some("3rd goal"));
        check("Total {total}: {$competitor1}", Some("Total 2.5: Bears"));
        check("{$event}", Some("Bears vs Wolves"));
        check("{$competitor1} ({+hcp})", Some("Bears (-1.5)"));
        check("{$competitor2} ({-hcp})", Some("Wolves (+1.5)"));
        check("{!mapnr} map", Some("11th map"));
        check("to {(to+1)}, {!(to-14)}", Some("to 16, 1st"));
        check("plain", Some("plain"));
        for unknown in ["{%player}", "{none}", "{!none}", "{$server}", "{", "{}", "", "{(to*2)}"] {
            check(unknown, None);
        }
    }

    #[test]
    fn markets_of_one_event_differ_in_their_names() {
        let described = |id: &str, name: &str| MarketDescription {
            id: id.to_owned(),
            name: name.to_owned(),
            groups: String::new(),
            outcomes: Vec::new(),
        };
        let names = MarketNames::new(vec![
            described("62", "{!goalnr} goal"),
            described("165", "Corner handicap"),
            described("21", "Exact goals"),
            described("", "without an id"),
        ]);
        let check = |id, specifiers, expected: Option<&str>| {
            let fixture = fixture(None);
            let name = names.market(&NamedMarket { id, specifiers, fixture: &fixture });
            assert_eq!(name.as_deref(), expected, "{id} {specifiers}");
        };
        check("62", "goalnr=2", Some("2nd goal"));
        check("165", "hcp=-1.5", Some("Corner handicap (hcp=-1.5)"));
        check("165", "", Some("Corner handicap"));
        check(
            "21",
            "variant=sr:exact_goals:4+|x=1",
            Some("Exact goals (variant=sr:exact_goals:4+, x=1)"),
        );
        check("62", "goalnr=2|goal=1", Some("2nd goal (goal=1)"));
        check("", "", None);
    }

    #[test]
    fn names_of_sides_need_a_fixture_with_sides() {
        let fixture = fixture(None);
        let market = NamedMarket { id: "1", specifiers: "", fixture: &fixture };
        assert_eq!(market.fill("{$competitor1}"), None);
        assert_eq!(market.fill("draw").as_deref(), Some("draw"));
    }

    #[test]
    fn ordinals_have_their_endings() {
        let shown = ["1", "2", "3", "4", "11", "12", "13", "21", "111"].map(ordinal);
        let expected = ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "111th"];
        assert_eq!(shown, expected);
    }
}
