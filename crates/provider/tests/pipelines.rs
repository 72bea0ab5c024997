//! Pipelines: several messages under one key, side by side (OpenSSL 3.5 and later).

mod support;

use std::ffi::{c_int, c_void};
use std::time::Instant;

use millstream_testkit::Random;
use support::{Cipher, CipherContext, Library, Object, Param, Refused, done, optional, version};

type Init = unsafe extern "C" fn(Object, Object, *const u8, usize, usize, *const *const u8, usize) -> c_int;
type Update = unsafe extern "C" fn(
    Object,
    *const *mut u8,
    *mut usize,
    *const usize,
    *const *const u8,
    *const usize,
) -> c_int;
type Final = unsafe extern "C" fn(Object, *const *mut u8, *mut usize, *const usize) -> c_int;
type Can = unsafe extern "C" fn(Object, c_int) -> c_int;

/// The functions, where this OpenSSL has them.
struct Pipelines {
    encrypt: Init,
    decrypt: Init,
    update: Update,
    finish: Final,
    can: Can,
}

fn pipelines() -> Option<Pipelines> {
    let Some(encrypt) = optional("EVP_CipherPipelineEncryptInit") else {
        let (major, minor) = version();
        println!(
            "SKIPPED pipelines: OpenSSL {major}.{minor} has none; name a newer libcrypto in MILLSTREAM_TEST_LIBCRYPTO"
        );
        return None;
    };
    let other = |name| optional(name).unwrap();
    // SAFETY: the functions of those names have those types.
    Some(unsafe {
        Pipelines {
            encrypt: std::mem::transmute::<Object, Init>(encrypt),
            decrypt: std::mem::transmute::<Object, Init>(other("EVP_CipherPipelineDecryptInit")),
            update: std::mem::transmute::<Object, Update>(other("EVP_CipherPipelineUpdate")),
            finish: std::mem::transmute::<Object, Final>(other("EVP_CipherPipelineFinal")),
            can: std::mem::transmute::<Object, Can>(other("EVP_CIPHER_can_pipeline")),
        }
    })
}

impl Pipelines {
    fn begin(
        &self,
        cipher: &Cipher,
        encrypt: bool,
        key: &[u8],
        ivs: &[Vec<u8>],
    ) -> Result<CipherContext, Refused> {
        let mut context = CipherContext::new();
        self.begin_in(&mut context, cipher.0, encrypt, Some(key), ivs)?;
        Ok(context)
    }

    /// Begins messages in a context: of its cipher where that is null, and with its key where none is given.
    fn begin_in(
        &self,
        context: &mut CipherContext,
        cipher: *mut c_void,
        encrypt: bool,
        key: Option<&[u8]>,
        ivs: &[Vec<u8>],
    ) -> Result<(), Refused> {
        let at: Vec<_> = ivs.iter().map(|iv| iv.as_ptr()).collect();
        let begin = if encrypt { self.encrypt } else { self.decrypt };
        let (key, len) = key.map_or((std::ptr::null(), 0), |key| (key.as_ptr(), key.len()));
        // SAFETY: as the manual says.
        done(unsafe { begin(context.0, cipher, key, len, ivs.len(), at.as_ptr(), ivs[0].len()) })
    }

    fn update(
        &self,
        context: &mut CipherContext,
        inputs: &[&[u8]],
        outs: &mut [Vec<u8>],
    ) -> Result<(), Refused> {
        let from: Vec<_> = inputs.iter().map(|input| input.as_ptr()).collect();
        let lens: Vec<_> = inputs.iter().map(|input| input.len()).collect();
        let begun: Vec<_> = outs.iter().map(Vec::len).collect();
        for (out, len) in outs.iter_mut().zip(&lens) {
            out.resize(out.len() + len + 32, 0);
        }
        let rooms: Vec<_> = outs.iter().zip(&begun).map(|(out, begun)| out.len() - begun).collect();
        // SAFETY: inside.
        let to: Vec<_> =
            outs.iter_mut().zip(&begun).map(|(out, begun)| unsafe { out.as_mut_ptr().add(*begun) }).collect();
        let mut written = vec![0; inputs.len()];
        // SAFETY: as the manual says.
        done(unsafe {
            (self.update)(
                context.0,
                to.as_ptr(),
                written.as_mut_ptr(),
                rooms.as_ptr(),
                from.as_ptr(),
                lens.as_ptr(),
            )
        })?;
        for ((out, begun), written) in outs.iter_mut().zip(begun).zip(written) {
            out.truncate(begun + written);
        }
        Ok(())
    }

