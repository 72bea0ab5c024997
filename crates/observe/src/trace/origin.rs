//! Finds the purpose of crypto instructions from the functions that called.

use super::findings::{Origin, Question};
use crate::code::known::{self, Noise};
use crate::code::unwind::{Caller, Registers};
use crate::code::{CarryLess, Classes};

/// Parts of the names of functions in which libraries test themselves.
const SELF_TESTS: &[&str] = &[
    "SELF_TEST_",
    "self_test",
    "selftest",
    "FIPS_selftest",
    "bcm_power_on",
    "freebl_RunSelfTests",
    "fips140/check",
    "fips140.CAST",
];

/// Returns the purpose of instructions of these classes, from the functions that a thread is in, the
/// innermost first. A self-test of a random generator is a self-test.
pub(super) fn of(frames: &[Caller], classes: Classes) -> Origin {
    let names = frames.iter().filter_map(|frame| frame.function.as_deref());
    if names.into_iter().any(|name| SELF_TESTS.iter().any(|part| name.contains(part))) {
        return Origin::SelfTest;
    }
    match known::noise_among(frames) {
        None if is_checksum(frames, classes) => Origin::Checksum,
        None => Origin::Work,
        Some(Noise::Randomness) => Origin::Random,
        Some(Noise::HashTable) => Origin::HashTable,
        Some(Noise::Checksum) => Origin::Checksum,
    }
}

/// Returns true for carry-less multiplication if the innermost function with a known purpose makes a
/// checksum.
fn is_checksum(frames: &[Caller], classes: Classes) -> bool {
    let multiplies = Question::CarryLess.classes();
    let says = frames.iter().map(|frame| frame.carry_less).find(|what| *what != CarryLess::Unknown);
    !classes.intersection(multiplies).is_empty()
        && !classes.difference(multiplies).is_proof()
        && says == Some(CarryLess::Checksum)
}

/// Returns a frame's name for people.
pub(super) fn name(caller: &Caller) -> String {
    match (&caller.function, &caller.module) {
        (Some(function), Some(module)) if !caller.is_named => format!("{module}:{function}"),
        (Some(function), _) => function.clone(),
        (None, Some(module)) => format!("{module}:{:x}", caller.inside),
        (None, None) => format!("{:x}", caller.address),
    }
}

/// Arranges the registers in the order of unwinding.
#[cfg(target_arch = "x86_64")]
pub(super) fn registers(registers: &crate::process::Registers) -> Registers {
    let r = registers;
    Registers {
        pc: r.pc(),
        general: [
            r.rax(),
            r.rdx(),
            r.rcx(),
            r.rbx(),
            r.rsi(),
            r.rdi(),
            r.rbp(),
            r.rsp(),
            r.r8(),
            r.r9(),
            r.r10(),
            r.r11(),
            r.r12(),
            r.r13(),
            r.r14(),
            r.r15(),
        ],
    }
}

/// Returns the program counter alone, as nothing is unwound on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn registers(registers: &crate::process::Registers) -> Registers {
    Registers { pc: registers.pc(), general: [0; 16] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Class;

    fn origin(chain: &[&str]) -> Origin {
        let frame = |name: &&str| Caller {
            address: 0,
            inside: 0,
            module: None,
            function: Some((*name).to_owned()),
            is_named: !name.starts_with("fn_"),
            offset: 0,
            carry_less: CarryLess::Unknown,
        };
        of(&chain.iter().map(frame).collect::<Vec<_>>(), Class::Aes.into())
    }

    #[test]
    fn numbers_tell_a_checksum_from_a_cipher() {
        let frame = |carry_less| Caller {
            address: 0,
            inside: 0,
            module: None,
            function: None,
            is_named: false,
            offset: 0,
            carry_less,
        };
        let origin = |says: &[CarryLess], classes: &[Class]| {
            let frames: Vec<Caller> = says.iter().copied().map(frame).collect();
            of(&frames, classes.iter().copied().collect())
        };
        let multiplies = [Class::Pclmul];
        let nothing = CarryLess::Unknown;
        assert_eq!(origin(&[nothing, CarryLess::Checksum], &multiplies), Origin::Checksum);
        assert_eq!(origin(&[CarryLess::Cipher, CarryLess::Checksum], &multiplies), Origin::Work);
        assert_eq!(origin(&[nothing], &multiplies), Origin::Work);
        assert_eq!(origin(&[CarryLess::Checksum], &[Class::Pclmul, Class::Aes]), Origin::Work);
        assert_eq!(origin(&[CarryLess::Checksum], &[Class::Sha]), Origin::Work);
        assert_eq!(origin(&[CarryLess::Checksum], &[Class::Crc32]), Origin::Work);
    }

    #[test]
    fn callers_tell_noise_from_work() {
        let cipher = ["fn_ddc00", "CRYPTO_ctr128_encrypt_ctr32", "EVP_EncryptUpdate", "fn_2103b0"];
        let called = |by: &[&str]| origin(&[&cipher[..], by].concat());
        assert_eq!(called(&["main"]), Origin::Work);
        assert_eq!(called(&["EVP_RAND_generate", "main"]), Origin::Random);
        assert_eq!(called(&["EVP_RAND_generate", "SELF_TEST_kats", "main"]), Origin::SelfTest);
        assert_eq!(origin(&["aeshashbody", "runtime.mapassign", "main.main"]), Origin::HashTable);
        assert_eq!(origin(&["crc32_pclmul", "main"]), Origin::Checksum);
        assert_eq!(origin(&[]), Origin::Work);
    }
}
