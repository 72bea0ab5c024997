//! Key pairs through control words and operations: published vectors and OpenSSL's answers, and what is refused.

use millstream_accelerator::{
    DecryptionScheme, FillRandom, Key, Operation, SignatureScheme, Unit, VerifyingKey, generate_key,
    status_of,
};
use millstream_cwq::{Algorithm, Opcode, Padding, Scheme, Status};
use millstream_engines::hash::Hash;
use millstream_publickey::{Error, Random};
use millstream_testkit::{hex, keys};

use crate::case::{Case, features};

/// The digest of the message that OpenSSL signed, by SHA-256.
const DIGEST: &str = "5c0400738a21f89f2d9838d2c055a0ff76d66895d4a8caafd301117cd0c44355";

/// The signature of the digest with PKCS#1 v1.5, by `openssl pkeyutl` under [`keys::RSA_1024`].
const PKCS1: &str = "5265ddb403dde3cdd15cbb161e5bebaf55568c61356a5f6f8550f92ba45ca286ae60c36c191012e693e28193\
     f501d292f9959b211680d9404a4169acd35cd5ff03cc9e0ff20433ee3f04473316840e25f70e7a1621ad748d\
     d1d5bdda478fc507fd3e102010570d3080d24d2ba6f0c3aea088bcde840e9cb8c2c0594a312e7ad4";

/// The same with PSS: 20 bytes of salt, and MGF1 with SHA-1.
const PSS: &str = "70e5a5da7982bcfac5cba272eb7b202e14af845245b554be0a4eae3d0f3b9d431a1529ada4b2f30e07dd070b\
     1bd26059992477d37290b7208be769819dccc0442add3ebd55a3c19971b957462dd7500fc234d57b55b4bbde\
     03d2ce994a8d00fdea9ff3c43b4ce37347b08e4aede3c0bb026e752e7b2dc3b3e3e937451cb18289";

/// `secret` with OAEP: SHA-256, MGF1 with SHA-1, and the label `label`.
const OAEP: &str = "5bd0b8fad74766dafd88300ecaefd36c7792802c0861bb9757e6762c9f738c476f70d3c47b12ad5713d608c9\
     06c890c83197c2145dda29d335c9f83d44353fb7215ae0ee5de4226846510ce0bb4f1e1456582733fd09239e\
     6ddc85ca7c3af2bc61f3837cd8abaa7c0019330da88127ca4c276b87e13d00f49d7fbd239d7ba402";

/// `secret` with the padding of PKCS#1 v1.5.
const ENCRYPTED: &str = "7f88d24742833964c0026f5de4118851550c50f505964d901767df12e389e85f5aa6e3d68f430ebce085121e\
     7843ecd570e9ac3473833435baaa0428fa0851798f664559c85254258687f0e8104192d2e75660f108aa0234\
     d36597a2bcecb4ac890b7a2bbdd74dc5e69b77465da448236cc42df801589ed273126c3b8521ef69";

/// The power of a number whose bytes are all 7 but the first, which is 0.
const POWER: &str = "2a5ae7fdfe218724c986dd6f9fff0719793346bc8887eddce77857871e0e0eeb8a5db58cd0f145cef05b36ff\
     a55824a5533ed78155f33d33c4ec0bd15e1ae1226946f2b40ab4edcb40ac13413852b7eb6b5857da182255dc\
     f872bff23df6712e9e6f8177afd5a5662c5974faa8dcb23b8b117387f7919569ebea1bbe976bea38";

/// The public key as DER of PKCS#1, by `openssl rsa`.
const PUBLIC: &str = "308189028181009d16b4aa53ce355134112562b4559d4f5bde86d6f49a3810fd22f58cf4b6f73c9c5beb6f3b\
     1c8ea5347d58db602a93f78bd3b8e669b558636663af6549bb7a3ce08c8fafd58201ef423dd048a0642eb299\
     c3d40056b5f7aca2170e43b707a81595ffeb823d164755ac2649b88f88c12a831663effd210d6b19719167bc\
     8ced070203010001";

