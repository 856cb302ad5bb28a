//! The fixture of an event, as the REST interface returns it.

use facts::event::Micros;

use super::{
    Element,
    message::{ITEMS_MAX, Notices},
    value::{moment, value},
};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UofFixture {
    pub event: String,
    pub start: Option<Micros>,
    /// `sr:sport:1`.
    pub sport: Option<String>,
    /// Id and name.
    pub tournament: Option<(String, String)>,
    /// `18/19`, or else its name.
    pub season: Option<String>,
    /// Of the tournament: three letters.
    pub country: Option<String>,
    pub competitors: Vec<Competitor>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Competitor {
    pub id: String,
    pub name: String,
    pub away: bool,
    /// `male`, `female`.
    pub gender: Option<String>,
    /// `U19`.
    pub age: Option<String>,
}

impl UofFixture {
    pub(super) fn from_element(event: String, element: &Element, notices: &mut Notices) -> Self {
        let start = ["start_time", "scheduled"];
        let start = start.iter().find_map(|name| moment(element, name, notices));
        Self { event, start, ..Self::default() }
    }

    pub(super) fn element(&mut self, parent: &str, element: &Element, notices: &mut Notices) {
        let text =
            |name: &str| element.get(name).filter(|text| !text.is_empty()).map(str::to_owned);
        // Without an id it would be one with all others that have none.
        let both = || text("id").zip(text("name"));
        let lacks = || value(format!("a {} has no id or no name", element.name));
        match (parent, element.name.as_str()) {
            (_, "season") => {
                let year = element.get("year").or_else(|| element.get("name"));
                self.season = year.map(str::to_owned);
            }
            ("fixture" | "sport_event", "tournament") => {
                self.tournament = both();
                notices.extend(self.tournament.is_none().then(lacks));
            }
            ("tournament", "category") => {
                self.country = text("country_code");
            }
            ("tournament", "sport") => self.sport = text("id"),
            ("competitors", "competitor") if self.competitors.len() < ITEMS_MAX => {
                let away = element.get("qualifier") == Some("away");
                let (gender, age) = (text("gender"), text("age_group"));
                match both() {
                    Some((id, name)) => {
                        self.competitors.push(Competitor { id, name, away, gender, age });
                    }
                    None => notices.push(lacks()),
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::sportradar_uof::decode;

    #[test]
    fn country_is_stated_or_absent() {
        for (attributes, country) in
            [(r#"country_code="ESP""#, Some("ESP")), (r#"country_code="""#, None), ("", None)]
        {
            let text = format!(
                r#"<fixtures_fixture><fixture id="sr:match:1"><tournament id="sr:tournament:1" name="Cup"><category id="c" name="Spain" {attributes}/></tournament></fixture></fixtures_fixture>"#
            );
            let message = decode(text.as_bytes()).unwrap();
            assert_eq!(message.fixtures[0].country.as_deref(), country, "{attributes}");
        }
    }
}
