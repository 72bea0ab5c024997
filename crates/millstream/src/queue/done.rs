//! The end of an operation.

use millstream_cwq::{ControlWord, Status};

use super::submit::is_long;
use super::{Buffers, Ticket};
use crate::Error;
use crate::heap::Buffer;

/// The end of an operation.
#[derive(Debug)]
pub struct Done {
    /// The operation that has ended.
    pub ticket: Ticket,
    /// The status that it ended with. [`Done::check`] has more to say where it is not good.
    pub result: Result<(), Status>,
    /// The checksum, if the operation was to take one; or the length of a result that tells one, as of a signature in a buffer or of a key that AES-KWP
    /// has unwrapped.
    pub value: u32,
    /// The buffers that went with the request.
    pub buffers: Buffers,
    pub(super) tag_len: u8,
    pub(super) made_nonce: bool,
}

impl Done {
    /// Returns the result as an error that says what was given and what the algorithm takes, as the direct call does:
    ///
    /// ```
    /// use millstream::cwq::{Algorithm, Status};
    /// use millstream::queue::{Config, Queue, Request};
    ///
    /// let mut queue = Queue::inline(millstream::features()?, Config::default())?;
    /// let key = queue.import_key(Algorithm::AesCbc, &[7; 16])?;
    /// let (source, destination) = (queue.buffer(30)?, queue.buffer(30)?);
    /// queue.submit(Request::encrypt(key, &[9; 16], source, destination))?;
    /// let done = queue.wait().unwrap();
    /// assert_eq!(done.result, Err(Status::DataLength));
    /// assert_eq!(done.check().unwrap_err().to_string(), "aes-cbc: data of length 30; it takes whole blocks");
    /// # Ok::<(), millstream::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Engine`] where the queue knows what the engine refused; [`Error::Operation`] with the status elsewhere.
    #[inline]
    pub fn check(&self) -> Result<(), Error> {
        match self.result {
            Ok(()) => Ok(()),
            Err(status) => Err(self.buffers.error(status)),
        }
    }

    /// Returns the digest, tag, signature, secret or public key, if the operation was to compute one. Up to 64 bytes lie beside the output, or beside the input
    /// where there is no output: once that buffer is taken out, they are not here any more.
    #[inline(always)]
    pub fn tag(&self) -> &[u8] {
        match self.buffers.at_home(Buffer::tag) {
            Some(line) if !is_long(self.tag_len) => &line[..usize::from(self.tag_len)],
            // A result that is long, or has no buffer, came where mid-states come.
            _ => self.buffers.state().get(..usize::from(self.tag_len)).unwrap_or_default(),
        }
    }

    /// Returns the nonce that the accelerator made, if it was asked to: 12 bytes. It lies beside the output, as the tag
    /// does.
    #[inline(always)]
    pub fn nonce(&self) -> &[u8] {
        match self.buffers.at_home(Buffer::iv) {
            Some(line) if self.made_nonce => &line[..ControlWord::MADE_NONCE_BYTES as usize],
            _ => &[],
        }
    }

    /// Returns the mid-state after a piece of a message.
    #[inline(always)]
    pub fn state(&self) -> &[u8] {
        if self.tag_len == 0 { self.buffers.state() } else { &[] }
    }
}
