//! Two ends of an association, and packets for them.

use std::sync::Arc;

use millstream_esp::{Fate, FreshKey, Job, Lane, Numbers, Packet, Place, Sa, Side, parse};
use millstream_testkit::Random;

/// A suite as a line of `ip xfrm state`, with its keys.
pub struct Algorithms {
    pub name: &'static str,
    pub line: String,
}

fn hex(random: &mut Random, len: usize) -> String {
    let digits: String = random.bytes(len).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

/// Returns every suite, with keys that are the same every time.
pub fn suites() -> Vec<Algorithms> {
    let mut random = Random::new(4303);
    let mut suites = Vec::new();
    for (name, len, bits) in [("gcm-128-16", 20, 128), ("gcm-192-12", 28, 96), ("gcm-256-8", 36, 64)] {
        let line = format!("aead rfc4106(gcm(aes)) {} {bits}", hex(&mut random, len));
        suites.push(Algorithms { name, line });
    }
    let line = format!("aead rfc7539esp(chacha20,poly1305) {} 128", hex(&mut random, 36));
    suites.push(Algorithms { name: "chacha20-poly1305", line });
    let auths = [("sha1", 20, 96), ("sha256", 32, 128), ("sha384", 48, 192), ("sha512", 64, 256)];
    let ciphers = [
        (["cbc-128-sha1", "cbc-128-sha256", "cbc-128-sha384", "cbc-128-sha512"], "cbc(aes)", 16),
        (["cbc-256-sha1", "cbc-256-sha256", "cbc-256-sha384", "cbc-256-sha512"], "cbc(aes)", 32),
        (["ctr-192-sha1", "ctr-192-sha256", "ctr-192-sha384", "ctr-192-sha512"], "rfc3686(ctr(aes))", 28),
        (["3des-sha1", "3des-sha256", "3des-sha384", "3des-sha512"], "cbc(des3_ede)", 24),
    ];
    for (names, cipher, len) in ciphers {
        for (name, (hash, key, bits)) in names.into_iter().zip(auths) {
            let (enc, auth) = (hex(&mut random, len), hex(&mut random, key));
            let line = format!("enc {cipher} {enc}\n auth-trunc hmac({hash}) {auth} {bits}");
            suites.push(Algorithms { name, line });
        }
    }
    suites
}

/// The description of an association with these algorithms, and these words behind them.
pub fn described(line: &str, more: &str) -> String {
    format!("src 192.0.2.1 dst 192.0.2.2\n proto esp spi 0xc0de0001 reqid 1 mode tunnel\n {line}\n {more}\n")
}

/// Makes one end of what a text describes.
pub fn end(text: &str, side: Side) -> Arc<Sa> {
    let description = parse(text).unwrap().states.remove(0);
    let keys = Place::Here.bind(description.suite, &description.keys).unwrap();
    Arc::new(Sa::new(description, keys, side).unwrap())
}

pub fn out(text: &str, first: u64) -> Arc<Sa> {
    let extended = text.contains("esn");
    end(
        text,
        Side::Out { numbers: Numbers::new(first, extended, Box::new(FreshKey)), vectors: 0x0123_4567_89ab },
    )
}

pub fn into(text: &str, top: u64) -> Arc<Sa> {
    end(text, Side::In { top })
}

/// An inner packet of so many bytes.
pub fn inner(random: &mut Random, len: usize) -> Vec<u8> {
    let mut packet = random.bytes(len);
    if len >= 40 && len.is_multiple_of(2) {
        packet[0] = 0x60;
        packet[1] &= 0x0f;
        packet[6] = 253;
        packet[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes());
    } else {
        packet[0] = 0x45;
        packet[1] = 0;
        packet[9] = 253;
        packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    }
    packet
}

/// Seals packets in one batch.
pub fn seal(sa: &Arc<Sa>, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let begin =
        |packet: &Vec<u8>| Job::seal(sa, Packet::from_slice(packet)).map_err(|(_, fate)| fate).unwrap();
    let mut jobs: Vec<Job> = packets.iter().map(begin).collect();
    Lane::new(&Place::Here).run(&mut jobs);
    for job in &mut jobs {
        job.finish(|_, _| unreachable!("nobody admits what leaves")).unwrap();
    }
    jobs.iter().map(|job| job.packet().data().to_vec()).collect()
}

/// Opens packets in one batch.
pub fn open(sa: &Arc<Sa>, packets: &[Vec<u8>]) -> Vec<Result<Vec<u8>, Fate>> {
    let mut lane = Lane::new(&Place::Here);
    let mut jobs = Vec::new();
    let begun: Vec<Result<usize, Fate>> = packets
        .iter()
        .map(|packet| match Job::open(sa, Packet::from_slice(packet), 0, None) {
            Ok(job) => {
                jobs.push(job);
                Ok(jobs.len() - 1)
            }
            Err((_, fate)) => Err(fate),
        })
        .collect();
    lane.run(&mut jobs);
    let ends: Vec<Result<Vec<u8>, Fate>> = jobs
        .iter_mut()
        .map(|job| job.finish(|sa, flow| sa.admits(flow)).map(|()| job.packet().data().to_vec()))
        .collect();
    begun.into_iter().map(|at| at.and_then(|at| ends[at].clone())).collect()
}
