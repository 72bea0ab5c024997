//! Words of the most frequent kinds, which are executed by code made for their kind.
//!
//! The first six bytes of a word say what it asks for: version, opcode, algorithm, hash and flags. Words that follow each other
//! mostly ask for the same. [`with_shape!`] calls a function that is compiled once for each of the most frequent kinds, with these
//! bytes known, and once for all others. It is the same function, so words of frequent kinds are judged by the same checks as
//! others: the compiler only leaves out the questions whose answers it knows. Some more kinds have such code for runs alone.

use millstream_cwq::ControlWord;

/// The bytes of the first 64 bits of a word that say what it asks for. The other two are lengths.
const MASK: u64 = 0x0000_ffff_ffff_ffff;

/// Stands for the words whose first bytes are not known.
pub(crate) const ANY: u64 = 0;

/// Returns what a word asks for.
#[inline(always)]
pub(crate) const fn shape(words: &[u64; ControlWord::WORDS]) -> u64 {
    words[0] & MASK
}

/// Returns the word, with the bytes that `SHAPE` tells as constants. The word is one of that shape.
#[inline(always)]
pub(crate) fn word_of<const SHAPE: u64>(mut words: [u64; ControlWord::WORDS]) -> ControlWord {
    if SHAPE != ANY {
        words[0] = words[0] & !MASK | SHAPE;
    }
    ControlWord::from_words(words)
}

