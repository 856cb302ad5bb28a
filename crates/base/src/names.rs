//! Names of teams, players, competitions and places, in a form for comparison.
//!
//! Feeds and people write one name in several ways: with or without marks (`Malmö`, `Malmo`), with two letters for one (`Koeln`), in
//! another script (`Зенит`), with other apostrophes, dashes and full stops, composed or decomposed. Three forms, from the nearest to
//! the text to the widest:
//!
//! - [`words`]: the words in lower-case ASCII, as feeds without other letters write them;
//! - [`letters`]: a word in which the usual spellings of one sound are one;
//! - [`key`]: a whole name as one word, equal for every usual spelling of its letters.
//!
//! It knows neither teams nor players.

use std::sync::LazyLock;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Characters of a name that are read; the rest is ignored. The longest known names have about 60.
const CHARS_MAX: usize = 160;

/// The shortest part of a name, in letters, that is looked for in other spellings: `due` is not looked for as `du`.
const PART_MIN: usize = 3;

/// The words of a name. Marks and apostrophes are removed; any other character that is neither letter nor digit ends a word. `A.C.`
/// is the one word `ac`. Letters of scripts that are not transliterated stay as they are, so that such names remain different.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    plain(text).split(' ').filter(|word| !word.is_empty()).map(ToOwned::to_owned).collect()
}

/// The words of a name with single blanks between them.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let is_mark = |c: &char| is_combining_mark(*c) || MARKS.contains(c);
    let chars = text.chars().take(CHARS_MAX);
    if text.is_ascii() {
        chars.filter(|c| *c != '\'' && *c != '`').for_each(|c| fold(c, &mut folded));
    } else {
        chars.nfkd().filter(|c| !is_mark(c)).for_each(|c| fold(c, &mut folded));
    }
    initials_joined(&folded)
}

/// A name in plain words without blanks, equal for every usual spelling of its letters.
#[must_use]
pub fn key(plain: &str) -> String {
    replaced(letters(plain.replace(' ', "")), CONSONANTS)
}

/// Plain words in which usual spellings of one sound are one: `ö` is `o` or `oe`, `å` `a` or `aa`, `đ` `d` or `dj`, `и` `i` or `y`.
#[must_use]
pub fn letters(plain: String) -> String {
    replaced(plain, SPELLINGS)
}

/// A name that is compared with many others.
#[derive(Debug, Clone)]
pub struct Name {
    text: String,
    key: String,
}

impl Name {
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), key: key(&plain(text)) }
    }

    /// As it was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether another text is this name: in any spelling, however it is spaced.
    #[must_use]
    pub fn is(&self, other: &str) -> bool {
        self.text.eq_ignore_ascii_case(other)
            || !self.key.is_empty() && self.key == key(&plain(other))
    }
}

/// A text that people look for in names.
#[derive(Debug, Clone)]
pub struct NamePart {
    /// In lower case.
    text: String,
    plain: String,
    /// In one spelling; empty if it is too short for that.
    letters: String,
    /// The length of the shortest of them.
    bytes_min: usize,
}

impl NamePart {
    #[must_use]
    pub fn new(text: &str) -> Self {
        let plain = plain(text);
        let mut letters = letters(plain.clone());
        if letters.len() < PART_MIN {
            letters.clear();
        }
        let text = text.to_lowercase();
        let forms = [&text, &plain, &letters].map(String::len).into_iter();
        let bytes_min = forms.filter(|bytes| *bytes > 0).min().unwrap_or(0);
        Self { text, plain, letters, bytes_min }
    }

    /// Whether a name contains it, ignoring case, marks and spelling; the empty text is in every name.
    #[must_use]
    pub fn is_in(&self, name: &str) -> bool {
        let has = |name: &str, part: &str| !part.is_empty() && name.contains(part);
        // No form of such a name is longer, except for the `and` in place of a `&`.
        if name.is_ascii() && self.bytes_min > name.len() + 4 * name.matches('&').count() {
            return false;
        }
        if self.text.is_empty() || has(&name.to_lowercase(), &self.text) {
            return true;
        }
        let name = plain(name);
        has(&name, &self.plain) || has(&letters(name), &self.letters)
    }

    /// How well it fits a name; `None` if the name does not contain it.
    #[must_use]
    pub fn fit(&self, name: &str) -> Option<Fit> {
        if !self.is_in(name) {
            return None;
        }
        let name = plain(name);
        let spelled = letters(name.clone());
        let fit = |name: &str, part: &str| match name.find(part) {
            _ if part.is_empty() => Fit::Inside,
            Some(_) if name == part => Fit::Whole,
            Some(0) => Fit::Begin,
            Some(_) if name.contains(&format!(" {part}")) => Fit::Word,
            Some(_) | None => Fit::Inside,
        };
        Some(fit(&name, &self.plain).max(fit(&spelled, &self.letters)))
    }
}

