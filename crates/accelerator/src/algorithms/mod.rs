//! The open list of algorithms: one row holds all that the accelerator knows of one.
//!
//! Macros turn the rows into enumerations and matches, so the compiler sees static calls only. `every_algorithm!` hands
//! all rows to a macro, `every_engine!` only the types of keys, `every_lane!` only the lanes.

mod rows;

use millstream_cwq::{Algorithm, ControlWord, Opcode};
use millstream_engines::hash::Hash;
use millstream_publickey::rsa::MAX_PRIVATE_DER;
pub(crate) use rows::every_algorithm;

/// The longest initialisation vector of a cipher, in bytes.
pub(crate) const MAX_IV: usize = 16;

/// Hands the types of all keys to another macro: the variant, the engine's module and type, and how a key is stored.
macro_rules! every_engine {
    ($callback:ident) => {
        crate::algorithms::every_algorithm! { crate::algorithms::engines_only, $callback }
    };
}
pub(crate) use every_engine;

macro_rules! engines_only {
    (
        $callback:ident
        ciphers { $($cipher:ident = $cipher_in:ident::$cipher_key:ident as $cipher_stored:ident $cipher_rest:tt)+ }
        aeads { $($aead:ident = $aead_in:ident::$aead_key:ident as $aead_stored:ident $aead_rest:tt)+ }
        macs { $($mac:ident = $mac_in:ident::$mac_key:ident as $mac_stored:ident $mac_rest:tt)+ }
        macs_with_iv { $($coded:ident = $coded_in:ident::$coded_key:ident as $coded_stored:ident $coded_rest:tt)+ }
        formats { $($format:ident = $format_in:ident::$format_key:ident as $format_stored:ident $format_rest:tt)+ }
        private_keys { $($pair:ident = $pair_in:ident::$pair_key:ident as $pair_stored:ident $pair_rest:tt)+ }
        $($rest:tt)+
    ) => {
        $callback! {
            $($cipher = $cipher_in::$cipher_key as $cipher_stored;)+
            $($aead = $aead_in::$aead_key as $aead_stored;)+
            $($mac = $mac_in::$mac_key as $mac_stored;)+
            $($coded = $coded_in::$coded_key as $coded_stored;)+
            $($format = $format_in::$format_key as $format_stored;)+
            $($pair = $pair_in::$pair_key as $pair_stored;)+
            Curve = ecdsa::PrivateKey as Inline;
            MlKem = mlkem::PrivateKey as Inline;
            MlDsa = mldsa::PrivateKey as Inline;
            SlhDsa = slhdsa::PrivateKey as Inline;
            Hmac = hmac::HmacKey as Inline;
        }
    };
}
pub(crate) use engines_only;

/// Hands the lane managers, and the works that they execute, to another macro.
macro_rules! every_lane {
    ($callback:ident) => {
        crate::algorithms::every_algorithm! { crate::algorithms::lanes_only, $callback }
    };
}
pub(crate) use every_lane;

macro_rules! lanes_only {
    (
        $callback:ident
        ciphers { $($cipher:ident = $cipher_in:ident::$cipher_key:ident as $cipher_stored:ident {
            facts $cipher_facts:tt
            keys $cipher_keys:tt
            lanes { $(
                $cipher_field:ident: $cipher_lanes:ident;
                $($direction:pat => $cipher_work:ident($cipher_job:ident $start:tt) by $cipher_run:ident;)+
            )? }
            alone $alone:tt
            slices $slices:ident
        })+ }
        aeads { $($aead:ident = $aead_in:ident::$aead_key:ident as $aead_stored:ident {
            facts $aead_facts:tt
            keys $aead_keys:tt
            tags $aead_tags:tt
            lanes { $aead_field:ident: $aead_lanes:ident; $seal:ident, $open:ident ($aead_job:ident) }
        })+ }
        macs { $($mac:ident = $mac_in:ident::$mac_key:ident as $mac_stored:ident {
            facts $mac_facts:tt
            keys $mac_keys:tt
            tags $mac_tags:tt
            lanes { $mac_field:ident: $mac_lanes:ident; $mac_work:ident($mac_job:ident) by $mac_run:ident; }
        })+ }
        macs_with_iv { $($coded:ident = $coded_in:ident::$coded_key:ident as $coded_stored:ident {
            facts $coded_facts:tt
            keys $coded_keys:tt
            tags $coded_tags:tt
            lanes { $coded_field:ident: $coded_lanes:ident; $coded_work:ident($coded_job:ident) by $coded_run:ident; }
        })+ }
        formats { $($format:ident = $format_in:ident::$format_key:ident as $format_stored:ident {
            facts $format_facts:tt
            keys $format_keys:tt
            lanes { $format_field:ident: $format_lanes:ident; $encrypt:ident, $decrypt:ident ($format_job:ident) }
        })+ }
        $($rest:tt)+
    ) => {
        $callback! {
            managers {
                $($($cipher_field: $cipher_in::$cipher_lanes;)?)+
                $($aead_field: $aead_in::$aead_lanes;)+
                $($mac_field: $mac_in::$mac_lanes;)+
                $($coded_field: $coded_in::$coded_lanes;)+
                $($format_field: $format_in::$format_lanes;)+
            }
            ciphers {
                $($($($cipher_work: $cipher_in::$cipher_job $start by $cipher_field.$cipher_run;)+)?)+
                $(
                    $encrypt: $format_in::$format_job (format) by $format_field.encrypt;
                    $decrypt: $format_in::$format_job (format) by $format_field.decrypt;
                )+
            }
            aeads { $($seal, $open: $aead_in::$aead_job by $aead_field;)+ }
            macs {
                $($mac_work: $mac_in::$mac_job by $mac_field.$mac_run;)+
                $($coded_work: $coded_in::$coded_job by $coded_field.$coded_run;)+
            }
        }
    };
}
pub(crate) use lanes_only;

