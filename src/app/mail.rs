//! Connects mail with the accounts, whose links it delivers.

use std::path::PathBuf;

use tokio::{sync::watch, task::JoinHandle};

use crate::config::Config;
use accounts::{
    Accounts,
    mail::{self, MailContext, MailError},
};
use base::clock::wall;

/// The folder for mail in a demo whose settings name no destination.
pub(super) fn demo_folder(config: &Config) -> Option<PathBuf> {
    let wanted = config.plays_demo() && config.mail.has_no_transport();
    wanted.then(|| mail::demo_folder_for(config.server.db.beside()))
}

/// Starts sending the mails of the outbox.
pub(super) fn start(
    accounts: &Accounts,
    config: &Config,
    public_url: &str,
    stopped: &watch::Receiver<bool>,
) -> Result<Vec<JoinHandle<()>>, MailError> {
    let context = MailContext {
        database: accounts.database().clone(),
        site: public_url.to_owned(),
        demo_folder: demo_folder(config),
        clock: wall,
    };
    let accounts = accounts.clone();
    let link = move |link| {
        let accounts = accounts.clone();
        async move { accounts.link_text(link).await }
    };
    mail::start(&config.mail, context, link, stopped)
}
