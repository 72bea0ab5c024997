//! The processor's own counters of crypto instructions, which exist on AMD since Zen 4 and on Arm.
//!
//! Intel's processors have no such event. AMD's event for carry-less multiplication is not used, because it
//! also counts conversions and packing, as the later documentation says. No machine with any of these events
//! was at hand. So the choice of the event and the reading of a counter are tested, but the events themselves
//! are not.
//!
//! Ref. Linux `tools/perf/pmu-events/arch/x86/{amdzen4,amdzen5}/floating-point.json` and `arch/x86/mapfile.csv`; Arm
//! Architecture Reference Manual, common event CRYPTO_SPEC; perf_event_open(2).
//!
//! # Safety
//! The only system call reads an array that lives until the call returns, and its result is a new descriptor.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

use super::findings::Counter;
use crate::code::{Class, Classes};

/// An event that a processor counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The event's name in the processor's documentation.
    pub name: &'static str,
    /// The classes of instructions that it counts.
    classes: &'static [Class],
    /// The type in a call of perf_event_open.
    kind: u32,
    config: u64,
    speculative: bool,
}

/// `PERF_TYPE_RAW`, with the processor's own event number.
const RAW: u32 = 4;

const ZEN: &[Event] = &[
    Event {
        name: "sse_avx_ops_retired.sse_avx_aes",
        classes: &[Class::Aes, Class::Vaes],
        kind: RAW,
        config: 0x500B,
        speculative: false,
    },
    Event {
        name: "sse_avx_ops_retired.sse_avx_sha",
        classes: &[Class::Sha],
        kind: RAW,
        config: 0x600B,
        speculative: false,
    },
];

const ARM: &[Event] = &[Event {
    name: "CRYPTO_SPEC",
    classes: &[Class::Aes, Class::Sha, Class::Sha512, Class::Sm3, Class::Sm4],
    kind: RAW,
    config: 0x77,
    speculative: true,
}];

/// Returns the events of a processor of this kind.
fn events(vendor: &str, family: u32, model: u32) -> &'static [Event] {
    // Models of family 25 below 10h, and those at 20h, 40h and 50h, are Zen 3.
    match (vendor, family) {
        ("AuthenticAMD", 25) if !matches!(model >> 4, 0 | 2 | 4 | 5) => ZEN,
        ("AuthenticAMD", 26) => ZEN,
        _ => &[],
    }
}

/// Returns the events of this processor.
///
/// # Errors
/// Fails when it counts no crypto instructions.
pub fn events_here() -> io::Result<&'static [Event]> {
    let text = std::fs::read_to_string("/proc/cpuinfo")?;
    let events = if cfg!(target_arch = "aarch64") { ARM } else { events_of(&text) };
    if events.is_empty() {
        return Err(io::Error::other(
            "this processor counts no crypto instructions; AMD's do since Zen 4, and Arm's",
        ));
    }
    Ok(events)
}

fn events_of(cpuinfo: &str) -> &'static [Event] {
    let field = |name: &str| {
        let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        lines.into_iter().find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
    };
    let number = |name| field(name).and_then(|value| value.parse().ok());
    match (field("vendor_id"), number("cpu family"), number("model")) {
        (Some(vendor), Some(family), Some(model)) => events(vendor, family, model),
        _ => &[],
    }
}

/// Counters of a thread, and of all threads and processes that it starts from now on.
#[derive(Debug, Default)]
pub struct Counters {
    running: Vec<(Event, File)>,
}

impl Counters {
    /// Starts the counters of one thread.
    ///
    /// # Errors
    /// Fails when the kernel allows none, or the machine has none.
    pub fn start(&mut self, tid: i32, events: &[Event]) -> io::Result<()> {
        for event in events {
            self.running.push((*event, open(tid, event)?));
        }
        Ok(())
    }

    /// Returns the counts.
    pub fn read(&self) -> Vec<Counter> {
        let mut counters: Vec<Counter> = Vec::new();
        for (event, file) in &self.running {
            let Ok(count) = count(file) else { continue };
            match counters.iter_mut().find(|counter| counter.event == event.name) {
                Some(counter) => counter.count += count,
                None => counters.push(Counter {
                    classes: event.classes.iter().copied().collect::<Classes>(),
                    event: event.name,
                    count,
                    speculative: event.speculative,
                }),
            }
        }
        counters
    }
}