macro_rules! by_algorithm {
    (
        ciphers { $($cipher:ident = $cipher_in:ident::$cipher_key:ident as $cipher_stored:ident {
            facts { name: $cipher_name:ident, iv: $iv:literal, block: $block:literal, cost: $cipher_cost:literal }
            keys [$cipher_keys:pat]
            $($cipher_rest:tt)+
        })+ }
        aeads { $($aead:ident = $aead_in:ident::$aead_key:ident as $aead_stored:ident {
            facts { name: $aead_name:ident, cost: $aead_cost:literal }
            keys [$aead_keys:pat]
            tags [$aead_tags:pat]
            $($aead_rest:tt)+
        })+ }
        macs { $($mac:ident = $mac_in:ident::$mac_key:ident as $mac_stored:ident {
            facts { name: $mac_name:ident, cost: $mac_cost:literal }
            keys [$mac_keys:pat]
            tags [$mac_tags:pat]
            $($mac_rest:tt)+
        })+ }
        macs_with_iv { $($coded:ident = $coded_in:ident::$coded_key:ident as $coded_stored:ident {
            facts { name: $coded_name:ident, cost: $coded_cost:literal }
            keys [$coded_keys:pat]
            tags [$coded_tags:pat]
            $($coded_rest:tt)+
        })+ }
        formats { $($format:ident = $format_in:ident::$format_key:ident as $format_stored:ident {
            facts { cost: $format_cost:literal }
            keys [$format_keys:pat]
            $($format_rest:tt)+
        })+ }
        private_keys { $($pair:ident = $pair_in:ident::$pair_key:ident as $pair_stored:ident {
            facts { cost: $pair_cost:literal, each: $each:literal, alone: $alone:literal }
            new $new:ident
            keys [$pair_keys:pat]
            gives { $($opcode:ident: $given:literal),+ }
        })+ }
        curves { $($curve:ident {
            facts { cost: $curve_cost:literal, each: $curve_each:literal, alone: $curve_alone:literal }
            keys [$curve_keys:pat]
            gives { $($curve_opcode:ident: $curve_given:literal),+ }
        })+ }
        post_quantum { $($set_of:ident = $set_in:ident::$set:ident as $set_key:ident {
            facts {
                cost: $set_cost:literal, each: $set_each:literal, alone: $set_alone:literal,
                public: $set_public:literal, make: $set_make:literal
            }
            keys [$set_keys:pat]
            gives { $($set_opcode:ident: $set_given:literal),+ }
        })+ }
        hashes { $($hash:ident { cost: $hash_cost:literal })+ }
        checksums { $($checksum:ident { cost: $checksum_cost:literal })+ }
    ) => {
        // `Work` has room for so long a vector, and `iv_length` and `next_chain` know no other lengths. Slices of long objects
        // are whole blocks of 16 bytes.
        const _: () = {
            $(assert!(matches!($iv, 0 | 8 | MAX_IV) && matches!($block, 1 | 8 | 16));)+
        };

        /// Returns true for a cipher without authentication.
        #[inline(always)]
        pub(crate) const fn is_cipher(algorithm: Algorithm) -> bool {
            matches!(algorithm, $(Algorithm::$cipher)|+)
        }

        /// Returns true for a cipher that preserves the format of what it encrypts.
        #[inline(always)]
        pub(crate) const fn is_format(algorithm: Algorithm) -> bool {
            matches!(algorithm, $(Algorithm::$format)|+)
        }

        /// Returns true for an AEAD.
        #[inline(always)]
        pub(crate) const fn is_aead(algorithm: Algorithm) -> bool {
            matches!(algorithm, $(Algorithm::$aead)|+)
        }

        /// Returns true for a MAC that is not an HMAC.
        #[inline(always)]
        pub(crate) const fn is_mac(algorithm: Algorithm) -> bool {
            matches!(algorithm, $(Algorithm::$mac)|+ | $(Algorithm::$coded)|+)
        }

        /// Returns the bytes that an operation with a private key gives, of RSA the most: 0 for one that the algorithm does not have.
        ///
        /// ```
        /// use millstream_accelerator::given_by;
        /// use millstream_cwq::{Algorithm, ControlWord, Opcode};
        ///
        /// assert_eq!(given_by(Algorithm::P384, Opcode::Sign), 96);
        /// assert_eq!(given_by(Algorithm::X25519, Opcode::Sign), 0);
        /// assert_eq!(given_by(Algorithm::MlKem768, Opcode::Encapsulate), 1088, "the ciphertext, beside a secret of 32");
        /// ```
        #[inline(always)]
        pub const fn given_by(algorithm: Algorithm, opcode: Opcode) -> u32 {
            match (algorithm, opcode) {
                $($((Algorithm::$pair, Opcode::$opcode) => $given,)+)+
                $($((Algorithm::$curve, Opcode::$curve_opcode) => $curve_given,)+)+
                $($((Algorithm::$set_of, Opcode::$set_opcode) => $set_given,)+)+
                _ => 0,
            }
        }

        /// Returns true for an algorithm whose keys are private keys.
        #[inline(always)]
        pub(crate) const fn is_private(algorithm: Algorithm) -> bool {
            matches!(algorithm, $(Algorithm::$pair)|+ | $(Algorithm::$curve)|+ | $(Algorithm::$set_of)|+)
        }

        /// Returns the bytes that an expanded key of the algorithm takes on the heap, beside its place. Only keys that take much more there
        /// than in their places are counted.
        pub(crate) const fn kept_beside(algorithm: Algorithm) -> usize {
            match algorithm {
                $(Algorithm::$set_of => crate::engines::$set_in::Set::$set.kept_private_len(),)+
                _ => 0,
            }
        }

        /// Returns the nanoseconds of what is done with a public key after quantum computers that a word brings, and of making a private key from its
        /// seed; none for other algorithms.
        pub(crate) const fn public_nanoseconds(algorithm: Algorithm) -> Option<(u32, u32)> {
            match algorithm {
                $(Algorithm::$set_of => Some(($set_public, $set_make)),)+
                _ => None,
            }
        }

        /// Returns the nanoseconds that an operation takes beside its bytes, in full lanes and alone: see [`cost`](crate::cost).
        pub(crate) const fn each_nanoseconds(algorithm: Algorithm) -> (u32, u32) {
            match algorithm {
                $(Algorithm::$pair => ($each, $alone),)+
                $(Algorithm::$curve => ($curve_each, $curve_alone),)+
                $(Algorithm::$set_of => ($set_each, $set_alone),)+
                _ => (0, 0),
            }
        }

        /// Returns true for a checksum.
        #[inline(always)]
        pub(crate) const fn is_checksum(algorithm: Algorithm) -> bool {
            matches!(algorithm, $(Algorithm::$checksum)|+)
        }

        /// Returns the hash that an algorithm names.
        #[inline(always)]
        pub const fn hash_of(algorithm: Algorithm) -> Option<Hash> {
            match algorithm {
                $(Algorithm::$hash => Some(Hash::$hash),)+
                _ => None,
            }
        }

        /// Returns the algorithm of a hash.
        pub const fn algorithm_of(hash: Hash) -> Algorithm {
            match hash {
                $(Hash::$hash => Algorithm::$hash,)+
            }
        }

        /// Returns true when an AEAD produces tags of that many bytes.
        #[inline(always)]
        pub(crate) const fn is_aead_tag(algorithm: Algorithm, len: u32) -> bool {
            match algorithm {
                $(Algorithm::$aead => matches!(len, $aead_tags),)+
                _ => false,
            }
        }

        /// Returns true when a MAC, which is not an HMAC, produces codes of that many bytes.
        #[inline(always)]
        pub(crate) const fn is_mac_tag(algorithm: Algorithm, len: u32) -> bool {
            match algorithm {
                $(Algorithm::$mac => matches!(len, $mac_tags),)+
                $(Algorithm::$coded => matches!(len, $coded_tags),)+
                _ => false,
            }
        }

        /// Returns the bytes of an algorithm's whole tag.
        pub(crate) const fn whole_tag(algorithm: Algorithm) -> usize {
            if let Some(hash) = hash_of(algorithm) {
                return hash.output_len();
            }
            let mut len = 32;
            while len > 0 && !is_aead_tag(algorithm, len) && !is_mac_tag(algorithm, len) {
                len -= 1;
            }
            len as usize
        }

        /// Returns true when a key of the algorithm, an HMAC's for a hash, may have that many bytes.
        pub(crate) const fn takes_key(algorithm: Algorithm, len: usize) -> bool {
            match algorithm {
                $(Algorithm::$cipher => matches!(len, $cipher_keys),)+
                $(Algorithm::$aead => matches!(len, $aead_keys),)+
                $(Algorithm::$mac => matches!(len, $mac_keys),)+
                $(Algorithm::$coded => matches!(len, $coded_keys),)+
                $(Algorithm::$format => cfg!(feature = "ff1") && matches!(len, $format_keys),)+
                $(Algorithm::$pair => matches!(len, $pair_keys),)+
                $(Algorithm::$curve => matches!(len, $curve_keys),)+
                $(Algorithm::$set_of => matches!(len, $set_keys),)+
                _ => hash_of(algorithm).is_some(),
            }
        }

        /// Returns the cost of one byte: see [`cost`](crate::cost).
        ///
        /// # Panics
        /// When an algorithm has no row. The table of costs is made at compile time, so it does not compile then.
        pub(crate) const fn byte_cost(algorithm: Algorithm) -> u8 {
            match algorithm {
                Algorithm::None => 0,
                // The generator is AES in counter mode.
                Algorithm::Random => byte_cost(Algorithm::AesCtr),
                $(Algorithm::$cipher => $cipher_cost,)+
                $(Algorithm::$aead => $aead_cost,)+
                $(Algorithm::$mac => $mac_cost,)+
                $(Algorithm::$coded => $coded_cost,)+
                $(Algorithm::$format => $format_cost,)+
                $(Algorithm::$pair => $pair_cost,)+
                $(Algorithm::$curve => $curve_cost,)+
                $(Algorithm::$set_of => $set_cost,)+
                $(Algorithm::$hash => $hash_cost,)+
                $(Algorithm::$checksum => $checksum_cost,)+
                _ => panic!("an algorithm without a row"),
            }
        }
    };
}
every_algorithm!(by_algorithm);

