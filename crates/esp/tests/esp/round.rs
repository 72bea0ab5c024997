//! Packets there and back.

use std::collections::BTreeSet;

use millstream_testkit::Random;

use crate::peers::{described, inner, into, open, out, seal, suites};

#[test]
fn every_suite_brings_packets_of_every_length_back() {
    let all = suites();
    assert_eq!(all.len(), 20);
    let mut random = Random::new(1);
    for suite in &all {
        for more in ["", "flag esn"] {
            let text = described(&suite.line, more);
            // With extended numbers the upper half changes on the way.
            let first = if more.is_empty() { 1 } else { (1 << 32) - 20 };
            let (sealing, opening) = (out(&text, first), into(&text, first - 1));
            let packets: Vec<_> = (20..70).chain([1400]).map(|len| inner(&mut random, len)).collect();
            let sealed = seal(&sealing, &packets);
            for (packet, sealed) in packets.iter().zip(&sealed) {
                assert_eq!(sealed.len(), sealing.facts().suite.sealed_len(packet.len()), "{}", suite.name);
                let plain = sealed.windows(16).any(|window| window == &packet[..16]);
                assert!(!plain, "{}: plaintext in the packet", suite.name);
            }
            let opened = open(&opening, &sealed);
            for (packet, opened) in packets.iter().zip(opened) {
                assert_eq!(opened.as_ref(), Ok(packet), "{} {more}", suite.name);
            }
            assert_eq!((opening.counters().packets(), opening.highest()), (51, first + 50));
            assert_eq!(sealing.counters().bytes(), opening.counters().bytes());
        }
    }
}

/// Whatever the cipher, no two packets carry the same vector, and those of CBC can't be foretold.
#[test]
fn no_vector_repeats() {
    for suite in suites() {
        let text = described(&suite.line, "");
        let sealing = out(&text, 1);
        let sealed = seal(&sealing, &vec![inner(&mut Random::new(2), 60); 200]);
        let len = sealing.facts().suite.iv_len();
        let vectors: BTreeSet<&[u8]> = sealed.iter().map(|packet| &packet[8..8 + len]).collect();
        assert_eq!(vectors.len(), 200, "{}", suite.name);
        if !sealing.facts().suite.needs_unique_vectors() {
            let first = *vectors.first().unwrap();
            let high = vectors.iter().filter(|vector| vector[0] == first[0]).count();
            assert!(high < 30, "{}: vectors begin alike", suite.name);
        }
    }
}
