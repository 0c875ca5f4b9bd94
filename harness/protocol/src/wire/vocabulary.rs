//! Closed sets of names, as enums that go both ways.

/// A closed set of names: each has a place and a name, and is found by either.
pub trait Vocabulary: Copy + Eq + std::fmt::Debug + 'static {
    /// Every word, in the order of declaration.
    const ALL: &'static [Self];

    /// The word's name on the wire, in scenario files and in reports.
    fn name(self) -> &'static str;

    /// The word's place in [`ALL`](Self::ALL).
    fn index(self) -> usize;

    /// The word of that name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|word| word.name() == name)
    }
}

macro_rules! vocabulary {
    ($(#[$doc:meta])* $visibility:vis enum $enum:ident { $($(#[$word_doc:meta])* $word:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $visibility enum $enum {
            $($(#[$word_doc])* $word,)+
        }

        impl $enum {
            /// Every word, in the order of declaration.
            pub const ALL: &'static [$enum] = &[$($enum::$word,)+];

            /// The word's name on the wire, in scenario files and in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $($enum::$word => $name,)+
                }
            }

            /// The word of that name.
            pub fn named(name: &str) -> Option<$enum> {
                match name {
                    $($name => Some($enum::$word),)+
                    _ => None,
                }
            }
        }

        impl $crate::wire::vocabulary::Vocabulary for $enum {
            const ALL: &'static [Self] = $enum::ALL;

            fn name(self) -> &'static str {
                $enum::name(self)
            }

            fn index(self) -> usize {
                self as usize
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use vocabulary;
