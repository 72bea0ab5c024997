//! Modes that work on whole blocks: ECB and CBC.

use std::sync::Arc;

use millstream::isolated::{Chaining, ServiceKey};
use millstream::modes::{BlockMode, Direction, MAX_BLOCK, unpad};
use millstream::tally::Place;
use millstream::{CipherKey, InOut};
use zeroize::Zeroize;

use super::common::{self, Common, made, random_des_key, set_all};
use super::key::BlockKey;
use super::records::Records;
use super::remote::Remote;
use super::together::{Blocks, together};
use super::{Context, LAST, Make, Registration, each_finish, each_update};
use crate::abi::OsslParam;
use crate::error::{Reason, Result};
use crate::exchange::{Exchange, Parts};
use crate::jobs::chains;
use crate::params::Params;
use crate::remote::fits;

/// A key in this process.
pub struct Local<M>(pub M, pub &'static str);

impl<M: BlockMode + Send + Sync> BlockKey for Local<M>
where
    for<'k> &'k M: Into<CipherKey<'k>>,
{
    fn blocks(&self, direction: Direction, chain: &mut [u8; MAX_BLOCK], data: InOut<'_>) -> Result<()> {
        self.0.pass(direction, &mut chain[..M::IV], data);
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
            Ok(std::sync::Arc::new($crate::cipher::block::Local(mode, kernel)))
        }
    };
}
pub(crate) use local;

/// The parameters of one block cipher in one mode.
pub struct Spec {
    /// The name under which the cipher is counted.
    pub name: &'static str,
    pub make: Make<dyn BlockKey>,
    /// The name of the cipher in the service.
    pub remote: Option<Remote>,
    /// True for keys with parity bits (DES).
    pub parity: bool,
}

/// The context behind an `EVP_CIPHER_CTX`.
#[derive(Clone)]
pub struct BlockContext {
    common: Common,
    spec: &'static Spec,
    key: Option<Arc<dyn BlockKey>>,
    /// Input not yet outcome: less than a block, or a whole one that may be the last and padded.
    held: [u8; MAX_BLOCK],
    filled: usize,
    /// The state of TLS, where updates are records.
    records: Option<Box<Records>>,
}

impl BlockContext {
    fn key(&self) -> Result<&dyn BlockKey> {
        self.key.as_deref().ok_or(Reason::NO_KEY_SET)
    }

    fn block(&self) -> usize {
        self.common.registration.info.block
    }

    /// Tells whether a whole block waits, because it may be the last one.
    fn holds_back(&self) -> bool {
        self.common.padding && self.common.direction == Direction::Decrypt
    }

    fn bind(&mut self, key: Arc<dyn BlockKey>) {
        self.common.bind(key.place(), self.spec.name, key.kernel());
        self.key = Some(key);
    }

    #[inline(always)]
    fn crypt(&mut self, data: InOut<'_>) -> Result<()> {
        let Some(key) = &self.key else { return Err(Reason::NO_KEY_SET) };
        let Common { registration, direction, chain, count, .. } = &mut self.common;
        count.add_bytes(data.len());
        // A single chain is what other jobs' chains can run beside.
        if *direction == Direction::Encrypt && registration.info.iv > 0 && data.len() >= chains::WORTH {
            return match chains::encrypt(registration.provider, key, registration.info.iv, chain, data) {
                Ok(outcome) => outcome,
                Err(data) => key.blocks(*direction, chain, data),
            };
        }
        key.blocks(*direction, chain, data)
    }

    /// Encrypts or decrypts the block that waits, to `out`.
    fn crypt_held(&mut self, out: &mut [u8]) -> Result<()> {
        let block = self.block();
        let mut held = self.held;
        let outcome = self.crypt(InOut::in_place(&mut held[..block]));
        if outcome.is_ok() {
            out[..block].copy_from_slice(&held[..block]);
        }
        held.zeroize();
        self.filled = 0;
        outcome
    }

