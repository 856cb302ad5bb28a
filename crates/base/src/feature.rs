//! What a program can do depends on the Cargo features of its build.

/// A setting or a command needs a Cargo feature, and the program was built without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{needed_by} needs the feature `{feature}`, which this program was built without; \
     `cargo build --release --features {feature}` builds it, and `--features full` builds all"
)]
pub struct MissingFeature {
    /// A setting, a value of one, or a command.
    pub needed_by: &'static str,
    pub feature: &'static str,
}
