//! The Cargo features of this build.

/// Each feature but `full`, and whether the program was built with it.
pub const FEATURES: [(&str, bool); 6] = [
    ("acme", cfg!(feature = "acme")),
    ("amqp", cfg!(feature = "amqp")),
    ("cluster", cfg!(feature = "cluster")),
    ("jemalloc", cfg!(feature = "jemalloc")),
    ("postgres", cfg!(feature = "postgres")),
    ("receipts", cfg!(feature = "receipts")),
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
    use super::*;

    #[test]
    fn full_has_every_feature_of_the_list() {
        let manifest: toml::Table = include_str!("../Cargo.toml").parse().unwrap();
        let full: Vec<String> = manifest["features"]["full"].clone().try_into().unwrap();
        assert_eq!(FEATURES.map(|(name, _)| name).to_vec(), full);
    }
}
