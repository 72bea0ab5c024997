//! Evaluates a breakpoint's hit, and lets the thread go on.

use std::io;
use std::time::Instant;

use super::{LINKER, Trace};
use crate::code::{Classes, unwind};
use crate::process::{Answer, Thread};
use crate::trace::breakpoints::{Armed, Trap};
use crate::trace::displaced::{Way, way};
use crate::trace::findings::{Mode, Note, Origin};
use crate::trace::made::AsItWas;
use crate::trace::modules::Spot;
use crate::trace::origin;
use crate::trace::space::Kept;

/// The hits that a site may have for noise until the next tick: at first, and after that.
const NOISE: (u32, u32) = (64, 2);

/// The hits at a function's entry, in one sample, that an estimate of its rate is based on.
const PER_SAMPLE: u32 = 8;

/// The most times between hits that the median is taken of.
const MOST_GAPS: usize = 10_000;

/// The most entries that are counted of a function that serves hash tables.
const MOST_HASHES: u64 = 1000;

/// The most chains of callers that are kept for a function, and the length of each.
const CHAINS: usize = 4;
const CHAIN: usize = 24;

impl Trace {
    /// Handles an `int3` that a thread has executed.
    pub(super) fn trapped(&mut self, thread: &mut Thread, id: u32) -> io::Result<Answer> {
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

    /// Handles a hit of our breakpoint. The thread's program counter is at it.
    fn hit(&mut self, thread: &mut Thread, id: u32, address: u64) -> io::Result<()> {
        let site = self.spaces.get(&id).and_then(|space| space.table.get(address)).map(|known| known.site);
        let Some(site) = site else { return Ok(()) };
        if site == LINKER {
            self.look(id, None);
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
            // Memory that can't be written any more is gone.
            let _ = space.table.disarm(&space.memory, &mut record, address);
        }
        Ok(())
    }

    /// Records a hit. Returns true if it was noise.
    fn learn(&mut self, thread: &mut Thread, id: u32, spot: &Spot) -> io::Result<bool> {
        let now = self.started.elapsed();
        let key = (spot.module, spot.function);
        self.entered(thread, spot);
        let known = self.findings.modules[spot.module].functions[spot.function].callers.len();
        let is_asked = !spot.classes.is_empty() || known == 0;
        let (chain, origin) =
            if is_asked { self.callers(thread, id, spot.classes)? } else { (Vec::new(), Origin::Work) };
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

    /// Returns the names of the functions that a thread is in, the innermost first, and the purpose that they
    /// reveal.
    fn callers(
        &mut self,
        thread: &mut Thread,
        id: u32,
        classes: Classes,
    ) -> io::Result<(Vec<String>, Origin)> {
        let registers = *thread.registers()?;
        let Some(space) = self.spaces.get(&id) else { return Ok((Vec::new(), Origin::Work)) };
        let memory = AsItWas { memory: &space.memory, table: &space.table };
        let registers = origin::registers(&registers);
        let frames = match &space.made {
            Some(made) => unwind::callers_through(&registers, &memory, &space.modules, &made.machine),
            None => unwind::callers(&registers, &memory, &space.modules),
        };
        let made = |address| space.made.as_ref().and_then(|made| made.name_at(&memory, address));
        let name = |frame: &unwind::Caller| match frame.module {
            None => made(frame.address).unwrap_or_else(|| origin::name(frame)),
            Some(_) => origin::name(frame),
        };
        Ok((frames.iter().map(name).collect(), origin::of(&frames, classes)))
    }

    /// Returns true when a breakpoint that fired stays.
    fn stays(&mut self, id: u32, address: u64, spot: &Spot, noise: bool) -> bool {
        let Some(space) = self.spaces.get_mut(&id) else { return false };
        let function = &self.findings.modules[spot.module].functions[spot.function];
        // Hash tables are used millions of times, and nobody asks how often.
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

    /// Makes a thread pass an instruction whose breakpoint stays.
    pub(super) fn pass(&mut self, thread: &mut Thread, id: u32, address: u64) -> io::Result<()> {
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
        use crate::trace::breakpoints::Writable;
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
        use crate::memory::Memory;
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

    /// Restores the byte for one step. Other threads that pass meanwhile are not seen.
    fn step_over(&mut self, thread: &mut Thread, id: u32, address: u64) -> io::Result<()> {
        let Some(space) = self.spaces.get_mut(&id) else { return Ok(()) };
        let mut record = self.guard.record(id);
        if space.table.disarm(&space.memory, &mut record, address).is_err() {
            return Ok(());
        }
        let stepped = thread.step();
        // If that fails, the memory is gone.
        let _ = space.table.arm(&space.memory, &mut record, address);
        stepped.map(drop)
    }

    /// Arms breakpoints again that fired and are still needed.
    pub(super) fn arm_again(&mut self) {
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

    /// Moves a thread from our scratch memory to where it would be without us.
    pub(super) fn put_out_of_scratch(&mut self, thread: &mut Thread, id: u32) -> io::Result<()> {
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
