//! The isolated provider's demands on the service for its keys: purposes under policies that restrict them,
//! and slots.
//!
//! libcrypto is loaded into this process; its library contexts are configured as those of programs are.

#[path = "../crates/provider/tests/support/mod.rs"]
mod support;
mod under;

use std::ffi::{c_int, c_void};

use millstream_tests::{OpenSsl, eventually, run};
use support::{CipherContext, Library, Refused, libcrypto};
use under::Under;

const KEY: &str = "000102030405060708090a0b0c0d0e0f";
/// The beginning of every key.
const KEY_BYTES: [u8; 32] = *b"0123456789abcdefghijklmnopqrstuv";
const IV: &str = "a0a1a2a3a4a5a6a7a8a9aaabacadaeff";

/// `EVP_CTRL_AEAD_SET_IVLEN`.
const SET_IV_LEN: c_int = 0x9;
/// `EVP_CTRL_AEAD_GET_TAG` and `EVP_CTRL_AEAD_SET_TAG`.
const GET_TAG: c_int = 0x10;
const SET_TAG: c_int = 0x11;

impl Under {
    /// Runs `openssl` with these words, and `-K` and `-iv`. Returns its error when it fails.
    fn enc(&self, words: &str, input: &[u8]) -> Result<Vec<u8>, String> {
        let words = format!("enc {words} -K {KEY} -iv {IV}");
        let ended = run(&mut OpenSsl::system().command(&self.side, &words), input);
        if ended.code == Some(0) { Ok(ended.out) } else { Err(ended.err) }
    }

    fn begin(&self, name: &str, encrypt: bool) -> Result<CipherContext, Refused> {
        let cipher = self.library.cipher_with(name, c"millstream.isolated=yes").unwrap();
        cipher.context(encrypt, &KEY_BYTES[..cipher.key_len()], &vec![9; cipher.iv_len()])
    }
}

/// Requires that the error names a rule of the policy and what to do.
#[track_caller]
fn names(error: &str, words: &[&str]) {
    for word in words.iter().chain(&["policy", "millstream.isolated=no"]) {
        assert!(error.contains(word), "no '{word}' in: {error}");
    }
}

fn control(context: &mut CipherContext, what: c_int, tag: &mut [u8]) {
    let at = tag.as_mut_ptr().cast::<c_void>();
    // SAFETY: a place for a tag, of the length given.
    let returned = unsafe { (libcrypto().EVP_CIPHER_CTX_ctrl)(context.0, what, tag.len() as c_int, at) };
    assert_eq!(returned, 1);
}

/// Encrypts with OpenSSL's own provider, for isolated contexts to open.
fn sealed(name: &str, plain: &[u8]) -> (Vec<u8>, [u8; 16]) {
    let cipher = Library::openssl().cipher(name).unwrap();
    let mut context = cipher.context(true, &KEY_BYTES[..cipher.key_len()], &[9; 12]).unwrap();
    let out = context.update(plain).unwrap();
    context.finish().unwrap();
    let mut tag = [0; 16];
    control(&mut context, GET_TAG, &mut tag);
    (out, tag)
}

#[test]
fn a_context_asks_for_its_own_direction_only() {
    let (plain, sealed) = (b"sixteen and more bytes".as_slice(), {
        let under = Under::policy("usages = [\"encrypt\"]");
        let sealed = under.enc("-e -aes-128-cbc", b"sixteen and more bytes").unwrap();
        let error = under.enc("-d -aes-128-cbc", &sealed).unwrap_err();
        names(&error, &["`usages`", "aes-cbc to decrypt"]);
        // A key of these modes that can encrypt can also decrypt.
        let error = under.enc("-e -aes-128-ctr", b"data").unwrap_err();
        names(&error, &["`usages`", "aes-ctr to encrypt and decrypt", "who can do the one"]);
        for name in ["AES-128-XTS", "AES-128-ECB", "CAMELLIA-256-CBC", "DES-EDE3-CBC"] {
            under.begin(name, true).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            names(&under.begin(name, false).err().unwrap().detail, &["`usages`", "to decrypt"]);
        }
        for name in ["AES-128-GCM", "ChaCha20-Poly1305"] {
            names(&under.begin(name, true).err().unwrap().detail, &["`usages`", "to encrypt and decrypt"]);
        }
        let words = format!("mac -digest SHA256 -macopt hexkey:{KEY} -in - HMAC");
        let error = run(&mut OpenSsl::system().command(&under.side, &words), b"data");
        assert_ne!(error.code, Some(0));
        names(&error.err, &["`usages`", "sha256 to sign"]);
        sealed
    });
    let under = Under::policy("usages = [\"decrypt\"]");
    assert_eq!(under.enc("-d -aes-128-cbc", &sealed).unwrap(), plain);
    names(&under.enc("-e -aes-128-cbc", plain).unwrap_err(), &["`usages`", "aes-cbc to encrypt"]);
    let under = Under::policy("usages = [\"sign\"]");
    let words = format!("mac -digest SHA256 -macopt hexkey:{KEY} -in - HMAC");
    OpenSsl::system().good(&under.side, &words, b"data");
    names(&under.enc("-e -aes-128-cbc", plain).unwrap_err(), &["`usages`"]);
    let under = Under::policy("algorithms = [\"aes-gcm\"]");
    names(&under.enc("-e -aes-128-cbc", plain).unwrap_err(), &["`algorithms`", "aes-cbc"]);
}