    fn associate(&self, context: &mut CipherContext, inputs: &[&[u8]]) -> Result<(), Refused> {
        let from: Vec<_> = inputs.iter().map(|input| input.as_ptr()).collect();
        let lens: Vec<_> = inputs.iter().map(|input| input.len()).collect();
        let mut written = vec![0; inputs.len()];
        let (to, rooms) = (std::ptr::null(), std::ptr::null());
        // SAFETY: as the manual says of associated data.
        done(unsafe {
            (self.update)(context.0, to, written.as_mut_ptr(), rooms, from.as_ptr(), lens.as_ptr())
        })
    }

    fn finish(&self, context: &mut CipherContext, outs: &mut [Vec<u8>]) -> Result<(), Refused> {
        let mut last = vec![[0_u8; 32]; outs.len()];
        let to: Vec<_> = last.iter_mut().map(|last| last.as_mut_ptr()).collect();
        let (rooms, mut written) = (vec![32; outs.len()], vec![0; outs.len()]);
        // SAFETY: as the manual says.
        done(unsafe { (self.finish)(context.0, to.as_ptr(), written.as_mut_ptr(), rooms.as_ptr()) })?;
        for ((out, last), written) in outs.iter_mut().zip(last).zip(written) {
            out.extend(&last[..written]);
        }
        Ok(())
    }
}

const CIPHERS: &[&str] = &[
    "AES-128-CBC",
    "AES-256-CBC",
    "AES-128-ECB",
    "AES-192-CTR",
    "AES-256-CFB",
    "CAMELLIA-128-CBC",
    "CAMELLIA-256-CTR",
    "DES-EDE3-CBC",
    "DES-EDE3-CFB",
];

#[test]
fn pipes_are_as_messages_alone() {
    let Some(pipelines) = pipelines() else { return };
    let library = Library::millstream();
    let mut random = Random::new(1);
    for name in CIPHERS {
        let cipher = library.cipher(name).unwrap();
        // SAFETY: a fetched cipher.
        assert_eq!(unsafe { (pipelines.can)(cipher.0, 1) + (pipelines.can)(cipher.0, 0) }, 2, "{name}");
        for round in 0..60 {
            let pipes = 1 + random.below(32);
            let key = random.bytes(cipher.key_len());
            let ivs: Vec<_> = (0..pipes).map(|_| random.bytes(cipher.iv_len())).collect();
            let encrypt = round % 2 == 0;
            // Only ciphertext can be decrypted.
            let messages: Vec<_> = ivs
                .iter()
                .map(|iv| {
                    let len = random.below(700);
                    let plain = random.bytes(len);
                    if encrypt {
                        return plain;
                    }
                    let mut context = cipher.context(true, &key, iv).unwrap();
                    [context.update(&plain).unwrap(), context.finish().unwrap()].concat()
                })
                .collect();
            let expected: Vec<_> = messages
                .iter()
                .zip(&ivs)
                .map(|(message, iv)| {
                    let mut context = cipher.context(encrypt, &key, iv).unwrap();
                    [context.update(message).unwrap(), context.finish().unwrap()].concat()
                })
                .collect();
            let mut context = pipelines.begin(&cipher, encrypt, &key, &ivs).unwrap();
            let mut outs = vec![Vec::new(); pipes];
            let cuts: Vec<_> = messages.iter().map(|message| random.below(message.len() + 1)).collect();
            let first: Vec<_> = messages.iter().zip(&cuts).map(|(message, cut)| &message[..*cut]).collect();
            let second: Vec<_> = messages.iter().zip(&cuts).map(|(message, cut)| &message[*cut..]).collect();
            pipelines.update(&mut context, &first, &mut outs).unwrap();
            pipelines.update(&mut context, &second, &mut outs).unwrap();
            pipelines.finish(&mut context, &mut outs).unwrap();
            assert_eq!(outs, expected, "{name}, {pipes} pipes, encrypt {encrypt}");
        }
    }
}

