//! SLH-DSA against NIST's ACVP vectors: keys, signatures and verdicts.

use millstream_cpu::{FeatureSet, Features};
use millstream_engines::hash::{Hash, HashKernel};
use millstream_publickey::slhdsa::{
    KeyJob, Lanes, Ops, Prehash, PrivateKey, PublicKey, SLH_DSA, Scheme, Set, SignJob, VerifyJob,
};
use millstream_publickey::{Bound, Engine};
use millstream_testkit::cavp::{self, Case};
use millstream_testkit::{Ran, hex};

/// Returns true for a set of fast signatures.
fn is_fast(set: Set) -> bool {
    set.name().ends_with('f')
}

/// The set of a case.
fn set_of(case: &Case) -> Set {
    let name = case["parameterSet"].to_lowercase();
    Set::ALL.into_iter().find(|set| set.name() == name).unwrap_or_else(|| panic!("no set {name}"))
}

fn prehash(name: &str) -> Prehash {
    match name {
        "SHA2-224" => Prehash::Sha224,
        "SHA2-256" => Prehash::Sha256,
        "SHA2-384" => Prehash::Sha384,
        "SHA2-512" => Prehash::Sha512,
        "SHA2-512/224" => Prehash::Sha512_224,
        "SHA2-512/256" => Prehash::Sha512_256,
        "SHA3-224" => Prehash::Sha3_224,
        "SHA3-256" => Prehash::Sha3_256,
        "SHA3-384" => Prehash::Sha3_384,
        "SHA3-512" => Prehash::Sha3_512,
        "SHAKE-128" => Prehash::Shake128,
        "SHAKE-256" => Prehash::Shake256,
        _ => panic!("no function {name}"),
    }
}

/// What is signed: the message, or its digest by a function that the engines do not have, with the scheme for it.
struct Signed {
    message: Vec<u8>,
    context: Vec<u8>,
    function: Option<Prehash>,
    internal: bool,
}

impl Signed {
    fn new(case: &Case) -> Self {
        let context = case.get("context").map_or(Vec::new(), |context| hex(context));
        let function = case.get("hashAlg").map(|name| prehash(name));
        let mut message = hex(&case["message"]);
        if function == Some(Prehash::Sha512_224) {
            message = sha512_224(&message);
        }
        Signed { message, context, function, internal: case["signatureInterface"] == "internal" }
    }

    fn scheme(&self) -> Scheme<'_> {
        match self.function {
            _ if self.internal => Scheme::Internal,
            None => Scheme::Pure(&self.context),
            Some(Prehash::Sha512_224) => Scheme::Digest(Prehash::Sha512_224, &self.context),
            Some(function) => Scheme::Prehash(function, &self.context),
        }
    }
}

/// SHA-512/224: FIPS 180-4 §6.7, with the initial value of §5.3.6.1.
fn sha512_224(message: &[u8]) -> Vec<u8> {
    use millstream_engines::sha512::SHA512;
    let mut state: [u64; 8] = [
        0x8c3d_37c8_1954_4da2,
        0x73e1_9966_89dc_d4d6,
        0x1dfa_b7ae_32ff_9c82,
        0x679d_d514_582f_9fcf,
        0x0f6d_2b69_7bd4_4da8,
        0x77e3_6f73_04c4_8942,
        0x3f9d_85a8_6a1d_36c8,
        0x1112_e6ad_91d6_92a1,
    ];
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((message.len() + 17).next_multiple_of(128) - 8, 0);
    padded.extend((8 * message.len() as u64).to_be_bytes());
    millstream_engines::hash::fold(
        SHA512.best(Features::hardware()),
        &mut state,
        padded.as_chunks::<128>().0,
    );
    state.iter().flat_map(|word| word.to_be_bytes()).take(28).collect()
}

