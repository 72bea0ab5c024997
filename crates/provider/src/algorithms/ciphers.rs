//! The ciphers, but for the AEADs.

use crate::algorithms::offer_ciphers;
use crate::cipher::block::{self, BlockContext};
use crate::cipher::cbc_hmac::{self, CbcHmacContext};
use crate::cipher::rc4::{self, Rc4Context};
use crate::cipher::remote::Remote;
use crate::cipher::stream::{self, StreamContext};
use crate::cipher::wrap::{self, WrapContext};
use crate::cipher::xts::{self, XtsContext};
use crate::cipher::{CipherInfo, Mode};
use millstream::cwq::Algorithm;
use millstream::hash::Hash;
use millstream::isolated::Chaining;
use millstream::keywrap::Form;
use millstream::{aes, camellia, des, sm4};

/// Describes a cipher by its mode and its bytes of key, vector and block.
const fn info(mode: Mode, key: usize, iv: usize, block: usize) -> CipherInfo {
    CipherInfo { mode, key, iv, block, aead: false, custom_iv: false, multi_block: false }
}

/// ECB: bytes of key and block.
const fn ecb(key: usize, block: usize) -> CipherInfo {
    info(Mode::Ecb, key, 0, block)
}

/// CBC: bytes of key and block.
const fn cbc(key: usize, block: usize) -> CipherInfo {
    info(Mode::Cbc, key, block, block)
}

/// CTR or CFB: bytes of key and vector.
const fn bytewise(mode: Mode, key: usize, iv: usize) -> CipherInfo {
    info(mode, key, iv, 1)
}

/// XTS: bytes of both keys.
const fn xts(key: usize) -> CipherInfo {
    CipherInfo { custom_iv: true, ..info(Mode::Xts, key, 16, 1) }
}

/// Key wrap: bytes of key and of the check value.
const fn wrapping(key: usize, check_value: usize) -> CipherInfo {
    CipherInfo { custom_iv: true, ..info(Mode::Wrap, key, check_value, 8) }
}

/// CBC with a MAC inside: bytes of key.
const fn composite(key: usize) -> CipherInfo {
    CipherInfo { aead: true, multi_block: true, ..cbc(key, 16) }
}

/// Names a mode in the service whose blocks stand by themselves.
const fn unchained(algorithm: Algorithm) -> Option<Remote> {
    Some(Remote { algorithm, chaining: Chaining::None, iv: 0 })
}

/// Names a mode in the service where each block depends on the one before.
const fn chained(algorithm: Algorithm, iv: usize) -> Option<Remote> {
    Some(Remote { algorithm, chaining: Chaining::Ciphertext, iv })
}

/// Names a counter mode in the service.
const fn counted(algorithm: Algorithm) -> Option<Remote> {
    Some(Remote { algorithm, chaining: Chaining::Counter, iv: 16 })
}

/// Specifies a block cipher: the name that it is counted under, the engine's mode, and its name in the service.
macro_rules! block_mode {
    ($name:literal, $mode:ty, $remote:expr) => {
        block::Spec { name: $name, make: block::local!($mode), remote: $remote, parity: false }
    };
}

/// Specifies a cipher of DES, whose keys have parity bits.
macro_rules! des_block_mode {
    ($name:literal, $mode:ty, $remote:expr) => {
        block::Spec { parity: true, ..block_mode!($name, $mode, $remote) }
    };
}

/// Specifies a mode that takes any number of bytes.
macro_rules! stream_mode {
    ($name:literal, $mode:ty, $remote:expr) => {
        stream::Spec {
            name: $name,
            make: stream::local!($mode),
            feedback: <$mode as millstream::modes::StreamMode>::FEEDBACK,
            remote: $remote,
            parity: false,
        }
    };
}

macro_rules! des_stream_mode {
    ($name:literal, $mode:ty, $remote:expr) => {
        stream::Spec { parity: true, ..stream_mode!($name, $mode, $remote) }
    };
}

