//! Checks frames against the schema, strictly: nothing may be in a frame that the schema does not name. For tests.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::{ChannelKind, kinds, patch::reference, strict};

/// The schema with a validator for each definition, and the fields that were seen.
pub struct Contract {
    schema: Value,
    kinds: Vec<ChannelKind>,
    /// Made when they are first needed.
    validators: BTreeMap<String, OnceLock<Validator>>,
    /// Whether a value had the field, by definition and name.
    fields: BTreeMap<String, BTreeMap<String, AtomicBool>>,
    /// Whether `fields` is kept, which takes as long as the check itself.
    counts_fields: bool,
}

impl fmt::Debug for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contract").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

impl Contract {
    /// The contract of a hub.
    #[must_use]
    pub fn new() -> Self {
        Self::from_schema(strict())
    }

    /// The contract of a hub to which facts are applied as sources report them, with digests in place of public ids.
    #[must_use]
    pub fn with_digests() -> Self {
        let mut schema = strict();
        schema["$defs"]["Id"]["maximum"] = u64::MAX.into();
        Self::from_schema(schema)
    }

    fn from_schema(schema: Value) -> Self {
        let kinds = kinds();
        let names = schema["$defs"].as_object().into_iter().flatten().map(|(name, _)| name.clone());
        let validators = names.map(|name| (name, OnceLock::new())).collect();
        let fields = declared_fields(&schema);
        Self { schema, kinds, validators, fields, counts_fields: false }
    }

    /// Notes which fields the values have that are checked, for [`Self::unseen_fields`].
    #[must_use]
    pub fn counting_fields(self) -> Self {
        Self { counts_fields: true, ..self }
    }

    /// Checks a frame of the hub.
    ///
    /// # Errors
    ///
    /// What does not conform.
    pub fn check_frame(&self, frame: &Value) -> Result<(), String> {
        let definition = branches(&self.schema, "Frame").find(|name| self.is_of(name, frame));
        let definition = definition
            .ok_or_else(|| format!("no frame has this type and these fields: {frame}"))?;
        let mut envelope = Map::new();
        for (name, value) in frame.as_object().into_iter().flatten() {
            // What depends on the channel is checked on its own, and the smallest value stands for it here.
            let stand_in = match name.as_str() {
                "data" => {
                    let kind = self.kind(&frame["ch"])?;
                    let is_first = frame["seq"] == 0;
                    self.check(if is_first { "OpeningDocument" } else { &kind.document }, value)?;
                    json!({"life": "live", "feed": "live", "stale_after_ms": 1})
                }
                "patch" => {
                    self.check(&self.kind(&frame["ch"])?.patch(), value)?;
                    json!({})
                }
                "events" if definition == "UpdateFrame" => {
                    let kind = self.kind(&frame["ch"])?;
                    let union = kind.event.ok_or_else(|| format!("{} has no events", kind.name))?;
                    list(value).try_for_each(|event| self.check(union, event))?;
                    json!([])
                }
                _ => value.clone(),
            };
            envelope.insert(name.clone(), stand_in);
        }
        self.check(definition, &envelope.into())
    }

