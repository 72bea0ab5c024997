//! The watcher that traces: it arms what is mapped, and learns from what fires.

use std::collections::{HashMap, HashSet};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::breakpoints::{Armed, Original, Trap};
use super::counters::{Counters, events_here};
use super::displaced::{Way, way};
use super::findings::{Findings, Mode, Note, Origin, Process};
use super::guard::{Guard, SpaceMemory};
use super::made::{self, AsItWas};
use super::modules::{Modules, Spot, command_of};
use super::origin;
use super::space::{Kept, Mapped, Space};
use super::{Options, Progress, linker};
use crate::code::{Class, unwind};
use crate::memory::Memory;
use crate::process::maps::{self, Map};
use crate::process::{Answer, Began, Pid, Processes, SI_KERNEL, Signal, Thread, Watcher};

/// How often new code is looked for where nobody tells, and what fired is armed again.
const TICK: Duration = Duration::from_millis(100);

/// How often a site may fire for noise before it is left until the next tick, the first time and later.
const NOISE: (u32, u32) = (64, 2);

/// How many hits at a function's entry an estimate of its rate is made of, in one sample.
const PER_SAMPLE: u32 = 8;

/// Of how many times between hits the middle one is taken.
const MOST_GAPS: usize = 10_000;

/// How many entries are counted of a function that serves hash tables.
const MOST_HASHES: u64 = 1000;

/// How many chains of callers are kept of a function, and how long they may be.
const CHAINS: usize = 4;
const CHAIN: usize = 24;

/// What the dynamic linker's breakpoint has for a site.
const LINKER: usize = usize::MAX;

/// How long a module that checks itself is left alone.
const UNTIL_CHECKED: Duration = Duration::from_millis(300);

/// Traces which crypto instructions run. Give it to a [`crate::process::Tracer`], then ask [`Trace::finish`].
pub struct Trace {
    options: Options,
    findings: Findings,
    modules: Modules,
    spaces: HashMap<u32, Space>,
    /// Which space a process has.
    space_of: HashMap<i32, u32>,
    /// Which of the findings' processes a process is now.
    process_of: HashMap<i32, usize>,
    /// Which process a thread belongs to.
    threads: HashMap<i32, i32>,
    guard: Guard,
    counters: Counters,
    started: Instant,
    ticked: Instant,
    next_space: u32,
    /// Threads that a signal took out of a moved instruction before it was executed: they will come again.
    interrupted: HashMap<i32, u64>,
    /// When a thread went on from a function's entry.
    went_on: HashMap<(i32, usize, usize), Instant>,
    /// The times from a thread's leaving a function's entry to its next hit there.
    gaps: HashMap<(usize, usize), Vec<Duration>>,
    /// Functions that ran in this sample.
    sampled: HashSet<(usize, usize)>,
    progress: Option<Show>,
}

type Show = Box<dyn FnMut(&Progress)>;

impl Trace {
    /// For programs that we launch and that end with us.
    ///
    /// # Errors
    /// On another processor than x86-64, or when there is no memory for the journal.
    pub fn new(options: Options) -> io::Result<Trace> {
        Trace::guarded(options, Guard::alone()?)
    }

