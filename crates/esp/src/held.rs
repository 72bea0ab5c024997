//! An association that packets of one batch hold together.

use std::sync::Arc;

use crate::fate::Fate;
use crate::keys::Keys;
use crate::sa::Sa;

/// An association and its keys, held for packets that go together.
///
/// Each packet under way holds its association. Threads that begin packets and threads that end them would contend for the association's own count
/// of holders with every packet, so the packets of a batch have a count to themselves.
pub struct Held {
    pub(crate) sa: Arc<Sa>,
    pub(crate) keys: Arc<Keys>,
}

impl Held {
    /// Holds an association, with the keys that it has now.
    ///
    /// # Errors
    /// [`Fate::NoKey`], which nothing has counted.
    pub fn new(sa: &Arc<Sa>) -> Result<Arc<Self>, Fate> {
        Ok(Arc::new(Held { sa: sa.clone(), keys: sa.keys()? }))
    }

    /// Returns the association.
    pub fn sa(&self) -> &Arc<Sa> {
        &self.sa
    }
}
