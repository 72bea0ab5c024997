//! Every number of the timing model, and its origin.
//!
//! Sources are named as follows. *S0*: "Sun's 3rd generation on-chip UltraSPARC security accelerator", Hot Chips 21 (2009).
//! *S1*: notes on UltraSPARC T2 cryptography (2008, 2009). *S2*: how to tell whether the SPARC T4's cryptography is used (2012).
//! *S3*: the SPARC T4 OpenSSL engine (2011). *S4*: turning it off with `LD_HWCAP` (2011). *OSL*: the measurements in
//! the comments of OpenSSL's assembly for the T4.

use crate::isa::Class;
use crate::processor::Processor;

/// The origin of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Somebody measured or specified it, and published it.
    Published(&'static str),
    /// The number follows from published ones.
    Derived(&'static str),
    /// The number was chosen so that the model agrees with these published points, which therefore prove nothing
    /// about it.
    Fitted(&'static str),
    /// The number is our choice, because nobody published it. The text says why this one.
    Assumed(&'static str),
}

impl Origin {
    /// Returns the origin in one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Origin::Published(_) => "published",
            Origin::Derived(_) => "derived",
            Origin::Fitted(_) => "fitted",
            Origin::Assumed(_) => "assumed",
        }
    }

    /// Returns the text that explains the origin.
    #[must_use]
    pub fn explanation(self) -> &'static str {
        match self {
            Origin::Published(text)
            | Origin::Derived(text)
            | Origin::Fitted(text)
            | Origin::Assumed(text) => text,
        }
    }
}

/// One number.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// A short description.
    pub name: &'static str,
    /// The value.
    pub value: f64,
    /// The unit of the value.
    pub unit: &'static str,
    /// The origin of the value.
    pub origin: Origin,
}

macro_rules! parameters {
    ($($constant:ident $name:literal = $value:literal $unit:literal, $origin:ident $explanation:literal;)*) => {
        $(
            #[doc = concat!($name, ", in ", $unit, ". ", stringify!($origin), ": ", $explanation, ".")]
            pub const $constant: Parameter =
                Parameter { name: $name, value: $value, unit: $unit, origin: Origin::$origin($explanation) };
        )*
        /// All of them, in the order of this file.
        pub const ALL: &[Parameter] = &[$($constant),*];
    };
}

