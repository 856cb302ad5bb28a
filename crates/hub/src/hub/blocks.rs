//! Aligned runs of a channel's tail, merged once and shared by all readers that resume across them.
//!
//! A reader that resumes from far back merges whole blocks instead of single updates, so its cost
//! grows with the number of blocks, regardless of its position and of other readers. A block is
//! built when the first reader needs it. Events are never merged, so a run that contains one never
//! becomes a block.

use std::{collections::BTreeMap, sync::Arc};

use fanout::Seq;

use super::sequence::{Stamp, Update};
use crate::patch::Patch;

/// Updates per block: enough to keep the number of blocks small, few enough that the ends of a
/// range, which are merged one by one, cost little.
pub const BLOCK: Seq = 64;

/// Updates merged into one.
#[derive(Debug)]
pub struct Block {
    /// The last of them.
    pub seq: Seq,
    pub stamp: Stamp,
    pub patch: Patch,
    /// Bytes of memory of the patch.
    pub weight: usize,
}

/// The blocks of one channel built so far, by number. `None` if the updates cannot be merged into one.
#[derive(Debug, Default)]
pub struct Blocks(BTreeMap<Seq, Option<Arc<Block>>>);

impl Blocks {
    /// The block that begins after `from`. The outer `None` means that it has not been built yet,
    /// the inner one that its updates cannot be merged.
    pub(super) fn get(&self, from: Seq) -> Option<Option<Arc<Block>>> {
        self.0.get(&(from / BLOCK)).cloned()
    }

    /// Merges the updates after `from` and stores the result. `weight` is their total weight.
    pub(super) fn make<'a>(
        &mut self,
        from: Seq,
        updates: impl Iterator<Item = &'a Arc<Update>>,
        weight: usize,
    ) -> Option<Arc<Block>> {
        // A block of updates that hardly overlap saves no merging and would double the tail's memory.
        let block = merge(updates).filter(|block| block.weight <= weight / 2).map(Arc::new);
        self.0.insert(from / BLOCK, block.clone());
        block
    }

    /// Drops blocks that begin before `oldest`.
    pub(super) fn trim(&mut self, oldest: Seq) {
        while let Some(first) = self.0.first_entry()
            && first.key() * BLOCK < oldest
        {
            first.remove();
        }
    }
}

fn merge<'a>(updates: impl Iterator<Item = &'a Arc<Update>>) -> Option<Block> {
    let mut merged: Option<Block> = None;
    for update in updates {
        if !update.events.is_empty() {
            return None;
        }
        match &mut merged {
            None => {
                let (seq, stamp, patch) = (update.seq, update.stamp, update.patch.clone());
                merged = Some(Block { seq, stamp, patch, weight: 0 });
            }
            Some(block) => {
                block.patch.merge(&update.patch).ok()?;
                (block.seq, block.stamp) = (update.seq, update.stamp);
            }
        }
    }
    let mut block = merged?;
    block.weight = block.patch.weight();
    Some(block)
}
