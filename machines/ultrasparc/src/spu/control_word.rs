//! The control word: 64 bytes that describe one operation, or one piece of one, completely.
//!
//! | offset | field | contents |
//! | --- | --- | --- |
//! | 0 | [`Control`] | |
//! | 8 | source | the data |
//! | 16 | auth key | the key of an HMAC or SSL MAC |
//! | 24 | auth IV | the initial hash state, CRC or sum |
//! | 32 | final auth state | the place for the running state, with SFAS |
//! | 40 | cipher key | for RC4 the 256 bytes of S, then X and Y |
//! | 48 | cipher IV | |
//! | 56 | destination | |
//!
//! Ref. UltraSPARC Virtual Machine Specification 3.0 §25.2.2.3.

use std::fmt;

use super::codes::{Auth, Cipher};

/// Bytes in a control word.
pub const WORD_BYTES: u64 = 64;

/// The first eight bytes, which say what to do.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Control(pub u64);

/// The kind of operation that a word asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Opcode {
    /// SSLv3's key block.
    SslKey = 0x10,
    /// A plain copy.
    Copy = 0x20,
    /// A cipher.
    Cipher = 0x40,
    /// A hash, MAC or checksum.
    Auth = 0x41,
}

impl Opcode {
    /// The opcode of a code, apart from its bits for in-place and gather.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Opcode> {
        match code {
            0x10 => Some(Opcode::SslKey),
            0x20 => Some(Opcode::Copy),
            0x40 => Some(Opcode::Cipher),
            0x41 => Some(Opcode::Auth),
            _ => None,
        }
    }
}

/// Makes the accessors of one bit: a getter and a setter.
macro_rules! bits {
    ($($(#[$doc:meta])* $get:ident $with:ident $bit:literal;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub const fn $get(self) -> bool {
            self.0 >> $bit & 1 != 0
        }

        /// The same word with that bit set.
        #[must_use]
        pub const fn $with(self) -> Control {
            Control(self.0 | 1 << $bit)
        }
    )*};
}

impl Control {
    /// The in-place bit of the opcode.
    pub const IN_PLACE: u64 = 1 << 63;
    /// The hypervisor's status: hardware error, protocol error, done.
    pub const STATUS: u64 = 7 << 50;
    /// The longest operation, all its words together.
    pub const MAX_BYTES: usize = 1 << 16;

    /// An operation of `bytes` bytes, 1 to 65,536, in one word, which is the start and the end of its block.
    #[must_use]
    pub const fn new(opcode: Opcode, bytes: usize) -> Control {
        Control::piece(bytes).starts().ends().opcode_bits(opcode)
    }

    /// A further piece of `bytes` bytes, 1 to 65,536, which has only a length.
    #[must_use]
    pub const fn piece(bytes: usize) -> Control {
        Control(bytes.wrapping_sub(1) as u64 & 0xffff)
    }

    const fn opcode_bits(self, opcode: Opcode) -> Control {
        Control(self.0 | (opcode as u64) << 56)
    }

    bits! {
        /// True if the result replaces the source. For a hash the bit is only part of the opcode.
        in_place in_place_bit 63;
        /// True if the source is a list of pieces (Rainbow Falls). The bit of the opcode is ours.
        gather gathering 59;
        /// True to encrypt, false to decrypt.
        encrypt encrypting 55;
        /// True if it begins a block, which is an operation.
        start_of_block starts 54;
        /// True if it ends a block.
        end_of_block ends 53;
        /// Set by the hypervisor: the hardware failed.
        hardware_error with_hardware_error 52;
        /// Set by the hypervisor: the word was wrong.
        protocol_error with_protocol_error 51;
        /// Set by the hypervisor: the word is done, with or without an error.
        done with_done 50;
        /// True if the running state is stored.
        store_state storing_state 49;
        /// True if completion interrupts.
        interrupt interrupting 48;
    }

    /// The opcode, if it is valid, without its bits for in-place and gather.
    #[must_use]
    pub const fn opcode(self) -> Option<Opcode> {
        Opcode::from_code((self.0 >> 56) as u8 & 0x77)
    }

    /// Bytes of the digest to write.
    #[must_use]
    pub const fn hash_len(self) -> usize {
        (self.0 >> 40 & 0xff) as usize + 1
    }

    /// The strand to interrupt.
    #[must_use]
    pub const fn strand(self) -> u8 {
        (self.0 >> 37 & 7) as u8
    }

    /// The code of the hash, MAC or checksum.
    #[must_use]
    pub const fn auth_code(self) -> u8 {
        (self.0 >> 32 & 0x1f) as u8
    }

    /// The code of the cipher.
    #[must_use]
    pub const fn cipher_code(self) -> u8 {
        (self.0 >> 24) as u8
    }

    /// Bytes of the authentication key.
    #[must_use]
    pub const fn auth_key_len(self) -> usize {
        (self.0 >> 16 & 0xff) as usize + 1
    }

    /// Bytes of this word's piece of the source.
    #[must_use]
    pub const fn len(self) -> usize {
        (self.0 & 0xffff) as usize + 1
    }

