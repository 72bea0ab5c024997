//! Objects of the AEADs and messages of CMAC that are left off and taken up again, at every byte, from one kernel to another.

use millstream_cpu::Features;
use millstream_engines::aead::{Aead, AeadState};
use millstream_engines::aes::{Cmac, CmacState};
use millstream_engines::chacha20poly1305::{CHACHA20_POLY1305, ChaCha20Poly1305, State as ChaChaState};
use millstream_engines::gcm::{GCM, Gcm, State as GcmState};
use millstream_engines::{Error, InOut};
use millstream_testkit::Random;

const NONCE: [u8; 12] = [9; 12];

/// Every split of associated data and of data, encrypting and decrypting.
fn any_split<S: AeadState>(keys: &[S::Key], begin: impl Fn(&S::Key) -> S)
where
    S::Key: Aead,
{
    let (aad, plain) = (Random::new(1).bytes(35), Random::new(2).bytes(150));
    let (mut sealed, mut tag) = (plain.clone(), [0; 16]);
    keys[0].seal(&NONCE, &aad, InOut::in_place(&mut sealed), &mut tag).unwrap();
    for (from, to) in keys.iter().flat_map(|from| keys.iter().map(move |to| (from, to))) {
        for at in 0..=aad.len() {
            let mut state = begin(from);
            state.aad(from, &aad[..at]).unwrap();
            let mut state = S::import(to, &state.export()).unwrap();
            state.aad(to, &aad[at..]).unwrap();
            let mut data = plain.clone();
            state.encrypt(to, InOut::in_place(&mut data)).unwrap();
            assert!((data, state.tag(to)) == (sealed.clone(), tag), "associated data, at {at}");
        }
        for at in 0..=plain.len() {
            for decrypts in [false, true] {
                let (input, expected) = if decrypts { (&sealed, &plain) } else { (&plain, &sealed) };
                let pass = |state: &mut S, key: &S::Key, bytes: &mut [u8]| match decrypts {
                    false => state.encrypt(key, InOut::in_place(bytes)),
                    true => state.decrypt_unverified(key, InOut::in_place(bytes)),
                };
                let mut data = input.clone();
                let mut state = begin(from);
                state.aad(from, &aad).unwrap();
                pass(&mut state, from, &mut data[..at]).unwrap();
                let mut state = S::import(to, &state.export()).unwrap();
                pass(&mut state, to, &mut data[at..]).unwrap();
                assert!((&data, state.tag(to)) == (expected, tag), "data, at {at}");
            }
        }
    }
}

/// What can be no state is refused, and whatever is taken up does no harm.
fn nonsense<S: AeadState>(key: &S::Key, begin: impl Fn(&S::Key) -> S) {
    let mut state = begin(key);
    state.aad(key, b"header").unwrap();
    state.encrypt(key, InOut::in_place(&mut [1; 21])).unwrap();
    let saved = state.export();
    for len in 0..saved.len() {
        assert_eq!(S::import(key, &saved[..len]).err(), Some(Error::MidState), "cut to {len} bytes");
    }
    assert_eq!(S::import(key, &[&saved[..], &[0]].concat()).err(), Some(Error::MidState));
    assert_eq!(S::import(key, &[&[3], &saved[1..]].concat()).err(), Some(Error::MidState));
    assert_eq!(S::import(key, &[&[0], &saved[1..]].concat()).err(), Some(Error::MidState));
    let mut random = Random::new(3);
    for _ in 0..2000 {
        let mut bytes = random.bytes(saved.len());
        bytes[0] %= 3;
        if let Ok(mut state) = S::import(key, &bytes) {
            // Perhaps it is too long, or has begun the other way.
            let _ = state.encrypt(key, InOut::in_place(&mut [1; 100]));
            state.tag(key);
        }
    }
}

#[test]
fn gcm() {
    let kernels = GCM.available(Features::hardware());
    let keys: Vec<_> = kernels.map(|kernel| Gcm::with_kernel(kernel, &[7; 32]).unwrap()).collect();
    any_split::<GcmState>(&keys, |key| key.begin(&NONCE).unwrap());
    nonsense::<GcmState>(&keys[0], |key| key.begin(&NONCE).unwrap());
}

#[test]
fn chacha20_poly1305() {
    let kernels = CHACHA20_POLY1305.available(Features::hardware());
    let keys: Vec<_> =
        kernels.map(|kernel| ChaCha20Poly1305::with_kernel(kernel, &[7; 32]).unwrap()).collect();
    any_split::<ChaChaState>(&keys, |key| key.begin(&NONCE).unwrap());
    nonsense::<ChaChaState>(&keys[0], |key| key.begin(&NONCE).unwrap());
}

#[test]
fn cmac() {
    let message = Random::new(4).bytes(100);
    let key = Cmac::new(Features::hardware(), &[7; 16]).unwrap();
    for at in 0..=message.len() {
        let mut state = key.begin();
        state.update(&key, &message[..at]);
        let saved = state.export();
        let mut state = CmacState::import(&saved).unwrap();
        state.update(&key, &message[at..]);
        assert_eq!(state.tag(&key), key.mac(&message), "at {at}");
        assert_eq!(CmacState::import(&saved[..15]).unwrap_err(), Error::MidState);
        assert_eq!(CmacState::import(&[7; 33]).unwrap_err(), Error::MidState);
    }
}
