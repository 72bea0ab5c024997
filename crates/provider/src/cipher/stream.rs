//! Modes that take any number of bytes: CTR and CFB.

use std::sync::Arc;

use millstream::isolated::{Chaining, ServiceKey};
use millstream::modes::{Direction, MAX_BLOCK, StreamMode};
use millstream::tally::Place;
use millstream::{CipherKey, InOut};
use zeroize::Zeroize;

use super::common::{Common, made, random_des_key, set_all};
use super::key::StreamKey;
use super::remote::Remote;
use super::together::{Pass, together};
use super::{Context, LAST, Make, Offer};
use crate::abi::{OCTET_PTR, OCTET_STRING, OsslParam, UNSIGNED_INTEGER};
use crate::error::{Reason, Result};
use crate::exchange::Exchange;
use crate::params::Params;
use crate::provider::Provider;
use crate::remote::fits;

/// A key in this process.
pub struct Local<M>(pub M, pub &'static str);

impl<M: StreamMode + Send + Sync> StreamKey for Local<M>
where
    for<'k> &'k M: Into<CipherKey<'k>>,
{
    #[inline]
    fn blocks(&self, direction: Direction, chain: &mut [u8; MAX_BLOCK], data: InOut<'_>) -> Result<()> {
        self.0.blocks(direction, &mut chain[..M::BLOCK], data);
        Ok(())
    }

    fn pad(&self, chain: &mut [u8; MAX_BLOCK], pad: &mut [u8; MAX_BLOCK]) -> Result<()> {
        self.0.pad(&mut chain[..M::BLOCK], &mut pad[..M::BLOCK]);
        Ok(())
    }

    fn engine(&self) -> Option<CipherKey<'_>> {
        Some((&self.0).into())
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
            Ok(std::sync::Arc::new($crate::cipher::stream::Local(mode, kernel)))
        }
    };
}
pub(crate) use local;

/// What one cipher of the kind differs in from the next.
pub struct Spec {
    /// The name it is counted under.
    pub name: &'static str,
    pub make: Make<dyn StreamKey>,
    /// Whether ciphertext goes into the next block (CFB).
    pub feedback: bool,
    /// What the service calls it.
    pub remote: Option<Remote>,
    /// Whether its keys have parity bits (DES).
    pub parity: bool,
}

/// What stands behind an `EVP_CIPHER_CTX`.
#[derive(Clone)]
pub struct StreamContext {
    common: Common,
    spec: &'static Spec,
    key: Option<Arc<dyn StreamKey>>,
    /// What the rest of a counter's block is added to. With feedback that is in the chain, behind the ciphertext of the block.
    pad: [u8; MAX_BLOCK],
    /// Bytes of the block that are done; 0 between two.
    used: usize,
}

impl StreamContext {
    fn set_key(&mut self, key: &[u8]) -> Result<()> {
        self.common.check_key(key)?;
        let Common { offer: Offer { provider, isolated, .. }, direction, .. } = self.common;
        let key: Arc<dyn StreamKey> = if isolated {
            Arc::new(self.spec.remote.ok_or(Reason::NOT_SUPPORTED)?.import(provider, key, direction)?)
        } else {
            made(provider, self.spec.make, self.spec.parity, key)?
        };
        self.bind(key);
        Ok(())
    }

    fn bind(&mut self, key: Arc<dyn StreamKey>) {
        self.common.bind(key.place(), self.spec.name, key.kernel());
        self.key = Some(key);
    }

    /// Passes any number of bytes.
    #[inline]
    fn pass(&mut self, data: InOut<'_>) -> Result<()> {
        let bytes = data.len();
        let (blocks, tail) = self.begin(data);
        let key = self.key.as_deref().ok_or(Reason::NO_KEY_SET)?;
        if !blocks.is_empty() {
            let Common { direction, chain, .. } = &mut self.common;
            key.blocks(*direction, chain, blocks)?;
        }
        self.end(tail)?;
        self.common.count.add(bytes);
        Ok(())
    }

    /// Passes what ends the block that was begun. Leaves whole blocks, and what is to come after them.
    #[inline]
    fn begin<'d>(&mut self, mut data: InOut<'d>) -> (InOut<'d>, InOut<'d>) {
        let block = self.common.offer.traits.iv;
        if self.used > 0 {
            let n = data.len().min(block - self.used);
            self.through(data.take(n));
        }
        // Blocks are 8 or 16 bytes.
        let whole = data.len() & !(block - 1);
        data.split_at(whole)
    }

    /// Passes the beginning of a block.
    #[inline]
    fn end(&mut self, tail: InOut<'_>) -> Result<()> {
        if tail.is_empty() {
            return Ok(());
        }
        let key = self.key.as_deref().ok_or(Reason::NO_KEY_SET)?;
        key.pad(&mut self.common.chain, &mut self.pad)?;
        if self.spec.feedback {
            self.common.chain = self.pad;
        }
        self.through(tail);
        Ok(())
    }

    /// Passes bytes inside a block. With feedback the ciphertext replaces what was added to it, byte by byte.
    fn through(&mut self, mut data: InOut<'_>) {
        let Common { direction, chain, offer, .. } = &mut self.common;
        let feedback = self.spec.feedback;
        for i in 0..data.len() {
            let [byte] = data.load::<1>(i);
            let pad = if feedback { &mut chain[self.used] } else { &mut self.pad[self.used] };
            let passed = byte ^ *pad;
            data.store(i, [passed]);
            if feedback {
                *pad = if *direction == Direction::Encrypt { passed } else { byte };
            }
            self.used += 1;
        }
        self.used %= offer.traits.iv;
    }
}

