//! Keys and random bytes for the tests of RSA.
#![allow(dead_code, reason = "each test uses a part")]

use millstream_cpu::Features;
use millstream_kernel::Bound;
use millstream_publickey::rsa::{Components, Ops, PrivateKey, RSA};
use millstream_publickey::{Error, Random};

/// Repeatable bytes.
pub struct Source(pub millstream_testkit::Random);

impl Source {
    pub fn new(seed: u64) -> Self {
        Source(millstream_testkit::Random::new(seed))
    }
}

impl Random for Source {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.0.fill(bytes);
        Ok(())
    }
}

/// A source that fails.
pub struct Broken;

impl Random for Broken {
    fn fill(&mut self, _: &mut [u8]) -> Result<(), Error> {
        Err(Error::Random)
    }
}

/// The numbers of a key, as byte strings that a test may change.
#[derive(Clone)]
pub struct Numbers(pub [Vec<u8>; 8]);

impl Numbers {
    pub fn components(&self) -> Components<'_> {
        let [modulus, public_exponent, private_exponent, p, q, dp, dq, inverse] = &self.0;
        Components { modulus, public_exponent, private_exponent, p, q, dp, dq, inverse }
    }

    pub fn key(&self, kernel: Bound<Ops>) -> Result<PrivateKey, Error> {
        PrivateKey::with_kernel(kernel, Features::hardware(), &self.components())
    }
}

#[cfg(target_arch = "x86_64")]
impl From<&openssl::rsa::Rsa<openssl::pkey::Private>> for Numbers {
    fn from(key: &openssl::rsa::Rsa<openssl::pkey::Private>) -> Self {
        let optional = [key.p(), key.q(), key.dmp1(), key.dmq1(), key.iqmp()].map(|n| n.unwrap().to_vec());
        let [p, q, dp, dq, inverse] = optional;
        Numbers([key.n().to_vec(), key.e().to_vec(), key.d().to_vec(), p, q, dp, dq, inverse])
    }
}

/// Every kernel that this processor has.
pub fn kernels() -> impl Iterator<Item = Bound<Ops>> {
    RSA.available(Features::hardware())
}

/// The kernels of the table, for the report of those that are missing.
pub fn all_kernels() -> impl Iterator<Item = (&'static str, millstream_cpu::FeatureSet)> {
    use millstream_kernel::Engine;
    (&RSA).kernels().into_iter().map(|kernel| (kernel.name, kernel.requires))
}
