use proptest::prelude::*;

use super::*;

fn message(line: &str) -> MarketMessage<'_> {
    let message = decode(line.as_bytes()).expect("the line is usable");
    message.expect("it speaks of markets")
}

fn check_refused(line: &str, kind: RefusalKind, reason: &str) {
    let error = decode(line.as_bytes()).expect_err("the line is of no use");
    assert_eq!((error.kind, error.reason.as_str()), (kind, reason), "{line}");
}

/// What is refused of a line that is used otherwise.
fn check_noted(line: &str, reasons: &[&str]) {
    let refused = message(line).refused;
    let found: Vec<_> = refused.iter().map(|error| error.reason.as_str()).collect();
    assert_eq!(found, reasons, "{line}");
    assert!(refused.iter().all(|error| error.kind == RefusalKind::Value), "{line}");
}

#[test]
fn fields_are_read_in_any_order() {
    let line = r#"{"mc":[{"rc":[{"atb":[[1.50,20],[2,0]],"ltp":1.5,"hc":-0.50,"id":7,"tv":1e3}],
        "tv":99.0,"id":"1.2","con":true,"img":true}],"pt":5,"clk":"b","initialClk":"a","id":3,
        "heartbeatMs":5000,"conflateMs":0,"segmentType":"SEG_END","status":503,"ct":"SUB_IMAGE",
        "_stream_id":{"a":[1]},"op":"mcm"}"#;
    let message = message(line);
    assert_eq!((message.id, message.pt, message.ct), (Some(3), Some(5), ChangeType::SubImage));
    assert_eq!(message.initial_clk.as_deref(), Some("a"));
    assert_eq!(message.clk.as_deref(), Some("b"));
    assert_eq!((message.heartbeat_ms, message.conflate_ms), (Some(5000), Some(0)));
    assert_eq!((message.segment, message.status), (Some(Segment::End), Some(503)));
    let market = &message.mc[0];
    assert_eq!((&*market.id, market.img, market.con), ("1.2", true, true));
    assert_eq!(market.tv, Some(Decimal::from(99)));
    let runner = &market.rc[0];
    assert_eq!(runner.key, RunnerKey { id: 7, hc: Decimal::new(-5, 1) });
    assert_eq!((runner.ltp, runner.tv), (Some(Decimal::new(15, 1)), Some(1000.into())));
    let rung = |price, size: i64| PriceSize { price, size: size.into() };
    assert_eq!(runner.atb, [rung(Decimal::new(15, 1), 20), rung(Decimal::TWO, 0)]);
    assert_eq!(message.price_changes, 3);
}

/// Some programs that record the stream write numbers as texts, or ids as numbers.
#[test]
fn numbers_and_texts_may_change_places() {
    let plain = r#"{"op":"mcm","id":3,"pt":5,"mc":[{"id":"1.25","tv":9.5,"marketDefinition":{"eventId":"77",
        "version":8,"betDelay":1,"runners":[{"id":7,"hc":-0.5,"bsp":2.5,"sortPriority":1}]},
        "rc":[{"id":7,"hc":-0.5,"ltp":1.5,"spn":"NaN","atb":[[1.5,20]],"batb":[[0,1.5,20]]}]}]}"#;
    let shown = |line: &str| format!("{:?}", message(line));
    let mut line = plain.to_owned();
    for (number, text) in [
        ("\"id\":3", "\"id\":\"3\""),
        ("\"pt\":5", "\"pt\":\"5\""),
        ("\"id\":\"1.25\"", "\"id\":1.25"),
        ("\"eventId\":\"77\"", "\"eventId\":77"),
        ("\"tv\":9.5", "\"tv\":\"9.5\""),
        ("\"version\":8", "\"version\":\"8\""),
        ("\"bsp\":2.5", "\"bsp\":\"2.5\""),
        ("\"id\":7,\"hc\":-0.5,\"bsp\"", "\"id\":\"7\",\"hc\":\"-0.5\",\"bsp\""),
        ("{\"id\":7,\"hc\":-0.5,\"ltp\":1.5", "{\"id\":\"7\",\"hc\":\"-0.5\",\"ltp\":\"1.50\""),
        ("[[1.5,20]]", "[[\"1.5\",\"20\"]]"),
        ("[[0,1.5,20]]", "[[\"0\",1.5,\"20\"]]"),
    ] {
        assert!(line.contains(number), "{number} in {line}");
        line = line.replacen(number, text, 1);
        assert_eq!(shown(&line), shown(plain), "{text}");
    }
    check_noted(
        &line.replacen("\"7\"", "\"0x7\"", 1),
        &["runner id is of another type", "a defined runner has no id"],
    );
    check_noted(&line.replacen("\"NaN\"", "\"soon\"", 1), &["spn is of another type"]);
    // Not the runner without a handicap.
    let unknown = line.replace("\"-0.5\"", "\"half\"");
    check_noted(&unknown, &["hc is of another type", "hc is of another type"]);
    assert!(message(&unknown).mc[0].rc.is_empty());
}

