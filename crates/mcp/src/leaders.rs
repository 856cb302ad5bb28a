//! The leaders of a season of a league in any counted statistic.

use facts::event::PlayerStat;

use crate::{argument::Arguments, call::Call, envelope::Answer, refusal::Refusal};

/// REST's words for statistics whose counters have other names, and what people call them.
const WORDS: [(&str, &[&str]); 5] = [
    ("scorers", &["goals", "goal", "scorer", "topscorer", "goalscorer", "goalsscored"]),
    ("assists", &["goalassist"]),
    ("yellowcards", &["yellow", "booking"]),
    ("redcards", &["red", "sendingoff", "dismissal"]),
    ("fouls", &["foulscommitted"]),
];

/// What people call counters.
const COUNTERS: [(&str, PlayerStat); 6] = [
    ("shot", PlayerStat::TotalShots),
    ("pass", PlayerStat::TotalPasses),
    ("cross", PlayerStat::TotalCrosses),
    ("minute", PlayerStat::MinutesPlayed),
    ("duel", PlayerStat::DuelsWon),
    ("chancescreated", PlayerStat::KeyPasses),
];

impl Call<'_> {
    /// The players with most of what a person names; of goals, unless the call says otherwise.
    pub(crate) async fn leaders(&self, arguments: &mut Arguments) -> Result<Answer, Refusal> {
        let asked = arguments.text("stat").unwrap_or("scorers").to_owned();
        let word = stat_word(&asked).ok_or_else(|| {
            let counters = PlayerStat::ALL.map(PlayerStat::as_str);
            let all: Vec<&str> = WORDS.iter().map(|(word, _)| *word).chain(counters).collect();
            let message = format!("There is no statistic {asked:?}.");
            Refusal::bad_argument(message).with("argument", "stat").with("accepted", all)
        })?;
        arguments.set("stat", word);
        self.rest(arguments).await
    }
}

/// REST's word for a statistic.
fn stat_word(asked: &str) -> Option<&'static str> {
    let asked = folded(asked);
    let is_word = |(word, others): &&(&'static str, &[&str])| {
        folded(word) == asked || others.iter().any(|other| folded(other) == asked)
    };
    if let Some((word, _)) = WORDS.iter().find(is_word) {
        return Some(*word);
    }
    let named = COUNTERS.iter().find(|(name, _)| *name == asked).map(|(_, counter)| *counter);
    let mut all = PlayerStat::ALL.into_iter();
    let counter = named.or_else(|| {
        all.find(|stat| folded(stat.as_str()) == asked || folded(&format!("{stat:?}")) == asked)
    });
    counter.map(|counter| match counter {
        PlayerStat::Goals => "scorers",
        PlayerStat::Assists => "assists",
        PlayerStat::YellowCards => "yellowcards",
        PlayerStat::RedCards => "redcards",
        counter => counter.as_str(),
    })
}

/// Letters in lower case, in the singular.
fn folded(text: &str) -> String {
    let text = text.to_ascii_lowercase().replace("most", "");
    let letters: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    let singular = letters.strip_suffix("es").filter(|stem| stem.ends_with("ss"));
    singular
        .or_else(|| letters.strip_suffix('s').filter(|stem| !stem.ends_with('s')))
        .unwrap_or(&letters)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_have_the_words_of_people() {
        for (asked, word) in [
            ("Goals", "scorers"),
            ("top scorers", "scorers"),
            ("most assists", "assists"),
            ("yellow cards", "yellowcards"),
            ("yellow_card", "yellowcards"),
            ("Key passes", "key_pass"),
            ("shots", "total_shots"),
            ("shots on target", "shots_on_target"),
            ("passes", "total_pass"),
            ("tackles won", "won_tackle"),
            ("saves", "saves"),
            ("minutes", "minutes_played"),
        ] {
            assert_eq!(stat_word(asked), Some(word), "{asked}");
        }
        assert_eq!(stat_word("hats"), None);
        for stat in PlayerStat::ALL {
            assert!(stat_word(stat.as_str()).is_some(), "{stat:?}");
        }
    }
}
