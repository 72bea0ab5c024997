//! Random bytes for keys, salts and nonces: the kernel's.

use millstream::publickey;

/// The kernel's generator.
pub struct Random;

impl publickey::Random for Random {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), publickey::Error> {
        millstream::random(bytes).map_err(|_| publickey::Error::Random)
    }
}
