//! No memory that is freed has anything of a key in it, once keysets and JSON Web Keys have been read: neither its bytes nor its base64.
//!
//! # Safety
//! The allocator forwards to the system's. It asks for memory that is zeroed, so every byte of a block can be read when it is freed.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64ct::{Base64, Base64UrlUnpadded, Encoding};
use millstream_cpu::Features;
use millstream_files::key::{self, Found};
use millstream_files::keyset::{self, Keyset};

/// The secret: no part of it, or of its base64, is in anything else.
const SECRET: [u8; 64] = {
    let mut secret = [0; 64];
    let mut at = 0;
    while at < secret.len() {
        // Bytes whose base64 has '/' and '+', which some writers escape.
        secret[at] = if at % 2 == 0 { 0xff ^ at as u8 } else { 0xeb };
        at += 1;
    }
    secret
};

/// Blocks that were freed with a part of the secret in them.
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// The parts of eight bytes that no block may have, in order.
static PARTS: OnceLock<Vec<[u8; 8]>> = OnceLock::new();

struct Watching;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

// SAFETY: the memory is the system's, asked for and given back with the same layout.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if let Some(parts) = PARTS.get() {
            // SAFETY: the block is the caller's until it is freed, and was zeroed when it was made.
            let block = unsafe { std::slice::from_raw_parts(memory, layout.size()) };
            let found = block.array_windows().any(|bytes| parts.binary_search(bytes).is_ok());
            LEFT.fetch_add(usize::from(found), Ordering::Relaxed);
        }
        // SAFETY: as the caller says.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Returns how many blocks were freed with a part of the secret in them.
fn left<T>(read: impl FnOnce() -> T) -> usize {
    let before = LEFT.load(Ordering::Relaxed);
    drop(read());
    LEFT.load(Ordering::Relaxed) - before
}

/// Returns a keyset with one key, whose value is written as some writers of JSON do.
fn keyset(kind: &str, message: &[u8], escaped: bool) -> String {
    let value = Base64::encode_string(message);
    let value = if escaped { value.replace('/', "\\/").replace('=', "\\u003d") } else { value };
    format!(
        r#"{{"primaryKeyId":1,"key":[{{"keyId":1,"status":"ENABLED","outputPrefixType":"TINK","keyData":{{"keyMaterialType":"SYMMETRIC",
        "value":"{value}","typeUrl":"type.googleapis.com/google.crypto.tink.{kind}"}}}}]}}"#
    )
}

#[test]
fn nothing_of_a_key_is_left_in_freed_memory() {
    let features = Features::hardware();
    let of_siv = [&[0x12, 64][..], &SECRET].concat();
    let streaming =
        [&[0x12, 0x07, 0x08, 0x80, 0x20, 0x10, 0x20, 0x18, 0x03, 0x1a, 32][..], &SECRET[..32]].concat();
    let texts: Vec<[String; 2]> = [false, true]
        .map(|escaped| {
            [keyset("AesSivKey", &of_siv, escaped), keyset("AesGcmHkdfStreamingKey", &streaming, escaped)]
        })
        .to_vec();
    let jwk = format!(r#"{{"kty":"oct","alg":"HS512","k":"{}"}}"#, Base64UrlUnpadded::encode_string(&SECRET));
    let damaged = texts[0][0].replace("\"primaryKeyId\":1", "\"primaryKeyId\":2");
    let texts_of_secrets = [
        SECRET.to_vec(),
        Base64::encode_string(&of_siv).into(),
        Base64::encode_string(&streaming).into(),
        Base64UrlUnpadded::encode_string(&SECRET).into(),
    ];
    let mut parts: Vec<[u8; 8]> =
        texts_of_secrets.iter().flat_map(|text| text.array_windows().copied()).collect();
    parts.sort_unstable();
    PARTS.set(parts).expect("set once");

    assert_eq!(left(|| SECRET.to_vec()), 1, "the watch finds what is left");
    assert_eq!(left(|| serde_json::from_str::<serde_json::Value>(&texts[0][0]).unwrap()), 1, "in JSON, too");
    for [siv, streaming] in &texts {
        let read = || {
            let read = Keyset::read(siv.as_bytes()).expect("a keyset");
            let secret = read.keys[read.primary].field(2).expect("a key");
            assert_eq!(*secret, SECRET);
        };
        assert_eq!(left(read), 0, "{siv}");
        assert_eq!(left(|| keyset::parse(streaming.as_bytes()).expect("a keyset")), 0, "{streaming}");
        assert_eq!(left(|| key::read(features, siv.as_bytes(), None).expect("a key")), 0, "{siv}");
    }
    let read = || {
        let Ok(Found::Key(key)) = key::read(features, jwk.as_bytes(), None) else { panic!("no key") };
        key
    };
    assert_eq!(left(read), 0);
    assert_eq!(left(|| Keyset::read(damaged.as_bytes()).unwrap_err()), 0);
}
