//! The country in whose league a match is played, if the name of the competition indicates it.
//!
//! Most names do not, or are shared by many leagues ("Serie A", "Premier League"): then the country
//! is unknown, which never counts as a mismatch.

/// Words that name a country, and the country. If one contains another, the longer one comes first.
const COUNTRIES: &[(&str, &str)] = &[
    ("northern ireland", "Northern Ireland"),
    ("northern irish", "Northern Ireland"),
    ("republic of ireland", "Ireland"),
    ("ireland", "Ireland"),
    ("irish", "Ireland"),
    ("south korea", "South Korea"),
    ("south korean", "South Korea"),
    ("south africa", "South Africa"),
    ("south african", "South Africa"),
    ("saudi arabia", "Saudi Arabia"),
    ("saudi", "Saudi Arabia"),
    ("costa rica", "Costa Rica"),
    ("costa rican", "Costa Rica"),
    ("new zealand", "New Zealand"),
    ("north macedonia", "North Macedonia"),
    ("england", "England"),
    ("english", "England"),
    ("epl", "England"),
    ("efl", "England"),
    ("scotland", "Scotland"),
    ("scottish", "Scotland"),
    ("wales", "Wales"),
    ("welsh", "Wales"),
    ("germany", "Germany"),
    ("german", "Germany"),
    ("spain", "Spain"),
    ("spanish", "Spain"),
    ("italy", "Italy"),
    ("italian", "Italy"),
    ("france", "France"),
    ("french", "France"),
    ("netherlands", "Netherlands"),
    ("dutch", "Netherlands"),
    ("eredivisie", "Netherlands"),
    ("portugal", "Portugal"),
    ("portuguese", "Portugal"),
    ("belgium", "Belgium"),
    ("belgian", "Belgium"),
    ("austria", "Austria"),
    ("austrian", "Austria"),
    ("switzerland", "Switzerland"),
    ("swiss", "Switzerland"),
    ("denmark", "Denmark"),
    ("danish", "Denmark"),
    ("sweden", "Sweden"),
    ("swedish", "Sweden"),
    ("norway", "Norway"),
    ("norwegian", "Norway"),
    ("finland", "Finland"),
    ("finnish", "Finland"),
    ("poland", "Poland"),
    ("polish", "Poland"),
    ("czechia", "Czechia"),
    ("czech", "Czechia"),
    ("slovakia", "Slovakia"),
    ("hungary", "Hungary"),
    ("hungarian", "Hungary"),
    ("romania", "Romania"),
    ("romanian", "Romania"),
    ("bulgaria", "Bulgaria"),
    ("bulgarian", "Bulgaria"),
    ("serbia", "Serbia"),
    ("serbian", "Serbia"),
    ("croatia", "Croatia"),
    ("croatian", "Croatia"),
    ("greece", "Greece"),
    ("greek", "Greece"),
    ("turkey", "Turkey"),
    ("turkiye", "Turkey"),
    ("turkish", "Turkey"),
    ("ukraine", "Ukraine"),
    ("ukrainian", "Ukraine"),
    ("russia", "Russia"),
    ("russian", "Russia"),
    ("israel", "Israel"),
    ("israeli", "Israel"),
    ("cyprus", "Cyprus"),
    ("argentina", "Argentina"),
    ("argentinian", "Argentina"),
    ("argentine", "Argentina"),
    ("brazil", "Brazil"),
    ("brazilian", "Brazil"),
    ("brasileiro", "Brazil"),
    ("brasileirao", "Brazil"),
    ("chile", "Chile"),
    ("chilean", "Chile"),
    ("colombia", "Colombia"),
    ("colombian", "Colombia"),
    ("ecuador", "Ecuador"),
    ("ecuadorian", "Ecuador"),
    ("uruguay", "Uruguay"),
    ("uruguayan", "Uruguay"),
    ("paraguay", "Paraguay"),
    ("paraguayan", "Paraguay"),
    ("peru", "Peru"),
    ("peruvian", "Peru"),
    ("bolivia", "Bolivia"),
    ("venezuela", "Venezuela"),
    ("mexico", "Mexico"),
    ("mexican", "Mexico"),
    ("usa", "USA"),
    ("mls", "USA"),
    ("australia", "Australia"),
    ("australian", "Australia"),
    ("japan", "Japan"),
    ("japanese", "Japan"),
    ("china", "China"),
];

/// The country that the words of a competition's name indicate; `None` if they indicate two.
pub(super) fn mentioned_in(words: &[String]) -> Option<&'static str> {
    let mut text = format!(" {} ", words.join(" "));
    let mut found = None;
    for &(name, country) in COUNTRIES {
        let name = format!(" {name} ");
        if !text.contains(&name) {
            continue;
        }
        if found.is_some_and(|found| found != country) {
            return None;
        }
        found = Some(country);
        text = text.replace(&name, " ");
    }
    found
}

/// The words without those that name a country; all of them if nothing else is left.
pub(super) fn without(words: &[String]) -> Vec<String> {
    let mut text = format!(" {} ", words.join(" "));
    for &(name, _) in COUNTRIES.iter().filter(|(name, _)| !LEAGUES.contains(name)) {
        // Most are not there, and a copy of the text for each takes long.
        if text.contains(name) {
            text = text.replace(&format!(" {name} "), " ");
        }
    }
    let left: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
    if left.is_empty() { words.to_vec() } else { left }
}

/// Names of leagues that are as good as that of their country.
const LEAGUES: &[&str] = &["eredivisie", "brasileiro", "brasileirao", "mls"];

/// The country with this name.
pub(super) fn named(name: &str) -> Option<&'static str> {
    COUNTRIES.iter().find(|(_, country)| *country == name).map(|(_, country)| *country)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::names;

    #[test]
    fn country_is_read_from_the_competition_name() {
        for (competition, expected) in [
            ("English Premier League", Some("England")),
            ("La Liga - Spain", Some("Spain")),
            ("Brazil Série A", Some("Brazil")),
            ("Northern Ireland Premiership", Some("Northern Ireland")),
            ("Premier League", None),
            ("UEFA Champions League", None),
            ("England v Germany Trophy", None),
            ("Northern Ireland and Republic of Ireland Cup", None),
        ] {
            assert_eq!(mentioned_in(&names::words(competition)), expected, "{competition}");
        }
    }
}
