//! Bookmakers: their slugs, their names, `/api/v2/bookmakers/`.

use std::{borrow::Cow, collections::BTreeSet};

use serde::Serialize;
use utoipa::ToSchema;

use crate::rest::{Api, ApiError, ApiRequest, ApiResult, CacheControl, Page, Spec, view::View};
use record::CONSENSUS;

/// Our slugs, what the houses call themselves, and the slug under which clients of this interface know
/// them where that is another one.
const KNOWN: [(&str, &str, &str); 62] = [
    (CONSENSUS, "Consensus", ""),
    ("onexbet", "1xBet", "1xbet"),
    ("10bet", "10Bet", ""),
    ("sport888", "888sport", "888sport"),
    ("ballybet", "Bally Bet", ""),
    ("bet365", "bet365", ""),
    ("betano", "Betano", ""),
    ("betanysports", "BetAnySports", ""),
    ("betclic", "Betclic", ""),
    ("betdaq", "BETDAQ", ""),
    ("betfair", "Betfair", ""),
    ("betfair_ex_au", "Betfair Exchange (Australia)", "betfair-exchange-au"),
    ("betfair_ex_eu", "Betfair Exchange (Europe)", "betfair-exchange-eu"),
    ("betfair_ex_uk", "Betfair Exchange", "betfair-exchange"),
    ("betfair_sb_uk", "Betfair Sportsbook", "betfair-sportsbook"),
    ("betfred", "Betfred", ""),
    ("betmgm", "BetMGM", ""),
    ("betonlineag", "BetOnline.ag", ""),
    ("betparx", "betPARX", ""),
    ("betr_au", "Betr", "betr"),
    ("betrivers", "BetRivers", ""),
    ("betsson", "Betsson", ""),
    ("betus", "BetUS", ""),
    ("betvictor", "BetVictor", ""),
    ("betway", "Betway", ""),
    ("bluesquare", "Blue Square", ""),
    ("bovada", "Bovada", ""),
    ("boylesports", "BoyleSports", ""),
    ("bwin", "bwin", ""),
    ("cashpoint", "Cashpoint", ""),
    ("casumo", "Casumo", ""),
    ("cloudbet", "Cloudbet", ""),
    ("coolbet", "Coolbet", ""),
    ("coral", "Coral", ""),
    ("dafabet", "Dafabet", ""),
    ("draftkings", "DraftKings", ""),
    ("espnbet", "ESPN BET", ""),
    ("everygame", "Everygame", ""),
    ("fanatics", "Fanatics", ""),
    ("fanduel", "FanDuel", ""),
    ("fonbet", "Fonbet", ""),
    ("gamebookers", "Gamebookers", ""),
    ("gtbets", "GTbets", ""),
    ("interwetten", "Interwetten", ""),
    ("ladbrokes_uk", "Ladbrokes", "ladbrokes"),
    ("leovegas", "LeoVegas", ""),
    ("livescorebet", "LiveScore Bet", ""),
    ("lowvig", "LowVig.ag", ""),
    ("mansionbet", "MansionBet", ""),
    ("marathonbet", "Marathon Bet", "marathon"),
    ("matchbook", "Matchbook", ""),
    ("melbet", "Melbet", ""),
    ("mybookieag", "MyBookie.ag", ""),
    ("nordicbet", "NordicBet", ""),
    ("novibet", "Novibet", ""),
    ("paddypower", "Paddy Power", ""),
    ("pinnacle", "Pinnacle", ""),
    ("skybet", "Sky Bet", ""),
    ("smarkets", "Smarkets", ""),
    ("sportingbet", "Sportingbet", ""),
    ("unibet", "Unibet", ""),
    ("williamhill", "William Hill", "william-hill"),
];

/// What a bookmaker calls itself; if we do not know it, its slug in title case.
#[must_use]
pub(in crate::rest) fn name(slug: &str) -> Cow<'static, str> {
    match KNOWN.iter().find(|(known_slug, ..)| *known_slug == slug) {
        Some((_, name, _)) => Cow::Borrowed(name),
        None => Cow::Owned(title_case(slug)),
    }
}

