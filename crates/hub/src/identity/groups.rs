//! Which matches of providers make up one match.
//!
//! A group is identified by the id of the match. It holds the present members and all that were
//! ever bound to it, so that a provider is not added twice even if its first match is not present
//! yet.

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::Id;
use rustc_hash::FxHashMap;

#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Groups {
    members: FxHashMap<Id, Vec<GroupMember>>,
}

#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub(super) struct GroupMember {
    pub(super) id: Id,
    pub(super) provider: Arc<str>,
}

impl Groups {
    pub(super) fn members(&self, id: Id) -> &[GroupMember] {
        self.members.get(&id).map_or(&[], Vec::as_slice)
    }

    pub(super) fn add(&mut self, id: Id, local_id: Id, provider: &Arc<str>) {
        let members = self.members.entry(id).or_default();
        if members.iter().all(|member| member.id != local_id) {
            members.push(GroupMember { id: local_id, provider: provider.clone() });
        }
    }

    pub(super) fn remove(&mut self, id: Id, local_id: Id) {
        let Some(members) = self.members.get_mut(&id) else { return };
        members.retain(|member| member.id != local_id);
        if members.is_empty() {
            self.members.remove(&id);
        }
    }

    /// Whether any other match is mapped to the id of this one.
    pub(super) fn follow(&self, local_id: Id) -> bool {
        self.members(local_id).iter().any(|member| member.id != local_id)
    }
}
