//! Starts what customers need beside the hub: mail to them, and their payments.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{sync::watch, task::JoinHandle};
use tracing::info;

use super::{AppError, RunMode, posting};
use crate::{
    accounts::Accounts,
    config::{Config, PaymentsConfig},
    payments::{Payments, sandbox::Sandbox},
    products::Catalogue,
    supervisor::{self, Lifetime},
};

/// What customers need, running.
pub(super) struct Customers {
    pub(super) payments: Payments,
    /// To be waited for at the stop.
    pub(super) tasks: Vec<JoinHandle<()>>,
}

/// Where the hub is.
#[derive(Clone, Copy)]
pub(super) struct HubAddress<'a> {
    pub(super) address: SocketAddr,
    /// `s` where it speaks TLS itself.
    pub(super) secure: &'a str,
    /// Where customers reach it, without a slash at the end.
    pub(super) public_url: &'a str,
}

/// Starts it, until `stopped` turns true. In a demo, mail that the settings send nowhere goes into a folder
/// beside the database, and its links are printed; payments without settings go to the sandbox.
///
/// # Errors
///
/// If a secret or a certificate of the settings cannot be had, or if the sandbox does not start.
pub(super) async fn start(
    accounts: &Accounts,
    catalogue: &Arc<Catalogue>,
    hub_address: HubAddress<'_>,
    (config, mode): (&Config, &RunMode),
    stopped: &watch::Receiver<bool>,
) -> Result<Customers, AppError> {
    let settings = payment_settings(config, mode, hub_address, stopped).await?;
    let payments =
        Payments::new(accounts, Arc::clone(catalogue), hub_address.public_url, &settings)?;
    let mut tasks = posting::start(accounts, config, hub_address.public_url, stopped)?;
    let sweeping = payments.clone().run(stopped.clone());
    tasks.push(supervisor::spawn("payments", Lifetime::UntilStop, sweeping));
    Ok(Customers { payments, tasks })
}

/// Waits for what is under way. A mail that a server has not taken by then is cut off, and sent by the
/// next run; an order is asked for again.
pub(super) async fn stop(mut tasks: Vec<JoinHandle<()>>, patience: Duration) {
    let done = async {
        for task in &mut tasks {
            task.await.ok();
        }
    };
    if tokio::time::timeout(patience, done).await.is_err() {
        info!("a mail or a payment was cut off");
        tasks.iter().for_each(JoinHandle::abort);
    }
}

/// The rails of the settings; those of the sandbox in a demo that has none of its own.
async fn payment_settings(
    config: &Config,
    mode: &RunMode,
    HubAddress { address, secure, .. }: HubAddress<'_>,
    stopped: &watch::Receiver<bool>,
) -> Result<PaymentsConfig, AppError> {
    let own = &config.payments;
    let has_rails = own.offers_stripe() || own.offers_paypal();
    if has_rails || !own.sandbox || !matches!(mode, RunMode::Demo) {
        return Ok(own.clone());
    }
    let certificate = config.tls.certificate.as_path();
    let certificate = Some(certificate).filter(|path| !path.as_os_str().is_empty());
    let hub_url = format!("http{secure}://{address}");
    let sandbox = Sandbox::start(address, hub_url, certificate, stopped.clone()).await?;
    Ok(sandbox.settings(own))
}