parameters! {
    // The machines.
    ULTRASPARC2_CLOCK "UltraSPARC II: clock" = 450e6 "Hz", Assumed "sold with 250 to 650 MHz; no figure of the history is measured on it";
    T1_CLOCK "T1: clock" = 1.2e9 "Hz", Assumed "the fastest that was sold; no figure of the history is measured on it";
    T2_CLOCK "T2: clock" = 1.4e9 "Hz", Assumed "the usual one of those sold (0.9 to 1.6 GHz); S1 does not say which it measured";
    T3_CLOCK "T3: clock" = 1.65e9 "Hz", Assumed "as sold; S0 gives none, before there were any";
    T4_CLOCK "T4: clock" = 2.85e9 "Hz", Published "OSL, for the same bytes a second as S2's largest objects";
    T2_CORES "T2: cores a socket" = 8.0 "cores", Published "the hypervisor's sources: eight queues and eight arithmetic units";
    T2_STRANDS "T2: strands a core" = 8.0 "strands", Published "the hypervisor's sources";
    T3_CORES "T3: cores a socket" = 16.0 "cores", Published "S0: up to 16 accelerators, one for each core";

    // The stream processing unit: T2, and Rainbow Falls as long as nobody says otherwise.
    SPU_AES128 "accelerator: AES-128" = 2.362 "cycles/byte", Fitted "S1: two sockets, 9 GB/s, taken as 16 busy units, 8 KB objects from DRAM";
    SPU_AES192 "accelerator: AES-192" = 2.834 "cycles/byte", Derived "AES-128 with 12 rounds for 10";
    SPU_AES256 "accelerator: AES-256" = 3.307 "cycles/byte", Derived "AES-128 with 14 rounds for 10";
    SPU_DES "accelerator: DES" = 1.08 "cycles/byte", Assumed "two rounds a cycle, and a little more than half a cycle a block; chip figures that are often quoted come to this, but their source is lost";
    SPU_3DES "accelerator: triple DES" = 3.32 "cycles/byte", Assumed "as DES: two rounds a cycle";
    SPU_RC4 "accelerator: RC4" = 1.08 "cycles/byte", Assumed "about a byte a cycle";
    SPU_MD5 "accelerator: MD5" = 2.19 "cycles/byte", Assumed "two cycles a step, and 12 a block";
    SPU_SHA1 "accelerator: SHA-1" = 2.80 "cycles/byte", Assumed "two cycles a step, and 19 a block";
    SPU_SHA256 "accelerator: SHA-256" = 2.19 "cycles/byte", Assumed "two cycles a step, and 12 a block";
    SPU_COPY "accelerator: copying, checksums" = 0.5 "cycles/byte", Assumed "a bus of 16 bytes each way, half used";
    SPU_START_L2 "accelerator: start of an operation, all in L2" = 268.7 "cycles", Fitted "S0: 90 % of peak at 1 KB from L2";
    SPU_START_DRAM "accelerator: start of an operation, data in DRAM" = 1036.6 "cycles", Fitted "S0: 70 % of peak at 1 KB from DRAM";
    MAU_PRODUCT "arithmetic unit: one product of 64-bit words" = 1.0 "cycles", Assumed "the core's multiplier, started each cycle";
    MAU_OPERATION "arithmetic unit: start of a multiplication" = 30.0 "cycles", Assumed "the multiplier's pipeline, filled and emptied twice";

    // Memory.
    T2_L2_LATENCY "T2: load from L2" = 26.0 "cycles", Assumed "as widely quoted for the chip";
    T2_COPY "T2: copying by the processor" = 0.65 "cycles/byte", Derived "a block load of 64 bytes waits for L2 once (26 cycles), and 16 more go to loads and stores";
    T2_DRAM_READ "T2: DRAM, a socket" = 42.6e9 "bytes/s", Assumed "four controllers of two FB-DIMM channels each";

    // T2's way through Solaris: the process, the kernel, the hypervisor, and back.
    FRAMEWORK_THREAD "framework: the caller's own part" = 3726.7 "cycles", Fitted "S1: async up to 4.7 times sync, 8 KB of encrypt_mac";
    FRAMEWORK_REST "framework: driver, hypervisor, interrupt, wake-up" = 7516.9 "cycles", Fitted "with the former, S0: up to 30 times for small packets";
    HYPERVISOR_CALL "of that: a hypervisor call" = 400.0 "cycles", Assumed "a trap, some twenty checks, and translations of eight addresses";
    INTERRUPT "of that: an interrupt, from the unit to its handler" = 2500.0 "cycles", Assumed "one trap of the hypervisor and one of the kernel";

    // Rainbow Falls' fast path.
    FAST_INSTRUCTION "fast path: an instruction of the submitting strand" = 1.3 "cycles", Assumed "one a cycle, and now and then a load";

    // The T4.
    T4_AES128_CBC "T4: AES-128-CBC encryption, aligned" = 2.70 "cycles/byte", Published "OSL";
    T4_SOFTWARE_AES128_CBC "T4: the same in software, through PKCS #11" = 31.83 "cycles/byte", Fitted "S4 without instructions, at 16 and 8192 bytes; OSL says 29";
    T4_ENGINE_CALL "T4: a call through EVP to the t4 engine" = 50.3 "cycles", Fitted "S2, the t4 engine at 16 bytes";
    T4_PKCS11_CALL "T4: a call through EVP and PKCS #11" = 1395.1 "cycles", Fitted "S2, pkcs11 at 16 bytes";
    T4_HWCAP_CALL "T4: a call of PKCS #11 in S4's test" = 798.6 "cycles", Fitted "S4 with instructions, at 16 bytes";
    T4_HWCAP_SOFTWARE_CALL "T4: the same without instructions" = 1043.0 "cycles", Fitted "S4 without instructions, at 16 and 8192 bytes";
    T4_MONTMUL_PRODUCT "T4: one product of 64-bit words in montmul" = 1.320 "cycles", Fitted "OSL: RSA-1024 and RSA-2048 signatures a second";
    T4_MONTMUL_CALL "T4: the rest of a montmul, with loading its windows" = 366.2 "cycles", Fitted "OSL: RSA-1024 and RSA-2048 signatures a second";
}

