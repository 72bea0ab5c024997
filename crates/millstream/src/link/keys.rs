//! Keys, over the socket to the worker: one request at a time.

use std::io;
use std::sync::{MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use millstream_accelerator::{Handle, Key};
use millstream_protocol::{KeyRefusal, KeyReply, KeyRequest, MOST_KEY_BYTES, Message, Secret};
use zeroize::Zeroizing;

use super::Link;
use crate::Error;
use crate::cwq::Algorithm;
use crate::key::{Exportable, KeyHandle, KeyOptions};
use crate::refusal::Refusal;

/// Between two requests where others are in front.
const BUSY: Duration = Duration::from_millis(20);

/// Between two looks whether a full socket has room again.
const FULL: Duration = Duration::from_millis(1);

impl Link {
    pub(crate) fn import_key(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        options: KeyOptions,
    ) -> Result<KeyHandle, Error> {
        if key.len() > MOST_KEY_BYTES {
            return Err(Error::Key(KeyRefusal::KeyLength));
        }
        let request = KeyRequest::Import {
            algorithm: algorithm as u8,
            exportable: options.exportable == Exportable::Yes,
            purpose: options.message(),
            bytes: Secret::new(key),
        };
        self.new_key(algorithm, &request).map_err(|error| match error {
            // The engine's own words say more: they name the lengths that it takes.
            Error::Key(KeyRefusal::KeyLength | KeyRefusal::Algorithm) => {
                let here = crate::features().and_then(|features| Ok(Key::new(features, algorithm, key)?));
                here.err().unwrap_or(error)
            }
            error => error,
        })
    }

    pub(crate) fn generate_key(
        &self,
        algorithm: Algorithm,
        len: usize,
        options: KeyOptions,
    ) -> Result<KeyHandle, Error> {
        let len = u16::try_from(len).map_err(|_| Error::Key(KeyRefusal::KeyLength))?;
        let (exportable, purpose) = (options.exportable == Exportable::Yes, options.message());
        self.new_key(
            algorithm,
            &KeyRequest::Generate { algorithm: algorithm as u8, exportable, purpose, len },
        )
    }

    pub(crate) fn wrap_key(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        options: KeyOptions,
    ) -> Result<Vec<u8>, Error> {
        if key.len() > MOST_KEY_BYTES {
            return Err(Error::Key(KeyRefusal::KeyLength));
        }
        let usages = options.message().usages;
        let request = KeyRequest::Wrap { algorithm: algorithm as u8, usages, bytes: Secret::new(key) };
        match self.ask(&request)? {
            KeyReply::Wrapped { bytes } => Ok(bytes.expose().to_vec()),
            other => Err(self.unexpected(&other)),
        }
    }

    pub(crate) fn unwrap_key(
        &self,
        algorithm: Algorithm,
        wrapped: &[u8],
        options: KeyOptions,
    ) -> Result<KeyHandle, Error> {
        let (purpose, bytes) = (options.message(), Secret::new(wrapped));
        self.new_key(algorithm, &KeyRequest::Unwrap { algorithm: algorithm as u8, purpose, bytes })
    }

    fn new_key(&self, algorithm: Algorithm, request: &KeyRequest) -> Result<KeyHandle, Error> {
        match self.ask_patiently(request, self.limit)? {
            KeyReply::Key { handle } => Ok(KeyHandle { handle: Handle::from_bits(handle), algorithm }),
            other => Err(self.unexpected(&other)),
        }
    }

    pub(crate) fn export_key(&self, key: KeyHandle) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self.ask(&KeyRequest::Export { handle: key.handle.to_bits() })? {
            KeyReply::Exported { bytes } => Ok(Zeroizing::new(bytes.expose().to_vec())),
            other => Err(self.unexpected(&other)),
        }
    }

    pub(crate) fn destroy_key(&self, key: KeyHandle) -> Result<(), Error> {
        match self.ask(&KeyRequest::Destroy { handle: key.handle.to_bits() })? {
            KeyReply::Destroyed {} => Ok(()),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Has a key destroyed, and waits for nothing: the message has no answer, and goes beside those of whoever asks
    /// about keys meanwhile.
    pub(crate) fn discard_key(&self, key: KeyHandle) {
        // Before the lock: in a forked child it may be held for ever. A grant that has ended took its keys with it.
        if self.refusal().is_none() {
            self.discarded().push(key.handle);
            self.send_discarded();
        }
    }

    fn discarded(&self) -> MutexGuard<'_, Vec<Handle>> {
        self.discarded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the worker which keys were discarded. What it does not take now, because it has stopped and the socket is full,
    /// it is told before the next request, or has no need to be told when the grant ends.
    fn send_discarded(&self) {
        let mut discarded = self.discarded();
        while let Some(handle) = discarded.last() {
            let request = KeyRequest::Discard { handle: handle.to_bits() };
            if self.keys.try_send(&request.encode(), &[]).is_err() {
                return;
            }
            discarded.pop();
        }
    }

    /// Returns the meaning of an answer that is not the one that was asked for.
    pub(super) fn unexpected(&self, reply: &KeyReply) -> Error {
        match reply {
            KeyReply::Refused { why: KeyRefusal::SlotsFull } => Error::KeySlots,
            KeyReply::Refused { why } => Error::Key(*why),
            KeyReply::WrongPin { left } => Error::WrongPin { left: *left },
            _ => self.lost(),
        }
    }

    /// The worker is gone, or answers nonsense.
    fn lost(&self) -> Error {
        self.mark_gone();
        Error::Queue(self.refusal().unwrap_or(Refusal::Gone))
    }

    /// Asks, and asks again where others are in front, until the limit. Keys that take long are made and expanded at intervals.
    pub(super) fn ask_patiently(&self, request: &KeyRequest, limit: Duration) -> Result<KeyReply, Error> {
        let began = Instant::now();
        loop {
            match self.ask_within(request, limit)? {
                KeyReply::Refused { why: KeyRefusal::Busy | KeyRefusal::TokensBusy }
                    if began.elapsed() < limit =>
                {
                    thread::sleep(BUSY);
                }
                reply => return Ok(reply),
            }
        }
    }

    /// Asks, and waits for the answer up to the link's limit.
    pub(super) fn ask(&self, request: &KeyRequest) -> Result<KeyReply, Error> {
        self.ask_within(request, self.limit)
    }

    /// Asks, and waits for the answer so long at most.
    fn ask_within(&self, request: &KeyRequest, limit: Duration) -> Result<KeyReply, Error> {
        // Before the lock: in a forked child it may be held for ever.
        if let Some(why) = self.refusal() {
            return Err(why.into());
        }
        let mut owed = self.owed.lock().unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + limit;
        loop {
            // First: the places of those keys may be what is asked for.
            self.send_discarded();
            match self.keys.try_send(&request.encode(), &[]) {
                Ok(()) => break,
                // The worker has not read the messages before this one.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if Instant::now() >= until {
                        return Err(Error::NoAnswer(limit));
                    }
                    thread::sleep(FULL);
                }
                Err(_) => return Err(self.lost()),
            }
        }
        *owed += 1;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if !self.keys.wait(Some(left)).map_err(|_| self.lost())? {
                // The answer may still come: whoever asks next passes over it.
                return Err(Error::NoAnswer(limit));
            }
            let Ok(Some(message)) = self.keys.try_receive() else { return Err(self.lost()) };
            // There may be a key in it.
            let bytes = Zeroizing::new(message.bytes);
            *owed -= 1;
            if *owed == 0 {
                return KeyReply::decode(&bytes).map_err(|_| self.lost());
            }
        }
    }
}
