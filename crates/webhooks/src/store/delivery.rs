//! Deliveries, as they are stored.

use base::Micros;
use sqlx::{FromRow, Row, any::AnyRow};

use crate::{Event, Webhook, event, signing::message_id};

/// A delivery, for its owner and for sending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub id: i64,
    /// The header `webhook-id`.
    pub message_id: String,
    /// An [`EventKind`](crate::EventKind), or `test`.
    pub kind: String,
    pub channel: String,
    pub eid: String,
    pub body: String,
    pub created: Micros,
    pub attempts: u32,
    /// When it becomes due.
    pub next: Micros,
    /// The HTTP status of the last response.
    pub status: Option<u16>,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// When it ended.
    pub done: Option<Micros>,
    /// `delivered`, `failed` or `dropped`.
    pub outcome: Option<String>,
}

/// A delivery to be stored.
#[derive(Debug)]
pub(crate) struct NewDelivery {
    pub(crate) webhook: i64,
    pub(crate) message_id: String,
    pub(super) kind: &'static str,
    pub(super) channel: String,
    pub(super) eid: String,
    pub(super) body: String,
    pub(super) created: Micros,
}

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Delivered,
    Failed,
    Dropped,
}

impl Outcome {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Dropped => "dropped",
        }
    }
}

impl NewDelivery {
    pub(crate) fn new(webhook: &Webhook, event: &Event, body: &str, now: Micros) -> Self {
        let channel = event.channel.as_str();
        Self {
            webhook: webhook.id,
            message_id: message_id(webhook, channel, Some(event.epoch), &event.eid),
            kind: event.kind.as_str(),
            channel: channel.to_owned(),
            eid: event.eid.clone(),
            body: body.to_owned(),
            created: now,
        }
    }

    pub(crate) fn test(webhook: &Webhook, now: Micros) -> Self {
        let eid = format!("test-{now}");
        Self {
            webhook: webhook.id,
            message_id: message_id(webhook, "test", None, &eid),
            kind: "test",
            channel: "test".to_owned(),
            body: event::test_body(&eid, now),
            eid,
            created: now,
        }
    }
}

impl FromRow<'_, AnyRow> for Delivery {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        let status: Option<i64> = row.try_get("status")?;
        Ok(Self {
            id: row.try_get("id")?,
            message_id: row.try_get("message_id")?,
            kind: row.try_get("kind")?,
            channel: row.try_get("channel")?,
            eid: row.try_get("eid")?,
            body: row.try_get("body")?,
            created: row.try_get("created_us")?,
            attempts: u32::try_from(row.try_get::<i64, _>("attempts")?).unwrap_or(u32::MAX),
            next: row.try_get("next_us")?,
            status: status.and_then(|status| status.try_into().ok()),
            error: row.try_get("error")?,
            done: row.try_get("done_us")?,
            outcome: row.try_get("outcome")?,
        })
    }
}
