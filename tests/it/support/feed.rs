//! Recordings that a test writes: lines of a Betfair stream about a tennis match.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The start of the stream's clock, in milliseconds.
const BEGIN_MS: u64 = 1_588_396_480_000;

/// A market with runners 7 and 8, each with one price.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Market {
    pub(crate) event: u32,
}

impl Market {
    /// Defines it, in this status.
    pub(crate) fn defined(self, status: &str, after_ms: u64) -> String {
        let runner = |id: u32| format!(r#"{{"id":{id},"status":"ACTIVE","sortPriority":{id}}}"#);
        self.line(
            after_ms,
            &format!(
                r#""marketDefinition":{{"eventId":"{}","eventTypeId":"2","eventName":"A v B",
                "openDate":"2020-05-02T09:00:00.000Z","marketType":"MATCH_ODDS",
                "bettingType":"ODDS","status":"{status}","inPlay":true,
                "runners":[{},{}]}}"#,
                self.event,
                runner(7),
                runner(8)
            )
            .replace('\n', ""),
        )
    }

    /// The last traded price of runner 7.
    pub(crate) fn traded(self, price: &str, after_ms: u64) -> String {
        self.line(after_ms, &format!(r#""rc":[{{"id":7,"ltp":{price}}}]"#))
    }

    /// A change of it, this long after the start.
    pub(crate) fn line(self, after_ms: u64, change: &str) -> String {
        let pt = BEGIN_MS + after_ms;
        format!(r#"{{"op":"mcm","pt":{pt},"mc":[{{"id":"1.{}",{change}}}]}}"#, self.event)
    }

    /// A long recording: this many price changes, with a suspension and its end after every so many
    /// of them.
    pub(crate) fn busy(self, changes: u64, suspend_after: u64) -> Vec<String> {
        let mut lines = vec![self.defined("OPEN", 0)];
        for change in 1..=changes {
            lines.push(
                self.traded(&format!("{}.{:02}", 2 + change / 100 % 50, change % 100), change),
            );
            if change % suspend_after == 0 {
                lines.push(self.defined("SUSPENDED", change));
                lines.push(self.defined("OPEN", change));
            }
        }
        lines
    }
}

/// Writes lines to a file of this name in the folder.
pub(crate) fn write(folder: &Path, name: &str, lines: &[String]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, lines.join("\n") + "\n").expect("a recording is written");
    path
}
