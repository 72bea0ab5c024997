//! The grants and workers of the running service, as completions.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use millstream::isolated::{Service, Status};

use crate::shown;

/// The time that a shell waits for the service, in which a user does not notice it.
const PATIENCE: Duration = Duration::from_millis(500);

/// Returns the values that may follow the words of a command line: one a line, and a description behind a tab. There
/// are none without a service.
pub(super) fn following(words: &[OsString]) -> String {
    let Some(Line { what, socket }) = Line::read(words) else { return String::new() };
    let (sender, status) = channel();
    // A service that does not answer is not waited for.
    thread::spawn(move || {
        let status = Service::connect(socket.as_deref()).and_then(|mut service| service.status());
        sender.send(status.unwrap_or_default())
    });
    values(&what, &status.recv_timeout(PATIENCE).unwrap_or_default())
}

/// A command line before the word that is to be completed.
#[derive(Debug, PartialEq)]
struct Line {
    what: What,
    socket: Option<PathBuf>,
}

#[derive(Debug, PartialEq)]
enum What {
    /// Grants other than those that are named already.
    Grants(Vec<String>),
    /// Workers that the named grant can move to.
    Workers(String),
}

impl Line {
    fn read(words: &[OsString]) -> Option<Line> {
        let (command, words) = words.split_first()?;
        let (mut socket, mut operands) = (None, Vec::new());
        let mut words = words.iter().map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            match word.strip_prefix("--socket") {
                // In bash the sign is a word of its own.
                Some("") => socket = words.find(|word| word != "=").map(|path| Path::new(&*path).to_owned()),
                Some(path) => socket = path.strip_prefix('=').map(PathBuf::from),
                None if word.starts_with('-') => {}
                None => operands.push(word.into_owned()),
            }
        }
        let what = match (command.to_str()?, operands.len()) {
            ("revoke", _) | ("move", 0) => What::Grants(operands),
            ("move", 1) => What::Workers(operands.remove(0)),
            _ => return None,
        };
        Some(Line { what, socket })
    }
}

fn values(what: &What, status: &Status) -> String {
    let value = |number: u64, about: String| format!("{number}\t{}\n", shown::text(&about));
    match what {
        What::Grants(named) => {
            let grants = status.grants.iter().filter(|grant| !named.contains(&grant.grant.id.to_string()));
            grants
                .map(|grant| value(grant.grant.id, format!("{}, process {}", grant.name, grant.pid)))
                .collect()
        }
        What::Workers(grant) => {
            // A grant stays with workers for private keys, or with the others.
            let at = status
                .grants
                .iter()
                .find(|found| found.grant.id.to_string() == *grant)
                .map(|found| found.worker);
            let kind = status
                .workers
                .iter()
                .find(|worker| Some(worker.worker) == at)
                .map(|worker| worker.private_keys);
            let workers =
                status.workers.iter().filter(|worker| kind.is_none_or(|kind| worker.private_keys == kind));
            workers.map(|worker| value(worker.worker.into(), format!("process {}", worker.pid))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_what_may_follow() {
        let line = |text: &str| Line::read(&text.split(' ').map(OsString::from).collect::<Vec<_>>());
        let grants = |named: &[&str]| What::Grants(named.iter().map(|&name| name.to_owned()).collect());
        for (text, what, socket) in [
            ("revoke", grants(&[]), None),
            ("revoke 3 4", grants(&["3", "4"]), None),
            ("revoke --socket s 3", grants(&["3"]), Some("s")),
            ("move --socket = s", grants(&[]), Some("s")),
            ("move --socket=s 3", What::Workers("3".to_owned()), Some("s")),
        ] {
            assert_eq!(line(text), Some(Line { what, socket: socket.map(PathBuf::from) }), "{text}");
        }
        assert_eq!((line("move 3 0"), line("digest")), (None, None));
        assert_eq!(Line::read(&[]), None);
    }
}
