//! Prompts, and the completion of their arguments.

use rmcp::{
    ErrorData,
    model::{
        ClientCapabilities, CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock,
        GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt, PromptArgument,
        PromptMessage, Reference, Role,
    },
};

use crate::{
    content,
    rounds::{Answers, ask, form},
};

const WITH_ARGUMENTS: &str = "test_prompt_with_arguments";

/// What completion offers for the arguments of that prompt.
const VALUES: [&str; 3] = ["test", "testing", "value"];

/// The prompts, in the order of the list.
pub(crate) fn all() -> Vec<Prompt> {
    let argument = |name: &str| PromptArgument::new(name).with_required(true);
    let pair = vec![argument("arg1"), argument("arg2")];
    let uri = vec![argument("resourceUri")];
    vec![
        Prompt::new("test_simple_prompt", Some("A text"), None),
        Prompt::new(WITH_ARGUMENTS, Some("A text with two arguments"), Some(pair)),
        Prompt::new("test_prompt_with_embedded_resource", Some("A resource"), Some(uri)),
        Prompt::new("test_prompt_with_image", Some("An image"), None),
        Prompt::new("test_input_required_result_prompt", Some("Asks the user for a context"), None),
    ]
}

/// The messages of a prompt.
///
/// # Errors
///
/// If there is no such prompt, if an argument is missing, or if the client cannot ask its user.
pub(crate) fn get(
    request: &GetPromptRequestParams,
    client: &ClientCapabilities,
) -> Result<GetPromptResponse, ErrorData> {
    match request.name.as_str() {
        "test_simple_prompt" => {
            Ok(messages([ContentBlock::text("This is a simple prompt for testing.")]))
        }
        WITH_ARGUMENTS => {
            let (first, second) = (argument(request, "arg1")?, argument(request, "arg2")?);
            let filled = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
            Ok(messages([ContentBlock::text(filled)]))
        }
        "test_prompt_with_embedded_resource" => {
            let uri = argument(request, "resourceUri")?;
            let embedded = "Embedded resource content for testing.";
            Ok(messages([
                content::resource(uri, "text/plain", embedded),
                ContentBlock::text("Please process the embedded resource above."),
            ]))
        }
        "test_prompt_with_image" => {
            Ok(messages([content::image(), ContentBlock::text("Please analyze the image above.")]))
        }
        "test_input_required_result_prompt" => {
            let answers = Answers::new(request.input_responses.as_ref());
            let Some(context) = answers.text("user_context", "context") else {
                let question = form("What context should the prompt use?", "context", "string");
                return ask(client, [("user_context", question)], None).map(Into::into);
            };
            Ok(messages([ContentBlock::text(format!("Use this context: {context}"))]))
        }
        name => Err(ErrorData::invalid_params(format!("unknown prompt {name}"), None)),
    }
}

/// The values that begin with what was typed.
pub(crate) fn complete(request: &CompleteRequestParams) -> CompleteResult {
    let mut completion = CompletionInfo::default();
    let typed = request.argument.value.as_str();
    if matches!(&request.r#ref, Reference::Prompt(prompt) if prompt.name == WITH_ARGUMENTS) {
        let values = VALUES.iter().filter(|value| value.starts_with(typed));
        completion.values = values.map(|&value| value.to_owned()).collect();
    }
    CompleteResult::new(completion)
}

fn messages<const N: usize>(contents: [ContentBlock; N]) -> GetPromptResponse {
    let messages = contents.map(|content| PromptMessage::new(Role::User, content));
    GetPromptResult::new(messages.into()).into()
}

fn argument<'a>(request: &'a GetPromptRequestParams, name: &str) -> Result<&'a str, ErrorData> {
    let value = request.arguments.as_ref().and_then(|arguments| arguments.get(name));
    value.and_then(|value| value.as_str()).ok_or_else(|| {
        ErrorData::invalid_params(format!("the argument {name} is missing or no text"), None)
    })
}
