//! What was used of limits at each node, so that a limit holds for all nodes together.
//!
//! Each node tells the others five times a second what was used there since it told last. A report that is lost is not
//! repeated: its use then counts at one node only.

use std::time::Duration;

use accounts::limits::LimitUse;
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::{MissedTickBehavior, interval};

use crate::stream::{Stream, StreamError};

/// Between two reports of a node.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);
/// Uses of a report: the greatest ones.
const USES_MAX: usize = 8_000;
/// Bytes of a use in a report.
const USE_BYTES: usize = 1 + 8 + 4;

/// Tells other nodes what was used at this one since `here` was last called, and `elsewhere` what was used at another
/// one, until it is dropped.
///
/// # Errors
///
/// If the client has ended.
pub async fn exchange(
    stream: &Stream,
    node: &str,
    here: impl Fn() -> Vec<LimitUse>,
    elsewhere: impl Fn(&[LimitUse]),
) -> Result<(), StreamError> {
    let client = &stream.connection().client;
    let prefix = format!("mw.{}.limits", stream.config().name);
    let subscribed = client.subscribe(format!("{prefix}.*")).await;
    let mut reports = subscribed.map_err(|_| StreamError::Ended)?;
    let subject = format!("{prefix}.{node}");
    let mut ticks = interval(REPORT_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            report = reports.next() => {
                let report = report.ok_or(StreamError::Ended)?;
                if report.subject.rsplit('.').next() != Some(node)
                    && let Some(uses) = decode(&report.payload)
                {
                    elsewhere(&uses);
                }
            }
            _ = ticks.tick() => {
                let uses = here();
                // Without a connection the client would keep old reports in memory.
                if !uses.is_empty() && stream.is_connected() {
                    let report = encode(uses);
                    client.publish(subject.clone(), report).await.map_err(|_| StreamError::Ended)?;
                }
            }
        }
    }
}

fn encode(mut uses: Vec<LimitUse>) -> Bytes {
    if uses.len() > USES_MAX {
        uses.sort_unstable_by_key(|used| std::cmp::Reverse(used.amount));
        uses.truncate(USES_MAX);
    }
    let bytes = uses.into_iter().flat_map(|LimitUse { limit, whose, amount }| {
        let (whose, amount) = (whose.to_be_bytes(), amount.to_be_bytes());
        [limit].into_iter().chain(whose).chain(amount)
    });
    bytes.collect()
}

/// `None` if it is no report.
fn decode(report: &Bytes) -> Option<Vec<LimitUse>> {
    let (uses, []) = report.as_chunks::<USE_BYTES>() else { return None };
    if uses.len() > USES_MAX {
        return None;
    }
    let read = |bytes: &[u8; USE_BYTES]| {
        let (limit, rest) = bytes.split_first()?;
        let (whose, amount) = rest.split_first_chunk::<8>()?;
        let amount = u32::from_be_bytes(amount.try_into().ok()?);
        Some(LimitUse { limit: *limit, whose: u64::from_be_bytes(*whose), amount })
    };
    uses.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_has_the_greatest_uses() {
        let used = |limit, whose, amount| LimitUse { limit, whose, amount };
        let uses = vec![used(1, 7, 3), used(9, u64::MAX, 1)];
        assert_eq!(decode(&encode(uses.clone())), Some(uses));
        assert_eq!(decode(&Bytes::from_static(b"no report")), None);
        let told = decode(&encode((0..9_000).map(|it| used(1, it.into(), it)).collect()));
        let told = told.expect("a report");
        assert_eq!(
            (told.len(), told[0], told[7_999]),
            (8_000, used(1, 8_999, 8_999), used(1, 1_000, 1_000))
        );
        assert_eq!(decode(&Bytes::from(vec![0; USE_BYTES * 8_001])), None);
    }
}