#[test]
fn pipes_begin_anew_with_the_key_that_they_have() {
    let Some(pipelines) = pipelines() else { return };
    let library = Library::millstream();
    let mut random = Random::new(4);
    for name in ["AES-128-CBC", "AES-256-CTR", "AES-192-CFB", "DES-EDE3-CBC", "AES-128-GCM"] {
        let cipher = library.cipher(name).unwrap();
        let mut key = random.bytes(cipher.key_len());
        let ivs = vec![random.bytes(cipher.iv_len()); 5];
        let mut context = pipelines.begin(&cipher, true, &key, &ivs).unwrap();
        for (round, pipes) in [5, 5, 3, 5, 5].into_iter().enumerate() {
            let ivs: Vec<_> = (0..pipes).map(|_| random.bytes(cipher.iv_len())).collect();
            // Another key comes with the messages, or before them with one that is alone.
            let another = round == 4;
            if another || round == 1 {
                key = random.bytes(cipher.key_len());
            }
            if round == 1 {
                context.init(None, true, Some(&key), Some(&ivs[0]), &[]).unwrap();
            }
            let begin = |key, context: &mut CipherContext| {
                pipelines.begin_in(context, std::ptr::null_mut(), true, key, &ivs).unwrap();
            };
            begin(another.then_some(&key[..]), &mut context);
            // Messages that were begun and not ended are forgotten.
            pipelines.update(&mut context, &vec![&[1; 21][..]; pipes], &mut vec![Vec::new(); pipes]).unwrap();
            begin(None, &mut context);
            let messages: Vec<_> = (0..pipes).map(|i| random.bytes(50 + i)).collect();
            let inputs: Vec<_> = messages.iter().map(Vec::as_slice).collect();
            let mut outs = vec![Vec::new(); pipes];
            pipelines.update(&mut context, &inputs, &mut outs).unwrap();
            pipelines.finish(&mut context, &mut outs).unwrap();
            for ((out, message), iv) in outs.iter().zip(&messages).zip(&ivs) {
                let mut alone = cipher.context(true, &key, iv).unwrap();
                let expected = [alone.update(message).unwrap(), alone.finish().unwrap()].concat();
                assert_eq!(*out, expected, "{name}, round {round}");
            }
        }
    }
}

/// The tag of each pipe, to be set or to be written.
fn tags_of(tags: &mut [[u8; 16]], at: &mut Vec<*mut u8>, first: &mut *mut *mut u8) -> Param {
    *at = tags.iter_mut().map(|tag| tag.as_mut_ptr()).collect();
    *first = at.as_mut_ptr();
    Param {
        key: c"pipeline-tag".as_ptr(),
        data_type: 7,
        data: std::ptr::from_mut(first).cast(),
        data_size: 16,
        return_size: usize::MAX,
    }
}

#[test]
fn authenticated_pipes_are_as_messages_alone() {
    let Some(pipelines) = pipelines() else { return };
    let library = Library::millstream();
    let mut random = Random::new(2);
    for (name, round) in
        ["AES-128-GCM", "AES-256-GCM"].into_iter().flat_map(|name| (0..30).map(move |i| (name, i)))
    {
        let cipher = library.cipher(name).unwrap();
        let pipes = 1 + random.below(32);
        let (key, aad) = (random.bytes(cipher.key_len()), random.bytes(13));
        let ivs: Vec<_> = (0..pipes).map(|_| random.bytes(12)).collect();
        let plain: Vec<_> = (0..pipes)
            .map(|_| {
                let len = random.below(700);
                random.bytes(len)
            })
            .collect();
        let mut expected = Vec::new();
        for (iv, plain) in ivs.iter().zip(&plain) {
            let mut alone = cipher.context(true, &key, iv).unwrap();
            alone.associate(&aad).unwrap();
            let sealed = alone.update(plain).unwrap();
            alone.finish().unwrap();
            expected.push((sealed, alone.octets(c"tag", 16).unwrap()));
        }
        let (mut at, mut first) = (Vec::new(), std::ptr::null_mut());
        let mut tags = vec![[0; 16]; pipes];
        let mut context = pipelines.begin(&cipher, true, &key, &ivs).unwrap();
        let aads = vec![&aad[..]; pipes];
        pipelines.associate(&mut context, &aads).unwrap();
        let mut outs = vec![Vec::new(); pipes];
        let inputs: Vec<_> = plain.iter().map(Vec::as_slice).collect();
        pipelines.update(&mut context, &inputs, &mut outs).unwrap();
        pipelines.finish(&mut context, &mut outs).unwrap();
        context.get(&[tags_of(&mut tags, &mut at, &mut first)]).unwrap();
        for ((out, tag), (sealed, alone)) in outs.iter().zip(&tags).zip(&expected) {
            assert_eq!((&out[..], &tag[..]), (&sealed[..], &alone[..]), "{name}, {pipes} pipes");
        }
        // Back again; in every other round with one tag that is wrong.
        let forged = round % 2 == 1;
        if forged {
            tags[random.below(pipes)][3] ^= 1;
        }
        let mut context = pipelines.begin(&cipher, false, &key, &ivs).unwrap();
        context.set(&[tags_of(&mut tags, &mut at, &mut first)]).unwrap();
        pipelines.associate(&mut context, &aads).unwrap();
        let mut opened = vec![Vec::new(); pipes];
        let inputs: Vec<_> = outs.iter().map(Vec::as_slice).collect();
        pipelines.update(&mut context, &inputs, &mut opened).unwrap();
        assert_eq!(pipelines.finish(&mut context, &mut opened).is_err(), forged, "{name}, {pipes} pipes");
        if !forged {
            assert_eq!(opened, plain, "{name}, {pipes} pipes");
        }
    }
}

