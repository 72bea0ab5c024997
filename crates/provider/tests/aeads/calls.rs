//! Any calls in any order, random vectors, and refusals.
//!
//! # Safety
//! As in the support module: functions of libcrypto are called as its manual says.

use std::ffi::c_int;

use millstream_testkit::Random;

use crate::common::{
    AEADS, AeadContext, GET_TAG, IV_GEN, SET_IV_FIXED, SET_IV_INV, SET_IV_LEN, SET_TAG, TAG, begin, cipher,
    open,
};
use crate::records::record_aad;
use crate::support::{self, CipherContext, Library, Param, Refused, done, version};
#[test]
fn a_vector_that_was_not_given_is_random() {
    let ours = Library::millstream();
    let cipher = cipher(&ours, "AES-256-GCM").unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let mut context = CipherContext::new();
        context.init(Some(&cipher), true, Some(&[1; 32]), None, &[]).unwrap();
        let before = context.octets(c"iv", 12);
        let sealed = context.update(b"message").unwrap();
        assert_eq!(context.number(c"iv-generated").unwrap(), 1);
        let iv = context.octets(c"iv", 12).unwrap();
        // Since OpenSSL 4.0, asking for the vector makes it.
        assert_eq!(before.ok(), (support::version().0 >= 4).then(|| iv.clone()));
        context.finish().unwrap();
        let tag = context.tag(TAG).unwrap();
        let mut receiving = begin(&ours, "AES-256-GCM", false, &[1; 32], &iv);
        assert_eq!(receiving.number(c"iv-generated").unwrap(), 0);
        assert_eq!(open(&mut receiving, true, &tag, &[], &[&sealed]), (b"message".to_vec(), true));
        assert!(!seen.contains(&iv));
        seen.push(iv);
    }
    // A caller who asks before the first data gets the default provider's answer.
    let theirs = Library::openssl();
    for (encrypt, announced) in [(true, false), (false, false), (true, true)] {
        let answers = [&ours, &theirs].map(|library| {
            let cipher = library.cipher("AES-256-GCM").unwrap();
            let mut context = CipherContext::new();
            context.init(Some(&cipher), encrypt, Some(&[1; 32]), None, &[]).unwrap();
            if announced {
                context.announce(&record_aad(1, 40));
            }
            context.octets(c"updated-iv", 12).is_ok()
        });
        assert_eq!(answers[0], answers[1], "encrypts: {encrypt}, announced: {announced}");
    }
    // None that is shorter than 12 bytes, and none to decrypt with.
    let mut context = CipherContext::new();
    context.init(Some(&cipher), true, Some(&[1; 32]), None, &[]).unwrap();
    assert_eq!(context.ctrl(SET_IV_LEN, 11, &mut []), 1);
    context.update(b"message").unwrap_err();
    let mut context = CipherContext::new();
    context.init(Some(&cipher), false, Some(&[1; 32]), None, &[]).unwrap();
    context.update(b"message").unwrap_err();
}

