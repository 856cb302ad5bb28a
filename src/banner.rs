//! The output at the start: where the hub listens, and commands to try the demo.

use std::{
    io::{self, Write},
    net::SocketAddr,
    path::Path,
};

use facts::event::Sport;
use tracing::{info, warn};

use crate::{app::RunMode, config::Config};
use hub::load_source::{self, Load};

/// Prints where the hub listens and what to paste. `secure`: the `s` of a scheme with TLS. `mails`:
/// the folder of the demo's mails.
pub(crate) fn print(
    out: &mut impl Write,
    address: SocketAddr,
    secure: &str,
    mode: &RunMode,
    demo_key: Option<&str>,
    mails: Option<&Path>,
) -> io::Result<()> {
    writeln!(out, "listening on http{secure}://{address}")?;
    match (mode, demo_key) {
        (RunMode::Load(load), Some(key)) => print_steady_load(out, *load, key)?,
        (_, Some(key)) => print_demo(out, address, secure, key)?,
        (_, None) => {}
    }
    if let Some(mails) = mails {
        writeln!(
            out,
            "Mails to customers go to {}/; their links are printed here.",
            mails.display()
        )?;
    }
    out.flush()
}

/// Logs a start for the operator: the version, where data is stored, and what is not configured.
pub(crate) fn log(config: &Config, mode: &RunMode) {
    let (database, sources) = (&config.server.db, config.sources.len());
    let (card, paypal) = (config.payments.offers_stripe(), config.payments.offers_paypal());
    let version = env!("CARGO_PKG_VERSION");
    info!(version, %database, sources, card, paypal, "the hub is running");
    if !matches!(mode, RunMode::Nothing) {
        return;
    }
    if sources == 0 {
        warn!("no source is configured: the hub serves only data pushed to /ingest/v1/");
    }
    if !card && !paypal {
        warn!("no payment provider is configured: customers cannot buy add-ons");
    }
    if config.server.public_url.is_empty() {
        warn!(
            "server.public_url is not set: links in mails use the address that the hub listens on"
        );
    }
}

fn print_steady_load(out: &mut impl Write, load: Load, key: &str) -> io::Result<()> {
    let Load { rate, channels } = load;
    writeln!(
        out,
        r#"
Matchwire plays a steady load: {rate} changes a second in all, on {channels} channels in turn.

  channels  {}
  demo key  {key}
"#,
        load_source::CHANNELS
    )
}

fn print_demo(
    out: &mut impl Write,
    address: SocketAddr,
    secure: &str,
    key: &str,
) -> io::Result<()> {
    let count = Sport::ALL.into_iter().filter(|sport| sport.profile().is_product).count();
    let sports =
        ["seven", "eight", "nine", "ten"].get(count.saturating_sub(7)).copied().unwrap_or("many");
    writeln!(
        out,
        r#"
Matchwire plays its demo: {sports} sports and their odds, simulated, without end.

  page      http{secure}://{address}/
  demo key  {key}

Follow it with websocat (then type a command, such as the one that is echoed here):

  echo '{{"op":"subscribe","id":1,"ch":"football"}}' | websocat -n 'ws{secure}://{address}/stream/v1?token={key}'

or from the console of a browser:

  const ws = new WebSocket("ws{secure}://{address}/stream/v1", ["matchwire.v1", "token", "{key}"]);
  ws.onmessage = (m) => console.log(JSON.parse(m.data));
  ws.onopen = () => ws.send(JSON.stringify({{op: "subscribe", id: 1, ch: "football"}}));
"#
    )
}
