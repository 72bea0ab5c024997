//! The answers of the agent to messages.
//!
//! Keys come from a token, so nobody adds or removes any here, and constraints that would come with added keys have no
//! place: such messages are refused, as are all extensions.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use millstream::hash::Hash;
use millstream::hmac::HmacKey;
use millstream_cpu::Features;

use super::confirm::Confirm;
use super::identity::Identity;
use super::wire::{Reader, put_string};

const FAILURE: u8 = 5;
const SUCCESS: u8 = 6;
const REQUEST_IDENTITIES: u8 = 11;
const IDENTITIES_ANSWER: u8 = 12;
const SIGN_REQUEST: u8 = 13;
const SIGN_RESPONSE: u8 = 14;
const LOCK: u8 = 22;
const UNLOCK: u8 = 23;

/// The longest wait after a wrong passphrase.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// An agent.
pub struct Agent {
    features: Features,
    identities: RwLock<Vec<Identity>>,
    confirm: Option<Confirm>,
    lock: Mutex<Lock>,
}

/// The lock that a client puts on the agent.
#[derive(Default)]
struct Lock {
    /// The code of the passphrase under a key that is made for it; none while the agent is not locked.
    code: Option<(HmacKey, Vec<u8>)>,
    /// The number of wrong passphrases since it was locked.
    wrong: u32,
}

impl Agent {
    /// Makes an agent with keys.
    pub fn new(features: Features, identities: Vec<Identity>, confirm: Option<Confirm>) -> Self {
        Agent { features, identities: RwLock::new(identities), confirm, lock: Mutex::default() }
    }

    /// Forgets all keys.
    pub fn forget(&self) {
        self.identities.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn lock(&self) -> MutexGuard<'_, Lock> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a message. `wait` is called with the time to wait before an answer that says that a passphrase was wrong.
    pub fn answer(&self, message: &[u8], wait: impl FnOnce(Duration)) -> Vec<u8> {
        let Some((kind, contents)) = message.split_first() else { return vec![FAILURE] };
        let mut contents = Reader(contents);
        let answer = match *kind {
            REQUEST_IDENTITIES if contents.0.is_empty() => Some(self.list()),
            SIGN_REQUEST => self.sign(&mut contents),
            LOCK => contents.string().filter(|_| contents.0.is_empty()).and_then(|word| self.close(word)),
            UNLOCK => {
                contents.string().filter(|_| contents.0.is_empty()).and_then(|word| self.open(word, wait))
            }
            _ => None,
        };
        answer.unwrap_or_else(|| vec![FAILURE])
    }

    fn list(&self) -> Vec<u8> {
        let is_locked = self.lock().code.is_some();
        let identities = self.identities.read().unwrap_or_else(PoisonError::into_inner);
        let shown = if is_locked { &[][..] } else { &identities[..] };
        let mut answer = vec![IDENTITIES_ANSWER];
        answer.extend((shown.len() as u32).to_be_bytes());
        for identity in shown {
            put_string(&mut answer, &identity.blob);
            put_string(&mut answer, identity.comment.as_bytes());
        }
        answer
    }

    fn sign(&self, contents: &mut Reader<'_>) -> Option<Vec<u8>> {
        let (blob, message, flags) = (contents.string()?, contents.string()?, contents.number()?);
        if !contents.0.is_empty() || self.lock().code.is_some() {
            return None;
        }
        let named = |identities: &[Identity]| {
            identities.iter().find(|identity| identity.blob == blob).map(|identity| identity.comment.clone())
        };
        let comment = named(&self.identities.read().unwrap_or_else(PoisonError::into_inner))?;
        // The question takes as long as a person does, and holds nothing.
        if self.confirm.as_ref().is_some_and(|confirm| !confirm.ask(&comment)) {
            return None;
        }
        let identities = self.identities.read().unwrap_or_else(PoisonError::into_inner);
        let identity = identities.iter().find(|identity| identity.blob == blob)?;
        let signature = identity.sign(self.features, message, flags).ok()??;
        let mut answer = vec![SIGN_RESPONSE];
        put_string(&mut answer, &signature);
        Some(answer)
    }

    fn close(&self, word: &[u8]) -> Option<Vec<u8>> {
        let mut lock = self.lock();
        if lock.code.is_some() {
            return None;
        }
        let mut key = zeroize::Zeroizing::new([0; 32]);
        getrandom::fill(&mut key[..]).ok()?;
        let key = HmacKey::new(self.features, Hash::Sha256, &key[..]);
        let code = key.sign(word).to_vec();
        *lock = Lock { code: Some((key, code)), wrong: 0 };
        Some(vec![SUCCESS])
    }

    fn open(&self, word: &[u8], wait: impl FnOnce(Duration)) -> Option<Vec<u8>> {
        let mut lock = self.lock();
        let (key, code) = lock.code.as_ref()?;
        if key.verify(word, code).is_ok() {
            *lock = Lock::default();
            return Some(vec![SUCCESS]);
        }
        lock.wrong = lock.wrong.saturating_add(1);
        let time = (Duration::from_millis(100) * lock.wrong).min(LONGEST_WAIT);
        drop(lock);
        wait(time);
        None
    }
}

#[cfg(test)]
mod tests {
    use millstream_files::key::{Key, Kind};

