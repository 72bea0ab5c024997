//! The complaints that users have of other tokens, each as a test on the C functions themselves: threads in one session, slow look-up and copies,
//! forks at any point, ends in every order, and stale handles.

mod support;

#[path = "support/functions.rs"]
#[macro_use]
mod functions;

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cryptoki_sys::*;
use functions::{Module, P256, attributes, bare, loaded, number};
use support::{PIN, alone};

#[test]
fn up_to_sixteen_threads_share_one_session() {
    alone("up_to_sixteen_threads_share_one_session", || {
        let module = loaded();
        let session = module.log_in();
        let (public, private) = module.pair(session, &[]);
        for threads in [1, 2, 4, 8, 16] {
            let mut signatures = Vec::new();
            thread::scope(|scope| {
                let work = || {
                    (0..200).filter_map(|_| match module.sign(session, private) {
                        Ok(signature) => Some(signature),
                        // Another thread's operation is under way, or took what this one began.
                        Err(CKR_OPERATION_ACTIVE | CKR_OPERATION_NOT_INITIALIZED) => None,
                        Err(value) => panic!("{value:#x}"),
                    })
                };
                let running: Vec<_> =
                    (0..threads).map(|_| scope.spawn(move || work().collect::<Vec<_>>())).collect();
                running.into_iter().for_each(|thread| signatures.extend(thread.join().unwrap()));
            });
            assert!(!signatures.is_empty() && (threads > 1 || signatures.len() == 200));
            // An operation may be left by a thread that lost.
            call!(module, C_SessionCancel, session, CKF_SIGN);
            for mut signature in signatures {
                let mut digest = [7; 32];
                good!(module, C_VerifyInit, session, &mut bare(CKM_ECDSA), public);
                good!(module, C_Verify, session, digest.as_mut_ptr(), 32, signature.as_mut_ptr(), 64);
            }
        }
    });
}

#[test]
fn ten_thousand_objects_are_found_and_copied_at_once() {
    alone("ten_thousand_objects_are_found_and_copied_at_once", || {
        let module = loaded();
        let session = module.log_in();
        // All have the same label, so only the identifier tells them apart.
        let named = |i: u32| vec![(CKA_LABEL, b"same".to_vec()), (CKA_ID, i.to_be_bytes().to_vec())];
        for i in 0..10_000 {
            module.generate(session, CKM_AES_KEY_GEN, &[named(i), vec![number(CKA_VALUE_LEN, 32)]].concat());
        }
        let fastest = |work: &mut dyn FnMut(u32)| {
            let round = |round: u32, work: &mut dyn FnMut(u32)| {
                let begin = Instant::now();
                (0..100).for_each(|i| work(round * 100 + i));
                begin.elapsed() / 100
            };
            (0..20).map(|i| round(i, work)).min().unwrap()
        };
        let by_id =
            fastest(&mut |i| assert_eq!(module.find(session, &[(CKA_ID, named(i)[1].1.clone())]).len(), 1));
        let by_both = fastest(&mut |i| assert_eq!(module.find(session, &named(i)).len(), 1));
        let key = module.find(session, &named(77))[0];
        let copy = fastest(&mut |_| {
            let mut copied = 0;
            good!(module, C_CopyObject, session, key, ptr::null_mut(), 0, &mut copied);
            good!(module, C_DestroyObject, session, copied);
        });
        let sessions = fastest(&mut |_| {
            let other = module.open();
            good!(module, C_CloseSession, other,);
        });
        println!("by id {by_id:?}, by label and id {by_both:?}, copied {copy:?}, session {sessions:?}");
        let most = Duration::from_micros(10);
        assert!(by_id < most && by_both < most, "{by_id:?}, {by_both:?}");
        assert!(copy < 3 * most && sessions < 3 * most, "{copy:?}, {sessions:?}");
    });
}

