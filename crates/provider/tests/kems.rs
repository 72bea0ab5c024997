//! ML-KEM and the hybrids with it beside the default provider's, where that has them (from OpenSSL 3.5 on), and by published values.
//!
//! # Safety
//! As in [`support`].
#![allow(unsafe_code)]

#[path = "support/kems.rs"]
mod encapsulation;
#[path = "support/pkeys.rs"]
mod pkeys;
mod support;

use std::ffi::CStr;

use millstream::Features;
use millstream::sha3::{Shake, Xof};
use pkeys::{Context, Key, PAIR, PUBLIC, are_the_same, preferred, theirs};
use support::{Library, Param, done, ended, libcrypto, refused, version};

/// ML-KEM alone: names, and the bytes of public keys, private keys and ciphertexts.
const ALONE: [(&CStr, [usize; 3]); 3] = [
    (c"ML-KEM-512", [800, 1632, 768]),
    (c"ML-KEM-768", [1184, 2400, 1088]),
    (c"ML-KEM-1024", [1568, 3168, 1568]),
];

/// A hybrid: name, ML-KEM's place among [`ALONE`], the curve, the bytes of its points, scalars and coordinates, and whether it is first.
type Hybrid = (&'static CStr, usize, &'static CStr, [usize; 3], bool);
const HYBRIDS: [Hybrid; 3] = [
    (c"X25519MLKEM768", 1, c"X25519", [32, 32, 32], false),
    (c"SecP256r1MLKEM768", 1, c"P-256", [65, 32, 32], true),
    (c"SecP384r1MLKEM1024", 2, c"P-384", [97, 48, 48], true),
];

/// All names, with the bytes of public keys, private keys, ciphertexts and secrets.
fn all() -> Vec<(&'static CStr, [usize; 4])> {
    let alone = ALONE.map(|(name, [public, private, ciphertext])| (name, [public, private, ciphertext, 32]));
    let hybrids = HYBRIDS.map(|(name, set, _, [point, scalar, coordinate], _)| {
        let [public, private, ciphertext] = ALONE[set].1;
        (name, [public + point, private + scalar, ciphertext + point, 32 + coordinate])
    });
    [alone, hybrids].concat()
}

/// Tells whether the default provider has ML-KEM.
fn default_has_them() -> bool {
    version() >= (3, 5)
}

fn bytes(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(37).wrapping_add(seed)).collect()
}

fn of_seed(library: &Library, name: &CStr, seed: &[u8]) -> Key {
    let mut seed = seed.to_vec();
    Key::import(library, name, PAIR, &[Param::octets(c"seed", &mut seed)]).unwrap()
}

#[test]
fn keys_tell_what_the_default_providers_tell() {
    let (ours, theirs) = (preferred(), theirs());
    for (i, (name, [public, private, ciphertext])) in ALONE.into_iter().enumerate() {
        let mine = of_seed(&ours, name, &bytes(3, 64));
        assert_eq!(mine.provider(), "millstream");
        let lengths =
            [c"pub", c"encoded-pub-key", c"priv", c"seed"].map(|part| mine.octets(part).unwrap().len());
        assert_eq!(lengths, [public, public, private, 64], "{name:?}");
        let numbers =
            [c"bits", c"security-bits", c"security-category", c"max-size"].map(|of| mine.number(of).unwrap());
        let expected = [[512, 128, 1], [768, 192, 3], [1024, 256, 5]][i];
        assert_eq!(numbers, [expected[0], expected[1], expected[2], ciphertext as i32], "{name:?}");
        if !default_has_them() {
            continue;
        }
        let other = of_seed(&theirs, name, &bytes(3, 64));
        // A libcrypto without CMS does not know what a recipient is.
        let recipients = other.number(c"ri-type").unwrap() != -1;
        assert_eq!(mine.octets(c"kemri-kdf-alg") == other.octets(c"kemri-kdf-alg"), recipients, "{name:?}");
        assert_eq!(mine.number(c"ri-type") == other.number(c"ri-type"), recipients, "{name:?}");
        are_the_same(&ours, &mine, &other, name, &[c"pub", c"encoded-pub-key", c"priv", c"seed"]);
    }
}

