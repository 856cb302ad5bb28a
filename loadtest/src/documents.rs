//! The tasks that need a client that understands documents: listing the channels, and comparing
//! stored documents with those of a new subscriber.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use client::Frame;
use serde_json::{Value, json};
use tokio::{runtime, time::timeout};

use crate::{
    follow::{self, Plan},
    follower::Follower,
    outcome::Documents,
    plan::ChannelList,
    socket::ReadOutcome,
};

/// How long the hub may take to send all images of a pattern.
const PATIENCE: Duration = Duration::from_secs(20);

/// The channels that these names and patterns cover, sorted.
///
/// # Errors
///
/// If the hub refuses them, or does not send their images.
pub(crate) fn discover(plan: &Plan) -> Result<Vec<String>> {
    block_on(async {
        let mut socket = plan.open(&mut 0).await?;
        let mut follower = Follower::new(false);
        let (mut answers, mut due) = (0, 0);
        while answers < plan.channels.len() || (follower.channels.len() as u64) < due {
            let read = timeout(PATIENCE, socket.read()).await;
            let ReadOutcome::Text(text) = read.context("the hub sends no images")? else {
                bail!("the hub has closed the connection");
            };
            let frame = Frame::parse(text.as_bytes())?;
            if frame.kind == "subscribed" {
                answers += 1;
                due += frame.channels.unwrap_or(1);
            }
            follower.take(&text);
            if let Some(fault) = follower.faults.first() {
                bail!("{fault}");
            }
        }
        Ok(follower.channels.into_keys().collect())
    })
}

/// Resumes from where the stored documents end, and compares them with new images: those of the
/// next hub, if there are several.
///
/// # Errors
///
/// If the hub refuses the new connection.
pub(crate) fn compare(
    plan: &Plan,
    kept: Vec<(Follower, ChannelList)>,
    faults: &mut Vec<String>,
) -> Result<Documents> {
    block_on(async {
        let mut documents = Documents::default();
        for (mut node, (mut follower, follows)) in kept.into_iter().enumerate() {
            let plan =
                Plan { hubs: plan.hubs.clone(), key: plan.key.clone(), channels: follows.to_vec() };
            let commands = resume(&follower, &follows);
            let mut socket = plan.connect(&mut node, &commands).await?;
            let compared = follow::compare(&plan, node + 1, &mut socket, &mut follower).await?;
            documents.compared += compared.same + compared.different.len();
            documents.different += compared.different.len();
            documents.not_compared += compared.pending.len();
            faults.extend(compared.different);
            faults.extend(follower.faults);
        }
        Ok(documents)
    })
}

/// Subscribes to these names and patterns.
pub(crate) fn subscribe(follows: &[String]) -> Vec<Value> {
    let subscribe = |(id, channel)| json!({"op": "subscribe", "id": id, "ch": channel});
    follows.iter().enumerate().map(subscribe).collect()
}

/// Subscribes to these names and patterns from the positions that the follower has.
pub(crate) fn resume(follower: &Follower, follows: &[String]) -> Vec<Value> {
    let mut commands = subscribe(follows);
    for (command, wanted) in commands.iter_mut().zip(follows) {
        let positions = follower.channels.iter();
        let positions =
            positions.map(|(name, channel)| (name.as_str(), channel.epoch.as_str(), channel.seq));
        if let (Some(from), _) = client::resume_from(wanted, positions, usize::MAX) {
            command["from"] = from;
        }
    }
    commands
}

fn block_on<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    runtime::Builder::new_current_thread().enable_all().build()?.block_on(future)
}
