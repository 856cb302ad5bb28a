//! A turn of the writer: the inputs that it applied, and the changes that came of them.

use std::mem;

use borsh::BorshDeserialize;
use bytes::Bytes;
use fanout::{Change, Micros, Publication, channel::Rate, encode};
use log::{
    RecordNumber,
    record::{Output, Record},
};

use crate::hub::{ApplyError, Hub, HubInput};

pub use crate::formats::INPUTS_FORMAT;

/// The inputs of a turn, and what came of them.
#[derive(Debug)]
pub struct Turn {
    /// When it ended. It never decreases from turn to turn.
    pub at: Micros,
    pub inputs: Vec<HubInput>,
    /// At all rates. Only changes at [`Rate::Each`] are logged.
    pub changes: Vec<Change>,
}

/// The hub, with the inputs and changes of its current turn.
#[derive(Debug)]
pub struct TurnBuilder {
    pub hub: Hub,
    inputs: Vec<HubInput>,
    /// The facts of these inputs.
    facts: usize,
    pub changes: Vec<Change>,
    /// The end of the last turn.
    at: Micros,
}

/// A record's inputs cannot be read: another program wrote them.
#[derive(Debug, thiserror::Error)]
#[error("the inputs of record {0} are of another format")]
pub struct InputsError(pub RecordNumber);

impl TurnBuilder {
    /// `at`: the end of the log, before which no turn ends.
    #[must_use]
    pub fn new(hub: Hub, at: Micros) -> Self {
        Self { hub, inputs: Vec::new(), facts: 0, changes: Vec::new(), at }
    }

    /// Applies an input.
    pub fn take(&mut self, input: HubInput) -> Vec<ApplyError> {
        let errors = self.hub.take(&input, &mut self.changes);
        if let HubInput::Batch { batch, .. } = &input {
            self.facts += batch.events.len();
        }
        self.inputs.push(input);
        errors
    }

    /// The number of inputs of the current turn.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// The number of facts of the current turn.
    #[must_use]
    pub fn facts(&self) -> usize {
        self.facts
    }

    /// A time for the next input: not before the last turn.
    #[must_use]
    pub fn time(&self, now: Micros) -> Micros {
        now.max(self.at)
    }

    /// Ends the turn; `None` if nothing happened in it.
    pub fn end(&mut self, now: Micros) -> Option<Turn> {
        if self.inputs.is_empty() && self.changes.is_empty() {
            return None;
        }
        self.at = self.time(now);
        self.facts = 0;
        let (inputs, changes) = (mem::take(&mut self.inputs), mem::take(&mut self.changes));
        Some(Turn { at: self.at, inputs, changes })
    }
}

impl Turn {
    /// Whether it belongs in the log. A turn without inputs has only merged updates of what is logged.
    #[must_use]
    pub fn is_logged(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// The turn as a record of this number.
    #[must_use]
    pub fn record(&self, number: RecordNumber) -> Record {
        let mut inputs = vec![INPUTS_FORMAT];
        borsh::to_writer(&mut inputs, &self.inputs).expect("writing to memory does not fail");
        let outputs = outputs(&self.changes);
        Record { number, at: self.at, inputs: inputs.into(), outputs }
    }
}

/// What of these changes is logged: those that every follower of a channel gets or is merged from.
#[must_use]
pub fn outputs(changes: &[Change]) -> Vec<Output> {
    changes.iter().filter_map(output).collect()
}

/// Whether changes have other numbers than the outputs of their record. Frames are not compared, since rendering
/// them costs as much as publishing them.
#[must_use]
pub fn is_numbered_as(changes: &[Change], outputs: &[Output]) -> bool {
    let logged = changes
        .iter()
        .filter(|change| !matches!(change, Change::Published(rate, _) if *rate != Rate::Each));
    let numbers = logged.map(|change| match change {
        Change::Opened(it) => (&it.channel.name, it.channel.epoch, Some(it.seq), true),
        Change::Published(_, it) => (&it.channel.name, it.channel.epoch, Some(it.seq), false),
        Change::Closed(channel) => (&channel.name, channel.epoch, None, false),
    });
    numbers.eq(outputs.iter().map(|output| match output {
        Output::Opened { channel, epoch, seq, .. } => (channel, *epoch, Some(*seq), true),
        Output::Published { channel, epoch, seq, .. } => (channel, *epoch, Some(*seq), false),
        Output::Closed { channel, epoch } => (channel, *epoch, None, false),
    }))
}

fn output(change: &Change) -> Option<Output> {
    Some(match change {
        Change::Opened(publication) => Output::Opened {
            channel: publication.channel.name.clone(),
            epoch: publication.channel.epoch,
            seq: publication.seq,
            payload: payload(publication),
        },
        Change::Published(Rate::Each, publication) => Output::Published {
            channel: publication.channel.name.clone(),
            epoch: publication.channel.epoch,
            prev: publication.prev,
            seq: publication.seq,
            urgent: publication.urgent,
            has_events: publication.has_events,
            payload: payload(publication),
        },
        // Merged for readers at a lower rate, from what is logged.
        Change::Published(..) => return None,
        Change::Closed(channel) => {
            Output::Closed { channel: channel.name.clone(), epoch: channel.epoch }
        }
    })
}

fn payload(publication: &Publication) -> Bytes {
    encode::payload(publication.frame())
}

/// The inputs of a record.
///
/// # Errors
///
/// If another program wrote them in another format.
pub fn inputs(record: &Record) -> Result<Vec<HubInput>, InputsError> {
    let wrong = || InputsError(record.number);
    let (format, mut rest) = record.inputs.split_first().ok_or_else(wrong)?;
    if *format != INPUTS_FORMAT {
        return Err(wrong());
    }
    let inputs = Vec::<HubInput>::deserialize(&mut rest).map_err(|_| wrong())?;
    if rest.is_empty() { Ok(inputs) } else { Err(wrong()) }
}
