//! Goes on in a stream that has lost what the node has: its servers came back with older stores, or `cluster init` has
//! made it again. The process, its hub and its sockets stay.
//!
//! The node that leads begins a generation behind what is left: a term after the last record of its own log, and new
//! epochs. A node that follows looks for its last record behind such a term. One that has other records cannot go
//! back: it ends, and takes the state of another node when it starts again.

use std::time::Duration;

use cluster::{Body, Stored, StreamEnd, node_log::HeldTerm};
use hub::pipeline::HubStopped;
use log::LogPosition;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tracing::{info, warn};

use super::{CLOCK_UNFIT_US, ClusterInput, Node, NodeError, NodeOrder};
use crate::app::{
    cluster::{
        ClusterFailure,
        join::{self, BegunTerm, Place},
    },
    random_epochs,
};
use base::clock::now;

/// How long a node that follows looks for its place while the stream answers.
const PLACE_WITHIN: Duration = Duration::from_secs(10);

/// Between two looks at the stream.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How long the stream must have taken no records until the leader looks whether it has lost some.
const REFUSED_MIN: Duration = Duration::from_secs(2);

/// How long a node leaves it to another one that has more records to begin.
const NEWEST_FIRST: Duration = Duration::from_secs(5);

/// What a node finds in a stream that has lost messages.
enum Found {
    /// Nobody has begun anything, or nobody knows.
    Nothing,
    /// Its last record.
    Follows(Place),
    /// A generation that it has begun.
    Leads(HeldTerm),
    /// Messages of another node, behind other records.
    Other,
}

/// What a stream that takes no records has left of what its leader has appended.
#[derive(Debug, PartialEq, Eq)]
enum Left {
    All,
    Less,
    /// Messages of another leader.
    Other,
}

/// `is_same`: the stream was not made again. `last`, `newest`: its last message and newest term.
fn left(held: HeldTerm, is_same: bool, last: u64, newest: u64) -> Left {
    if last == 0 {
        return Left::Less;
    }
    if !is_same || newest > held.term {
        return Left::Other;
    }
    if last < held.seq { Left::Less } else { Left::All }
}

impl Node {
    /// The stream no longer has what this node follows: looks for the last record of the node there. Afterwards the
    /// node follows, or leads. Returns true when the process stops.
    pub(super) async fn rejoin(
        &mut self,
        lost: NodeError,
        orders: &mut mpsc::Receiver<NodeOrder>,
    ) -> Result<bool, NodeError> {
        warn!(
            error = &lost as &dyn std::error::Error,
            "the stream has other messages than this node: it looks for its place there"
        );
        self.parts.fanout.set_stale(Some(now()));
        self.show(true);
        let began = Instant::now();
        let mut until = began + PLACE_WITHIN;
        loop {
            match self.find_place(began.elapsed()).await {
                Ok(Found::Follows(place)) => {
                    self.place = place;
                    self.signs.set_log(self.cluster.stream.identity());
                    self.parts.fanout.set_stale(None);
                    info!(record = place.position.number, "this node follows the stream again");
                    return Ok(false);
                }
                Ok(Found::Leads(held)) => {
                    self.begin_generation(held).await?;
                    return Ok(false);
                }
                Ok(Found::Other) if Instant::now() >= until => return Err(lost),
                Ok(Found::Other) => {}
                Ok(Found::Nothing) => until = Instant::now() + PLACE_WITHIN,
                Err(failure) if failure.is_passing() => until = Instant::now() + PLACE_WITHIN,
                Err(failure) => return Err(failure.into()),
            }
            tokio::select! {
                () = sleep(LOOK_EVERY) => {}
                order = orders.recv() => {
                    if self.take_order(order) {
                        return Ok(true);
                    }
                }
            }
            let heard = self.cluster.beats.all().into_iter().map(|heard| heard.at.elapsed()).min();
            self.clients.look_for_keys(heard.unwrap_or_else(|| began.elapsed()));
        }
    }

    async fn find_place(&self, waited: Duration) -> Result<Found, ClusterFailure> {
        let (stream, position) = (&self.cluster.stream, self.place.position);
        stream.check().await?;
        let end = stream.end().await?;
        // One that it knows is of before the loss.
        let begun = self.own_term(end, position).await?;
        if let Some(held) = begun.filter(|begun| begun.term > self.place.term) {
            return Ok(Found::Leads(held));
        }
        if let Some(seq) = stream.find(position).await? {
            let stored = stream.read(seq).await?;
            // The database may have a term that the stream has lost.
            let term = stored.map_or(0, |stored| stored.message.term).max(self.place.term);
            return Ok(Found::Follows(Place { seq, position, term }));
        }
        // The leader begins if it is there, or else the node that has most.
        let lease = Duration::from_millis(self.cluster.config.lease_ms);
        let leader = self.cluster.beats.leader();
        let is_led = waited < lease || leader.is_some_and(|heard| heard.at.elapsed() < lease);
        let beats = self.cluster.beats.all().into_iter().map(|heard| heard.beat);
        let mut may_lead = beats.filter(|beat| beat.role.may_lead());
        let has_most = waited > NEWEST_FIRST || may_lead.all(|it| it.number <= position.number);
        let is_fit = self.clock_offset().abs() < CLOCK_UNFIT_US;
        if self.cluster.config.role.may_lead() && is_fit && has_most && !is_led {
            return self.begin_term(end, position).await;
        }
        Ok(if end.last == 0 { Found::Nothing } else { Found::Other })
    }

