//! An address space: its executable mappings, its breakpoints, and our scratch memory in it.
//!
//! Threads and the children of `vfork` share a space. A child of `fork` has a copy, breakpoints included, and
//! `exec` begins a new one.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::ops::Range;
use std::rc::Rc;
use std::time::Instant;

use super::breakpoints::{Armed, Original, Table};
use super::displaced::{Moved, SLOT, gap};
use super::findings::Findings;
use super::guard::{Guard, SpaceMemory};
use super::made::Made;
use super::modules::{Modules, Scanned};
use crate::code::unwind;
use crate::memory::Memory;
use crate::process::maps::{self, Map};
use crate::process::{Pid, Status, Thread};

/// An executable mapping that was searched.
#[derive(Clone, Debug)]
pub(super) struct Mapped {
    pub start: u64,
    pub end: u64,
    offset: u64,
    device: (u32, u32),
    inode: u64,
    /// The image, and the number to add to that image's addresses.
    pub image: Option<(Rc<Scanned>, u64)>,
}

impl Mapped {
    pub fn new(map: &Map, image: Option<(Rc<Scanned>, u64)>) -> Mapped {
        Mapped {
            start: map.start,
            end: map.end,
            offset: map.offset,
            device: map.device,
            inode: map.inode,
            image,
        }
    }

    fn is(&self, map: &Map) -> bool {
        (self.start, self.end, self.offset, self.device, self.inode)
            == (map.start, map.end, map.offset, map.device, map.inode)
    }
}

/// Memory of ours in the process, which holds moved instructions.
#[derive(Clone, Debug)]
struct Scratch {
    start: u64,
    length: u64,
    used: u64,
}

/// The state of a breakpoint that stays.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    /// The hits that are left until the breakpoint rests until the next tick.
    pub budget: u32,
    /// True when it must be armed again at the next tick.
    pub again: bool,
}

/// An address space.
#[derive(Debug)]
pub(super) struct Space {
    /// The number that we gave it.
    pub id: u32,
    pub memory: SpaceMemory,
    pub table: Table,
    /// The processes in this space.
    pub pids: BTreeSet<i32>,
    /// The processes among them that were let go.
    pub left: BTreeSet<i32>,
    pub mapped: Vec<Mapped>,
    /// The mapped images, for unwinding.
    pub modules: unwind::Modules,
    pub since: Instant,
    /// True when no filter announces new code.
    pub unannounced: bool,
    /// True when there is executable memory without a file.
    pub generated: bool,
    /// The code that was made at run time.
    pub made: Option<Made>,
    /// True when some mapping was left for later.
    pub pending: bool,
    /// The function that the dynamic linker calls, for debuggers, when it has mapped something.
    pub linker: Option<u64>,
    pub kept: HashMap<u64, Kept>,
    scratch: Vec<Scratch>,
    moved: HashMap<u64, Moved>,
    /// True when the scratch memory was unmapped. The table of it remains, to move threads out of it.
    unmapped: bool,
    /// Places whose instruction can't be moved, because there is no memory within reach.
    pub stuck: BTreeSet<u64>,
}

impl Space {
    /// Creates the space of a process whose image begins now.
    ///
    /// # Errors
    /// Fails when the memory can't be opened, or the front does not accept it.
    pub fn new(id: u32, thread: &Thread, guard: &Guard) -> io::Result<Space> {
        let memory = SpaceMemory::of(thread.memory())?;
        let pid = thread.pid.as_raw_pid();
        guard.opened(id, &memory)?;
        Ok(Space {
            id,
            memory,
            table: Table::default(),
            pids: BTreeSet::from([pid]),
            left: BTreeSet::new(),
            mapped: Vec::new(),
            modules: unwind::Modules::default(),
            since: Instant::now(),
            unannounced: false,
            generated: false,
            made: None,
            pending: false,
            linker: None,
            kept: HashMap::new(),
            scratch: Vec::new(),
            moved: HashMap::new(),
            unmapped: false,
            stuck: BTreeSet::new(),
        })
    }

    /// Creates the space of a forked child, which is a copy. Memory itself shows which breakpoints came or
    /// went in the parent since the fork.
    ///
    /// # Errors
    /// Fails as [`Space::new`] does.
    pub fn copy(&self, id: u32, thread: &mut Thread, guard: &mut Guard) -> io::Result<Space> {
        // A parent that is undumpable keeps its child's memory from being opened the plain way.
        let memory = SpaceMemory::of(thread.memory()).or_else(|_| {
            open_memory(thread)?;
            SpaceMemory::of(thread.memory())
        })?;
        let pid = thread.pid.as_raw_pid();
        guard.opened(id, &memory)?;
        let mut space = Space {
            id,
            memory,
            table: self.table.unarmed(),
            pids: BTreeSet::from([pid]),
            left: BTreeSet::new(),
            mapped: self.mapped.clone(),
            modules: self.modules.clone(),
            since: self.since,
            unannounced: self.unannounced,
            generated: self.generated,
            made: None,
            pending: self.pending,
            linker: self.linker,
            kept: self.kept.clone(),
            scratch: self.scratch.clone(),
            moved: self.moved.clone(),
            unmapped: self.unmapped,
            stuck: self.stuck.clone(),
        };
        space.table.review(&space.memory, &mut guard.record(id), 0..u64::MAX)?;
        space.review_scratch();
        Ok(space)
    }

