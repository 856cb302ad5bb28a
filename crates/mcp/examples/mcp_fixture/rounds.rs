//! Tools that need answers from the client before they can answer: its user fills in a form, its model
//! writes a text, or it lists its roots. The server remembers nothing. The client repeats the call with
//! the answers, and with a state that the server sealed.

use std::collections::BTreeMap;

use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, InputRequest,
        InputRequiredResult, InputResponses, RequestStateCodec, SealOptions,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::tools::text;

/// The tools of this module, with their descriptions.
pub(crate) const TOOLS: [(&str, &str); 9] = [
    ("test_streaming_elicitation", "Asks the user to confirm"),
    ("test_input_required_result_elicitation", "Asks the user for a name"),
    ("test_input_required_result_sampling", "Asks the model a question"),
    ("test_input_required_result_list_roots", "Asks for the roots of the client"),
    ("test_input_required_result_request_state", "Asks the user, and keeps a state meanwhile"),
    ("test_input_required_result_multiple_inputs", "Asks the user, the model and for the roots"),
    ("test_input_required_result_multi_round", "Asks the user twice"),
    ("test_input_required_result_tampered_state", "Rejects a state that was changed"),
    ("test_input_required_result_capabilities", "Asks only what the client can answer"),
];

/// Seals the state of a call that continues, so that a client cannot change it.
#[derive(Debug, Clone)]
pub(crate) struct Rounds {
    codec: RequestStateCodec,
}

/// How far a call has come.
#[derive(Serialize, Deserialize)]
enum Stage {
    /// The first questions were sent.
    Asked,
    /// The user gave a name, and the next question was sent.
    Named(String),
}

impl Rounds {
    /// # Errors
    ///
    /// If the system has no random bytes for a key.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut key = [0; RequestStateCodec::MIN_KEY_LENGTH];
        getrandom::fill(&mut key)?;
        Ok(Self { codec: RequestStateCodec::new_unchecked(key) })
    }

    /// Calls one of [`TOOLS`]: asks for what is missing, or completes the call.
    ///
    /// # Errors
    ///
    /// If there is no such tool, if the state was changed, or if the client cannot answer what is
    /// asked.
    pub(crate) fn call(
        &self,
        request: &CallToolRequestParams,
        client: &ClientCapabilities,
    ) -> Result<CallToolResponse, ErrorData> {
        let answers = Answers::new(request.input_responses.as_ref());
        match request.name.as_ref() {
            "test_streaming_elicitation" => match answers.field("confirm", "ok") {
                Some(ok) => Ok(complete(&format!("Confirmed: {ok}"))),
                None => ask_in_tool(client, [("confirm", confirmation())], None),
            },
            "test_input_required_result_elicitation" => match answers.text("user_name", "name") {
                Some(name) => Ok(complete(&format!("Hello, {name}!"))),
                None => ask_in_tool(client, [("user_name", name_question())], None),
            },
            "test_input_required_result_sampling" => match answers.sample("capital_question") {
                Some(answer) => Ok(complete(answer)),
                None => {
                    let question = sampling("What is the capital of France?", 100);
                    ask_in_tool(client, [("capital_question", question)], None)
                }
            },
            "test_input_required_result_list_roots" => match answers.roots("client_roots") {
                Some(roots) => Ok(complete(&format!("Roots: {}", roots.join(", ")))),
                None => ask_in_tool(client, [("client_roots", roots())], None),
            },
            "test_input_required_result_request_state"
            | "test_input_required_result_tampered_state" => {
                match (self.open(request)?, answers.field("confirm", "ok")) {
                    (Some(_), Some(ok)) => Ok(complete(&format!("state-ok, confirmed: {ok}"))),
                    _ => {
                        let state = self.seal(request, &Stage::Asked)?;
                        ask_in_tool(client, [("confirm", confirmation())], Some(state))
                    }
                }
            }
            "test_input_required_result_multiple_inputs" => {
                self.ask_all_at_once(request, &answers, client)
            }
            "test_input_required_result_multi_round" => self.ask_twice(request, &answers, client),
            "test_input_required_result_capabilities" => ask_within(client, &answers),
            name => Err(ErrorData::invalid_params(format!("unknown tool {name}"), None)),
        }
    }

    fn ask_all_at_once(
        &self,
        request: &CallToolRequestParams,
        answers: &Answers<'_>,
        client: &ClientCapabilities,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = (
            self.open(request)?,
            answers.text("user_name", "name"),
            answers.sample("greeting"),
            answers.roots("client_roots"),
        );
        if let (Some(_), Some(name), Some(greeting), Some(roots)) = given {
            let roots = roots.join(", ");
            return Ok(complete(&format!("{name}: {greeting} Roots: {roots}")));
        }
        let state = self.seal(request, &Stage::Asked)?;
        ask_in_tool(client, all_questions(), Some(state))
    }

    fn ask_twice(
        &self,
        request: &CallToolRequestParams,
        answers: &Answers<'_>,
        client: &ClientCapabilities,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = match self.open(request)? {
            Some(Stage::Asked) => answers.text("step1", "name").map(str::to_owned),
            Some(Stage::Named(name)) => Some(name),
            None => None,
        };
        let Some(name) = name else {
            let question = form("Step 1: What is your name?", "name", "string");
            let state = self.seal(request, &Stage::Asked)?;
            return ask_in_tool(client, [("step1", question)], Some(state));
        };
        let Some(color) = answers.text("step2", "color") else {
            let question = form("Step 2: What is your favorite color?", "color", "string");
            let state = self.seal(request, &Stage::Named(name))?;
            return ask_in_tool(client, [("step2", question)], Some(state));
        };
        Ok(complete(&format!("{name} likes {color}.")))
    }

    /// Seals a state for the tool that is called.
    fn seal(&self, request: &CallToolRequestParams, stage: &Stage) -> Result<String, ErrorData> {
        let options = SealOptions::new().associated_data(request.name.as_bytes());
        self.codec
            .seal_json_with(stage, &options)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// The state that the client sent back, if any.
    ///
    /// # Errors
    ///
    /// If this process did not seal it for the tool that is called.
    fn open(&self, request: &CallToolRequestParams) -> Result<Option<Stage>, ErrorData> {
        let Some(sealed) = &request.request_state else {
            return Ok(None);
        };
        self.codec
            .open_json_with(sealed, request.name.as_bytes())
            .map(Some)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))
    }
}

