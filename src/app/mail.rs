//! Joins mail with the accounts, whose links it brings.

use std::path::PathBuf;

use tokio::{sync::watch, task::JoinHandle};

use crate::{
    accounts::Accounts,
    clock::wall,
    config::Config,
    mail::{self, MailError, Office},
};

/// Where mail goes in a demo that was told nothing else.
pub(super) fn demo_folder(config: &Config) -> Option<PathBuf> {
    let wanted = config.plays_demo() && config.mail.goes_nowhere();
    wanted.then(|| mail::folder_beside(config.server.db.beside()))
}

/// Begins to send what waits in the outbox.
pub(super) fn start(
    accounts: &Accounts,
    config: &Config,
    public_url: &str,
    stopped: &watch::Receiver<bool>,
) -> Result<Vec<JoinHandle<()>>, MailError> {
    let office = Office {
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
    mail::start(&config.mail, office, link, stopped)
}
