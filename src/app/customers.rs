//! Starts the services for customers: mail and payments.

use std::{error::Error, net::SocketAddr, time::Duration};

use tokio::{sync::watch, task::JoinHandle};
use tracing::{info, warn};

use super::{AppError, RunMode, mail};
use crate::config::{Config, PaymentsConfig};
use accounts::{
    Accounts,
    clients::ClientDocuments,
    payments::{Payments, sandbox::Sandbox},
    products::Prices,
};
use base::{
    supervisor::{self, Lifetime},
    tls,
};

/// The running services.
pub(super) struct Customers {
    pub(super) payments: Payments,
    /// The tasks to wait for at the stop.
    pub(super) tasks: Vec<JoinHandle<()>>,
}

/// The addresses of the hub.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) address: SocketAddr,
    /// `s` if it serves TLS itself.
    pub(super) secure: &'a str,
    /// The URL where customers reach it, without a trailing slash.
    pub(super) public_url: &'a str,
}

/// Starts the services, until `stopped` turns true. In a demo without mail settings, mails go into
/// a folder next to the database and their links are printed; without payment settings, payments go
/// to the sandbox.
///
/// # Errors
///
/// If a secret or a certificate of the settings cannot be loaded, or if the sandbox does not start.
pub(super) async fn start(
    accounts: &Accounts,
    prices: &Prices,
    place: Place<'_>,
    (config, mode): (&Config, &RunMode),
    stopped: &watch::Receiver<bool>,
) -> Result<Customers, AppError> {
    let settings = payment_settings(config, mode, place, stopped).await?;
    let payments = Payments::new(accounts, prices.clone(), place.public_url, &settings)?;
    let mut tasks = mail::start(accounts, config, place.public_url, stopped)?;
    let sweeping = payments.clone().run(stopped.clone());
    tasks.push(supervisor::spawn("payments", Lifetime::UntilStop, sweeping));
    Ok(Customers { payments, tasks })
}

/// Waits for work in progress. A mail that a server has not accepted by then is cut off, and sent
/// by the next run; an order is checked again.
pub(super) async fn stop(mut tasks: Vec<JoinHandle<()>>, patience: Duration) {
    let done = async {
        for task in &mut tasks {
            task.await.ok();
        }
    };
    if tokio::time::timeout(patience, done).await.is_err() {
        info!("a mail or a payment was interrupted");
        tasks.iter().for_each(JoinHandle::abort);
    }
}

/// The metadata documents of applications that customers connect.
pub(super) fn client_documents(config: &Config) -> ClientDocuments {
    let tls = tls::client(None).unwrap_or_else(|error| {
        // Nothing else needs an authority.
        warn!(error = &error as &dyn Error, "no application can be connected by OAuth");
        tls::without_authorities()
    });
    ClientDocuments::new(tls, &config.oauth)
}

/// The payment settings; those of the sandbox in a demo without any.
async fn payment_settings(
    config: &Config,
    mode: &RunMode,
    Place { address, secure, .. }: Place<'_>,
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
