//! MACs with a key in the service: of a message at once or in pieces, made and compared.

use millstream_engines::Error as EngineError;

use super::{Result, ServiceKey, ServiceKeyError};
use crate::Error;
use crate::cwq::{Status, Usages};
use crate::queue::Request;

impl ServiceKey {
    /// Adds a piece to a message whose MAC is computed, and returns the mid-state after it: see [`Request::partial_mac`]. `before`
    /// is the mid-state after the last piece; the first piece has none.
    ///
    /// # Errors
    /// [`ServiceKeyError`].
    pub fn partial_mac(&self, before: Option<&[u8]>, piece: &[u8]) -> Result<Vec<u8>> {
        let source = self.to_sign(piece)?;
        Ok(self.run(Request::partial_mac(self.handle, before, source))?.state().to_vec())
    }

    /// Writes the MAC of a whole message, or of one that goes on with `message` from the mid-state `before`. `mac` is as long
    /// as the algorithm's MACs.
    ///
    /// # Errors
    /// [`ServiceKeyError`].
    pub fn mac(&self, before: Option<&[u8]>, message: &[u8], mac: &mut [u8]) -> Result<()> {
        let source = self.to_sign(message)?;
        let request = match before {
            None => Request::mac(self.handle, source),
            before => Request::last_mac(self.handle, before, source),
        };
        let done = self.run(request)?;
        let computed = done.tag();
        if computed.len() != mac.len() {
            let wrong = EngineError::OutputLength { given: mac.len(), needed: computed.len() };
            return Err(Error::from(wrong).into());
        }
        mac.copy_from_slice(computed);
        Ok(())
    }

    /// Does the same as [`ServiceKey::partial_mac`] for a MAC that is compared, with a key that need not be one to sign.
    ///
    /// # Errors
    /// [`ServiceKeyError`].
    pub fn partial_verify(&self, before: Option<&[u8]>, piece: &[u8]) -> Result<Vec<u8>> {
        let source = self.to_compare(piece)?;
        Ok(self.run(Request::partial_verify(self.handle, before, source))?.state().to_vec())
    }

    /// Compares the MAC of a whole message, or of one that goes on with `message` from the mid-state `before`, or as much of it as is given.
    ///
    /// # Errors
    /// [`ServiceKeyError::Authentication`] when it is another; [`ServiceKeyError`].
    pub fn verify(&self, before: Option<&[u8]>, message: &[u8], mac: &[u8]) -> Result<()> {
        let source = self.to_compare(message)?;
        let request = match before {
            None => Request::verify(self.handle, source, mac),
            before => Request::last_verify(self.handle, before, source, mac),
        };
        match self.run(request) {
            Err(ServiceKeyError::Failed(Error::Operation(Status::Authentication))) => {
                Err(ServiceKeyError::Authentication)
            }
            done => done.map(drop),
        }
    }

    fn to_compare(&self, piece: &[u8]) -> Result<crate::queue::Buffer> {
        self.check(Usages::VERIFY)?;
        self.filled(piece)
    }
}
