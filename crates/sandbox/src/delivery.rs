//! Delivers the sandbox's webhooks to the hub, with retries as real providers do.

use std::{sync::Arc, time::Duration};

use reqwest::{Client, redirect};
use rustls::ClientConfig;
use tokio::{
    sync::{mpsc, watch},
    time::sleep,
};
use tracing::warn;

use crate::{Delivery, Provider};

/// Attempts before a webhook is given up, and the first delay, doubled each time: a minute in all.
const ATTEMPTS: u32 = 7;
const WAIT: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn run(
    hub_url: String,
    tls: Arc<ClientConfig>,
    mut waiting: mpsc::Receiver<Delivery>,
    mut stopped: watch::Receiver<bool>,
) {
    let client = Client::builder()
        .tls_backend_preconfigured(tls.as_ref().clone())
        .redirect(redirect::Policy::none())
        .no_proxy()
        .timeout(TIMEOUT)
        .build()
        .expect("the TLS settings are of the rustls that the client is built with");
    let sending = async {
        while let Some(delivery) = waiting.recv().await {
            send(&client, &hub_url, delivery).await;
        }
    };
    tokio::select! {
        _ = stopped.wait_for(|stop| *stop) => {}
        () = sending => {}
    }
}

async fn send(client: &Client, hub_url: &str, delivery: Delivery) {
    let Delivery { provider, headers, body } = delivery;
    let provider = match provider {
        Provider::Stripe => "stripe",
        Provider::Paypal => "paypal",
    };
    let mut wait = WAIT;
    for _ in 0..ATTEMPTS {
        let request = client.post(format!("{hub_url}/webhooks/{provider}/")).body(body.clone());
        match request.headers(headers.clone()).send().await {
            Ok(answer) if answer.status().is_success() => return,
            Ok(answer) => {
                warn!(provider, status = answer.status().as_u16(), "a webhook was refused")
            }
            Err(error) => {
                warn!(provider, error = %error.without_url(), "a webhook was not delivered")
            }
        }
        sleep(wait).await;
        wait *= 2;
    }
}