    /// Keeps the scratch memory that the child has from its parent, and writes moved instructions that it
    /// lacks.
    fn review_scratch(&mut self) {
        let memory = &self.memory;
        self.scratch.retain(|area| memory.read(area.start, &mut [0]).is_ok());
        let scratch = &self.scratch;
        self.moved.retain(|_, moved| {
            let mut there = vec![0; moved.bytes.len()];
            scratch.iter().any(|area| (area.start..area.start + area.length).contains(&moved.slot))
                && memory.read(moved.slot, &mut there).is_ok()
                && (there == moved.bytes || memory.write_code(moved).is_ok())
        });
    }

    /// Returns one process of the space, for questions to the kernel.
    pub fn pid(&self) -> i32 {
        self.pids.first().copied().unwrap_or(0)
    }

    /// Compares the mappings with those that are known. Mappings that are gone are forgotten. Returns all
    /// mappings, and the new executable ones among them; a place that was mapped anew counts as new.
    ///
    /// # Errors
    /// Fails when the process has ended, or the journal can't be written.
    pub fn changes(&mut self, guard: &mut Guard) -> io::Result<(Vec<Map>, Vec<Map>)> {
        let Some(pid) = rustix::process::Pid::from_raw(self.pid()) else {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        };
        let all = maps::of(pid)?;
        let executable = |map: &&Map| map.executable && !is_of_the_kernel(map);
        let known = std::mem::take(&mut self.mapped);
        for mapped in known {
            let stays = all.iter().filter(executable).any(|map| mapped.is(map)) && self.stands(&mapped);
            if stays {
                self.mapped.push(mapped);
            } else {
                let range = mapped.start..mapped.end;
                self.table.review(&self.memory, &mut guard.record(self.id), range)?;
            }
        }
        let is_new = |map: &&Map| !self.is_scratch(map) && !self.mapped.iter().any(|mapped| mapped.is(map));
        let new = all.iter().filter(executable).filter(is_new).cloned().collect();
        Ok((all, new))
    }

    /// Returns true when the first armed breakpoint of a mapping still stands. Otherwise something else was
    /// mapped at the same place.
    fn stands(&self, mapped: &Mapped) -> bool {
        match self.table.first_armed(mapped.start..mapped.end) {
            Some((address, original)) => original.stands_armed(&self.memory, address),
            None => true,
        }
    }

    pub fn is_scratch(&self, map: &Map) -> bool {
        self.scratch.iter().any(|area| map.contains(area.start))
    }

    /// Returns the image of a mapping: `Some(None)` if it has none, `None` if the mapping was left for later.
    pub fn image_of(&self, map: &Map) -> Option<Option<&Scanned>> {
        let mapped = self.mapped.iter().find(|mapped| mapped.is(map))?;
        Some(mapped.image.as_ref().map(|(scanned, _)| &**scanned))
    }

    /// Arms breakpoints again in memory that may have been overwritten.
    ///
    /// # Errors
    /// Fails when the journal can't be written.
    pub fn arm_again(
        &mut self,
        range: &Range<u64>,
        modules: &mut Modules,
        guard: &mut Guard,
        findings: &mut Findings,
    ) -> io::Result<()> {
        let touched = |mapped: &&Mapped| mapped.start < range.end && mapped.end > range.start;
        let touched: Vec<Mapped> = self.mapped.iter().filter(touched).cloned().collect();
        for mapped in touched {
            let Some((scanned, _)) = &mapped.image else { continue };
            self.table.review(&self.memory, &mut guard.record(self.id), mapped.start..mapped.end)?;
            let unwatchable = &mut findings.modules[scanned.module].unwatchable;
            findings.cost.armed += self.arm_image(&mapped, modules, guard, unwatchable) as u64;
        }
        Ok(())
    }

    /// Arms an image's breakpoints in a mapping, and returns how many stand. Places that can't be watched are
    /// counted in `unwatchable`.
    pub fn arm_image(
        &mut self,
        mapped: &Mapped,
        modules: &mut Modules,
        guard: &mut Guard,
        unwatchable: &mut usize,
    ) -> usize {
        let Some((scanned, bias)) = &mapped.image else { return 0 };
        let mut stand = 0;
        for index in scanned.spots.clone() {
            let spot = &mut modules.spots[index];
            let address = spot.address.wrapping_add(*bias);
            if !(mapped.start..mapped.end).contains(&address) {
                continue;
            }
            let original = spot.original.or_else(|| self.instruction_at(address));
            let armed = original.is_some_and(|original| {
                self.table.know(address, original, index);
                let armed = self.table.arm(&self.memory, &mut guard.record(self.id), address);
                armed.is_ok_and(|armed| armed == Armed::Stands)
            });
            stand += usize::from(armed);
            if !armed && !spot.unwatchable {
                spot.unwatchable = true;
                *unwatchable += 1;
            }
        }
        stand
    }

