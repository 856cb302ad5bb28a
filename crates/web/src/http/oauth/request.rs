//! The authorization request of a client, in two steps: until its redirect URI is verified, an error is
//! shown to the customer; after that, it is reported to the client.

use std::sync::Arc;

use super::McpResource;
use crate::{http::form::Fields, products::Product};
use accounts::{
    CodeChallenge, Scope, Scopes,
    clients::{Client, RedirectUri},
};

/// Longer values of `state` are refused. Clients use some 50 bytes.
const STATE_BYTES_MAX: usize = 2048;

/// A valid request, which the customer may allow or deny.
#[derive(Debug)]
pub(crate) struct AuthorizationRequest {
    pub(crate) redirect: ClientRedirect,
    pub(crate) challenge: CodeChallenge,
    pub(crate) audience: Product,
    pub(crate) scopes: Scopes,
}

/// Where the client gets its answer.
#[derive(Debug, Clone)]
pub(crate) struct ClientRedirect {
    pub(crate) uri: RedirectUri,
    state: Option<String>,
    issuer: String,
}

/// An error that is reported to the client (RFC 6749 section 4.1.2.1, RFC 8707 section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthorizationError {
    InvalidRequest(&'static str),
    UnsupportedResponseType,
    InvalidScope,
    InvalidTarget,
    AccessDenied,
}

/// A request that cannot be answered by a redirect: why, for the customer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnverifiedRequest(pub(crate) &'static str);

impl ClientRedirect {
    /// The URL that takes a code to the client.
    pub(crate) fn with_code(&self, code: &str) -> String {
        self.with(&[("code", code)])
    }

    /// The URL that takes an error to the client.
    pub(crate) fn with_error(&self, error: AuthorizationError) -> String {
        self.with(&[("error", error.code()), ("error_description", error.description())])
    }

    fn with(&self, parameters: &[(&str, &str)]) -> String {
        let state = self.state.as_deref().map(|state| ("state", state));
        let all: Vec<_> = parameters.iter().copied().chain(state).collect();
        // RFC 9207: the client compares it with the server that it asked.
        self.uri.with(&[&all[..], &[("iss", &*self.issuer)]].concat())
    }
}

impl AuthorizationRequest {
    /// Checks the parameters of a request by this client. The outer error must not be redirected.
    pub(crate) fn parse(
        client: &Arc<Client>,
        fields: &Fields,
        issuer: &str,
    ) -> Result<Result<Self, (ClientRedirect, AuthorizationError)>, UnverifiedRequest> {
        let Some(uri) = client.redirect(fields.text("redirect_uri")) else {
            return Err(UnverifiedRequest("its redirect_uri is not one of its document"));
        };
        if fields.has_repeated() {
            return Err(UnverifiedRequest("its request has a parameter twice"));
        }
        let state = fields.has("state").then(|| fields.secret("state"));
        if state.as_ref().is_some_and(|state| state.len() > STATE_BYTES_MAX) {
            return Err(UnverifiedRequest("its state is too long"));
        }
        let redirect = ClientRedirect { uri, state, issuer: issuer.to_owned() };
        Ok(match Self::checked(fields, issuer) {
            Ok((challenge, audience, scopes)) => Ok(Self { redirect, challenge, audience, scopes }),
            Err(error) => Err((redirect, error)),
        })
    }

    fn checked(
        fields: &Fields,
        issuer: &str,
    ) -> Result<(CodeChallenge, Product, Scopes), AuthorizationError> {
        if fields.text("response_type") != "code" {
            return Err(AuthorizationError::UnsupportedResponseType);
        }
        if fields.text("code_challenge_method") != "S256" {
            return Err(AuthorizationError::InvalidRequest("code_challenge_method must be S256"));
        }
        let challenge = CodeChallenge::parse(fields.text("code_challenge"));
        let challenge = challenge.ok_or(AuthorizationError::InvalidRequest(
            "code_challenge must be a SHA-256 digest in base64url",
        ))?;
        let audience = audience(fields, issuer)?.unwrap_or(Product::Football);
        let scopes = match fields.text("scope") {
            "" => Scopes::from_iter([Scope::for_product(audience)]),
            text => Scopes::parse_of_app(text),
        };
        if scopes.is_empty() {
            return Err(AuthorizationError::InvalidScope);
        }
        Ok((challenge, audience, scopes))
    }
}

/// The MCP server that a request names; `None` if it names none. MCP requires the parameter, but current
/// clients omit it: Claude Code (anthropics/claude-code#90497), IronClaw (nearai/ironclaw#7940), mcp-go
/// before mark3labs/mcp-go#823.
pub(super) fn audience(fields: &Fields, base: &str) -> Result<Option<Product>, AuthorizationError> {
    match fields.text("resource") {
        "" => Ok(None),
        indicator => McpResource::audience(indicator, base)
            .map(Some)
            .ok_or(AuthorizationError::InvalidTarget),
    }
}

impl AuthorizationError {
    fn code(self) -> &'static str {
        match self {
            Self::InvalidRequest(_) => "invalid_request",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::InvalidScope => "invalid_scope",
            Self::InvalidTarget => "invalid_target",
            Self::AccessDenied => "access_denied",
        }
    }

    /// The error in words.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::InvalidRequest(why) => why,
            Self::UnsupportedResponseType => "response_type must be code",
            Self::InvalidScope => "the scopes are football, sports and odds",
            Self::InvalidTarget => "resource must be the URL of an MCP server of this hub",
            Self::AccessDenied => "the customer denied the request",
        }
    }
}
