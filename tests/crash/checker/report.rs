//! What a check found.

use std::{collections::BTreeMap, fmt};

use fanout::Micros;

/// What was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// The log itself is inconsistent.
    Log,
    /// An update leads on from further ahead than the client is.
    Gap,
    /// A client was sent something again, or went back.
    Back,
    /// A frame has content that the log does not have at its position.
    NotInLog,
    /// An update of one change differs from the log by its bytes.
    Bytes,
    /// A document differs from the log's at its position.
    Document,
    /// Events are missing, merged, or not those of the log.
    Events,
    /// The epoch changed, or did not change, without a reason in the log.
    Epoch,
    /// An image came although the client could have been sent updates.
    Image,
    /// A `resync` without a reason.
    Resync,
    /// A beat confirms another position than the client has.
    Beat,
    /// A frame that none was expected, such as an error.
    Unexpected,
    /// A client was not sent everything in the end.
    Incomplete,
    /// An image over HTTP, or its entity tag.
    Rest,
    /// A frame of the older sockets.
    Live,
    /// Quotas, archive or signals after the run.
    Accounts,
    /// A source was told something else than what happened to its lines.
    Push,
    /// A connection was closed with a code that has no reason.
    Close,
    /// Something that the round is to test did not happen, or too rarely.
    Coverage,
}

/// Findings shown of each rule.
const SHOWN_MAX: usize = 5;

/// All findings.
#[derive(Debug, Default)]
pub(crate) struct Report {
    found: BTreeMap<Rule, Vec<String>>,
    pub(crate) counts: CheckCounters,
}

/// The time of day in UTC, as in the hub's output.
pub(crate) fn time_of_day(at: Micros) -> String {
    let millis = at / 1000;
    let (seconds, millis) = (millis / 1000, millis % 1000);
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{millis:03}", seconds % 60)
}

/// What clients saw.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CheckCounters {
    pub(crate) frames: u64,
    pub(crate) events: u64,
    pub(crate) resumes: u64,
    pub(crate) images: u64,
    pub(crate) resyncs: u64,
    pub(crate) epochs: u64,
    /// Updates that stand for several changes.
    pub(crate) merged: u64,
    /// Answers of waiting calls over MCP.
    pub(crate) mcp_answers: u64,
    pub(crate) rest_images: u64,
    /// Responses that confirm an entity tag.
    pub(crate) not_modified: u64,
}

impl Report {
    pub(crate) fn add(&mut self, rule: Rule, who: &str, what: impl fmt::Display) {
        self.found.entry(rule).or_default().push(format!("{who}: {what}"));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (rule, found) in other.found {
            self.found.entry(rule).or_default().extend(found);
        }
        let (counts, other) = (&mut self.counts, other.counts);
        counts.frames += other.frames;
        counts.events += other.events;
        counts.resumes += other.resumes;
        counts.images += other.images;
        counts.resyncs += other.resyncs;
        counts.epochs += other.epochs;
        counts.merged += other.merged;
        counts.mcp_answers += other.mcp_answers;
        counts.rest_images += other.rest_images;
        counts.not_modified += other.not_modified;
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.found.is_empty()
    }

    /// The rules that were broken.
    #[cfg(test)]
    pub(crate) fn rules(&self) -> Vec<Rule> {
        self.found.keys().copied().collect()
    }

    pub(crate) fn total(&self) -> usize {
        self.found.values().map(Vec::len).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rule, found) in &self.found {
            writeln!(f, "{rule:?}: {}", found.len())?;
            for found in found.iter().take(SHOWN_MAX) {
                writeln!(f, "    {found}")?;
            }
        }
        Ok(())
    }
}
