//! The open list of algorithms: one row holds all that the accelerator knows of one.
//!
//! # To add a cipher
//! 1. Give the algorithm its number and its usages in `millstream_cwq`.
//! 2. Add its row to `ciphers` below. A row names the engine's module and key type, and says whether a
//!    [`Key`](crate::Key) holds the key itself (`Inline`) or, where that is large, a box of it (`Boxed`). Then come
//!    - `facts`: the engine's trait whose `NAME` errors show (`Algorithm` is for the name of the number), bytes of
//!      initialisation vector, the block of which data must be a multiple, and the cost of one byte: see `cost.rs`;
//!    - `keys`: the lengths that a key may have, in bytes;
//!    - `lanes`: the field of [`Unit`](crate::Unit) that holds the lane manager, the manager's type, and for each direction
//!      the name of the work, its job with the field for the initialisation vector, and the manager's method;
//!    - `alone`: the function in `alone.rs` that works on one object, for the directions without lanes;
//!    - `slices`: the function in `long/begin.rs` that says what a long object keeps between two slices.
//!
//! A row of `formats` is a cipher whose word tells a radix and a tweak. It has lanes in both directions and no slices, so that its words are short.
//!
//! A row of `private_keys` or `curves` has the time of an operation beside its bytes, in nanoseconds, in full lanes and alone, and the
//! bytes that each operation gives; what is done with such keys is in `pairs`. All curves have one type of key. A row of `post_quantum` names
//! its parameter set and the type of key that the sets of its module share, and has the times of what is done with a public key that is expanded
//! first, and of making a key from its seed or encoding, too. A result of more than 255 bytes goes to a word's destination.
//!
//! A row that forgets a direction does not compile, and neither does an algorithm without a row. A test below compares
//! the rows with the engines. `tests/accelerator/case.rs` has its own list of what each algorithm takes.
//!
//! Macros turn the rows into enumerations and matches, so the compiler sees static calls only. `every_algorithm!` hands
//! all rows to a macro, `every_engine!` only the types of keys, `every_lane!` only the lanes.

use millstream_cwq::{Algorithm, ControlWord, Opcode};
use millstream_engines::hash::Hash;
use millstream_publickey::rsa::MAX_PRIVATE_DER;

/// The longest initialisation vector of a cipher, in bytes.
pub(crate) const MAX_IV: usize = 16;