/// Private keys, their points and the signatures of `sample` (RFC 6979 §A.2.5 to §A.2.7).
const ECDSA: [(Algorithm, Algorithm, [&str; 4]); 3] = [
    (
        Algorithm::P256,
        Algorithm::Sha256,
        [
            "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
            "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb67903fe1008b8bc99a41ae9\
         e95628bc64f2f1b20c2d7e9f5177a3c294d4462299",
            "af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf",
            "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716f7cb1c942d657c41d436c7a1\
         b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
        ],
    ),
    (
        Algorithm::P384,
        Algorithm::Sha384,
        [
            "6b9d3dad2e1b8c1c05b19875b6659f4de23c3b667bf297ba9aa47740787137d896d5724e4c70a825f872c9ea\
         60d2edf5",
            "04ec3a4e415b4e19a4568618029f427fa5da9a8bc4ae92e02e06aae5286b300c64def8f0ea9055866064a254\
         515480bc138015d9b72d7d57244ea8ef9ac0c621896708a59367f9dfb9f54ca84b3f1c9db1288b231c3ae0d4\
         fe7344fd2533264720",
            "9a9083505bc92276aec4be312696ef7bf3bf603f4bbd381196a029f340585312313bca4a9b5b890efee42c77\
         b1ee25fe",
            "94edbb92a5ecb8aad4736e56c691916b3f88140666ce9fa73d64c4ea95ad133c81a648152e44acf96e36dd1e\
         80fabe4699ef4aeb15f178cea1fe40db2603138f130e740a19624526203b6351d0a3a94fa329c145786e679e\
         7b82c71a38628ac8",
        ],
    ),
    (
        Algorithm::P521,
        Algorithm::Sha512,
        [
            "00fad06daa62ba3b25d2fb40133da757205de67f5bb0018fee8c86e1b68c7e75caa896eb32f1f47c70855836\
         a6d16fcc1466f6d8fbec67db89ec0c08b0e996b83538",
            "0401894550d0785932e00eaa23b694f213f8c3121f86dc97a04e5a7167db4e5bcd371123d46e45db6b5d5370\
         a7f20fb633155d38ffa16d2bd761dcac474b9a2f5023a400493101c962cd4d2fddf782285e64584139c2f91b\
         47f87ff82354d6630f746a28a0db25741b5b34a828008b22acc23f924faafbd4d33f81ea66956dfeaa2bfdfc\
         f5",
            "39a5e04aaff7455d9850c605364f514c11324ce64016960d23d5dc57d3ffd8f49a739468ab8049bf18eef820\
         cdb1ad6c9015f838556bc7fad4138b23fdf986c7",
            "00c328fafcbd79dd77850370c46325d987cb525569fb63c5d3bc53950e6d4c5f174e25a1ee9017b5d450606a\
         dd152b534931d7d4e8455cc91f9b15bf05ec36e377fa00617cce7cf5064806c467f678d3b4080d6f1cc50af2\
         6ca209417308281b68af282623eaa63e5b5c0723d8b8c37ff0777b1a20f8ccb1dccc43997f1ee0e44da4a67a",
        ],
    ),
];

/// A case of RSA.
fn rsa(opcode: Opcode, scheme: Scheme, hash: Algorithm) -> Case {
    let name = format!("RSA, {opcode:?}, {scheme:?}");
    let (algorithm, parameter) = (Algorithm::Rsa, scheme.to_bits());
    Case { algorithm, hash, parameter, key: keys::RSA_1024.to_vec(), ..Case::new(name, opcode) }
}

