//! Starts the services for customers: mail and payments.

use std::{error::Error, path::PathBuf};

use tokio::{task::JoinHandle, time::timeout};
use tracing::{info, warn};

use super::{
    AppError, StartContext,
    listening::HubAddress,
    stopping::{RunningPart, StopDeadline},
    stores::Stores,
};
use crate::config::Config;
use accounts::{
    Accounts,
    clients::ClientDocuments,
    mail::{self, MailContext, MailError},
    payments::Payments,
};
use base::{
    clock::wall,
    supervisor::{self, Lifetime},
    tls,
};

/// The running services.
pub(super) struct RunningCustomers {
    pub payments: Payments,
    /// The tasks to wait for at the stop.
    tasks: Vec<JoinHandle<()>>,
}

impl RunningCustomers {
    /// Starts the services. In a demo without mail settings, mails go into a folder next to the database and their
    /// links are printed; without payment settings, payments go to the sandbox.
    ///
    /// # Errors
    ///
    /// If a secret or a certificate of the settings cannot be loaded, or if the sandbox does not start.
    pub(super) async fn start(
        context: StartContext<'_>,
        Stores { accounts, prices, .. }: &Stores,
        address: &HubAddress,
    ) -> Result<Self, AppError> {
        #[cfg(feature = "sandbox")]
        let settings = payment_settings(context, address).await?;
        #[cfg(not(feature = "sandbox"))]
        let settings = context.config.payments.clone();
        let payments = Payments::new(accounts, prices.clone(), &address.public_url, &settings)?;
        let mut tasks = start_mail(context, accounts, &address.public_url)?;
        let sweeping = payments.clone().run(context.stopped.clone());
        tasks.push(supervisor::spawn("payments", Lifetime::UntilStop, sweeping));
        Ok(Self { payments, tasks })
    }
}

impl RunningPart for RunningCustomers {
    /// Waits for work in progress. A mail that a server has not accepted in time is cut off, and sent by the next run;
    /// an order is checked again.
    async fn stop(mut self, deadline: StopDeadline) {
        let done = async {
            for task in &mut self.tasks {
                task.await.ok();
            }
        };
        if timeout(deadline.patience(), done).await.is_err() {
            info!("a mail or a payment was interrupted");
            self.tasks.iter().for_each(JoinHandle::abort);
        }
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
#[cfg(feature = "sandbox")]
async fn payment_settings(
    StartContext { config, mode, stopped, .. }: StartContext<'_>,
    HubAddress { address, secure, .. }: &HubAddress,
) -> Result<accounts::config::PaymentsConfig, AppError> {
    let settings = &config.payments;
    let has_rails = settings.offers_stripe() || settings.offers_paypal();
    if has_rails || !settings.sandbox || !matches!(mode, super::RunMode::Demo) {
        return Ok(settings.clone());
    }
    let certificate = config.tls.certificate.as_path();
    let certificate = Some(certificate).filter(|path| !path.as_os_str().is_empty());
    let hub_url = format!("http{secure}://{address}");
    let sandbox = sandbox::Sandbox::start(*address, hub_url, certificate, stopped.clone()).await?;
    let access = sandbox.access();
    Ok(accounts::config::PaymentsConfig {
        stripe_url: access.url.clone(),
        stripe_key: (&*access.stripe_key).into(),
        stripe_webhook_secret: (&*access.stripe_signing).into(),
        paypal_url: access.url.clone(),
        paypal_client_id: access.paypal_client.clone(),
        paypal_client_secret: (&*access.paypal_secret).into(),
        paypal_webhook_id: access.paypal_webhook.clone(),
        ..settings.clone()
    })
}

/// The folder for mail in a demo whose settings name no destination.
pub(super) fn mail_folder(config: &Config) -> Option<PathBuf> {
    let wanted = config.plays_demo() && config.mail.has_no_transport();
    wanted.then(|| mail::demo_folder_for(config.server.db.beside()))
}

/// Starts sending the mails of the outbox.
fn start_mail(
    context: StartContext<'_>,
    accounts: &Accounts,
    public_url: &str,
) -> Result<Vec<JoinHandle<()>>, MailError> {
    let mail_context = MailContext {
        database: accounts.database().clone(),
        site: public_url.to_owned(),
        demo_folder: mail_folder(context.config),
        clock: wall,
    };
    let accounts = accounts.clone();
    let link = move |link| {
        let accounts = accounts.clone();
        async move { accounts.link_text(link).await }
    };
    mail::start(&context.config.mail, mail_context, link, context.stopped)
}
