//! Bodies of responses that are rendered once, and encoded once in each content coding.

use std::{convert::Infallible, future::Future, sync::Arc};

use base::work::SharedValue;
use bytes::Bytes;
use hyper::header::HeaderValue;

use crate::etag;

/// The number of content codings; only `compression` knows which they are.
pub(crate) const CODINGS: usize = 3;

/// A body and its tag, rendered once and shared.
#[derive(Debug, Clone)]
pub struct SharedBody {
    body: Bytes,
    etag: HeaderValue,
    encoded: EncodedBodies,
}

/// A shared body in each content coding, encoded on first use; clones share it. It travels with the response
/// as an extension.
#[derive(Debug, Clone, Default)]
pub(crate) struct EncodedBodies(Arc<[SharedValue<Option<Bytes>>; CODINGS]>);

impl EncodedBodies {
    /// The body in this coding, made by the first caller while the others wait; `None` if it is not sent in
    /// this coding.
    pub(crate) async fn get_or_make(
        &self,
        coding: usize,
        make: impl Future<Output = Option<Bytes>> + Send + 'static,
    ) -> Option<Bytes> {
        let Some(value) = self.0.get(coding) else { return make.await };
        let Ok(body) = value.get_or_make(|_| true, async { Ok::<_, Infallible>(make.await) }).await;
        body
    }
}

impl SharedBody {
    /// From a body that is already JSON.
    #[must_use]
    pub fn new(body: Bytes) -> Self {
        let etag = etag::of_body(&body);
        Self { body, etag, encoded: EncodedBodies::default() }
    }

    /// Bytes of the body without a content coding.
    #[must_use]
    pub(crate) fn bytes(&self) -> usize {
        self.body.len()
    }

    /// The body, its tag, and its encodings.
    pub(crate) fn into_parts(self) -> (Bytes, HeaderValue, EncodedBodies) {
        (self.body, self.etag, self.encoded)
    }
}