    /// The declared fields that no value so far had, as `Definition.field`: those of this definition and of all that it
    /// refers to. All of them, unless the contract is [counting](Self::counting_fields).
    #[must_use]
    pub fn unseen_fields(&self, definition: &str) -> BTreeSet<String> {
        let within = reachable(&self.schema, definition);
        let all = self.fields.iter().filter(|(name, _)| within.contains(name.as_str()));
        let unseen = all.flat_map(|(definition, fields)| {
            let unseen = fields.iter().filter(|(_, seen)| !seen.load(Relaxed));
            unseen.map(move |(field, _)| format!("{definition}.{field}"))
        });
        unseen.collect()
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
            if self.counts_fields {
                self.note(&self.schema["$defs"][definition], definition, value);
            }
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

    /// Notes the fields that a value has.
    fn note(&self, schema: &Value, owner: &str, value: &Value) {
        if let Some(name) = reference(schema) {
            return self.note(&self.schema["$defs"][name], name, value);
        }
        if let Some(branch) = list(&schema["anyOf"]).find(|branch| self.fits(branch, value)) {
            return self.note(branch, owner, value);
        }
        for item in list(value) {
            self.note(&schema["items"], owner, item);
        }
        let noted = self.fields.get(owner.strip_suffix("Patch").unwrap_or(owner));
        for (field, field_value) in
            value.as_object().into_iter().flatten().filter(|(_, it)| !it.is_null())
        {
            if let Some(seen) = noted.and_then(|fields| fields.get(field)) {
                seen.store(true, Relaxed);
            }
            match &schema["properties"][field] {
                Value::Null => self.note(&schema["additionalProperties"], owner, field_value),
                schema => self.note(schema, owner, field_value),
            }
        }
    }

    fn is_of(&self, definition: &str, value: &Value) -> bool {
        self.fits(&self.schema["$defs"][definition], value)
    }

    /// Whether a value is of this branch of a union.
    fn fits(&self, schema: &Value, value: &Value) -> bool {
        if let Some(name) = reference(schema) {
            return self.is_of(name, value);
        }
        if !schema["anyOf"].is_null() {
            return list(&schema["anyOf"]).any(|branch| self.fits(branch, value));
        }
        let has = |name: &Value| value.get(name.as_str().unwrap_or_default()).is_some();
        let is_same = |(name, field): (&String, &Value)| {
            field["const"].is_null()
                || value.get(name).is_none_or(|constant| *constant == field["const"])
        };
        let fields = schema["properties"].as_object();
        let names_all = |fields: &Map<String, Value>| {
            value.as_object().into_iter().flatten().all(|(name, _)| fields.contains_key(name))
        };
        let is_type = match schema["type"].as_str() {
            Some("null") => value.is_null(),
            Some("object") => value.is_object(),
            Some("string") => value.is_string(),
            Some("array") => value.is_array(),
            _ => !value.is_null(),
        };
        is_type
            && list(&schema["required"]).all(has)
            && fields.into_iter().flatten().all(is_same)
            && fields.is_none_or(names_all)
    }
}

impl Default for Contract {
    fn default() -> Self {
        Self::new()
    }
}

/// The definitions of a union.
fn branches<'a>(schema: &'a Value, union: &str) -> impl Iterator<Item = &'a str> {
    list(&schema["$defs"][union]["anyOf"]).filter_map(reference)
}

/// All fields of all definitions but patches, none of them seen.
fn declared_fields(schema: &Value) -> BTreeMap<String, BTreeMap<String, AtomicBool>> {
    let definitions = schema["$defs"].as_object().into_iter().flatten();
    let fields = |definition: &Value| {
        let fields = definition["properties"].as_object().into_iter().flatten();
        fields.map(|(name, _)| (name.clone(), AtomicBool::new(false))).collect()
    };
    let documents = definitions.filter(|(name, _)| !name.ends_with("Patch"));
    documents.map(|(name, definition)| (name.clone(), fields(definition))).collect()
}

/// This definition and all that it refers to.
fn reachable<'a>(schema: &'a Value, definition: &'a str) -> BTreeSet<&'a str> {
    let (mut open, mut reachable) = (vec![definition], BTreeSet::new());
    while let Some(name) = open.pop() {
        if !reachable.insert(name) {
            continue;
        }
        let mut schemas = vec![&schema["$defs"][name]];
        while let Some(schema) = schemas.pop() {
            open.extend(reference(schema));
            schemas
                .extend(schema["properties"].as_object().into_iter().flatten().map(|(_, it)| it));
            schemas.extend(list(&schema["anyOf"]));
            let others = [&schema["additionalProperties"], &schema["items"]];
            schemas.extend(others.into_iter().filter(|it| !it.is_null()));
        }
    }
    reachable
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
