//! One message in pieces of any length, of any algorithm that allows it.

use std::sync::Arc;

use millstream::aead::AeadStream;
use millstream::crc::{Crc32, Crc32c};
use millstream::hash::{Hash, Hasher};
use millstream::hmac::Hmac;
use millstream::ipsum::IpChecksum;
use millstream::modes::{BlockMode, BlockStream, ByteStream, Direction, Padding, StreamMode};
use millstream::rc4::Rc4;
use millstream::{
    AeadKey, Checksum, CipherKey, EngineError, InOut, MacKey, aes, chacha20poly1305, features, gcm,
};
use self_cell::self_cell;
use zeroize::Zeroizing;

use crate::algorithm::AlgorithmCode;
use crate::direct::{room, whole_tag};
use crate::failure::Failure;
use crate::key::Key;
use crate::pass::Pass;

/// The task of a stream, from which another message can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// A digest.
    Digest(Hash),
    /// The MAC of its key.
    Mac,
    /// A checksum.
    Checksum(Checksum),
    /// A cipher without authentication.
    Cipher(Direction, Padding),
    /// An AEAD.
    Aead(Direction),
}

/// A cipher that works on whole blocks.
trait Blocks {
    fn update_len(&self, input: usize) -> usize;
    fn update(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, EngineError>;
    fn finish(self: Box<Self>, output: &mut [u8]) -> Result<usize, EngineError>;
}

impl<M: BlockMode> Blocks for BlockStream<'_, M> {
    fn update_len(&self, input: usize) -> usize {
        self.update_len(input)
    }