/// A step of a script: its name, and its output or error.
#[derive(Debug, PartialEq)]
struct Step(&'static str, Result<Vec<u8>, String>);

fn outcome(name: &'static str, result: Result<Vec<u8>, Refused>, why: bool) -> Step {
    Step(name, result.map_err(|refused| if why { reason(&refused) } else { String::new() }))
}

/// Returns the error's own words, without the detail after them.
fn reason(refused: &Refused) -> String {
    refused.text.rsplit(':').next().unwrap_or_default().to_owned()
}

/// Makes calls in an order that the seed decides: the same on both sides.
fn script(library: &Library, name: &str, seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed);
    let cipher = cipher(library, name).unwrap();
    let gcm = name.ends_with("GCM");
    let (key_len, mut iv_len) = (cipher.key_len(), 12);
    let mut context = CipherContext::new();
    let mut encrypt = random.below(2) == 0;
    context.init(Some(&cipher), encrypt, None, None, &[]).unwrap();
    let mut steps = Vec::new();
    let (mut finished, mut refused_tag) = (false, false);
    // Without a key or a vector the default provider may compute on with garbage, so such steps are left out.
    let (mut keyed, mut vectored) = (false, false);
    for _ in 0..20 {
        let choice = random.below(16);
        let bytes = |random: &mut Random, limit| {
            let len = random.below(limit);
            random.bytes(len)
        };
        let step = match choice {
            0 | 1 => {
                encrypt = random.below(2) == 0;
                let (key, iv) = (random.bytes(key_len), random.bytes(iv_len));
                (keyed, vectored, finished) = (true, true, false);
                outcome(
                    "init",
                    context.init(None, encrypt, Some(&key), Some(&iv), &[]).map(|()| vec![]),
                    true,
                )
            }
            2 if keyed => {
                let iv = random.bytes(iv_len);
                (vectored, finished) = (true, false);
                outcome("vector", context.init(None, encrypt, None, Some(&iv), &[]).map(|()| vec![]), true)
            }
            3 if gcm => {
                let len = [0, 1, 7, 12, 12, 12, 16, 128, 129][random.below(9)];
                let result = done(context.ctrl(SET_IV_LEN, len, &mut []));
                if result.is_ok() {
                    vectored &= iv_len == len as usize;
                    iv_len = len as usize;
                }
                outcome("vector's length", result.map(|()| vec![]), true)
            }
            4 | 5 => {
                let tag = bytes(&mut random, 18);
                // Later versions put an error of another library first.
                let result = context.expect(&tag).map(|()| vec![]);
                refused_tag |= result.is_err();
                outcome("set tag", result, tag.len() <= TAG && !tag.is_empty())
            }
            6 | 7 => {
                // Before the end of the first message the default provider's tag is whatever lies there; and a tag that it
                // refuses it keeps all the same.
                let len = 1 + random.below(17);
                if finished && !refused_tag || !encrypt {
                    outcome("get tag", context.tag(len), true)
                } else {
                    continue;
                }
            }
            8 | 9 if keyed && vectored && (gcm || !finished) => {
                let aad = bytes(&mut random, 40);
                if !gcm
                    && version() < (4, 0)
                    && steps
                        .iter()
                        .rev()
                        .take_while(|Step(name, _)| *name != "init" && *name != "vector")
                        .any(|Step(name, _)| *name == "data")
                {
                    // Before 4.0 it takes associated data after data, and computes a tag that means nothing.
                    continue;
                }
                outcome("associated", context.associate(&aad).map(|()| vec![]), gcm)
            }
            10..=12 if keyed && vectored && (gcm || !finished) => {
                let data = bytes(&mut random, 100);
                outcome("data", context.update(&data), gcm)
            }
            13 | 14 if keyed && vectored && !finished => {
                finished = true;
                let no_tag = !encrypt && !gcm && context.number(c"taglen").unwrap() == 0;
                if no_tag && version() < (4, 0) {
                    // Before 4.0 it takes anything for right then.
                    continue;
                }
                let result = context.finish();
                // The default provider computes on after a wrong tag.
                vectored &= result.is_ok();
                outcome("end", result, false)
            }
            _ => {
                let numbers = [c"keylen", c"ivlen", c"taglen"].map(|key| context.number(key).unwrap() as u8);
                outcome("lengths", Ok(numbers.to_vec()), true)
            }
        };
        steps.push(step);
    }
    steps
}

#[test]
fn any_calls_in_any_order_are_as_the_default_providers() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    for name in AEADS {
        for seed in 1..3000 {
            assert_eq!(script(&ours, name, seed), script(&theirs, name, seed), "{name}, seed {seed}");
        }
    }
}

/// Calls that are refused before anything is computed get the default provider's words.
#[test]
fn refusals_are_as_the_default_providers() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let gcm = |library: &Library, encrypt: bool, key: bool| {
        let cipher = cipher(library, "AES-128-GCM").unwrap();
        let mut context = CipherContext::new();
        context.init(Some(&cipher), encrypt, key.then_some(&[1; 16]), None, &[]).unwrap();
        context
    };
    type Try = fn(&mut CipherContext) -> c_int;
    let tries: &[(bool, bool, Try)] = &[
        (true, false, |context| c_int::from(context.update(b"data").is_ok())),
        (true, true, |context| context.ctrl(IV_GEN, 8, &mut [0; 8])),
        (true, true, |context| context.ctrl(SET_IV_FIXED, 3, &mut [0; 3])),
        (true, true, |context| context.ctrl(SET_IV_FIXED, 5, &mut [0; 5])),
        (true, true, |context| context.ctrl(SET_IV_INV, 8, &mut [0; 8])),
        (false, true, |context| context.ctrl(SET_IV_INV, 8, &mut [0; 8])),
        (true, true, |context| context.announce(&[0; 12])),
        (true, true, |context| context.announce(&record_aad(0, 7))),
        (false, true, |context| context.announce(&record_aad(0, 23))),
        (true, true, |context| context.ctrl(SET_TAG, 16, &mut [0; 16])),
        (true, true, |context| context.ctrl(GET_TAG, 16, &mut [0; 16])),
        (false, true, |context| context.ctrl(GET_TAG, 16, &mut [0; 16])),
        (true, true, |context| context.ctrl(SET_IV_LEN, 0, &mut [])),
        (true, true, |context| context.ctrl(SET_IV_LEN, 129, &mut [])),
        (true, true, |context| c_int::from(context.set_number(c"keylen", 17).is_ok())),
        (true, true, |context| {
            let mut short = [0; 11];
            context.init(None, true, None, Some(&[1; 12]), &[]).unwrap();
            c_int::from(context.get(&[Param::octets(c"iv", &mut short)]).is_ok())
        }),
    ];
    for (i, (encrypt, key, call)) in tries.iter().enumerate() {
        let run = |library: &Library| {
            let mut context = gcm(library, *encrypt, *key);
            (call(&mut context), reason(&support::refused()))
        };
        assert_eq!(run(&ours), run(&theirs), "number {i}");
    }
}
