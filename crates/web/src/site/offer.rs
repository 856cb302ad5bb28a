//! The state and price of an add-on for one account, as shown on the dashboard, among the add-ons and on the
//! price list.

use std::sync::LazyLock;

use super::moment::{Moment, left};
use crate::products::{Catalogue, Product};
use accounts::{Addon, Addons, Micros};

/// An add-on for one account.
#[derive(Debug)]
pub(super) struct AddonStatus {
    pub(super) slug: &'static str,
    pub(super) title: &'static str,
    /// `active`, `expired` or `inactive`, and the class of its chip.
    pub(super) state: &'static str,
    pub(super) tone: &'static str,
    pub(super) expiry: Option<Moment>,
    pub(super) left: Option<String>,
    /// The monthly price for this account.
    pub(super) price: String,
    pub(super) is_founder_price: bool,
}

/// Days before the end from which the chip warns.
const WARNING_DAYS: Micros = 7;
const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;

impl AddonStatus {
    pub(super) fn new(
        catalogue: &Catalogue,
        addon: Addon,
        founder: bool,
        addons: &Addons,
        now: Micros,
    ) -> Self {
        let expiry = addons.expiry(addon);
        let (state, tone) = match expiry {
            None => ("inactive", ""),
            Some(expiry) if expiry <= now => ("expired", "bad"),
            Some(expiry) if expiry - now < WARNING_DAYS * DAY_US => ("active", "warn"),
            Some(_) => ("active", "live"),
        };
        Self {
            slug: addon.as_str(),
            title: title(addon),
            state,
            tone,
            expiry: expiry.map(Moment::day),
            left: expiry.and_then(|expiry| left(expiry, now)),
            price: catalogue.price(addon, founder).to_string(),
            is_founder_price: founder && catalogue.has_founder_rate(addon),
        }
    }
}

/// The name of the add-on.
pub(super) fn title(addon: Addon) -> &'static str {
    match addon {
        Addon::Websocket => "WebSocket",
        Addon::Sports => "Sports",
        Addon::Odds => "Odds API",
    }
}

/// What it unlocks.
pub(super) fn unlocks(addon: Addon) -> &'static str {
    static SPORTS: LazyLock<String> =
        LazyLock::new(|| format!("REST APIs for {}.", Product::sports_text()));
    match addon {
        Addon::Websocket => "Live channels for football and tennis over WebSockets.",
        Addon::Sports => SPORTS.as_str(),
        Addon::Odds => "Odds from many bookmakers, at /odds/api/.",
    }
}
