//! A worker's answers to its clients about keys.

use millstream_accelerator::{
    ExportError, GrantId, Handle, InsertError, Key, NonceCounter, Nonces, PreparedKey, PublicKeyError,
    Purpose, Random, SharedKeyMemory, generate_key,
};
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, AlgorithmSet, UsageError, Usages};
use millstream_engines::Error;
use millstream_protocol::{
    KEY_PIECE_BYTES, KeyPurpose, KeyRefusal, KeyReply, KeyRequest, KeyRules, MOST_KEY_BYTES, Secret,
};
use rustix::rand::{GetRandomFlags, getrandom};

use super::pace::{Origin, Paces, Turn};
use super::serving::{Mailbox, Serving};
use super::wrapping::{self, Wrapping};
use crate::progress::Counter;

/// Bytes of the largest key that has all of them in its place: of DES and 3DES.
const LARGE: usize = KEY_PIECE_BYTES as usize;

/// The means to answer for one grant.
pub(super) struct Desk<'a> {
    pub(super) features: Features,
    pub(super) memory: &'a SharedKeyMemory,
    pub(super) mailbox: &'a Mailbox,
    /// The page in which the broker sees whose request is in hand: nobody's, while the thread waits for the
    /// accelerator.
    pub(super) steps: &'a Counter,
    pub(super) grant: GrantId,
    pub(super) algorithms: AlgorithmSet,
    /// The number of keys that were granted.
    pub(super) slots: usize,
    /// The policy's rules for keys.
    pub(super) rules: &'a KeyRules,
    pub(super) wrapping: Option<&'a Wrapping>,
    /// The pace of keys that take long.
    pub(super) paces: &'a Paces,
}

/// The least that is charged for what the accelerator's thread is asked about a key, in nanoseconds: being asked takes time,
/// too. It is charged to the grant like the time of its words, so that a flood of keys takes nobody else's share.
const KEY_TIME: u64 = 5_000;

