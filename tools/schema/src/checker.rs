//! Checks frames and commands against the schema, for tests.

use std::{collections::BTreeMap, fmt, sync::OnceLock};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::{ChannelKind, kinds};

/// The schema, with a validator for each definition.
pub struct Checker {
    schema: Value,
    kinds: Vec<ChannelKind>,
    /// Made when they are first needed.
    validators: BTreeMap<String, OnceLock<Validator>>,
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

impl Checker {
    /// For the frames of a hub.
    #[must_use]
    pub fn new() -> Self {
        Self::from_schema(crate::document())
    }

    /// For a hub to which facts are applied as sources report them, with digests in place of public ids.
    #[must_use]
    pub fn with_digests() -> Self {
        let mut schema = crate::document();
        schema["$defs"]["Id"]["maximum"] = u64::MAX.into();
        Self::from_schema(schema)
    }

    fn from_schema(schema: Value) -> Self {
        let names = schema["$defs"].as_object().into_iter().flatten().map(|(name, _)| name.clone());
        let validators = names.map(|name| (name, OnceLock::new())).collect();
        Self { schema, kinds: kinds(), validators }
    }

    /// Checks a frame of the hub.
    ///
    /// # Errors
    ///
    /// What does not conform.
    pub fn check_frame(&self, frame: &Value) -> Result<(), String> {
        let mut envelope = frame.clone();
        // What depends on the channel is checked on its own, and the smallest value stands for it in the frame.
        if let Some(data) = envelope.get_mut("data") {
            let kind = self.kind(&frame["ch"])?;
            let is_first = frame["seq"] == 0;
            self.check(if is_first { "OpeningDocument" } else { &kind.document }, data)?;
            *data = json!({"life": "live", "feed": "live", "stale_after_ms": 1});
        }
        if let Some(patch) = envelope.get_mut("patch") {
            self.check(&self.kind(&frame["ch"])?.patch(), patch)?;
            *patch = json!({});
        }
        if let Some(Value::Array(events)) =
            envelope.get_mut("events").filter(|_| frame["type"] == "update")
        {
            let kind = self.kind(&frame["ch"])?;
            let union = kind.event.ok_or_else(|| format!("{} has no events", kind.name))?;
            events.iter().try_for_each(|event| self.check(union, event))?;
            events.clear();
        }
        self.check("Frame", &envelope)
    }

    fn kind(&self, channel: &Value) -> Result<&ChannelKind, String> {
        let name = channel.as_str().unwrap_or_default();
        let kind = self.kinds.iter().find(|kind| kind.has(name));
        kind.ok_or_else(|| format!("no kind of channel: {channel}"))
    }

    /// Checks a value of a definition.
    ///
    /// # Errors
    ///
    /// What does not conform.
    ///
    /// # Panics
    ///
    /// If there is no such definition.
    pub fn check(&self, definition: &str, value: &Value) -> Result<(), String> {
        let validator = self.validators[definition].get_or_init(|| self.validator(definition));
        if validator.is_valid(value) {
            return Ok(());
        }
        let errors = validator.iter_errors(value).take(3);
        let errors: Vec<_> = errors.map(|it| format!("{} at {}", it, it.instance_path())).collect();
        Err(format!("not of {definition}: {errors:#?}\n{value}"))
    }

    fn validator(&self, definition: &str) -> Validator {
        let reference = format!("#/$defs/{definition}");
        let schema = json!({"$ref": reference, "$defs": self.schema["$defs"]});
        let validator = jsonschema::draft202012::new(&schema);
        validator.unwrap_or_else(|error| panic!("{definition}: {error}"))
    }
}

impl Default for Checker {
    fn default() -> Self {
        Self::new()
    }
}
