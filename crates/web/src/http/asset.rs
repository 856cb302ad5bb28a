//! Files compiled into the program. All responses share one copy of each, compressed at most once per coding.

use std::{
    borrow::Cow,
    collections::VecDeque,
    future::Future,
    sync::{Mutex, MutexGuard, PoisonError},
};

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use base::work::SharedValue;
use bytes::Bytes;
use hyper::{
    StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue},
};

use super::body::{EncodedBodies, SharedBody};
use crate::etag;

/// The tag of every file: one version of the program has one version of each.
const TAG: &str = concat!("\"", env!("CARGO_PKG_VERSION"), "\"");

/// A response extension: the body lives as long as the program, so a response that holds it costs nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Permanent;

/// A file and what it is.
#[derive(Debug)]
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    kind: &'static str,
    body: Bytes,
    encoded: EncodedBodies,
}

impl Asset {
    pub(crate) fn new(
        name: &'static str,
        kind: &'static str,
        body: impl Into<Cow<'static, [u8]>>,
    ) -> Self {
        let body = match body.into() {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => bytes.into(),
        };
        Self { name, kind, body, encoded: EncodedBodies::default() }
    }

    /// The file, or 304 if the client has this version.
    pub(crate) fn answer(&self, request: &Request, cache_control: &'static str) -> Response {
        // During development a file changes within a version, so a debug build never answers 304.
        let is_fresh = !cfg!(debug_assertions) && etag::is_known(request.headers(), TAG);
        let mut response = if is_fresh {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let mut response = Response::new(Body::from(self.body.clone()));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
            response.extensions_mut().insert(self.encoded.clone());
            response.extensions_mut().insert(Permanent);
            response
        };
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache_control));
        headers.insert(ETAG, HeaderValue::from_static(TAG));
        response
    }
}

/// Open bodies that are kept, up to some MB each.
const OPEN_BODIES_MAX: usize = 8;

/// Large answers without a key that are the same for all who ask for the same: rendered once, compressed once
/// for each coding, in the turns of the hub. The least recently used go.
#[derive(Debug, Default)]
pub(crate) struct OpenBodies(Mutex<VecDeque<(String, SharedValue<SharedBody>)>>);

impl OpenBodies {
    /// The body with this name, made by the first who asks while the others wait.
    ///
    /// # Errors
    ///
    /// Those of `make`; the next one who asks makes it again.
    pub(crate) async fn get_or_make<E: Send + 'static>(
        &self,
        name: &str,
        make: impl Future<Output = Result<SharedBody, E>> + Send + 'static,
    ) -> Result<SharedBody, E> {
        let value = self.value(name);
        let made = value.get_or_make(|_| true, make).await;
        if made.is_err() {
            // What does not exist must not displace what does.
            self.bodies().retain(|(_, kept)| !kept.is_same(&value));
        }
        made
    }

    fn value(&self, name: &str) -> SharedValue<SharedBody> {
        let mut bodies = self.bodies();
        let found = bodies.iter().position(|(kept, _)| kept == name);
        let body = found.and_then(|index| bodies.remove(index));
        let body = body.unwrap_or_else(|| (name.to_owned(), SharedValue::default()));
        let value = body.1.clone();
        bodies.push_back(body);
        if bodies.len() > OPEN_BODIES_MAX {
            bodies.pop_front();
        }
        value
    }

    fn bodies(&self) -> MutexGuard<'_, VecDeque<(String, SharedValue<SharedBody>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    #[tokio::test]
    async fn open_bodies_are_made_once_and_bounded() {
        let (bodies, made) = (OpenBodies::default(), Arc::new(AtomicUsize::new(0)));
        let get = async |name: &str| {
            let (name_made, made) = (name.to_owned(), Arc::clone(&made));
            let make = async move {
                made.fetch_add(1, Ordering::Relaxed);
                Ok::<_, ()>(SharedBody::new(Bytes::from(name_made)))
            };
            bodies.get_or_make(name, make).await.map(drop)
        };
        for (name, expected) in [("a", 1), ("b", 2), ("a", 2), ("b", 2)] {
            assert_eq!(get(name).await, Ok(()));
            assert_eq!(made.load(Ordering::Relaxed), expected, "{name}");
        }
        for number in 0..50 {
            assert_eq!(
                bodies.get_or_make(&format!("?{number}"), async { Err(()) }).await.err(),
                Some(())
            );
        }
        get("a").await.unwrap();
        assert_eq!(made.load(Ordering::Relaxed), 2, "what does not exist displaces nothing");
        for number in 0..OPEN_BODIES_MAX - 1 {
            get(&number.to_string()).await.unwrap();
        }
        get("a").await.unwrap();
        assert_eq!(
            made.load(Ordering::Relaxed),
            2 + OPEN_BODIES_MAX - 1,
            "the one that was used last stays"
        );
        get("b").await.unwrap();
        assert_eq!(
            made.load(Ordering::Relaxed),
            2 + OPEN_BODIES_MAX,
            "the one that was used first has gone"
        );
        assert_eq!(bodies.bodies().len(), OPEN_BODIES_MAX);
    }
}
