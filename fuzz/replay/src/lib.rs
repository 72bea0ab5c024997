//! What stands in for libFuzzer where nobody waits for it: each fuzz target is a test, which runs on the target's seeds and on
//! random inputs that are the same every time.
//!
//! It shows that the targets hold on the inputs that they began with, with assertions and overflow checks, in the build that all
//! other tests use. It does not search: `cargo xtask ci --only fuzz` does, guided by coverage and with checks of addresses.

use std::path::Path;

pub use arbitrary;

/// The random inputs of a target, beside its seeds.
const INPUTS: usize = 1500;

/// The longest input, in bytes, as for libFuzzer.
const LONGEST: usize = 4096;

/// Makes a fuzz target a test.
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: &[u8]| $body:block) => {
        fn target($input: &[u8]) $body

        #[test]
        fn replay() {
            $crate::replay(module_path!(), &|bytes| target(bytes));
        }
    };
    (|$input:ident: &str| $body:block) => {
        fn target($input: &str) $body

        #[test]
        fn replay() {
            $crate::replay(module_path!(), &|bytes| target(&String::from_utf8_lossy(bytes)));
        }
    };
    (|$input:ident: $type:ty| $body:block) => {
        fn target($input: $type) $body

        #[test]
        fn replay() {
            $crate::replay(module_path!(), &|bytes| {
                // What is too short for a value is no input, as with libFuzzer.
                let mut bytes = $crate::arbitrary::Unstructured::new(bytes);
                if let Ok(input) = $crate::arbitrary::Arbitrary::arbitrary(&mut bytes) {
                    target(input);
                }
            });
        }
    };
}

/// Runs a target on its seeds, on seeds with some bytes changed, and on random bytes.
///
/// The target has the name of the module that it is.
///
/// # Panics
/// When the target does; the input then stands in hexadecimal on standard error.
pub fn replay(module: &str, target: &dyn Fn(&[u8])) {
    let seeds = seeds(module.rsplit("::").next().unwrap_or(module));
    for seed in &seeds {
        watched(target, seed);
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for number in 0..INPUTS {
        let input = match seeds.get(number % (2 * seeds.len().max(1))) {
            Some(seed) => random.mutation(seed),
            None => random.input(),
        };
        watched(target, &input);
    }
}

/// Returns the seeds that are kept for a target; many have none.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../seeds").join(name);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a seed").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a seed is read")).collect()
}

fn watched(target: &dyn Fn(&[u8]), input: &[u8]) {
    let told = Told(input);
    target(input);
    drop(told);
}

/// Prints an input if the target panics on it.
struct Told<'i>(&'i [u8]);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let digits: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
            eprintln!("the input, of {} bytes: {digits}", self.0.len());
        }
    }
}

/// A generator of numbers that are the same every time: xorshift64*.
///
/// Ref. S. Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled" (2016).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(((self.next() >> 32) * end as u64) >> 32).expect("below a usize")
    }

    /// Random bytes: short ones are likeliest, and some have only a few values, so that fields of formats are met.
    fn input(&mut self) -> Vec<u8> {
        let most = LONGEST >> self.below(10);
        let len = self.below(most + 1);
        let values = [256, 256, 16, 3][self.below(4)];
        (0..len).map(|_| u8::try_from(self.below(values)).expect("a byte")).collect()
    }

    /// A seed with a few bytes changed, and sometimes its end cut off.
    fn mutation(&mut self, seed: &[u8]) -> Vec<u8> {
        let mut input = seed.to_vec();
        for _ in 0..1 + self.below(4) {
            let at = self.below(input.len() + 1);
            match input.get_mut(at) {
                Some(byte) => *byte = self.next().to_le_bytes()[7],
                None => input.push(self.next().to_le_bytes()[7]),
            }
        }
        if self.below(4) == 0 {
            input.truncate(self.below(input.len() + 1));
        }
        input
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn inputs_are_many_and_the_same_every_time() {
        let run = || {
            let met = RefCell::new(Vec::new());
            replay("policy", &|bytes| met.borrow_mut().push(bytes.to_vec()));
            met.into_inner()
        };
        let inputs = run();
        assert_eq!(inputs, run());
        let kept = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../seeds/policy"))
            .expect("seeds")
            .count();
        assert_eq!(inputs.len(), kept + INPUTS);
        let mut different = inputs.clone();
        different.sort();
        different.dedup();
        assert!(different.len() > INPUTS * 9 / 10, "{}", different.len());
        assert!(inputs.iter().all(|input| input.len() <= LONGEST));
        assert!(inputs.iter().any(|input| input.len() > LONGEST / 2) && inputs.iter().any(Vec::is_empty));
    }
}
