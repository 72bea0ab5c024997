//! Computes the answer to CPUID for a program from which features are withheld.
//!
//! # What is changed
//! The bits of the withheld features are cleared; [`Withheld`] has closed the set under dependence. Leaves
//! that describe a withheld feature further return zero: Key Locker (0x19), the tiles of AMX (0x1D, 0x1E) and
//! AVX10 (0x24).
//!
//! # What is left as it is
//! - Leaf 0xD, the save areas of XSAVE, stays because it says what the operating system saves, not what
//!   exists. XGETBV says the same and can't be hidden. glibc reserves the size from leaf 0xD for a save that
//!   writes what XGETBV says, so a smaller size would make it overwrite the program's memory. OSXSAVE stays
//!   for the same reason.
//! - The highest leaf and subleaf, caches, topology, performance counters, tracing (0x14), and a hypervisor's
//!   leaves stay.
//!
//! Ref. Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E.

use crate::capability::{Capabilities, Place, Register, Withheld};

/// A question to CPUID: EAX and ECX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    /// EAX.
    pub leaf: u32,
    /// ECX.
    pub subleaf: u32,
}

/// An answer of CPUID: EAX, EBX, ECX and EDX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Answer {
    /// EAX.
    pub eax: u32,
    /// EBX.
    pub ebx: u32,
    /// ECX.
    pub ecx: u32,
    /// EDX.
    pub edx: u32,
}

impl Answer {
    fn register(&mut self, register: Register) -> &mut u32 {
        match register {
            Register::Eax => &mut self.eax,
            Register::Ebx => &mut self.ebx,
            Register::Ecx => &mut self.ecx,
            Register::Edx => &mut self.edx,
        }
    }
}

/// Leaves of which every subleaf describes one feature alone.
const DESCRIPTIONS: [(u32, &str); 4] =
    [(0x19, "keylocker"), (0x1d, "amxtile"), (0x1e, "amxtile"), (0x24, "avx10")];

/// Leaves with feature bits whose answer depends on the subleaf.
const WITH_SUBLEAVES: [u32; 1] = [7];

/// The first leaf beyond the basic ones, which is a hypervisor's.
const BASIC_END: u32 = 0x4000_0000;

/// Returns the answer that a program gets in place of the processor's.
///
/// `highest` is the highest basic leaf. For leaves above it, processors answer as for that one.
///
/// ```
/// # #[cfg(target_arch = "x86_64")] {
/// use millstream_observe::capability::Withheld;
/// use millstream_observe::without::{Answer, Question, answer};
///
/// let raw = Answer { ecx: 1 << 25 | 1 << 1, ..Answer::default() };
/// let told = answer(Question { leaf: 1, subleaf: 0 }, raw, 0x20, Withheld::without("aes").unwrap());
/// assert_eq!(told.ecx, 1 << 1); // PCLMUL stays
/// # }
/// ```
pub fn answer(question: Question, raw: Answer, highest: u32, withheld: Withheld) -> Answer {
    let question = meant(question, highest);
    let describes = DESCRIPTIONS.iter().any(|(leaf, name)| *leaf == question.leaf && withheld.has(name));
    if describes {
        return Answer::default();
    }
    let mut told = raw;
    for place in withheld.all().iter().flat_map(|capability| capability.places) {
        if let Some((register, bit)) = told_at(*place, question) {
            *told.register(register) &= !(1 << bit);
        }
    }
    told
}

/// Returns the withheld features that this answer of the processor's would have shown.
pub fn hidden(question: Question, raw: Answer, highest: u32, withheld: Withheld) -> Capabilities {
    let question = meant(question, highest);
    let mut raw = raw;
    let mut seen = |place: &Place| {
        let at = told_at(*place, question);
        at.is_some_and(|(register, bit)| *raw.register(register) >> bit & 1 == 1)
    };
    let found = withheld.all().iter().filter(|capability| capability.places.iter().any(&mut seen));
    found.map(|capability| Capabilities::named(capability.name)).fold(Capabilities::NONE, Capabilities::union)
}

/// Returns the question that the processor actually answers.
fn meant(question: Question, highest: u32) -> Question {
    let beyond = question.leaf > highest && question.leaf < BASIC_END;
    Question { leaf: if beyond { highest } else { question.leaf }, ..question }
}

