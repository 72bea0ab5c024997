//! Modes that take any number of bytes: CTR and CFB.

use std::sync::Arc;

use millstream::isolated::{Chaining, ServiceKey};
use millstream::modes::{Direction, MAX_BLOCK, StreamMode};
use millstream::tally::Place;
use millstream::{CipherKey, InOut};
use zeroize::Zeroize;

use super::common::{self, Common, made, random_des_key, set_all};
use super::key::StreamKey;
use super::remote::Remote;
use super::together::{Blocks, together};
use super::{Context, LAST, Make, Registration, each_update};
use crate::abi::OsslParam;
use crate::error::{Reason, Result};
use crate::exchange::Exchange;
use crate::params::Params;
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

/// The parameters of one cipher in such a mode.
pub struct Spec {
    /// The name under which the cipher is counted.
    pub name: &'static str,
    pub make: Make<dyn StreamKey>,
    /// True if ciphertext goes into the next block (CFB).
    pub feedback: bool,
    /// The name of the cipher in the service.
    pub remote: Option<Remote>,
    /// True for keys with parity bits (DES).
    pub parity: bool,
}

/// The context behind an `EVP_CIPHER_CTX`.
#[derive(Clone)]
pub struct StreamContext {
    common: Common,
    spec: &'static Spec,
    key: Option<Arc<dyn StreamKey>>,
    /// The keystream of a counter's block that is begun. With feedback it is in the chain, behind the ciphertext of the
    /// block.
    pad: [u8; MAX_BLOCK],
    /// The bytes of the block that are done; 0 between two blocks.
    used: usize,
}

impl StreamContext {
    fn bind(&mut self, key: Arc<dyn StreamKey>) {
        self.common.bind(key.place(), self.spec.name, key.kernel());
        self.key = Some(key);
    }

    /// Encrypts or decrypts any number of bytes.
    #[inline]
    fn crypt(&mut self, data: InOut<'_>) -> Result<()> {
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

    /// Completes the block that was begun. Returns the whole blocks that follow, and the bytes after them.
    #[inline]
    fn begin<'d>(&mut self, mut data: InOut<'d>) -> (InOut<'d>, InOut<'d>) {
        let block = self.common.registration.info.iv;
        if self.used > 0 {
            let n = data.len().min(block - self.used);
            self.through(data.take(n));
        }
        // Blocks are 8 or 16 bytes.
        let whole = data.len() & !(block - 1);
        data.split_at(whole)
    }

    /// Encrypts or decrypts the beginning of a block.
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

    /// Encrypts or decrypts bytes inside a block. With feedback the ciphertext replaces the keystream, byte by byte.
    fn through(&mut self, mut data: InOut<'_>) {
        let Common { direction, chain, registration, .. } = &mut self.common;
        let feedback = self.spec.feedback;
        for i in 0..data.len() {
            let [byte] = data.load::<1>(i);
            let pad = if feedback { &mut chain[self.used] } else { &mut self.pad[self.used] };
            let output = byte ^ *pad;
            data.store(i, [output]);
            if feedback {
                *pad = if *direction == Direction::Encrypt { output } else { byte };
            }
            self.used += 1;
        }
        self.used %= registration.info.iv;
    }
}

impl Context for StreamContext {
    type Spec = Spec;
    const GETTABLE: &'static [OsslParam] = common::GETTABLE;
    const SETTABLE: &'static [OsslParam] = common::SETTABLE;

    fn has_random_key(spec: &Spec) -> bool {
        spec.parity
    }

    fn new(registration: Registration, spec: &'static Spec) -> Self {
        StreamContext { common: Common::new(registration), spec, key: None, pad: [0; MAX_BLOCK], used: 0 }
    }

    fn take(&mut self, _direction: Direction, key: &Arc<ServiceKey>) -> Result<()> {
        let Some(remote) = self.spec.remote else { return fits(key, None, None) };
        self.bind(Arc::new(remote.with(key, self.common.registration.info.key)?));
        Ok(())
    }

    fn start(&mut self, direction: Direction, iv: Option<&[u8]>) -> Result<()> {
        self.used = 0;
        // Without a vector a counter goes on, and feedback begins again, as in the default provider.
        self.common.begin(direction, iv, self.spec.feedback)
    }

    fn set_key(&mut self, key: &[u8]) -> Result<()> {
        self.common.check_key(key)?;
        let Common { registration: Registration { provider, isolated, .. }, direction, .. } = self.common;
        let key: Arc<dyn StreamKey> = if isolated {
            Arc::new(self.spec.remote.ok_or(Reason::NOT_SUPPORTED)?.import(provider, key, direction)?)
        } else {
            made(provider, self.spec.make, self.spec.parity, key)?
        };
        self.bind(key);
        Ok(())
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
        if self.used != 0 || len & (self.common.registration.info.iv - 1) != 0 {
            return None;
        }
        let Common { direction, chain, count, .. } = &mut self.common;
        let outcome = self.key.as_deref()?.blocks(*direction, chain, data);
        count.add(len);
        Some(outcome)
    }

    fn update(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        let len = data.input_len();
        self.crypt(data.in_out()?)?;
        Ok(len)
    }

    const PIPELINED: bool = true;

    fn update_together(
        pipes: &mut [Self],
        mut pieces: Vec<Exchange<'_>>,
        written: &mut [usize],
    ) -> Result<()> {
        if pipes.iter().any(|pipe| pipe.key.as_ref().is_none_or(|key| key.engine().is_none())) {
            return each_update(pipes, pieces, written);
        }
        let mut chains = Vec::with_capacity(pipes.len());
        let mut tails = Vec::with_capacity(pipes.len());
        for ((pipe, piece), written) in pipes.iter_mut().zip(&mut pieces).zip(written) {
            *written = piece.input_len();
            pipe.common.count.add(piece.input_len());
            let (blocks, tail) = pipe.begin(piece.in_out()?);
            tails.push(tail);
            let Common { registration, direction, chain, .. } = &mut pipe.common;
            let chaining = if pipe.spec.feedback { Chaining::Ciphertext } else { Chaining::Counter };
            let Some(key) = pipe.key.as_ref().and_then(|key| key.engine()) else { continue };
            chains.push(Blocks {
                key,
                direction: *direction,
                chaining,
                chain: &mut chain[..registration.info.iv],
                data: blocks,
            });
        }
        together(&mut chains)?;
        drop(chains);
        pipes.iter_mut().zip(tails).try_for_each(|(pipe, tail)| pipe.end(tail))
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
                b"randkey" if self.spec.parity => random_des_key(&param, self.common.registration.info.key)?,
                _ => self.common.get(&param)?,
            }
        }
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        set_all(params, |param| match param.key().to_bytes() {
            b"num" => {
                let used = param.size()?;
                if used >= self.common.registration.info.iv {
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