/// What stands between two sides, in lower case.
const BETWEEN: [&str; 11] =
    [" vs. ", " vs ", " v. ", " v ", " versus ", " against ", " x ", " - ", " – ", " @ ", " at "];

/// The sides in `A v B`, `A vs B`, `A - B`, `A @ B`; `None` if there are not two.
#[must_use]
pub fn sides(text: &str) -> Option<[&str; 2]> {
    // ASCII letters keep their places in lower case.
    let lower = text.to_ascii_lowercase();
    let (start, between) = BETWEEN.iter().find_map(|it| Some((lower.find(it)?, it)))?;
    let sides = [&text[..start], &text[start + between.len()..]].map(str::trim);
    sides.iter().all(|side| !side.is_empty()).then_some(sides)
}

/// How well a text fits a name that contains it, the best last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Within a word.
    Inside,
    /// A word other than the first begins with it.
    Word,
    /// The name begins with it.
    Begin,
    Whole,
}

fn replaced(text: String, pairs: &[(&str, &str)]) -> String {
    let mut text = text;
    for (spelling, usual) in pairs {
        if text.contains(spelling) {
            text = text.replace(spelling, usual);
        }
    }
    text
}

/// In this order: what one makes of a name, a later one may change.
const SPELLINGS: &[(&str, &str)] =
    &[("ae", "a"), ("oe", "o"), ("ue", "u"), ("aa", "a"), ("dj", "d"), ("y", "i"), ("ii", "i")];

/// What English writes with two consonants and others with one: `ç` and `č` as `c` or `ch`, `ц` as `c` or `ts`. Names of people
/// keep them: the initials would change, and Zhang and Zang are two people.
const CONSONANTS: &[(&str, &str)] =
    &[("ts", "c"), ("ch", "c"), ("sh", "s"), ("zh", "z"), ("kh", "h"), ("ph", "f")];

/// Signs within a word that feeds leave out: apostrophes, marks of transliteration, and characters without a width.
const MARKS: &[char] = &[
    '\'', '’', '‘', '‛', '`', '´', '′', 'ʹ', 'ʻ', 'ʼ', 'ʽ', 'ʾ', 'ʿ', '\u{ad}', '\u{200b}',
    '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{2060}', '\u{feff}',
];

/// Letters without a decomposition are replaced as feeds without these letters do.
fn fold(c: char, folded: &mut String) {
    if c.is_ascii_alphanumeric() {
        return folded.push(c.to_ascii_lowercase());
    }
    if c.is_ascii() {
        return folded.push_str(if c == '&' { " and " } else { " " });
    }
    for c in c.to_lowercase().filter(|c| !is_combining_mark(*c)) {
        if c == 'υ' && folded.ends_with('o') {
            // `ου` is one vowel.
            folded.push('u');
            continue;
        }
        match LETTERS.binary_search_by_key(&c, |(letter, _)| *letter) {
            Ok(index) => folded.push_str(LETTERS[index].1),
            Err(_) if c.is_alphanumeric() => folded.push(c),
            Err(_) => folded.push(' '),
        }
    }
}

/// What English texts write for letters that have no decomposition, in the same order, `-` for nothing: Latin ones, where `đ` is as
/// in Serbian and Croatian, since most tennis players with it are from there; Greek (ELOT 743, the usual one of names); Cyrillic
/// (that of passports and of sports), with the letters of other languages than Russian behind.
const SCRIPTS: &[(&str, &str)] = &[
    ("ßæðøþđħıĸłŋœŧƒəɨ", "ss ae d o th dj h i k l n oe t f a i"),
    ("αβγδεζηθικλμνξοπρςστυφχψω", "a v g d e z i th i k l m n x o p r s s t y f ch ps o"),
    (
        "абвгдежзиклмнопрстуфхцчшщъыьэюяђєѕіјљњћџґғқңүұһәө",
        "a b v g d e zh z i k l m n o p r s t u f kh ts ch sh shch - y - e yu ya dj ye dz i j lj nj c dz g g k n u u h a o",
    ),
];

/// In the order of the letters.
static LETTERS: LazyLock<Vec<(char, &str)>> = LazyLock::new(|| {
    let of_script = |(letters, latin): &(&'static str, &'static str)| {
        letters.chars().zip(latin.split(' ').map(|latin| latin.trim_matches('-')))
    };
    let mut all: Vec<_> = SCRIPTS.iter().flat_map(of_script).collect();
    all.sort_unstable();
    all
});

