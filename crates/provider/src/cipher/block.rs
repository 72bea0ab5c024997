//! Modes that work on whole blocks: ECB and CBC.

use std::sync::Arc;

use millstream::modes::{BlockMode, Direction, MAX_BLOCK, unpad};
use millstream::tally::Place;
use millstream::{EngineError, Features, InOut};
use zeroize::Zeroize;

use super::remote::Remote;
use super::{Context, LAST, Offer};
use crate::abi::{OCTET_PTR, OCTET_STRING, OsslParam, UNSIGNED_INTEGER};
use crate::count::Count;
use crate::error::{Reason, Result};
use crate::exchange::{Exchange, Parts};
use crate::params::Params;
use crate::provider::Provider;

/// A key of a mode that works on whole blocks, wherever it is.
pub trait BlockKey: Send + Sync {
    /// Passes whole blocks; `chain` holds the vector before and what the next pass needs after.
    fn pass(&self, direction: Direction, chain: &mut [u8; MAX_BLOCK], data: InOut<'_>) -> Result<()>;

    /// Where it is.
    fn place(&self) -> Place;

    /// What computes.
    fn kernel(&self) -> &'static str;
}

/// A key in this process.
pub struct Local<M>(pub M, pub &'static str);

impl<M: BlockMode + Send + Sync> BlockKey for Local<M> {
    fn pass(&self, direction: Direction, chain: &mut [u8; MAX_BLOCK], data: InOut<'_>) -> Result<()> {
        self.0.pass(direction, &mut chain[..M::IV], data);
        Ok(())
    }

    fn place(&self) -> Place {
        Place::InProcess
    }

    fn kernel(&self) -> &'static str {
        self.1
    }
}

/// Makes a key of an engine's mode.
macro_rules! local {
    ($mode:ty) => {
        |features, key| {
            let mode = <$mode>::new(features, key)?;
            let kernel = mode.kernel().name;
            Ok(std::sync::Arc::new($crate::cipher::block::Local(mode, kernel)))
        }
    };
}
pub(crate) use local;

/// What one cipher of the kind differs in from the next.
pub struct Spec {
    /// The name it is counted under.
    pub name: &'static str,
    pub make: fn(Features, &[u8]) -> std::result::Result<Arc<dyn BlockKey>, EngineError>,
    /// What the service calls it.
    pub remote: Option<Remote>,
}

/// What stands behind an `EVP_CIPHER_CTX`.
#[derive(Clone)]
pub struct BlockContext {
    offer: Offer,
    spec: &'static Spec,
    key: Option<Arc<dyn BlockKey>>,
    direction: Direction,
    padding: bool,
    /// The vector as it was given, for whoever asks and for the next message.
    iv: [u8; MAX_BLOCK],
    iv_set: bool,
    chain: [u8; MAX_BLOCK],
    /// Input not yet passed: less than a block, or a whole one that may be the last and padded.
    held: [u8; MAX_BLOCK],
    filled: usize,
    count: Count,
}

impl BlockContext {
    fn key(&self) -> Result<&dyn BlockKey> {
        self.key.as_deref().ok_or(Reason::NO_KEY_SET)
    }

    fn block(&self) -> usize {
        self.offer.traits.block
    }

    /// Whether a whole block stays behind, since it may be the last.
    fn holds_back(&self) -> bool {
        self.padding && self.direction == Direction::Decrypt
    }

    fn set_key(&mut self, key: &[u8]) -> Result<()> {
        if key.len() != self.offer.traits.key {
            return Err(Reason::INVALID_KEY_LENGTH);
        }
        let Offer { provider, rows, isolated, .. } = self.offer;
        let key: Arc<dyn BlockKey> = if isolated {
            Arc::new(self.spec.remote.ok_or(Reason::NOT_SUPPORTED)?.import(provider, key)?)
        } else {
            (self.spec.make)(millstream::features()?, key)?
        };
        self.count.bind(rows.row(provider, key.place(), self.spec.name, key.kernel()));
        self.key = Some(key);
        Ok(())
    }

    fn pass(&mut self, data: InOut<'_>) -> Result<()> {
        let Some(key) = &self.key else { return Err(Reason::NO_KEY_SET) };
        let bytes = data.len();
        key.pass(self.direction, &mut self.chain, data)?;
        self.count.add_bytes(bytes);
        Ok(())
    }

    /// Passes what is held, which is a whole block, to `out`.
    fn pass_held(&mut self, out: &mut [u8]) -> Result<()> {
        let block = self.block();
        let mut held = self.held;
        let passed = self.pass(InOut::in_place(&mut held[..block]));
        if passed.is_ok() {
            out[..block].copy_from_slice(&held[..block]);
        }
        held.zeroize();
        self.filled = 0;
        passed
    }

