//! The rows of the list.
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
//! A row that forgets a direction does not compile, and neither does an algorithm without a row. A test beside the macros compares
//! the rows with the engines. `tests/accelerator/case.rs` has its own list of what each algorithm takes.

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
