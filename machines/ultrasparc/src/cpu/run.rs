//! The loop that executes: from block to block, or one instruction by itself.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::cpu::block::{Cache, NONE};
use crate::cpu::{Cpu, Step, Trap};
use crate::isa;

/// The way in which a block was left.
enum Left {
    /// With its last instruction, to one of its two successors.
    To(usize),
    /// To an address that only the instruction knew.
    Jump,
    /// In some other way: `pc` and `npc` say where to go on.
    Elsewhere,
    /// With a trap.
    Trapped(Trap),
}

impl Cpu {
    /// Executes until something stops the program. `pc` and `npc` are then those of the instruction that stopped it,
    /// which has changed nothing; for [`Trap::Attention`] they are those of the next one.
    pub fn run(&mut self) -> Trap {
        // The cache is taken out because handlers borrow the whole processor.
        let mut cache = mem::take(&mut self.cache);
        let trap = cache.run(self);
        self.cache = cache;
        trap
    }

    /// Executes exactly one instruction.
    ///
    /// # Errors
    /// The trap that stopped it; nothing has changed then.
    pub fn step(&mut self) -> Result<(), Trap> {
        let mut cache = mem::take(&mut self.cache);
        let result = cache.step(self);
        self.cache = cache;
        result
    }
}

impl Cache {
    fn run(&mut self, cpu: &mut Cpu) -> Trap {
        let attention = Arc::clone(&cpu.attention);
        // The block that led here and which of its exits, so that it can be linked.
        let mut from = None;
        loop {
            if cpu.memory.has_stale() {
                self.forget(&cpu.memory.take_stale());
                from = None;
            }
            if attention.load(Ordering::Relaxed) && attention.swap(false, Ordering::Relaxed) {
                return Trap::Attention;
            }
            if cpu.npc != cpu.pc.wrapping_add(4) {
                match self.step(cpu) {
                    Ok(()) => continue,
                    Err(trap) => return trap,
                }
            }
            let mut number = match self.find(cpu, cpu.pc) {
                Ok(number) => number,
                Err(trap) => return trap,
            };
            if let Some((block, way)) = from.take() {
                let block: u32 = block;
                self.blocks[block as usize].links[way] = number;
            }
            loop {
                let block = &mut self.blocks[number as usize];
                if block.stepped {
                    // A link does not set the program counters.
                    cpu.jump(block.start);
                    match self.step(cpu) {
                        Ok(()) => break,
                        Err(trap) => return trap,
                    }
                }
                block.executions += 1;
                match self.execute(cpu, number) {
                    Left::To(way) => {
                        let block = &self.blocks[number as usize];
                        let link = block.links[way];
                        if link == NONE || attention.load(Ordering::Relaxed) {
                            cpu.jump(block.next[way]);
                            from = (link == NONE).then_some((number, way));
                            break;
                        }
                        number = link;
                    }
                    Left::Jump => {
                        cpu.jump(cpu.target);
                        break;
                    }
                    Left::Elsewhere => break,
                    Left::Trapped(trap) => return trap,
                }
            }
        }
    }

    /// Executes a block.
    #[inline(always)]
    fn execute(&mut self, cpu: &mut Cpu, number: u32) -> Left {
        let block = &mut self.blocks[number as usize];
        let mut ops = block.ops.iter();
        let step = loop {
            let Some(op) = ops.next() else { return Left::To(0) };
            let step = (op.run)(cpu, op);
            if step != Step::Next {
                break step;
            }
        };
        let left = match step {
            Step::NotTaken => Left::To(0),
            Step::Taken => Left::To(1),
            Step::Jump => Left::Jump,
            Step::NotTakenAnnul => {
                block.annulled += 1;
                return Left::To(0);
            }
            Step::TakenAnnul => {
                block.annulled += 1;
                return Left::To(1);
            }
            Step::Leave | Step::Trap | Step::Next => {
                let done = block.ops.len() - ops.len() - 1;
                return self.interrupted(cpu, number, done, step);
            }
        };
        let delay = (block.delay.run)(cpu, &block.delay);
        if delay == Step::Next { left } else { self.interrupted_in_delay(cpu, number, left, delay) }
    }

    /// Stops at the op of number `at`, which answered `Leave` or `Trap`.
    #[cold]
    fn interrupted(&mut self, cpu: &mut Cpu, number: u32, at: usize, step: Step) -> Left {
        let block = &self.blocks[number as usize];
        let [first, next] = [at, at + 1].map(|op| usize::from(block.places[op]));
        let address = |word: usize| block.start + 4 * word as u64;
        if step == Step::Leave {
            cpu.jump(address(next));
            self.count_part(number, next);
            return Left::Elsewhere;
        }
        cpu.jump(address(first));
        let trap = cpu.trap.take();
        if let Some(trap @ Trap::Software(_)) = trap {
            self.count_part(number, next);
            return Left::Trapped(trap);
        }
        self.count_part(number, first);
        match trap {
            Some(trap) if next == first + 1 => Left::Trapped(trap),
            // An op of several instructions is executed again one by one, up to the one that traps.
            _ => (first..next).find_map(|_| self.step(cpu).err()).map_or(Left::Elsewhere, Left::Trapped),
        }
    }

    /// Stops at the instruction in the delay slot, which answered `Leave` or `Trap`. `left` is how the block would
    /// have been left.
    #[cold]
    fn interrupted_in_delay(&mut self, cpu: &mut Cpu, number: u32, left: Left, step: Step) -> Left {
        let block = &self.blocks[number as usize];
        let next = match left {
            Left::To(way) => block.next[way],
            _ => cpu.target,
        };
        if step == Step::Leave {
            cpu.jump(next);
            return Left::Elsewhere;
        }
        let slot = usize::from(block.places[block.places.len() - 1]);
        cpu.jump_pair(block.start + 4 * slot as u64, next);
        let trap = cpu.trap.take().unwrap_or(Trap::IllegalInstruction(0));
        if !matches!(trap, Trap::Software(_)) {
            self.count_part(number, slot);
        }
        Left::Trapped(trap)
    }

    /// Executes one instruction by itself.
    fn step(&mut self, cpu: &mut Cpu) -> Result<(), Trap> {
        let word = cpu.memory.fetch(cpu.pc).map_err(Trap::Memory)?;
        let Some((_, op)) = isa::decode(word, cpu.pc, cpu.features) else {
            return Err(Trap::IllegalInstruction(word));
        };
        let (pc, npc) = (cpu.pc, cpu.npc);
        let step = (op.run)(cpu, &op);
        let trap = if step == Step::Trap { cpu.trap.take() } else { None };
        if matches!(trap, None | Some(Trap::Software(_))) {
            self.count(pc, word);
        }
        if let Some(trap) = trap {
            return Err(trap);
        }
        let after = npc.wrapping_add(4);
        match step {
            Step::Next | Step::Trap | Step::Leave | Step::NotTaken => cpu.jump_pair(npc, after),
            Step::Taken => cpu.jump_pair(npc, op.imm),
            Step::Jump => cpu.jump_pair(npc, cpu.target),
            Step::TakenAnnul => cpu.jump(op.imm),
            Step::NotTakenAnnul => cpu.jump(after),
        }
        Ok(())
    }
}
