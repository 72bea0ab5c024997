//! The association that a packet takes, among many that come and go: the same as a search through all of them finds.

use std::sync::Arc;

use millstream_esp::{Direction, Fate, Flow, Sa, Table, TableError, parse};
use millstream_testkit::Random;

use crate::peers::out;

const CBC: &str = "enc cbc(aes) 0x000102030405060708090a0b0c0d0e0f\n auth hmac(sha1) 0x000102030405060708090a0b0c0d0e0f10111213";

/// A prefix of few addresses, so that associations are often for the same packets.
fn prefix(random: &mut Random) -> String {
    let bits = [0, 8, 15, 16, 24, 31, 32][random.below(7)];
    match random.below(8) {
        0 => format!("fd00:{}::{}/{}", random.below(2), random.below(2), 4 * bits),
        _ => format!("10.{}.{}.{}/{bits}", random.below(2), random.below(2), random.below(3)),
    }
}

/// Makes an association, which is for all packets or for some, and carries none or any number.
fn association(random: &mut Random, spi: u32) -> Arc<Sa> {
    let (peer, reqid) = (random.below(4), random.below(3));
    let destination = prefix(random);
    let any = if destination.contains(':') { "::/0" } else { "0.0.0.0/0" };
    let selector = match random.below(5) {
        0 => String::new(),
        1 => format!("sel src {any} dst {destination} proto udp"),
        _ => format!("sel src {any} dst {destination}"),
    };
    let limit = if random.below(6) == 0 { "limit packet-hard 0" } else { "" };
    let text = format!(
        "src 192.0.2.1 dst 192.0.2.{} proto esp spi {spi} reqid {} mode tunnel\n {CBC}\n {selector}\n {limit}\n",
        10 + peer,
        1 + reqid
    );
    out(&text, 1)
}

/// A packet without anything in it.
fn packet(random: &mut Random) -> Vec<u8> {
    let (protocol, [a, b, c]) = (
        [6, 17][random.below(2)],
        [random.below(2), random.below(2), random.below(3)].map(|byte| byte as u8),
    );
    if random.below(8) == 0 {
        let mut packet = vec![0; 40];
        (packet[0], packet[6]) = (0x60, protocol);
        packet[8..10].copy_from_slice(&[0xfd, 0]);
        packet[24..26].copy_from_slice(&[0xfd, 0]);
        (packet[27], packet[39]) = (a, b);
        return packet;
    }
    let mut packet = vec![0; 20];
    (packet[0], packet[3], packet[9]) = (0x45, 20, protocol);
    packet[12..16].copy_from_slice(&[10, 9, 9, 9]);
    packet[16..20].copy_from_slice(&[10, a, b, c]);
    packet
}

/// A search through all of them, the newest last.
fn model(all: &[Arc<Sa>], packet: &[u8], template: Option<(&str, u32)>) -> Option<u32> {
    let flow = Flow::read(packet).unwrap();
    let fits = |sa: &&Arc<Sa>| {
        let of_template = template.is_none_or(|(peer, reqid)| {
            (peer.is_empty() || peer == sa.facts().destination.to_string())
                && (reqid == 0 || reqid == sa.facts().reqid)
        });
        of_template && sa.admits(&flow) && !sa.is_over()
    };
    all.iter().rev().find(fits).map(|sa| sa.facts().spi)
}

#[test]
fn the_newest_that_fits_is_found_among_many() {
    let mut random = Random::new(4301);
    for template in [None, Some(("", 2)), Some(("192.0.2.11", 0)), Some(("192.0.2.12", 1))] {
        let mut table = Table::default();
        if let Some((peer, reqid)) = template {
            let peer = if peer.is_empty() { "0.0.0.0" } else { peer };
            for any in ["0.0.0.0/0", "::/0"] {
                let text = format!(
                    "src {any} dst {any} dir out priority 1 tmpl src 0.0.0.0 dst {peer} proto esp reqid {reqid} mode tunnel"
                );
                parse(&text).unwrap().policies.into_iter().for_each(|policy| table.add_policy(policy));
            }
        }
        let mut all: Vec<Arc<Sa>> = Vec::new();
        let (mut found, mut refused) = (0, 0);
        for round in 0..4000 {
            if random.below(2 + all.len() / 20) == 0 {
                let spi = 256 + random.below(60) as u32;
                let sa = association(&mut random, spi);
                let same = |other: &Arc<Sa>| {
                    (other.facts().spi, other.facts().destination) == (sa.facts().spi, sa.facts().destination)
                };
                if all.iter().any(same) {
                    assert_eq!(table.add(sa.clone()), Err(TableError::Exists(sa.facts().spi)));
                    refused += 1;
                } else {
                    table.add(sa.clone()).unwrap();
                    all.push(sa);
                }
            }
            if random.below(12) == 0 && !all.is_empty() {
                let facts = all[random.below(all.len())].facts().clone();
                let destination = Some(facts.destination).filter(|_| random.below(2) == 0);
                let fits = |sa: &Arc<Sa>| {
                    sa.facts().spi == facts.spi
                        && destination.is_none_or(|peer| peer == sa.facts().destination)
                };
                let at = all.iter().rposition(fits).unwrap();
                let removed = table.remove(facts.spi, destination).unwrap();
                assert!(Arc::ptr_eq(&removed, &all.remove(at)), "round {round}");
                assert!(all.iter().any(fits) || table.remove(facts.spi, destination).is_none());
            }
            // Those that carry nothing are over after the first packet.
            if random.below(30) == 0 && !all.is_empty() {
                let sa = &all[random.below(all.len())];
                let _ =
                    millstream_esp::Job::seal(sa, millstream_esp::Packet::from_slice(&packet(&mut random)));
            }
            let packet = packet(&mut random);
            let expected = model(&all, &packet, template);
            let got = table.for_leaving(&packet).map(|sa| sa.facts().spi);
            assert_eq!(got, expected.ok_or(Fate::NoSa), "round {round}, {template:?}");
            found += usize::from(expected.is_some());
        }
        assert!((500..4000).contains(&found) && refused > 10, "{found} found, {refused} refused");
        let listed: Vec<u32> = table.all().map(|sa| sa.facts().spi).collect();
        let expected: Vec<u32> = all.iter().rev().map(|sa| sa.facts().spi).collect();
        assert_eq!(listed, expected, "the newest is listed first");
        assert!(table.all().all(|sa| sa.direction() == Direction::Out));
    }
}