    /// Returns the instruction in memory, without our breakpoint.
    fn instruction_at(&self, address: u64) -> Option<Original> {
        if let Some(known) = self.table.get(address).filter(|known| known.armed) {
            return Some(known.original);
        }
        let mut code = [0; super::breakpoints::LONGEST];
        let length =
            (0..=code.len()).rev().find(|length| self.memory.read(address, &mut code[..*length]).is_ok())?;
        Original::first(&code[..length], address)
    }

    /// Returns the moved instruction for a program counter in our scratch memory.
    pub fn real(&self, pc: u64) -> Option<&Moved> {
        let area = self.scratch.iter().find(|area| (area.start..area.start + area.length).contains(&pc))?;
        let slot = area.start + (pc - area.start) / SLOT * SLOT;
        self.moved.values().find(|moved| moved.slot == slot)
    }

    /// Returns the moved instruction of a place. The first call moves it, into memory that the stopped thread
    /// maps for us.
    pub fn moved(&mut self, thread: &mut Thread, address: u64) -> Result<&Moved, String> {
        if !self.moved.contains_key(&address) {
            let original =
                self.table.get(address).map(|known| known.original).ok_or("its instruction is not known")?;
            let moved = self.place(thread, address, &original)?;
            self.memory.write_code(&moved).map_err(|error| error.to_string())?;
            self.moved.insert(address, moved);
        }
        Ok(&self.moved[&address])
    }

    fn place(&mut self, thread: &mut Thread, address: u64, original: &Original) -> Result<Moved, String> {
        let existing = self.scratch.iter_mut().filter(|area| area.used < area.length);
        for area in existing {
            if let Some(moved) = Moved::new(original, address, area.start + area.used) {
                area.used += SLOT;
                return Ok(moved);
            }
        }
        let mapped = self.mapped.iter().find(|mapped| (mapped.start..mapped.end).contains(&address));
        let near = mapped.map_or(address..address + 1, |mapped| mapped.start..mapped.end);
        let start = self.map_scratch(thread, near)?;
        let moved = Moved::new(original, address, start).ok_or("it can't be executed in scratch memory")?;
        self.scratch.push(Scratch { start, length: AREA, used: SLOT });
        Ok(moved)
    }

    fn map_scratch(&self, thread: &mut Thread, near: Range<u64>) -> Result<u64, String> {
        const PROT_READ_EXEC: u64 = 5;
        const PRIVATE_ANONYMOUS_FIXED_NOREPLACE: u64 = 0x10_0022;
        if self.scratch.len() >= MOST_AREAS {
            return Err("there are too many scratch areas".into());
        }
        if has_own_filter(thread) {
            return Err("the program restricts its own system calls".into());
        }
        let all = maps::of(thread.pid).map_err(|error| error.to_string())?;
        let taken: Vec<(u64, u64)> = all.iter().map(|map| (map.start, map.end)).collect();
        let place = gap(&taken, (near.start, near.end), AREA).ok_or("there is no room near its code")?;
        let arguments = [place, AREA, PROT_READ_EXEC, PRIVATE_ANONYMOUS_FIXED_NOREPLACE, u64::MAX, 0];
        let got = thread.inject(libc::SYS_mmap as u64, arguments).map_err(|error| error.to_string())?;
        if got == place { Ok(got) } else { Err("the kernel mapped it elsewhere".into()) }
    }

    /// Makes a stopped thread unmap all scratch memory. Threads inside must be moved out of it before they go
    /// on.
    pub fn unmap_scratch(&mut self, thread: &mut Thread) {
        if std::mem::replace(&mut self.unmapped, true) || has_own_filter(thread) {
            // If it stays mapped, nothing jumps there any more.
            return;
        }
        for area in &self.scratch {
            let _ = thread.inject(libc::SYS_munmap as u64, [area.start, area.length, 0, 0, 0, 0]);
        }
    }

    /// Returns true when any instruction was moved.
    pub fn has_scratch(&self) -> bool {
        !self.scratch.is_empty()
    }
}

#[cfg(target_arch = "x86_64")]
fn open_memory(thread: &mut Thread) -> io::Result<()> {
    thread.open_memory()
}

#[cfg(not(target_arch = "x86_64"))]
fn open_memory(_: &mut Thread) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The size of one scratch area.
const AREA: u64 = 0x1_0000;

/// The largest number of scratch areas.
const MOST_AREAS: usize = 16;

/// Returns true for mappings of the kernel's own, which we leave alone.
pub(super) fn is_of_the_kernel(map: &Map) -> bool {
    ["[vdso]", "[vsyscall]", "[vvar]", "[uprobes]"].iter().any(|name| map.path == *name)
}

/// Returns true when the program has put itself under a seccomp filter, because an injected call might then
/// kill it. Filters inherited from this process, and the one that the program was launched with, don't count.
fn has_own_filter(thread: &Thread) -> bool {
    let count = |tid: Pid| Status::of(tid).and_then(|status| status.number("Seccomp_filters")).unwrap_or(0);
    count(thread.tid) > count(rustix::process::getpid()) + 1
}
