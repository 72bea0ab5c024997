//! Keys that no seed gives: what separates the two equations.

use millstream_cpu::Features;
use millstream_engines::hash::{Hash, HashKernel};

use super::check::{Affine, multiply_base};
use super::scheme::{digest, reduce};
use super::{ED25519_LANES, KEY, Lanes, PrivateKey, PublicKey, Rules, VerifyJob};
use crate::curve25519::base;

/// A key with a part of order 8 makes the difference between the two equations: without the cofactor, the one holds for
/// a k that is a multiple of 8 alone.
#[test]
fn only_zip215_ignores_small_orders() {
    let features = Features::hardware();
    let order_8 = Affine::decode_vartime(
        b"\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0\
          \xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05",
    );
    let order_8 = order_8.expect("a point of order 8").extended();
    let key = PrivateKey::new(features, &[7; KEY]).expect("32 bytes");
    let public = base::multiply(&key.secrets.scalar).add(&order_8.cached()).encode();
    let mut strict = 0;
    for message in 0..64u8 {
        let hash = HashKernel::best(features, Hash::Sha512);
        let r = reduce(digest(hash, &[&[message], b"a nonce for this test"]));
        let point = multiply_base(&r);
        let k = reduce(digest(hash, &[&point, &public, &[message]]));
        let signature = key.finish(&point, &k, &r);
        let expected = k.to_bytes()[0] & 7 == 0;
        strict += u32::from(expected);
        let public = PublicKey::new(features, &public).expect("on the curve");
        assert_eq!(public.verify(&[message], &signature).is_ok(), expected);
        assert_eq!(public.verify_zip215(&[message], &signature), Ok(()));
        for kernel in ED25519_LANES.available(features) {
            let data = [message];
            let mut jobs = [Rules::Strict, Rules::Zip215]
                .map(|rules| VerifyJob { rules, ..VerifyJob::new(&public, &data, &signature) });
            Lanes::with_kernel(kernel, features).verify(&mut jobs);
            let verdicts = jobs.map(|job| job.verdict.is_some_and(|verdict| verdict.is_ok()));
            assert_eq!(verdicts, [expected, true]);
        }
    }
    assert!(strict > 0, "some k is a multiple of 8");
}
