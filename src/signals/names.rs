//! Outcomes by their names, for what is kept.

use ingest::event::Outcome;
use serde::de::{Error, Unexpected};

const ALL: [Outcome; 9] = [
    Outcome::Home,
    Outcome::Draw,
    Outcome::Away,
    Outcome::Player1,
    Outcome::Player2,
    Outcome::Over,
    Outcome::Under,
    Outcome::Yes,
    Outcome::No,
];

fn named<E: Error>(name: &str) -> Result<Outcome, E> {
    let found = ALL.into_iter().find(|outcome| outcome.as_str() == name);
    found.ok_or_else(|| E::invalid_value(Unexpected::Str(name), &"the name of an outcome"))
}

pub(super) mod outcome {
    use ingest::event::Outcome;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(crate) fn serialize<S: Serializer>(outcome: &Outcome, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(outcome.as_str())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Outcome, D::Error> {
        super::named(&String::deserialize(from)?)
    }
}

pub(super) mod optional_outcome {
    use ingest::event::Outcome;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde's signature")]
    pub(crate) fn serialize<S: Serializer>(
        outcome: &Option<Outcome>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        outcome.map(Outcome::as_str).serialize(out)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Outcome>, D::Error> {
        let name = Option::<String>::deserialize(from)?;
        name.map(|name| super::named(&name)).transpose()
    }
}