#[test]
fn a_child_of_a_fork_at_any_point_starts_anew() {
    alone("a_child_of_a_fork_at_any_point_starts_anew", || {
        let module = loaded();
        let session = module.log_in();
        let (_, private) = module.pair(session, &[]);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            // Threads are somewhere in the module when the process forks.
            for _ in 0..3 {
                scope.spawn(|| {
                    let own = module.open();
                    while !stop.load(Ordering::Relaxed) {
                        module.sign(own, private).unwrap();
                        module.find(own, &[(CKA_ID, vec![1])]);
                        let other = module.open();
                        good!(module, C_CloseSession, other,);
                    }
                });
            }
            for _ in 0..60 {
                // SAFETY: the child calls the module and exits.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    let lost = module.sign(session, private) == Err(CKR_CRYPTOKI_NOT_INITIALIZED);
                    module.initialise();
                    let own = module.log_in();
                    let (_, key) = module.pair(own, &[]);
                    let works = module.sign(own, key).is_ok();
                    // SAFETY: nothing of the child is needed any more.
                    unsafe { libc::_exit(i32::from(!lost || !works)) }
                }
                let mut status = 0;
                let begin = Instant::now();
                // SAFETY: `status` is a place for the status.
                while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == 0 {
                    if begin.elapsed() > Duration::from_secs(20) {
                        // SAFETY: it is this test's child.
                        unsafe { libc::kill(child, libc::SIGKILL) };
                        stop.store(true, Ordering::Relaxed);
                        panic!("the child hangs");
                    }
                    thread::sleep(Duration::from_millis(1));
                }
                assert_eq!(status, 0);
            }
            stop.store(true, Ordering::Relaxed);
        });
        module.sign(session, private).unwrap();
    });
}

#[test]
fn the_module_ends_in_every_order() {
    alone("the_module_ends_in_every_order", || {
        let module = loaded();
        assert_eq!(call!(module, C_Initialize, ptr::null_mut()), CKR_CRYPTOKI_ALREADY_INITIALIZED);
        let session = module.log_in();
        let (_, private) = module.pair(session, &[]);
        // A thread that waits for an event is told of the end.
        let waits = thread::spawn(move || {
            let mut slot = 0;
            call!(module, C_WaitForSlotEvent, 0, &mut slot, ptr::null_mut())
        });
        let mut slot = 0;
        assert_eq!(
            call!(module, C_WaitForSlotEvent, CKF_DONT_BLOCK, &mut slot, ptr::null_mut()),
            CKR_NO_EVENT
        );
        thread::sleep(Duration::from_millis(50));
        assert!(!waits.is_finished());
        good!(module, C_Finalize, ptr::null_mut());
        assert_eq!(waits.join().unwrap(), CKR_CRYPTOKI_NOT_INITIALIZED);
        assert_eq!(call!(module, C_Finalize, ptr::null_mut()), CKR_CRYPTOKI_NOT_INITIALIZED);
        assert_eq!(module.sign(session, private), Err(CKR_CRYPTOKI_NOT_INITIALIZED));
        // Handles of before mean nothing after a new begin.
        module.initialise();
        assert_eq!(module.sign(session, private), Err(CKR_SESSION_HANDLE_INVALID));
        let session = module.log_in();
        let (_, again) = module.pair(session, &[]);
        module.sign(session, again).unwrap();
        // Unloaded without an end, and loaded again.
        // SAFETY: nothing of the library is used after this.
        unsafe { libc::dlclose(module.1 as *mut c_void) };
        let module = Module::load();
        match call!(module, C_Initialize, ptr::null_mut()) {
            CKR_OK | CKR_CRYPTOKI_ALREADY_INITIALIZED => {}
            value => panic!("{value:#x}"),
        }
        module.open();
        // The last end comes when the process is about to be gone.
        extern "C" fn ends() {
            let module = Module::load();
            if call!(module, C_Finalize, ptr::null_mut()) != CKR_OK {
                // SAFETY: the process ends here.
                unsafe { libc::_exit(9) }
            }
        }
        // SAFETY: the function needs nothing of this test.
        assert_eq!(unsafe { libc::atexit(ends) }, 0);
    });
}

#[test]
fn stale_handles_never_hit_another_object() {
    alone("stale_handles_never_hit_another_object", || {
        let module = loaded();
        let session = module.log_in();
        let mut seen = HashMap::new();
        for i in 0..300u32 {
            let key = module.generate(session, CKM_AES_KEY_GEN, &[number(CKA_VALUE_LEN, 16)]);
            assert_eq!(seen.insert(key, i), None, "the handle was another object's");
            good!(module, C_DestroyObject, session, key);
            for stale in seen.keys() {
                let refused = call!(module, C_EncryptInit, session, &mut bare(CKM_AES_ECB), *stale);
                assert_eq!(refused, CKR_KEY_HANDLE_INVALID);
            }
        }
        let other = module.open();
        good!(module, C_CloseSession, other,);
        let again = module.open();
        assert_ne!(other, again);
        assert_eq!(call!(module, C_DigestInit, other, &mut bare(CKM_SHA256)), CKR_SESSION_HANDLE_INVALID);
    });
}