    fn hold(&mut self, rest: &[u8]) {
        self.held[self.filled..self.filled + rest.len()].copy_from_slice(rest);
        self.filled += rest.len();
    }
}

impl Context for BlockContext {
    type Spec = Spec;
    const GETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"keylen", UNSIGNED_INTEGER),
        OsslParam::described(c"ivlen", UNSIGNED_INTEGER),
        OsslParam::described(c"padding", UNSIGNED_INTEGER),
        OsslParam::described(c"num", UNSIGNED_INTEGER),
        OsslParam::described(c"iv", OCTET_STRING),
        OsslParam::described(c"updated-iv", OCTET_STRING),
        OsslParam::described(c"tls-mac", OCTET_PTR),
        OsslParam::END,
    ];
    const SETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"padding", UNSIGNED_INTEGER),
        OsslParam::described(c"num", UNSIGNED_INTEGER),
        OsslParam::described(c"use-bits", UNSIGNED_INTEGER),
        OsslParam::described(c"tls-version", UNSIGNED_INTEGER),
        OsslParam::described(c"tls-mac-size", UNSIGNED_INTEGER),
        OsslParam::END,
    ];

    fn new(offer: Offer, spec: &'static Spec) -> Self {
        BlockContext {
            offer,
            spec,
            key: None,
            direction: Direction::Encrypt,
            padding: true,
            iv: [0; MAX_BLOCK],
            iv_set: false,
            chain: [0; MAX_BLOCK],
            held: [0; MAX_BLOCK],
            filled: 0,
            count: Count::default(),
        }
    }

    fn provider(&self) -> Provider {
        self.offer.provider
    }

    fn init(
        &mut self,
        direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
        params: Params<'_>,
    ) -> Result<()> {
        self.direction = direction;
        self.filled = 0;
        let len = self.offer.traits.iv;
        match iv {
            Some(iv) if len > 0 => {
                if iv.len() != len {
                    return Err(Reason::INVALID_IV_LENGTH);
                }
                self.iv[..len].copy_from_slice(iv);
                self.iv_set = true;
                self.chain = self.iv;
            }
            // As OpenSSL 1.1.1 did: a message without a vector begins with the last that was given.
            None if self.iv_set => self.chain = self.iv,
            _ => {}
        }
        if let Some(key) = key {
            self.set_key(key)?;
        }
        self.set(params)
    }

    #[inline]
    fn update_len(&self, input: usize) -> Result<usize> {
        self.key()?;
        let total = self.filled + input;
        let keep = usize::from(self.holds_back() && total > 0);
        // Blocks are 8 or 16 bytes.
        Ok((total - keep) & !(self.block() - 1))
    }

    #[inline]
    fn update(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        let written = self.update_len(data.input_len())?;
        if self.filled == 0
            && let Parts::InPlace(buffer, len) = data.parts()
        {
            let (whole, rest) = buffer.split_at_mut(written);
            self.hold(&rest[..len - written]);
            self.pass(InOut::in_place(whole))?;
            return Ok(written);
        }
        let (mut input, mut output) = data.apart();
        if self.filled > 0 && written > 0 {
            let block = self.block();
            let more = block - self.filled;
            self.hold(&input[..more]);
            self.pass_held(output)?;
            input = &input[more..];
            output = &mut output[block..];
        }
        let (whole, rest) = input.split_at(if written > 0 { output.len() } else { 0 });
        if !whole.is_empty() {
            self.pass(InOut::separate(whole, output)?)?;
        }
        self.hold(rest);
        Ok(written)
    }

    fn finish(&mut self, out: &mut [u8; LAST]) -> Result<usize> {
        self.key()?;
        self.count.add(0);
        let block = self.block();
        match (self.direction, self.padding) {
            (Direction::Encrypt, true) => {
                let n = block - self.filled;
                self.held[self.filled..block].fill(n as u8);
                self.pass_held(out)?;
                Ok(block)
            }
            (Direction::Decrypt, true) => {
                if self.filled != block {
                    return Err(Reason::WRONG_FINAL_BLOCK_LENGTH);
                }
                let mut last = [0; LAST];
                self.pass_held(&mut last)?;
                let kept = unpad(&last[..block]).map_err(|_| Reason::BAD_DECRYPT);
                if let Ok(n) = kept {
                    out[..n].copy_from_slice(&last[..n]);
                }
                last.zeroize();
                kept
            }
            (_, false) if self.filled == 0 => Ok(0),
            _ => Err(Reason::WRONG_FINAL_BLOCK_LENGTH),
        }
    }

    fn cipher(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        self.key()?;
        let len = data.input_len();
        if len % self.block() != 0 {
            return Err(Reason::CIPHER_OPERATION_FAILED);
        }
        match data.parts() {
            Parts::InPlace(buffer, len) => self.pass(InOut::in_place(&mut buffer[..len]))?,
            Parts::Apart(input, output) => self.pass(InOut::separate(input, output)?)?,
        }
        self.count.add(0);
        Ok(len)
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        let traits = self.offer.traits;
        for param in params {
            match param.key().to_bytes() {
                b"keylen" => param.set_size(traits.key)?,
                b"ivlen" => param.set_size(traits.iv)?,
                b"padding" => param.set_bool(self.padding)?,
                b"num" => param.set_size(0)?,
                b"iv" => param.set_octets(&self.iv[..traits.iv])?,
                b"updated-iv" => param.set_octets(&self.chain[..traits.iv])?,
                _ => {}
            }
        }
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"padding" => self.padding = param.uint()? != 0,
                b"keylen" if param.size()? != self.offer.traits.key => {
                    return Err(Reason::INVALID_KEY_LENGTH);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for BlockContext {
    fn drop(&mut self) {
        self.held.zeroize();
        self.chain.zeroize();
    }
}
