//! SSLv3's key block, out of the master secret and both sides' random numbers.
//!
//! key block = MD5(master, SHA(`A`, master, randoms)) MD5(master, SHA(`BB`, master, randoms)) ...
//!
//! Ref. RFC 6101 §6.2.2. Only this is public about the word: opcode 0x10, HASH_LEN (bytes of key block less one, 5 to
//! 58 in the tests of OpenSPARC), a LENGTH of zero, and that all addresses are multiples of 16. The rest is ours: the
//! source is the server's random number and then the client's, 64 bytes, and the authentication key is the master
//! secret, 48.

use millstream_engines::hash::{Hash, Hasher};

use super::control_word::ControlWord;
use super::engine;
use super::fault::{Fault, Field, Refusal};
use super::physical::Physical;

/// Bytes of the two random numbers.
pub(crate) const SOURCE_BYTES: usize = 64;
/// Bytes of the master secret.
pub(crate) const MASTER_BYTES: usize = 48;

pub(crate) fn check_alignment(word: &ControlWord) -> Result<(), Refusal> {
    let fields = [
        (Field::Source, word.source),
        (Field::AuthKey, word.auth_key),
        (Field::Destination, word.destination),
    ];
    let crooked = fields.into_iter().find(|(_, address)| address % 16 != 0);
    crooked.map_or(Ok(()), |(field, _)| Err(Refusal::NotAligned(field)))
}

/// The bytes of key block that the word wants, 256 at most.
pub(crate) fn key_block(word: &ControlWord, randoms: &[u8], memory: &dyn Physical) -> Result<Vec<u8>, Fault> {
    let mut master = [0; MASTER_BYTES];
    memory.read(word.auth_key, &mut master)?;
    let wanted = word.control.hash_len();
    let mut block = Vec::with_capacity(wanted + 16);
    // The 16 labels, A to P, repeat each letter as often as its place says, which makes 256 bytes.
    for (times, letter) in (1..).zip(b'A'..=b'P') {
        if block.len() >= wanted {
            break;
        }
        let mut sha = Hasher::new(engine(), Hash::Sha1);
        sha.update(&vec![letter; times]);
        sha.update(&master);
        sha.update(randoms);
        let mut md5 = Hasher::new(engine(), Hash::Md5);
        md5.update(&master);
        md5.update(&sha.finish());
        block.extend_from_slice(&md5.finish());
    }
    block.truncate(wanted);
    Ok(block)
}
