//! The documents of channels: rendered by the first who reads one, and kept for all others until the channel changes.

use std::{
    collections::VecDeque,
    future::Future,
    sync::{Mutex, PoisonError},
};

use base::work::SharedValue;
use fanout::{Epoch, Seq};

/// The documents that are kept, up to 50 kB each.
const KEPT_MAX: usize = 128;

/// The newest documents by channel. The least recently read go.
#[derive(Debug)]
pub(crate) struct Documents<T>(Mutex<VecDeque<Entry<T>>>);

#[derive(Debug)]
struct Entry<T> {
    channel: String,
    version: (Epoch, Seq),
    document: SharedValue<T>,
}

impl<T> Default for Documents<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone + Send + 'static> Documents<T> {
    /// The document of a channel in this version, made by the first who asks while the others wait.
    ///
    /// # Errors
    ///
    /// Those of `make`; the next one who asks makes it again.
    pub(crate) async fn get_or_make<E: Send + 'static>(
        &self,
        channel: &str,
        version: (Epoch, Seq),
        make: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        self.value(channel, version).get_or_make(|_| true, make).await
    }

    fn value(&self, channel: &str, version: (Epoch, Seq)) -> SharedValue<T> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().position(|entry| entry.channel == channel);
        let entry = found.and_then(|index| all.remove(index));
        let entry = entry.filter(|entry| entry.version == version).unwrap_or_else(|| Entry {
            channel: channel.to_owned(),
            version,
            document: SharedValue::default(),
        });
        let document = entry.document.clone();
        all.push_back(entry);
        if all.len() > KEPT_MAX {
            all.pop_front();
        }
        document
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use super::*;

    #[tokio::test]
    async fn document_is_made_once_for_each_version() {
        let (documents, made) = (Documents::default(), Arc::new(AtomicUsize::new(0)));
        let get = async |channel: &str, seq: Seq| {
            let made = Arc::clone(&made);
            let make = async move {
                // All others have asked meanwhile.
                tokio::task::yield_now().await;
                made.fetch_add(1, Ordering::Relaxed);
                Ok::<_, ()>(seq)
            };
            documents.get_or_make(channel, (Epoch(1), seq), make).await
        };
        let all = tokio::join!(get("a", 1), get("a", 1), get("b", 1), get("a", 1));
        assert_eq!((all, made.load(Ordering::Relaxed)), ((Ok(1), Ok(1), Ok(1), Ok(1)), 2));
        for (seq, expected) in [(1, 2), (2, 3), (2, 3)] {
            assert_eq!((get("a", seq).await, made.load(Ordering::Relaxed)), (Ok(seq), expected));
        }
        assert_eq!(documents.0.lock().unwrap().len(), 2, "one version of each");
        for number in 0..KEPT_MAX {
            get(&format!("c/{number}"), 1).await.unwrap();
        }
        assert_eq!(documents.0.lock().unwrap().len(), KEPT_MAX);
    }

    #[tokio::test]
    async fn failure_is_not_kept() {
        let documents = Documents::default();
        let get = |result| documents.get_or_make("a", (Epoch(1), 1), future::ready(result));
        assert_eq!(get(Err("busy")).await, Err("busy"));
        assert_eq!(get(Ok(7)).await, Ok(7));
        assert_eq!(get(Err("busy")).await, Ok(7));
    }
}