/// Signatures, verifications, agreements, decryptions and public keys, with their answers.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![];
    for (algorithm, hash, [private, public, digest, signature]) in ECDSA {
        let of = |opcode| Case {
            algorithm,
            key: hex(private),
            ..Case::new(format!("RFC 6979, {algorithm:?}, {opcode:?}"), opcode)
        };
        let parameter = Scheme::DETERMINISTIC;
        cases.push(Case { hash, parameter, source: hex(digest), mac: hex(signature), ..of(Opcode::Sign) });
        cases.push(Case { mac: hex(public), ..of(Opcode::PublicKey) });
        let verify =
            Case { hash, key: hex(public), aad: hex(signature), source: hex(digest), ..of(Opcode::Verify) };
        let mut wrong = Case { status: Status::Authentication, ..verify.clone() };
        wrong.aad[7] ^= 1;
        let short = Case { aad: vec![1; 10], ..wrong.clone() };
        cases.extend([verify, wrong, short]);
        // An agreement with oneself under the private key 1 gives the x coordinate, so the other way round it is the own one.
        let len = hex(private).len();
        let mut one = vec![0; len];
        one[len - 1] = 1;
        let agree = Case {
            key: one,
            mac: hex(public)[1..1 + len].to_vec(),
            source: hex(public),
            ..of(Opcode::Agree)
        };
        let mut off = Case { status: Status::Peer, ..agree.clone() };
        off.source[len] ^= 1;
        let infinity = Case { status: Status::Peer, source: vec![0], ..agree.clone() };
        cases.extend([agree, off, infinity]);
    }
    let (pkcs1, none) = (Scheme::of(Padding::Pkcs1), Scheme::of(Padding::None));
    let pss = Scheme { padding: Padding::Pss, mask: Algorithm::Sha1, salt: 20 };
    let oaep = Scheme { salt: 0, ..pss };
    let sha256 = Algorithm::Sha256;
    let sign = rsa(Opcode::Sign, pkcs1, sha256);
    cases.push(Case { source: hex(DIGEST), state: hex(PKCS1), ..sign.clone() });
    // The digest's encoding, made by the caller.
    let encoded = [hex("3031300d060960864801650304020105000420"), hex(DIGEST)].concat();
    cases.push(Case { hash: Algorithm::None, source: encoded, state: hex(PKCS1), ..sign.clone() });
    cases.push(Case { source: vec![1; 31], status: Status::DataLength, ..sign.clone() });
    let number = [&[0][..], &[7; 127]].concat();
    cases.push(Case {
        source: number.clone(),
        state: hex(POWER),
        ..rsa(Opcode::Sign, none, Algorithm::None)
    });
    cases.push(Case {
        source: number.clone(),
        state: hex(POWER),
        ..rsa(Opcode::Decrypt, none, Algorithm::None)
    });
    cases.push(Case {
        source: vec![0xff; 128],
        status: Status::DataLength,
        ..rsa(Opcode::Decrypt, none, Algorithm::None)
    });
    cases.push(Case { state: hex(PUBLIC), ..rsa(Opcode::PublicKey, none, Algorithm::None) });
    for (scheme, signature) in [(pkcs1, PKCS1), (pss, PSS)] {
        let verify = Case {
            key: hex(PUBLIC),
            source: hex(DIGEST),
            aad: hex(signature),
            ..rsa(Opcode::Verify, scheme, sha256)
        };
        let mut wrong = Case { status: Status::Authentication, ..verify.clone() };
        wrong.source[3] ^= 0x80;
        let short = Case { aad: vec![1; 127], ..wrong.clone() };
        cases.extend([verify, wrong, short]);
    }
    let secret = b"secret".to_vec();
    let decrypt = Case {
        source: hex(OAEP),
        aad: b"label".to_vec(),
        state: secret.clone(),
        ..rsa(Opcode::Decrypt, oaep, sha256)
    };
    let wrong = Case { aad: b"another".to_vec(), status: Status::Authentication, ..decrypt.clone() };
    cases.extend([decrypt, wrong]);
    cases.push(Case {
        source: hex(ENCRYPTED),
        state: secret,
        ..rsa(Opcode::Decrypt, pkcs1, Algorithm::None)
    });
    cases
}

#[test]
fn key_pairs_do_as_standards_and_openssl() {
    crate::vectors::run(&cases());
}

/// A source of bytes that all are the same, or that fails.
struct Same(Option<u8>);

impl Random for Same {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.fill(self.0.ok_or(Error::Random)?);
        Ok(())
    }
}

/// Random bytes hedge nonces and make salts; without a source ECDSA is deterministic, and PSS with a salt is refused.
#[test]
fn what_is_random_comes_from_the_source() {
    let (p256, rsa) = (key(Algorithm::P256, &[7; 32]), key(Algorithm::Rsa, keys::RSA_1024));
    let (Key::Curve(p256), Key::Rsa(rsa)) = (&p256, &rsa) else { panic!("key pairs") };
    let both = |source: Option<FillRandom>| {
        let mut unit = Unit::new(features());
        if let Some(source) = source {
            unit.set_random(source);
        }
        let mut signature = [0; 128];
        let digest = [5; 32];
        let mut operations = [
            Operation::sign_ecdsa(p256, Hash::Sha256, false, &digest),
            Operation::sign_rsa(rsa, SignatureScheme::pss(Hash::Sha256), &digest, &mut signature),
        ];
        unit.run(&mut operations);
        let [ecdsa, pss] = &operations;
        let (ecdsa, pss) = (ecdsa.result().map(|()| ecdsa.tag().to_vec()), pss.result());
        drop(operations);
        (ecdsa, pss.map(|()| signature))
    };
    let one: FillRandom = |bytes| Same(Some(1)).fill(bytes);
    let two: FillRandom = |bytes| Same(Some(2)).fill(bytes);
    let none: FillRandom = |bytes| Same(None).fill(bytes);
    let (plain, hedged) = (both(None), both(Some(one)));
    let (again, failed) = (both(Some(two)), both(Some(none)));
    let mut deterministic = [Operation::sign_ecdsa(p256, Hash::Sha256, true, &[5; 32])];
    Unit::new(features()).run(&mut deterministic);
    assert_eq!(plain.0.as_deref(), Ok(deterministic[0].tag()));
    let statuses = [plain.1, failed.1].map(|result| result.map_err(status_of).err());
    assert_eq!(statuses, [Some(Status::Parameter); 2], "a salt needs a source");
    assert!(failed.0.is_err() && hedged.0.is_ok() && hedged.0 != plain.0 && hedged.0 != again.0);
    assert_ne!(hedged.1, again.1);
    let public = VerifyingKey::new(features(), Algorithm::Rsa, &hex(PUBLIC)).expect("a good key");
    let (first, second) = (hedged.1.expect("a signature"), again.1.expect("a signature"));
    let mut verified = [&first, &second]
        .map(|s| Operation::verify_signature(&public, SignatureScheme::pss(Hash::Sha256), &[5; 32], s));
    Unit::new(features()).run(&mut verified);
    assert!(verified.iter().all(|operation| operation.result().is_ok()));
}

