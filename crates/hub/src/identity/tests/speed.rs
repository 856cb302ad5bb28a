//! The time of a resolution with the maximum number of matches of a hub.

use tokio::time::Instant;

use super::*;

/// Names that are too different from each other to be doubtful.
fn name(number: u64) -> String {
    let digest = Id::derive("team", "name", &number.to_string()).0;
    let letters = (0..10).map(|at| char::from(b'a' + (digest >> (4 * at) & 15) as u8));
    letters.collect::<String>() + " rovers"
}

#[test]
#[expect(clippy::print_stderr, reason = "prints the requested figures")]
fn twenty_thousand_matches_are_resolved_fast() {
    const MATCHES: u64 = 10_000;
    let fixtures = |provider: &str| {
        let provider = provider.to_owned();
        (0..MATCHES).map(move |number| {
            let sides = format!("{} v {} FC", name(2 * number), name(2 * number + 1));
            let start = Some(hour(number as i64 % 72));
            Fixture { start, ..fixture(&provider, &number.to_string(), &sides, "") }
        })
    };
    let mut identity = Identity::default();
    for provider in ["a", "b"] {
        let fixtures = fixtures(provider).collect::<Vec<_>>();
        let begun = Instant::now();
        for fixture in &fixtures {
            let number = &fixture.provider_key;
            assert_eq!(identity.football(fixture).id, local_id("a", number));
        }
        let each = begun.elapsed() / MATCHES as u32;
        eprintln!("{provider}: {each:?} for each match, {} are here", identity.matches.len());
        assert!(each.as_millis() < 5, "{each:?}");
    }
    assert_eq!(identity.take_decisions().len() as u64, MATCHES);
}