/// Cycles of one instruction of each class, on UltraSPARC II, T1, T2, T3 and T4 in this order; zero if the processor
/// has none.
///
/// The cycles are those of one strand that has its pipeline for itself and finds its data in the first cache. T1 to T3
/// execute one instruction at a time and wait for each; the T4 starts two a cycle and waits for the longest chain.
pub const CLASSES: &[(Class, [f64; 5], Origin)] = &[
    (Class::Integer, [0.5, 1.0, 1.0, 1.0, 0.5], ISSUE),
    (Class::Shift, [1.0, 1.0, 1.0, 1.0, 0.5], ISSUE),
    (Class::Multiply, [10.0, 11.0, 5.0, 5.0, 1.0], PIPELINE),
    (Class::Divide, [40.0, 72.0, 30.0, 30.0, 30.0], PIPELINE),
    (Class::Load, [1.5, 3.0, 3.0, 3.0, 1.0], PIPELINE),
    (Class::Store, [1.0, 1.0, 1.0, 1.0, 1.0], ISSUE),
    (Class::Atomic, [20.0, 30.0, 30.0, 30.0, 30.0], Origin::Assumed("done in L2")),
    (Class::Branch, [1.5, 3.0, 3.0, 3.0, 1.0], PIPELINE),
    (Class::Call, [2.0, 3.0, 3.0, 3.0, 1.0], PIPELINE),
    (Class::Window, [1.0, 2.0, 2.0, 2.0, 1.0], PIPELINE),
    (Class::State, [5.0, 10.0, 10.0, 10.0, 10.0], PIPELINE),
    (Class::Trap, [30.0, 30.0, 30.0, 30.0, 40.0], Origin::Assumed("a pipeline emptied twice")),
    (Class::FloatMove, [1.0, 8.0, 6.0, 6.0, 1.0], PIPELINE),
    (Class::FloatAdd, [1.0, 26.0, 6.0, 6.0, 1.0], PIPELINE),
    (Class::FloatMultiply, [1.0, 29.0, 6.0, 6.0, 1.0], PIPELINE),
    (Class::FloatDivide, [22.0, 83.0, 33.0, 33.0, 30.0], PIPELINE),
    (Class::FloatConvert, [2.0, 26.0, 6.0, 6.0, 1.0], PIPELINE),
    (Class::FloatCompare, [1.0, 26.0, 6.0, 6.0, 1.0], PIPELINE),
    (Class::Vis, [1.0, 24.0, 6.0, 6.0, 1.0], PIPELINE),
    (Class::Vis3, [0.0, 0.0, 0.0, 6.0, 1.0], PIPELINE),
    (
        Class::AesRound,
        [0.0, 0.0, 0.0, 0.0, 2.0],
        Origin::Derived("OSL: 43 cycles a block in a chain: 40 for its 20 pairs' halves"),
    ),
    (Class::AesKey, [0.0, 0.0, 0.0, 0.0, 3.0], Origin::Derived("OSL: the rounds' latency of three")),
    (
        Class::Des,
        [0.0, 0.0, 0.0, 0.0, 3.3],
        Origin::Derived("OSL: DES-CBC, 4.14 cycles a byte, ten instructions a block"),
    ),
    (Class::Kasumi, [0.0, 0.0, 0.0, 0.0, 3.0], Origin::Assumed("as an AES round's latency")),
    (
        Class::Camellia,
        [0.0, 0.0, 0.0, 0.0, 3.0],
        Origin::Derived("OSL: Camellia-128-CBC, 4.14 cycles a byte, 22 a block"),
    ),
    (Class::Md5, [0.0, 0.0, 0.0, 0.0, 205.0], Origin::Derived("OSL: 3.20 cycles a byte")),
    (Class::Sha1, [0.0, 0.0, 0.0, 0.0, 238.0], Origin::Derived("OSL: 3.72 cycles a byte")),
    (
        Class::Sha256,
        [0.0, 0.0, 0.0, 0.0, 260.0],
        Origin::Assumed("64 steps of four cycles, as SHA-1's 80 of three"),
    ),
    (Class::Sha512, [0.0, 0.0, 0.0, 0.0, 330.0], Origin::Assumed("80 steps of four cycles")),
    (Class::Crc32c, [0.0, 0.0, 0.0, 0.0, 3.0], Origin::Assumed("as an AES round's latency")),
    (
        Class::Mpmul,
        [0.0, 0.0, 0.0, 0.0, 1718.0],
        Origin::Derived("half of a montmul's products, of 32 words"),
    ),
    (Class::Montmul, [0.0, 0.0, 0.0, 0.0, 1042.0], Origin::Derived("of 16 words: RSA-2048")),
    (Class::Montsqr, [0.0, 0.0, 0.0, 0.0, 1042.0], Origin::Derived("of 16 words: RSA-2048")),
];

const ISSUE: Origin = Origin::Assumed("as many as the processor starts in a cycle");
const PIPELINE: Origin = Origin::Assumed("about what the pipeline waits for such an instruction");

/// Cycles of one instruction of a class.
#[must_use]
pub fn cycles(processor: Processor, class: Class) -> f64 {
    let row = CLASSES.iter().find(|(own, ..)| *own == class);
    // A class without a row of its own counts as plain instructions.
    row.map_or(1.0, |(_, cycles, _)| cycles[processor as usize])
}
