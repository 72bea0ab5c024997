//! CMAC.
//!
//! Ref. EVP_MAC-CMAC(7).

use std::ffi::CStr;
use std::sync::Arc;

use millstream::cmac::{self, State};
use millstream::tally::{Place, Row};
use millstream::{aes, camellia, cwq, des};

use super::{Keyed, Kind, Tag};
use crate::abi::{OCTET_STRING, OsslParam, UTF8_STRING};
use crate::algorithms::is_named;
use crate::count::Rows;
use crate::error::{Reason, Result};
use crate::provider::Provider;

/// The kind of MAC.
pub struct Cmac;

/// A cipher that a CMAC is computed with.
pub struct Cipher {
    /// OpenSSL's names for the cipher, separated by colons.
    names: &'static str,
    /// The bytes of a key, and of a block.
    key: usize,
    block: usize,
    make: fn(&[u8]) -> Result<Key>,
    /// The name under which the MAC is counted.
    name: &'static str,
    rows: Rows,
    in_service: Option<cwq::Algorithm>,
}

const fn aes(names: &'static str, key: usize) -> Cipher {
    let in_service = Some(cwq::Algorithm::AesCmac);
    let make = |key: &[u8]| Ok(Key::Aes(aes::Cmac::new(millstream::features()?, key)?));
    Cipher { names, key, block: 16, make, name: "aes-cmac", rows: Rows::new(), in_service }
}

const fn camellia(names: &'static str, key: usize) -> Cipher {
    let make =
        |key: &[u8]| Ok(Key::Camellia(cmac::Cmac::new(camellia::Cbc::new(millstream::features()?, key)?)));
    Cipher { names, key, block: 16, make, name: "camellia-cmac", rows: Rows::new(), in_service: None }
}

static CIPHERS: [Cipher; 7] = [
    aes("AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2", 16),
    aes("AES-192-CBC:AES192:2.16.840.1.101.3.4.1.22", 24),
    aes("AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42", 32),
    camellia("CAMELLIA-128-CBC:CAMELLIA128:1.2.392.200011.61.1.1.1.2", 16),
    camellia("CAMELLIA-192-CBC:CAMELLIA192:1.2.392.200011.61.1.1.1.3", 24),
    camellia("CAMELLIA-256-CBC:CAMELLIA256:1.2.392.200011.61.1.1.1.4", 32),
    Cipher {
        names: "DES-EDE3-CBC:DES3:1.2.840.113549.3.7",
        key: 24,
        block: 8,
        make: |key| Ok(Key::TripleDes(cmac::Cmac::new(des::Cbc::new(millstream::features()?, key)?))),
        name: "3des-cmac",
        rows: Rows::new(),
        in_service: None,
    },
];

impl Kind for Cmac {
    const NAME: &'static CStr = c"CMAC";
    const OVER: &'static CStr = c"cipher";
    const UNSAID: Reason = Reason::MISSING_CIPHER;
    const SETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"cipher", UTF8_STRING),
        OsslParam::described(c"properties", UTF8_STRING),
        OsslParam::described(c"key", OCTET_STRING),
        OsslParam::END,
    ];
    type Algorithm = &'static Cipher;
    type Keyed = Message;

    fn named(name: &str) -> Option<&'static Cipher> {
        CIPHERS.iter().find(|cipher| is_named(cipher.names, name))
    }

    fn size(cipher: &'static Cipher) -> (usize, usize) {
        (cipher.block, cipher.block)
    }

    fn in_service(cipher: &'static Cipher) -> Option<cwq::Algorithm> {
        cipher.in_service
    }

    fn check(cipher: &'static Cipher, len: usize) -> Result<()> {
        if len == cipher.key { Ok(()) } else { Err(Reason::INVALID_KEY_LENGTH) }
    }

    fn is_large(cipher: &'static Cipher) -> bool {
        // A schedule of DES has 10 KB and is moved a few times until it is where it stays.
        cipher.block == 8
    }

    fn key(cipher: &'static Cipher, key: &[u8]) -> Result<Message> {
        let key = Arc::new((cipher.make)(key)?);
        let state = match *key {
            Key::TripleDes(_) => Taken::Short(State::new()),
            _ => Taken::Long(State::new()),
        };
        Ok(Message { key, state })
    }

    fn row(provider: Provider, cipher: &'static Cipher, place: Place, kernel: &str) -> Row {
        cipher.rows.row(provider, place, cipher.name, kernel)
    }
}

/// An expanded key. It stays in one place as long as it lives, so the sizes of the variants may differ.
#[allow(clippy::large_enum_variant)]
enum Key {
    Aes(aes::Cmac),
    Camellia(cmac::Cmac<camellia::Cbc, 16>),
    TripleDes(cmac::Cmac<des::Cbc, 8>),
}

/// The state of a message, by the length of blocks.
#[derive(Clone)]
enum Taken {
    Long(State<16>),
    Short(State<8>),
}

/// A message under way.
#[derive(Clone)]
pub struct Message {
    key: Arc<Key>,
    state: Taken,
}

/// Evaluates an expression for the key and its state, whatever their types.
macro_rules! each {
    ($message:expr, $key:ident, $state:ident => $body:expr) => {
        match (&*$message.key, &mut $message.state) {
            (Key::Aes($key), Taken::Long($state)) => $body,
            (Key::Camellia($key), Taken::Long($state)) => $body,
            (Key::TripleDes($key), Taken::Short($state)) => $body,
            _ => unreachable!("made for each other"),
        }
    };
}

impl Keyed for Message {
    fn kernel(&self) -> &'static str {
        match &*self.key {
            Key::Aes(key) => key.kernel().name,
            Key::Camellia(key) => key.mode().kernel().name,
            Key::TripleDes(key) => key.mode().kernel().name,
        }
    }

    #[inline]
    fn restart(&mut self) {
        match &mut self.state {
            Taken::Long(state) => *state = State::new(),
            Taken::Short(state) => *state = State::new(),
        }
    }

    #[inline]
    fn update(&mut self, data: &[u8], _: usize) -> Result<()> {
        each!(self, key, state => state.update(key, data));
        Ok(())
    }

    #[inline]
    fn finish(&mut self) -> Result<Tag> {
        let tag = each!(self, key, state => Tag::new(&state.tag(key)));
        self.restart();
        Ok(tag)
    }
}
