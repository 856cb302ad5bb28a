//! What a node tells of its documents, for `matchwire cluster verify`.

use fanout::encode::payload;
use hub::pipeline::{HubHandle, HubStopped};
use sha2::{Digest, Sha256};

use crate::{ChannelDigest, peer::CHANNELS_AT_ONCE};

/// The names of the channels after this one, in their order.
pub(super) async fn channels(hub: &HubHandle, after: &str) -> Result<Vec<String>, HubStopped> {
    let names = hub.channels().await?;
    let mut names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    names.retain(|name| *name > after);
    names.sort_unstable();
    names.truncate(CHANNELS_AT_ONCE);
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// Digests of the documents of channels, `None` where there is no such channel.
pub(super) async fn digests(
    hub: &HubHandle,
    channels: &[String],
) -> Result<Vec<Option<ChannelDigest>>, HubStopped> {
    let mut digests = Vec::with_capacity(channels.len());
    for channel in channels {
        let image = hub.image(channel).await?;
        digests.push(image.map(|image| {
            let mut digest = [0; 16];
            digest.copy_from_slice(&Sha256::digest(payload(&image.frame))[..16]);
            ChannelDigest { epoch: image.epoch.0, seq: image.seq, digest }
        }));
    }
    Ok(digests)
}