    /// Ends the input with its padding: `last` begins with the last block, which is returned.
    #[inline]
    fn pad<'l>(&mut self, last: &'l mut [u8; LAST]) -> &'l mut [u8] {
        let block = self.block();
        *last = [(block - self.filled) as u8; LAST];
        // To copy no bytes would be a call.
        if self.filled > 0 {
            last[..self.filled].copy_from_slice(&self.held[..self.filled]);
            self.filled = 0;
        }
        &mut last[..block]
    }

    fn engine(&self) -> Option<CipherKey<'_>> {
        self.key.as_ref()?.engine()
    }

    /// Returns whole blocks as a chain to be computed beside others.
    #[inline(always)]
    fn whole<'a>(&'a mut self, data: InOut<'a>) -> Option<Blocks<'a>> {
        let Common { registration, direction, chain, .. } = &mut self.common;
        let chain = &mut chain[..registration.info.iv];
        let chaining = if chain.is_empty() { Chaining::None } else { Chaining::Ciphertext };
        let key = self.key.as_ref()?.engine()?;
        Some(Blocks { key, direction: *direction, chaining, chain, data: data.word_by_word() })
    }

    /// Completes the block that waits, if the input has enough for it, and holds back the rest of the input. Returns
    /// the bytes that will be written, and the whole blocks that are still to be computed after that.
    #[inline]
    fn stage<'d>(&mut self, data: &'d mut Exchange<'_>) -> Result<(usize, InOut<'d>)> {
        let written = self.update_len(data.input_len())?;
        if self.filled == 0 && data.is_in_place() {
            let (buffer, len) = data.in_place();
            let (whole, rest) = buffer.split_at_mut(written);
            self.hold(&rest[..len - written]);
            return Ok((written, InOut::in_place(whole)));
        }
        let (mut input, output) = data.apart();
        let mut output = &mut output[..written];
        if self.filled > 0 && written > 0 {
            let block = self.block();
            let more = block - self.filled;
            self.hold(&input[..more]);
            self.crypt_held(output)?;
            input = &input[more..];
            output = &mut output[block..];
        }
        let (whole, rest) = input.split_at(output.len());
        self.hold(rest);
        Ok((written, InOut::separate(whole, output)?))
    }

    /// Takes a record of TLS, in place, and returns how many bytes count.
    fn record(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        let block = self.block();
        let (record, len) = match data.parts() {
            Parts::InPlace(record, len) => (record, len),
            // An empty record, which TLS 1.0 sends before each with data.
            Parts::Apart([], record) => (record, 0),
            Parts::Apart(..) => return Err(Reason::CIPHER_OPERATION_FAILED),
        };
        if !self.common.padding {
            return Err(Reason::CIPHER_OPERATION_FAILED);
        }
        self.common.count.add(0);
        if self.common.direction == Direction::Encrypt {
            let padded = millstream::tls::pad(record, len, block)?;
            self.crypt(InOut::in_place(&mut record[..padded]))?;
            return Ok(padded);
        }
        if !len.is_multiple_of(block) {
            return Err(Reason::CIPHER_OPERATION_FAILED);
        }
        self.crypt(InOut::in_place(&mut record[..len]))?;
        self.records.as_mut().map_or(Ok(len), |records| records.open(&record[..len], block))
    }

    /// Returns the length that a record has afterwards.
    fn record_len(&self, input: usize) -> usize {
        match self.common.direction {
            Direction::Encrypt => millstream::tls::padded_len(input, self.block()),
            Direction::Decrypt => input,
        }
    }

    fn records(&self) -> bool {
        self.records.as_ref().is_some_and(|records| records.on())
    }

    fn hold(&mut self, rest: &[u8]) {
        if rest.is_empty() {
            return;
        }
        self.held[self.filled..self.filled + rest.len()].copy_from_slice(rest);
        self.filled += rest.len();
    }
}

impl Context for BlockContext {
    type Spec = Spec;
    const GETTABLE: &'static [OsslParam] = common::GETTABLE;
    const SETTABLE: &'static [OsslParam] = common::SETTABLE;

    fn has_random_key(spec: &Spec) -> bool {
        spec.parity
    }

    fn new(registration: Registration, spec: &'static Spec) -> Self {
        BlockContext {
            common: Common::new(registration),
            spec,
            key: None,
            held: [0; MAX_BLOCK],
            filled: 0,
            records: None,
        }
    }

    fn take(&mut self, _direction: Direction, key: &Arc<ServiceKey>) -> Result<()> {
        let Some(remote) = self.spec.remote else { return fits(key, None, None) };
        self.bind(Arc::new(remote.with(key, self.common.registration.info.key)?));
        Ok(())
    }

    fn start(&mut self, direction: Direction, iv: Option<&[u8]>) -> Result<()> {
        self.filled = 0;
        self.common.begin(direction, iv, true)
    }

    fn set_key(&mut self, key: &[u8]) -> Result<()> {
        self.common.check_key(key)?;
        let Common { registration: Registration { provider, isolated, .. }, direction, .. } = self.common;
        let key: Arc<dyn BlockKey> = if isolated {
            Arc::new(self.spec.remote.ok_or(Reason::NOT_SUPPORTED)?.import(provider, key, direction)?)
        } else {
            made(provider, self.spec.make, self.spec.parity, key)?
        };
        self.bind(key);
        Ok(())
    }

