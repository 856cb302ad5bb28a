//! What two feeds state of the class of a match, compared.
//!
//! Only statements are compared here. What the names say is read by `grade`, to which statements are added.

use facts::event::{AgeGroup, Class, Discipline};

/// A word for each fact that a feed states, or `None`.
type Facts = [(&'static str, Option<String>); 5];

/// The first fact that both state, and differently: `gender: women, men`.
pub(super) fn contradiction(one: &Class, other: &Class) -> Option<String> {
    let is_one_age = matches!(
        (one.age, other.age),
        (Some(AgeGroup::Youth), Some(AgeGroup::Under(_)))
            | (Some(AgeGroup::Under(_)), Some(AgeGroup::Youth))
    );
    facts(one).into_iter().zip(facts(other)).find_map(|((fact, one), (_, other))| {
        let (one, other) = (one?, other?);
        let differs = one != other && !(fact == "age" && is_one_age);
        differs.then(|| format!("{fact}: {one}, {other}"))
    })
}

/// The first fact that one feed alone states, if it is not the usual one: `gender: women, not stated`.
pub(super) fn unshared(one: &Class, other: &Class) -> Option<String> {
    const USUAL: [&str; 6] = ["men", "senior", "no", "usual", "singles", "doubles"];
    let not_stated = || "not stated".to_owned();
    facts(one).into_iter().zip(facts(other)).find_map(|((fact, one), (_, other))| {
        let alone = one.as_ref().xor(other.as_ref()).filter(|it| !USUAL.contains(&it.as_str()));
        alone.is_some().then(|| {
            let [one, other] = [one, other].map(|it| it.unwrap_or_else(not_stated));
            format!("{fact}: {one}, {other}")
        })
    })
}

/// What the class states, and what another states of it where it states nothing.
pub(super) fn filled(class: &Class, other: &Class) -> Class {
    Class {
        gender: class.gender.or(other.gender),
        age: class.age.or(other.age),
        reserve: class.reserve.or(other.reserve),
        simulated: class.simulated.or(other.simulated),
        discipline: class.discipline.or(other.discipline),
        country: None,
    }
}

fn facts(class: &Class) -> Facts {
    let flag = |flag: Option<bool>| flag.map(|is_so| if is_so { "yes" } else { "no" }.to_owned());
    [
        ("gender", class.gender.map(|gender| gender.as_str().to_owned())),
        ("age", class.age.map(|age| age.to_string())),
        ("reserve", flag(class.reserve)),
        ("simulated", flag(class.simulated)),
        ("discipline", class.discipline.map(Discipline::as_str).map(str::to_owned)),
    ]
}
