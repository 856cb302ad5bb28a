//! The deadline of a request's body: one mechanism for all routes. The time counts from the first read of the body, so a
//! handler that waits for its turn first does not take it from the client.

use std::{
    io::ErrorKind,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Error,
    body::{Body, HttpBody},
    extract::Request,
};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// Whether the body of a request came too late.
#[derive(Debug, Clone, Default)]
pub(super) struct BodyDeadline(Arc<AtomicBool>);

impl BodyDeadline {
    /// Whether a handler has read the body until its deadline without its end.
    pub(super) fn is_missed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Lets reads of the body fail once they have taken this long in all.
pub(super) fn limit(request: Request, time: Duration) -> (Request, BodyDeadline) {
    let deadline = BodyDeadline::default();
    if request.body().is_end_stream() {
        return (request, deadline);
    }
    let missed = deadline.clone();
    let request =
        request.map(|body| Body::new(TimedBody { body, time, sleep: None, deadline: missed }));
    (request, deadline)
}

struct TimedBody {
    body: Body,
    time: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
    deadline: BodyDeadline,
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let time = self.time;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep(time)));
        // First, so that bytes that trickle in do not put it off.
        if sleep.as_mut().poll(cx).is_ready() {
            self.deadline.0.store(true, Ordering::Relaxed);
            let late = std::io::Error::from(ErrorKind::TimedOut);
            return Poll::Ready(Some(Err(Error::new(late))));
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use futures_util::stream;

    use super::*;

    const TIME: Duration = Duration::from_secs(10);

    /// One byte after each pause, and then the end, unless there is to be none.
    fn body(pauses_s: &'static [u64], ends: bool) -> Body {
        Body::from_stream(stream::unfold(pauses_s, move |left| async move {
            let Some((pause_s, left)) = left.split_first() else {
                return if ends { None } else { std::future::pending().await };
            };
            sleep(Duration::from_secs(*pause_s)).await;
            Some((Ok::<_, Error>(Bytes::from_static(b"x")), left))
        }))
    }

    async fn check(body: Body, expected: Option<usize>) {
        let (request, deadline) = limit(Request::new(body), TIME);
        // What a handler does first does not count.
        sleep(10 * TIME).await;
        let read = to_bytes(request.into_body(), 100).await;
        assert_eq!(read.ok().map(|bytes| bytes.len()), expected);
        assert_eq!(deadline.is_missed(), expected.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn body_must_end_within_its_time() {
        check(Body::empty(), Some(0)).await;
        check(Body::from("four"), Some(4)).await;
        check(body(&[4, 5], true), Some(2)).await;
        check(body(&[], false), None).await;
        check(body(&[1], false), None).await;
        // Bytes that trickle in put nothing off.
        check(body(&[4, 4, 4, 4, 4, 4], true), None).await;
    }
}