/// Returns true for an AEAD that takes an object as a whole only: no slices, and no pieces.
#[inline(always)]
pub(crate) const fn comes_whole(algorithm: Algorithm) -> bool {
    use Algorithm::{AesGcmSiv, AesKw, AesKwp, AesSiv, Fernet, Xaes256Gcm};
    matches!(algorithm, AesSiv | AesGcmSiv | Xaes256Gcm | Fernet | AesKw | AesKwp)
}

/// Returns the most bytes of data, and of associated data, of a word whose object comes whole; none for other algorithms.
#[inline(always)]
pub(crate) const fn most_whole(algorithm: Algorithm) -> Option<u32> {
    match algorithm {
        Algorithm::AesKw | Algorithm::AesKwp => Some(ControlWord::MOST_WRAPPED_BYTES),
        _ if is_format(algorithm) => Some(ControlWord::MOST_FORMAT_BYTES),
        _ if comes_whole(algorithm) => Some(ControlWord::MOST_WHOLE_BYTES),
        _ => None,
    }
}

/// Returns true for an AEAD that takes no associated data.
#[inline(always)]
pub(crate) const fn takes_no_aad(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::Fernet | Algorithm::AesKw | Algorithm::AesKwp)
}

/// Returns true when an operation with a key pair gives more than the length of a tag can tell, so that it goes to the word's destination.
///
/// ```
/// use millstream_accelerator::is_long_result;
/// use millstream_cwq::{Algorithm, ControlWord, Opcode};
///
/// assert!(is_long_result(Algorithm::Rsa, Opcode::Sign) && is_long_result(Algorithm::MlDsa44, Opcode::Sign));
/// assert!(!is_long_result(Algorithm::P521, Opcode::Sign));
/// ```
#[inline(always)]
pub const fn is_long_result(algorithm: Algorithm, opcode: Opcode) -> bool {
    given_by(algorithm, opcode) > u8::MAX as u32
}