impl Context for StreamContext {
    type Spec = Spec;
    const GETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"keylen", UNSIGNED_INTEGER),
        OsslParam::described(c"ivlen", UNSIGNED_INTEGER),
        OsslParam::described(c"padding", UNSIGNED_INTEGER),
        OsslParam::described(c"num", UNSIGNED_INTEGER),
        OsslParam::described(c"iv", OCTET_STRING),
        OsslParam::described(c"updated-iv", OCTET_STRING),
        OsslParam::described(c"tls-mac", OCTET_PTR),
        OsslParam::described(c"randkey", OCTET_STRING),
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

    fn has_random_key(spec: &Spec) -> bool {
        spec.parity
    }

    fn new(offer: Offer, spec: &'static Spec) -> Self {
        StreamContext { common: Common::new(offer), spec, key: None, pad: [0; MAX_BLOCK], used: 0 }
    }

    fn provider(&self) -> Provider {
        self.common.offer.provider
    }

    fn take(&mut self, _direction: Direction, key: &Arc<ServiceKey>) -> Result<()> {
        let Some(remote) = self.spec.remote else { return fits(key, None, None) };
        self.bind(Arc::new(remote.with(key, self.common.offer.traits.key)?));
        Ok(())
    }

    fn init(
        &mut self,
        direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
        params: Params<'_>,
    ) -> Result<()> {
        self.used = 0;
        // As the default provider does, a counter goes on where no vector is given, and feedback begins again.
        self.common.begin(direction, iv, self.spec.feedback)?;
        if let Some(key) = key {
            self.set_key(key)?;
        }
        self.set(params)
    }

    #[inline]
    fn update_len(&self, input: usize) -> Result<usize> {
        if self.key.is_none() {
            return Err(Reason::NO_KEY_SET);
        }
        Ok(input)
    }

    #[inline(always)]
    fn quick(&mut self, data: InOut<'_>) -> Option<Result<()>> {
        let len = data.len();
        // Blocks are 8 or 16 bytes.
        if self.used != 0 || len & (self.common.offer.traits.iv - 1) != 0 {
            return None;
        }
        let Common { direction, chain, count, .. } = &mut self.common;
        let passed = self.key.as_deref()?.blocks(*direction, chain, data);
        count.add(len);
        Some(passed)
    }

    fn update(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        let len = data.input_len();
        self.pass(data.pass()?)?;
        Ok(len)
    }

    const PIPELINED: bool = true;

    fn update_together(pipes: &mut [Self], mut pieces: Vec<Exchange<'_>>) -> Result<Vec<usize>> {
        if pipes.iter().any(|pipe| pipe.key.as_ref().is_none_or(|key| key.engine().is_none())) {
            return pipes.iter_mut().zip(pieces).map(|(pipe, piece)| pipe.update(piece)).collect();
        }
        let written = pieces.iter().map(Exchange::input_len).collect();
        let mut passes = Vec::with_capacity(pipes.len());
        let mut tails = Vec::with_capacity(pipes.len());
        for (pipe, piece) in pipes.iter_mut().zip(&mut pieces) {
            pipe.common.count.add(piece.input_len());
            let (blocks, tail) = pipe.begin(piece.pass()?);
            tails.push(tail);
            let Common { offer, direction, chain, .. } = &mut pipe.common;
            let chaining = if pipe.spec.feedback { Chaining::Ciphertext } else { Chaining::Counter };
            let Some(key) = pipe.key.as_ref().and_then(|key| key.engine()) else { continue };
            passes.push(Pass {
                key,
                direction: *direction,
                chaining,
                chain: &mut chain[..offer.traits.iv],
                data: blocks,
            });
        }
        together(&mut passes)?;
        drop(passes);
        pipes.iter_mut().zip(tails).try_for_each(|(pipe, tail)| pipe.end(tail))?;
        Ok(written)
    }

    fn finish(&mut self, _out: &mut [u8; LAST]) -> Result<usize> {
        self.update_len(0)
    }

    fn cipher(&mut self, data: Exchange<'_>) -> Result<usize> {
        self.update(data)
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"num" => param.set_size(self.used)?,
                b"randkey" if self.spec.parity => random_des_key(&param, self.common.offer.traits.key)?,
                _ => self.common.get(&param)?,
            }
        }
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        set_all(params, |param| match param.key().to_bytes() {
            b"num" => {
                let used = param.size()?;
                if used >= self.common.offer.traits.iv {
                    return Err(Reason::FAILED_TO_GET_PARAMETER);
                }
                self.used = used;
                Ok(())
            }
            _ => self.common.set(param),
        })
    }
}

impl Drop for StreamContext {
    fn drop(&mut self) {
        self.pad.zeroize();
    }
}
