//! Looks for new code: mapped files, generated code, and the dynamic linker's reports.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{LINKER, Trace};
use crate::code::unwind;
use crate::memory::Memory;
use crate::process::Thread;
use crate::process::maps::Map;
use crate::trace::breakpoints::{Armed, Original};
use crate::trace::fileless::{self, Changed, Found};
use crate::trace::findings::Note;
use crate::trace::space::{Mapped, Space};
use crate::trace::{generated, linker};

/// The time for which a module that checks itself is left alone.
const UNTIL_CHECKED: Duration = Duration::from_millis(300);

impl Trace {
    /// Handles a program that begins in a memory of its own.
    pub(super) fn begin_space(&mut self, thread: &mut Thread, attached: bool) -> io::Result<()> {
        let pid = thread.pid.as_raw_pid();
        if thread.registers()?.is_32_bit() {
            self.findings.note(Note::Lost { pid, why: "it is a 32-bit program".into() });
            return Ok(());
        }
        #[cfg(target_arch = "x86_64")]
        thread.expect_calls()?;
        let id = self.number();
        match Space::new(id, thread, &self.guard) {
            Ok(mut space) => {
                space.unannounced = attached || !self.options.announced;
                self.spaces.insert(id, space);
                self.space_of.insert(pid, id);
                self.look(id, Some(&Changed::EVERYTHING));
            }
            Err(error) => self.findings.note(Note::Lost { pid, why: error.to_string() }),
        }
        Ok(())
    }

    /// Looks for new mappings and arms them. Executable memory without an image is searched where it has
    /// `changed`.
    pub(super) fn look(&mut self, id: u32, changed: Option<&Changed>) {
        let Some(mut space) = self.spaces.remove(&id) else { return };
        let started = Instant::now();
        let scanned = self.findings.cost.scanning;
        match space.changes(&mut self.guard) {
            Ok((all, new)) => {
                space.pending = false;
                for map in &new {
                    self.take_in(&mut space, &all, map);
                }
                if let Err(error) = self.search(&mut space, &all, changed) {
                    self.findings.note(Note::Lost { pid: space.pid(), why: error.to_string() });
                }
            }
            // The process has ended, which will be reported.
            Err(error)
                if error.raw_os_error() == Some(libc::ESRCH) || error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.findings.note(Note::Lost { pid: space.pid(), why: error.to_string() }),
        }
        if space.unannounced && space.linker.is_none() {
            self.watch_linker(&mut space);
        }
        let scanning = self.findings.cost.scanning.saturating_sub(scanned);
        self.findings.cost.looking += started.elapsed().saturating_sub(scanning);
        self.spaces.insert(id, space);
    }

    /// Searches executable memory that no image accounts for.
    fn search(&mut self, space: &mut Space, all: &[Map], changed: Option<&Changed>) -> io::Result<()> {
        if let Some(changed) = changed.filter(|changed| changed.was_there) {
            space.arm_again(&changed.range, &mut self.modules, &mut self.guard, &mut self.findings)?;
        }
        let Found { classes, bytes, rewritable, gone } = fileless::look(space, all, changed);
        let pid = space.pid();
        if !classes.is_empty() {
            self.findings.note(Note::MayHold { pid, bytes, classes });
        }
        if rewritable > 0 {
            self.findings.note(Note::Rewritable { pid, bytes: rewritable });
        }
        if gone {
            self.findings.note(Note::Gone { pid });
        }
        Ok(())
    }

    /// Handles one new executable mapping.
    fn take_in(&mut self, space: &mut Space, all: &[Map], map: &Map) {
        if !map.is_file() {
            space.generated = true;
            space.mapped.push(Mapped::new(map, None));
            return;
        }
        if self.options.delay.is_some_and(|delay| space.since.elapsed() < delay) {
            space.pending = true;
            return;
        }
        let pid = space.pid();
        let scanned = self.modules.of_map(map, all, pid, &space.memory, &mut self.findings);
        let Some(scanned) = scanned else {
            space.mapped.push(Mapped::new(map, None));
            return;
        };
        let Some(bias) = scanned.image.bias(map.start, map.offset) else {
            space.mapped.push(Mapped::new(map, None));
            return;
        };
        if scanned.checks_itself && space.since.elapsed() < UNTIL_CHECKED {
            let path = self.findings.modules[scanned.module].path.clone();
            self.findings.note(Note::ChecksItself { path });
            space.pending = true;
            return;
        }
        self.had_by(space, scanned.module);
        let name = map.path.to_string_lossy();
        space.modules.insert(unwind::Module {
            start: map.start,
            end: map.end,
            bias,
            name: Arc::from(name.rsplit('/').next().unwrap_or(&name)),
            image: Arc::clone(&scanned.image),
        });
        let mapped = Mapped::new(map, Some((Rc::clone(&scanned), bias)));
        let unwatchable = &mut self.findings.modules[scanned.module].unwatchable;
        if map.shared {
            // A breakpoint in shared memory would be executed by other processes, too.
            *unwatchable = scanned.spots.len();
        } else {
            let armed = space.arm_image(&mapped, &mut self.modules, &mut self.guard, unwatchable);
            self.findings.cost.armed += armed as u64;
        }
        space.mapped.push(mapped);
    }

    /// Asks for code that was made since the last time.
    pub(super) fn look_for_made(&mut self, id: u32) {
        let Some(mut space) = self.spaces.remove(&id) else { return };
        let new = generated::look(&mut space, &mut self.modules, &mut self.guard, &mut self.findings);
        new.into_iter().for_each(|module| self.had_by(&space, module));
        self.spaces.insert(id, space);
    }

    pub(super) fn had_by(&mut self, space: &Space, module: usize) {
        for pid in &space.pids {
            if let Some(index) = self.process_of.get(pid) {
                let modules = &mut self.findings.processes[*index].modules;
                if !modules.contains(&module) {
                    modules.push(module);
                }
            }
        }
    }

    /// Sets a breakpoint at the function that the dynamic linker calls after mapping something.
    fn watch_linker(&mut self, space: &mut Space) {
        let Ok(vector) = std::fs::read(format!("/proc/{}/auxv", space.pid())) else { return };
        let Some(address) = linker::breakpoint(&vector, &space.memory) else { return };
        let mut code = [0; crate::trace::breakpoints::LONGEST];
        if space.memory.read(address, &mut code).is_err() {
            return;
        }
        if let Some(original) = Original::first(&code, address) {
            space.table.know(address, original, LINKER);
            let mut record = self.guard.record(space.id);
            if matches!(space.table.arm(&space.memory, &mut record, address), Ok(Armed::Stands)) {
                space.linker = Some(address);
            }
        }
    }
}