impl Desk<'_> {
    /// Has something done on the accelerator's thread, at the grant's expense.
    fn ask<T: Send + 'static>(&self, what: impl FnOnce(&mut Serving) -> T + Send + 'static) -> Option<T> {
        let grant = self.grant;
        self.steps.empty_handed(|| self.mailbox.ask(move |serving| serving.at_expense(grant, KEY_TIME, what)))
    }

    /// The answer to a request; none to what is not answered.
    pub(super) fn answer(&self, request: Option<KeyRequest>) -> Option<KeyReply> {
        let answer = match request {
            Some(KeyRequest::Import { algorithm, exportable, purpose, bytes }) => {
                self.make(algorithm, exportable, &purpose, bytes.expose(), Origin::Imported)
            }
            Some(KeyRequest::Generate { algorithm, exportable, purpose, len }) => {
                self.generate(algorithm, exportable, &purpose, usize::from(len))
            }
            Some(KeyRequest::Export { handle }) => self.export(handle),
            Some(KeyRequest::Destroy { handle }) => self.destroy(handle),
            Some(KeyRequest::Discard { handle }) => {
                // Nobody wants to know whether there was such a key.
                let _ = self.destroy(handle);
                return None;
            }
            Some(KeyRequest::Wrap { algorithm, usages, bytes }) => {
                self.wrap(algorithm, usages, bytes.expose())
            }
            Some(KeyRequest::Unwrap { algorithm, purpose, bytes }) => {
                self.unwrap(algorithm, &purpose, bytes.expose())
            }
            Some(KeyRequest::CloseToken { .. }) => return None,
            Some(request) if request.is_about_tokens() => Err(KeyRefusal::NoTokens),
            _ => Err(KeyRefusal::Message),
        };
        Some(answer.unwrap_or_else(|why| KeyReply::Refused { why }))
    }

    /// Makes a key of the grant from one of a token, which may be in other grants too.
    pub(super) fn load(&self, algorithm: u8, purpose: &KeyPurpose, key: &[u8]) -> KeyReply {
        let made = self.make(algorithm, false, purpose, key, Origin::Imported);
        made.unwrap_or_else(|why| KeyReply::Refused { why })
    }

    /// Makes a key of the grant from its bytes.
    fn make(
        &self,
        code: u8,
        exportable: bool,
        purpose: &KeyPurpose,
        bytes: &[u8],
        origin: Origin,
    ) -> Result<KeyReply, KeyRefusal> {
        let algorithm = self.allowed(code)?;
        let purpose = self.purpose(algorithm, exportable, purpose, origin)?;
        self.expand(self.turn(algorithm, bytes.len(), origin)?, algorithm, exportable, purpose, bytes)
    }

    /// Returns the grant's turn to make or to expand a key of so many bytes. One that takes long has its turn at intervals.
    fn turn(&self, algorithm: Algorithm, len: usize, origin: Origin) -> Result<Option<Turn<'_>>, KeyRefusal> {
        if len > MOST_KEY_BYTES {
            return Err(KeyRefusal::KeyLength);
        }
        self.paces.turn(self.grant, algorithm, origin).map_err(|_| KeyRefusal::Busy)
    }

    /// Expands a key here, so that the accelerator's thread need not, and gives it to that.
    fn expand(
        &self,
        turn: Option<Turn<'_>>,
        algorithm: Algorithm,
        exportable: bool,
        purpose: Purpose,
        bytes: &[u8],
    ) -> Result<KeyReply, KeyRefusal> {
        let key = PreparedKey::new(self.features, algorithm, bytes, exportable, Some(self.memory));
        // The time of the accelerator's thread is no part of the turn.
        drop(turn);
        let key = key.and_then(|key| key.with_purpose(purpose));
        let (key, grant) = (key.map_err(|why| self.why_not(algorithm, why))?, self.grant);
        let inserted = self.ask(move |serving| serving.accelerator.insert_prepared(grant, key));
        let handle = inserted.ok_or(KeyRefusal::Exhausted)?.map_err(refusal)?;
        Ok(KeyReply::Key { handle: handle.to_bits() })
    }

    /// Why a key was not made. As many as there are slots fit, so where there is no memory the slots are mostly full. A key on lattices takes
    /// the room of many slots.
    fn why_not(&self, algorithm: Algorithm, why: InsertError) -> KeyRefusal {
        let grant = self.grant;
        let takes = Key::place_bytes(algorithm, 0).unwrap_or(0);
        let held = || self.ask(move |serving| serving.accelerator.keys(grant));
        match why {
            InsertError::Memory if takes > LARGE || held().is_some_and(|held| held >= self.slots) => {
                KeyRefusal::SlotsFull
            }
            why => refusal(why),
        }
    }

    fn generate(
        &self,
        algorithm: u8,
        exportable: bool,
        purpose: &KeyPurpose,
        len: usize,
    ) -> Result<KeyReply, KeyRefusal> {
        let algorithm = self.allowed(algorithm)?;
        // A key that the policy forbids is not made first.
        let purpose = self.purpose(algorithm, exportable, purpose, Origin::Generated)?;
        let turn = self.turn(algorithm, len, Origin::Generated)?;
        let key = generate_key(self.features, algorithm, len, &mut System(self.steps));
        let key = key.map_err(|error| match error {
            Error::Parameter { .. } => KeyRefusal::Exhausted,
            _ => KeyRefusal::KeyLength,
        })?;
        self.expand(turn, algorithm, exportable, purpose, &key)
    }

    /// Encrypts a private key, which the client keeps until a process asks for it.
    fn wrap(&self, algorithm: u8, usages: u8, bytes: &[u8]) -> Result<KeyReply, KeyRefusal> {
        let algorithm = self.allowed(algorithm)?;
        // Keys for data are made again by whoever set them, and may have nonces that must not begin anew.
        if !AlgorithmSet::private_keys().contains(algorithm) {
            return Err(KeyRefusal::Algorithm);
        }
        if bytes.len() > MOST_KEY_BYTES {
            return Err(KeyRefusal::KeyLength);
        }
        let usages = asked_usages(algorithm, usages)?;
        let mut salt = [0; wrapping::SALT];
        fill_with_random(&mut salt)?;
        let wrapping = self.wrapping.ok_or(KeyRefusal::Exhausted)?;
        let wrapped = wrapping.wrap(&salt, algorithm, usages, bytes).ok_or(KeyRefusal::Exhausted)?;
        Ok(KeyReply::Wrapped { bytes: Secret::new(&wrapped) })
    }

    fn unwrap(&self, algorithm: u8, purpose: &KeyPurpose, wrapped: &[u8]) -> Result<KeyReply, KeyRefusal> {
        let code = algorithm;
        let algorithm = self.allowed(code)?;
        let usages = asked_usages(algorithm, purpose.usages)?;
        let bytes = self.wrapping.and_then(|wrapping| wrapping.unwrap(algorithm, usages, wrapped));
        self.make(code, false, purpose, &bytes.ok_or(KeyRefusal::Wrapped)?, Origin::Imported)
    }

    /// Returns the purpose that a key is to have, if the policy and the algorithm allow it.
    fn purpose(
        &self,
        algorithm: Algorithm,
        exportable: bool,
        asked: &KeyPurpose,
        origin: Origin,
    ) -> Result<Purpose, KeyRefusal> {
        let usages = asked_usages(algorithm, asked.usages)?;
        usages.check(algorithm, asked.makes_nonces).map_err(misuse)?;
        if usages.to_bits() & self.rules.forbidden != 0 {
            return Err(KeyRefusal::PolicyUsages);
        }
        // A key that only opens is always given its nonces.
        let seals = Usages::depends_on_nonces(algorithm) && usages.contains(Usages::ENCRYPT);
        if self.rules.makes_nonces && seals && !asked.makes_nonces {
            return Err(KeyRefusal::PolicyNonces);
        }
        if self.rules.keeps_keys && exportable {
            return Err(KeyRefusal::PolicyExportable);
        }
        let nonces = match (asked.makes_nonces, origin) {
            (false, _) => Nonces::Given,
            (true, Origin::Generated) if !exportable => {
                let mut fixed = [0; 4];
                fill_with_random(&mut fixed)?;
                Nonces::Made(NonceCounter::counting(fixed))
            }
            (true, _) => {
                let mut start = [0; 12];
                fill_with_random(&mut start)?;
                Nonces::Made(NonceCounter::random(start))
            }
        };
        Ok(Purpose { usages, nonces })
    }

    fn export(&self, handle: u32) -> Result<KeyReply, KeyRefusal> {
        // A policy that was changed holds for the keys that are there too.
        if self.rules.keeps_keys {
            return Err(KeyRefusal::PolicyExportable);
        }
        let (grant, handle) = (self.grant, Handle::from_bits(handle));
        let bytes = self.ask(move |serving| serving.accelerator.export_key(grant, handle));
        match bytes.ok_or(KeyRefusal::Exhausted)? {
            Ok(bytes) => Ok(KeyReply::Exported { bytes: Secret::new(&bytes) }),
            Err(ExportError::NotExportable) => Err(KeyRefusal::NotExportable),
            Err(_) => Err(KeyRefusal::NoSuchKey),
        }
    }

    fn destroy(&self, handle: u32) -> Result<KeyReply, KeyRefusal> {
        let (grant, handle) = (self.grant, Handle::from_bits(handle));
        match self.ask(move |serving| serving.accelerator.remove_key(grant, handle)) {
            Some(true) => Ok(KeyReply::Destroyed {}),
            _ => Err(KeyRefusal::NoSuchKey),
        }
    }

    /// The algorithm of that number, if it takes a key and the policy allows it.
    fn allowed(&self, code: u8) -> Result<Algorithm, KeyRefusal> {
        let algorithm = Algorithm::from_code(code).ok_or(KeyRefusal::Algorithm)?;
        match algorithm {
            Algorithm::None
            | Algorithm::Crc32
            | Algorithm::Crc32c
            | Algorithm::IpChecksum
            | Algorithm::Random => Err(KeyRefusal::Algorithm),
            _ if !self.algorithms.contains(algorithm) => Err(KeyRefusal::Policy),
            _ => Ok(algorithm),
        }
    }
}