    /// Called while this node leads. If the stream has lost messages, the node begins a generation behind what is left.
    pub(super) async fn look_for_loss(&mut self) -> Result<(), NodeError> {
        let refused = self.parts.state.refused_since().is_some_and(|at| at.elapsed() > REFUSED_MIN);
        let Some(held) = self.cluster.lead.get().filter(|_| refused) else { return Ok(()) };
        if self.next_look > Instant::now() {
            return Ok(());
        }
        self.next_look = Instant::now() + LOOK_EVERY;
        match self.find_loss(held).await {
            Ok(Found::Leads(held)) => self.begin_generation(held).await,
            Ok(Found::Other) => Err(NodeError::Deposed { seq: held.seq }),
            Ok(Found::Nothing | Found::Follows(_)) => Ok(()),
            Err(failure) if failure.is_passing() => Ok(()),
            Err(failure) => Err(failure.into()),
        }
    }

    async fn find_loss(&self, held: HeldTerm) -> Result<Found, ClusterFailure> {
        let (stream, position) = (&self.cluster.stream, self.parts.records.end());
        stream.check().await?;
        let end = stream.end().await?;
        let own = self.own_term(end, position).await?;
        if let Some(own) = own.filter(|own| own.term > held.term) {
            return Ok(Found::Leads(own));
        }
        let (_, newest) = join::last_position(stream, end).await?;
        match left(held, self.signs.log() == stream.identity(), end.last, newest) {
            Left::All => Ok(Found::Nothing),
            Left::Other => Ok(Found::Other),
            Left::Less => self.begin_term(end, position).await,
        }
    }

    /// A term of this node behind its last record, at the end of the stream: the answer to its append was lost.
    async fn own_term(
        &self,
        end: StreamEnd,
        position: LogPosition,
    ) -> Result<Option<HeldTerm>, ClusterFailure> {
        if end.last == 0 {
            return Ok(None);
        }
        let stored = self.cluster.stream.read(end.last).await?;
        let Some(Stored { seq, message, .. }) = stored else { return Ok(None) };
        let is_own = matches!(message.body, Body::Term { .. })
            && *message.node == *self.cluster.node
            && message.position().chain == position.chain;
        Ok(is_own.then_some(HeldTerm { term: message.term, seq }))
    }

    /// Begins a term behind the node's last record, unless the stream has later ones, or another node has begun there.
    async fn begin_term(
        &self,
        end: StreamEnd,
        position: LogPosition,
    ) -> Result<Found, ClusterFailure> {
        let (last, newest) = join::last_position(&self.cluster.stream, end).await?;
        if last.number > position.number || newest > self.place.term {
            return Ok(Found::Other);
        }
        let begun = join::begin_term(&self.cluster, Some(position), end, self.place.term).await?;
        Ok(begun.map_or(Found::Nothing, |BegunTerm { held, .. }| Found::Leads(held)))
    }

    /// Leads from this term on. What clients have seen need not be what this node has, so all channels begin new epochs.
    async fn begin_generation(&mut self, held: HeldTerm) -> Result<(), NodeError> {
        warn!(
            term = held.term,
            "the stream has lost records: this node goes on with what it has, and all channels begin new epochs"
        );
        let epochs = random_epochs()?;
        self.place = Place { seq: held.seq, term: held.term, ..self.place };
        self.signs.set_log(self.cluster.stream.identity());
        if !self.leads {
            return self.take_lead(Some(epochs)).await;
        }
        self.cluster.lead.take(held);
        self.cluster.fence.lead(&self.signs.log(), held.term, true);
        let input = ClusterInput::BeginEpochs(epochs);
        Ok(self.parts.hub.cluster.send(input).await.map_err(|_| HubStopped)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leader_goes_on_behind_what_is_left_of_its_own() {
        let held = HeldTerm { term: 7, seq: 900 };
        for (is_same, last, newest, expected) in [
            (true, 900, 7, Left::All),
            (true, 901, 7, Left::All),
            (true, 850, 7, Left::Less),
            (true, 850, 6, Left::Less),
            (true, 850, 8, Left::Other),
            (true, 950, 8, Left::Other),
            (true, 0, 0, Left::Less),
            (false, 0, 0, Left::Less),
            (false, 1, 1, Left::Other),
            (false, 1_000, 7, Left::Other),
        ] {
            assert_eq!(left(held, is_same, last, newest), expected, "{is_same} {last} {newest}");
        }
    }
}
