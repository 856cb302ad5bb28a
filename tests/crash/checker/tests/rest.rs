//! Images over HTTP, and waiting calls of MCP.

use super::*;

#[test]
fn images_over_http_are_checked() {
    let script = Script::played();
    let history = |all: Vec<ImageRequest>| {
        let entries = all.into_iter().map(|it| Entry::ImageRequest(Box::new(it))).collect();
        History { dialect: Dialect::Rest, ..history(entries) }
    };
    finds_nothing(&script, history(vec![fetched(&script, 3), fetched(&script, 9)]));
    finds(
        &script,
        history(vec![fetched(&script, 9), fetched(&script, 3)]),
        Rule::Rest,
        "at 3 after 9",
    );
    let other_tag = ImageRequest { new_tag: Some("\"abc-3\"".into()), ..fetched(&script, 3) };
    finds(&script, history(vec![other_tag]), Rule::Rest, "the tag");
    let other_body = script.images[4].replace("\"s\":4", "\"s\":5");
    let other_body = ImageRequest { body: other_body.into(), ..fetched(&script, 4) };
    finds(&script, history(vec![other_body]), Rule::Document, "at /clock/s");
    let first = fetched(&script, 4);
    let again = ImageRequest { tag: first.new_tag.clone(), ..fetched(&script, 4) };
    finds(&script, history(vec![first.clone(), again]), Rule::Rest, "that the client has");
    let early = ImageRequest { at_least: Some(6), ..fetched(&script, 5) };
    finds(&script, history(vec![early]), Rule::Rest, "before the 6 that it was to wait for");
    let gone = ImageRequest { status: 404, ..first.clone() };
    finds(&script, history(vec![first, gone]), Rule::Rest, "404");
}

#[test]
fn outdated_responses_over_http_are_found() {
    let script = Script::played();
    let history = |request: ImageRequest| History {
        entries: vec![Entry::ImageRequest(Box::new(request))],
        ..History::new("client 1", Dialect::Rest)
    };
    // Sequence 5 was published at 6 s.
    let at = |seconds: i64, request| ImageRequest { sent_at: seconds * 1_000_000, ..request };
    finds_nothing(&script, history(at(8, fetched(&script, 5))));
    finds(&script, history(at(9, fetched(&script, 5))), Rule::Rest, "the log was at 6 before");
    let first = fetched(&script, 5);
    let confirmed = ImageRequest { tag: first.new_tag.clone(), status: 304, ..first };
    finds_nothing(&script, history(at(8, confirmed.clone())));
    finds(&script, history(at(9, confirmed.clone())), Rule::Rest, "304 for");
    let other = ImageRequest { new_tag: Some("\"abc-3\"".into()), ..confirmed };
    finds(&script, history(at(8, other)), Rule::Rest, "304 with");
    let in_vain = ImageRequest {
        at_least: Some(6),
        waited: Duration::from_secs(5),
        ..at(5, fetched(&script, 5))
    };
    finds(&script, history(in_vain.clone()), Rule::Rest, "had reached 6 in time");
    finds_nothing(&script, history(ImageRequest { at_least: Some(9), ..in_vain }));
}

/// A call that has waited from one position to another.
fn wait_call(from: u64, to: u64, eids: &[&str]) -> WaitCall {
    let position = |seq: u64| json!({CHANNEL: {"epoch": EPOCH.to_string(), "seq": seq}});
    let events = eids.iter().map(|eid| json!({"channel": CHANNEL, "eid": eid}));
    let data = json!({"events": events.collect::<Vec<_>>(), "positions": position(to)});
    WaitCall { match_id: 7, since: position(from), answer: Ok(json!({ "data": data })) }
}

#[test]
fn waiting_calls_are_checked() {
    let script = Script::played();
    let history = |call: WaitCall| History {
        entries: vec![Entry::WaitCall(Box::new(call))],
        ..History::new("client 1", Dialect::Mcp)
    };
    let change = |change: &dyn Fn(&mut Value)| {
        let mut call = wait_call(2, 9, &["g1", "c1", "v1"]);
        change(call.answer.as_mut().expect("an answer"));
        history(call)
    };
    let report = finds_nothing(&script, history(wait_call(2, 9, &["g1", "c1", "v1"])));
    assert_eq!(report.counts.mcp_answers, 1);
    finds(&script, history(wait_call(2, 9, &["g1", "v1"])), Rule::Events, "in the log");
    finds(&script, history(wait_call(2, 9, &["g1", "v1", "c1"])), Rule::Events, "in the log");
    finds(&script, history(wait_call(3, 9, &["g1", "c1", "v1"])), Rule::Events, "in the log");
    finds(&script, history(wait_call(9, 2, &[])), Rule::Back, "2 after 9");
    finds(&script, history(wait_call(2, 12, &["g1", "c1", "v1"])), Rule::NotInLog, "ends at 10");
    finds(
        &script,
        change(&|answer| answer["data"]["positions"] = json!({})),
        Rule::Incomplete,
        "no position",
    );
    finds(
        &script,
        change(&|answer| answer["data"]["missed"] = json!({CHANNEL: "window"})),
        Rule::Resync,
        "missed",
    );
    let (log, _) = script.log();
    let other = change(&|answer| {
        answer["data"]["positions"][CHANNEL]["epoch"] = LATER_EPOCH.to_string().into();
    });
    let report = check(&[other], &log, 1);
    assert!(report.rules().contains(&Rule::NotInLog), "{report}");
    let failed =
        |error: &str| history(WaitCall { answer: Err(error.to_owned()), ..wait_call(2, 9, &[]) });
    finds_nothing(&script, failed("unavailable: call again"));
    finds(&script, failed("not_found: no match 7"), Rule::Unexpected, "not_found");
    finds(&script, failed("not_live: no match 7"), Rule::Unexpected, "not_live");
    finds(&script, failed("500: broken"), Rule::Unexpected, "500");
}
