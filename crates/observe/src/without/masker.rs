//! The watcher that hides features from programs.

use std::io;

use rustix::process::Pid;

use super::arch::Kept;
use super::report::{Note, Report, Why};
use crate::capability::Withheld;
use crate::process::{self, Began, Signal, Thread, Watcher};

/// A watcher that hides features from programs.
#[derive(Debug)]
pub struct Masker {
    /// The state of this architecture's method.
    kept: Kept,
    /// True when this process may grant the privileges of a program's file.
    root: bool,
    report: Report,
}

impl Masker {
    /// Hides these features.
    pub fn new(withheld: Withheld) -> Masker {
        Masker {
            kept: Kept::new(withheld),
            root: rustix::process::geteuid().is_root(),
            report: Report::default(),
        }
    }

    /// Returns the report so far.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Adds a note, once for each program, as some are started often.
    fn note(&mut self, pid: Pid, why: Why) {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok().map(Into::into);
        let notes = &mut self.report.notes;
        if !notes.iter().any(|note| note.program == program && note.why == why) {
            notes.push(Note { pid, program, why });
        }
    }
}

impl Watcher for Masker {
    fn began(&mut self, thread: &mut Thread, how: Began) -> io::Result<()> {
        if how == Began::Attached {
            self.note(thread.pid, Why::Running);
            return Ok(());
        }
        if !self.root && has_privileges(thread.pid) {
            self.note(thread.pid, Why::LostPrivileges);
        }
        let masked = self.kept.hide(thread, &mut self.report);
        match masked {
            Ok(()) => self.report.programs += 1,
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Err(error),
            Err(error) => self.note(thread.pid, Why::Unmasked(error.to_string())),
        }
        Ok(())
    }

    fn leaving(&mut self, thread: &mut Thread) -> io::Result<()> {
        match self.kept.show(thread) {
            Err(error) if error.raw_os_error() != Some(libc::ESRCH) => {
                self.note(thread.pid, Why::LeftMasked(error.to_string()));
                Ok(())
            }
            result => result,
        }
    }

    fn signal(&mut self, thread: &mut Thread, signal: &Signal) -> io::Result<process::Answer> {
        if signal.number == libc::SIGSEGV {
            self.kept.faulted(thread, signal, &mut self.report)
        } else {
            Ok(process::Answer::NotMine)
        }
    }
}

/// Returns true when a program's file grants privileges that its process lacks.
fn has_privileges(pid: Pid) -> bool {
    use std::os::unix::fs::MetadataExt;

    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2010;
    let path = format!("/proc/{pid}/exe");
    let Ok(file) = std::fs::metadata(&path) else { return false };
    let user = file.mode() & SET_USER != 0 && file.uid() != rustix::process::geteuid().as_raw();
    let group = file.mode() & SET_GROUP == SET_GROUP && file.gid() != rustix::process::getegid().as_raw();
    user || group
        || rustix::fs::getxattr(&path, "security.capability", &mut [0u8; 64]).is_ok_and(|length| length > 0)
}