    fn update(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, EngineError> {
        self.update(input, output)
    }

    fn finish(self: Box<Self>, output: &mut [u8]) -> Result<usize, EngineError> {
        (*self).finish(output)
    }
}

/// A cipher that works on bytes.
trait Bytes {
    fn update(&mut self, data: InOut<'_>);
}

impl<M: StreamMode> Bytes for ByteStream<'_, M> {
    fn update(&mut self, data: InOut<'_>) {
        self.update(data);
    }
}

impl Bytes for Rc4 {
    fn update(&mut self, data: InOut<'_>) {
        self.apply(data);
    }
}

/// A message on its way. It lies in one place of the heap, which is as big as the biggest.
#[allow(clippy::large_enum_variant)]
enum Message<'k> {
    Ended,
    Digest(Hasher),
    Hmac(Hmac),
    Cmac(aes::CmacStream<'k>),
    Crc32(Crc32),
    Crc32c(Crc32c),
    Ip(IpChecksum),
    Blocks(Box<dyn Blocks + Send + 'k>),
    Bytes(Box<dyn Bytes + Send + 'k>),
    Gcm(gcm::Stream<'k>, Direction),
    ChaCha(chacha20poly1305::Stream<'k>, Direction),
}

self_cell!(
    /// A message, and the key that it borrows.
    struct Keyed {
        owner: Option<Arc<Key>>,
        #[not_covariant]
        dependent: Message,
    }
);

/// A message in pieces. It keeps its key.
pub struct Stream {
    keyed: Keyed,
    task: Task,
}

/// This trait is what lets C hand one to another thread.
const _: () = {
    const fn send<T: Send>() {}
    send::<Stream>();
};

/// Pieces in place pass through a copy of so many bytes: whole blocks.
const PIECE: usize = 4096;

impl Stream {
    /// Begins a message. `iv` is the initialisation vector or nonce, if the task takes one.
    pub fn new(key: Option<Arc<Key>>, task: Task, iv: &[u8]) -> Result<Self, Failure> {
        Ok(Stream { keyed: Keyed::try_new(key, |key| begin(key.as_deref(), task, iv))?, task })
    }

    /// Resumes a digest that was left off.
    pub fn import_digest(hash: AlgorithmCode, state: &[u8]) -> Result<Self, Failure> {
        let hash = hash.hash()?;
        let message = Message::Digest(Hasher::import(features()?, hash, state)?);
        Ok(Stream { keyed: Keyed::new(None, |_| message), task: Task::Digest(hash) })
    }

    /// Resumes an HMAC that was left off: the state holds its key.
    pub fn import_mac(hash: AlgorithmCode, state: &[u8]) -> Result<Self, Failure> {
        let message = Message::Hmac(Hmac::import(features()?, hash.hash()?, state)?);
        Ok(Stream { keyed: Keyed::new(None, |_| message), task: Task::Mac })
    }

    /// Begins the next message of the same task and key. A message under way is dropped.
    pub fn restart(&mut self, iv: &[u8]) -> Result<(), Failure> {
        let task = self.task;
        self.keyed.with_dependent_mut(|key, message| {
            *message = begin(key.as_deref(), task, iv)?;
            Ok(())
        })
    }

    /// Adds the next bytes to a digest, MAC or checksum.
    pub fn update(&mut self, data: &[u8]) -> Result<(), Failure> {
        self.keyed.with_dependent_mut(|_, message| {
            match message {
                Message::Digest(hasher) => hasher.update(data),
                Message::Hmac(hmac) => hmac.update(data),
                Message::Cmac(cmac) => cmac.update(data),
                Message::Crc32(crc) => crc.update(data),
                Message::Crc32c(crc) => crc.update(data),
                Message::Ip(sum) => sum.update(data),
                Message::Ended => return Err(Failure::Ended),
                _ => return Err(order("a cipher's data goes through millstream_stream_pass")),
            }
            Ok(())
        })
    }

    /// Takes in associated data.
    pub fn aad(&mut self, aad: &[u8]) -> Result<(), Failure> {
        self.keyed.with_dependent_mut(|_, message| match message {
            Message::Gcm(stream, _) => Ok(stream.aad(aad)?),
            Message::ChaCha(stream, _) => Ok(stream.aad(aad)?),
            Message::Ended => Err(Failure::Ended),
            _ => Err(order("only an AEAD takes associated data")),
        })
    }

    /// Returns the bytes that [`Stream::pass`] writes for `len` more bytes of input.
    pub fn pass_len(&self, len: usize) -> usize {
        self.keyed.with_dependent(|_, message| match message {
            Message::Blocks(blocks) => blocks.update_len(len),
            Message::Bytes(_) | Message::Gcm(..) | Message::ChaCha(..) => len,
            _ => 0,
        })
    }

    /// Encrypts or decrypts the next bytes, and returns how many it wrote.
    pub fn pass(&mut self, data: Pass<'_>) -> Result<usize, Failure> {
        self.keyed.with_dependent_mut(|_, message| match message {
            Message::Blocks(blocks) => Ok(through_blocks(&mut **blocks, data)?),
            Message::Bytes(bytes) => through(data, |data| {
                bytes.update(data);
                Ok(())
            }),
            Message::Gcm(stream, direction) => through(data, |data| of_aead(stream, *direction, data)),
            Message::ChaCha(stream, direction) => through(data, |data| of_aead(stream, *direction, data)),
            Message::Ended => Err(Failure::Ended),
            _ => Err(order("what is hashed or summed goes through millstream_stream_update")),
        })
    }

    /// Ends the message: digest, MAC, tag, checksum, or the last block of a cipher. Returns how many bytes it wrote.
    pub fn finish(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        self.keyed.with_dependent_mut(|_, message| {
            // A short output must not end the message, nor must a stream that can't be finished.
            let needed = match message {
                Message::Ended => return Err(Failure::Ended),
                Message::Digest(hasher) => hasher.hash().output_len(),
                Message::Hmac(hmac) => hmac.hash().output_len(),
                Message::Gcm(_, Direction::Decrypt) | Message::ChaCha(_, Direction::Decrypt) => {
                    return Err(order("what an AEAD decrypts is ended by millstream_stream_verify"));
                }
                Message::Cmac(_) | Message::Gcm(..) | Message::ChaCha(..) => 16,
                Message::Crc32(_) | Message::Crc32c(_) => 4,
                Message::Ip(_) => 2,
                Message::Blocks(_) | Message::Bytes(_) => 0,
            };
            let place = room(out, needed)?;
            match std::mem::replace(message, Message::Ended) {
                Message::Digest(hasher) => place.copy_from_slice(&hasher.finish()),
                Message::Hmac(hmac) => place.copy_from_slice(&hmac.finish()),
                Message::Cmac(cmac) => place.copy_from_slice(&cmac.finish()),
                Message::Crc32(crc) => place.copy_from_slice(&crc.value().to_be_bytes()),
                Message::Crc32c(crc) => place.copy_from_slice(&crc.value().to_be_bytes()),
                Message::Ip(sum) => place.copy_from_slice(&sum.value().to_be_bytes()),
                Message::Gcm(stream, _) => place.copy_from_slice(&stream.tag()),
                Message::ChaCha(stream, _) => place.copy_from_slice(&stream.tag()),
                Message::Blocks(blocks) => return Ok(blocks.finish(out)?),
                Message::Bytes(_) | Message::Ended => {}
            }
            Ok(needed)
        })
    }

    /// Ends the message and compares its MAC or tag.
    pub fn verify(&mut self, tag: &[u8]) -> Result<(), Failure> {
        self.keyed.with_dependent_mut(|_, message| match std::mem::replace(message, Message::Ended) {
            Message::Hmac(hmac) => Ok(hmac.verify(tag)?),
            Message::Cmac(cmac) => Ok(cmac.verify(tag)?),
            Message::Gcm(stream, Direction::Decrypt) => Ok(stream.verify(whole_tag(tag)?)?),
            Message::ChaCha(stream, Direction::Decrypt) => Ok(stream.verify(whole_tag(tag)?)?),
            Message::Ended => Err(Failure::Ended),
            other => {
                *message = other;
                Err(order("only a MAC, and what an AEAD decrypts, is verified"))
            }
        })
    }

    /// Writes the mid-state of a digest or HMAC to the front of `out`, and returns its length.
    pub fn export(&self, out: &mut [u8]) -> Result<usize, Failure> {
        self.keyed.with_dependent(|_, message| {
            let state = match message {
                Message::Digest(hasher) => hasher.export(),
                Message::Hmac(hmac) => hmac.export(),
                Message::Ended => return Err(Failure::Ended),
                _ => return Err(order("only a digest or an HMAC has a mid-state")),
            };
            room(out, state.len())?.copy_from_slice(&state);
            Ok(state.len())
        })
    }

    /// Makes another stream, which goes on from here by itself.
    pub fn copy(&self) -> Result<Stream, Failure> {
        let message = self.keyed.with_dependent(|_, message| match message {
            Message::Digest(hasher) => Ok(Copied::Digest(hasher.clone())),
            Message::Hmac(hmac) => Ok(Copied::Hmac(hmac.clone())),
            Message::Ended => Err(Failure::Ended),
            _ => Err(order("only a digest or an HMAC can be copied")),
        })?;
        let key = self.keyed.borrow_owner().clone();
        let keyed = Keyed::new(key, |_| match message {
            Copied::Digest(hasher) => Message::Digest(hasher),
            Copied::Hmac(hmac) => Message::Hmac(hmac),
        });
        Ok(Stream { keyed, task: self.task })
    }
}

/// A message that borrows nothing.
enum Copied {
    Digest(Hasher),
    Hmac(Hmac),
}

fn order(rule: &'static str) -> Failure {
    EngineError::Order { rule }.into()
}

/// Begins a message under a key.
fn begin<'k>(key: Option<&'k Key>, task: Task, iv: &[u8]) -> Result<Message<'k>, Failure> {
    if !matches!(task, Task::Cipher(..) | Task::Aead(_)) && !iv.is_empty() {
        return Err(EngineError::NonceLength { algorithm: "this", given: iv.len(), takes: "none" }.into());
    }
    match (task, key) {
        (Task::Digest(hash), _) => Ok(Message::Digest(Hasher::new(features()?, hash))),
        (Task::Checksum(Checksum::Crc32), _) => Ok(Message::Crc32(Crc32::new(features()?))),
        (Task::Checksum(Checksum::Crc32c), _) => Ok(Message::Crc32c(Crc32c::new(features()?))),
        (Task::Checksum(Checksum::Ip), _) => Ok(Message::Ip(IpChecksum::new(features()?))),
        (Task::Mac, Some(key)) => match key.mac()? {
            MacKey::Hmac(key) => Ok(Message::Hmac(key.start())),
            MacKey::AesCmac(key) => Ok(Message::Cmac(key.stream())),
            _ => Err(Failure::OneShot(key.algorithm().name())),
        },
        (Task::Cipher(direction, padding), Some(key)) => begin_cipher(key, direction, padding, iv),
        (Task::Aead(direction), Some(key)) => match key.aead()? {
            AeadKey::AesGcm(key) => Ok(Message::Gcm(key.stream(iv)?, direction)),
            AeadKey::ChaCha20Poly1305(key) => Ok(Message::ChaCha(key.stream(iv)?, direction)),
            _ => Err(Failure::OneShot(key.algorithm().name())),
        },
        // A resumed state brought its key along, and can't give it back.
        (_, None) => Err(order("a stream made from a mid-state has no key to begin again with")),
    }
}

fn begin_cipher<'k>(
    key: &'k Key,
    direction: Direction,
    padding: Padding,
    iv: &[u8],
) -> Result<Message<'k>, Failure> {
    fn blocks<'k, M: BlockMode + Sync>(
        mode: &'k M,
        direction: Direction,
        padding: Padding,
        iv: &[u8],
    ) -> Result<Message<'k>, Failure> {
        Ok(Message::Blocks(Box::new(BlockStream::new(mode, iv, direction, padding)?)))
    }
    fn bytes<'k, M: StreamMode + Sync>(
        mode: &'k M,
        direction: Direction,
        iv: &[u8],
    ) -> Result<Message<'k>, Failure> {
        Ok(Message::Bytes(Box::new(ByteStream::new(mode, iv, direction)?)))
    }
    let cipher = key.cipher()?;
    let whole = match cipher {
        CipherKey::AesEcb(key) => return blocks(key, direction, padding, iv),
        CipherKey::AesCbc(key) => return blocks(key, direction, padding, iv),
        CipherKey::CamelliaEcb(key) => return blocks(key, direction, padding, iv),
        CipherKey::CamelliaCbc(key) => return blocks(key, direction, padding, iv),
        CipherKey::Sm4Ecb(key) => return blocks(key, direction, padding, iv),
        CipherKey::Sm4Cbc(key) => return blocks(key, direction, padding, iv),
        CipherKey::DesEcb(key) => return blocks(key, direction, padding, iv),
        CipherKey::DesCbc(key) => return blocks(key, direction, padding, iv),
        CipherKey::AesXts(_) | CipherKey::KasumiF8(_) => true,
        _ => false,
    };
    if whole {
        return Err(Failure::OneShot(key.algorithm().name()));
    }
    if padding != Padding::None {
        return Err(order("a cipher of any length has no padding"));
    }
    match cipher {
        CipherKey::AesCtr(key) => bytes(key, direction, iv),
        CipherKey::AesCfb(key) => bytes(key, direction, iv),
        CipherKey::CamelliaCtr(key) => bytes(key, direction, iv),
        CipherKey::Sm4Ctr(key) => bytes(key, direction, iv),
        CipherKey::DesCfb(key) => bytes(key, direction, iv),
        CipherKey::Rc4(key) if iv.is_empty() => Ok(Message::Bytes(Box::new(key.clone()))),
        CipherKey::Rc4(_) => {
            Err(EngineError::NonceLength { algorithm: "rc4", given: iv.len(), takes: "none" }.into())
        }
        _ => Err(Failure::OneShot(key.algorithm().name())),
    }
}

