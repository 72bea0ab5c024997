//! Pipelines: several messages under one key in one context, computed side by side. OpenSSL 3.5 and later have them.
//!
//! Ref. EVP_CipherPipelineEncryptInit(3).

use std::ops::{Deref, DerefMut};

use millstream::modes::Direction;

use super::{Context, LAST};
use crate::error::{Reason, Result};
use crate::exchange::Exchange;
use crate::params::{Param, Params};
use crate::provider::Provider;

/// A context, and one more for each message where there are several.
#[derive(Clone)]
pub struct Pipelined<C> {
    provider: Provider,
    one: C,
    pipes: Vec<C>,
}

impl<C: Context> Pipelined<C> {
    pub fn new(provider: Provider, one: C) -> Self {
        Pipelined { provider, one, pipes: Vec::new() }
    }

    /// Returns the provider that made the context.
    #[inline(always)]
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// Returns the context without pipes, to begin one message: it may bring another key, which is not that of the
    /// pipes.
    #[inline]
    pub fn alone(&mut self) -> &mut C {
        self.pipes.clear();
        &mut self.one
    }

    /// Begins as many messages as there are vectors.
    pub fn begin(
        &mut self,
        direction: Direction,
        key: Option<&[u8]>,
        ivs: &[Option<&[u8]>],
        params: Params<'_>,
    ) -> Result<()> {
        self.one.init(direction, key, None, params)?;
        // Pipes that exist already have the key, and begin anew as a single message does.
        if key.is_some() || self.pipes.len() != ivs.len() {
            self.pipes = vec![self.one.clone(); ivs.len()];
        }
        self.pipes.iter_mut().zip(ivs).try_for_each(|(pipe, iv)| pipe.init(direction, None, *iv, params))
    }

    /// Returns the context of each message, if there are so many.
    pub fn pipes(&mut self, number: usize) -> Result<&mut [C]> {
        if self.pipes.len() != number {
            return Err(Reason::CIPHER_OPERATION_FAILED.with("there are not so many pipes"));
        }
        Ok(&mut self.pipes)
    }

    /// Takes the next piece of each message, and tells in `written` how many bytes count.
    pub fn update_pipes(&mut self, pieces: Vec<Exchange<'_>>, written: &mut [usize]) -> Result<()> {
        C::update_together(self.pipes(pieces.len())?, pieces, written)
    }

    /// Ends each message with its last bytes, and tells in `written` how many these are.
    pub fn finish_pipes(&mut self, last: &mut [[u8; LAST]], written: &mut [usize]) -> Result<()> {
        C::finish_together(self.pipes(last.len())?, last, written)
    }

    /// Takes the associated data of each message.
    pub fn associate_pipes(&mut self, pieces: &[&[u8]]) -> Result<()> {
        let pipes = self.pipes(pieces.len())?;
        pipes.iter_mut().zip(pieces).try_for_each(|(pipe, piece)| pipe.associate(piece).map(drop))
    }

    /// Sets parameters of all messages, and the tag of each.
    pub fn set(&mut self, params: Params<'_>) -> Result<()> {
        self.pipes.iter_mut().try_for_each(|pipe| pipe.set(params))?;
        if let Some(param) = self.tags(params) {
            let tags = param.octets_of_each(self.pipes.len())?;
            self.pipes.iter_mut().zip(tags).try_for_each(|(pipe, tag)| pipe.expect(tag))?;
        }
        self.one.set(params)
    }

    /// Answers parameters, and writes the tag of each message.
    pub fn get(&self, params: Params<'_>) -> Result<()> {
        if let Some(param) = self.tags(params) {
            let tags = param.octets_of_each(self.pipes.len())?;
            self.pipes.iter().zip(tags).try_for_each(|(pipe, tag)| pipe.tag(tag))?;
        }
        self.one.get(params)
    }

    /// Finds the parameter with the tags of all pipes, where the caller has pipes.
    fn tags<'a>(&self, params: Params<'a>) -> Option<Param<'a>> {
        if self.pipes.is_empty() { None } else { params.find(c"pipeline-tag") }
    }
}

/// The context that has one message.
impl<C> Deref for Pipelined<C> {
    type Target = C;

    #[inline]
    fn deref(&self) -> &C {
        &self.one
    }
}

impl<C> DerefMut for Pipelined<C> {
    #[inline]
    fn deref_mut(&mut self) -> &mut C {
        &mut self.one
    }
}
