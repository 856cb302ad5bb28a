//! An LRU cache of images, bounded in bytes.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

/// The overhead of an entry beyond its bytes: tag, numbers and the tables' own.
const ENTRY_BYTES: usize = 200;

#[derive(Debug)]
pub(super) struct Cache {
    bytes_max: usize,
    bytes: usize,
    images: HashMap<String, (Bytes, u64)>,
    /// Tags by last use, the oldest first.
    by_use: BTreeMap<u64, String>,
    uses: u64,
}

impl Cache {
    pub(super) fn new(bytes_max: usize) -> Self {
        let (images, by_use) = (HashMap::new(), BTreeMap::new());
        Self { bytes_max, bytes: 0, images, by_use, uses: 0 }
    }

    pub(super) fn get(&mut self, tag: &str) -> Option<Bytes> {
        let (bytes, used) = self.images.get_mut(tag)?;
        self.uses += 1;
        if let Some(tag) = self.by_use.remove(used) {
            self.by_use.insert(self.uses, tag);
        }
        *used = self.uses;
        Some(bytes.clone())
    }

    /// Stores an image and evicts the least recently used ones.
    pub(super) fn put(&mut self, tag: String, bytes: Bytes) {
        let size = bytes.len() + ENTRY_BYTES;
        if size > self.bytes_max || self.get(&tag).is_some() {
            return;
        }
        while self.bytes + size > self.bytes_max {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            let gone = self.images.remove(&oldest);
            self.bytes -= gone.map_or(0, |(bytes, _)| bytes.len() + ENTRY_BYTES);
        }
        self.bytes += size;
        self.uses += 1;
        self.by_use.insert(self.uses, tag.clone());
        self.images.insert(tag, (bytes, self.uses));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_used_is_evicted_first() {
        let image = Bytes::from(vec![7; 100]);
        let mut cache = Cache::new(2 * (100 + ENTRY_BYTES));
        cache.put("a".to_owned(), image.clone());
        cache.put("b".to_owned(), image.clone());
        assert!(cache.get("a").is_some());
        cache.put("c".to_owned(), image);
        assert!(cache.get("a").is_some() && cache.get("c").is_some() && cache.get("b").is_none());
        assert_eq!((cache.images.len(), cache.by_use.len()), (2, 2));
        assert!(cache.bytes <= cache.bytes_max);
    }

    #[test]
    fn oversized_image_is_not_cached() {
        let mut cache = Cache::new(0);
        cache.put("a".to_owned(), Bytes::from_static(b"x"));
        assert!(cache.get("a").is_none() && cache.bytes == 0);
    }
}
