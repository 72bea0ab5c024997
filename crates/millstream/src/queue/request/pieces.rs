//! Requests with a piece of a message, which take it up at a mid-state.

use millstream_cwq::{Flags, Opcode};

use super::Request;
use crate::hash::Hash;
use crate::heap::Buffer;
use crate::key::KeyHandle;

/// The place of a piece in an object of an AEAD.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// At the object's beginning, under this nonce.
    First(&'a [u8]),
    /// The piece goes on from this mid-state: [`Done::state`](crate::queue::Done::state).
    Next(&'a [u8]),
}

impl<'a> Request<'a> {
    /// Takes up a message at the mid-state `before`, or begins one, and adds `source`; the mid-state after it is
    /// [`Done::state`](crate::queue::Done::state).
    pub fn partial_hash(hash: Hash, before: Option<&'a [u8]>, source: Buffer) -> Self {
        Request::piece_of_hash(hash, before, source).leaving()
    }

    /// Takes up a message at the mid-state `before`, or begins one, adds `source`, and ends it:
    /// [`Done::tag`](crate::queue::Done::tag).
    pub fn last_hash(hash: Hash, before: Option<&'a [u8]>, source: Buffer) -> Self {
        Request::piece_of_hash(hash, before, source).ending()
    }

    fn piece_of_hash(hash: Hash, before: Option<&'a [u8]>, source: Buffer) -> Self {
        let mut request = Request::digest(hash, source);
        request.word.opcode = Opcode::PartialHash as u8;
        request.after(before)
    }

    /// Takes up a message under an HMAC or CMAC at the mid-state `before`, or begins one, and adds `source`; the mid-state after it
    /// is [`Done::state`](crate::queue::Done::state). It is sealed: who keeps it can neither read nor change it, and it is of
    /// use with the same key only.
    ///
    /// ```
    /// use millstream::cwq::Algorithm;
    /// use millstream::queue::{Config, Queue, Request};
    ///
    /// let mut queue = Queue::inline(millstream::features()?, Config::default())?;
    /// let key = queue.import_key(Algorithm::Sha256, b"Jefe")?;
    /// let mut filled = |bytes: &[u8]| {
    ///     let mut buffer = queue.buffer(bytes.len())?;
    ///     buffer.copy_from_slice(bytes);
    ///     Ok::<_, millstream::queue::Refusal>(buffer)
    /// };
    /// let (first, last) = (filled(b"what do ya want ")?, filled(b"for nothing?")?);
    /// queue.submit(Request::partial_mac(key, None, first))?;
    /// let so_far = queue.wait().unwrap();
    /// queue.submit(Request::last_mac(key, Some(so_far.state()), last))?;
    /// // RFC 4231 §4.3.
    /// assert_eq!(queue.wait().unwrap().tag()[..4], [0x5b, 0xdc, 0xc1, 0x46]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn partial_mac(key: KeyHandle, before: Option<&'a [u8]>, source: Buffer) -> Self {
        Request::piece_of_mac(key, before, source).leaving()
    }

    /// The same, and ends the message: [`Done::tag`](crate::queue::Done::tag).
    pub fn last_mac(key: KeyHandle, before: Option<&'a [u8]>, source: Buffer) -> Self {
        Request::piece_of_mac(key, before, source).ending()
    }

    /// The same, and compares the MAC, or as much of it as is given. All pieces under a key that may only verify are
    /// [`Request::partial_verify`].
    pub fn last_verify(key: KeyHandle, before: Option<&'a [u8]>, source: Buffer, tag: &'a [u8]) -> Self {
        Request::last_mac(key, before, source).expecting(tag).reversed()
    }

    /// Does the same as [`Request::partial_mac`], under a key that need not be for signing.
    pub fn partial_verify(key: KeyHandle, before: Option<&'a [u8]>, source: Buffer) -> Self {
        Request::partial_mac(key, before, source).reversed()
    }

    fn piece_of_mac(key: KeyHandle, before: Option<&'a [u8]>, source: Buffer) -> Self {
        let mut request = Request::mac(key, source);
        request.word.opcode = Opcode::PartialMac as u8;
        request.after(before)
    }

    /// A piece of an object of an AEAD: adds `aad`, then encrypts `source` to `destination`. Associated data comes before data, in as
    /// many pieces as one likes. The mid-state after it is [`Done::state`](crate::queue::Done::state), sealed as that of
    /// [`Request::partial_mac`]. The key must be for given nonces.
    pub fn partial_seal(
        key: KeyHandle,
        piece: Piece<'a>,
        aad: &'a [u8],
        source: Buffer,
        destination: Buffer,
    ) -> Self {
        Request::piece_of_aead(key, piece, aad, source, destination).leaving()
    }

    /// The same, and ends the object: [`Done::tag`](crate::queue::Done::tag).
    pub fn last_seal(
        key: KeyHandle,
        piece: Piece<'a>,
        aad: &'a [u8],
        source: Buffer,
        destination: Buffer,
    ) -> Self {
        Request::piece_of_aead(key, piece, aad, source, destination).ending()
    }

    /// Does the same as [`Request::partial_seal`], but decrypts. The output is not verified: nothing may act on it
    /// before [`Request::last_open`] was right. The key must be for both, because what is decrypted so gives away what
    /// encrypts.
    pub fn partial_open(
        key: KeyHandle,
        piece: Piece<'a>,
        aad: &'a [u8],
        source: Buffer,
        destination: Buffer,
    ) -> Self {
        Request::partial_seal(key, piece, aad, source, destination).reversed()
    }

    /// The same, and compares the tag. The last piece, too, is decrypted whether it is right or not.
    pub fn last_open(
        key: KeyHandle,
        piece: Piece<'a>,
        aad: &'a [u8],
        source: Buffer,
        destination: Buffer,
        tag: &'a [u8],
    ) -> Self {
        Request::last_seal(key, piece, aad, source, destination).expecting(tag).reversed()
    }

    fn piece_of_aead(
        key: KeyHandle,
        piece: Piece<'a>,
        aad: &'a [u8],
        source: Buffer,
        destination: Buffer,
    ) -> Self {
        let (iv, first) = match piece {
            Piece::First(nonce) => (nonce, Flags::FIRST),
            Piece::Next(state) => (state, 0),
        };
        let mut request = Request::seal(key, iv, aad, source, destination);
        request.word.opcode = Opcode::PartialAead as u8;
        request.word.flags |= first;
        request
    }

    /// Takes up a message at a mid-state, or begins one.
    fn after(mut self, before: Option<&'a [u8]>) -> Self {
        match before {
            Some(state) => self.parameters.aad = state,
            None => self.word.flags |= Flags::FIRST,
        }
        self
    }

    /// Leaves the message off, so there is no tag.
    fn leaving(mut self) -> Self {
        self.word.mac_len = 0;
        self.parameters.leaves_state = true;
        self
    }

    /// Ends the message.
    fn ending(mut self) -> Self {
        self.word.flags |= Flags::LAST;
        self
    }
}
