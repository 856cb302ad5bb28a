//! The results of a `follow` run, for the terminal.

use std::{fmt, time::Duration};

use serde::{Serialize, Serializer};

use crate::follower::Counts;

#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) sockets: usize,
    /// The total number of channels that the sockets followed at the end.
    pub(crate) channels: usize,
    #[serde(rename = "seconds", serialize_with = "in_seconds")]
    pub(crate) lasted: Duration,
    pub(crate) counts: Counts,
    /// Documents that were compared with the image of a new subscriber.
    pub(crate) compared: usize,
    /// Documents that differed at the same sequence.
    pub(crate) different: usize,
    /// Documents for which no common sequence was reached in time.
    pub(crate) not_compared: usize,
    /// The first faults, in words.
    pub(crate) faults: Vec<String>,
}

impl Report {
    /// Whether nothing was wrong and something was checked.
    pub(crate) fn is_clean(&self) -> bool {
        let Counts { images, gaps, duplicates, errors, .. } = self.counts;
        images > 0
            && gaps + duplicates + errors == 0
            && self.compared > 0
            && self.different + self.not_compared == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        let rates: [(&str, u64); 6] = [
            ("updates", counts.updates),
            ("events", counts.events),
            ("images", counts.images),
            ("merged changes", counts.merged),
            ("frames", counts.frames),
            ("bytes", counts.bytes),
        ];
        let totals: [(&str, u64); 8] = [
            ("resumes", counts.resumes),
            ("resyncs", counts.resyncs),
            ("gaps", counts.gaps),
            ("duplicates", counts.duplicates),
            ("errors", counts.errors),
            ("documents compared", self.compared as u64),
            ("documents different", self.different as u64),
            ("documents not compared", self.not_compared as u64),
        ];
        let seconds = self.lasted.as_secs_f64();
        writeln!(f, "{} sockets, {} channels, {seconds:.1} s\n", self.sockets, self.channels)?;
        writeln!(f, "{:<24}{:>14}{:>14}", "", "total", "per second")?;
        for (name, total) in rates {
            writeln!(f, "{name:<24}{total:>14}{:>14.1}", per_second(total, seconds))?;
        }
        for (name, total) in totals {
            writeln!(f, "{name:<24}{total:>14}")?;
        }
        for fault in &self.faults {
            writeln!(f, "fault: {fault}")?;
        }
        writeln!(f, "\n{}", if self.is_clean() { "nothing was wrong" } else { "NOT as promised" })
    }
}

fn in_seconds<S: Serializer>(lasted: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(lasted.as_secs_f64())
}

fn per_second(total: u64, seconds: f64) -> f64 {
    total as f64 / seconds.max(f64::MIN_POSITIVE)
}
