//! The properties of an entity.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// Values by name. In JSON an object. An entity has few, and there are tens of thousands of entities: a map would take
/// four times as much memory.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(from = "BTreeMap<Box<str>, Value>")]
pub struct Properties {
    /// Sorted by name.
    sorted: Box<[(Box<str>, Value)]>,
}

impl Properties {
    /// The value of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.position(name).ok().map(|index| &self.sorted[index].1)
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.sorted.iter().map(|(name, value)| (&**name, value))
    }

    /// Adds a value, or replaces that of the same name.
    pub(super) fn insert(&mut self, name: &str, value: Value) {
        match self.position(name) {
            Ok(index) => self.sorted[index].1 = value,
            Err(index) => {
                let mut sorted = std::mem::take(&mut self.sorted).into_vec();
                sorted.insert(index, (name.into(), value));
                self.sorted = sorted.into();
            }
        }
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.sorted.binary_search_by(|(key, _)| (**key).cmp(name))
    }
}

impl From<BTreeMap<Box<str>, Value>> for Properties {
    fn from(by_name: BTreeMap<Box<str>, Value>) -> Self {
        Self { sorted: by_name.into_iter().collect() }
    }
}

impl Serialize for Properties {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_found_replaced_and_read_back() {
        let mut properties = Properties::default();
        for (name, value) in [("surface", "clay"), ("city", "Bern"), ("surface", "grass")] {
            properties.insert(name, value.into());
        }
        assert_eq!(properties.get("surface"), Some(&"grass".into()));
        assert_eq!(properties.get("capacity"), None);
        let text = serde_json::to_string(&properties).unwrap();
        assert_eq!(text, r#"{"city":"Bern","surface":"grass"}"#);
        assert_eq!(serde_json::from_str::<Properties>(&text).unwrap(), properties);
    }
}
