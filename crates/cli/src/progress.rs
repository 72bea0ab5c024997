//! The progress of a long run, on standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::observe::table::terminal_width;
use crate::signals;

/// The length in bytes from which a bar is worth its place on the screen.
pub(crate) const LARGE: u64 = 64 << 20;

/// The columns that a bar with everything beside it needs.
const WIDE: usize = 72;

/// The columns that the figures alone need.
const NARROW: usize = 40;

/// The positions of the Solaris bar, including its brackets.
const POSITIONS: u64 = 79;

/// The bytes for one dot of the Solaris commands, where the length isn't known.
const BYTES_PER_DOT: u64 = 40 * 1024;

/// A display that is told of every piece of work done.
#[derive(Debug)]
pub enum Progress {
    /// Shows nothing.
    Silent,
    /// A bar, where standard error is a terminal.
    Bar(ProgressBar),
    /// The bar of `encrypt -v`.
    Solaris(Mutex<Solaris>),
}

/// The state of the bar of `encrypt -v`.
#[derive(Debug)]
pub struct Solaris {
    total: Option<u64>,
    done: u64,
    drawn: u64,
}

impl Progress {
    /// Makes a bar for `total` bytes, or a count where that is unknown, when there is a terminal to see it
    /// and the input is not typed there.
    pub fn bar(total: Option<u64>, quiet: bool) -> Self {
        let small = total.is_some_and(|total| total < LARGE);
        let typed = total.is_none() && io::stdin().is_terminal();
        Progress::of_any_length(total, quiet || small || typed)
    }

    /// Makes a bar as [`Progress::bar`] does, also for few bytes, where it is not their number that makes them take long.
    pub fn of_any_length(total: Option<u64>, quiet: bool) -> Self {
        if quiet || !io::stderr().is_terminal() {
            return Progress::Silent;
        }
        let bar = match total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::no_length(),
        };
        let text = match (total, width()) {
            (Some(_), WIDE..) => {
                "{wide_bar} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left"
            }
            (Some(_), NARROW..) => "{percent}%, {binary_bytes_per_sec}, {eta} left",
            (Some(_), _) => "{percent}%",
            (None, NARROW..) => "{spinner} {binary_bytes}, {binary_bytes_per_sec}",
            (None, _) => "{binary_bytes}",
        };
        let bar = styled(bar, text);
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress::Bar(bar)
    }

    /// Makes a bar for `total` steps, each of which [`Progress::say`] names, when there is a terminal to see
    /// it.
    pub fn cells(total: u64, quiet: bool) -> Self {
        if quiet || !io::stderr().is_terminal() {
            return Progress::Silent;
        }
        let text = match width() {
            WIDE.. => "{bar:20} {pos} of {len}, {eta} left: {wide_msg}",
            _ => "{pos} of {len}: {wide_msg}",
        };
        Progress::Bar(styled(ProgressBar::new(total), text))
    }

    /// Makes a line that [`Progress::say`] fills, when there is a terminal to see it. It moves only when it
    /// is told to; no thread is started for it.
    pub fn line() -> Self {
        if !io::stderr().is_terminal() {
            return Progress::Silent;
        }
        Progress::Bar(styled(ProgressBar::no_length(), "{elapsed} {wide_msg}"))
    }

    /// Names the current step, where there is room for it.
    pub fn say(&self, what: &str) {
        if let Progress::Bar(bar) = self {
            bar.set_message(what.to_owned());
        }
    }

    /// Makes the bar of `encrypt -v`: 79 positions for a file, a dot for each 40 KB of a stream.
    pub fn solaris(total: Option<u64>) -> Self {
        Progress::Solaris(Mutex::new(Solaris { total, done: 0, drawn: 0 }))
    }

    /// Counts `bytes` more.
    pub fn advance(&self, bytes: u64) {
        match self {
            Progress::Silent => {}
            Progress::Bar(bar) => bar.inc(bytes),
            Progress::Solaris(state) => {
                let drawn = state.lock().unwrap_or_else(|e| e.into_inner()).advance(bytes);
                let _ = io::stderr().write_all(drawn.as_bytes());
            }
        }
    }

    /// Has a message written where the bar is, which comes back below it.
    pub fn suspend(&self, write: impl FnOnce()) {
        match self {
            Progress::Bar(bar) => bar.suspend(write),
            Progress::Silent | Progress::Solaris(_) => write(),
        }
    }

    /// Ends the display.
    pub fn finish(&self, done: bool) {
        match self {
            Progress::Silent => {}
            Progress::Bar(bar) => {
                signals::untidy().progress = None;
                bar.finish_and_clear();
            }
            Progress::Solaris(state) => {
                let drawn = state.lock().unwrap_or_else(|e| e.into_inner()).finish(done);
                let _ = io::stderr().write_all(drawn.as_bytes());
            }
        }
    }
}

/// Gives a bar its look, and has a signal remove it from the screen.
fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    bar.set_style(ProgressStyle::with_template(template).expect("a constant template"));
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
    signals::untidy().progress = Some(bar.clone());
    bar
}

/// Returns the width of the terminal. A bar never takes more than one line of it.
fn width() -> usize {
    terminal_width().unwrap_or(80)
}

impl Solaris {
    fn advance(&mut self, bytes: u64) -> String {
        self.done += bytes;
        match self.total {
            // The closing bracket is the last position.
            Some(total) => {
                let due = (self.done.min(total) * POSITIONS / total.max(1)).min(POSITIONS - 1);
                self.draw_to(due)
            }
            None => {
                let due = 1 + self.done / BYTES_PER_DOT;
                let dots = ".".repeat((due - self.drawn) as usize);
                self.drawn = due;
                dots
            }
        }
    }

    fn finish(&mut self, done: bool) -> String {
        let rest = match self.total {
            Some(_) if done => self.draw_to(POSITIONS - 1) + "]",
            _ => String::new(),
        };
        rest + if done { "\nDone.\n" } else { "\n" }
    }

    fn draw_to(&mut self, due: u64) -> String {
        let fresh = (self.drawn..due).map(|position| match position {
            0 => '[',
            19 | 39 | 59 => '|',
            _ => '.',
        });
        let text = fresh.collect();
        self.drawn = self.drawn.max(due);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_has_79_positions_with_a_mark_at_each_quarter() {
        for step in [1, 7, 4096, 1 << 20] {
            let mut bar = Solaris { total: Some(1 << 20), done: 0, drawn: 0 };
            let mut text = String::new();
            for _ in 0..(1u64 << 20).div_ceil(step) {
                text += &bar.advance(step);
            }
            text += &bar.finish(true);
            let quarters =
                ["[..................", "...................", "...................", "..................]"];
            assert_eq!(text, quarters.join("|") + "\nDone.\n", "step {step}");
        }
    }

    #[test]
    fn a_stream_gets_a_dot_at_once_and_one_for_each_40_kilobytes() {
        let mut bar = Solaris { total: None, done: 0, drawn: 0 };
        assert_eq!(bar.advance(1), ".");
        assert_eq!(bar.advance(40 * 1024 - 2), "");
        assert_eq!(bar.advance(1 + 80 * 1024), "...");
        assert_eq!(bar.finish(true), "\nDone.\n");
    }
}
