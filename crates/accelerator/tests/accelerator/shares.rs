//! The time of an accelerator for private keys, divided between clients whose operations take most unequally long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_accelerator::{Accelerator, FlushPolicy, Key, LocalArena, Turns};
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use millstream_publickey::slhdsa::{PrivateKey, Set};

use crate::queue::{Client, Memory, accelerator};

/// The bytes of a signature of SLH-DSA-SHA2-128f.
const LEN: u16 = 17_088;

/// The time for which each client is measured alone.
const LASTS: Duration = Duration::from_millis(200);

/// A client whose queue is always full of one operation.
struct Signer {
    client: Client,
    word: ControlWord,
    depth: usize,
    in_flight: usize,
}

impl Signer {
    fn new(
        accelerator: &mut Accelerator<Arc<LocalArena>, Memory>,
        key: Key,
        depth: usize,
        word: ControlWord,
    ) -> Self {
        let grant = accelerator.add_grant(Arc::new(LocalArena::new(1 << 16)), 4);
        let algorithm = key.algorithm() as u8;
        let key = accelerator.insert_key(grant, key).expect("a free slot").to_bits();
        let (client, submissions, completions) = Client::new(depth);
        accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
        let word = ControlWord { opcode: Opcode::Sign as u8, algorithm, key, source_len: 32, ..word };
        Signer { client, word, depth, in_flight: 0 }
    }

    /// Takes what has ended, and returns how many signatures that are.
    fn collect(&mut self) -> usize {
        let before = self.in_flight;
        while let Some(completion) = self.client.completed() {
            assert_eq!(completion.status(), Some(Status::Ok));
            self.in_flight -= 1;
        }
        before - self.in_flight
    }

    /// Fills the queue.
    fn fill(&mut self) {
        while self.in_flight < self.depth {
            self.client.submit(&self.word);
            self.in_flight += 1;
        }
    }
}

/// Returns the time that each client's signature takes while all of these clients sign.
fn times<const N: usize>(
    accelerator: &mut Accelerator<Arc<LocalArena>, Memory>,
    mut signers: [&mut Signer; N],
    lasts: Duration,
) -> [Duration; N] {
    let (begin, mut ended) = (Instant::now(), [0; N]);
    while begin.elapsed() < lasts {
        signers.iter_mut().for_each(|signer| signer.fill());
        accelerator.step(0);
        for (ended, signer) in ended.iter_mut().zip(&mut signers) {
            *ended += signer.collect() as u32;
        }
    }
    let lasted = begin.elapsed();
    while signers.iter().any(|signer| signer.in_flight > 0) {
        accelerator.step(0);
        for signer in &mut signers {
            signer.collect();
        }
    }
    ended.map(|ended| lasted / ended)
}

/// Signatures in full lanes cost what lanes take, and not what as many of them would take alone, so their client has half of the time beside another
/// whose signatures fill a turn each.
#[test]
fn signatures_in_lanes_have_half_of_the_time_beside_signatures_on_hashes() {
    let features = Features::hardware();
    let mut accelerator = accelerator(FlushPolicy::default());
    let clock = Instant::now();
    accelerator.bound_turns(Turns::of_private_keys(), move || clock.elapsed().as_nanos() as u64);
    let key = PrivateKey::from_seeds(features, Set::Sha2_128f, &[7; 48]).expect("a key").to_bytes();
    let key = Key::new(features, Algorithm::SlhDsaSha2_128f, &key).expect("a key");
    let word = ControlWord { destination: 4096, mac_key_len: LEN, ..ControlWord::default() };
    let mut slow = Signer::new(&mut accelerator, key, 4, word);
    let key = Key::new(features, Algorithm::Ed25519, &[7; 32]).expect("a key");
    let word = ControlWord { mac: 256, mac_len: 64, ..ControlWord::default() };
    let mut quick = Signer::new(&mut accelerator, key, 4096, word);
    // A machine with other work may take this thread off its processor in one part of a try and not in another.
    let found = (0..5).any(|_| {
        let [slow_alone] = times(&mut accelerator, [&mut slow], LASTS);
        let [quick_alone] = times(&mut accelerator, [&mut quick], LASTS);
        let [slow_beside, quick_beside] = times(&mut accelerator, [&mut slow, &mut quick], 3 * LASTS);
        let [slow, quick] = [(slow_alone, slow_beside), (quick_alone, quick_beside)]
            .map(|(alone, beside)| alone.as_secs_f64() / beside.as_secs_f64());
        let share = quick / (slow + quick);
        println!("{slow_alone:.2?} and {quick_alone:.2?} alone; a share of {share:.2}");
        (0.4..0.6).contains(&share)
    });
    assert!(found, "the quick signatures never had their share");
}
