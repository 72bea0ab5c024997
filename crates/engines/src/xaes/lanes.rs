//! Messages of any keys, as they come from queues.

use super::{Xaes, XaesJob};
use crate::aead::lanes_by_key;

lanes_by_key! {
    /// Many XAES-256-GCM messages of any keys.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_engines::InOut;
    /// use millstream_engines::xaes::{KeyedXaesJob, Xaes, XaesJob, XaesLanes};
    ///
    /// let (features, mut value) = (Features::hardware(), *b"an object");
    /// let key = Xaes::new(features, &[7; 32])?;
    /// let mut keyed = KeyedXaesJob { key: &key, job: XaesJob::new(&[1; 24], b"", InOut::in_place(&mut value)) };
    /// XaesLanes::new(features).seal(&mut [&mut keyed]);
    /// assert_eq!(keyed.result, Ok(()));
    /// # Ok::<(), millstream_engines::Error>(())
    /// ```
    XaesLanes: Xaes,
    /// One message with its key, for [`XaesLanes`].
    KeyedXaesJob(XaesJob)
}