/// Programs that use OpenSSL give the nonces, which such a policy forbids for sealing.
#[test]
fn under_nonces_of_the_worker_an_aead_only_opens() {
    for lines in ["nonces = \"worker\"", "usages = [\"decrypt\"]"] {
        let under = Under::policy(lines);
        for name in ["AES-128-GCM", "ChaCha20-Poly1305"] {
            let rule = if lines.starts_with("nonces") {
                ["`nonces`", "\"worker\""]
            } else {
                ["`usages`", "encrypt"]
            };
            names(&under.begin(name, true).err().unwrap().detail, &rule);
            let (sealed, tag) = sealed(name, b"a message");
            let mut context = under.begin(name, false).unwrap();
            control(&mut context, SET_TAG, &mut tag.clone());
            assert_eq!(context.update(&sealed).unwrap(), b"a message", "{name}");
            context.finish().unwrap();
            // Data that is not verified yet, or wrong, is not handed out.
            let mut context = under.begin(name, false).unwrap();
            let detail = context.update(&sealed).unwrap_err().detail;
            assert!(detail.contains("`nonces`") && detail.contains("set the tag"), "{name}: {detail}");
            let mut context = under.begin(name, false).unwrap();
            control(&mut context, SET_TAG, &mut [tag[0] ^ 1; 16]);
            assert!(
                context.update(&sealed).unwrap_err().detail.contains("see that the tag is right"),
                "{name}"
            );
        }
    }
    let under = Under::policy("nonces = \"worker\"");
    let sealed = under.enc("-e -aes-128-ctr", b"no AEAD").unwrap();
    assert_eq!(under.enc("-d -aes-128-ctr", &sealed).unwrap(), b"no AEAD");
}

/// Vectors may be as long as the default provider takes them, with more associated data than a key in a
/// request may have bytes.
#[test]
fn vectors_of_any_length_are_the_default_providers() {
    let under = Under::policy("");
    let theirs = Library::openssl();
    let seal = |library: &Library, properties: &std::ffi::CStr, len: usize| {
        let cipher = library.cipher_with("AES-256-GCM", properties).unwrap();
        let mut context = CipherContext::new();
        context.init(Some(&cipher), true, None, None, &[]).unwrap();
        // SAFETY: the call passes only a number.
        let set = unsafe {
            (libcrypto().EVP_CIPHER_CTX_ctrl)(context.0, SET_IV_LEN, len as c_int, std::ptr::null_mut())
        };
        assert_eq!(set, i32::from(len <= 128), "{len} bytes");
        if len > 128 {
            return None;
        }
        context.init(None, true, Some(&KEY_BYTES), Some(&vec![len as u8; len]), &[]).unwrap();
        context.associate(&[6; 70_000]).unwrap();
        let mut out = context.update(b"one piece").unwrap();
        out.extend(context.update(b" and another").unwrap());
        context.finish().unwrap();
        let mut tag = [0; 16];
        control(&mut context, GET_TAG, &mut tag);
        Some((out, tag))
    };
    for len in (1..=130).chain([255, 1024]) {
        let ours = seal(&under.library, c"millstream.isolated=yes", len);
        assert_eq!(ours, seal(&theirs, c"", len), "{len} bytes");
    }
}

/// Messages of any length go in pieces of any length, including messages that are too long to be copied into
/// the arena. Copied contexts go their own ways.
#[test]
fn messages_of_any_length_are_the_default_providers() {
    let under = Under::policy("");
    let theirs = Library::openssl();
    let data: Vec<u8> = (0..20_000_001_u32).map(|i| ((i * 31) >> 3) as u8).collect();
    for (len, piece) in [(70_001, 61), (300_000, 8192), (5_000_000, 70_000), (20_000_001, 20_000_001)] {
        for name in ["AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305"] {
            let pass = |library: &Library,
                        properties: &std::ffi::CStr,
                        encrypt,
                        tag: &mut [u8; 16],
                        input: &[u8]| {
                let cipher = library.cipher_with(name, properties).unwrap();
                let key = &KEY_BYTES[..cipher.key_len()];
                let mut context = cipher.context(encrypt, key, &[9; 12]).unwrap();
                data[..100_000].chunks(9_999).for_each(|part| context.associate(part).unwrap());
                let mut out = Vec::with_capacity(input.len());
                for part in input.chunks(piece) {
                    out.extend(context.update(part).unwrap());
                }
                if !encrypt {
                    control(&mut context, SET_TAG, tag);
                }
                let right = context.finish().is_ok();
                if encrypt {
                    control(&mut context, GET_TAG, tag);
                }
                (out, right)
            };
            let (mut tag, mut expected) = ([0; 16], [0; 16]);
            let isolated = c"millstream.isolated=yes";
            let sealed = pass(&under.library, isolated, true, &mut tag, &data[..len]);
            assert!(sealed == pass(&theirs, c"", true, &mut expected, &data[..len]), "{name}: {len} bytes");
            assert_eq!(tag, expected, "{name}: {len} bytes");
            let opened = pass(&under.library, isolated, false, &mut tag, &sealed.0);
            assert!(opened.1 && opened.0 == data[..len], "{name}: {len} bytes");
            tag[7] ^= 1;
            assert!(!pass(&under.library, isolated, false, &mut tag, &sealed.0).1, "{name}: {len} bytes");
        }
    }
}

