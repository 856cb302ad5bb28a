//! Enums whose values are written as one word each.

/// Declares an enum together with its words, which settings, databases and answers have.
///
/// ```
/// base::words! {
///     /// The side of a coin.
///     #[derive(Debug, Clone, Copy, PartialEq, Eq)]
///     pub enum Side {
///         Heads = "heads",
///         Tails = "tails",
///     }
/// }
///
/// assert_eq!(Side::Tails.as_str(), "tails");
/// assert_eq!(Side::from_word("heads"), Some(Side::Heads));
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$attribute:meta])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$attribute])* $variant,)+
        }

        impl $name {
            /// Every value, in the order of the declaration.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word for the value.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The value with this word, if there is one.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == word)
            }
        }
    };
}
