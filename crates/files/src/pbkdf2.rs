//! PBKDF2 over HMAC, for the formats that use it.
//!
//! Ref. RFC 8018 §5.2.

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_engines::hmac::HmacKey;
use zeroize::Zeroize;

/// Fills `key` from a passphrase and a salt. The time grows with `iterations` and with the number of digests
/// that `key` takes.
pub fn pbkdf2(
    features: Features,
    hash: Hash,
    passphrase: &[u8],
    salt: &[u8],
    iterations: u32,
    key: &mut [u8],
) {
    let hmac = HmacKey::new(features, hash, passphrase);
    for (chunk, number) in key.chunks_mut(hash.output_len()).zip(1u32..) {
        let mut u = hmac.sign(&[salt, &number.to_be_bytes()].concat());
        chunk.copy_from_slice(&u[..chunk.len()]);
        for _ in 1..iterations {
            u = hmac.sign(&u);
            for (byte, more) in chunk.iter_mut().zip(u.iter()) {
                *byte ^= more;
            }
        }
        u.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_testkit::hex;

    #[test]
    fn answers_of_rfc_6070_and_rfc_7914() {
        type Case = (Hash, &'static [u8], &'static [u8], u32, &'static str);
        let cases: [Case; 5] = [
            (Hash::Sha1, b"password", b"salt", 1, "0c60c80f961f0e71f3a9b524af6012062fe037a6"),
            (Hash::Sha1, b"password", b"salt", 4096, "4b007901b765489abead49d926f721d065a429c1"),
            (
                Hash::Sha1,
                b"passwordPASSWORDpassword",
                b"saltSALTsaltSALTsaltSALTsaltSALTsalt",
                4096,
                "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038",
            ),
            (Hash::Sha1, b"pass\0word", b"sa\0lt", 4096, "56fa6aa75548099dcc37d7f03425e0c3"),
            (
                Hash::Sha256,
                b"passwd",
                b"salt",
                1,
                "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc\
                 49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783",
            ),
        ];
        for (hash, passphrase, salt, iterations, expected) in cases {
            let expected = hex(expected);
            let mut key = vec![0; expected.len()];
            pbkdf2(Features::hardware(), hash, passphrase, salt, iterations, &mut key);
            assert_eq!(key, expected);
        }
    }
}
