//! Asynchronous sessions with keys of the service: many signatures of one thread in flight, and accidents of the service meanwhile.
#![allow(unsafe_code)]

use std::time::{Duration, Instant};

use cryptoki_sys::*;

use crate::bed::{alone, make};
use crate::raw::{Functions, Value, bare, call, good, number};
use crate::service::signal;

/// A pair of the token, the mechanism that it signs with, and sessions in which it does.
struct InFlight {
    functions: Functions,
    sessions: Vec<CK_SESSION_HANDLE>,
    sign: CK_MECHANISM_TYPE,
    keys: [CK_OBJECT_HANDLE; 2],
    places: Vec<[u8; 256]>,
}

impl InFlight {
    /// Makes the pair in the service, and the sessions.
    fn new(sessions: usize) -> Self {
        let functions = Functions::get();
        functions.logged_in();
        let sessions: Vec<_> = (0..sessions).map(|_| functions.session(CKF_ASYNC_SESSION)).collect();
        let places = vec![[0; 256]; sessions.len()];
        InFlight { functions, sessions, sign: 0, keys: [0; 2], places }
    }

    /// Makes another pair.
    fn take_pair(&mut self, generate: CK_MECHANISM_TYPE, how: Value, sign: CK_MECHANISM_TYPE) {
        self.keys = self.functions.pair(self.sessions[0], generate, &[how], &[(CKA_TOKEN, vec![1])]);
        self.sign = sign;
    }

    /// Begins a signature in each session.
    fn begin(&mut self) {
        for (i, (session, place)) in self.sessions.iter().zip(&mut self.places).enumerate() {
            good!(self.functions, C_SignInit(*session, &mut bare(self.sign), self.keys[1]));
            let (mut text, mut len) = ([i as u8; 9], 256);
            let begun =
                call!(self.functions, C_Sign(*session, text.as_mut_ptr(), 9, place.as_mut_ptr(), &mut len));
            assert_eq!(begun, CKR_PENDING);
        }
    }

    /// Collects the signature of each session, verifies those that were made, and returns the answers.
    fn collect(&mut self) -> Vec<CK_RV> {
        let mut answers = Vec::new();
        for (i, (session, place)) in self.sessions.iter().zip(&mut self.places).enumerate() {
            let ended = self.functions.complete(*session);
            if let Ok(len) = ended {
                let (key, text) = (self.keys[0], [i as u8; 9]);
                let told = self.functions.verify(*session, bare(self.sign), key, &text, &place[..len]);
                assert_eq!(told, CKR_OK);
            }
            answers.push(ended.err().unwrap_or(CKR_OK));
            // There is no second answer.
            assert_eq!(self.functions.complete(*session), Err(CKR_OPERATION_NOT_INITIALIZED));
        }
        answers
    }
}

fn p256() -> Value {
    (CKA_EC_PARAMS, b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07".to_vec())
}

#[test]
fn one_thread_has_sixty_four_signatures_in_flight() {
    alone("in_flight::one_thread_has_sixty_four_signatures_in_flight", |bed| {
        let mut service = bed.serve();
        make(&service);
        let mut flight = InFlight::new(64);
        let size = number(CKA_MODULUS_BITS, 2048);
        for (generate, how, sign) in [
            (CKM_RSA_PKCS_KEY_PAIR_GEN, size, CKM_SHA256_RSA_PKCS),
            (CKM_EC_KEY_PAIR_GEN, p256(), CKM_ECDSA_SHA256),
        ] {
            flight.take_pair(generate, how, sign);
            for restarted in [false, true] {
                if restarted {
                    drop(service);
                    service = bed.serve();
                }
                flight.begin();
                assert_eq!(flight.collect(), [CKR_OK; 64]);
            }
        }
    });
}

/// Every session of a thread has an answer when the worker or the service dies while its signatures are in flight, and the sessions go on afterwards.
#[test]
fn signatures_in_flight_end_when_the_service_does() {
    alone("in_flight::signatures_in_flight_end_when_the_service_does", |bed| {
        let service = bed.serve();
        make(&service);
        let mut flight = InFlight::new(16);
        flight.take_pair(CKM_EC_KEY_PAIR_GEN, p256(), CKM_ECDSA_SHA256);
        flight.begin();
        assert_eq!(flight.collect(), [CKR_OK; 16]);

        // The workers compute nothing any more when they die, so nothing of this is done. Another worker takes the key and does it.
        let workers = service.workers();
        workers.iter().for_each(|pid| signal(*pid, "STOP"));
        flight.begin();
        workers.iter().for_each(|pid| signal(*pid, "KILL"));
        let answers = flight.collect();
        let known = |answer: &CK_RV| [CKR_OK, CKR_DEVICE_REMOVED].contains(answer);
        assert!(answers.iter().all(known), "{answers:x?}");
        let begin = Instant::now();
        loop {
            flight.begin();
            if flight.collect() == [CKR_OK; 16] {
                break;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "no signature after the death of a worker");
        }

        // The service, and nobody comes in its place.
        let workers = service.workers();
        workers.iter().for_each(|pid| signal(*pid, "STOP"));
        flight.begin();
        service.signal("KILL");
        workers.iter().for_each(|pid| signal(*pid, "KILL"));
        assert_eq!(flight.collect(), [CKR_DEVICE_REMOVED; 16]);
        drop(service);
        let _service = bed.serve();
        flight.begin();
        assert_eq!(flight.collect(), [CKR_OK; 16]);
    });
}
