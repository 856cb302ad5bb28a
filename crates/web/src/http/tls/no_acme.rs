//! In place of `acme` in a program without the feature `acme`: no certificate is obtained.

use std::{convert::Infallible, path::PathBuf, sync::Arc};

use base::feature::MissingFeature;
use tokio::sync::watch;

use super::CurrentCertificate;
use crate::config::AcmeConfig;

/// Why no certificate is obtained.
pub type AcmeError = MissingFeature;

/// Never made.
#[derive(Debug)]
pub struct AcmeClient(Infallible);

impl AcmeClient {
    /// Refuses the settings.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn new(_: &AcmeConfig, _: PathBuf) -> Result<Self, AcmeError> {
        Err(MissingFeature { needed_by: "acme.domains", feature: "acme" })
    }

    /// Makes no folder.
    ///
    /// # Errors
    ///
    /// Never.
    pub fn make_folder(&self) -> Result<(), AcmeError> {
        match self.0 {}
    }

    #[must_use]
    pub fn certificate(&self) -> Arc<CurrentCertificate> {
        match self.0 {}
    }

    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub async fn keep(self, _: watch::Receiver<bool>) {
        match self.0 {}
    }
}