fn of_aead(stream: &mut impl AeadStream, direction: Direction, data: InOut<'_>) -> Result<(), Failure> {
    match direction {
        Direction::Encrypt => Ok(stream.encrypt(data)?),
        Direction::Decrypt => Ok(stream.decrypt_unverified(data)?),
    }
}

/// Pairs input and output of one length.
fn through(data: Pass<'_>, work: impl FnOnce(InOut<'_>) -> Result<(), Failure>) -> Result<usize, Failure> {
    let (data, len) = match data {
        Pass::InPlace { buffer, len, room: given } => {
            (InOut::in_place(room(&mut buffer[..given], len)?), len)
        }
        Pass::Apart { input, output } => (InOut::separate(input, room(output, input.len())?)?, input.len()),
    };
    work(data)?;
    Ok(len)
}

/// Whole blocks. In place they pass through a copy: what is written is never ahead of what was read by more than
/// the bytes that were held, and pieces are whole blocks.
fn through_blocks(blocks: &mut dyn Blocks, data: Pass<'_>) -> Result<usize, EngineError> {
    let (buffer, len, given) = match data {
        Pass::Apart { input, output } => return blocks.update(input, output),
        Pass::InPlace { buffer, len, room } => (buffer, len, room),
    };
    let needed = blocks.update_len(len);
    if given < needed {
        return Err(EngineError::OutputLength { given, needed });
    }
    let mut copy = Zeroizing::new([0; PIECE]);
    let (mut read, mut written) = (0, 0);
    while read < len {
        let piece = &mut copy[..PIECE.min(len - read)];
        piece.copy_from_slice(&buffer[read..read + piece.len()]);
        read += piece.len();
        written += blocks.update(piece, &mut buffer[written..])?;
    }
    Ok(written)
}
