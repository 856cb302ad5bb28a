//! Enums whose values are written as one word each.

/// Declares an enum together with its words: the same in lines, records and frames.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$attribute:meta])* $variant:ident = $word:tt,)+
        }
    ) => {
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize,
            serde::Deserialize, borsh::BorshSerialize, borsh::BorshDeserialize,
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        $(#[$meta])*
        pub enum $name {
            $($(#[$attribute])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every value, in the order of the declaration.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word for the value.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The value that a word stands for, if there is one.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == word)
            }
        }
    };
}

pub(super) use words;