/// With single blanks; initials in a row are one word.
fn initials_joined(folded: &str) -> String {
    let mut joined = String::with_capacity(folded.len());
    let mut after_initial = false;
    for word in folded.split(' ').filter(|word| !word.is_empty()) {
        let is_initial = word.len() == 1 && word.as_bytes()[0].is_ascii_alphabetic();
        if !(joined.is_empty() || is_initial && after_initial) {
            joined.push(' ');
        }
        joined.push_str(word);
        after_initial = is_initial;
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_same(one: &str, other: &str) -> bool {
        Name::new(one).is(other)
    }

    #[test]
    fn each_letter_has_its_latin_one() {
        for (letters, latin) in SCRIPTS {
            assert_eq!(letters.chars().count(), latin.split(' ').count(), "{letters}");
        }
        assert!(LETTERS.is_sorted_by(|one, other| one.0 < other.0), "each stands once");
    }

    #[test]
    fn names_fold_to_plain_words() {
        for (text, expected) in [
            ("FC Bayern München", "fc bayern munchen"),
            ("Nott'm Forest", "nottm forest"),
            ("A.C. Milan", "ac milan"),
            ("Q P R", "qpr"),
            ("Brighton & Hove  Albion", "brighton and hove albion"),
            ("Türkiye", "turkiye"),
            ("İstanbul Başakşehir", "istanbul basaksehir"),
            ("Ødegård-Łódź", "odegard lodz"),
            ("Côte d’Ivoire", "cote divoire"),
            ("Preußen", "preussen"),
            ("Ｉｎｔｅｒ", "inter"),
            ("Зенит", "zenit"),
            ("Крылья Советов", "krylya sovetov"),
            ("Παπαδόπουλος", "papadopoulos"),
            ("Soft\u{ad}hyphen", "softhyphen"),
            ("北京国安", "北京国安"),
            ("", ""),
            ("?!", ""),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }

    #[test]
    fn two_sides_are_told_apart() {
        assert_eq!(sides("Alpha v Beta"), Some(["Alpha", "Beta"]));
        assert_eq!(sides("Alpha vs Beta"), Some(["Alpha", "Beta"]));
        assert_eq!(sides("Alpha VS. Beta City"), Some(["Alpha", "Beta City"]));
        assert_eq!(sides("Älpha @ Beta"), Some(["Älpha", "Beta"]));
        assert_eq!(sides("Alpha x Beta"), Some(["Alpha", "Beta"]));
        for text in ["Alpha", " v Beta", "", "Saint-Étienne"] {
            assert_eq!(sides(text), None, "{text}");
        }
    }

    #[test]
    fn best_fit_is_the_whole_name() {
        let check = |part: &str, name: &str, expected: Option<Fit>| {
            assert_eq!(NamePart::new(part).fit(name), expected, "{part} in {name}");
        };
        check("koeln", "Köln", Some(Fit::Whole));
        check("zenit", "Зенит", Some(Fit::Whole));
        check("man", "Manchester United", Some(Fit::Begin));
        check("united", "Manchester United", Some(Fit::Word));
        check("chester u", "Manchester United", Some(Fit::Inside));
        check("city", "Manchester United", None);
        check("brighton and hove", "Brighton & Hove", Some(Fit::Whole));
        check("muenchen", "Munchen", Some(Fit::Whole));
        check("manchester united!", "Manchester United", Some(Fit::Whole));
        check("manchester united fc", "Manchester United", None);
        assert!(Fit::Whole > Fit::Begin && Fit::Begin > Fit::Word && Fit::Word > Fit::Inside);
    }

    #[test]
    fn usual_spellings_are_one_name() {
        for (one, other) in [
            ("Köln", "Koeln"),
            ("Köln", "Koln"),
            ("Koeln", "Koln"),
            ("Ko\u{308}ln", "Köln"),
            ("Nürnberg", "Nuernberg"),
            ("Fürth", "FUERTH"),
            ("Häcken", "Haecken"),
            ("Preußen Münster", "Preussen Muenster"),
            ("Größe", "Groesse"),
            ("Brøndby", "Broendby"),
            ("Brøndby", "Brondby"),
            ("Tromsø", "Tromsoe"),
            ("Ålesund", "Aalesund"),
            ("Vålerenga", "Valerenga"),
            ("Nordsjælland", "Nordsjaelland"),
            ("Malmö", "malmo"),
            ("Łódź", "Lodz"),
            ("ŁKS Łódź", "LKS LODZ"),
            ("São Paulo", "sao paulo"),
            ("Beşiktaş", "Besiktas"),
            ("Beşiktaş", "Beshiktash"),
            ("Kasımpaşa", "KASIMPASA"),
            ("Đoković", "Djokovic"),
            ("Đurđevac", "Durdevac"),
            ("Đà Nẵng", "Da Nang"),
            ("Hà Nội", "Hanoi"),
            ("Ħamrun", "Hamrun"),
            ("Kəpəz", "Kapaz"),
            ("Neftçi", "Neftchi"),
            ("Þór", "Thor"),
            ("Breiðablik", "Breidablik"),
            ("Œuvre", "Oeuvre"),
            ("Grêmio", "Gre\u{302}mio"),
            ("Ploiești", "Ploieşti"),
            ("Nott'm Forest", "Nott’m Forest"),
            ("Be'er Sheva", "Beer Sheva"),
            ("Tel-Aviv", "Tel Aviv"),
            ("Paris Saint–Germain", "Paris Saint-Germain"),
            ("D.C. United", "DC United"),
            ("Colo-Colo", "Colo Colo"),
            ("Aston\u{a0}Villa", "Aston Villa"),
            ("Зенит", "Zenit"),
            ("ЦСКА", "CSKA"),
            ("Шахтар Донецьк", "Shakhtar Donetsk"),
            ("Левски София", "Levski Sofia"),
            ("Лудогорец", "Ludogorets"),
            ("Црвена звезда", "Crvena zvezda"),
            ("Динамо Київ", "Dynamo Kyiv"),
            ("Кирилл Иванов", "Kirill Ivanov"),
            ("Андрей Рублёв", "Andrey Rublev"),
            ("Даниил Медведев", "Daniil Medvedev"),
            ("Карен Хачанов", "Karen Khachanov"),
            ("Παναθηναϊκός", "Panathinaikos"),
            ("ΠΑΟΚ", "PAOK"),
            ("Βόλος", "Volos"),
            ("Στέφανος Τσιτσιπάς", "Stefanos Tsitsipas"),
        ] {
            assert!(is_same(one, other) && is_same(other, one), "{one}, {other}");
        }
    }

    #[test]
    fn prepared_name_is_compared_with_many() {
        let name = Name::new("Köln");
        for (other, expected) in
            [("KÖLN", true), ("koeln", true), ("Koln", true), ("Bonn", false), ("", false)]
        {
            assert_eq!(name.is(other), expected, "{other}");
        }
        assert!(!Name::new("?").is("!") && Name::new("?").is("?"));
    }

    #[test]
    fn other_names_are_not_the_same() {
        for (one, other) in [
            ("Man United", "Man City"),
            ("Inter", "Inter Miami"),
            ("Milan", "Milano"),
            ("Niger", "Nigeria"),
            ("Slovakia", "Slovenia"),
            ("Austria", "Australia"),
            ("Динамо Москва", "Динамо Минск"),
            ("Зенит", "Зоркий"),
            ("北京国安", "成都蓉城"),
            ("الهلال", "النصر"),
            ("Wisła Kraków", "Wisła Płock"),
            ("?", "!"),
            ("", ""),
        ] {
            assert!(!is_same(one, other) || one == other, "{one}, {other}");
        }
    }

    #[test]
    fn part_of_a_name_is_found_in_any_spelling() {
        for (name, part) in [
            ("Malmö FF", "malmo"),
            ("Malmo\u{308} FF", "Malmö"),
            ("Malmö FF", "Malmo\u{308}"),
            ("Grêmio", "Gre\u{302}mio"),
            ("1. FC Köln", "koln"),
            ("1. FC Köln", "koeln"),
            ("1. FC Koeln", "Köln"),
            ("ŁKS Łódź", "lodz"),
            ("São Paulo", "sao paulo"),
            ("Beşiktaş", "besiktas"),
            ("Зенит Санкт-Петербург", "zenit"),
            ("Zenit", "Зенит"),
            ("Nott'm Forest", "nottm"),
            ("Nottm Forest", "nott'm"),
            ("Manchester United", "chester u"),
            ("Arsenal", ""),
            ("Brighton & Hove Albion", "&"),
            ("Brighton & Hove Albion", "and hove"),
            ("!!", "!"),
        ] {
            assert!(NamePart::new(part).is_in(name), "{part} in {name}");
        }
        for (name, part) in [
            ("Dundee", "due"),
            ("Manchester City", "united"),
            ("Manuel", "man u"),
            ("Arsenal", "?"),
            ("Köln", "kolner"),
        ] {
            assert!(!NamePart::new(part).is_in(name), "{part} in {name}");
        }
    }
}
