//! Each kind of caller with each resource: one letter for each answer.

use facts::event::Sport;

use super::*;
use crate::{
    accounts::{AccountId, Addons, KeyId, Scopes, cache::Cache, caller::Access},
    config::{LimitsConfig, ProductsConfig},
    limits::{Limits, LimitsKey},
};

const NOW: Micros = 1_788_280_000_000_000;

const ALL: &str = "football sports odds stream account";

/// The resources, in the order of the letters.
const RESOURCES: [Resource; 15] = [
    Resource::Product(Product::Football),
    Resource::Product(Product::Signals),
    Resource::Product(Product::TENNIS),
    Resource::Product(Product::Sport(Sport::Darts)),
    Resource::Product(Product::Odds),
    Resource::Product(Product::Websocket),
    Resource::Account,
    Resource::AccountTool,
    Resource::WebhookTerms,
    Resource::Ticket,
    Resource::Socket,
    Resource::Content(Addon::Sports),
    Resource::Content(Addon::Odds),
    Resource::Content(Addon::Websocket),
    Resource::Bookmakers,
];

/// What holds for a row besides scopes and add-ons.
#[derive(Clone, Copy, PartialEq)]
enum Case {
    Usual,
    OddsFree,
    Taster,
    Ended,
    Expired,
    App(Product),
}

/// `.` allowed; missing: `f`ootball, `s`ports, `o`dds, s`t`ream, `a`ccount as scopes, `S`ports, `O`dds, `W`ebSocket as add-ons;
/// `B` no prices by bookmaker, `X` the key has ended.
const TABLE: [(&str, &str, Case, &str); 21] = [
    // The scopes, the add-ons, what else holds, and the answers: products; account; sockets; content of add-ons.
    (ALL, "", Case::Usual, "..SSOW ... .W SOWB"),
    (ALL, "", Case::Taster, "...SOW ... .W SOWB"),
    (ALL, "", Case::OddsFree, "..SS.W ... .W S.W."),
    (ALL, "WSO", Case::Expired, "..SSOW ... .W SOWB"),
    (ALL, "W", Case::Usual, "..SSO. ... .. SO.B"),
    (ALL, "S", Case::Usual, "....OW ... .W .OWB"),
    (ALL, "O", Case::Usual, "..SS.W ... .W S.W."),
    (ALL, "WSO", Case::Usual, "...... ... .. ...."),
    ("football", "WSO", Case::Usual, "..ssot aas tt so.B"),
    ("sports", "WSO", Case::Usual, "ff..ot aaf tt .o.B"),
    ("odds", "WSO", Case::Usual, "ffss.t aaf tt s..."),
    ("stream", "WSO", Case::Usual, "ffsso. aaf .. so.B"),
    ("account", "WSO", Case::Usual, "ffssot ..f tt so.B"),
    ("stream", "WSO", Case::Ended, "ffsso. aaf .X so.B"),
    ("stream", "", Case::OddsFree, "ffssoW aaf .W soWB"),
    ("football stream", "", Case::Usual, "..ssoW aas .W soWB"),
    ("football sports odds stream", "WSO", Case::Usual, "...... aaa .. ...."),
    ("sports", "", Case::Taster, "ff.Sot aaf tt SoWB"),
    ("football odds", "WSO", Case::App(Product::Football), "..ss.t a.s tt s..."),
    ("football odds", "", Case::App(Product::Football), "..ssOt a.s tt sOWB"),
    ("sports", "S", Case::App(Product::TENNIS), "ff..ot a.f tt .oWB"),
];

fn caller(scopes: &str, addons: &str, case: Case) -> Caller {
    let mut held = Addons::default();
    for (letter, addon) in [("W", Addon::Websocket), ("S", Addon::Sports), ("O", Addon::Odds)] {
        if addons.contains(letter) {
            held.set(addon, NOW + Micros::from(case != Case::Expired));
        }
    }
    let audience = if let Case::App(product) = case { Some(product) } else { None };
    let ends = (case == Case::Ended).then_some(NOW);
    Caller {
        account: AccountId(1),
        key: KeyId(1),
        addons: held,
        zone: None,
        access: Access { scopes: Scopes::parse(scopes), audience, ends },
        generation: Cache::new(1, 1).generation(),
    }
}

fn catalogue(case: Case) -> Catalogue {
    let prices = ProductsConfig::default().catalogue().expect("the default is valid");
    Catalogue { odds_free_until: (case == Case::OddsFree).then_some(NOW + 1), ..prices }
}

fn limits(case: Case) -> Limits {
    let tennis_taster_per_day = if case == Case::Taster { 5 } else { 0 };
    let config = LimitsConfig { tennis_taster_per_day, ..LimitsConfig::default() };
    Limits::new(&config, LimitsKey::random())
}

