//! In place of `relay` in a program without the feature `legacy-sockets`: matches have no channels of the older sockets.
//! Inputs of the log that open or close one have no effect.

#![expect(clippy::needless_pass_by_ref_mut, reason = "`relay` changes what it is passed")]

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::Id;
use fanout::{Change, ChannelId, Epoch, Micros, Position, Seq, catch_up::HostResponse};

use super::{Hub, HubInput, MatchSlot, sequence::Stamp, state::MatchDelta};
use crate::forward::LegacyUse;

#[derive(Debug, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Relay {}

impl Relay {
    pub(super) fn without_readers(&self) -> Self {
        Self {}
    }

    pub(super) fn drop_channels(&mut self) {}

    pub(super) fn forget(&mut self, _: Id, _: &mut Vec<Change>) {}
}

impl Hub {
    pub(super) fn relay(&mut self, _: MatchSlot, _: &MatchDelta, _: Stamp, _: &mut Vec<Change>) {}

    pub(super) fn relay_due(&mut self, _: Micros, _: &mut Vec<Change>) {}

    pub(super) fn trim_relay(&mut self, _: Micros) {}

    pub(super) fn open_legacy(&mut self, _: &ChannelId, _: Option<&Arc<str>>, _: Micros) {}

    pub(super) fn close_legacy(&mut self, _: Id) {}

    pub(crate) fn idle_legacy(&mut self, _: Micros) -> Vec<Id> {
        Vec::new()
    }

    pub(crate) fn legacy_in_use(&self) -> Vec<LegacyUse> {
        Vec::new()
    }

    pub(crate) fn keep_legacy(&mut self, _: &ChannelId, _: Micros) {}

    pub(crate) fn legacy_is_followed(&self, _: &ChannelId) -> Option<bool> {
        None
    }

    pub(crate) fn forget_idle_times(&mut self) {}

    pub(crate) fn begin(
        &mut self,
        _: &ChannelId,
        _: Option<&Arc<str>>,
        _: Option<Position>,
        _: usize,
    ) -> HostResponse {
        HostResponse::NotTracked
    }

    pub(crate) fn catch_up_legacy(
        &self,
        _: &str,
        _: Option<Position>,
        _: &str,
        _: usize,
    ) -> HostResponse {
        HostResponse::NotTracked
    }

    pub(crate) fn is_legacy(_: &str) -> bool {
        false
    }

    pub(crate) fn relayed_match(&self, _: &str) -> Option<Id> {
        None
    }

    pub(crate) fn legacy_to_open(&self, _: &ChannelId, _: Option<&Arc<str>>) -> Option<HubInput> {
        None
    }

    pub(crate) fn legacy_head(&self, _: &str) -> Option<(Epoch, Seq)> {
        None
    }
}