fn open(tid: i32, event: &Event) -> io::Result<File> {
    // The array is a struct perf_event_attr in its first version: type and size, number, period, kinds of
    // sample, format, flags, and two fields for wake-ups and breakpoints.
    const SIZE: u64 = 64;
    const TIME_ENABLED_AND_RUNNING: u64 = 3;
    const INHERIT: u64 = 1 << 1;
    const EXCLUDE_KERNEL: u64 = 1 << 5;
    const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    const CLOSE_ON_EXEC: u64 = 8;
    let flags = INHERIT | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR;
    let attributes: [u64; 8] =
        [u64::from(event.kind) | SIZE << 32, event.config, 0, 0, TIME_ENABLED_AND_RUNNING, flags, 0, 0];
    let attributes = attributes.as_ptr();
    // SAFETY: the array has the size that it says, and lives until the call returns.
    let result = unsafe { libc::syscall(libc::SYS_perf_event_open, attributes, tid, -1, -1, CLOSE_ON_EXEC) };
    match i32::try_from(result) {
        Ok(descriptor) if descriptor >= 0 => {
            // SAFETY: perf_event_open has just returned this descriptor.
            Ok(unsafe { File::from_raw_fd(descriptor) })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads a count, scaled up for the time in which the counter served others.
fn count(mut file: &File) -> io::Result<u64> {
    let mut bytes = [0; 24];
    file.read_exact(&mut bytes)?;
    let mut words = bytes.chunks_exact(8).map(|word| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(word);
        u64::from_le_bytes(bytes)
    });
    let mut next = || words.next().unwrap_or(0);
    let (value, enabled, running) = (next(), next(), next());
    Ok(scaled(value, enabled, running))
}

fn scaled(value: u64, enabled: u64, running: u64) -> u64 {
    if running == 0 {
        return 0;
    }
    let scaled = u128::from(value) * u128::from(enabled) / u128::from(running);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_go_by_family_and_model() {
        let here = |family, model| {
            let text = format!(
                "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: x\n"
            );
            events_of(&text)
        };
        for (family, model) in [(25, 0x11), (25, 0x61), (25, 0x74), (25, 0xA0), (26, 2), (26, 0x44)] {
            assert_eq!(here(family, model), ZEN, "{family} {model:x}");
        }
        for (family, model) in [(23, 0x31), (25, 1), (25, 0x21), (25, 0x44), (25, 0x50), (6, 0x8F)] {
            assert!(here(family, model).is_empty(), "{family} {model:x}");
        }
        assert!(events("GenuineIntel", 26, 0).is_empty());
        assert!(events_of("Features : aes").is_empty());
        let codes: Vec<(u64, u64)> = ZEN.iter().map(|e| (e.config & 0xFF, e.config >> 8)).collect();
        assert_eq!(codes, [(0x0B, 0x50), (0x0B, 0x60)]);
        assert_eq!((ARM[0].config, ARM[0].speculative), (0x77, true));
    }

    #[test]
    fn counts_are_scaled() {
        assert_eq!(scaled(100, 8, 4), 200);
        assert_eq!(scaled(100, 8, 0), 0);
        assert_eq!(scaled(u64::MAX, 8, 4), u64::MAX);
    }

    /// A counter that every kernel has proves that opening and reading work.
    #[test]
    fn a_counter_counts() {
        let task_clock =
            Event { name: "task-clock", classes: &[Class::Aes], kind: 1, config: 1, speculative: false };
        let mut counters = Counters::default();
        if let Err(error) = counters.start(0, &[task_clock]) {
            println!("SKIPPED a_counter_counts: perf_event_open: {error}");
            return;
        }
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < 20 {}
        let counted = counters.read();
        assert_eq!(counted[0].event, "task-clock");
        assert!((1_000_000..10_000_000_000).contains(&counted[0].count), "{counted:?}");
    }
}
