//! SHAKE against OpenSSL's own: output of any length, at once and in pieces.

#[path = "support/messages.rs"]
mod messages;
mod support;

use std::ffi::CStr;

use messages::{Digest, DigestContext};
use millstream_testkit::Random;
use support::{Library, Param, optional, version};

const OURS: &CStr = c"provider=millstream";
const THEIRS: &CStr = c"provider=default";

/// The names, and bytes in a block.
const SHAKES: &[(&str, usize)] = &[
    ("SHAKE-128", 168),
    ("SHAKE128", 168),
    ("2.16.840.1.101.3.4.2.11", 168),
    ("SHAKE-256", 136),
    ("shake256", 136),
    ("2.16.840.1.101.3.4.2.12", 136),
];

fn both() -> Library {
    Library::with(&[c"millstream", c"default"])
}

/// Fetches a digest from Millstream and from OpenSSL.
fn fetch(library: &Library, name: &str) -> [Digest; 2] {
    [OURS, THEIRS].map(|query| {
        Digest::fetch(library, name, query).unwrap_or_else(|| panic!("{name} is not offered by {query:?}"))
    })
}

#[test]
fn outputs_are_openssls() {
    let (library, mut random) = (both(), Random::new(1));
    for &(name, block) in SHAKES {
        let [ours, theirs] = fetch(&library, name);
        for key in [c"size", c"blocksize", c"xof", c"algid-absent"] {
            assert_eq!(ours.get(key), theirs.get(key), "{name} {key:?}");
        }
        let mut contexts = [ours.context(), theirs.context()];
        let edges = [0, 1, block - 1, block, block + 1, 2 * block, 5000];
        for round in 0..200 {
            let len = if round < edges.len() { edges[round] } else { random.below(700) };
            let data = random.bytes(len);
            let wanted = if round % 3 == 0 { edges[random.below(7)] } else { 1 + random.below(500) };
            let outputs = [0, 1].map(|side| {
                let (context, digest) = (&mut contexts[side], [&ours, &theirs][side]);
                context.init(digest);
                // Ours in pieces, theirs at once.
                let piece = if side == 0 { 1 + random.below(200) } else { data.len().max(1) };
                data.chunks(piece).for_each(|piece| context.update(piece));
                context.finish_xof(wanted).unwrap()
            });
            assert_eq!(outputs[0], outputs[1], "{name}: {wanted} bytes of {len}");
        }
    }
}

/// OpenSSL has a default length up to version 3.3, and refuses to go without a length since.
#[test]
fn the_length_comes_from_the_caller_or_openssls_default() {
    let library = both();
    for &(name, _) in SHAKES {
        let outcomes = fetch(&library, name).map(|digest| {
            let mut outcomes = Vec::new();
            let mut keep = |outcome: Result<Vec<u8>, support::Refused>| outcomes.push(outcome.ok());
            keep(digest.try_whole(b"at once"));
            let mut context = digest.context();
            context.update(b"by default");
            keep(context.finish_at_most(64));
            // On its way, at its beginning, and kept for the next message.
            for mut len in [100, 7] {
                let mut context = digest.context();
                context.update(b"some data");
                context.set(&[Param::size(c"xoflen", &mut len)]).unwrap();
                keep(context.finish_at_most(200));
                context.init(&digest);
                context.update(b"more data");
                keep(context.finish_at_most(200));
                context.init_with(&digest, &[Param::size(c"xoflen", &mut len)]).unwrap();
                keep(context.finish_at_most(200));
            }
            // A freed context's length is not that of the next one.
            let mut context = digest.context();
            context.set(&[Param::size(c"xoflen", &mut 60)]).unwrap();
            drop(context);
            keep(digest.context().finish_at_most(64));
            outcomes
        });
        assert_eq!(outcomes[0], outcomes[1], "{name}");
        assert_eq!(outcomes[0][0].is_some(), version() < (3, 4), "{name}");
    }
}

#[test]
fn a_context_is_copied_on_its_way() {
    let library = both();
    for &(name, _) in SHAKES {
        let [ours, theirs] = fetch(&library, name).map(|digest| {
            let mut context = digest.context();
            context.update(&[7; 300]);
            let mut copy = context.copy();
            copy.update(b"of the copy");
            context.update(b"of the first");
            [copy.finish_xof(400).unwrap(), context.finish_xof(400).unwrap()]
        });
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn output_in_pieces_is_openssls() {
    if optional("EVP_DigestSqueeze").is_none() {
        let (major, minor) = version();
        assert!((major, minor) < (3, 3));
        println!(
            "SKIPPED EVP_DigestSqueeze: OpenSSL {major}.{minor} has none; name a newer libcrypto in MILLSTREAM_TEST_LIBCRYPTO"
        );
        return;
    }
    let library = both();
    for &(name, block) in SHAKES {
        for piece in [1, 8, 100, block - 1, block, block + 1, 1000] {
            let [ours, theirs] = fetch(&library, name).map(|digest| squeezed(&digest, piece));
            assert_eq!(ours, theirs, "{name} in pieces of {piece}");
            // Some versions of OpenSSL's provider take data that comes too late, and lose it.
            let mut late = Digest::fetch(&library, name, OURS).unwrap().context();
            late.squeeze(piece).unwrap().unwrap();
            assert!(late.try_update(b"too late").is_err());
        }
    }
}

/// Reads some pieces of output, with a copy made between them, and then does what may not be done any more.
fn squeezed(digest: &Digest, piece: usize) -> (Vec<u8>, Vec<bool>) {
    let next = |context: &mut DigestContext| context.squeeze(piece).expect("a libcrypto that can").unwrap();
    let mut context = digest.context();
    context.update(&[3; 200]);
    let mut out = next(&mut context);
    let mut copy = context.copy();
    for _ in 0..3 {
        out.extend(next(&mut context));
    }
    out.extend(next(&mut copy));
    let refused = vec![copy.finish_xof(10).is_ok(), context.squeeze(0).unwrap().is_ok()];
    context.init(digest);
    context.update(b"another message");
    out.extend(context.finish_xof(50).unwrap());
    (out, refused)
}