/// Says which rows ran, all that this processor has, and which it does not have.
fn all_ran(ran: &Ran) {
    ran.missing((&&SLH_DSA as &dyn Engine).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(SLH_DSA.available(Features::hardware()).count());
}

/// Returns the features for a row: all for the best one. The others have neither the instructions of better rows nor SHA-NI, so that their
/// hashes have kernels of the same kind.
fn features_of(row: &Bound<Ops>) -> Features {
    let better = SLH_DSA.available(Features::hardware()).map(|better| better.kernel());
    let better = better.take_while(|better| better.name != row.kernel().name);
    let better = better.fold(FeatureSet::EMPTY, |all, better| all.union(better.requires));
    if better.is_empty() {
        return Features::hardware();
    }
    let off = better.union(FeatureSet::parse("sha")).difference(row.kernel().requires);
    Features::hardware().without(off)
}

/// The number of rows on which a set runs in the ordinary tests: the short signatures take too long on the slow ones.
fn rows(set: Set) -> usize {
    if is_fast(set) { usize::MAX } else { 1 }
}

/// Keys of their seeds, on the rows and several at once.
#[test]
fn acvp_keys() {
    let features = Features::hardware();
    let mut ran = Ran::new("slh-dsa, NIST's keys");
    let cases = cavp::acvp("slhdsa", "keyGen");
    for set in Set::ALL {
        let cases: Vec<_> = cases.iter().filter(|case| set_of(case) == set).collect();
        assert_eq!(cases.len(), 10, "{set}");
        let parts =
            |case: &Case| [&case["skSeed"], &case["skPrf"], &case["pkSeed"]].map(|part| hex(part)).concat();
        let seeds: Vec<Vec<u8>> = cases.iter().map(|case| parts(case)).collect();
        let expected = |i: usize| (hex(&cases[i]["pk"]), hex(&cases[i]["sk"]));
        for kernel in SLH_DSA.available(features).take(rows(set)) {
            let count = if is_fast(set) { 10 } else { 2 };
            for (i, seeds) in seeds.iter().take(count).enumerate() {
                let features = features_of(&kernel);
                let key = PrivateKey::from_seeds_with_kernel(kernel, features, set, seeds).expect("a key");
                assert_eq!((key.public_key().as_bytes().to_vec(), key.to_bytes().to_vec()), expected(i));
            }
            ran.kernel(kernel.kernel().name);
        }
        let mut jobs: Vec<_> = seeds.iter().map(|seeds| KeyJob::new(set, seeds)).collect();
        Lanes::new(features).keys(&mut jobs);
        for (i, job) in jobs.into_iter().enumerate() {
            let key = job.key.expect("the job has run").expect("a key");
            assert_eq!((key.public_key().as_bytes().to_vec(), key.to_bytes().to_vec()), expected(i));
        }
    }
    all_ran(&ran);
}

/// Signs the cases of a set that `chosen` takes, all at once on each row, and verifies what was signed. Returns their number.
fn sign(
    cases: &[Case],
    set: Set,
    most_rows: usize,
    chosen: impl Fn(usize) -> bool,
    ran: &mut Ran,
) -> (usize, usize) {
    let features = Features::hardware();
    let cases: Vec<_> = cases.iter().filter(|case| set_of(case) == set).collect();
    let taken: Vec<_> = cases.iter().enumerate().filter(|(i, _)| chosen(*i)).map(|(_, case)| case).collect();
    let digest = HashKernel::best(features, Hash::Sha256);
    let keys: Vec<_> =
        taken.iter().map(|case| PrivateKey::new(features, set, &hex(&case["sk"])).expect("a key")).collect();
    let signed: Vec<_> = taken.iter().map(|case| Signed::new(case)).collect();
    let randomness: Vec<_> =
        taken.iter().map(|case| case.get("additionalRandomness").map(|random| hex(random))).collect();
    for kernel in SLH_DSA.available(features).take(most_rows) {
        let lanes = Lanes::with_kernel(kernel, features_of(&kernel));
        let mut jobs: Vec<_> = (0..taken.len())
            .map(|i| SignJob::new(&keys[i], signed[i].scheme(), &signed[i].message, randomness[i].as_deref()))
            .collect();
        lanes.sign(&mut jobs);
        let signatures: Vec<_> = jobs
            .into_iter()
            .map(|job| job.signature.expect("the job has run").expect("a signature"))
            .collect();
        let mut jobs = Vec::new();
        for (i, signature) in signatures.iter().enumerate() {
            let about = format!("{set}, case {} in {lanes:?}", taken[i]["tcId"]);
            assert_eq!(digest.digest(signature)[..], hex(&taken[i]["signatureDigest"]), "{about}");
            let key = keys[i].public_key();
            jobs.push(VerifyJob::new(key, signed[i].scheme(), &signed[i].message, signature));
        }
        lanes.verify(&mut jobs);
        assert!(jobs.iter().all(|job| job.verdict == Some(Ok(()))), "{set} in {lanes:?}");
        ran.kernel(kernel.kernel().name);
    }
    (cases.len(), taken.len())
}

/// Signatures of each kind: pure, of each function that hashes before, internal; deterministic and with random bytes.
#[test]
fn acvp_signatures() {
    let cases = cavp::acvp("slhdsa", "sigGen");
    let mut ran = Ran::new("slh-dsa, NIST's signatures");
    for set in Set::ALL {
        // The best row signs each fast case, and each row one of them. Of the slow sets two are signed here.
        let expected = if is_fast(set) { 52 } else { 2 };
        let every = 52 / expected;
        assert_eq!(sign(&cases, set, 1, |i| i % every == 5 % every, &mut ran), (52, expected), "{set}");
        if is_fast(set) {
            assert_eq!(sign(&cases, set, usize::MAX, |i| i == 9, &mut ran), (52, 1), "{set}");
        }
    }
    all_ran(&ran);
}

/// All signatures of the slow sets.
#[test]
#[ignore = "takes minutes, and runs with `cargo xtask ci --deep`"]
fn long_acvp_signatures() {
    let cases = cavp::acvp("slhdsa", "sigGen");
    let mut ran = Ran::new("slh-dsa, NIST's slow signatures");
    for set in Set::ALL.into_iter().filter(|set| !is_fast(*set)) {
        assert_eq!(sign(&cases, set, 1, |_| true, &mut ran), (52, 52), "{set}");
        assert_eq!(sign(&cases, set, usize::MAX, |i| i == 11, &mut ran), (52, 1), "{set}");
    }
    all_ran(&ran);
}

/// Verdicts on signatures, right ones and changed ones, one at a time and all at once.
#[test]
fn acvp_verification() {
    let features = Features::hardware();
    let cases = cavp::acvp("slhdsa", "sigVer");
    let mut ran = Ran::new("slh-dsa, NIST's verification");
    let (mut count, mut refused) = (0, 0);
    for set in Set::ALL {
        let cases: Vec<_> = cases.iter().filter(|case| set_of(case) == set).collect();
        let keys: Vec<_> = cases
            .iter()
            .map(|case| PublicKey::new(features, set, &hex(&case["pk"])).expect("a key"))
            .collect();
        let signed: Vec<_> = cases.iter().map(|case| Signed::new(case)).collect();
        let signatures: Vec<_> = cases.iter().map(|case| hex(&case["signature"])).collect();
        let passes: Vec<_> = cases.iter().map(|case| case["testPassed"] == "True").collect();
        for (number, kernel) in SLH_DSA.available(features).enumerate() {
            let lanes = Lanes::with_kernel(kernel, features_of(&kernel));
            let of_row = if number == 0 { cases.len() } else { cases.len() / 6 };
            let mut jobs: Vec<_> = (0..of_row)
                .map(|i| VerifyJob::new(&keys[i], signed[i].scheme(), &signed[i].message, &signatures[i]))
                .collect();
            lanes.verify(&mut jobs);
            for (i, job) in jobs.iter().enumerate() {
                let verdict = job.verdict.expect("the job has run");
                assert_eq!(verdict.is_ok(), passes[i], "{set}, case {}: {verdict:?}", cases[i]["tcId"]);
                if number == 0 {
                    let alone = keys[i].verify_by(job.scheme, job.message, job.signature);
                    assert_eq!(alone, verdict, "{set}, case {}", cases[i]["tcId"]);
                }
            }
            ran.kernel(kernel.kernel().name);
        }
        count += cases.len();
        refused += passes.iter().filter(|passes| !**passes).count();
    }
    assert_eq!((count, refused), (504, 432));
    all_ran(&ran);
}