/// Hands the rows of all algorithms to another macro, after an argument for that macro if there is one.
macro_rules! every_algorithm {
    ($($callback:ident)::+ $(, $argument:ident)?) => {
        $($callback)::+! {
            $($argument)?
            ciphers {
                AesEcb = aes::Ecb as Inline {
                    facts { name: BlockMode, iv: 0, block: 16, cost: 1 }
                    keys [16 | 24 | 32]
                    lanes {}
                    alone { Encrypt | Decrypt => pass; }
                    slices chained
                }
                AesCbc = aes::Cbc as Inline {
                    facts { name: BlockMode, iv: 16, block: 16, cost: 1 }
                    keys [16 | 24 | 32]
                    lanes {
                        aes_cbc: CbcLanes;
                        Encrypt => AesCbcEncrypt(CbcJob { iv }) by encrypt;
                        Decrypt => AesCbcDecrypt(CbcJob { iv }) by decrypt;
                    }
                    alone {}
                    slices chained
                }
                AesCtr = aes::Ctr as Inline {
                    facts { name: StreamMode, iv: 16, block: 1, cost: 1 }
                    keys [16 | 24 | 32]
                    lanes {
                        aes_ctr: CtrLanes;
                        Encrypt | Decrypt => AesCtr(CtrJob { counter }) by apply;
                    }
                    alone {}
                    slices counter
                }
                AesCfb = aes::Cfb as Inline {
                    facts { name: StreamMode, iv: 16, block: 1, cost: 1 }
                    keys [16 | 24 | 32]
                    lanes {
                        aes_cfb: CfbLanes;
                        Encrypt => AesCfbEncrypt(CfbJob { iv }) by encrypt;
                    }
                    alone { Decrypt => cfb_decrypt; }
                    slices chained
                }
                AesXts = aes::Xts as Inline {
                    facts { name: Algorithm, iv: 16, block: 1, cost: 1 }
                    keys [32 | 64]
                    lanes {}
                    alone { Encrypt | Decrypt => xts; }
                    slices xts
                }
                CamelliaEcb = camellia::Ecb as Inline {
                    facts { name: BlockMode, iv: 0, block: 16, cost: 7 }
                    keys [16 | 24 | 32]
                    lanes {}
                    alone { Encrypt | Decrypt => pass; }
                    slices chained
                }
                CamelliaCbc = camellia::Cbc as Inline {
                    facts { name: BlockMode, iv: 16, block: 16, cost: 7 }
                    keys [16 | 24 | 32]
                    lanes {
                        camellia_cbc: CbcLanes;
                        Encrypt => CamelliaCbcEncrypt(CbcJob { iv }) by encrypt;
                    }
                    alone { Decrypt => pass; }
                    slices chained
                }
                CamelliaCtr = camellia::Ctr as Inline {
                    facts { name: StreamMode, iv: 16, block: 1, cost: 10 }
                    keys [16 | 24 | 32]
                    lanes {
                        camellia_ctr: CtrLanes;
                        Encrypt | Decrypt => CamelliaCtr(CtrJob { counter }) by apply;
                    }
                    alone {}
                    slices counter
                }
                Sm4Ecb = sm4::Ecb as Inline {
                    facts { name: BlockMode, iv: 0, block: 16, cost: 7 }
                    keys [16]
                    lanes {}
                    alone { Encrypt | Decrypt => pass; }
                    slices chained
                }
                Sm4Cbc = sm4::Cbc as Inline {
                    facts { name: BlockMode, iv: 16, block: 16, cost: 7 }
                    keys [16]
                    lanes {
                        sm4_cbc: CbcLanes;
                        Encrypt => Sm4CbcEncrypt(CbcJob { iv }) by encrypt;
                    }
                    alone { Decrypt => pass; }
                    slices chained
                }
                Sm4Ctr = sm4::Ctr as Inline {
                    facts { name: StreamMode, iv: 16, block: 1, cost: 10 }
                    keys [16]
                    lanes {
                        sm4_ctr: CtrLanes;
                        Encrypt | Decrypt => Sm4Ctr(CtrJob { counter }) by apply;
                    }
                    alone {}
                    slices counter
                }
                DesEcb = des::Ecb as Boxed {
                    facts { name: BlockMode, iv: 0, block: 8, cost: 11 }
                    keys [8 | 16 | 24]
                    lanes {}
                    alone { Encrypt | Decrypt => pass; }
                    slices chained
                }
                DesCbc = des::Cbc as Boxed {
                    facts { name: BlockMode, iv: 8, block: 8, cost: 47 }
                    keys [8 | 16 | 24]
                    lanes {
                        des_cbc: CbcLanes;
                        Encrypt => DesCbcEncrypt(CbcJob { iv }) by encrypt;
                        Decrypt => DesCbcDecrypt(CbcJob { iv }) by decrypt;
                    }
                    alone {}
                    slices chained
                }
                DesCfb = des::Cfb as Boxed {
                    facts { name: StreamMode, iv: 8, block: 1, cost: 47 }
                    keys [8 | 16 | 24]
                    lanes {
                        des_cfb: CfbLanes;
                        Encrypt => DesCfbEncrypt(CfbJob { iv }) by encrypt;
                    }
                    alone { Decrypt => stream; }
                    slices chained
                }
                Rc4 = rc4::Rc4 as Inline {
                    facts { name: Algorithm, iv: 0, block: 1, cost: 16 }
                    keys [1..=256]
                    lanes {}
                    alone { Encrypt | Decrypt => rc4; }
                    slices rc4
                }
                KasumiF8 = kasumi::F8 as Inline {
                    facts { name: Algorithm, iv: 8, block: 1, cost: 16 }
                    keys [16]
                    lanes {
                        kasumi_f8: F8Lanes;
                        Encrypt | Decrypt => KasumiF8(F8Job (kasumi_f8)) by apply;
                    }
                    alone {}
                    slices kasumi_f8
                }
            }
            aeads {
                AesGcm = gcm::Gcm as Inline {
                    facts { name: Aead, cost: 1 }
                    keys [16 | 24 | 32]
                    // SP 800-38D §5.2.1.2.
                    tags [4 | 8 | 12..=16]
                    lanes { gcm: GcmLanes; GcmSeal, GcmOpen (GcmJob) }
                }
                AesSiv = siv::Siv as Boxed {
                    facts { name: Algorithm, cost: 4 }
                    keys [32 | 48 | 64]
                    tags [16]
                    lanes { siv: SivLanes; SivSeal, SivOpen (KeyedSivJob) }
                }
                AesGcmSiv = gcm_siv::GcmSiv as Inline {
                    facts { name: Aead, cost: 3 }
                    keys [16 | 32]
                    tags [16]
                    lanes { gcm_siv: GcmSivLanes; GcmSivSeal, GcmSivOpen (KeyedGcmSivJob) }
                }
                Xaes256Gcm = xaes::Xaes as Inline {
                    facts { name: Aead, cost: 2 }
                    keys [32]
                    tags [16]
                    lanes { xaes: XaesLanes; XaesSeal, XaesOpen (KeyedXaesJob) }
                }
                Fernet = fernet::FernetKey as Inline {
                    facts { name: Algorithm, cost: 6 }
                    keys [32]
                    tags [32]
                    lanes { fernet: FernetLanes; FernetSeal, FernetOpen (KeyedFernetJob) }
                }
                AesKw = keywrap::Kw as Inline {
                    facts { name: Algorithm, cost: 30 }
                    keys [16 | 24 | 32]
                    tags [8]
                    lanes { aes_kw: KwLanes; KwSeal, KwOpen (KeyedKwJob) }
                }
                AesKwp = keywrap::Kwp as Inline {
                    facts { name: Algorithm, cost: 30 }
                    keys [16 | 24 | 32]
                    tags [8]
                    lanes { aes_kwp: KwpLanes; KwpSeal, KwpOpen (KeyedKwpJob) }
                }
                ChaCha20Poly1305 = chacha20poly1305::ChaCha20Poly1305 as Inline {
                    facts { name: Aead, cost: 4 }
                    keys [32]
                    tags [16]
                    lanes { chacha: ChaCha20Poly1305Lanes; ChaChaSeal, ChaChaOpen (ChaCha20Poly1305Job) }
                }
            }
            macs {
                AesCmac = aes::Cmac as Inline {
                    facts { name: Algorithm, cost: 1 }
                    keys [16 | 24 | 32]
                    tags [4..=16]
                    lanes { aes_cmac: CmacLanes; Cmac(CmacJob) by sign; }
                }
                DesMac = des::Mac as Boxed {
                    facts { name: Algorithm, cost: 47 }
                    keys [8 | 16 | 24]
                    tags [4..=8]
                    lanes { des_mac: MacLanes; DesMac(MacJob) by mac; }
                }
            }
            macs_with_iv {
                KasumiF9 = kasumi::F9 as Inline {
                    facts { name: Algorithm, cost: 16 }
                    keys [16]
                    tags [4]
                    lanes { kasumi_f9: F9Lanes; KasumiF9(F9Job) by mac; }
                }
            }
            formats {
                AesFf1 = ff1::Ff1Key as Inline {
                    facts { cost: 60 }
                    keys [16 | 24 | 32]
                    lanes { ff1: Ff1Lanes; Ff1Encrypt, Ff1Decrypt (KeyedFf1Job) }
                }
            }
            private_keys {
                Ed25519 = ed25519::PrivateKey as Inline {
                    facts { cost: 40, each: 2_500, alone: 11_000 }
                    new new
                    keys [32]
                    gives { Sign: 64, Agree: 0, PublicKey: 32, Decrypt: 0 }
                }
                X25519 = x25519::PrivateKey as Inline {
                    facts { cost: 1, each: 5_500, alone: 36_000 }
                    new new
                    keys [32]
                    gives { Sign: 0, Agree: 32, PublicKey: 32, Decrypt: 0 }
                }
                Rsa = rsa::PrivateKey as Inline {
                    // The time depends on the modulus: see `cost.rs`.
                    facts { cost: 1, each: 0, alone: 0 }
                    new from_pkcs1
                    keys [512..=MAX_PRIVATE_DER]
                    gives { Sign: 512, Agree: 0, PublicKey: 526, Decrypt: 512 }
                }
            }
            curves {
                P256 {
                    facts { cost: 1, each: 8_000, alone: 30_000 }
                    keys [32]
                    gives { Sign: 64, Agree: 32, PublicKey: 65, Decrypt: 0 }
                }
                P384 {
                    facts { cost: 1, each: 37_000, alone: 76_000 }
                    keys [48]
                    gives { Sign: 96, Agree: 48, PublicKey: 97, Decrypt: 0 }
                }
                P521 {
                    facts { cost: 1, each: 110_000, alone: 158_000 }
                    keys [66]
                    gives { Sign: 132, Agree: 66, PublicKey: 133, Decrypt: 0 }
                }
            }
            post_quantum {
                MlKem512 = mlkem::MlKem512 as MlKem {
                    facts { cost: 1, each: 4_000, alone: 8_000, public: 7_000, make: 7_000 }
                    keys [64 | 1632]
                    gives { PublicKey: 800, Encapsulate: 768, Decapsulate: 32 }
                }
                MlKem768 = mlkem::MlKem768 as MlKem {
                    facts { cost: 1, each: 5_000, alone: 11_000, public: 9_000, make: 11_000 }
                    keys [64 | 2400]
                    gives { PublicKey: 1184, Encapsulate: 1088, Decapsulate: 32 }
                }
                MlKem1024 = mlkem::MlKem1024 as MlKem {
                    facts { cost: 1, each: 8_000, alone: 16_000, public: 16_000, make: 20_000 }
                    keys [64 | 3168]
                    gives { PublicKey: 1568, Encapsulate: 1568, Decapsulate: 32 }
                }
                MlDsa44 = mldsa::MlDsa44 as MlDsa {
                    facts { cost: 1, each: 45_000, alone: 54_000, public: 20_000, make: 35_000 }
                    keys [32 | 2560]
                    gives { Sign: 2420, PublicKey: 1312 }
                }
                MlDsa65 = mldsa::MlDsa65 as MlDsa {
                    facts { cost: 1, each: 70_000, alone: 85_000, public: 32_000, make: 65_000 }
                    keys [32 | 4032]
                    gives { Sign: 3309, PublicKey: 1952 }
                }
                MlDsa87 = mldsa::MlDsa87 as MlDsa {
                    facts { cost: 1, each: 82_000, alone: 95_000, public: 60_000, make: 105_000 }
                    keys [32 | 4896]
                    gives { Sign: 4627, PublicKey: 2592 }
                }
                SlhDsaSha2_128s = slhdsa::Sha2_128s as SlhDsa {
                    facts { cost: 1, each: 36_000_000, alone: 36_000_000, public: 91_000, make: 4_800_000 }
                    keys [64]
                    gives { Sign: 7856, PublicKey: 32 }
                }
                SlhDsaSha2_128f = slhdsa::Sha2_128f as SlhDsa {
                    facts { cost: 1, each: 1_930_000, alone: 1_930_000, public: 230_000, make: 85_000 }
                    keys [64]
                    gives { Sign: 17088, PublicKey: 32 }
                }
                SlhDsaSha2_192s = slhdsa::Sha2_192s as SlhDsa {
                    facts { cost: 1, each: 81_000_000, alone: 81_000_000, public: 120_000, make: 7_500_000 }
                    keys [96]
                    gives { Sign: 16224, PublicKey: 48 }
                }
                SlhDsaSha2_192f = slhdsa::Sha2_192f as SlhDsa {
                    facts { cost: 1, each: 3_620_000, alone: 3_620_000, public: 340_000, make: 120_000 }
                    keys [96]
                    gives { Sign: 35664, PublicKey: 48 }
                }
                SlhDsaSha2_256s = slhdsa::Sha2_256s as SlhDsa {
                    facts { cost: 1, each: 95_000_000, alone: 95_000_000, public: 190_000, make: 6_400_000 }
                    keys [128]
                    gives { Sign: 29792, PublicKey: 64 }
                }
                SlhDsaSha2_256f = slhdsa::Sha2_256f as SlhDsa {
                    facts { cost: 1, each: 9_000_000, alone: 9_000_000, public: 390_000, make: 400_000 }
                    keys [128]
                    gives { Sign: 49856, PublicKey: 64 }
                }
                SlhDsaShake128s = slhdsa::Shake128s as SlhDsa {
                    facts { cost: 1, each: 107_000_000, alone: 107_000_000, public: 175_000, make: 15_500_000 }
                    keys [64]
                    gives { Sign: 7856, PublicKey: 32 }
                }
                SlhDsaShake128f = slhdsa::Shake128f as SlhDsa {
                    facts { cost: 1, each: 5_800_000, alone: 5_800_000, public: 480_000, make: 240_000 }
                    keys [64]
                    gives { Sign: 17088, PublicKey: 32 }
                }
                SlhDsaShake192s = slhdsa::Shake192s as SlhDsa {
                    facts { cost: 1, each: 213_000_000, alone: 213_000_000, public: 265_000, make: 23_000_000 }
                    keys [96]
                    gives { Sign: 16224, PublicKey: 48 }
                }
                SlhDsaShake192f = slhdsa::Shake192f as SlhDsa {
                    facts { cost: 1, each: 10_100_000, alone: 10_100_000, public: 670_000, make: 360_000 }
                    keys [96]
                    gives { Sign: 35664, PublicKey: 48 }
                }
                SlhDsaShake256s = slhdsa::Shake256s as SlhDsa {
                    facts { cost: 1, each: 212_000_000, alone: 212_000_000, public: 370_000, make: 15_300_000 }
                    keys [128]
                    gives { Sign: 29792, PublicKey: 64 }
                }
                SlhDsaShake256f = slhdsa::Shake256f as SlhDsa {
                    facts { cost: 1, each: 20_600_000, alone: 20_600_000, public: 710_000, make: 950_000 }
                    keys [128]
                    gives { Sign: 49856, PublicKey: 64 }
                }
            }
            hashes {
                Md5 { cost: 1 }
                Sha1 { cost: 2 }
                Sha224 { cost: 4 }
                Sha256 { cost: 4 }
                Sha384 { cost: 5 }
                Sha512 { cost: 5 }
                Sha512_256 { cost: 5 }
                Sha3_224 { cost: 6 }
                Sha3_256 { cost: 6 }
                Sha3_384 { cost: 8 }
                Sha3_512 { cost: 12 }
            }
            checksums {
                Crc32 { cost: 1 }
                Crc32c { cost: 1 }
                IpChecksum { cost: 1 }
            }
        }
    };
}
pub(crate) use every_algorithm;

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