#[test]
fn keys_are_made_copied_compared_and_checked() {
    let library = preferred();
    for (name, [public_len, private_len, ..]) in all() {
        let (one, other) =
            (Key::generate(&library, name, &[]).unwrap(), Key::generate(&library, name, &[]).unwrap());
        let (public, private) = (one.octets(c"encoded-pub-key").unwrap(), one.octets(c"priv").unwrap());
        assert_eq!((public.len(), private.len()), (public_len, private_len), "{name:?}");
        assert_ne!(private, other.octets(c"priv").unwrap());
        let again = Key::private(&library, name, &private).unwrap();
        let only = Key::public(&library, name, &public).unwrap();
        // SAFETY: keys that live.
        unsafe {
            let eq = libcrypto().EVP_PKEY_eq;
            assert_eq!((eq(one.0, again.0), eq(one.0, only.0), eq(one.0, other.0)), (1, 1, 0), "{name:?}");
            let copy = Key((libcrypto().EVP_PKEY_dup)(one.0));
            assert_eq!(copy.octets(c"priv").unwrap(), private);
        }
        refused();
        let check = |key: &Key| key.checks(&library).map(|said| said == 1);
        assert_eq!(check(&one)[..3], [true; 3], "{name:?}");
        assert_eq!(check(&only)[..3], [false, true, false], "{name:?}");
        // A key without a public part takes one, and keeps it.
        for key in [&one, &only] {
            assert!(!set_public(key, &public), "{name:?}");
            refused();
        }
    }
}

/// Each side opens what the other one has sealed for the share that it sent, as in TLS.
#[test]
fn secrets_are_the_default_providers() {
    let (ours, theirs) = (preferred(), theirs());
    let sides = if default_has_them() { vec![&ours, &theirs] } else { vec![&ours] };
    for (name, [.., len, secret_len]) in all() {
        for owner in &sides {
            let key = Key::generate(owner, name, &[]).unwrap();
            let share = key.octets(c"encoded-pub-key").unwrap();
            for sender in &sides {
                let peer = parameters(sender, name);
                assert!(set_public(&peer, &share), "{name:?}");
                let (ciphertext, secret) = peer.encapsulate(sender, &[]).unwrap();
                assert_eq!((ciphertext.len(), secret.len()), (len, secret_len), "{name:?}");
                assert_eq!(key.decapsulate(owner, &ciphertext).unwrap(), secret, "{name:?}");
                // ML-KEM makes another secret of another ciphertext, and the curves are in the first or the last hundred bytes.
                let mut wrong = ciphertext.clone();
                wrong[len / 2] ^= 1;
                assert_ne!(key.decapsulate(owner, &wrong).unwrap(), secret, "{name:?}");
            }
        }
    }
}

/// The same key, the same random bytes and the same wrong ciphertext give the same on both sides.
#[test]
fn everything_is_determined_by_seeds() {
    let (ours, theirs) = (preferred(), theirs());
    let sides = if default_has_them() { vec![&ours, &theirs] } else { vec![&ours, &ours] };
    for (name, [_, _, len]) in ALONE {
        let [one, other] = [0, 1].map(|side| {
            let library = sides[side];
            let (key, mut message) = (of_seed(library, name, &bytes(7, 64)), bytes(9, 32));
            let params = [Param::octets(c"ikme", &mut message)];
            let sealed = key.encapsulate(library, &params).unwrap();
            assert_ne!(key.encapsulate(library, &[]).unwrap(), sealed);
            (sealed, key.decapsulate(library, &bytes(11, len)).unwrap())
        });
        assert_eq!(one, other, "{name:?}");
    }
}

/// Given random bytes serve one encapsulation, and a copy of the context has its own.
#[test]
fn given_random_bytes_serve_once() {
    let library = preferred();
    let key = of_seed(&library, c"ML-KEM-768", &bytes(1, 64));
    let mut message = bytes(2, 32);
    let params = [Param::octets(c"ikme", &mut message)];
    let context = Context::of(&library, &key).unwrap();
    // SAFETY: a context that lives, and parameters with an end.
    let copy = unsafe {
        done((libcrypto().EVP_PKEY_encapsulate_init)(context.0, ended(&params).as_ptr())).unwrap();
        Context((libcrypto().EVP_PKEY_CTX_dup)(context.0))
    };
    let [first, second] = [(); 2].map(|()| key.encapsulate_into(&context, 1088, 32).unwrap());
    assert_ne!(first, second);
    assert_eq!(key.encapsulate_into(&copy, 1088, 32).unwrap(), first);
}