#[test]
fn a_context_that_turns_round_takes_its_key_again() {
    let under = Under::policy("");
    let mut context = under.begin("AES-128-CBC", true).unwrap();
    let mut sealed = context.update(b"one message").unwrap();
    sealed.extend(context.finish().unwrap());
    context.init(None, false, None, Some(&[9; 16]), &[]).unwrap();
    let refused = context.update(&sealed).and_then(|_| context.finish()).unwrap_err();
    assert!(refused.detail.contains("set it again"), "{refused:?}");
    context.init(None, false, Some(&KEY_BYTES[..16]), Some(&[9; 16]), &[]).unwrap();
    let mut plain = context.update(&sealed).unwrap();
    plain.extend(context.finish().unwrap());
    assert_eq!(plain, b"one message");
    // Counter modes and AEADs have keys for both.
    for name in ["AES-128-CTR", "AES-128-GCM"] {
        let mut context = under.begin(name, true).unwrap();
        let sealed = context.update(b"one message").unwrap();
        context.finish().unwrap();
        let iv = vec![9; if name.ends_with("GCM") { 12 } else { 16 }];
        context.init(None, false, None, Some(&iv), &[]).unwrap();
        assert_eq!(context.update(&sealed).unwrap(), b"one message", "{name}");
    }
}

/// Contexts that all live need three grants' worth of keys. Then there are none, twice.
#[test]
fn slots_grow_by_grants_and_are_given_back() {
    const SLOTS: usize = 32;
    let under = Under::policy(&format!("key_slots = {SLOTS}"));
    let expected = under.begin("AES-128-CBC", true).unwrap().update(&[1; 64]).unwrap();
    let works = |context: &mut CipherContext| assert_eq!(context.update(&[1; 64]).unwrap(), expected);
    for _ in 0..2 {
        let mut contexts: Vec<_> = (0..3 * SLOTS)
            .map(|_| {
                let mut context = under.begin("AES-128-CBC", true).unwrap();
                works(&mut context);
                context
            })
            .collect();
        eventually("three grants are full", || under.keys() == [SLOTS as u64; 3]);
        // A slot that is given back serves the next key, so there is no fourth grant.
        for at in 0..contexts.len() {
            let last = contexts.len() - 1;
            contexts.swap(at, last);
            contexts.pop();
            contexts.push(under.begin("AES-128-CBC", true).unwrap());
            works(&mut contexts[last]);
        }
        eventually("there are still three", || under.keys() == [SLOTS as u64; 3]);
        drop(contexts);
        eventually("one grant is left, without keys", || under.keys() == [0]);
    }
}

/// Eight grants are the limit. The refusal says what to do, and nothing is lost by it.
#[test]
fn the_number_of_grants_is_bounded() {
    const SLOTS: usize = 16;
    let under = Under::policy(&format!("key_slots = {SLOTS}"));
    let mut contexts: Vec<_> = (0..8 * SLOTS).map(|_| under.begin("AES-128-CBC", true).unwrap()).collect();
    let refused = under.begin("AES-128-CBC", true).err().unwrap();
    assert!(refused.detail.contains("every key slot is taken"), "{refused:?}");
    eventually("eight grants are full", || under.keys() == [SLOTS as u64; 8]);
    contexts.pop();
    contexts.push(under.begin("AES-128-CBC", true).unwrap());
    contexts.iter_mut().for_each(|context| drop(context.update(&[1; 16]).unwrap()));
    drop(contexts);
    eventually("one grant is left, without keys", || under.keys() == [0]);
}

/// However many threads find a grant full at once, one of them asks for another.
#[test]
fn threads_that_need_room_ask_for_it_once() {
    const SLOTS: usize = 32;
    let under = Under::policy(&format!("key_slots = {SLOTS}"));
    let under = &under;
    let all: Vec<CipherContext> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let some =
                    || (0..SLOTS / 2).map(|_| under.begin("AES-128-CBC", true).unwrap()).collect::<Vec<_>>();
                scope.spawn(some)
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    eventually("two grants are full", || under.keys() == [SLOTS as u64; 2]);
    drop(all);
    eventually("one grant is left, without keys", || under.keys() == [0]);
}
