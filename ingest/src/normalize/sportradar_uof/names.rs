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

use rust_decimal::Decimal;

use crate::{decode::sportradar_uof::MarketDescription, event::Fixture};

/// The descriptions of all markets, by the id of the market.
#[derive(Debug, Default)]
pub(super) struct MarketNames {
    markets: HashMap<String, MarketTemplates>,
}

#[derive(Debug)]
struct MarketTemplates {
    name: String,
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
        let markets = descriptions.into_iter().map(|it| {
            let outcomes = it.outcomes.into_iter().collect();
            (it.id, MarketTemplates { name: it.name, outcomes })
        });
        Self { markets: markets.collect() }
    }

    /// The name of a market.
    pub(super) fn market(&self, of: &NamedMarket<'_>) -> Option<Arc<str>> {
        of.fill(&self.markets.get(of.id)?.name)
    }

    /// The name of an outcome of a market.
    pub(super) fn outcome(&self, of: &NamedMarket<'_>, outcome: &str) -> Option<Arc<str>> {
        of.fill(self.markets.get(of.id)?.outcomes.get(outcome)?)
    }
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
    use super::*;
    use crate::event::{Id, Participant};

    fn fixture(sides: Option<[&str; 2]>) -> Fixture {
        let participant = |name: &str| Participant { id: Id(1), name: name.into() };
        Fixture {
            provider: "sportradar".into(),
            provider_key: "sr:match:1".into(),
            competition: None,
            start: None,
            date: None,
            sides: sides.map(|sides| sides.map(participant)),
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