/// What the client sent in answer to questions. A wrong shape is no answer, and what was not asked is
/// ignored.
pub(crate) struct Answers<'a>(Option<&'a InputResponses>);

impl<'a> Answers<'a> {
    pub(crate) fn new(responses: Option<&'a InputResponses>) -> Self {
        Self(responses)
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0?.get(key)
    }

    /// A field of a form that the user accepted.
    fn field(&self, key: &str, field: &str) -> Option<&'a Value> {
        let answer = self.get(key)?;
        (answer.get("action")? == "accept").then(|| answer.get("content")?.get(field))?
    }

    /// A field that is a text.
    pub(crate) fn text(&self, key: &str, field: &str) -> Option<&'a str> {
        self.field(key, field)?.as_str()
    }

    /// What the model wrote.
    fn sample(&self, key: &str) -> Option<&'a str> {
        self.get(key)?.get("content")?.get("text")?.as_str()
    }

    /// The addresses of the roots.
    fn roots(&self, key: &str) -> Option<Vec<&'a str>> {
        let roots = self.get(key)?.get("roots")?.as_array()?;
        roots.iter().map(|root| root.get("uri")?.as_str()).collect()
    }
}

/// Asks the client, which then repeats its request with the answers.
///
/// # Errors
///
/// If the client has not declared that it can answer.
pub(crate) fn ask<'a>(
    client: &ClientCapabilities,
    questions: impl IntoIterator<Item = (&'a str, Value)>,
    state: Option<String>,
) -> Result<InputRequiredResult, ErrorData> {
    let mut requests = BTreeMap::new();
    let mut missing = ClientCapabilities::default();
    for (key, question) in questions {
        let request = serde_json::from_value(question)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        match request {
            InputRequest::CreateMessage(_) if client.sampling.is_none() => {
                missing.sampling = Some(Default::default());
            }
            InputRequest::Elicitation(_) if client.elicitation.is_none() => {
                missing.elicitation = Some(Default::default());
            }
            InputRequest::ListRoots(_) if client.roots.is_none() => {
                missing.roots = Some(Default::default());
            }
            _ => {}
        }
        requests.insert(key.to_owned(), request);
    }
    if missing != ClientCapabilities::default() {
        return Err(ErrorData::missing_required_client_capability(missing));
    }
    Ok(InputRequiredResult::new(Some(requests), state))
}

/// The same as the answer of a tool.
fn ask_in_tool<'a>(
    client: &ClientCapabilities,
    questions: impl IntoIterator<Item = (&'a str, Value)>,
    state: Option<String>,
) -> Result<CallToolResponse, ErrorData> {
    ask(client, questions, state).map(Into::into)
}

/// Asks what the client has declared that it can answer, and has not answered yet.
fn ask_within(
    client: &ClientCapabilities,
    answers: &Answers<'_>,
) -> Result<CallToolResponse, ErrorData> {
    let declared =
        [client.elicitation.is_some(), client.sampling.is_some(), client.roots.is_some()];
    let mut questions = Vec::new();
    for ((key, question), declared) in all_questions().into_iter().zip(declared) {
        if declared && answers.get(key).is_none() {
            questions.push((key, question));
        }
    }
    if questions.is_empty() {
        return Ok(complete("There is nothing more to ask."));
    }
    ask_in_tool(client, questions, None)
}

fn complete(answer: &str) -> CallToolResponse {
    CallToolResult::success(text(answer)).into()
}

/// One for the user, one for the model, and one for the client itself.
fn all_questions() -> [(&'static str, Value); 3] {
    [
        ("user_name", name_question()),
        ("greeting", sampling("Generate a greeting", 50)),
        ("client_roots", roots()),
    ]
}

fn name_question() -> Value {
    form("What is your name?", "name", "string")
}

fn confirmation() -> Value {
    form("Please confirm", "ok", "boolean")
}

/// A form with one field.
pub(crate) fn form(message: &str, field: &str, kind: &str) -> Value {
    let schema = json!({
        "type": "object",
        "properties": { field: { "type": kind } },
        "required": [field],
    });
    json!({
        "method": "elicitation/create",
        "params": { "message": message, "requestedSchema": schema },
    })
}

fn sampling(question: &str, max_tokens: u32) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": question } });
    json!({
        "method": "sampling/createMessage",
        "params": { "messages": [message], "maxTokens": max_tokens },
    })
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}