#[cfg(test)]
mod tests {
    use millstream_cpu::Features;
    use millstream_cwq::AlgorithmSet;

    use super::*;
    use crate::key::Key;
    use crate::sets::{algorithm_of_slh_dsa, slh_dsa_set};

    #[test]
    fn every_row_names_the_keys_that_its_engine_takes() {
        for &algorithm in Algorithm::ALL {
            for len in 0..=300 {
                let bytes: Vec<u8> = (0..len).map(|byte| byte as u8).collect();
                // The root of a key of SLH-DSA must be that of its seeds.
                if slh_dsa_set(algorithm).is_some() && takes_key(algorithm, len) {
                    continue;
                }
                let made = Key::new(Features::none(), algorithm, &bytes);
                assert_eq!(made.is_ok(), takes_key(algorithm, len), "{algorithm:?} {len}");
                if let Ok(key) = made {
                    assert_eq!(key.algorithm(), algorithm);
                }
            }
        }
    }

    #[test]
    fn the_set_of_private_keys_is_that_of_the_rows() {
        for &algorithm in Algorithm::ALL {
            let listed = AlgorithmSet::private_keys().contains(algorithm);
            assert_eq!(listed, is_private(algorithm), "{algorithm:?}");
        }
    }

    #[test]
    fn every_algorithm_is_of_one_class() {
        for &algorithm in Algorithm::ALL {
            let classes = [
                is_cipher(algorithm),
                is_aead(algorithm),
                is_format(algorithm),
                is_mac(algorithm),
                is_checksum(algorithm),
                is_private(algorithm),
                hash_of(algorithm).is_some(),
                algorithm == Algorithm::Random,
                algorithm == Algorithm::None,
            ];
            assert_eq!(classes.into_iter().filter(|is| *is).count(), 1, "{algorithm:?}");
            assert!(hash_of(algorithm).is_none_or(|hash| algorithm_of(hash) == algorithm));
        }
    }