    /// Always false: a word has one byte at least.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        false
    }

    /// The same word for a cipher.
    #[must_use]
    pub const fn with_cipher(self, cipher: Cipher) -> Control {
        Control(self.0 & !(0xff << 24) | (cipher.code() as u64) << 24)
    }

    /// The same word for a hash, MAC or checksum.
    #[must_use]
    pub const fn with_auth(self, auth: Auth) -> Control {
        Control(self.0 & !(0x1f << 32) | (auth as u64) << 32)
    }

    /// The same word with that many bytes of digest, 1 to 256.
    #[must_use]
    pub const fn with_hash_len(self, bytes: usize) -> Control {
        Control(self.0 & !(0xff << 40) | (bytes.wrapping_sub(1) as u64 & 0xff) << 40)
    }

    /// The same word with that many bytes of authentication key, 1 to 256.
    #[must_use]
    pub const fn with_auth_key_len(self, bytes: usize) -> Control {
        Control(self.0 & !(0xff << 16) | (bytes.wrapping_sub(1) as u64 & 0xff) << 16)
    }

    /// The same word that interrupts another strand.
    #[must_use]
    pub const fn with_strand(self, strand: u8) -> Control {
        Control(self.0 & !(7 << 37) | (strand as u64 & 7) << 37)
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Control({:016x}: {self})", self.0)
    }
}

/// Shows the word, as in `encrypt aes-128-cbc sob eob 32 bytes`.
impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.start_of_block() {
            self.show_operation(f)?;
            write!(f, " sob ")?;
        }
        let flags = [
            (self.end_of_block(), "eob "),
            (self.store_state(), "sfas "),
            (self.hardware_error(), "hardware-error "),
            (self.protocol_error(), "protocol-error "),
            (self.done(), "done "),
        ];
        for (_, name) in flags.iter().filter(|(set, _)| *set) {
            f.write_str(name)?;
        }
        if self.interrupt() {
            write!(f, "intr strand {} ", self.strand())?;
        }
        if self.opcode() == Some(Opcode::SslKey) { Ok(()) } else { write!(f, "{} bytes", self.len()) }
    }
}

impl Control {
    fn show_operation(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.opcode() {
            Some(Opcode::SslKey) => write!(f, "sslkey {}", self.hash_len())?,
            Some(Opcode::Copy) => f.write_str("copy")?,
            Some(Opcode::Cipher) => {
                f.write_str(if self.encrypt() { "encrypt " } else { "decrypt " })?;
                match Cipher::from_code(self.cipher_code()) {
                    Some(cipher) => write!(f, "{cipher}")?,
                    None => write!(f, "cipher {:#04x}", self.cipher_code())?,
                }
            }
            Some(Opcode::Auth) => {
                match Auth::from_code(self.auth_code()) {
                    Some(auth) => write!(f, "{auth}")?,
                    None => write!(f, "auth {:#04x}", self.auth_code())?,
                }
                write!(f, " {}", self.hash_len())?;
                if Auth::from_code(self.auth_code()).is_some_and(Auth::is_keyed) {
                    write!(f, " key {}", self.auth_key_len())?;
                }
            }
            None => write!(f, "opcode {:#04x}", self.0 >> 56 & 0x7f)?,
        }
        if self.gather() {
            f.write_str(" gather")?;
        }
        if self.in_place() { f.write_str(" in-place") } else { Ok(()) }
    }
}

/// A whole control word.
///
/// ```
/// use millstream_ultrasparc::spu::{Chaining, Cipher, CipherKind, Control, ControlWord, Opcode};
///
/// let cipher = Cipher { kind: CipherKind::Aes128, chaining: Chaining::Cbc };
/// let control = Control::new(Opcode::Cipher, 32).with_cipher(cipher).encrypting();
/// assert_eq!(control.0, 0x40e0_0000_1100_001f);
/// assert_eq!(control.to_string(), "encrypt aes-128-cbc sob eob 32 bytes");
///
/// let word = ControlWord { control, source: 0x1000, destination: 0x2000, ..ControlWord::default() };
/// assert_eq!(ControlWord::parse(&word.build()), word);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlWord {
    /// The operation and its lengths.
    pub control: Control,
    /// The data.
    pub source: u64,
    /// The key of a MAC.
    pub auth_key: u64,
    /// The initial state.
    pub auth_iv: u64,
    /// The place for the running state.
    pub final_auth_state: u64,
    /// The key of a cipher, or RC4's state.
    pub cipher_key: u64,
    /// The vector, or the counter block.
    pub cipher_iv: u64,
    /// The place for the result.
    pub destination: u64,
}

impl ControlWord {
    /// Reads a word from its bytes.
    #[must_use]
    pub fn parse(bytes: &[u8; 64]) -> ControlWord {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_be_bytes(*bytes);
        }
        let [control, source, auth_key, auth_iv, final_auth_state, cipher_key, cipher_iv, destination] =
            words;
        let control = Control(control);
        ControlWord {
            control,
            source,
            auth_key,
            auth_iv,
            final_auth_state,
            cipher_key,
            cipher_iv,
            destination,
        }
    }

    /// The bytes of the word.
    #[must_use]
    pub fn build(&self) -> [u8; 64] {
        let words = [
            self.control.0,
            self.source,
            self.auth_key,
            self.auth_iv,
            self.final_auth_state,
            self.cipher_key,
            self.cipher_iv,
            self.destination,
        ];
        let mut bytes = [0; 64];
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_be_bytes();
        }
        bytes
    }

    /// A further piece of an operation, which has a length, a source, and nothing else.
    #[must_use]
    pub fn piece(source: u64, bytes: usize) -> ControlWord {
        ControlWord { control: Control::piece(bytes), source, ..ControlWord::default() }
    }
}
