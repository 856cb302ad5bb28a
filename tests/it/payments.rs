//! Webhooks of payment providers on the hub's endpoints.

use crate::support::Hub;

#[tokio::test]
async fn unsigned_webhook_is_refused() {
    let hub = Hub::demo();
    for (path, body) in [
        (
            "/webhooks/stripe/",
            &br#"{"id":"evt_1","type":"charge.refunded","data":{"object":{}}}"#[..],
        ),
        ("/webhooks/stripe/", b""),
        (
            "/webhooks/paypal/",
            br#"{"id":"WH-1","event_type":"PAYMENT.CAPTURE.COMPLETED","resource":{"id":"1"}}"#,
        ),
        ("/webhooks/paypal/", b"\xff\x00"),
    ] {
        let forged = [("stripe-signature", "t=1,v1=00")];
        let answer = hub.post(path, &forged, body).await;
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
        assert_eq!(answer.json()["status"], 400);
    }
    assert_eq!(hub.get("/webhooks/stripe/").await.status, 405);
    assert!(hub.metric(r#"matchwire_webhooks_total{rail="card",outcome="refused"}"#).await >= 2.0);
}

#[tokio::test]
async fn webhook_that_is_too_long_is_refused() {
    let hub = Hub::demo();
    let body = vec![b' '; 300 * 1024];
    assert_eq!(hub.post("/webhooks/stripe/", &[], &body).await.status, 400);
}

#[tokio::test]
async fn payment_method_without_keys_is_absent() {
    let hub = Hub::quiet();
    for path in ["/webhooks/stripe/", "/webhooks/paypal/"] {
        assert_eq!(hub.post(path, &[], b"{}").await.status, 404, "{path}");
    }
}