/// The order of a hybrid's parts, with ML-KEM's and the curve's keys taken apart. Ref. draft-ietf-tls-ecdhe-mlkem §4.
#[test]
fn hybrids_are_their_parts_in_the_drafts_order() {
    let library = preferred();
    for (name, set, curve, [point, scalar, _], curve_first) in HYBRIDS {
        let (alone, [public_len, private_len, ciphertext_len]) = ALONE[set];
        let split = |bytes: &[u8], lattice: usize| {
            let (one, other) = bytes.split_at(if curve_first { bytes.len() - lattice } else { lattice });
            if curve_first { (other.to_vec(), one.to_vec()) } else { (one.to_vec(), other.to_vec()) }
        };
        let key = Key::generate(&library, name, &[]).unwrap();
        let (lattice_public, point_of_ours) = split(&key.octets(c"encoded-pub-key").unwrap(), public_len);
        let (lattice, number) = split(&key.octets(c"priv").unwrap(), private_len);
        assert_eq!((point_of_ours.len(), number.len()), (point, scalar), "{name:?}");
        let lattice = Key::private(&library, alone, &lattice).unwrap();
        assert_eq!(lattice.octets(c"pub").unwrap(), lattice_public, "{name:?}");
        let (ciphertext, secret) = key.encapsulate(&library, &[]).unwrap();
        let (sealed, share) = split(&ciphertext, ciphertext_len);
        let (shared, agreed) = split(&secret, 32);
        assert_eq!(lattice.decapsulate(&library, &sealed).unwrap(), shared, "{name:?}");
        let theirs = theirs();
        let (own, peer) =
            (curve_key(&theirs, curve, &number, &point_of_ours), curve_key(&theirs, curve, &[], &share));
        assert_eq!(own.agree(&theirs, &peer).unwrap(), agreed, "{name:?}");
    }
}

/// A key on a curve; without a private part if that is empty.
fn curve_key(library: &Library, curve: &'static CStr, private: &[u8], public: &[u8]) -> Key {
    let (mut private, mut public) = (private.to_vec(), public.to_vec());
    let mut params = vec![Param::octets(c"pub", &mut public)];
    let selection = if private.is_empty() { PUBLIC } else { PAIR };
    if curve == c"X25519" {
        if !private.is_empty() {
            params.push(Param::octets(c"priv", &mut private));
        }
        return Key::import(library, c"X25519", selection, &params).unwrap();
    }
    // Numbers are in the machine's order.
    private.reverse();
    params.push(Param::text(c"group", curve));
    if !private.is_empty() {
        params.push(Param::number(c"priv", &mut private));
    }
    Key::import(library, c"EC", selection, &params).unwrap()
}

#[test]
fn wrong_lengths_are_refused() {
    let library = preferred();
    for (name, [public_len, private_len, len, secret_len]) in all() {
        let key = Key::generate(&library, name, &[]).unwrap();
        let around =
            |len: usize| [1, 31, 32, 33, 65, len - 32, len - 1, len + 1, len + 32, 2 * len].into_iter();
        let public = key.octets(c"encoded-pub-key").unwrap().repeat(2);
        for len in around(public_len) {
            assert!(Key::public(&library, name, &public[..len]).is_err(), "{name:?} {len}");
            // libssl brings a peer's share in this way.
            let empty = parameters(&library, name);
            assert!(!set_public(&empty, &public[..len]), "{name:?} {len}");
            assert!(!refused().text.is_empty());
            assert!(empty.encapsulate(&library, &[]).is_err(), "there is no key");
        }
        let private = key.octets(c"priv").unwrap().repeat(2);
        for len in around(private_len).filter(|len| *len != 64) {
            assert!(Key::private(&library, name, &private[..len]).is_err(), "{name:?} {len}");
        }
        let (ciphertext, secret) = key.encapsulate(&library, &[]).unwrap();
        let ciphertext = ciphertext.repeat(2);
        for len in around(len).chain([0]) {
            assert!(key.decapsulate(&library, &ciphertext[..len]).is_err(), "{name:?} {len}");
        }
        assert_eq!(key.decapsulate_into(&library, &ciphertext[..len], secret_len).unwrap(), secret);
        assert!(key.decapsulate_into(&library, &ciphertext[..len], secret_len - 1).is_err());
        let context = Context::of(&library, &key).unwrap();
        // SAFETY: a context that lives.
        done(unsafe { (libcrypto().EVP_PKEY_encapsulate_init)(context.0, std::ptr::null()) }).unwrap();
        for room in [(len - 1, secret_len), (len, secret_len - 1)] {
            assert!(key.encapsulate_into(&context, room.0, room.1).is_err(), "{name:?} {room:?}");
        }
        let public = Key::public(&library, name, &public[..public_len]).unwrap();
        assert!(public.decapsulate(&library, &ciphertext[..len]).is_err(), "there is no private part");
    }
    for len in [0, 1, 63, 65] {
        let mut seed = bytes(1, len);
        let params = [Param::octets(c"seed", &mut seed)];
        assert!(Key::import(&library, c"ML-KEM-768", PAIR, &params).is_err(), "a seed of {len} bytes");
        assert!(Key::generate(&library, c"ML-KEM-768", &params).is_err(), "a seed of {len} bytes");
        let key = of_seed(&library, c"ML-KEM-768", &bytes(1, 64));
        assert!(
            key.encapsulate(&library, &[Param::octets(c"ikme", &mut seed)]).is_err(),
            "ikme of {len} bytes"
        );
    }
}

