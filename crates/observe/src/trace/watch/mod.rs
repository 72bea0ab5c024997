//! The watcher that traces: it arms breakpoints in mapped code, and learns from their hits.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

use super::counters::{Counters, events_here};
use super::fileless::Changed;
use super::findings::{Findings, Mode, Note, Process};
use super::guard::{Guard, SpaceMemory};
use super::modules::{Modules, command_of};
use super::space::Space;
use super::{Looking, Options, Progress};
use crate::code::Class;
use crate::code::cache::Cache;
use crate::process::{Answer, Began, Pid, Processes, SI_KERNEL, Signal, Status, Thread, Watcher, kin, maps};

mod hits;
mod looking;

/// The time after which unannounced code is looked for and fired breakpoints are armed again.
const TICK: Duration = Duration::from_millis(100);

/// The site number of the dynamic linker's breakpoint.
const LINKER: usize = usize::MAX;

/// A watcher that traces which crypto instructions run. Give it to a [`crate::process::Tracer`], then call
/// [`Trace::finish`].
pub struct Trace {
    options: Options,
    findings: Findings,
    modules: Modules,
    spaces: HashMap<u32, Space>,
    /// The space of each process.
    space_of: HashMap<i32, u32>,
    /// The index of each process's present program in the findings.
    process_of: HashMap<i32, usize>,
    /// The process of each thread.
    threads: HashMap<i32, i32>,
    guard: Guard,
    counters: Counters,
    started: Instant,
    ticked: Instant,
    next_space: u32,
    /// Threads that a signal took out of a moved instruction before its execution. They will hit the
    /// breakpoint again.
    interrupted: HashMap<i32, u64>,
    /// The time at which a thread left a function's entry.
    went_on: HashMap<(i32, usize, usize), Instant>,
    /// The times from leaving a function's entry to the same thread's next hit there.
    gaps: HashMap<(usize, usize), Vec<Duration>>,
    /// The functions that ran in the present sample.
    sampled: HashSet<(usize, usize)>,
    progress: Option<Show>,
}

type Show = Box<dyn FnMut(&Progress)>;

impl Trace {
    /// Traces programs that we launch and that end with us.
    ///
    /// # Errors
    /// Fails on processors other than x86-64, or when there is no memory for the journal.
    pub fn new(options: Options) -> io::Result<Trace> {
        Trace::guarded(options, Guard::alone()?)
    }

    /// Traces a process that must stay intact whatever happens to us; see [`super::guard::guarded`].
    ///
    /// # Errors
    /// Fails on processors other than x86-64.
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

    /// Calls `show` before a file is searched, and drops its result afterwards. Nothing else is done in
    /// between.
    pub fn show_looking(&mut self, show: impl FnMut(&Looking<'_>) -> Box<dyn Any> + 'static) {
        self.modules.looking = Some(Box::new(show));
    }

    /// Uses `cache` for the results of earlier searches, and adds the new ones.
    pub fn use_cache(&mut self, cache: Cache) {
        self.modules.cache = Some(cache);
    }

    /// Searches the mapped files of processes while they still run, so that attaching stops them for
    /// milliseconds only.
    ///
    /// Files that can't be read now are searched after attaching.
    pub fn prepare(&mut self, pids: &[Pid]) {
        pids.iter().for_each(|pid| self.prepare_one(*pid, pids));
    }

    fn prepare_one(&mut self, number: Pid, traced: &[Pid]) {
        let pid = number.as_raw_pid();
        let (Ok(memory), Ok(all)) = (SpaceMemory::open(pid), maps::of(number)) else { return };
        for map in all.iter().filter(|map| map.executable && map.is_file()) {
            self.modules.of_map(map, &all, pid, &memory, &mut self.findings);
        }
        let others = kin(number).into_iter().filter(|other| !traced.contains(other));
        let others: Vec<i32> = others.map(Pid::as_raw_pid).collect();
        if !others.is_empty() {
            self.findings.note(Note::Beside { pid, others });
        }
    }

    /// Returns the findings so far.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Returns the findings, and removes all breakpoints.
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

    /// Returns the progress so far.
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

    /// Takes a process out of its space.
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

    fn start_counters(&mut self, tid: Pid) {
        // A processor without counters is too common for a note.
        let Ok(events) = events_here() else { return };
        if let Err(error) = self.counters.start(tid.as_raw_pid(), events) {
            self.findings.note(Note::NoCounters { why: error.to_string() });
        }
    }
}

/// Makes a handler of SIGTRAP begin with it unblocked, because the handler may run into our breakpoints.
fn leave_unblocked(thread: &mut Thread, signal: &Signal) {
    if signal.number == libc::SIGTRAP {
        thread.leave_unblocked();
    }
}

/// Checks that we trace all threads of a process. Any other thread would die of a breakpoint.
fn all_are_ours(pid: i32) -> io::Result<()> {
    let ours = std::process::id();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let tid = thread?.file_name().to_str().and_then(|tid| tid.parse().ok()).and_then(Pid::from_raw);
        // A thread that ended meanwhile is no danger, and neither is a leader that ended before the others.
        let Some(status) = tid.and_then(Status::of) else { continue };
        if status.lives() && status.number("TracerPid") != Some(ours) {
            let text = format!(
                "a thread of process {pid} could not be traced, perhaps because another tracer has it; try again"
            );
            return Err(io::Error::other(text));
        }
    }
    Ok(())
}

/// Removes every byte of ours that can be removed, however tracing ended.
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
        // The first process may execute other programs before the real one: a script's interpreter, or one
        // that sets something up.
        let is_alone = self.findings.processes.iter().all(|process| process.pid == pid);
        self.modules.is_new = how != Began::Attached && is_alone;
        let begun = self.begin_space(thread, how == Began::Attached);
        self.modules.is_new = false;
        begun
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
        if let Some(id) = self.space_of.get(&thread.pid.as_raw_pid()).copied()
            && let Some(changed) = Changed::by_call(thread.registers()?)
        {
            self.look(id, Some(&changed));
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
        if self.spaces.get(&id).is_some_and(|space| !space.left.contains(&pid)) {
            // This is the last chance to see unannounced changes.
            self.look(id, Some(&Changed::EVERYTHING));
        }
        let Some(space) = self.spaces.get_mut(&id) else { return Ok(()) };
        // Other processes may share this memory and run. A breakpoint that they have just executed is still
        // known as ours.
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
                self.look(id, None);
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
