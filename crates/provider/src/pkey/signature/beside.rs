//! The context of the other provider that stands beside a signature's, and keeps what was set.

use std::ffi::CStr;

use super::{NUMBERS, Scheme, Signature};
use crate::error::{Reason, Result};
use crate::libcrypto::pkey::{Context, Copied, Numbers};
use crate::params::Params;
use crate::pkey::held::Operation;
use crate::provider::Provider;

impl<S: Scheme> Operation for Signature<S> {
    type Family = S::Family;
    const ALGORITHM: &'static CStr = S::NAME;
    const NUMBERS: &'static Numbers = &NUMBERS;

    fn provider(&self) -> Provider {
        self.provider
    }

    fn duplicate(&self) -> Result<Self> {
        Ok(Signature {
            provider: self.provider,
            properties: self.properties.clone(),
            key: self.key.clone(),
            begun: self.begun,
            digest: self.digest.clone(),
            others: self.others.as_ref().map(Context::duplicate).transpose()?,
            said: self.said.iter().map(Copied::duplicate).collect::<Result<_>>()?,
            handed: self.handed,
            hasher: self.hasher.clone(),
            finished: self.finished,
            fed: self.fed,
            count: self.count.clone(),
        })
    }

    fn others(&mut self) -> Result<&mut Context> {
        if self.others.is_none() {
            self.others = Some(self.context(self.begun, Params::NONE)?);
        }
        self.others.as_mut().ok_or(Reason::INTERNAL)
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        if params.is_empty() {
            return Ok(());
        }
        self.others()?.set(params)?;
        self.note(params)?;
        // A message that was hashed here already is signed as a digest in the end.
        if self.handed && self.fed == 0 {
            self.hasher = None;
        }
        Ok(())
    }
}
