//! The key schedule: subkeys in the order in which the data meets them, for either direction.
//!
//! Ref. RFC 3713 §2.2.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::round::f;
use crate::Error;
use crate::modes::Direction;

/// The most subkeys of a key: one of 128 bits has 26 subkeys, a longer one 34.
pub(super) const SUBKEYS: usize = 34;

/// The subkeys of one direction: two for whitening, then groups of six rounds with the two of the
/// FL layer between groups, then two for whitening.
#[derive(Clone, Zeroize)]
pub struct Order {
    /// The first byte is the one that meets the first byte of a half.
    pub(super) keys: [[u8; 8]; SUBKEYS],
    /// Each byte four times, for kernels that keep each byte of a block in a register of its own.
    pub(super) wide: [[u32; 8]; SUBKEYS],
    /// Groups of six rounds: 3 or 4.
    pub(super) groups: usize,
}

impl Order {
    fn new(words: &[u64]) -> Self {
        let groups = words.len() / 8;
        let mut order = Order { keys: [[0; 8]; SUBKEYS], wide: [[0; 8]; SUBKEYS], groups };
        for (i, word) in words.iter().enumerate() {
            order.keys[i] = word.to_be_bytes();
            order.wide[i] = order.keys[i].map(|byte| u32::from_ne_bytes([byte; 4]));
        }
        order
    }

    /// Subkey `i`, for the FL layer.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn word(&self, i: usize) -> u64 {
        u64::from_be_bytes(self.keys[i])
    }
}

/// An expanded key.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Schedule {
    pub(super) encrypt: Order,
    pub(super) decrypt: Order,
}

/// RFC 3713 §2.2, Sigma1 to Sigma6.
const SIGMA: [u64; 6] = [
    0xa09e_667f_3bcc_908b,
    0xb67a_e858_4caa_73b2,
    0xc6ef_372f_e94f_82be,
    0x54ff_53a5_f1d3_6f1c,
    0x10e5_27fa_de68_2d1d,
    0xb056_88c2_b3e6_c1fd,
];

/// The indices of KL, KR, KA and KB, from which pairs of subkeys come.
const KL: usize = 0;
const KR: usize = 1;
const KA: usize = 2;
const KB: usize = 3;

/// For each pair of subkeys: the value of which both are halves, and the rotation (RFC 3713
/// §2.2).
const PAIRS_256: [(usize, u32); 17] = [
    (KL, 0),
    (KB, 0),
    (KR, 15),
    (KA, 15),
    (KR, 30),
    (KB, 30),
    (KL, 45),
    (KA, 45),
    (KL, 60),
    (KR, 60),
    (KB, 60),
    (KL, 77),
    (KA, 77),
    (KR, 94),
    (KA, 94),
    (KL, 111),
    (KB, 111),
];

/// The same as [`PAIRS_256`] for keys of 128 bits. The pair of KA at 45 takes its second half
/// from KL at 60.
const PAIRS_128: [(usize, u32); 13] = [
    (KL, 0),
    (KA, 0),
    (KL, 15),
    (KA, 15),
    (KA, 30),
    (KL, 45),
    (KA, 45),
    (KA, 60),
    (KL, 77),
    (KL, 94),
    (KA, 94),
    (KL, 111),
    (KA, 111),
];

impl Schedule {
    /// Expands a key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub(super) fn new(algorithm: &'static str, key: &[u8]) -> Result<Self, Error> {
        let mut bytes = [0; 32];
        match key.len() {
            16 | 32 => bytes[..key.len()].copy_from_slice(key),
            24 => {
                bytes[..24].copy_from_slice(key);
                for i in 0..8 {
                    bytes[24 + i] = !key[16 + i];
                }
            }
            given => return Err(Error::KeyLength { algorithm, given, takes: "16, 24 or 32 bytes" }),
        }
        let half = |at: usize| u128::from_be_bytes(bytes[at..at + 16].try_into().expect("sixteen bytes"));
        let mut sources = intermediate(half(0), half(16));
        bytes.zeroize();
        let mut words = [0u64; SUBKEYS];
        let pairs: &[(usize, u32)] = if key.len() == 16 { &PAIRS_128 } else { &PAIRS_256 };
        for (i, &(source, rotation)) in pairs.iter().enumerate() {
            let pair = sources[source].rotate_left(rotation);
            (words[2 * i], words[2 * i + 1]) = ((pair >> 64) as u64, pair as u64);
        }
        if key.len() == 16 {
            words[13] = sources[KL].rotate_left(60) as u64;
        }
        sources.zeroize();
        let used = 2 * pairs.len();
        let encrypt = Order::new(&words[..used]);
        // Decryption uses the same steps with the subkeys reversed, except that the whitening
        // pairs keep their own order: RFC 3713 §2.3.3.
        words[..used].reverse();
        words.swap(0, 1);
        words.swap(used - 2, used - 1);
        let decrypt = Order::new(&words[..used]);
        words.zeroize();
        Ok(Schedule { encrypt, decrypt })
    }
}

/// KL, KR, KA and KB.
fn intermediate(kl: u128, kr: u128) -> [u128; 4] {
    let two_rounds = |x: u128, sigma: &[u64]| {
        let (mut d1, mut d2) = ((x >> 64) as u64, x as u64);
        d2 ^= f(d1, sigma[0]);
        d1 ^= f(d2, sigma[1]);
        (d1 as u128) << 64 | d2 as u128
    };
    let ka = two_rounds(two_rounds(kl ^ kr, &SIGMA[..2]) ^ kl, &SIGMA[2..4]);
    let kb = two_rounds(ka ^ kr, &SIGMA[4..]);
    [kl, kr, ka, kb]
}

impl Schedule {
    /// The subkeys of one direction.
    pub(super) fn order(&self, direction: Direction) -> &Order {
        match direction {
            Direction::Encrypt => &self.encrypt,
            Direction::Decrypt => &self.decrypt,
        }
    }
}
