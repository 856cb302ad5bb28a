//! The bookmakers whose names are known, and the slugs of clients for them.

use std::borrow::Cow;

use crate::CONSENSUS;

/// Our slugs, what the houses call themselves, and the slug under which clients of other services know them where
/// that is another one.
const BOOKMAKERS: [(&str, &str, &str); 62] = [
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

/// Whether a bookmaker has this slug, be there prices of it or not.
#[must_use]
pub fn is_listed(slug: &str) -> bool {
    BOOKMAKERS.iter().any(|(listed, ..)| *listed == slug)
}

/// What a bookmaker calls itself; if we do not know it, its slug in title case.
#[must_use]
pub fn name(slug: &str) -> Cow<'static, str> {
    match BOOKMAKERS.iter().find(|(listed, ..)| *listed == slug) {
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

/// The slug in our own spelling: `williamhill` for `william-hill`. Unknown ones are unchanged.
#[must_use]
pub fn canonical_slug(slug: &str) -> &str {
    let is_alias = |other: &str| !other.is_empty() && other == slug;
    let entry = BOOKMAKERS.iter().find(|(_, _, other)| is_alias(other));
    entry.map_or(slug, |(listed, ..)| *listed)
}

/// The slug of the bookmaker with this name, in any case.
#[must_use]
pub fn slug_of_name(name: &str) -> Option<&'static str> {
    let entry = BOOKMAKERS.iter().find(|(_, own_name, _)| own_name.eq_ignore_ascii_case(name));
    entry.map(|(slug, ..)| *slug)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bookmakers_have_names() {
        assert_eq!(name("williamhill"), "William Hill");
        assert_eq!(name("lark_odds"), "Lark Odds");
        assert_eq!(name("larkodds"), "Larkodds");
        assert_eq!(slug_of_name("william hill"), Some("williamhill"));
        assert_eq!(slug_of_name("never heard"), None);
    }

    #[test]
    fn slugs_of_clients_become_ours() {
        for (text, slug) in [("william-hill", "williamhill"), ("pinnacle", "pinnacle"), ("", "")] {
            assert_eq!(canonical_slug(text), slug, "{text}");
        }
    }
}