    use super::*;

    fn agent() -> (Agent, Vec<u8>) {
        let features = Features::hardware();
        let key = Key::generate(features, Kind::Ed25519, None).unwrap();
        let identity = Identity::new(features, "signer", &key).unwrap().unwrap();
        let blob = identity.blob.clone();
        (Agent::new(features, vec![identity], None), blob)
    }

    fn message(kind: u8, strings: &[&[u8]], flags: Option<u32>) -> Vec<u8> {
        let mut message = vec![kind];
        strings.iter().for_each(|string| put_string(&mut message, string));
        message.extend(flags.into_iter().flat_map(u32::to_be_bytes));
        message
    }

    fn nothing(_: Duration) {}

    #[test]
    fn a_locked_agent_shows_and_signs_nothing() {
        let (agent, blob) = agent();
        let sign = message(SIGN_REQUEST, &[&blob, b"data"], Some(0));
        let lists = |agent: &Agent| agent.answer(&[REQUEST_IDENTITIES], nothing);
        assert_eq!(lists(&agent)[..5], [IDENTITIES_ANSWER, 0, 0, 0, 1]);
        assert_eq!(agent.answer(&sign, nothing)[0], SIGN_RESPONSE);
        assert_eq!(agent.answer(&message(LOCK, &[b"word"], None), nothing), [SUCCESS]);
        assert_eq!(agent.answer(&message(LOCK, &[b"word"], None), nothing), [FAILURE]);
        assert_eq!(
            (lists(&agent), agent.answer(&sign, nothing)),
            (vec![IDENTITIES_ANSWER, 0, 0, 0, 0], vec![FAILURE])
        );
        for times in 1..=60u32 {
            let mut waited = Duration::ZERO;
            assert_eq!(agent.answer(&message(UNLOCK, &[b"ward"], None), |time| waited = time), [FAILURE]);
            assert_eq!(waited, (Duration::from_millis(100) * times).min(LONGEST_WAIT));
        }
        assert_eq!(agent.answer(&message(UNLOCK, &[b"word"], None), nothing), [SUCCESS]);
        assert_eq!(agent.answer(&sign, nothing)[0], SIGN_RESPONSE);
        agent.forget();
        assert_eq!(agent.answer(&sign, nothing), [FAILURE]);
    }

    #[test]
    fn whatever_else_is_asked_is_refused() {
        let (agent, blob) = agent();
        for kind in 0..=255 {
            if [REQUEST_IDENTITIES, LOCK, UNLOCK].contains(&kind) {
                continue;
            }
            assert_eq!(
                agent.answer(&message(kind, &[b"some", b"thing"], Some(1)), nothing),
                [FAILURE],
                "{kind}"
            );
        }
        let sign = message(SIGN_REQUEST, &[&blob, b"data"], Some(0));
        for cut in 0..sign.len() {
            assert_eq!(agent.answer(&sign[..cut], nothing), [FAILURE], "{cut}");
        }
        assert_eq!(agent.answer(&[&sign[..], &[0]].concat(), nothing), [FAILURE]);
        assert_eq!(agent.answer(&message(SIGN_REQUEST, &[&blob, b"data"], Some(8)), nothing), [FAILURE]);
    }
}
