//! The key schedule: subkeys in the order in which the data meets them, for either direction.
//!
//! Ref. RFC 3713 §2.2.

use zeroize::Zeroize;

use super::Camellia;
use super::round::f;
use crate::Error;

type Subkeys = crate::blocks::Subkeys<Camellia>;
type Schedule = crate::blocks::Schedule<Camellia>;

/// The most subkeys of a key: one of 128 bits has 26 subkeys, a longer one 34.
const SUBKEYS: usize = 34;

/// Rows of two subkeys.
pub(super) const ROWS: usize = SUBKEYS / 2;

/// Returns the groups of six rounds, 3 or 4, of a key that has so many rows. The first row is for whitening, as is the
/// last; groups of six rounds lie between, and the two subkeys of the FL layer between groups.
#[inline(always)]
pub(super) const fn groups(rows: usize) -> usize {
    rows / 4
}

/// Returns a subkey. Its first byte is the one that meets the first byte of a half.
#[inline(always)]
pub(super) fn subkey(subkeys: &Subkeys, i: usize) -> [u8; 8] {
    subkeys.rows[i / 2].as_chunks().0[i % 2]
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

/// Expands a key of 16, 24 or 32 bytes.
///
/// # Errors
/// [`Error::KeyLength`].
pub(super) fn expand(algorithm: &'static str, key: &[u8]) -> Result<Schedule, Error> {
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
    let encrypt = of_words(&words[..used]);
    // Decryption uses the same steps with the subkeys reversed, except that the whitening
    // pairs keep their own order: RFC 3713 §2.3.3.
    words[..used].reverse();
    words.swap(0, 1);
    words.swap(used - 2, used - 1);
    let decrypt = of_words(&words[..used]);
    words.zeroize();
    Ok(Schedule { encrypt, decrypt })
}

/// The subkeys in rows of two.
fn of_words(words: &[u64]) -> Subkeys {
    let mut rows = [[0; 16]; ROWS];
    for (row, &[first, second]) in rows.iter_mut().zip(words.as_chunks().0) {
        *row = (u128::from(first) << 64 | u128::from(second)).to_be_bytes();
    }
    let subkeys = Subkeys::new(&rows[..words.len() / 2]);
    rows.as_flattened_mut().zeroize();
    subkeys
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