/// Returns the usages that a request asks for.
fn asked_usages(algorithm: Algorithm, bits: u8) -> Result<Usages, KeyRefusal> {
    match bits {
        0 => Ok(Usages::of(algorithm)),
        bits => Usages::from_bits(bits).ok_or(KeyRefusal::Message),
    }
}

/// Random bytes of the kernel. Each draw shows the broker that the thread gets on.
struct System<'a>(&'a Counter);

impl Random for System<'_> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), PublicKeyError> {
        self.0.step();
        fill_with_random(bytes).map_err(|_| PublicKeyError::Random)
    }
}

fn fill_with_random(bytes: &mut [u8]) -> Result<(), KeyRefusal> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled +=
            getrandom(&mut bytes[filled..], GetRandomFlags::empty()).map_err(|_| KeyRefusal::Exhausted)?;
    }
    Ok(())
}

fn misuse(error: UsageError) -> KeyRefusal {
    match error {
        UsageError::TwoWay(_) | UsageError::ChosenNonces => KeyRefusal::TwoWay,
        UsageError::Nonces => KeyRefusal::Nonces,
        _ => KeyRefusal::Usage,
    }
}

fn refusal(error: InsertError) -> KeyRefusal {
    match error {
        InsertError::Usage(error) => misuse(error),
        InsertError::Engine(_) => KeyRefusal::KeyLength,
        InsertError::Policy(_) => KeyRefusal::Policy,
        InsertError::SlotsFull => KeyRefusal::SlotsFull,
        _ => KeyRefusal::Exhausted,
    }
}