/// `lark_odds` as `Lark Odds`.
fn title_case(slug: &str) -> String {
    let words = slug.split(['_', '-']).filter(|word| !word.is_empty());
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    };
    words.map(capital).collect::<Vec<_>>().join(" ")
}

/// The slug that a filter means, in our own spelling.
///
/// # Errors
///
/// If it is no slug but a name for people.
pub(in crate::rest) fn slug(text: &str) -> Result<String, ApiError> {
    let is_slug = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c);
    if text.chars().all(is_slug) {
        let entry = KNOWN.iter().find(|(_, _, other)| *other == text);
        return Ok(entry.map_or(text, |(known_slug, ..)| known_slug).to_owned());
    }
    let meant = KNOWN.iter().find(|(_, name, _)| name.eq_ignore_ascii_case(text));
    let hint = meant.map(|(known_slug, ..)| format!(", here {known_slug:?}")).unwrap_or_default();
    Err(ApiError::BadParameter(format!(
        "bookmaker_slug is to be a slug{hint}, not the name {text:?}: see /api/v2/bookmakers/."
    )))
}

/// The bookmakers that the value of a parameter names, with commas between, in our own spelling; `None` without it.
///
/// # Errors
///
/// If one of them is a name for people, or neither one of [`KNOWN`] nor one with prices.
pub(in crate::rest) fn slugs(
    api: &Api,
    parameter: &str,
    text: Option<&str>,
) -> Result<Option<Vec<String>>, ApiError> {
    let Some(text) = text else { return Ok(None) };
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    // Every price is compared with them.
    let slugs: Vec<_> = words.map(slug).collect::<Result<BTreeSet<_>, _>>()?.into_iter().collect();
    let priced = api.history.bookmakers();
    let is_archived = |slug: &String| {
        KNOWN.iter().any(|(it, ..)| it == slug) || priced.iter().any(|it| **it == **slug)
    };
    // The first prices of a bookmaker are with the hub before they are archived.
    let is_current = |slug: &String| {
        let view = View::now(&api.history, None);
        let mut prices = view.all_fresh().flat_map(|record| &record.prices);
        prices.any(|price| *price.bookmaker == **slug)
    };
    if slugs.iter().all(|slug| is_archived(slug) || is_current(slug)) {
        return Ok(Some(slugs));
    }
    Err(ApiError::unknown_value(parameter, priced.iter().map(ToString::to_string)))
}

/// SERVICE section 3.4.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(in crate::rest) struct Bookmaker {
    pub(in crate::rest) slug: String,
    pub(in crate::rest) name: String,
}

impl Bookmaker {
    pub(in crate::rest) fn from_slug(slug: &str) -> Self {
        Self { slug: slug.to_owned(), name: name(slug).into_owned() }
    }
}

const LIST: Spec = Spec {
    aliases: &[("page_size", "limit"), ("page", "offset")],
    tolerated: &["tz", "full", "ordering"],
    ..Spec::new(&[]).paged()
};

endpoints! {
    /// Every bookmaker with a price, and the consensus.
    "/api/v2/bookmakers/", params(LIST), answers(Page<Bookmaker>), |request| bookmakers(&request);
}

fn bookmakers(request: &ApiRequest) -> ApiResult {
    let bookmakers = request.api.history.bookmakers();
    request.page_of(CacheControl::REFERENCE, &bookmakers, |slug| Bookmaker::from_slug(slug))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bookmakers_have_names() {
        assert_eq!(name("williamhill"), "William Hill");
        assert_eq!(name("lark_odds"), "Lark Odds");
        assert_eq!(name("larkodds"), "Larkodds");
    }

    #[test]
    fn slug_is_accepted_and_a_name_is_not() {
        assert_eq!(slug("pinnacle").unwrap(), "pinnacle");
        assert_eq!(slug("william-hill").unwrap(), "williamhill");
        assert_eq!(slug("never_heard").unwrap(), "never_heard");
        let Err(ApiError::BadParameter(message)) = slug("William Hill") else {
            panic!("a name was taken for a slug");
        };
        assert!(message.contains("\"williamhill\""), "{message}");
    }
}
