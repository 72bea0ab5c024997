//! The lanes of packets: the managers that put those of one kind side by side, whatever sessions they are of.

use std::sync::OnceLock;

use crate::aes::CtrLanes;
use crate::gcm::GcmLanes;
use crate::hash::Hash;
use crate::hmac::HmacLanes;

use super::Error;

/// The packets that go through lanes at a time. What is read of them in one pass is near for the next.
pub(super) const CHUNK: usize = 64;

/// The managers for packets of RTP.
pub(super) struct Lanes {
    pub(super) gcm: GcmLanes,
    pub(super) counter: CtrLanes,
    pub(super) sha1: HmacLanes,
}

impl Lanes {
    /// Returns those of this process.
    ///
    /// # Errors
    /// [`Error::Features`].
    pub(super) fn get() -> Result<&'static Self, Error> {
        static LANES: OnceLock<Lanes> = OnceLock::new();
        if let Some(lanes) = LANES.get() {
            return Ok(lanes);
        }
        let features = crate::features().map_err(|_| Error::Features)?;
        Ok(LANES.get_or_init(|| Lanes {
            gcm: GcmLanes::new(features),
            counter: CtrLanes::new(features),
            sha1: HmacLanes::new(features, Hash::Sha1),
        }))
    }
}
