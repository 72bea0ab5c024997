//! Shows a line on the terminal while a large file is looked through, because nothing else happens meanwhile.

use std::any::Any;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use indicatif::ProgressBar;
use millstream_observe::trace::{Looking, Trace};
use rustix::termios::{LocalModes, isatty, tcgetattr};

use super::table::{cut, terminal_width};
use crate::shown;

/// The time below which no line is worth showing.
const SOON: Duration = Duration::from_millis(200);

/// The place of the line.
#[derive(Clone)]
pub enum Place {
    /// Within a progress line that exists anyway.
    In(ProgressBar),
    /// On a line of its own, which is removed again. The program uses this terminal as well, so there is none
    /// once it has begun.
    Own,
}

/// Has a trace show which file it looks through, where standard error is a terminal.
pub fn show(watch: &mut Trace, place: Place) {
    if isatty(rustix::stdio::stderr()) {
        watch.show_looking(move |looking| match &place {
            Place::Own if !(looking.is_new && is_plain()) => Box::new(()) as Box<dyn Any>,
            place => Box::new(Shown::soon(words(looking), place.clone())),
        });
    }
}

fn words(looking: &Looking<'_>) -> String {
    let file = Path::new(looking.path).file_name().unwrap_or_default().to_string_lossy();
    let file = shown::text(&file);
    format!("looking through {file} ({} MB)", looking.bytes.div_ceil(1_000_000))
}

/// Returns true when the terminal is in the mode of a shell. Programs that draw on the whole of it turn that
/// off.
fn is_plain() -> bool {
    let lines = LocalModes::ICANON | LocalModes::ECHO;
    tcgetattr(rustix::stdio::stderr()).is_ok_and(|modes| modes.local_modes.contains(lines))
}

/// A line that appears when the work takes long, and disappears when this is dropped.
struct Shown {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Shown {
    fn soon(text: String, place: Place) -> Shown {
        let (tell, told) = channel();
        let wait = move || {
            if told.recv_timeout(SOON) == Err(RecvTimeoutError::Timeout) {
                let clear = draw(&text, &place);
                let _ = told.recv();
                clear();
            }
        };
        // Without a thread there is no line.
        let thread = Builder::new().name("ms-looking".to_owned()).spawn(wait).ok();
        Shown { thread: thread.map(|thread| (tell, thread)) }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some((tell, thread)) = self.thread.take() {
            drop(tell);
            let _ = thread.join();
        }
    }
}

/// Draws the line, and returns a function that removes it.
fn draw(text: &str, place: &Place) -> Box<dyn FnOnce()> {
    match place {
        Place::In(bar) => {
            bar.set_message(text.to_owned());
            let bar = bar.clone();
            Box::new(move || bar.set_message(""))
        }
        Place::Own => {
            // A character in the last column would break the line on some terminals.
            let line = cut(text, terminal_width().unwrap_or(80).saturating_sub(1), true);
            let blank = " ".repeat(line.chars().count());
            let write = |line: &str| {
                let _ = io::stderr().write_all(format!("\r{line}\r").as_bytes());
            };
            write(&line);
            Box::new(move || write(&blank))
        }
    }
}