#[test]
fn a_key_that_wants_the_pin_each_time_gets_it_each_time() {
    alone("a_key_that_wants_the_pin_each_time_gets_it_each_time", || {
        let module = loaded();
        let session = module.log_in();
        let (_, key) = module.pair(session, &[(CKA_ALWAYS_AUTHENTICATE, vec![1])]);
        assert_eq!(module.sign(session, key), Err(CKR_USER_NOT_LOGGED_IN));
        call!(module, C_SessionCancel, session, CKF_SIGN);
        let mut pin = PIN.as_bytes().to_vec();
        let (mut digest, mut signature) = ([7; 32], [0; 64]);
        for _ in 0..2 {
            let early = call!(module, C_Login, session, CKU_CONTEXT_SPECIFIC, pin.as_mut_ptr(), 6);
            assert_eq!(early, CKR_OPERATION_NOT_INITIALIZED);
            good!(module, C_SignInit, session, &mut bare(CKM_ECDSA), key);
            let mut wrong = *b"000000";
            let refused = call!(module, C_Login, session, CKU_CONTEXT_SPECIFIC, wrong.as_mut_ptr(), 6);
            assert_eq!(refused, CKR_PIN_INCORRECT);
            good!(module, C_Login, session, CKU_CONTEXT_SPECIFIC, pin.as_mut_ptr(), 6);
            good!(module, C_Sign, session, digest.as_mut_ptr(), 32, signature.as_mut_ptr(), &mut 64);
            assert_eq!(module.sign(session, key), Err(CKR_USER_NOT_LOGGED_IN));
            call!(module, C_SessionCancel, session, CKF_SIGN);
        }
    });
}

#[test]
fn a_digest_goes_on_in_another_session() {
    alone("a_digest_goes_on_in_another_session", || {
        let module = loaded();
        let (session, other) = (module.open(), module.open());
        let mut text = *b"keys that stay, in two parts";
        good!(module, C_DigestInit, session, &mut bare(CKM_SHA256));
        good!(module, C_DigestUpdate, session, text.as_mut_ptr(), 13);
        let (mut state, mut len) = (vec![0; 512], 0);
        good!(module, C_GetOperationState, session, ptr::null_mut(), &mut len);
        good!(module, C_GetOperationState, session, state.as_mut_ptr(), &mut len);
        good!(module, C_SetOperationState, other, state.as_mut_ptr(), len, 0, 0);
        let mut digests = [[0; 32]; 2];
        for (session, digest) in [session, other].into_iter().zip(&mut digests) {
            good!(module, C_DigestUpdate, session, text[13..].as_mut_ptr(), 15);
            good!(module, C_DigestFinal, session, digest.as_mut_ptr(), &mut 32);
        }
        let mut expected = [0; 32];
        let features = millstream::features().unwrap();
        millstream::hash::digest(features, millstream::hash::Hash::Sha256, &text, &mut expected).unwrap();
        assert_eq!(digests, [expected; 2]);
        // Any bytes but a state are refused, and leave nothing under way.
        for cut in 0..len as usize {
            let refused =
                call!(module, C_SetOperationState, other, state.as_mut_ptr(), cut as CK_ULONG, 0, 0);
            assert_eq!(refused, CKR_SAVED_STATE_INVALID, "{cut}");
        }
    });
}

#[test]
fn both_encodings_of_points_are_taken() {
    alone("both_encodings_of_points_are_taken", || {
        let module = loaded();
        let session = module.log_in();
        let (public, private) = module.pair(session, &[]);
        let mut signature = module.sign(session, private).unwrap();
        let mut point = vec![0; 67];
        let mut wanted =
            [CK_ATTRIBUTE { type_: CKA_EC_POINT, pValue: point.as_mut_ptr().cast(), ulValueLen: 67 }];
        good!(module, C_GetAttributeValue, session, public, wanted.as_mut_ptr(), 1);
        assert_eq!(point[..3], [4, 65, 4], "the standard's form: an OCTET STRING");
        for form in [&point[..], &point[2..]] {
            let template = [
                number(CKA_CLASS, CKO_PUBLIC_KEY),
                number(CKA_KEY_TYPE, CKK_EC),
                (CKA_EC_PARAMS, P256.to_vec()),
                (CKA_EC_POINT, form.to_vec()),
            ];
            let (mut template, mut key, mut digest) = (attributes(&template), 0, [7; 32]);
            good!(module, C_CreateObject, session, template.as_mut_ptr(), 4, &mut key);
            good!(module, C_VerifyInit, session, &mut bare(CKM_ECDSA), key);
            good!(module, C_Verify, session, digest.as_mut_ptr(), 32, signature.as_mut_ptr(), 64);
        }
    });
}
