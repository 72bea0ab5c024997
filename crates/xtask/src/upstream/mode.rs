//! The three ways in which another project's tests are run.

use serde::Deserialize;

/// The way in which tests are run.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Without Millstream.
    Without,
    /// With Millstream in the process.
    With,
    /// With Millstream, and keys in its service.
    Isolated,
}

impl Mode {
    pub const ALL: [Mode; 3] = [Mode::Without, Mode::With, Mode::Isolated];

    /// Returns the mode's name, which is also the name of its folder.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Without => "without",
            Mode::With => "with",
            Mode::Isolated => "isolated",
        }
    }
}
