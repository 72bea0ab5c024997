//! Envelopes: every kind of key, several at once, and heads that were changed.

use millstream_cpu::Features;
use millstream_engines::aead::Aead;
use millstream_engines::gcm::Gcm;
use millstream_engines::{Error as EngineError, InOut};
use millstream_files::Error;
use millstream_files::envelope::{Head, Identity, Kind, Recipient, SERVICE_AAD, Service, open, seal};
use millstream_publickey::hybrid::{self, Hybrid};
use millstream_publickey::x25519::PrivateKey;

/// A key of AES-GCM that stands for the service's.
struct Held(Gcm);

impl Service for Held {
    fn wrap(&self, nonce: &[u8; 12], key: &mut [u8; 32]) -> Result<[u8; 16], Error> {
        let mut tag = [0; 16];
        self.0.seal(nonce, SERVICE_AAD, InOut::in_place(key), &mut tag)?;
        Ok(tag)
    }

    fn unwrap(&self, nonce: &[u8; 12], key: &mut [u8; 32], tag: &[u8; 16]) -> Result<bool, Error> {
        match self.0.open(nonce, SERVICE_AAD, InOut::in_place(key), tag) {
            Ok(()) => Ok(true),
            Err(EngineError::Authentication) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn sealed(recipients: &[Recipient<'_>], text: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::new();
    seal(Features::hardware(), recipients).unwrap().run_here(text, &mut sealed).unwrap();
    sealed
}

fn opened(identities: &[Identity<'_>], mut sealed: &[u8]) -> Result<Vec<u8>, Error> {
    let mut plain = Vec::new();
    open(Features::hardware(), &mut sealed, identities)?.run_here(sealed, &mut plain)?;
    Ok(plain)
}

#[test]
fn each_recipient_opens_and_no_other() {
    let features = Features::hardware();
    let held = Held(Gcm::new(features, &[9; 32]).unwrap());
    let other = Held(Gcm::new(features, &[8; 32]).unwrap());
    let pair = PrivateKey::new(features, &[3; 32]).unwrap();
    let public = *pair.public_key().as_bytes();
    let hybrid = hybrid::PrivateKey::from_seed(features, Hybrid::MlKem768X25519, &[5; 32]).unwrap();
    let recipients = [
        Recipient::Key(&[1; 32]),
        Recipient::Passphrase(b"correct horse"),
        Recipient::X25519(&public),
        Recipient::Hybrid(hybrid.public_key()),
        Recipient::Service(&held),
    ];
    let identities = [
        (Identity::Key(&[1; 32]), Identity::Key(&[2; 32])),
        (Identity::Passphrase(b"correct horse"), Identity::Passphrase(b"battery staple")),
        (Identity::X25519(&[3; 32]), Identity::X25519(&[4; 32])),
        (Identity::Hybrid(&[5; 32]), Identity::Hybrid(&[6; 32])),
        (Identity::Service(&held), Identity::Service(&other)),
    ];
    let all = sealed(&recipients, b"for each");
    for (number, (right, wrong)) in identities.iter().enumerate() {
        assert_eq!(opened(&[*right], &all).unwrap(), b"for each");
        assert_eq!(opened(&[*wrong, *right], &all).unwrap(), b"for each");
        assert!(matches!(opened(&[*wrong], &all), Err(Error::NoKey { fitting: true, .. })));
        let alone = sealed(&recipients[number..=number], b"for one");
        assert_eq!(opened(&[*right], &alone).unwrap(), b"for one");
        for (another, (identity, _)) in identities.iter().enumerate() {
            let refused = opened(&[*identity], &alone);
            if another != number {
                assert!(matches!(refused, Err(Error::NoKey { fitting: false, .. })), "{number} by {another}");
            }
        }
    }
}

#[test]
fn sixteen_hybrids_fit_a_head() {
    let features = Features::hardware();
    let key = hybrid::PrivateKey::from_seed(features, Hybrid::MlKem768X25519, &[5; 32]).unwrap();
    let all = sealed(&[Recipient::Hybrid(key.public_key()); 16], b"for all");
    assert_eq!(opened(&[Identity::Hybrid(&[5; 32])], &all).unwrap(), b"for all");
}

#[test]
fn no_bit_of_a_head_can_be_changed() {
    let text = b"some bytes";
    let sealed = sealed(&[Recipient::Key(&[1; 32])], text);
    for at in 0..sealed.len() {
        for bit in [0, 3, 7] {
            let mut changed = sealed.clone();
            changed[at] ^= 1 << bit;
            assert!(opened(&[Identity::Key(&[1; 32])], &changed).is_err(), "bit {bit} of byte {at}");
        }
    }
    for len in 0..sealed.len() {
        assert!(opened(&[Identity::Key(&[1; 32])], &sealed[..len]).is_err(), "{len} bytes");
    }
}

#[test]
fn a_head_comes_back_as_it_was() {
    let features = Features::hardware();
    let (head, key) =
        Head::new(features, Kind::Manifest, &[Recipient::Key(&[1; 32])], b"open text".to_vec()).unwrap();
    let bytes = head.to_bytes();
    let read = Head::read(&mut &bytes[..]).unwrap();
    assert_eq!(read, head);
    assert_eq!(*read.key(features, &[Identity::Key(&[1; 32])]).unwrap(), *key);
    assert!(matches!(Head::new(features, Kind::File, &[], Vec::new()), Err(Error::Limit { .. })));
}

#[test]
fn lengths_are_limited_before_memory_is_taken() {
    let sealed = sealed(&[Recipient::Key(&[1; 32])], b"");
    for at in [10, 12, 16] {
        let mut changed = sealed.clone();
        changed[at] = 0xff;
        let error = opened(&[Identity::Key(&[1; 32])], &changed).unwrap_err();
        assert!(matches!(error, Error::Limit { .. }), "{error}");
    }
}
