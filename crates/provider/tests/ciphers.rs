//! Ciphers against OpenSSL's own.

mod support;

use millstream_testkit::Random;
use support::{Library, Refused};

/// What OpenSSL and Millstream both have, but for AEADs.
const CIPHERS: &[&str] = &["AES-128-CBC", "AES-256-CBC", "AES-128-ECB"];

/// Encrypts or decrypts, in pieces.
fn pass(
    library: &Library,
    name: &str,
    encrypt: bool,
    key: &[u8],
    iv: &[u8],
    pieces: &[&[u8]],
) -> Result<Vec<u8>, Refused> {
    let cipher = library.cipher(name).unwrap_or_else(|| panic!("no {name}"));
    let mut context = cipher.context(encrypt, key, iv)?;
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(context.update(piece)?);
    }
    out.extend(context.finish()?);
    Ok(out)
}

#[test]
fn any_length_in_any_pieces_is_as_the_default_providers() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let mut random = Random::new(1);
    for name in CIPHERS {
        let cipher = theirs.cipher(name).unwrap();
        for round in 0..200 {
            let key = random.bytes(cipher.key_len());
            let iv = random.bytes(cipher.iv_len());
            let len = if round < 100 { round } else { random.below(5000) };
            let plain = random.bytes(len);
            let expected = pass(&theirs, name, true, &key, &iv, &[&plain]).unwrap();
            let (a, b) = (random.below(len + 1), random.below(len + 1));
            let (a, b) = (a.min(b), a.max(b));
            let pieces = [&plain[..a], &plain[a..b], &plain[b..]];
            let sealed = pass(&ours, name, true, &key, &iv, &pieces).unwrap();
            assert_eq!(sealed, expected, "{name}, {len} bytes");
            let (a, b) = (a.min(sealed.len()), b.min(sealed.len()));
            let pieces = [&sealed[..a], &sealed[a..b], &sealed[b..]];
            assert_eq!(pass(&ours, name, false, &key, &iv, &pieces).unwrap(), plain, "{name}, {len} bytes");
        }
    }
}