#[test]
fn absent_fields_and_nulls_are_ignored() {
    let line = r#"{"op":"mcm","pt":null,"mc":[{"id":"1.2","rc":[{"id":7,"ltp":null,"atb":null}]},
        {"id":"1.3","marketDefinition":null,"rc":null,"img":null}]}"#;
    let message = message(line);
    assert_eq!((message.pt, message.price_changes, message.refused.len()), (None, 0, 0));
    assert_eq!(message.mc.len(), 2);
    assert_eq!(message.mc[0].rc[0].ltp, None);
}

#[test]
fn every_ladder_and_last_price_counts() {
    let line = r#"{"op":"mcm","mc":[{"id":"1.2","rc":[{"id":7,"atb":[[2,1]],"atl":[[3,1],[4,0]],
        "batb":[[0,2,1]],"batl":[[0,3,1]],"bdatb":[[0,2,1]],"bdatl":[[1,0,0]],"trd":[[2,5]],
        "spb":[[1.01,2]],"spl":[],"spn":"NaN","spf":2.5,"ltp":2,"tv":5}]}]}"#;
    let message = message(line);
    assert_eq!((message.price_changes, message.refused.len()), (8, 0));
    assert_eq!(message.mc[0].rc[0].bdatl[0].level, 1);
}

#[test]
fn other_messages_are_skipped() {
    for line in [
        "",
        " \r\n",
        r#"{"op":"connection","connectionId":"002-2"}"#,
        r#"{"op":"status","id":1,"statusCode":"SUCCESS","connectionClosed":false}"#,
        r#"{"op":"ocm","id":1,"clk":"a","pt":1,"oc":[{"id":"1.2","orc":[]}]}"#,
    ] {
        assert!(decode(line.as_bytes()).expect("it is known").is_none(), "{line}");
    }
}

#[test]
fn invalid_messages_are_refused() {
    check_refused("{}", RefusalKind::Value, "op is missing");
    check_refused(r#"{"op":"xyz"}"#, RefusalKind::Value, "op xyz is not known");
    check_refused(r#"{"op":"mcm","ct":"X"}"#, RefusalKind::Value, "ct X is not known");
    check_refused("[]", RefusalKind::Syntax, "no '{' at byte 0");
    check_refused(
        r#"{"op":"mcm""#,
        RefusalKind::Syntax,
        "the text ends at byte 11: neither a comma nor the closing bracket",
    );
    check_refused(
        r#"{"op":"mcm"} x"#,
        RefusalKind::Syntax,
        "something after the message at byte 13",
    );
    let error = decode(b"{\"op\":\"\xff\"}").expect_err("it is not UTF-8");
    assert_eq!(error.kind, RefusalKind::Syntax);
}

#[test]
fn unusable_values_are_left_out() {
    let long = "1".repeat(60);
    check_noted(
        &format!(
            r#"{{"op":"mcm","mc":[{{"id":"1.2","rc":[{{"id":7,"ltp":1e400,"tv":"NaN",
            "atb":[[{long},2],[1,2,3],[-1,2],[1]],"batb":[[0.5,2,2],[100,2,2]]}}]}}]}}"#
        ),
        &[
            "ltp 1e400 does not fit a decimal",
            "tv is of another type",
            &format!("[price, size] {}... does not fit a decimal", &long[..40]),
            "[price, size] with 3 numbers, or negative ones",
            "[price, size] with 2 numbers, or negative ones",
            "[price, size] with 1 numbers, or negative ones",
            "a level is not a small whole number",
            "a level is not a small whole number",
        ],
    );
    check_noted(
        r#"{"op":"mcm","pt":"x","mc":[{"rc":[]},{"id":"1.2","rc":[{"ltp":2},{"id":-7}],"tv":{}}]}"#,
        &[
            "pt is of another type",
            "a market change has no id",
            "a runner change has no id",
            "runner id -7 is out of its range",
            "a runner change has no id",
            "market tv is of another type",
        ],
    );
}

#[test]
fn refusals_of_one_message_are_limited() {
    let prices = vec!["[1e99,1]"; 1000].join(",");
    let line =
        format!(r#"{{"op":"mcm","mc":[{{"id":"1.2","rc":[{{"id":7,"atb":[{prices}]}}]}}]}}"#);
    let message = message(&line);
    assert_eq!((message.refused.len(), message.price_changes), (REFUSED_MAX, 1000));
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in any::<Vec<u8>>()) {
        let _message = decode(&bytes);
    }

    #[test]
    fn numbers_keep_their_text(units in 0..u64::MAX, scale in 0_u32..19) {
        let price = Decimal::from_i128_with_scale(units.into(), scale).normalize();
        let runner = format!(r#"{{"id":7,"ltp":{price}}}"#);
        let line = format!(r#"{{"op":"mcm","mc":[{{"id":"1.2","rc":[{runner}]}}]}}"#);
        let read = message(&line).mc[0].rc[0].ltp.map(|ltp| ltp.to_string());
        prop_assert_eq!(read, Some(price.to_string()));
    }
}