offer_ciphers! {
    Aes256Ecb: BlockContext = Current, c"AES-256-ECB:2.16.840.1.101.3.4.1.41",
        ecb(32, 16), block_mode!("aes-256-ecb", aes::Ecb, unchained(Algorithm::AesEcb));
    Aes192Ecb: BlockContext = Current, c"AES-192-ECB:2.16.840.1.101.3.4.1.21",
        ecb(24, 16), block_mode!("aes-192-ecb", aes::Ecb, unchained(Algorithm::AesEcb));
    Aes128Ecb: BlockContext = Current, c"AES-128-ECB:2.16.840.1.101.3.4.1.1",
        ecb(16, 16), block_mode!("aes-128-ecb", aes::Ecb, unchained(Algorithm::AesEcb));
    Aes256Cbc: BlockContext = Current, c"AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42",
        cbc(32, 16), block_mode!("aes-256-cbc", aes::Cbc, chained(Algorithm::AesCbc, 16));
    Aes192Cbc: BlockContext = Current, c"AES-192-CBC:AES192:2.16.840.1.101.3.4.1.22",
        cbc(24, 16), block_mode!("aes-192-cbc", aes::Cbc, chained(Algorithm::AesCbc, 16));
    Aes128Cbc: BlockContext = Current, c"AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2",
        cbc(16, 16), block_mode!("aes-128-cbc", aes::Cbc, chained(Algorithm::AesCbc, 16));
    Aes256Ctr: StreamContext = Current, c"AES-256-CTR",
        bytewise(Mode::Ctr, 32, 16), stream_mode!("aes-256-ctr", aes::Ctr, counted(Algorithm::AesCtr));
    Aes192Ctr: StreamContext = Current, c"AES-192-CTR",
        bytewise(Mode::Ctr, 24, 16), stream_mode!("aes-192-ctr", aes::Ctr, counted(Algorithm::AesCtr));
    Aes128Ctr: StreamContext = Current, c"AES-128-CTR",
        bytewise(Mode::Ctr, 16, 16), stream_mode!("aes-128-ctr", aes::Ctr, counted(Algorithm::AesCtr));
    Aes256Cfb: StreamContext = Current, c"AES-256-CFB:2.16.840.1.101.3.4.1.44",
        bytewise(Mode::Cfb, 32, 16), stream_mode!("aes-256-cfb", aes::Cfb, chained(Algorithm::AesCfb, 16));
    Aes192Cfb: StreamContext = Current, c"AES-192-CFB:2.16.840.1.101.3.4.1.24",
        bytewise(Mode::Cfb, 24, 16), stream_mode!("aes-192-cfb", aes::Cfb, chained(Algorithm::AesCfb, 16));
    Aes128Cfb: StreamContext = Current, c"AES-128-CFB:2.16.840.1.101.3.4.1.4",
        bytewise(Mode::Cfb, 16, 16), stream_mode!("aes-128-cfb", aes::Cfb, chained(Algorithm::AesCfb, 16));
    Aes256Xts: XtsContext = Current, c"AES-256-XTS:1.3.111.2.1619.0.1.2", xts(64), xts::Spec { name: "aes-256-xts" };
    Aes128Xts: XtsContext = Current, c"AES-128-XTS:1.3.111.2.1619.0.1.1", xts(32), xts::Spec { name: "aes-128-xts" };

    Camellia256Ecb: BlockContext = Current, c"CAMELLIA-256-ECB:0.3.4401.5.3.1.9.41",
        ecb(32, 16), block_mode!("camellia-256-ecb", camellia::Ecb, unchained(Algorithm::CamelliaEcb));
    Camellia192Ecb: BlockContext = Current, c"CAMELLIA-192-ECB:0.3.4401.5.3.1.9.21",
        ecb(24, 16), block_mode!("camellia-192-ecb", camellia::Ecb, unchained(Algorithm::CamelliaEcb));
    Camellia128Ecb: BlockContext = Current, c"CAMELLIA-128-ECB:0.3.4401.5.3.1.9.1",
        ecb(16, 16), block_mode!("camellia-128-ecb", camellia::Ecb, unchained(Algorithm::CamelliaEcb));
    Camellia256Cbc: BlockContext = Current, c"CAMELLIA-256-CBC:CAMELLIA256:1.2.392.200011.61.1.1.1.4",
        cbc(32, 16), block_mode!("camellia-256-cbc", camellia::Cbc, chained(Algorithm::CamelliaCbc, 16));
    Camellia192Cbc: BlockContext = Current, c"CAMELLIA-192-CBC:CAMELLIA192:1.2.392.200011.61.1.1.1.3",
        cbc(24, 16), block_mode!("camellia-192-cbc", camellia::Cbc, chained(Algorithm::CamelliaCbc, 16));
    Camellia128Cbc: BlockContext = Current, c"CAMELLIA-128-CBC:CAMELLIA128:1.2.392.200011.61.1.1.1.2",
        cbc(16, 16), block_mode!("camellia-128-cbc", camellia::Cbc, chained(Algorithm::CamelliaCbc, 16));
    Camellia256Ctr: StreamContext = Current, c"CAMELLIA-256-CTR:0.3.4401.5.3.1.9.49",
        bytewise(Mode::Ctr, 32, 16), stream_mode!("camellia-256-ctr", camellia::Ctr, counted(Algorithm::CamelliaCtr));
    Camellia192Ctr: StreamContext = Current, c"CAMELLIA-192-CTR:0.3.4401.5.3.1.9.29",
        bytewise(Mode::Ctr, 24, 16), stream_mode!("camellia-192-ctr", camellia::Ctr, counted(Algorithm::CamelliaCtr));
    Camellia128Ctr: StreamContext = Current, c"CAMELLIA-128-CTR:0.3.4401.5.3.1.9.9",
        bytewise(Mode::Ctr, 16, 16), stream_mode!("camellia-128-ctr", camellia::Ctr, counted(Algorithm::CamelliaCtr));

    Sm4Ecb: BlockContext = Current, c"SM4-ECB:1.2.156.10197.1.104.1",
        ecb(16, 16), block_mode!("sm4-ecb", sm4::Ecb, unchained(Algorithm::Sm4Ecb));
    Sm4Cbc: BlockContext = Current, c"SM4-CBC:SM4:1.2.156.10197.1.104.2",
        cbc(16, 16), block_mode!("sm4-cbc", sm4::Cbc, chained(Algorithm::Sm4Cbc, 16));
    Sm4Ctr: StreamContext = Current, c"SM4-CTR:1.2.156.10197.1.104.7",
        bytewise(Mode::Ctr, 16, 16), stream_mode!("sm4-ctr", sm4::Ctr, counted(Algorithm::Sm4Ctr));

    TripleDesEcb: BlockContext = Current, c"DES-EDE3-ECB:DES-EDE3",
        ecb(24, 8), des_block_mode!("3des-ecb", des::Ecb, unchained(Algorithm::DesEcb));
    TripleDesCbc: BlockContext = Current, c"DES-EDE3-CBC:DES3:1.2.840.113549.3.7",
        cbc(24, 8), des_block_mode!("3des-cbc", des::Cbc, chained(Algorithm::DesCbc, 8));
    TripleDesCfb: StreamContext = Current, c"DES-EDE3-CFB",
        bytewise(Mode::Cfb, 24, 8), des_stream_mode!("3des-cfb", des::Cfb, chained(Algorithm::DesCfb, 8));
    TwoKeyDesEcb: BlockContext = Current, c"DES-EDE-ECB:DES-EDE:1.3.14.3.2.17",
        ecb(16, 8), des_block_mode!("3des-2key-ecb", des::Ecb, unchained(Algorithm::DesEcb));
    TwoKeyDesCbc: BlockContext = Current, c"DES-EDE-CBC",
        cbc(16, 8), des_block_mode!("3des-2key-cbc", des::Cbc, chained(Algorithm::DesCbc, 8));
    TwoKeyDesCfb: StreamContext = Current, c"DES-EDE-CFB",
        bytewise(Mode::Cfb, 16, 8), des_stream_mode!("3des-2key-cfb", des::Cfb, chained(Algorithm::DesCfb, 8));

    DesEcb: BlockContext = Legacy, c"DES-ECB:1.3.14.3.2.6",
        ecb(8, 8), des_block_mode!("des-ecb", des::Ecb, unchained(Algorithm::DesEcb));
    DesCbc: BlockContext = Legacy, c"DES-CBC:DES:1.3.14.3.2.7",
        cbc(8, 8), des_block_mode!("des-cbc", des::Cbc, chained(Algorithm::DesCbc, 8));
    DesCfb: StreamContext = Legacy, c"DES-CFB:1.3.14.3.2.9",
        bytewise(Mode::Cfb, 8, 8), des_stream_mode!("des-cfb", des::Cfb, chained(Algorithm::DesCfb, 8));

    // The service begins RC4's keystream anew with every operation.
    => in this process only:
    Rc4: Rc4Context = Legacy, c"RC4:1.2.840.113549.3.4", info(Mode::Stream, 16, 0, 1), rc4::Spec { name: "rc4" };
    Rc4Of40: Rc4Context = Legacy, c"RC4-40", info(Mode::Stream, 5, 0, 1), rc4::Spec { name: "rc4-40" };

    // Encrypting and authenticating under two keys that come one after the other is no operation of the service.
    Aes128CbcHmacSha1: CbcHmacContext = Current, c"AES-128-CBC-HMAC-SHA1",
        composite(16), cbc_hmac::Spec { name: "aes-128-cbc-hmac-sha1", hash: Hash::Sha1 };
    Aes256CbcHmacSha1: CbcHmacContext = Current, c"AES-256-CBC-HMAC-SHA1",
        composite(32), cbc_hmac::Spec { name: "aes-256-cbc-hmac-sha1", hash: Hash::Sha1 };
    Aes128CbcHmacSha256: CbcHmacContext = Current, c"AES-128-CBC-HMAC-SHA256",
        composite(16), cbc_hmac::Spec { name: "aes-128-cbc-hmac-sha256", hash: Hash::Sha256 };
    Aes256CbcHmacSha256: CbcHmacContext = Current, c"AES-256-CBC-HMAC-SHA256",
        composite(32), cbc_hmac::Spec { name: "aes-256-cbc-hmac-sha256", hash: Hash::Sha256 };

    // In the service a wrapped key is a text and a tag, which no context here puts together.
    Aes256Wrap: WrapContext = Current,
        c"AES-256-WRAP:id-aes256-wrap:AES256-WRAP:2.16.840.1.101.3.4.1.45",
        wrapping(32, 8), wrap::Spec { name: "aes-256-wrap", form: Form::Kw };
    Aes192Wrap: WrapContext = Current,
        c"AES-192-WRAP:id-aes192-wrap:AES192-WRAP:2.16.840.1.101.3.4.1.25",
        wrapping(24, 8), wrap::Spec { name: "aes-192-wrap", form: Form::Kw };
    Aes128Wrap: WrapContext = Current,
        c"AES-128-WRAP:id-aes128-wrap:AES128-WRAP:2.16.840.1.101.3.4.1.5",
        wrapping(16, 8), wrap::Spec { name: "aes-128-wrap", form: Form::Kw };
    Aes256WrapPad: WrapContext = Current,
        c"AES-256-WRAP-PAD:id-aes256-wrap-pad:AES256-WRAP-PAD:2.16.840.1.101.3.4.1.48",
        wrapping(32, 4), wrap::Spec { name: "aes-256-wrap-pad", form: Form::Kwp };
    Aes192WrapPad: WrapContext = Current,
        c"AES-192-WRAP-PAD:id-aes192-wrap-pad:AES192-WRAP-PAD:2.16.840.1.101.3.4.1.28",
        wrapping(24, 4), wrap::Spec { name: "aes-192-wrap-pad", form: Form::Kwp };
    Aes128WrapPad: WrapContext = Current,
        c"AES-128-WRAP-PAD:id-aes128-wrap-pad:AES128-WRAP-PAD:2.16.840.1.101.3.4.1.8",
        wrapping(16, 4), wrap::Spec { name: "aes-128-wrap-pad", form: Form::Kwp };
}
