//! One message's work for the lanes, and the functions of a lane kernel.
//!
//! Ref. NIST SP 800-38A §6.2 (CBC), §6.5 (CTR).

use super::{Block, Cbc, Cipher, Ctr};
use crate::{Crossover, InOut};

/// One message for [`CbcLanes`](super::CbcLanes).
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::InOut;
/// use millstream_engines::camellia::{Cbc, CbcJob, CbcLanes};
///
/// let features = Features::hardware();
/// let (lanes, key) = (CbcLanes::new(features), Cbc::new(features, &[7; 16])?);
/// let mut buffers = [[1; 32]; 5];
/// let mut jobs = buffers.each_mut().map(|b| CbcJob { key: &key, iv: [0; 16], data: InOut::in_place(b) });
/// lanes.encrypt(&mut jobs.each_mut());
/// assert_eq!(jobs[4].iv, jobs[4].data.load(16));
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Debug)]
pub struct CbcJob<'a, C: Cipher> {
    /// The key, of any length and on any kernel.
    pub key: &'a Cbc<C>,
    /// The initialisation vector; afterwards the last ciphertext block.
    pub iv: Block,
    /// The data to encrypt, in whole blocks.
    pub data: InOut<'a>,
}

/// One message for [`CtrLanes`](super::CtrLanes).
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::InOut;
/// use millstream_engines::camellia::{Ctr, CtrJob, CtrLanes};
///
/// let features = Features::hardware();
/// let (lanes, key) = (CtrLanes::new(features), Ctr::new(features, &[7; 16])?);
/// let mut buffers = [*b"of any length"; 5];
/// let mut jobs = buffers.each_mut().map(|b| CtrJob { key: &key, counter: [0; 16], data: InOut::in_place(b) });
/// lanes.apply(&mut jobs.each_mut());
/// lanes.apply(&mut [&mut CtrJob { key: &key, counter: [0; 16], data: InOut::in_place(&mut buffers[3]) }]);
/// assert_eq!(&buffers[3], b"of any length");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Debug)]
pub struct CtrJob<'a, C: Cipher> {
    /// The key, of any length and on any kernel.
    pub key: &'a Ctr<C>,
    /// The first counter block, which stays as it is.
    pub counter: Block,
    /// The data to encrypt or decrypt, any number of bytes.
    pub data: InOut<'a>,
}

/// The functions of one row of a table of CBC lanes.
#[derive(Clone, Copy, Debug)]
pub struct CbcLanesOps<C: Cipher> {
    /// The least number of messages for which lanes pay.
    pub(crate) crossover: Crossover,
    pub(crate) encrypt: unsafe fn(&mut [&mut CbcJob<'_, C>]),
}

/// The functions of one row of a table of CTR lanes.
#[derive(Clone, Copy, Debug)]
pub struct CtrLanesOps<C: Cipher> {
    /// The least number of messages for which lanes pay.
    pub(crate) crossover: Crossover,
    pub(crate) apply: unsafe fn(&mut [&mut CtrJob<'_, C>]),
}