fn key(algorithm: Algorithm, bytes: &[u8]) -> Key {
    Key::new(features(), algorithm, bytes).expect("a good key")
}

/// An operation refuses a key of another kind, and a place that is too short.
#[test]
fn what_does_not_fit_the_key_is_refused() {
    let rsa = key(Algorithm::Rsa, keys::RSA_1024);
    let Key::Rsa(rsa) = &rsa else { panic!("a key of RSA") };
    let public = VerifyingKey::new(features(), Algorithm::Rsa, &hex(PUBLIC)).expect("a good key");
    let ecdsa = SignatureScheme::Ecdsa { hash: Hash::Sha256, deterministic: false };
    let (mut place, mut short, mut other) = ([0; 128], [0; 127], [0; 127]);
    let pkcs1 = SignatureScheme::RsaPkcs1 { hash: Some(Hash::Sha256) };
    let mut operations = [
        Operation::sign_rsa(rsa, ecdsa, &[1; 32], &mut place),
        Operation::sign_rsa(rsa, pkcs1, &[1; 32], &mut short),
        Operation::decrypt_rsa(rsa, DecryptionScheme::RsaRaw, &[1; 128], &mut other),
        Operation::verify_signature(&public, SignatureScheme::RsaRaw, &[1; 32], &[1; 128]),
        Operation::verify_signature(&public, ecdsa, &[1; 32], &[1; 128]),
        Operation::public_key(rsa),
    ];
    Unit::new(features()).run(&mut operations);
    let statuses = operations.iter().map(|operation| operation.result().map_err(status_of).err());
    assert_eq!(
        statuses.collect::<Vec<_>>(),
        [
            Some(Status::Parameter),
            Some(Status::DataLength),
            Some(Status::DataLength),
            Some(Status::Parameter),
            Some(Status::Parameter),
            Some(Status::DestinationRange),
        ]
    );
    let not_verifying = VerifyingKey::new(features(), Algorithm::X25519, &[9; 32]);
    assert_eq!(not_verifying.map_err(status_of).err(), Some(Status::KeyLength));
    let even = [&hex(PUBLIC)[..hex(PUBLIC).len() - 1], &[2]].concat();
    assert!(VerifyingKey::new(features(), Algorithm::Rsa, &even).is_err());
}

/// Keys that are made at random are keys, and each is another.
#[test]
fn every_key_pair_can_be_made() {
    for (algorithm, len) in [
        (Algorithm::Ed25519, 32),
        (Algorithm::X25519, 32),
        (Algorithm::P256, 32),
        (Algorithm::P384, 48),
        (Algorithm::P521, 66),
    ] {
        for seed in 1..5 {
            // All bytes the same and not small: a scalar of P-521 must lose the bits that it can't have.
            let made = generate_key(features(), algorithm, len, &mut Same(Some(seed * 50)));
            let made = made.unwrap_or_else(|error| panic!("{algorithm:?}: {error}"));
            assert_eq!((made.len(), key(algorithm, &made).algorithm()), (len, algorithm));
        }
        assert!(generate_key(features(), algorithm, len, &mut Same(None)).is_err());
        let wrong = generate_key(features(), algorithm, len + 1, &mut Same(Some(1)));
        assert_eq!(wrong.map_err(status_of).err(), Some(Status::KeyLength), "{algorithm:?}");
    }
    for len in [255, 256 + 8, 528] {
        let wrong = generate_key(features(), Algorithm::Rsa, len, &mut Same(Some(1)));
        assert_eq!(wrong.map_err(status_of).err(), Some(Status::KeyLength), "{len}");
    }
}
