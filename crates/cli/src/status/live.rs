//! The live view: the tables again and again, in a terminal at the same place.

use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::{Grant, View};
use crate::error::Error;
use crate::signals;

/// The number of rates that the picture of a grant shows.
const SHOWN: usize = 16;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The operations a second of each grant in the last views.
#[derive(Default)]
pub struct History(HashMap<u64, Vec<f64>>);

impl History {
    /// Adds a view, and forgets grants that are gone.
    pub fn add(&mut self, view: &View) {
        self.0.retain(|id, _| view.grants.iter().any(|grant| grant.now.grant.id == *id));
        for grant in &view.grants {
            let rates = self.0.entry(grant.now.grant.id).or_default();
            rates.extend(grant.rates.map(|rates| rates.operations));
            let old = rates.len().saturating_sub(SHOWN);
            rates.drain(..old);
        }
    }

    /// Draws a picture like `▁▂▅█`, in which the highest bar is the maximum so far.
    pub fn picture(&self, grant: &Grant) -> String {
        let rates = self.0.get(&grant.now.grant.id).map_or(&[][..], Vec::as_slice);
        let most = rates.iter().copied().fold(1.0, f64::max);
        rates.iter().map(|rate| BARS[((rate / most * 7.0).round() as usize).min(7)]).collect()
    }
}

/// A terminal that shows one thing at one place, and delivers keys as they are pressed.
pub struct Screen {
    /// The number of lines that are shown.
    lines: usize,
    /// The settings of standard input, if that is the terminal.
    before: Option<Termios>,
}

impl Screen {
    /// Opens the terminal behind standard output, if there is one.
    pub fn open() -> Option<Screen> {
        if !io::stdout().is_terminal() {
            return None;
        }
        let before = tcgetattr(rustix::stdio::stdin()).ok();
        let mut untidy = signals::untidy();
        untidy.cursor_hidden = true;
        if let Some(before) = before.clone() {
            // Keys are read at once and without echo. Ctrl-C stays a signal.
            let mut during = before.clone();
            during.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &during);
            untidy.terminal = Some(signals::Terminal { before, during, prompt: "" });
        }
        drop(untidy);
        let _ = write!(io::stdout(), "{}", signals::HIDE_CURSOR);
        Some(Screen { lines: 0, before })
    }

    /// Shows `text` in place of the last one, as far as the terminal has room for it.
    ///
    /// # Errors
    /// Fails when the terminal is gone.
    pub fn show(&mut self, text: &str) -> Result<(), Error> {
        let (rows, columns) = size();
        let lines: Vec<String> =
            text.lines().take(rows - 1).map(|line| line.chars().take(columns).collect()).collect();
        let mut out = String::new();
        if self.lines > 0 {
            out += &format!("\x1b[{}A", self.lines);
        }
        // Each line is cleared behind its end, so that nothing flickers. Then everything below is cleared.
        out.extend(lines.iter().map(|line| format!("\r{line}\x1b[K\n")));
        out += "\x1b[J";
        self.lines = lines.len();
        super::super::commands::print(out)
    }

    /// Waits for that time, or for the key that ends the view. Returns true when it was pressed.
    pub fn wait_for_end(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.before.is_none() {
                std::thread::sleep(left);
                return false;
            }
            match key(left) {
                None => return false,
                Some(b'q' | b'Q' | 4) => return true,
                Some(_) => {}
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut untidy = signals::untidy();
        if let Some(settings) = &self.before {
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, settings);
        }
        let _ = write!(io::stdout(), "{}", signals::SHOW_CURSOR);
        let _ = io::stdout().flush();
        (untidy.terminal, untidy.cursor_hidden) = (None, false);
    }
}

/// Returns the rows and columns.
fn size() -> (usize, usize) {
    match tcgetwinsize(rustix::stdio::stdout()) {
        Ok(size) if size.ws_row > 1 && size.ws_col > 0 => (size.ws_row.into(), size.ws_col.into()),
        _ => (24, 80),
    }
}

/// Returns the next key, if one is pressed in that time. The end of input is 4, like Ctrl-D.
fn key(limit: Duration) -> Option<u8> {
    let stdin = rustix::stdio::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
    match poll(&mut polled, Some(&limit)) {
        Ok(0) => None,
        // The signal did not end the process. The caller computes the remaining time anew.
        Err(_) => Some(0),
        Ok(_) => {
            let mut byte = [4];
            match rustix::io::read(stdin, &mut byte) {
                Ok(_) => Some(byte[0]),
                Err(_) => Some(4),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{grant, view};
    use super::*;

    #[test]
    fn the_picture_is_of_the_last_rates() {
        let mut history = History::default();
        for n in 0..20 {
            let (now, was) = (grant(7, 1_000_000), grant(7, 1_000_000 - 2 * n));
            history.add(&view(vec![(now, Some(was)), (grant(8, 0), None)]));
        }
        let last = view(vec![(grant(7, 0), None), (grant(8, 0), None)]);
        let picture = history.picture(&last.grants[0]);
        assert_eq!(picture.chars().count(), SHOWN);
        assert!(picture.starts_with('▂') && picture.ends_with('█'), "{picture}");
        assert_eq!(history.picture(&last.grants[1]), "");
        history.add(&view(vec![(grant(8, 0), None)]));
        assert_eq!(history.picture(&last.grants[0]), "");
    }
}
