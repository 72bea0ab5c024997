//! A check's result: the state, the facts and the remedy.

/// The verdict on what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Everything is as it should be.
    Ok,
    /// Something works less well than it could, or is not there although nobody asked for it.
    Warn,
    /// Something doesn't work.
    Fail,
}

impl State {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warn => "warn",
            State::Fail => "fail",
        }
    }
}

/// A check and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The thing that was looked at, in a word or two.
    pub name: &'static str,
    /// The verdict.
    pub state: State,
    /// The facts.
    pub found: String,
    /// The remedy, where there is one.
    pub remedy: Option<String>,
}

impl Finding {
    pub(super) fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Finding { name, state: State::Ok, found: found.into(), remedy: None }
    }

    pub(super) fn warn(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Finding { name, state: State::Warn, found: found.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn fail(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Finding { state: State::Fail, ..Finding::warn(name, found, remedy) }
    }

    /// Reports a thing that is not there, which is a fault where somebody asked for it.
    pub(super) fn absent(
        asked: bool,
        name: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        if asked { Finding::fail(name, found, remedy) } else { Finding::warn(name, found, remedy) }
    }

    /// Reports an error, whose text ends with the remedy.
    pub(super) fn error(asked: bool, name: &'static str, error: &impl std::fmt::Display) -> Self {
        let text = error.to_string();
        // Messages name the thing, then what can be done about it.
        let cut = text.rfind("; ").map(|at| (at, 2)).or_else(|| text.rfind(": ").map(|at| (at, 2)));
        match cut {
            Some((at, len)) => Finding::absent(asked, name, &text[..at], &text[at + len..]),
            None => Finding { remedy: None, ..Finding::absent(asked, name, text, "") },
        }
    }
}
