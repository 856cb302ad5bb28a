//! The handler: what it can do, and where the answer to each request is.

#![expect(deprecated, reason = "clients of 2025-11-25 set a log level")]

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams,
        InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
        ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestMethod,
        SetLevelRequestParams, SubscriptionFilter, Tool,
    },
    service::{RequestContext, SubscriptionContext},
};
use tokio::sync::watch;

use crate::{prompts, resources, rounds::Rounds, tools};

/// The handler. Its clones, one for each request, share the key and what wakes streams.
#[derive(Debug, Clone)]
pub(crate) struct Fixture {
    pub(crate) rounds: Rounds,
    /// Wakes the streams that follow the list of tools.
    pub(crate) tools_changed: watch::Sender<()>,
    /// Wakes the streams that follow the list of prompts.
    pub(crate) prompts_changed: watch::Sender<()>,
}

impl Fixture {
    /// # Errors
    ///
    /// If the system has no random bytes for a key.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        Ok(Self {
            rounds: Rounds::new()?,
            tools_changed: watch::Sender::new(()),
            prompts_changed: watch::Sender::new(()),
        })
    }
}

/// Whether a request is of 2026-07-28 or later: only those say so themselves.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.meta.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let implementation = Implementation::new("mcp-fixture", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(implementation)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.negotiate_initialize(&request)?;
        // Without sessions, older clients have no stream on which an update could reach them.
        if let Some(resources) = result.capabilities.resources.as_mut() {
            resources.subscribe = None;
        }
        context.peer.set_peer_info(request);
        Ok(result)
    }

    /// Answers older clients. There is no session to keep the level in, so they get every message.
    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_modern(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        Ok(())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    /// The mount compares the `Mcp-Param-` headers of calls with the schema of the tool.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tools::call(self, &request, &context).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::all()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&request.uri).map(Into::into)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::all()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&request, &context.client_capabilities().unwrap_or_default())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(prompts::complete(&request))
    }

    /// Everything that a client asks for: rmcp removes what the capabilities do not include.
    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut tools = self.tools_changed.subscribe();
        let mut prompts = self.prompts_changed.subscribe();
        let follows_tools = context.accepted().tools_list_changed == Some(true);
        let follows_prompts = context.accepted().prompts_list_changed == Some(true);
        loop {
            // `changed` fails only when there is no sender left, and `self` is one.
            let sent = tokio::select! {
                () = context.cancelled() => return Ok(()),
                Ok(()) = tools.changed(), if follows_tools => {
                    context.sink().notify_tool_list_changed().await
                }
                Ok(()) = prompts.changed(), if follows_prompts => {
                    context.sink().notify_prompt_list_changed().await
                }
            };
            if sent.is_err() {
                // The client has closed the stream.
                return Ok(());
            }
        }
    }
}