fn letter(decided: Result<(), Denial>) -> char {
    match decided {
        Ok(()) => '.',
        Err(Denial::Scope(Scope::Football)) => 'f',
        Err(Denial::Scope(Scope::Sports)) => 's',
        Err(Denial::Scope(Scope::Odds)) => 'o',
        Err(Denial::Scope(Scope::Stream)) => 't',
        Err(Denial::Scope(Scope::Account)) => 'a',
        Err(Denial::Addon(Addon::Sports)) => 'S',
        Err(Denial::Addon(Addon::Odds)) => 'O',
        Err(Denial::Addon(Addon::Websocket)) => 'W',
        Err(Denial::Bookmakers) => 'B',
        Err(Denial::WrongKey) => 'X',
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn each_caller_gets_its_answer_for_each_resource() {
    for (scopes, addons, case, expected) in TABLE {
        let (caller, catalogue, limits) =
            (caller(scopes, addons, case), catalogue(case), limits(case));
        let answers = RESOURCES.map(|resource| {
            let quota = match resource {
                Resource::Product(product) => limits.quota(&caller, product, NOW),
                _ => None,
            };
            letter(decide(&caller, quota, resource, &catalogue, NOW))
        });
        let expected = expected.replace(' ', "");
        assert_eq!(String::from_iter(answers), expected, "{scopes} with {addons:?}");
    }
}

/// The table with all sets of scopes and add-ons: an answer depends on nothing else of them than what the main key and the key
/// with all add-ons show.
#[test]
fn scopes_and_addons_are_needed_independently() {
    let addons = ["", "W", "S", "O", "WS", "WO", "SO", "WSO"];
    for bits in 0..32_u8 {
        let scopes = Scope::ALL.into_iter().enumerate().filter(|(at, _)| (bits >> *at) & 1 == 1);
        let scopes = scopes.map(|(_, scope)| scope).collect::<Scopes>().to_string();
        for (addons, case) in addons.iter().flat_map(|it| [(it, Case::Usual), (it, Case::OddsFree)])
        {
            let catalogue = catalogue(case);
            for resource in RESOURCES {
                let check = |scopes: &str, addons: &str| {
                    decide(&caller(scopes, addons, case), None, resource, &catalogue, NOW)
                };
                let (by_scopes, by_addons) = (check(&scopes, "WSO"), check(ALL, addons));
                assert_eq!(check(&scopes, addons), by_scopes.and(by_addons), "{scopes}, {addons}");
            }
        }
    }
}

/// A quota replaces the add-on also for what a tool of another server reads.
#[test]
fn quota_replaces_the_addon_and_no_scope() {
    let catalogue = catalogue(Case::Taster);
    let check = |scopes: &str, resource| {
        let caller = caller(scopes, "", Case::Taster);
        let quota = limits(Case::Taster).quota(&caller, Product::TENNIS, NOW);
        assert!(quota.is_some());
        decide(&caller, quota, resource, &catalogue, NOW)
    };
    for resource in [Resource::Product(Product::TENNIS), Resource::Content(Addon::Sports)] {
        assert_eq!(check(ALL, resource), Ok(()));
        assert_eq!(check("football", resource), Err(Denial::Scope(Scope::Sports)));
    }
}

/// Without a caller, the denial is that of the credential.
#[test]
fn each_denial_has_its_status_code_and_close() {
    let check = |denial: Denial, status: u16, code: &str, close: u16| {
        let answer = (denial.status().as_u16(), denial.code(), denial.close_code());
        assert_eq!(answer, (status, code, close), "{denial:?}");
    };
    for denial in [Denial::NoKey, Denial::WrongKey, Denial::DifferentKeys, Denial::KeyInUrl] {
        check(denial, 401, "authentication_required", 4401);
    }
    check(Denial::WrongAddress([127, 0, 0, 1].into()), 403, "address_not_allowed", 4401);
    check(Denial::OtherSource, 403, "other", 4401);
    for scope in Scope::ALL {
        check(Denial::Scope(scope), 403, "insufficient_scope", 4401);
    }
    for addon in Addon::ALL {
        check(Denial::Addon(addon), 402, "addon_required", 4402);
    }
    check(Denial::Bookmakers, 403, "bookmakers_not_entitled", 4401);
}

#[test]
fn path_tells_what_is_asked_for() {
    let check = |path: &str, expected: Resource| {
        let product = Product::from_path(path).expect("a path of a product");
        assert_eq!(Resource::from_path(product, path), expected, "{path}");
    };
    check("/api/v2/events/", Resource::Product(Product::Football));
    check("/mcp", Resource::Product(Product::Football));
    check("/signals/api/", Resource::Product(Product::Signals));
    check("/tennis/api/v2/account/", Resource::Product(Product::TENNIS));
    check("/odds/api/", Resource::Product(Product::Odds));
    check("/stream/v1/channels/feeds", Resource::Product(Product::Websocket));
    check("/api/v2/account/", Resource::Account);
    check("/api//v2/webhooks/7/test/", Resource::Account);
    check("/api/v2/stream/ticket/", Resource::Ticket);
}