    #[inline]
    fn update_len(&self, input: usize) -> Result<usize> {
        self.key()?;
        if self.records() {
            return Ok(self.record_len(input));
        }
        let total = self.filled + input;
        let keep = usize::from(self.holds_back() && total > 0);
        // Blocks are 8 or 16 bytes.
        Ok((total - keep) & !(self.block() - 1))
    }

    #[inline(always)]
    fn quick(&mut self, data: InOut<'_>) -> Option<Result<()>> {
        let whole = data.len() & (self.block() - 1) == 0;
        if self.filled != 0 || !whole || self.holds_back() || self.records.is_some() {
            return None;
        }
        Some(self.crypt(data))
    }

    /// Takes a piece that may begin or end inside a block, or a record.
    fn update(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        if self.records() {
            return self.record(data);
        }
        let (written, whole) = self.stage(&mut data)?;
        if !whole.is_empty() {
            self.crypt(whole)?;
        }
        Ok(written)
    }

    const PIPELINED: bool = true;

    fn update_together(
        pipes: &mut [Self],
        mut pieces: Vec<Exchange<'_>>,
        written: &mut [usize],
    ) -> Result<()> {
        if pipes.iter().any(|pipe| pipe.records() || pipe.engine().is_none()) {
            return each_update(pipes, pieces, written);
        }
        let mut chains = Vec::with_capacity(pipes.len());
        for ((pipe, piece), written) in pipes.iter_mut().zip(&mut pieces).zip(written) {
            let (bytes, whole) = pipe.stage(piece)?;
            *written = bytes;
            pipe.common.count.add_bytes(whole.len());
            chains.extend(pipe.whole(whole));
        }
        together(&mut chains)
    }

    fn finish_together(pipes: &mut [Self], last: &mut [[u8; LAST]], written: &mut [usize]) -> Result<()> {
        let pads = |pipe: &Self| {
            let Common { direction, padding, .. } = pipe.common;
            direction == Direction::Encrypt && padding && !pipe.records() && pipe.engine().is_some()
        };
        if !pipes.iter().all(pads) {
            return each_finish(pipes, last, written);
        }
        let mut chains = Vec::with_capacity(pipes.len());
        for ((pipe, last), written) in pipes.iter_mut().zip(last).zip(written) {
            let last = pipe.pad(last);
            *written = last.len();
            pipe.common.count.add(last.len());
            chains.extend(pipe.whole(InOut::in_place(last)));
        }
        together(&mut chains)
    }

    fn finish(&mut self, out: &mut [u8; LAST]) -> Result<usize> {
        self.key()?;
        if self.records() {
            return Err(Reason::CIPHER_OPERATION_FAILED);
        }
        self.common.count.add(0);
        let block = self.block();
        match (self.common.direction, self.common.padding) {
            (Direction::Encrypt, true) => {
                let last = self.pad(out);
                let outcome = self.crypt(InOut::in_place(last));
                if outcome.is_err() {
                    last.zeroize();
                }
                outcome.map(|()| block)
            }
            (Direction::Decrypt, true) => {
                if self.filled != block {
                    return Err(Reason::WRONG_FINAL_BLOCK_LENGTH);
                }
                let mut last = [0; LAST];
                self.crypt_held(&mut last)?;
                let kept = unpad(&last[..block]).map_err(|_| Reason::BAD_DECRYPT);
                if let Ok(n) = kept {
                    out[..n].copy_from_slice(&last[..n]);
                }
                last.zeroize();
                kept
            }
            (_, false) if self.filled == 0 => Ok(0),
            // The block waited for its padding, and then padding was turned off.
            (_, false) if self.filled == block => self.crypt_held(out).map(|()| block),
            _ => Err(Reason::WRONG_FINAL_BLOCK_LENGTH),
        }
    }

    fn cipher(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        self.key()?;
        let len = data.input_len();
        if !len.is_multiple_of(self.block()) {
            return Err(Reason::CIPHER_OPERATION_FAILED);
        }
        match data.parts() {
            Parts::InPlace(buffer, len) => self.crypt(InOut::in_place(&mut buffer[..len]))?,
            Parts::Apart(input, output) => self.crypt(InOut::separate(input, output)?)?,
        }
        self.common.count.add(0);
        Ok(len)
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"tls-mac" => param.set_octets(self.records.as_ref().map_or(&[], |records| records.mac()))?,
                b"randkey" if self.spec.parity => random_des_key(&param, self.common.registration.info.key)?,
                _ => self.common.get(&param)?,
            }
        }
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        set_all(params, |param| match Records::set(&mut self.records, param)? {
            true => Ok(()),
            false => self.common.set(param),
        })
    }
}

impl Drop for BlockContext {
    fn drop(&mut self) {
        self.held.zeroize();
    }
}
