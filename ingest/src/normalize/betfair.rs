//! Betfair Exchange Stream messages to odds.

use serde::Deserialize;

use crate::{
    error::{DecodeError, RefusalKind},
    event::{Batch, Micros},
};

#[derive(Debug, Default)]
pub struct Normalizer {}

/// What one message says.
#[derive(Debug)]
pub struct Normalized {
    pub pt: Option<Micros>,
    pub batch: Batch,
    pub notices: Vec<DecodeError>,
}

impl Normalizer {
    /// # Errors
    ///
    /// If the line is not JSON.
    pub fn line(&mut self, line: &[u8]) -> Result<Option<Normalized>, DecodeError> {
        #[derive(Deserialize)]
        struct Message {
            pt: Option<Micros>,
        }
        let message: Message = serde_json::from_slice(line)
            .map_err(|error| DecodeError::new(RefusalKind::Syntax, error.to_string()))?;
        let pt = message.pt.map(|ms| ms.saturating_mul(1000));
        Ok(Some(Normalized { pt, batch: Batch::default(), notices: Vec::new() }))
    }
}