    #[test]
    fn what_parameter_sets_give_and_take_is_as_long_as_they_say() {
        use millstream_publickey::{mldsa, mlkem, slhdsa};
        for set in mlkem::Set::ALL {
            let algorithm = Algorithm::from_name(set.name()).unwrap();
            let given = [Opcode::PublicKey, Opcode::Encapsulate, Opcode::Decapsulate, Opcode::Sign];
            let lens = [set.public_key_len(), set.ciphertext_len(), mlkem::SECRET, 0];
            assert_eq!(given.map(|opcode| given_by(algorithm, opcode) as usize), lens, "{set}");
            assert!(takes_key(algorithm, mlkem::SEED) && takes_key(algorithm, set.expanded_key_len()));
        }
        for set in mldsa::Set::ALL {
            let algorithm = Algorithm::from_name(set.name()).unwrap();
            let given = [Opcode::PublicKey, Opcode::Sign, Opcode::Encapsulate, Opcode::Agree];
            let lens = [set.public_key_len(), set.signature_len(), 0, 0];
            assert_eq!(given.map(|opcode| given_by(algorithm, opcode) as usize), lens, "{set}");
            assert!(takes_key(algorithm, mldsa::SEED) && takes_key(algorithm, set.expanded_key_len()));
        }
        for set in slhdsa::Set::ALL {
            let algorithm = algorithm_of_slh_dsa(set);
            assert_eq!((algorithm.name(), slh_dsa_set(algorithm)), (set.name(), Some(set)));
            let given = [Opcode::PublicKey, Opcode::Sign, Opcode::Encapsulate, Opcode::Agree];
            let lens = [set.public_key_len(), set.signature_len(), 0, 0];
            assert_eq!(given.map(|opcode| given_by(algorithm, opcode) as usize), lens, "{set}");
            let taken = (0..200).filter(|len| takes_key(algorithm, *len)).collect::<Vec<_>>();
            assert_eq!(taken, [set.private_key_len()], "{set}");
        }
    }
}
