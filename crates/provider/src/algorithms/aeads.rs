//! The AEADs.

use crate::algorithms::offer_ciphers;

offer_ciphers! {}
