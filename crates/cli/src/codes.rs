//! The numbers of algorithms in control words.

use millstream::cwq;
use millstream_engines::hash::Hash;

/// Returns a hash's number in control words, which is also that of its HMAC.
pub fn hash_code(hash: Hash) -> cwq::Algorithm {
    use cwq::Algorithm as Code;
    match hash {
        Hash::Md5 => Code::Md5,
        Hash::Sha1 => Code::Sha1,
        Hash::Sha224 => Code::Sha224,
        Hash::Sha256 => Code::Sha256,
        Hash::Sha384 => Code::Sha384,
        Hash::Sha512 => Code::Sha512,
        Hash::Sha512_256 => Code::Sha512_256,
        Hash::Sha3_224 => Code::Sha3_224,
        Hash::Sha3_256 => Code::Sha3_256,
        Hash::Sha3_384 => Code::Sha3_384,
        Hash::Sha3_512 => Code::Sha3_512,
    }
}