    /// For a process that must stay intact whatever happens to us; see [`super::guard::guarded`].
    ///
    /// # Errors
    /// On another processor than x86-64.
    pub fn guarded(options: Options, guard: Guard) -> io::Result<Trace> {
        if cfg!(not(target_arch = "x86_64")) {
            let text = "tracing crypto instructions works on x86-64 only, so far; `run --without` and `compare` work here";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        let now = Instant::now();
        Ok(Trace {
            findings: Findings { mode: options.mode, lacking: Class::lacking(), ..Findings::default() },
            options,
            modules: Modules::default(),
            spaces: HashMap::new(),
            space_of: HashMap::new(),
            process_of: HashMap::new(),
            threads: HashMap::new(),
            guard,
            counters: Counters::default(),
            started: now,
            ticked: now,
            next_space: 0,
            interrupted: HashMap::new(),
            went_on: HashMap::new(),
            gaps: HashMap::new(),
            sampled: HashSet::new(),
            progress: None,
        })
    }

    /// Calls `show` a few times a second while it works.
    pub fn show_progress(&mut self, show: impl FnMut(&Progress) + 'static) {
        self.progress = Some(Box::new(show));
    }

    /// Looks through what a process has mapped while it runs still: so attaching stops it for milliseconds only.
    ///
    /// What can't be looked at now is looked at then.
    pub fn prepare(&mut self, pid: i32) {
        let (Some(number), Ok(memory)) = (Pid::from_raw(pid), SpaceMemory::open(pid)) else { return };
        let Ok(all) = maps::of(number) else { return };
        for map in all.iter().filter(|map| map.executable && map.is_file()) {
            self.modules.of_map(map, &all, pid, &memory, &mut self.findings);
        }
    }

    /// What was found until now.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// What was found. What stands still is put back.
    pub fn finish(mut self) -> Findings {
        self.findings.duration = self.started.elapsed();
        let running: Vec<i32> = self.process_of.keys().copied().collect();
        running.into_iter().for_each(|pid| self.watched_until_now(pid));
        for ((module, function), gaps) in &mut self.gaps {
            gaps.sort_unstable();
            let rate = 1_000_000_000 / gaps[gaps.len() / 2].as_nanos().max(1);
            self.findings.modules[*module].functions[*function].rate = u64::try_from(rate).ok();
        }
        self.findings.counters = self.counters.read();
        std::mem::take(&mut self.findings)
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        Progress {
            processes: self.findings.processes.len(),
            running: self.process_of.len(),
            modules: self.findings.modules.len(),
            armed: self.spaces.values().map(|space| space.table.armed()).sum(),
            fired: self.findings.cost.fired,
        }
    }

    fn watched_until_now(&mut self, pid: i32) {
        if let Some(index) = self.process_of.remove(&pid) {
            let process = &mut self.findings.processes[index];
            process.watched = self.started.elapsed().saturating_sub(process.began);
        }
    }

    /// A process has this memory no longer.
    fn leave_space(&mut self, pid: i32) {
        let Some(id) = self.space_of.remove(&pid) else { return };
        if let Some(space) = self.spaces.get_mut(&id) {
            space.pids.remove(&pid);
            if space.pids.is_empty() {
                self.spaces.remove(&id);
                self.guard.closed(id);
            }
        }
    }

    fn number(&mut self) -> u32 {
        self.next_space += 1;
        self.next_space
    }

    fn begin_process(&mut self, pid: i32, attached: bool) {
        let process = Process {
            pid,
            command: command_of(pid).unwrap_or_default(),
            began: self.started.elapsed(),
            watched: Duration::ZERO,
            attached,
            ended: false,
            modules: Vec::new(),
        };
        self.process_of.insert(pid, self.findings.processes.len());
        self.findings.processes.push(process);
    }

    /// A program begins in a memory of its own.
    fn begin_space(&mut self, thread: &mut Thread, attached: bool) -> io::Result<()> {
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
                self.look(id);
            }
            Err(error) => self.findings.note(Note::Lost { pid, why: error.to_string() }),
        }
        Ok(())
    }

    /// Looks for code that was not there before, and arms it.
    fn look(&mut self, id: u32) {
        let Some(mut space) = self.spaces.remove(&id) else { return };
        let started = Instant::now();
        let scanned = self.findings.cost.scanning;
        match space.changes(&mut self.guard) {
            Ok((all, new)) => {
                space.pending = false;
                for map in &new {
                    self.take_in(&mut space, &all, map);
                }
            }
            // It has ended, and that will be told.
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

    /// One executable mapping that is new.
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
            // What is written there others would execute, too.
            *unwatchable = scanned.spots.len();
        } else {
            let armed = space.arm_image(&mapped, &mut self.modules, &mut self.guard, unwatchable);
            self.findings.cost.armed += armed as u64;
        }
        space.mapped.push(mapped);
    }

    /// Asks for code that was made since the last time.
    fn look_for_made(&mut self, id: u32) {
        let Some(mut space) = self.spaces.remove(&id) else { return };
        let new = made::look(&mut space, &mut self.modules, &mut self.guard, &mut self.findings);
        new.into_iter().for_each(|module| self.had_by(&space, module));
        self.spaces.insert(id, space);
    }

    fn had_by(&mut self, space: &Space, module: usize) {
        for pid in &space.pids {
            if let Some(index) = self.process_of.get(pid) {
                let modules = &mut self.findings.processes[*index].modules;
                if !modules.contains(&module) {
                    modules.push(module);
                }
            }
        }
    }

    /// A breakpoint where the dynamic linker says that it mapped something.
    fn watch_linker(&mut self, space: &mut Space) {
        let Ok(vector) = std::fs::read(format!("/proc/{}/auxv", space.pid())) else { return };
        let Some(address) = linker::breakpoint(&vector, &space.memory) else { return };
        let mut code = [0; super::breakpoints::LONGEST];
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

    /// A thread has executed an `int3`.
    fn trapped(&mut self, thread: &mut Thread, id: u32) -> io::Result<Answer> {
        let address = thread.registers()?.pc().wrapping_sub(1);
        let Some(space) = self.spaces.get(&id) else { return Ok(Answer::NotMine) };
        match space.table.trapped(&space.memory, address) {
            Trap::Foreign => Ok(Answer::NotMine),
            Trap::Gone => {
                thread.registers()?.set_pc(address);
                Ok(Answer::Swallow)
            }
            Trap::Armed => {
                let started = Instant::now();
                thread.registers()?.set_pc(address);
                let result = self.hit(thread, id, address);
                self.findings.cost.fired += 1;
                self.findings.cost.stopped += started.elapsed();
                result.map(|()| Answer::Swallow)
            }
        }
    }

    /// A breakpoint of ours fired; the thread's program counter is at it.
    fn hit(&mut self, thread: &mut Thread, id: u32, address: u64) -> io::Result<()> {
        let site = self.spaces.get(&id).and_then(|space| space.table.get(address)).map(|known| known.site);
        let Some(site) = site else { return Ok(()) };
        if site == LINKER {
            self.look(id);
            return self.pass(thread, id, address);
        }
        let spot = self.modules.spots[site];
        let tid = thread.tid.as_raw_pid();
        let again = self.interrupted.remove(&tid) == Some(address);
        let noise = if again { false } else { self.learn(thread, id, &spot)? };
        if self.stays(id, address, &spot, noise) {
            self.pass(thread, id, address)?;
            if spot.entry && self.options.mode == Mode::Rate {
                self.went_on.insert((tid, spot.module, spot.function), Instant::now());
            }
        } else if let Some(space) = self.spaces.get_mut(&id) {
            let mut record = self.guard.record(id);
            // A memory that can't be written any more is gone.
            let _ = space.table.disarm(&space.memory, &mut record, address);
        }
        Ok(())
    }

    /// Writes down what a hit says; whether it was noise.
    fn learn(&mut self, thread: &mut Thread, id: u32, spot: &Spot) -> io::Result<bool> {
        let now = self.started.elapsed();
        let key = (spot.module, spot.function);
        self.entered(thread, spot);
        let known = self.findings.modules[spot.module].functions[spot.function].callers.len();
        let is_asked = !spot.classes.is_empty() || known == 0;
        let (chain, origin) = if is_asked { self.callers(thread, id)? } else { (Vec::new(), Origin::Work) };
        let function = &mut self.findings.modules[spot.module].functions[spot.function];
        function.hits += 1;
        function.first.get_or_insert(now);
        let kept: Vec<String> = chain.iter().skip(1).take(CHAIN).cloned().collect();
        if !kept.is_empty() && function.callers.len() < CHAINS && !function.callers.contains(&kept) {
            function.callers.push(kept);
        }
        if self.options.mode == Mode::Rate && self.sampled.insert(key) {
            function.samples += 1;
        }
        if spot.classes.is_empty() {
            return Ok(false);
        }
        function.ran = function.ran.union(spot.classes);
        if !function.origins.contains(&origin) {
            function.origins.push(origin);
        }
        if origin == Origin::Work {
            function.worked = function.worked.union(spot.classes);
        }
        Ok(origin.is_noise())
    }

    /// Counts the entry of a function.
    fn entered(&mut self, thread: &Thread, spot: &Spot) {
        if !spot.entry {
            return;
        }
        let (pid, tid) = (thread.pid.as_raw_pid(), thread.tid.as_raw_pid());
        let function = &mut self.findings.modules[spot.module].functions[spot.function];
        if self.options.mode == Mode::Count {
            *function.entries.get_or_insert(0) += 1;
            match function.by_process.iter_mut().find(|(known, _)| *known == pid) {
                Some((_, count)) => *count += 1,
                None => function.by_process.push((pid, 1)),
            }
        }
        if let Some(since) = self.went_on.remove(&(tid, spot.module, spot.function)) {
            let gaps = self.gaps.entry((spot.module, spot.function)).or_default();
            if gaps.len() < MOST_GAPS {
                gaps.push(since.elapsed());
            }
        }
    }

    /// The names of the functions that a thread is in, the innermost first, and what they say it is for.
    fn callers(&mut self, thread: &mut Thread, id: u32) -> io::Result<(Vec<String>, Origin)> {
        let registers = *thread.registers()?;
        let Some(space) = self.spaces.get(&id) else { return Ok((Vec::new(), Origin::Work)) };
        let memory = AsItWas { memory: &space.memory, table: &space.table };
        let registers = origin::registers(&registers);
        let frames = match &space.made {
            Some(made) => unwind::callers_through(&registers, &memory, &space.modules, made.machine()),
            None => unwind::callers(&registers, &memory, &space.modules),
        };
        let made = |address| space.made.as_ref().and_then(|made| made.name_at(&memory, address));
        let name = |frame: &unwind::Caller| match frame.module {
            None => made(frame.address).unwrap_or_else(|| origin::name(frame)),
            Some(_) => origin::name(frame),
        };
        Ok((frames.iter().map(name).collect(), origin::of(&frames)))
    }

    /// Whether a breakpoint that fired stays.
    fn stays(&mut self, id: u32, address: u64, spot: &Spot, noise: bool) -> bool {
        let Some(space) = self.spaces.get_mut(&id) else { return false };
        let function = &self.findings.modules[spot.module].functions[spot.function];
        // Hash tables are asked millions of times, and nobody asks how often.
        let enough = function.origins == [Origin::HashTable] && function.hits > MOST_HASHES;
        let counted = spot.entry && self.options.mode == Mode::Count && !enough;
        let most = match self.options.mode {
            Mode::Rate if spot.entry => PER_SAMPLE,
            Mode::Rate => 1,
            _ if counted => return true,
            _ if noise => NOISE.0,
            _ => return false,
        };
        let first = Kept { budget: most, again: false };
        let kept = space.kept.entry(address).or_insert(first);
        kept.budget = kept.budget.saturating_sub(1);
        kept.again = kept.budget == 0;
        kept.budget > 0
    }

    /// Has a thread go past an instruction whose breakpoint stays.
    fn pass(&mut self, thread: &mut Thread, id: u32, address: u64) -> io::Result<()> {
        let Some(space) = self.spaces.get_mut(&id) else { return Ok(()) };
        let Some(original) = space.table.get(address).map(|known| known.original) else { return Ok(()) };
        let next = address + original.bytes().len() as u64;
        match way(&original, address) {
            Way::Skip => thread.registers()?.set_pc(next),
            Way::Jump(target) => thread.registers()?.set_pc(target),
            Way::Push(register) => return self.push(thread, id, register.number(), next),
            Way::Return => return self.ret(thread, id, address),
            Way::Move if !space.stuck.contains(&address) => match space.moved(thread, address) {
                Ok(moved) => {
                    let slot = moved.slot;
                    thread.registers()?.set_pc(slot);
                }
                Err(why) => {
                    space.stuck.insert(address);
                    self.findings.note(Note::NoScratch { why });
                    return self.step_over(thread, id, address);
                }
            },
            Way::Move | Way::Step => return self.step_over(thread, id, address),
        }
        Ok(())
    }

    #[cfg(target_arch = "x86_64")]
    fn push(&mut self, thread: &mut Thread, id: u32, register: usize, next: u64) -> io::Result<()> {
        use super::breakpoints::Writable;
        let registers = thread.registers()?;
        let (address, below) = (registers.pc(), registers.sp().wrapping_sub(8));
        let value = registers.general(register).to_le_bytes();
        let written = self.spaces.get(&id).is_some_and(|space| space.memory.write(below, &value).is_ok());
        if !written {
            // The stack has to grow, or can't.
            return self.step_over(thread, id, address);
        }
        registers.set_rsp(below);
        registers.set_pc(next);
        Ok(())
    }

    #[cfg(target_arch = "x86_64")]
    fn ret(&mut self, thread: &mut Thread, id: u32, address: u64) -> io::Result<()> {
        let registers = thread.registers()?;
        let top = registers.sp();
        let to = self.spaces.get(&id).and_then(|space| space.memory.word(top).ok());
        let Some(to) = to else { return self.step_over(thread, id, address) };
        registers.set_rsp(top.wrapping_add(8));
        registers.set_pc(to);
        Ok(())
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn push(&mut self, thread: &mut Thread, id: u32, _: usize, next: u64) -> io::Result<()> {
        self.step_over(thread, id, next)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn ret(&mut self, thread: &mut Thread, id: u32, address: u64) -> io::Result<()> {
        self.step_over(thread, id, address)
    }

    /// Puts the byte back for one step. Others that pass meanwhile are not seen.
    fn step_over(&mut self, thread: &mut Thread, id: u32, address: u64) -> io::Result<()> {
        let Some(space) = self.spaces.get_mut(&id) else { return Ok(()) };
        let mut record = self.guard.record(id);
        if space.table.disarm(&space.memory, &mut record, address).is_err() {
            return Ok(());
        }
        let stepped = thread.step();
        // If that fails its memory is gone.
        let _ = space.table.arm(&space.memory, &mut record, address);
        stepped.map(drop)
    }

    /// Arms what fired and is to be watched still.
    fn arm_again(&mut self) {
        for (id, space) in &mut self.spaces {
            for (address, kept) in space.kept.iter_mut().filter(|(_, kept)| kept.again) {
                let entry = space
                    .table
                    .get(*address)
                    .is_some_and(|known| known.site != LINKER && self.modules.spots[known.site].entry);
                kept.again = false;
                kept.budget = match self.options.mode {
                    Mode::Rate if entry => PER_SAMPLE,
                    Mode::Rate => 1,
                    _ => NOISE.1,
                };
                let mut record = self.guard.record(*id);
                if matches!(space.table.arm(&space.memory, &mut record, *address), Ok(Armed::Stands)) {
                    self.findings.cost.armed += 1;
                }
            }
        }
    }

    fn start_counters(&mut self, tid: Pid) {
        // That a processor has none is nothing to speak of.
        let Ok(events) = events_here() else { return };
        if let Err(error) = self.counters.start(tid.as_raw_pid(), events) {
            self.findings.note(Note::NoCounters { why: error.to_string() });
        }
    }
}

/// A handler of the program's own may run into breakpoints of ours.
fn leave_unblocked(thread: &mut Thread, signal: &Signal) {
    if signal.number == libc::SIGTRAP {
        thread.leave_unblocked();
    }
}

/// A thread that is not ours would die of a breakpoint.
fn all_are_ours(pid: i32) -> io::Result<()> {
    let ours = std::process::id();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = thread?.path().join("status");
        // One that ended meanwhile is no danger, and neither is a leader that ended before the others.
        let Ok(text) = std::fs::read_to_string(&status) else { continue };
        let field = |name| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let is_dead = field("State:").is_some_and(|state| state.starts_with(['Z', 'X']));
        let tracer = field("TracerPid:").and_then(|tracer| tracer.parse().ok());
        if !is_dead && tracer != Some(ours) {
            let text =
                format!("a thread of process {pid} is not traced by us: is it traced by another? Try again");
            return Err(io::Error::other(text));
        }
    }
    Ok(())
}

/// However tracing ended: no byte of ours stays where it can be put back.
impl Drop for Trace {
    fn drop(&mut self) {
        for (id, space) in &mut self.spaces {
            space.table.disarm_all(&space.memory, &mut self.guard.record(*id));
        }
    }
}

impl Watcher for Trace {
    fn began(&mut self, thread: &mut Thread, how: Began) -> io::Result<()> {
        let pid = thread.pid.as_raw_pid();
        self.threads.insert(thread.tid.as_raw_pid(), pid);
        self.watched_until_now(pid);
        self.leave_space(pid);
        self.begin_process(pid, how == Began::Attached);
        if matches!(how, Began::Launched | Began::Attached) {
            self.start_counters(thread.tid);
        }
        if how == Began::Attached {
            all_are_ours(pid)?;
            self.findings.note(Note::LateCode);
        }
        self.begin_space(thread, how == Began::Attached)
    }

    fn forked(&mut self, parent: Pid, child: &mut Thread, shares_memory: bool) -> io::Result<()> {
        let pid = child.pid.as_raw_pid();
        self.threads.insert(child.tid.as_raw_pid(), pid);
        if self.process_of.contains_key(&pid) {
            return Ok(());
        }
        let parent = self.threads.get(&parent.as_raw_pid()).copied().unwrap_or(parent.as_raw_pid());
        self.begin_process(pid, false);
        let Some(id) = self.space_of.get(&parent).copied() else { return Ok(()) };
        if shares_memory {
            self.space_of.insert(pid, id);
            if let Some(space) = self.spaces.get_mut(&id) {
                space.pids.insert(pid);
            }
            return Ok(());
        }
        let copy = self.number();
        let Some(space) = self.spaces.get(&id) else { return Ok(()) };
        match space.copy(copy, child, &mut self.guard) {
            Ok(space) => {
                let modules = space.mapped.iter().filter_map(|mapped| mapped.image.as_ref());
                let modules: Vec<usize> = modules.map(|(scanned, _)| scanned.module).collect();
                modules.into_iter().for_each(|module| self.had_by(&space, module));
                self.spaces.insert(copy, space);
                self.space_of.insert(pid, copy);
            }
            Err(error) => self.findings.note(Note::Lost { pid, why: error.to_string() }),
        }
        Ok(())
    }

    fn signal(&mut self, thread: &mut Thread, signal: &Signal) -> io::Result<Answer> {
        let Some(id) = self.space_of.get(&thread.pid.as_raw_pid()).copied() else {
            return Ok(Answer::NotMine);
        };
        if signal.number == libc::SIGTRAP && signal.info()?.code() == SI_KERNEL {
            let answer = self.trapped(thread, id)?;
            if answer == Answer::NotMine {
                leave_unblocked(thread, signal);
            }
            return Ok(answer);
        }
        self.put_out_of_scratch(thread, id)?;
        leave_unblocked(thread, signal);
        Ok(Answer::NotMine)
    }

    fn mapped(&mut self, thread: &mut Thread) -> io::Result<()> {
        if let Some(id) = self.space_of.get(&thread.pid.as_raw_pid()).copied() {
            self.look(id);
        }
        Ok(())
    }

    fn ended(&mut self, tid: Pid, last: bool, _: i32) {
        let tid = tid.as_raw_pid();
        self.interrupted.remove(&tid);
        let pid = self.threads.remove(&tid).unwrap_or(tid);
        if last {
            if let Some(index) = self.process_of.get(&pid) {
                self.findings.processes[*index].ended = true;
            }
            self.watched_until_now(pid);
            self.leave_space(pid);
        }
    }

    fn leaving(&mut self, thread: &mut Thread) -> io::Result<()> {
        let pid = thread.pid.as_raw_pid();
        let Some(id) = self.space_of.get(&pid).copied() else { return Ok(()) };
        self.put_out_of_scratch(thread, id)?;
        let Some(space) = self.spaces.get_mut(&id) else { return Ok(()) };
        // Others may have the same memory, and run: what they have executed meanwhile is known for ours still.
        let count = space.table.disarm_all(&space.memory, &mut self.guard.record(id));
        if count > 0 {
            self.findings.note(Note::NotPutBack { pid, count });
        }
        space.left.insert(pid);
        if space.pids.is_subset(&space.left) {
            space.unmap_scratch(thread);
        }
        Ok(())
    }

    fn tick(&mut self, _: &mut Processes) -> io::Result<()> {
        self.ticked = Instant::now();
        let ids: Vec<u32> = self.spaces.keys().copied().collect();
        for id in ids {
            let (changed, made) = self
                .spaces
                .get(&id)
                .map_or((false, false), |space| (space.unannounced || space.pending, space.generated));
            if changed {
                self.look(id);
            }
            if made {
                self.look_for_made(id);
            }
        }
        self.arm_again();
        self.sampled.clear();
        self.findings.samples += u32::from(self.options.mode == Mode::Rate);
        let progress = self.progress();
        if let Some(show) = &mut self.progress {
            show(&progress);
        }
        Ok(())
    }

    fn next_tick(&self) -> Option<Instant> {
        let busy = |space: &Space| {
            space.unannounced
                || space.generated
                || space.pending
                || space.kept.values().any(|kept| kept.again)
        };
        let wanted =
            self.progress.is_some() || self.options.mode == Mode::Rate || self.spaces.values().any(busy);
        wanted.then(|| self.ticked + TICK)
    }
}

impl Trace {
    /// Puts a thread where it would be without us, if it is in our scratch memory.
    fn put_out_of_scratch(&mut self, thread: &mut Thread, id: u32) -> io::Result<()> {
        let Some(space) = self.spaces.get(&id).filter(|space| space.has_scratch()) else { return Ok(()) };
        let pc = thread.registers()?.pc();
        if let Some(moved) = space.real(pc)
            && let Some(real) = moved.real(pc)
        {
            if real == moved.site {
                self.interrupted.insert(thread.tid.as_raw_pid(), real);
            }
            thread.registers()?.set_pc(real);
        }
        Ok(())
    }
}
