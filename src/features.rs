//! The Cargo features of this build.

/// Each of these features, and whether the program was built with it.
macro_rules! built {
    ($($name:literal)*) => {
        [$(($name, cfg!(feature = $name))),*]
    };
}

/// Each feature but `full` and `default`, and whether the program was built with it.
pub const FEATURES: [(&str, bool); 12] = built![
    "acme" "amqp" "cluster" "conformance" "demo" "films" "jemalloc" "legacy-sockets" "postgres" "receipts"
    "sandbox" "webhooks"
];

/// Whether the program was built with this feature.
#[must_use]
pub fn is_built(feature: &str) -> bool {
    FEATURES.contains(&(feature, true))
}

/// The names of the features with which the program was built, or of the others, separated by commas.
#[must_use]
pub fn list(built: bool) -> String {
    let names: Vec<_> =
        FEATURES.iter().filter(|(_, is_built)| *is_built == built).map(|(name, _)| *name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn full_has_every_feature_of_the_list() {
        let manifest: toml::Table = include_str!("../Cargo.toml").parse().unwrap();
        let list =
            |name: &str| -> Vec<String> { manifest["features"][name].clone().try_into().unwrap() };
        let mut full = BTreeSet::from_iter([list("default"), list("full")].concat());
        full.remove("default");
        assert_eq!(Vec::from_iter(full), FEATURES.map(|(name, _)| name));
    }
}