#[test]
fn too_little_room_is_refused() {
    let Some(pipelines) = pipelines() else { return };
    let library = Library::millstream();
    let cipher = library.cipher("AES-128-CBC").unwrap();
    let ivs = vec![vec![1; 16]; 2];
    let mut context = pipelines.begin(&cipher, true, &[2; 16], &ivs).unwrap();
    let mut out = [[0_u8; 32]; 2];
    let to = out.each_mut().map(|out| out.as_mut_ptr());
    let from = [[3_u8; 32]; 2];
    let from = from.each_ref().map(|from| from.as_ptr());
    let mut written = [0; 2];
    // SAFETY: as the manual says.
    let returned = done(unsafe {
        (pipelines.update)(
            context.0,
            to.as_ptr(),
            written.as_mut_ptr(),
            [32, 31].as_ptr(),
            from.as_ptr(),
            [32, 32].as_ptr(),
        )
    });
    assert!(returned.unwrap_err().text.ends_with("output buffer too small"));
    // And messages have to be begun before they go on.
    let mut context_alone = cipher.context(true, &[2; 16], &[1; 16]).unwrap();
    assert!(context_alone.update(&[0; 16]).is_ok());
    assert!(pipelines.finish(&mut context, &mut [Vec::new(), Vec::new()]).is_ok());
}

/// Not a promise but a number: how much faster eight chains are side by side.
#[test]
#[ignore = "measures"]
fn eight_chains_are_faster_than_one_after_the_other() {
    let Some(pipelines) = pipelines() else { return };
    let library = Library::millstream();
    for (name, len) in [
        ("AES-128-CBC", 1024),
        ("AES-128-CBC", 8192),
        ("AES-256-CBC", 8192),
        ("CAMELLIA-128-CBC", 8192),
        ("DES-EDE3-CBC", 8192),
    ] {
        let cipher = library.cipher(name).unwrap();
        let (key, ivs) = (vec![7; cipher.key_len()], vec![vec![9; cipher.iv_len()]; 8]);
        let messages = vec![vec![5; len]; 8];
        let inputs: Vec<_> = messages.iter().map(Vec::as_slice).collect();
        let mut together = pipelines.begin(&cipher, true, &key, &ivs).unwrap();
        let mut alone = cipher.context(true, &key, &ivs[0]).unwrap();
        let (mut best_together, mut best_alone) = (f64::MAX, f64::MAX);
        let mut out = vec![0; len + 64];
        let mut outs: Vec<_> = (0..8).map(|_| Vec::with_capacity(len + 64)).collect();
        for _ in 0..50 {
            let start = Instant::now();
            for _ in 0..8 {
                outs.iter_mut().for_each(Vec::clear);
                pipelines.update(&mut together, &inputs, &mut outs).unwrap();
            }
            best_together = best_together.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            for _ in 0..64 {
                alone.update_into(&mut out, inputs[0]).unwrap();
            }
            best_alone = best_alone.min(start.elapsed().as_secs_f64());
        }
        println!("{name} {len}: {:.2} times", best_alone / best_together);
    }
}
