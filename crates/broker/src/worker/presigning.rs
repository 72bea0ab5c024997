//! The machine as a worker that keeps presignatures has to watch it.
//!
//! A copy of the worker's memory that runs on would use the same presignatures as the original, and two such signatures reveal the key.
//! Where the hypervisor counts generations ([`VmGeneration`]) the worker sees that it was restored before it uses any. Elsewhere it only
//! sees what a restored machine often shows: a suspension, or a clock that was set.

use millstream_accelerator::Watch;
use millstream_protocol::KeyRules;
use millstream_shm::VmGeneration;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// The nanoseconds by which two clocks may part before that counts as a jump.
const JUMP_NS: i128 = 20_000_000;

/// The nanoseconds in which all clocks are to be read, and the number of attempts at that: this thread may wait for a processor in between.
const STEADY_NS: i128 = JUMP_NS / 4;
const ATTEMPTS: usize = 16;

/// The values of [`KeyRules::precompute`].
const AUTO: u8 = 1;
const ON: u8 = 2;

/// Says which grants may use presignatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Presigning {
    /// True where there is a place for them.
    can: bool,
    /// True where the worker sees each copy of the machine, or there can't be any.
    safely: bool,
}

impl Presigning {
    pub(super) fn of(machine: Option<&Machine>) -> Self {
        Presigning { can: machine.is_some(), safely: machine.is_some_and(Machine::is_safe) }
    }

    pub(super) fn permits(self, rules: &KeyRules) -> bool {
        self.can && (rules.precompute == ON || rules.precompute == AUTO && self.safely)
    }
}

/// The clocks and the generation, compared with those of the last look.
pub(super) struct Machine {
    generation: Option<VmGeneration>,
    virtual_machine: bool,
    last: Option<Seen>,
}

/// The distances of the clocks, and the generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    /// Nanoseconds that the machine was suspended.
    suspended: i128,
    /// Nanoseconds between the time of day and the time since the start.
    set: i128,
    generation: u64,
}

impl Machine {
    /// Finds out what can be watched, while this process may still open files.
    pub(super) fn look_at() -> Self {
        Machine { generation: VmGeneration::open(), virtual_machine: is_virtual(), last: None }
    }

    fn is_safe(&self) -> bool {
        !self.virtual_machine || self.generation.is_some()
    }
}

impl Watch for Machine {
    fn look(&mut self) -> Option<u64> {
        let [running, since_start, of_day] = clocks();
        let seen = Seen {
            suspended: since_start - running,
            set: of_day - running,
            generation: self.generation.as_ref().map_or(0, VmGeneration::get),
        };
        let before = self.last.replace(seen);
        before.is_none_or(|before| !seen.has_jumped(&before)).then_some(since_start as u64)
    }
}

impl Seen {
    fn has_jumped(&self, before: &Seen) -> bool {
        let apart = |now: i128, then: i128| (now - then).abs() >= JUMP_NS;
        apart(self.suspended, before.suspended)
            || apart(self.set, before.set)
            || self.generation != before.generation
    }
}

/// Reads the clocks: without suspensions, since the start, and of day. That takes no system call where the system has the vDSO.
fn clocks() -> [i128; 3] {
    let read = |clock| nanoseconds(clock_gettime(clock));
    let attempt = || {
        let clocks = [ClockId::Monotonic, ClockId::Boottime, ClockId::Realtime].map(read);
        (read(ClockId::Monotonic) - clocks[0], clocks)
    };
    let (mut took, mut clocks) = attempt();
    for _ in 1..ATTEMPTS {
        if took <= STEADY_NS {
            break;
        }
        (took, clocks) = attempt();
    }
    clocks
}

fn nanoseconds(time: Timespec) -> i128 {
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

/// Returns true where a hypervisor is seen, or nothing tells whether there is one.
fn is_virtual() -> bool {
    // Intel SDM volume 2A, CPUID: bit 31 of ECX is not the processor's, and hypervisors set it.
    #[cfg(target_arch = "x86_64")]
    return core::arch::x86_64::__cpuid(1).ecx >> 31 == 1;
    #[cfg(not(target_arch = "x86_64"))]
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_presign_where_the_policy_says_so_and_the_machine_is_watched() {
        let machine = |virtual_machine| Machine { generation: None, virtual_machine, last: None };
        let (watched, copied) = (machine(false), machine(true));
        for (machine, permitted) in
            [(None, [false; 3]), (Some(&watched), [false, true, true]), (Some(&copied), [false, false, true])]
        {
            let rules = |precompute| KeyRules { precompute, ..KeyRules::default() };
            let found = [0, AUTO, ON].map(|precompute| Presigning::of(machine).permits(&rules(precompute)));
            assert_eq!(found, permitted);
            assert!(!Presigning::of(machine).permits(&rules(3)), "an unknown value");
        }
    }

    #[test]
    fn a_jump_of_a_clock_and_another_generation_are_seen_once() {
        let mut machine = Machine::look_at();
        let first = machine.look().expect("nothing to compare with");
        assert!(machine.look().is_some_and(|time| time >= first));
        let change: [fn(&mut Seen); 4] = [
            |seen| seen.suspended -= 2 * JUMP_NS,
            |seen| seen.set -= 2 * JUMP_NS,
            |seen| seen.set += 2 * JUMP_NS,
            |seen| seen.generation += 1,
        ];
        for change in change {
            change(machine.last.as_mut().unwrap());
            assert_eq!(machine.look(), None);
            assert!(machine.look().is_some(), "the next look compares with this one");
        }
    }
}
