//! What a worker answers its clients about keys.

use millstream_accelerator::GrantId;
use millstream_accelerator::{ExportError, Handle, InsertError, PreparedKey, SharedKeyMemory};
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, AlgorithmSet};
use millstream_protocol::{KeyRefusal, KeyReply, KeyRequest, Message, Secret};
use rustix::rand::{GetRandomFlags, getrandom};
use zeroize::Zeroizing;

use super::mailbox::Mailbox;

/// The longest key, so that messages that carry one are never too long.
const MOST_BYTES: usize = 4000;

/// What it takes to answer for one grant.
pub(super) struct Desk<'a> {
    pub(super) features: Features,
    pub(super) memory: &'a SharedKeyMemory,
    pub(super) mailbox: &'a Mailbox,
    pub(super) grant: GrantId,
    pub(super) algorithms: AlgorithmSet,
}

impl Desk<'_> {
    /// The answer to a message, whatever it is.
    pub(super) fn answer(&self, message: &[u8]) -> KeyReply {
        let answer = match KeyRequest::decode(message) {
            Ok(KeyRequest::Import { algorithm, exportable, bytes }) => {
                self.make(algorithm, exportable, bytes.expose())
            }
            Ok(KeyRequest::Generate { algorithm, exportable, len }) => {
                self.generate(algorithm, exportable, usize::from(len))
            }
            Ok(KeyRequest::Export { handle }) => self.export(handle),
            Ok(KeyRequest::Destroy { handle }) => self.destroy(handle),
            _ => Err(KeyRefusal::Message),
        };
        answer.unwrap_or_else(|why| KeyReply::Refused { why })
    }

    /// Expands a key here, so that the accelerator's thread need not.
    fn make(&self, algorithm: u8, exportable: bool, bytes: &[u8]) -> Result<KeyReply, KeyRefusal> {
        let algorithm = self.allowed(algorithm)?;
        if bytes.len() > MOST_BYTES {
            return Err(KeyRefusal::KeyLength);
        }
        let key = PreparedKey::new(self.features, algorithm, bytes, exportable, Some(self.memory));
        let (key, grant) = (key.map_err(refusal)?, self.grant);
        let inserted = self.mailbox.ask(move |serving| serving.accelerator.insert_prepared(grant, key));
        let handle = inserted.ok_or(KeyRefusal::Exhausted)?.map_err(refusal)?;
        Ok(KeyReply::Key { handle: handle.to_bits() })
    }

    fn generate(&self, algorithm: u8, exportable: bool, len: usize) -> Result<KeyReply, KeyRefusal> {
        self.allowed(algorithm)?;
        if len == 0 || len > MOST_BYTES {
            return Err(KeyRefusal::KeyLength);
        }
        let mut bytes = Zeroizing::new(vec![0; len]);
        let mut filled = 0;
        while filled < len {
            filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())
                .map_err(|_| KeyRefusal::Exhausted)?;
        }
        self.make(algorithm, exportable, &bytes)
    }

    fn export(&self, handle: u32) -> Result<KeyReply, KeyRefusal> {
        let (grant, handle) = (self.grant, Handle::from_bits(handle));
        let bytes = self.mailbox.ask(move |serving| serving.accelerator.export_key(grant, handle));
        match bytes.ok_or(KeyRefusal::Exhausted)? {
            Ok(bytes) => Ok(KeyReply::Exported { bytes: Secret::new(&bytes) }),
            Err(ExportError::NotExportable) => Err(KeyRefusal::NotExportable),
            Err(_) => Err(KeyRefusal::NoSuchKey),
        }
    }

    fn destroy(&self, handle: u32) -> Result<KeyReply, KeyRefusal> {
        let (grant, handle) = (self.grant, Handle::from_bits(handle));
        match self.mailbox.ask(move |serving| serving.accelerator.remove_key(grant, handle)) {
            Some(true) => Ok(KeyReply::Destroyed {}),
            _ => Err(KeyRefusal::NoSuchKey),
        }
    }

    /// The algorithm of that number, if it takes a key and the policy allows it.
    fn allowed(&self, code: u8) -> Result<Algorithm, KeyRefusal> {
        let algorithm = Algorithm::from_code(code).ok_or(KeyRefusal::Algorithm)?;
        match algorithm {
            Algorithm::None | Algorithm::Crc32 | Algorithm::Crc32c | Algorithm::IpChecksum => {
                Err(KeyRefusal::Algorithm)
            }
            _ if !self.algorithms.contains(algorithm) => Err(KeyRefusal::Policy),
            _ => Ok(algorithm),
        }
    }
}

fn refusal(error: InsertError) -> KeyRefusal {
    match error {
        InsertError::Engine(_) => KeyRefusal::KeyLength,
        InsertError::Policy(_) => KeyRefusal::Policy,
        InsertError::SlotsFull => KeyRefusal::SlotsFull,
        _ => KeyRefusal::Exhausted,
    }
}
