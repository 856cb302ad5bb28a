//! Clients of OAuth that identify themselves by a metadata document
//! (draft-ietf-oauth-client-id-metadata-document).
//!
//! The id of a client is the https URL of its document. The hub fetches it when a customer is asked
//! for consent, so nobody registers a client, and a client cannot take the name of another host. The
//! URL comes from outside: it is fetched only from public addresses, without redirects, and within
//! bounds of time and size.
//!
//! In reading order: [`ClientId`], `redirect`, [`Client`], `fetch`.

mod document;
mod fetch;
mod id;
mod redirect;

pub use self::{document::Client, fetch::ClientDocuments, id::ClientId, redirect::RedirectUri};

/// Why a client cannot be used. The texts are shown to the customer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    #[error("its identifier is not the https address of a document")]
    Id,
    #[error("its document is on an address that is not public")]
    Private,
    #[error("its document could not be fetched")]
    Unreachable,
    #[error("its document was answered with status {status}")]
    Status { status: u16 },
    #[error("its document is longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("its document is not valid: {why}")]
    Document { why: &'static str },
    /// A retry may succeed.
    #[error("too many applications are being looked up at the moment")]
    Busy,
}
