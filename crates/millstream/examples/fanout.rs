//! Measures one packet for 64 receivers: [`protect_many`] beside a loop over libsrtp2, in turns, with the outputs compared.
//!
//! `cargo run --release -p millstream --example fanout`. `LD_LIBRARY_PATH` chooses another libsrtp2 than the system's.

#[path = "support/libsrtp.rs"]
#[allow(dead_code, reason = "RTCP is not measured")]
mod libsrtp;

use std::time::Instant;

use libsrtp::Theirs;
use millstream::srtp::{Error, Outgoing, Profile, Sender, protect_many};

const RECEIVERS: usize = 64;
const BYTES: usize = 160;
const ROUNDS: u16 = 4000;

fn main() -> Result<(), Error> {
    println!("{:24} {:>14} {:>14} {:>6}", "profile", "libsrtp2, ns", "Millstream, ns", "ratio");
    for profile in [Profile::AeadAes128Gcm, Profile::AeadAes256Gcm, Profile::Aes128CmSha1Tag80] {
        let len = profile.key_len() + profile.salt_len();
        let keys: Vec<Vec<u8>> = (0..RECEIVERS).map(|i| vec![i as u8; len]).collect();
        let theirs: Vec<Theirs> = keys.iter().map(|key| Theirs::new(profile, key, true)).collect();
        let mut ours: Vec<Sender> =
            keys.iter().map(|key| Sender::new(profile, key)).collect::<Result<_, _>>()?;
        let mut packet = [&[0x80, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7][..], &[0x55; BYTES]].concat();
        let (mut places, mut their_places) = (vec![Vec::new(); RECEIVERS], vec![Vec::new(); RECEIVERS]);
        let (mut of_ours, mut of_theirs) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            packet[2..4].copy_from_slice(&round.to_be_bytes());
            let begin = Instant::now();
            for (session, place) in theirs.iter().zip(&mut their_places) {
                place.clear();
                place.extend_from_slice(&packet);
                session.rtp(place).expect("a fresh number");
            }
            of_theirs.push(begin.elapsed());
            let begin = Instant::now();
            let mut outgoing: Vec<_> = ours
                .iter_mut()
                .zip(&mut places)
                .map(|(sender, place)| Outgoing::new(sender, &packet, place))
                .collect();
            protect_many(&mut outgoing)?;
            of_ours.push(begin.elapsed());
            assert!(places == their_places, "other packets");
        }
        let median = |mut times: Vec<std::time::Duration>| {
            times.sort_unstable();
            times[times.len() / 2].as_nanos() as f64 / RECEIVERS as f64
        };
        let (theirs, ours) = (median(of_theirs), median(of_ours));
        println!("{:24} {theirs:14.1} {ours:14.1} {:6.2}", format!("{profile:?}"), theirs / ours);
    }
    Ok(())
}
