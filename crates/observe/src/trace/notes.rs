//! Remarks for the reader of findings.

use std::ffi::OsString;
use std::fmt;

use crate::code::Classes;

/// A remark for the reader of findings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Note {
    /// A mapped file is no readable image. It was searched like memory without a file.
    Unreadable {
        /// The path of the file.
        path: OsString,
        /// The reason.
        why: String,
    },
    /// A module checks its own code when it starts, and would refuse to work with breakpoints in it.
    ChecksItself {
        /// The path of the module.
        path: OsString,
    },
    /// Instructions under standing breakpoints were stepped over. This is slow, and other threads may have
    /// passed uncounted.
    NoScratch {
        /// The reason why no scratch memory could be made.
        why: String,
    },
    /// New code was looked for only ten times a second, so what ran in between was missed.
    LateCode,
    /// A process could not be watched.
    Lost {
        /// The process.
        pid: i32,
        /// The reason.
        why: String,
    },
    /// Some breakpoints could not be removed.
    NotPutBack {
        /// The process.
        pid: i32,
        /// The number of breakpoints.
        count: usize,
    },
    /// Executable memory that no image accounts for holds bytes that may be instructions of a class.
    MayHold {
        /// The process.
        pid: i32,
        /// The size of the largest such piece.
        bytes: u64,
        /// The classes in all pieces.
        classes: Classes,
    },
    /// A process could change executable memory unnoticed.
    Rewritable {
        /// The process.
        pid: i32,
        /// The largest amount at any time.
        bytes: u64,
    },
    /// Executable memory was gone, or no longer executable, before it could be searched.
    Gone {
        /// The process.
        pid: i32,
    },
    /// Other processes of an attached process's program were not attached to.
    Beside {
        /// The process that was attached to.
        pid: i32,
        /// The other processes.
        others: Vec<i32>,
    },
    /// The processor's counters could not be used.
    NoCounters {
        /// The reason.
        why: String,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Unreadable { path, why } => {
                let path = path.display();
                write!(f, "{path} is no readable image, so its bytes were searched: {why}")
            }
            Note::ChecksItself { path } => {
                let path = path.display();
                write!(f, "{path} checks its own code when it starts, so it is watched only from then on")
            }
            Note::NoScratch { why } => {
                write!(
                    f,
                    "instructions under standing breakpoints were single-stepped, so some entries may be missing: {why}"
                )
            }
            Note::LateCode => f.write_str(
                "new code was looked for every 100 ms, so what ran only in its first 100 ms was missed",
            ),
            Note::Lost { pid, why } => write!(f, "process {pid} was not watched: {why}"),
            Note::NotPutBack { pid, count } => {
                write!(f, "{count} breakpoints of process {pid} could not be removed: their memory is gone")
            }
            Note::MayHold { pid, bytes, classes } => {
                let size = size(*bytes);
                write!(
                    f,
                    "executable memory of {size} without a file, in process {pid}, holds bytes that may be such instructions: {classes}"
                )
            }
            Note::Rewritable { pid, bytes } => {
                let size = size(*bytes);
                write!(
                    f,
                    "process {pid} could rewrite {size} of executable memory unnoticed, so nobody can say what it executed there"
                )
            }
            Note::Gone { pid } => {
                write!(f, "executable memory of process {pid} was gone before it could be looked at")
            }
            Note::Beside { pid, others } => {
                const MOST: usize = 8;
                let shown: Vec<String> = others.iter().take(MOST).map(i32::to_string).collect();
                let more = others.len().saturating_sub(MOST);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                write!(
                    f,
                    "beside process {pid}, and what it started, the same program ran unwatched in {}{more}",
                    shown.join(", ")
                )
            }
            Note::NoCounters { why } => write!(f, "the processor's own counters were not used: {why}"),
        }
    }
}

impl Note {
    /// Merges another note on the same thing. Returns `false` if it is about something else.
    pub(super) fn take_in(&mut self, other: &Note) -> bool {
        match (self, other) {
            (Note::MayHold { pid, bytes, classes }, Note::MayHold { pid: of, bytes: b, classes: c })
                if pid == of =>
            {
                *bytes = (*bytes).max(*b);
                *classes = classes.union(*c);
                true
            }
            (Note::Rewritable { pid, bytes }, Note::Rewritable { pid: of, bytes: b }) if pid == of => {
                *bytes = (*bytes).max(*b);
                true
            }
            (known, other) => known == other,
        }
    }
}

/// Formats a size, such as `4 KB` or `8 GB`.
fn size(bytes: u64) -> String {
    match bytes {
        0..0xA0_0000 => format!("{} KB", bytes.div_ceil(1 << 10)),
        0xA0_0000..0x2_8000_0000 => format!("{} MB", bytes >> 20),
        _ => format!("{} GB", bytes >> 30),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Class;

    #[test]
    fn notes_of_one_memory_become_one() {
        let of = |pid, bytes, class: Class| Note::MayHold { pid, bytes, classes: class.into() };
        let mut note = of(7, 4096, Class::Aes);
        assert!(!note.take_in(&of(8, 4096, Class::Aes)), "that is another process");
        assert!(note.take_in(&of(7, 8192, Class::Sha)));
        assert_eq!(
            note.to_string(),
            "executable memory of 8 KB without a file, in process 7, holds bytes that may be such instructions: aes sha"
        );
        let beside = |others: std::ops::Range<i32>| Note::Beside { pid: 7, others: others.collect() };
        assert!(beside(8..10).to_string().ends_with("unwatched in 8, 9"));
        assert!(beside(8..19).to_string().ends_with(" 15 and 3 more"));
        let mut note = Note::Rewritable { pid: 7, bytes: 8 << 30 };
        assert!(
            note.take_in(&Note::Rewritable { pid: 7, bytes: 1 }) && !note.take_in(&Note::Gone { pid: 7 })
        );
        assert!(note.to_string().contains(" 8192 MB "), "{note}");
    }
}
