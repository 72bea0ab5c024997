//! What crypto instructions ran for, as far as those who called say it.

use super::findings::Origin;
use crate::code::unwind::{Caller, Registers};

/// Parts of the names of functions, and what crypto instructions that run under them run for. The outermost function that
/// is named here decides: a random generator may be tested, and a test is no use of it.
const KNOWN: &[(Origin, &[&str])] = &[
    (
        Origin::SelfTest,
        &[
            "SELF_TEST_",
            "self_test",
            "selftest",
            "fips_run_selftests",
            "FIPS_selftest",
            "bcm_power_on",
            "freebl_RunSelfTests",
            "fips140/check",
            ".init.CAST",
            "fips140.CAST",
        ],
    ),
    (
        Origin::Random,
        &[
            // OpenSSL, BoringSSL, AWS-LC
            "EVP_RAND_",
            "RAND_bytes",
            "RAND_priv_bytes",
            "RAND_pseudo_bytes",
            "RAND_DRBG_",
            "CTR_DRBG_",
            "RAND_get0_p",
            "rand_bytes_",
            // libgcrypt, GnuTLS, nettle, NSS, mbed TLS, libsodium, Botan
            "gcry_random",
            "gcry_create_nonce",
            "gnutls_rnd",
            "drbg_ctr",
            "yarrow256_",
            "fortuna_",
            "PK11_GenerateRandom",
            "RNG_RandomUpdate",
            "RNG_GenerateGlobalRandomBytes",
            "mbedtls_ctr_drbg_",
            "psa_generate_random",
            "randombytes_",
            "AutoSeeded_RNG",
            // Go, Rust
            "crypto/rand.",
            "fips140/drbg.",
            "math/rand",
            "rand_chacha::",
            "rand_core::",
            "getrandom::",
        ],
    ),
    (
        Origin::HashTable,
        &[
            "runtime.aeshash",
            "runtime.memhash",
            "runtime.strhash",
            "ahash::",
            "gxhash::",
            "absl::hash_internal",
            "aquahash",
            "meowhash",
        ],
    ),
];

/// What it was, by the names of the functions that a thread was in, the innermost first.
pub(super) fn of(chain: &[String]) -> Origin {
    let known = |name: &String| {
        let named = |(_, parts): &&(Origin, &[&str])| parts.iter().any(|part| name.contains(part));
        KNOWN.iter().find(named).map(|(origin, _)| *origin)
    };
    chain.iter().rev().find_map(known).unwrap_or(Origin::Work)
}

/// A frame's name for people.
pub(super) fn name(caller: &Caller) -> String {
    match (&caller.function, &caller.module) {
        (Some(function), Some(module)) if !caller.is_named => format!("{module}:{function}"),
        (Some(function), _) => function.clone(),
        (None, Some(module)) => format!("{module}:{:x}", caller.address),
        (None, None) => format!("{:x}", caller.address),
    }
}

/// In the order that unwinding wants.
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

/// Nothing is unwound here.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn registers(registers: &crate::process::Registers) -> Registers {
    Registers { pc: registers.pc(), general: [0; 16] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(chain: &[&str]) -> Origin {
        of(&chain.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn callers_tell_noise_from_work() {
        let drbg =
            ["fn_ddc00", "CRYPTO_ctr128_encrypt_ctr32", "EVP_EncryptUpdate", "libcrypto.so.3:fn_2103b0"];
        assert_eq!(origin(&drbg), Origin::Work);
        assert_eq!(origin(&[&drbg[..], &["EVP_RAND_generate", "main"]].concat()), Origin::Random);
        assert_eq!(
            origin(&["aesni_encrypt", "EVP_RAND_generate", "SELF_TEST_kats", "main"]),
            Origin::SelfTest
        );
        assert_eq!(origin(&["runtime.aeshashbody", "runtime.mapassign", "main.main"]), Origin::HashTable);
        assert_eq!(origin(&[]), Origin::Work);
    }
}