/// Declares the most frequent kinds, and the macro that chooses among them.
macro_rules! shapes {
    (
        $dollar:tt
        of_all { $($name:ident = $opcode:ident $algorithm:ident $hash:ident $flags:expr;)+ }
        of_runs { $($run:ident = $run_opcode:ident $run_algorithm:ident $run_hash:ident $run_flags:expr;)+ }
    ) => {
        shapes!(@ $($name = $opcode $algorithm $hash $flags;)+ $($run = $run_opcode $run_algorithm $run_hash $run_flags;)+);

        /// Calls a method that has a shape as its first parameter: with the given one if that is of a kind for which all code is made,
        /// and else with [`ANY`](crate::shape::ANY).
        macro_rules! with_shape {
            ($dollar shape:expr, $dollar this:ident.$dollar method:ident($dollar ($dollar argument:expr),* $dollar (,)?)) => {
                match $dollar shape {
                    $(crate::shape::frequent::$name => {
                        $dollar this.$dollar method::<{ crate::shape::frequent::$name }>($dollar ($dollar argument),*)
                    })+
                    _ => $dollar this.$dollar method::<{ crate::shape::ANY }>($dollar ($dollar argument),*),
                }
            };
        }

        /// The kinds for which all code is made.
        #[cfg(test)]
        const OF_ALL: &[u64] = &[$(frequent::$name),+];
    };
    (@ $($name:ident = $opcode:ident $algorithm:ident $hash:ident $flags:expr;)+) => {
        /// The first bytes of the most frequent kinds.
        pub(crate) mod frequent {
            use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode};

            use crate::uses::{is_of_pair, is_piece};

            $(pub(crate) const $name: u64 = {
                let (algorithm, hash) = (Algorithm::$algorithm as u8, Algorithm::$hash as u8);
                let opcode = Opcode::$opcode as u8;
                super::shape(
                    &ControlWord { opcode, algorithm, hash, flags: $flags, ..ControlWord::EMPTY }.to_words(),
                )
            };)+

            /// No frequent kind has one of these flags: they go the general way.
            const SELDOM: u16 = !(Flags::REVERSE | Flags::MAKE_NONCE);
            $(const _: () = assert!($flags & SELDOM == 0);)+
            // Nor is one a piece of a message, or about a key pair: the code for a kind does not look for these.
            $(const _: () = assert!(!is_of_pair(Opcode::$opcode) && !is_piece(Opcode::$opcode));)+

            #[cfg(test)]
            pub(crate) const ALL: &[(&str, u64)] = &[$((stringify!($name), $name)),+];
        }
    };
}
shapes! {
    $
    // Alone, among others, and in runs.
    of_all {
        COPY = Copy None None 0;
        ECB_ENCRYPT = Cipher AesEcb None 0;
        ECB_DECRYPT = Cipher AesEcb None Flags::REVERSE;
        CBC_ENCRYPT = Cipher AesCbc None 0;
        CBC_DECRYPT = Cipher AesCbc None Flags::REVERSE;
        CTR_ENCRYPT = Cipher AesCtr None 0;
        CTR_DECRYPT = Cipher AesCtr None Flags::REVERSE;
        XTS_ENCRYPT = Cipher AesXts None 0;
        XTS_DECRYPT = Cipher AesXts None Flags::REVERSE;
        GCM_SEAL = Aead AesGcm None 0;
        GCM_OPEN = Aead AesGcm None Flags::REVERSE;
        CHACHA_SEAL = Aead ChaCha20Poly1305 None 0;
        CHACHA_OPEN = Aead ChaCha20Poly1305 None Flags::REVERSE;
        SHA1 = Hash None Sha1 0;
        SHA256 = Hash None Sha256 0;
        SHA512 = Hash None Sha512 0;
        HMAC_SHA1 = Hmac None Sha1 0;
        HMAC_SHA256 = Hmac None Sha256 0;
        HMAC_SHA384 = Hmac None Sha384 0;
        HMAC_SHA512 = Hmac None Sha512 0;
        CMAC = Mac AesCmac None 0;
    }
    // In runs. In other company they go the general way, and nobody compiles more for them.
    of_runs {
        CBC_THEN_SHA1 = EncryptThenMac AesCbc Sha1 0;
        CBC_THEN_SHA256 = EncryptThenMac AesCbc Sha256 0;
        CBC_THEN_SHA512 = EncryptThenMac AesCbc Sha512 0;
        SHA1_THEN_CBC = MacThenDecrypt AesCbc Sha1 0;
        SHA256_THEN_CBC = MacThenDecrypt AesCbc Sha256 0;
        SHA512_THEN_CBC = MacThenDecrypt AesCbc Sha512 0;
        CFB_ENCRYPT = Cipher AesCfb None 0;
        CAMELLIA_CBC_ENCRYPT = Cipher CamelliaCbc None 0;
        DES_CBC_ENCRYPT = Cipher DesCbc None 0;
        DES_CBC_DECRYPT = Cipher DesCbc None Flags::REVERSE;
        MD5 = Hash None Md5 0;
        SHA3_256 = Hash None Sha3_256 0;
        HMAC_MD5 = Hmac None Md5 0;
        GCM_SEAL_WITH_MADE_NONCE = Aead AesGcm None Flags::MAKE_NONCE;
        CHACHA_SEAL_WITH_MADE_NONCE = Aead ChaCha20Poly1305 None Flags::MAKE_NONCE;
        GCM_SIV_SEAL = Aead AesGcmSiv None 0;
        GCM_SIV_SEAL_WITH_MADE_NONCE = Aead AesGcmSiv None Flags::MAKE_NONCE;
        GCM_SIV_OPEN = Aead AesGcmSiv None Flags::REVERSE;
        SIV_SEAL = Aead AesSiv None 0;
        SIV_OPEN = Aead AesSiv None Flags::REVERSE;
        FF1_ENCRYPT = Cipher AesFf1 None 0;
        FF1_DECRYPT = Cipher AesFf1 None Flags::REVERSE;
    }
}
#[expect(clippy::single_component_path_imports, reason = "other modules import the macro from here")]
pub(crate) use with_shape;

#[cfg(test)]
mod tests {
    use millstream_cwq::ControlWord;
    use proptest::prelude::*;

    use super::{MASK, OF_ALL, frequent, shape, word_of};

    struct Compiled;

    impl Compiled {
        /// Returns the word as code sees it that was compiled for `SHAPE`.
        fn word<const SHAPE: u64>(&self, words: [u64; ControlWord::WORDS]) -> (u64, ControlWord) {
            (SHAPE, word_of::<SHAPE>(words))
        }
    }

    proptest! {
        /// Code that was made for a kind sees each word of it as it is, and no word of another kind gets there.
        #[test]
        fn words_are_the_same_whichever_code_they_meet(
            mut words: [u64; ControlWord::WORDS],
            kind in 0..frequent::ALL.len(),
            is_frequent: bool,
        ) {
            let (name, first) = frequent::ALL[kind];
            if is_frequent {
                words[0] = words[0] & !MASK | first;
            }
            let (chosen, word) = with_shape!(shape(&words), Compiled.word(words));
            prop_assert_eq!(word, ControlWord::from_words(words), "{}", name);
            let has_all = OF_ALL.contains(&shape(&words));
            prop_assert_eq!(chosen, if has_all { shape(&words) } else { super::ANY });
        }
    }
}
