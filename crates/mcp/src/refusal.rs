//! Why a call has no answer: for a model, which reads it and calls again.

use accounts::{
    access::Denial,
    limits::QuotaStatus,
    products::{Catalogue, Price},
};
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData};
use serde_json::{Map, Value, json};

use crate::text;

/// A refusal: what is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    /// A word for programs.
    pub code: &'static str,
    /// A sentence for the model.
    pub message: String,
    /// What helps to call again: accepted arguments, nearest ids, a price.
    pub details: Map<String, Value>,
}

impl Refusal {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Map::new() }
    }

    /// The same with one more detail.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn bad_argument(message: impl Into<String>) -> Self {
        Self::new("bad_argument", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new("not_found", message)
    }

    pub(crate) fn unavailable() -> Self {
        Self::new("unavailable", "The hub cannot answer now. Call again in some seconds.")
    }

    /// The caller may not use what this call needs.
    pub(crate) fn denied(denial: Denial, catalogue: &Catalogue, public_url: &str) -> Self {
        let code = denial.code();
        match denial {
            Denial::Addon(addon) => {
                let price = catalogue.price(addon, false);
                let message = format!(
                    "This needs the {addon} add-on, {price} a month. The account does not have it."
                );
                let Price { amount, currency } = price;
                let price =
                    json!({"amount": amount.to_string(), "currency": currency, "per": "month"});
                Self::new(code, message)
                    .with("addon", addon.as_str())
                    .with("price", price)
                    .with("pricing_url", format!("{public_url}/pricing/"))
            }
            Denial::Scope(scope) => {
                let message = format!(
                    "The key or access token does not have the scope {scope}. Connect again and allow it, or use another key."
                );
                Self::new(code, message).with("scope", scope.as_str())
            }
            _ => Self::new(code, "The key has ended."),
        }
    }

    /// The day's quota is used up.
    pub(crate) fn exhausted(status: &QuotaStatus, public_url: &str) -> Self {
        Self::new(
            "taster_exhausted",
            format!(
                "The {} calls of this day are used up. The next ones start at 00:00 UTC.",
                status.quota.per_day
            ),
        )
        .with("retry_after_s", status.reset_s)
        .with("pricing_url", format!("{public_url}/pricing/"))
    }

    fn value(&self) -> Value {
        let mut value = json!({"code": self.code, "message": self.message});
        if let Some(fields) = value.as_object_mut() {
            fields.extend(self.details.clone());
        }
        // Details have names of feeds too.
        text::tidy(&mut value);
        value
    }

    /// As the result of a tool. Only this reaches the model: hosts hide protocol errors.
    pub(crate) fn result(&self) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text(self.value().to_string())])
    }

    /// The members `content` and `isError` of a result, as JSON.
    pub(crate) fn members(&self) -> String {
        let text = Value::from(self.value().to_string());
        format!(r#""content":[{{"type":"text","text":{text}}}],"isError":true"#)
    }

    /// As a protocol error, where there is no result to put it into.
    pub(crate) fn error(&self) -> ErrorData {
        let code = match self.code {
            "not_found" => ErrorCode::RESOURCE_NOT_FOUND,
            "unavailable" => ErrorCode::INTERNAL_ERROR,
            // Of the range that JSON-RPC leaves to servers: nothing is wrong with the request.
            "taster_exhausted" | "addon_required" | "too_many_streams" => ErrorCode(-32000),
            _ => ErrorCode::INVALID_PARAMS,
        };
        ErrorData::new(code, self.message.clone(), Some(self.value()))
    }
}
