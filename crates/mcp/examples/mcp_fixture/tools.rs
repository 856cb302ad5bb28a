//! Tools. Those that first ask the client for something are in [`crate::rounds`].

#![expect(deprecated, reason = "clients of 2025-11-25 get log messages")]

use std::time::Duration;

use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
        JsonObject, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, Tool,
        object,
    },
    service::{RequestContext, ServiceError},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    content,
    handler::{Fixture, is_modern},
    rounds,
};

/// Between two notifications of a call, so that they do not arrive in one piece.
const STEP: Duration = Duration::from_millis(50);

/// The tools, in the order of the list. A scenario calls the first without arguments.
pub(crate) fn all() -> Vec<Tool> {
    let mut tools = vec![
        tool("test_simple_text", "Answers with a text"),
        tool("test_image_content", "Answers with an image"),
        tool("test_audio_content", "Answers with a sound"),
        tool("test_embedded_resource", "Answers with a resource"),
        tool("test_multiple_content_types", "Answers with a text, an image and a resource"),
        tool("test_error_handling", "Fails"),
        tool("test_tool_with_progress", "Reports its progress"),
        tool("test_tool_with_logging", "Logs what it does"),
        tool("test_logging_tool", "Logs what it does, if the request sets a level"),
        tool("test_missing_capability", "Needs a client with a model"),
        tool("test_trigger_tool_change", "Announces that the list of tools has changed"),
        tool("test_trigger_prompt_change", "Announces that the list of prompts has changed"),
        Tool::new(
            "json_schema_2020_12_tool",
            "Has a schema with every kind of keyword",
            contact_schema(),
        ),
        Tool::new(
            "test_custom_header",
            "Repeats an argument that is also a header",
            header_schema(),
        ),
    ];
    tools.extend(rounds::TOOLS.map(|(name, description)| tool(name, description)));
    tools
}

/// Calls a tool.
///
/// # Errors
///
/// If there is no such tool, or if the client lacks a capability that it needs.
pub(crate) async fn call(
    fixture: &Fixture,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let client = context.client_capabilities().unwrap_or_default();
    let content = match request.name.as_ref() {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => vec![content::image()],
        "test_audio_content" => vec![content::audio()],
        "test_embedded_resource" => {
            let embedded = "This is an embedded resource content.";
            vec![content::resource("test://embedded-resource", "text/plain", embedded)]
        }
        "test_multiple_content_types" => {
            let data = json!({ "test": "data", "value": 123 }).to_string();
            vec![
                ContentBlock::text("Multiple content types test:"),
                content::image(),
                content::resource("test://mixed-content-resource", "application/json", &data),
            ]
        }
        "test_error_handling" => {
            let error = text("This tool intentionally returns an error for testing");
            return Ok(CallToolResult::error(error).into());
        }
        "test_tool_with_progress" => {
            report_progress(context).await.map_err(|error| undelivered(&error))?;
            text("The work is complete.")
        }
        "test_tool_with_logging" | "test_logging_tool" => {
            log_steps(context).await.map_err(|error| undelivered(&error))?;
            text("The work is logged.")
        }
        "test_missing_capability" => {
            if client.sampling.is_none() {
                let required = ClientCapabilities::builder().enable_sampling().build();
                return Err(ErrorData::missing_required_client_capability(required));
            }
            text("The client has a model.")
        }
        "test_trigger_tool_change" => {
            fixture.tools_changed.send_replace(());
            text("The list of tools has changed.")
        }
        "test_trigger_prompt_change" => {
            fixture.prompts_changed.send_replace(());
            text("The list of prompts has changed.")
        }
        "json_schema_2020_12_tool" => text(&json!(request.arguments).to_string()),
        "test_custom_header" => {
            let region = request.arguments.as_ref().and_then(|arguments| arguments.get("region"));
            text(region.and_then(Value::as_str).unwrap_or("no region"))
        }
        _ => return fixture.rounds.call(request, &client),
    };
    Ok(CallToolResult::success(content).into())
}

fn tool(name: &'static str, description: &'static str) -> Tool {
    Tool::new(name, description, object(json!({ "type": "object" })))
}

pub(crate) fn text(text: &str) -> Vec<ContentBlock> {
    vec![ContentBlock::text(text)]
}

async fn report_progress(context: &RequestContext<RoleServer>) -> Result<(), ServiceError> {
    let Some(token) = context.meta.get_progress_token() else {
        return Ok(());
    };
    for progress in [0.0, 50.0, 100.0] {
        let report = ProgressNotificationParam::new(token.clone(), progress).with_total(100.0);
        context.peer.notify_progress(report).await?;
        sleep(STEP).await;
    }
    Ok(())
}

/// Sends log messages: to an older client always, to others if the request asks for that level.
async fn log_steps(context: &RequestContext<RoleServer>) -> Result<(), ServiceError> {
    let level = context.meta.log_level();
    if is_modern(context) && !matches!(level, Some(LoggingLevel::Debug | LoggingLevel::Info)) {
        return Ok(());
    }
    for step in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(step));
        context.peer.notify_logging_message(message).await?;
        sleep(STEP).await;
    }
    Ok(())
}

fn undelivered(error: &ServiceError) -> ErrorData {
    ErrorData::internal_error(format!("could not notify the client: {error}"), None)
}

/// Must arrive as it is: references, anchors, conditions.
fn contact_schema() -> JsonObject {
    object(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": {
            "properties": { "contactMethod": { "const": "phone" } },
            "required": ["contactMethod"],
        },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    }))
}

/// Clients repeat `region` in the header `Mcp-Param-Region`.
fn header_schema() -> JsonObject {
    object(json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "description": "A place", "x-mcp-header": "Region" },
        },
        "required": [],
    }))
}