/// Gives a key a peer's share, as libssl does. Tells whether the key has taken it.
fn set_public(key: &Key, share: &[u8]) -> bool {
    // SAFETY: a key that lives, and as many bytes as it says.
    let set = unsafe { (libcrypto().EVP_PKEY_set1_encoded_public_key)(key.0, share.as_ptr(), share.len()) };
    set == 1
}

/// Returns a key that has its type alone, as a server of TLS makes it for a client's share.
fn parameters(library: &Library, name: &CStr) -> Key {
    let context = Context::named(library, name).unwrap();
    let mut made = std::ptr::null_mut();
    // SAFETY: a context that lives.
    unsafe {
        done((libcrypto().EVP_PKEY_paramgen_init)(context.0)).unwrap();
        done((libcrypto().EVP_PKEY_generate)(context.0, &mut made)).unwrap();
    }
    Key(made)
}

#[test]
fn keys_that_are_wrong_inside_are_refused() {
    let library = preferred();
    for (i, (name, [public_len, ..])) in all().into_iter().enumerate() {
        let key = Key::generate(&library, name, &[]).unwrap();
        let public = key.octets(c"encoded-pub-key").unwrap();
        // A number that is not below q (FIPS 203 §7.2), behind the point where there is one.
        let mut wrong = public.clone();
        let curve_first = HYBRIDS.iter().any(|(of, .., first)| *of == name && *first);
        let at = if curve_first { 97 } else { 0 };
        wrong[at..at + 3].fill(0xff);
        assert!(Key::public(&library, name, &wrong).is_err(), "{name:?}");
        if curve_first {
            let mut wrong = public.clone();
            wrong[40] ^= 1;
            assert!(Key::public(&library, name, &wrong).is_err(), "{name:?}: not on the curve");
        }
        // A peer's X25519 share to which no private key contributes.
        if i == 3 {
            let mut wrong = public.clone();
            wrong[public_len - 32..].fill(0);
            let peer = Key::public(&library, name, &wrong).unwrap();
            assert!(peer.encapsulate(&library, &[]).is_err());
            let (mut ciphertext, _) = key.encapsulate(&library, &[]).unwrap();
            let len = ciphertext.len();
            ciphertext[len - 32..].fill(0);
            assert!(key.decapsulate(&library, &ciphertext).is_err());
        }
    }
    for (name, [public_len, private_len, _]) in ALONE {
        let [one, other] = [1, 2].map(|seed| of_seed(&library, name, &bytes(seed, 64)));
        let [ours, theirs] = [&one, &other].map(|key| key.octets(c"priv").unwrap());
        // The private half of one key, and the public half of another.
        let half = private_len - public_len - 64;
        let mixed = [&ours[..half], &theirs[half..]].concat();
        assert!(Key::private(&library, name, &mixed).is_err(), "{name:?}");
        // Parts of different keys.
        let (mut seed, mut private, mut public) =
            (bytes(1, 64), theirs.clone(), other.octets(c"pub").unwrap());
        let seeded = Param::octets(c"seed", &mut seed);
        let (private, public) = (Param::octets(c"priv", &mut private), Param::octets(c"pub", &mut public));
        assert!(Key::import(&library, name, PAIR, &[seeded, private]).is_err(), "{name:?}");
        assert!(Key::import(&library, name, PAIR, &[seeded, public]).is_err(), "{name:?}");
        assert!(Key::import(&library, name, PAIR, &[private, public]).is_ok(), "{name:?}");
        assert!(Key::import(&library, name, PAIR, &[]).is_err(), "{name:?}");
    }
}

