//! The way that words take through an accelerator. The environment variable `MILLSTREAM_QUEUE` chooses it.

use std::ffi::OsStr;
use std::fmt;
use std::sync::OnceLock;

/// The environment variable that chooses the way.
const VARIABLE: &str = "MILLSTREAM_QUEUE";

/// The way that words take through an accelerator. Results, statistics and tracepoints are the same on both: the way makes no
/// difference but time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Words that are like the one before are taken without being taken apart, and those of frequent kinds meet code that was made
    /// for their kind.
    #[default]
    Fast,
    /// Every word is taken apart by itself, and meets the code that is made for all kinds. This way is there to compare the other
    /// with.
    General,
}

impl Way {
    /// Returns the way that this process is to use: [`Way::General`] where the environment variable `MILLSTREAM_QUEUE` is
    /// `general`, and else [`Way::Fast`]. The variable is read once.
    ///
    /// ```
    /// use millstream_accelerator::Way;
    ///
    /// println!("the way of this process: {:?}", Way::active()?);
    /// # Ok::<(), millstream_accelerator::WayError>(())
    /// ```
    ///
    /// # Errors
    /// Fails when the variable names another way.
    pub fn active() -> Result<Self, WayError> {
        static ACTIVE: OnceLock<Result<Way, WayError>> = OnceLock::new();
        ACTIVE.get_or_init(|| Way::named(std::env::var_os(VARIABLE).as_deref())).clone()
    }

    fn named(name: Option<&OsStr>) -> Result<Self, WayError> {
        match name {
            None => Ok(Way::Fast),
            Some(name) if name.is_empty() => Ok(Way::Fast),
            Some(name) if name == "general" => Ok(Way::General),
            Some(name) => Err(WayError { name: name.to_string_lossy().into_owned() }),
        }
    }
}

/// The error for a `MILLSTREAM_QUEUE` that names no way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WayError {
    name: String,
}

impl fmt::Display for WayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{VARIABLE}: unknown way '{}'; known is general, and without the variable a queue takes its fast way",
            self.name
        )
    }
}

impl std::error::Error for WayError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_have_names() {
        for (name, way) in [(None, Way::Fast), (Some(""), Way::Fast), (Some("general"), Way::General)] {
            assert_eq!(Way::named(name.map(OsStr::new)), Ok(way));
        }
    }

    #[test]
    fn an_unknown_way_is_named_with_those_that_are_known() {
        let error = Way::named(Some(OsStr::new("General"))).unwrap_err().to_string();
        for part in ["MILLSTREAM_QUEUE", "'General'", "known is general"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
