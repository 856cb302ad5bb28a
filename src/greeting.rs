//! What the program says first on its standard output: where it listens, and what a guest may paste.

use std::{
    io::{self, Write},
    net::SocketAddr,
    path::Path,
};

use tracing::{info, warn};

use crate::{
    app::RunMode,
    config::Config,
    load_source::{self, Load},
};

/// What a person sees first: where to look and what to paste. `secure`: the `s` of a scheme with TLS.
/// `mails`: the folder into which the demo's mails go.
pub(crate) fn greet(
    out: &mut impl Write,
    address: SocketAddr,
    secure: &str,
    play: &RunMode,
    demo_key: Option<&str>,
    mails: Option<&Path>,
) -> io::Result<()> {
    writeln!(out, "listening on http{secure}://{address}")?;
    match (play, demo_key) {
        (RunMode::Steady(load), Some(key)) => greet_loader(out, *load, key)?,
        (_, Some(key)) => greet_guest(out, address, secure, key)?,
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

/// What an operator wants to know of a start: what runs, where it keeps its data, and what is missing.
pub(crate) fn log(config: &Config, play: &RunMode) {
    let (database, sources) = (&config.server.db, config.sources.len());
    let (card, paypal) = (config.payments.offers_stripe(), config.payments.offers_paypal());
    info!(version = env!("CARGO_PKG_VERSION"), %database, sources, card, paypal, "the hub runs");
    if !matches!(play, RunMode::Nothing) {
        return;
    }
    if sources == 0 {
        warn!("no source is configured: only what feeds push to /ingest/v1/ is shown");
    }
    if !card && !paypal {
        warn!("no payment provider is configured: customers cannot buy add-ons");
    }
    if config.server.public_url.is_empty() {
        warn!(
            "server.public_url is not set: links in mails name the address that the hub listens on"
        );
    }
}

fn greet_loader(out: &mut impl Write, load: Load, key: &str) -> io::Result<()> {
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

fn greet_guest(
    out: &mut impl Write,
    address: SocketAddr,
    secure: &str,
    key: &str,
) -> io::Result<()> {
    writeln!(
        out,
        r#"
Matchwire plays its demo: seven sports and their odds, simulated, without end.

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
