//! What holds for an account at all nodes together: a ticket opens one socket, and a revoked key closes all of its sockets.

use futures_util::future::join_all;
use tokio::time::Instant;

use super::faults::TestCluster;
use crate::{
    client::{buy_ticket, closed_with, open_client},
    faults::FaultLog,
};

/// `token_revoked`.
const REVOKED: u16 = 4410;

impl TestCluster<'_> {
    /// Revokes a key that has a socket at each node.
    ///
    /// # Errors
    ///
    /// If a socket is not closed, or closed for another reason, or a ticket does not open one socket.
    pub(super) async fn revoke_key(&self, faults: &mut FaultLog) -> Result<(), String> {
        let site = &self.shared.site;
        let key = site.customer_key().await;
        let addresses = || self.nodes.iter().map(|node| &*node.site.address);
        let by_key = format!("token={key}");
        let mut sockets = Vec::new();
        for address in addresses() {
            sockets.push(open_client(address, &by_key).await?);
        }
        let ticket = buy_ticket(&site.address, &key).await.ok_or("no ticket is sold")?;
        let by_ticket = format!("ticket={ticket}");
        let opened = join_all(addresses().map(|address| open_client(address, &by_ticket))).await;
        let opened: Vec<_> = opened.into_iter().filter_map(Result::ok).collect();
        if opened.len() != 1 {
            return Err(format!("a ticket opens {} sockets", opened.len()));
        }
        sockets.extend(opened);

        site.revoke_key(&key).await;
        let revoked = Instant::now();
        for socket in &mut sockets {
            let code = closed_with(socket).await?;
            if code != Some(REVOKED) {
                return Err(format!("a socket of a revoked key is closed with {code:?}"));
            }
        }
        faults.revoked.push(revoked.elapsed());
        Ok(())
    }
}
