//! The names of tokens, objects and roles.

use std::fmt;

macro_rules! identifier {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 16]);

        impl $name {
            /// Draws a new one.
            ///
            /// # Errors
            /// The system gives no random bytes.
            pub fn random() -> Result<Self, getrandom::Error> {
                let mut bytes = [0; 16];
                getrandom::fill(&mut bytes)?;
                Ok($name(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }
    };
}

identifier! {
    /// A token's serial number: 16 random bytes.
    TokenId
}
identifier! {
    /// An object's identifier, which is unique and is never used again: 16 random bytes.
    ObjectId
}

/// The role in which somebody opens a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The user, who makes, uses and removes keys.
    User,
    /// The security officer, who sets the user's PIN and does nothing else.
    Officer,
}

impl Role {
    /// The byte that stands for the role in a file.
    pub(crate) fn code(self) -> u8 {
        match self {
            Role::User => 1,
            Role::Officer => 2,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::User => "user PIN",
            Role::Officer => "security officer's PIN",
        })
    }
}
