//! Messages of any keys, as they come from queues.

use super::{GcmSiv, GcmSivJob};
use crate::aead::lanes_by_key;

lanes_by_key! {
    /// Many AES-GCM-SIV messages of any keys.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_engines::InOut;
    /// use millstream_engines::gcm_siv::{GcmSiv, GcmSivJob, GcmSivLanes, KeyedGcmSivJob};
    ///
    /// let features = Features::hardware();
    /// let keys = [GcmSiv::new(features, &[7; 32])?, GcmSiv::new(features, &[8; 16])?];
    /// let mut values = [*b"first value", *b"other value"];
    /// let mut keys = keys.iter();
    /// let mut jobs = values.each_mut().map(|value| KeyedGcmSivJob {
    ///     key: keys.next().unwrap(),
    ///     job: GcmSivJob::new(&[1; 12], b"row", InOut::in_place(value)),
    /// });
    /// GcmSivLanes::new(features).seal(&mut jobs.each_mut());
    /// assert!(jobs.iter().all(|job| job.result.is_ok()));
    /// # Ok::<(), millstream_engines::Error>(())
    /// ```
    GcmSivLanes: GcmSiv,
    /// One message with its key, for [`GcmSivLanes`].
    KeyedGcmSivJob(GcmSivJob)
}