/// Returns the register and bit of a place, if the question is about it.
fn told_at(place: Place, question: Question) -> Option<(Register, u8)> {
    let Place::Cpuid { leaf, subleaf, register, bit } = place else { return None };
    let asked = leaf == question.leaf && (subleaf == question.subleaf || !WITH_SUBLEAVES.contains(&leaf));
    asked.then_some((register, bit))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::capability::X86_64;

    const fn question(leaf: u32, subleaf: u32) -> Question {
        Question { leaf, subleaf }
    }

    const fn raw(eax: u32, ebx: u32, ecx: u32, edx: u32) -> Answer {
        Answer { eax, ebx, ecx, edx }
    }

    /// Answers of a Xeon of 2023, and of a Zen 4 for AMD's extended leaf.
    const RECORDED: [(Question, Answer); 14] = [
        (question(0, 0), raw(0x20, 0x756e_6547, 0x6c65_746e, 0x4965_6e69)),
        (question(1, 0), raw(0x000c_06f2, 0x0102_0800, 0xfffa_3203, 0x1f8b_fbff)),
        (question(4, 1), raw(0x0400_0122, 0x01c0_003f, 0x3f, 0)),
        (question(7, 0), raw(2, 0xf1bf_2ffb, 0x1b41_5f7e, 0xbfd8_4432)),
        (question(7, 1), raw(0x00a0_1c30, 0, 0, 0x0008_4130)),
        (question(7, 2), raw(0, 0, 0, 0x17)),
        (question(0xd, 0), raw(0x0006_02e7, 0x2b00, 0x2b00, 0)),
        (question(0xd, 1), raw(0x1f, 0x2a80, 0x1900, 0)),
        (question(0x14, 0), raw(1, 0x5f, 7, 0)),
        (question(0x19, 0), raw(7, 0x15, 3, 0)),
        (question(0x1d, 1), raw(0x0400_2000, 0x0008_0040, 0x10, 0)),
        (question(0x1e, 0), raw(0, 0x4010, 0, 0)),
        (question(0x24, 0), raw(0, 0x0007_0001, 0, 0)),
        (
            question(0x8000_0001, 0),
            raw(0x00a1_0f12, 0x4000_0000, 0x75c2_37ff | 1 << 11 | 1 << 16, 0x2fd3_fbff),
        ),
    ];

    const HIGHEST: u32 = 0x24;

    fn told(question: Question, answers: Answer, list: &str) -> Answer {
        answer(question, answers, HIGHEST, Withheld::without(list).unwrap())
    }

    #[test]
    fn every_feature_is_cleared_with_what_depends_on_it_and_nothing_else() {
        let mut cleared = 0;
        for capability in X86_64 {
            let withheld = Withheld::without(capability.name).unwrap();
            for (question, recorded) in RECORDED {
                let told = answer(question, recorded, HIGHEST, withheld);
                let described = DESCRIPTIONS.iter().find(|(leaf, _)| *leaf == question.leaf);
                if described.is_some_and(|(_, name)| withheld.has(name)) {
                    assert_eq!(told, Answer::default(), "{} {question:?}", capability.name);
                    continue;
                }
                let mut expected = recorded;
                for place in withheld.all().iter().flat_map(|capability| capability.places) {
                    let Place::Cpuid { leaf, subleaf, register, bit } = *place else { unreachable!() };
                    if (leaf, subleaf) == (question.leaf, question.subleaf) {
                        *expected.register(register) &= !(1 << bit);
                    }
                }
                assert_eq!(told, expected, "{} {question:?}", capability.name);
                cleared += u32::from(told != recorded);
            }
        }
        assert!(cleared > 60, "{cleared}");
    }

    #[test]
    fn nothing_withheld_changes_nothing() {
        for (question, recorded) in RECORDED {
            assert_eq!(answer(question, recorded, HIGHEST, Withheld::default()), recorded);
        }
    }

    #[test]
    fn leaves_that_are_no_features_stay() {
        for (question, recorded) in RECORDED {
            if [0, 4, 0xd, 0x14].contains(&question.leaf) || question.subleaf > 1 {
                let none = Withheld::with_only("").unwrap();
                assert_eq!(answer(question, recorded, HIGHEST, none), recorded, "{question:?}");
            }
        }
        // The bits of a hypervisor's leaf mean something else.
        let all = raw(u32::MAX, u32::MAX, u32::MAX, u32::MAX);
        assert_eq!(told(question(0x4000_0001, 0), all, "crypto avx512"), all);
    }

    #[test]
    fn leaf_1_answers_the_same_for_every_subleaf() {
        let recorded = RECORDED[1].1;
        for subleaf in [0, 1, 7, u32::MAX] {
            assert_eq!(told(question(1, subleaf), recorded, "aes").ecx, recorded.ecx & !(1 << 25));
        }
    }

    #[test]
    fn leaf_7_differs_by_subleaf() {
        let all = raw(u32::MAX, u32::MAX, u32::MAX, u32::MAX);
        assert_eq!(told(question(7, 0), all, "sha").ebx, !(1 << 29));
        assert_eq!(told(question(7, 1), all, "sha"), all);
        assert_eq!(told(question(7, 1), all, "sha512").eax, !1);
        assert_eq!(told(question(7, 2), all, "crypto avx512"), all);
    }

    #[test]
    fn beyond_the_highest_leaf_is_the_highest() {
        let all = raw(u32::MAX, u32::MAX, u32::MAX, u32::MAX);
        let sha = Withheld::without("sha").unwrap();
        // A processor whose highest leaf is 7 answers leaf 0xD as leaf 7.
        assert_eq!(answer(question(0xd, 0), all, 7, sha).ebx, !(1 << 29));
        assert_eq!(answer(question(0xd, 0), all, 0xd, sha), all);
        assert_eq!(answer(question(0x8000_0001, 0), all, 7, sha), all);
    }

    #[test]
    fn what_is_hidden_was_there() {
        let withheld = Withheld::without("aes avx10 xop padlock").unwrap();
        let hidden = |question, raw| hidden(question, raw, HIGHEST, withheld);
        let of_one = hidden(RECORDED[1].0, RECORDED[1].1);
        assert!(of_one.has("aes") && !of_one.has("vaes"));
        assert!(hidden(RECORDED[3].0, RECORDED[3].1).has("vaes"));
        assert!(hidden(RECORDED[13].0, RECORDED[13].1).has("xop"));
        assert!(hidden(RECORDED[4].0, raw(0, 0, 0, 0)).is_empty());
        assert!(hidden(question(4, 0), RECORDED[1].1).is_empty());
    }
}