/// ML-KEM stays in the process where other keys are isolated, also without a service. A caller who demands isolated keys gets none.
#[test]
fn keys_are_in_the_process_where_others_are_isolated() {
    let file = std::env::temp_dir().join(format!("millstream-kems.{}", std::process::id()));
    let module = support::modules().join("millstream.so");
    let text = format!(
        "openssl_conf = init\n[init]\nproviders = providers\n[providers]\ndefault = theirs\nmillstream = ours\n\
         [theirs]\nactivate = 1\n[ours]\nmodule = {}\nactivate = 1\nisolated = yes\nsocket = {}.socket\n",
        module.display(),
        file.display()
    );
    std::fs::write(&file, text).unwrap();
    let library = Library::with(&[]);
    library.configure(&file);
    std::fs::remove_file(&file).unwrap();
    let prefer = |properties: &CStr| {
        // SAFETY: a context that lives, and a C string.
        done(unsafe { (libcrypto().EVP_set_default_properties)(library.context, properties.as_ptr()) })
            .unwrap();
    };
    prefer(c"?provider=millstream,?millstream.isolated=yes");
    for (name, _) in all() {
        let key = Key::generate(&library, name, &[]).unwrap();
        assert_eq!(key.provider(), "millstream");
        let (ciphertext, secret) = key.encapsulate(&library, &[]).unwrap();
        assert_eq!(key.decapsulate(&library, &ciphertext).unwrap(), secret, "{name:?}");
    }
    assert!(Key::generate(&library, c"X25519", &[]).is_err(), "there is no service");
    prefer(c"millstream.isolated=yes");
    for (name, _) in all() {
        assert!(Key::generate(&library, name, &[]).is_err(), "{name:?}");
    }
}

/// The accumulated vectors of C2SP CCTV, a hundred rounds, whose digest for ML-KEM-768 Go's library has published.
#[test]
fn accumulated_vectors() {
    const DIGESTS: [&str; 3] = [
        "86b1b4703b8ffef6f7f3290c6dbce4ad954498a0673ded401a94828e8c519a59",
        "1114b1b6699ed191734fa339376afa7e285c9e6acf6ff0177d346696ce564415",
        "800018fec3e2723f73f1d657fe239b4d5d8782efaade297e8cd448e54cc2ac00",
    ];
    let library = preferred();
    for ((name, [_, _, len]), expected) in ALONE.into_iter().zip(DIGESTS) {
        let features = Features::hardware();
        let mut source = Shake::new(features, Xof::Shake128).finish();
        let mut sum = Shake::new(features, Xof::Shake128);
        let mut draw = |len: usize| {
            let mut bytes = vec![0; len];
            source.squeeze(&mut bytes);
            bytes
        };
        for _ in 0..100 {
            let key = of_seed(&library, name, &draw(64));
            let mut message = draw(32);
            let sent = key.encapsulate(&library, &[Param::octets(c"ikme", &mut message)]).unwrap();
            let (ciphertext, secret) = sent;
            assert_eq!(key.decapsulate(&library, &ciphertext).unwrap(), secret);
            let other = key.decapsulate(&library, &draw(len)).unwrap();
            [key.octets(c"pub").unwrap(), ciphertext, secret, other].iter().for_each(|part| sum.update(part));
        }
        let mut digest = [0; 32];
        sum.finish().squeeze(&mut digest);
        assert_eq!(digest.map(|byte| format!("{byte:02x}")).concat(), expected, "{name:?}");
    }
}

/// The tally of a run of a test above tells that these keys were used.
#[test]
fn the_engines_are_used() {
    let counts = pkeys::counted(&["hybrids_are_their_parts_in_the_drafts_order"]);
    for name in ["x25519-ml-kem-768", "p256-ml-kem-768", "p384-ml-kem-1024", "ml-kem-1024"] {
        assert_eq!(counts(name), 1, "{name}");
    }
    assert_eq!(counts("ml-kem-768"), 2);
}
