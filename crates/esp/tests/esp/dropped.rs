//! Everything that is to be dropped, and the counter that says so.

use std::sync::Arc;

use millstream_esp::{Direction, Fate, Job, Lane, Packet, Place, Sa, Table, TableError, parse};
use millstream_testkit::Random;

use crate::peers::{described, inner, into, open, out, seal, suites};

/// Requires that these are all the drops that were counted.
#[track_caller]
fn counted(sa: &Arc<Sa>, expected: &[(Fate, u64)]) {
    let found: Vec<_> = sa.counters().all_dropped().collect();
    assert_eq!(found, expected);
}

#[test]
fn a_changed_bit_anywhere_is_a_forgery() {
    for suite in suites() {
        for more in ["", "flag esn"] {
            let text = described(&suite.line, more);
            let (sealing, opening) = (out(&text, 5), into(&text, 0));
            let sealed = seal(&sealing, &[inner(&mut Random::new(3), 61)]).remove(0);
            let mut changed = Vec::new();
            // Not the SPI, which the table looks at, nor what makes the number an old one.
            for byte in 7..sealed.len() {
                let mut packet = sealed.clone();
                packet[byte] ^= if byte == 7 { 0x10 } else { 1 << (byte % 8) };
                changed.push(packet);
            }
            let count = changed.len() as u64;
            assert!(open(&opening, &changed).iter().all(|end| *end == Err(Fate::Forged)), "{}", suite.name);
            counted(&opening, &[(Fate::Forged, count)]);
            assert_eq!(opening.highest(), 0, "a forgery moved the window");
            assert!(open(&opening, &[sealed])[0].is_ok());
        }
    }
}

#[test]
fn replays_and_old_packets_are_dropped() {
    for more in ["replay-window 64", "replay-window 64 flag esn"] {
        let text = described(&suites()[0].line, more);
        let (sealing, opening) = (out(&text, 1), into(&text, 0));
        let sealed = seal(&sealing, &vec![inner(&mut Random::new(4), 40); 200]);
        // The same packet twice in one batch: both pass the first look, and one the second.
        let twice = open(&opening, &[sealed[0].clone(), sealed[0].clone()]);
        assert_eq!((twice[0].is_ok(), &twice[1]), (true, &Err(Fate::Replayed)));
        assert_eq!(open(&opening, &sealed[..1])[0], Err(Fate::Replayed));
        assert!(open(&opening, &sealed[199..])[0].is_ok());
        assert!(open(&opening, &sealed[136..137])[0].is_ok(), "the last that the window covers");
        let before = open(&opening, &sealed[135..136]).remove(0);
        if more.contains("esn") {
            // Left of the window it counts as a packet of the next subspace, for which its tag is wrong.
            assert_eq!(before, Err(Fate::Forged));
        } else {
            assert_eq!(before, Err(Fate::Old));
        }
    }
}

#[test]
fn cut_and_long_packets_are_dropped() {
    for suite in suites() {
        let text = described(&suite.line, "");
        let (sealing, opening) = (out(&text, 1), into(&text, 0));
        let sealed = seal(&sealing, &[inner(&mut Random::new(5), 45)]).remove(0);
        let mut wrong: Vec<Vec<u8>> = (4..sealed.len()).map(|len| sealed[..len].to_vec()).collect();
        wrong.extend((1..40).map(|more| [&sealed[..], &vec![0; more]].concat()));
        for end in open(&opening, &wrong) {
            assert!(matches!(end, Err(Fate::Forged | Fate::Malformed)), "{}", suite.name);
        }
        assert_eq!(opening.counters().packets(), 0);
    }
}

/// An inner packet whose header lies about its length is cut there, and bytes that are no packet are not sealed.
#[test]
fn an_authentic_packet_needs_an_inner_one() {
    let text = described(&suites()[4].line, "");
    let (sealing, opening) = (out(&text, 1), into(&text, 0));
    let mut random = Random::new(6);
    let mut long = inner(&mut random, 61);
    long[3] = 40;
    let sealed = seal(&sealing, &[long]);
    assert_eq!(
        sealed[0].len(),
        sealing.facts().suite.sealed_len(40),
        "padding behind the packet does not go out"
    );
    assert_eq!(open(&opening, &sealed)[0].as_ref().map(Vec::len), Ok(40));
    for packet in [&b""[..], b"short", &[0x45; 30], &[0; 60]] {
        let refused = Job::seal(&sealing, Packet::from_slice(packet)).map(|_| ()).map_err(|(_, fate)| fate);
        assert_eq!(refused, Err(Fate::Malformed));
    }
}

#[test]
fn lifetimes_end_an_association() {
    let text = described(&suites()[0].line, "limit packet-soft 3 limit packet-hard 5");
    let (sealing, opening) = (out(&text, 1), into(&text, 0));
    let packet = inner(&mut Random::new(7), 100);
    let sealed = seal(&sealing, &vec![packet.clone(); 3]);
    assert!(!sealing.is_soft());
    let more = seal(&sealing, &vec![packet.clone(); 2]);
    assert!(sealing.is_soft() && !sealing.is_over());
    let refused = Job::seal(&sealing, Packet::from_slice(&packet)).map(|_| ()).map_err(|(_, fate)| fate);
    assert_eq!((refused, sealing.is_over()), (Err(Fate::Expired), true));
    assert_eq!(open(&opening, &[sealed, more].concat()).iter().filter(|end| end.is_ok()).count(), 5);

    let text = described(&suites()[0].line, "limit byte-hard 250");
    let sealing = out(&text, 1);
    seal(&sealing, &vec![packet.clone(); 2]);
    assert!(Job::seal(&sealing, Packet::from_slice(&packet)).is_err());
    counted(&sealing, &[(Fate::Expired, 1)]);

    let sealing = out(&described(&suites()[0].line, "limit time-hard 0"), 1);
    sealing.look_at_clock();
    assert!(sealing.is_over());
}

#[test]
fn without_keys_packets_are_counted_and_with_them_they_go_on() {
    let text = described(&suites()[0].line, "");
    let sealing = out(&text, 1);
    let packet = inner(&mut Random::new(8), 100);
    sealing.unbind();
    assert!(Job::seal(&sealing, Packet::from_slice(&packet)).is_err());
    counted(&sealing, &[(Fate::NoKey, 1)]);
    let description = parse(&text).unwrap().states.remove(0);
    sealing.rebind(Place::Here.bind(description.suite, &description.keys).unwrap());
    assert_eq!(seal(&sealing, &[packet]).len(), 1);
}

/// A new association takes over at once, and packets of the old one are still opened.
#[test]
fn keys_change_without_loss() {
    let all = suites();
    let (old, new) =
        (described(&all[0].line, ""), described(&all[3].line, "").replace("c0de0001", "c0de0002"));
    let mut leaving = Table::default();
    let mut arriving = Table::default();
    let packet = inner(&mut Random::new(9), 100);
    let mut sealed = Vec::new();
    for (text, round) in [(&old, 0), (&new, 1)] {
        arriving.add(into(text, 0)).unwrap();
        leaving.add(out(text, 1)).unwrap();
        let sa = leaving.for_leaving(&packet).unwrap();
        assert_eq!(sa.facts().spi & 3, 1 + round);
        sealed.extend(seal(sa, &vec![packet.clone(); 10]));
    }
    // They come in any order.
    sealed.rotate_left(7);
    for packet in &sealed {
        let sa = arriving.for_arrived(packet).unwrap();
        assert!(open(sa, std::slice::from_ref(packet))[0].is_ok());
    }
    assert!(leaving.remove(0xc0de_0001, None).is_some() && arriving.remove(0xc0de_0001, None).is_some());
    assert_eq!(arriving.for_arrived(&sealed[19]).map(|_| ()).unwrap_err(), Fate::NoSa);
}

#[test]
fn a_key_has_one_direction_and_an_spi_one_association() {
    let text = described(&suites()[0].line, "");
    let mut table = Table::default();
    table.add(out(&text, 1)).unwrap();
    let other = text.replace("c0de0001", "c0de0002");
    let same_key = TableError::SameKey { spi: 0xc0de_0002, other: 0xc0de_0001 };
    assert_eq!(table.add(into(&other, 0)), Err(same_key));
    assert_eq!(table.add(out(&other, 1)), Err(same_key));
    let cbc = described(&suites()[4].line, "");
    assert_eq!(table.add(out(&cbc, 1)), Err(TableError::Exists(0xc0de_0001)));
    assert_eq!(table.add(into(&cbc, 0)), Ok(()), "the other direction has SPIs of its own");
    assert_eq!(table.all().filter(|sa| sa.direction() == Direction::Out).count(), 1);
}

#[test]
fn policies_choose_and_admit() {
    let all = suites();
    let mut table = Table::default();
    table.add(out(&described(&all[0].line, ""), 1)).unwrap();
    let other = described(&all[1].line, "").replace("c0de0001", "c0de0002").replace("reqid 1", "reqid 2");
    table.add(into(&other, 0)).unwrap();
    let policies = parse(
        "src 10.0.0.0/8 dst 10.9.0.0/16\n dir out priority 2 tmpl proto esp reqid 1 mode tunnel
src 10.0.0.0/8 dst 10.9.9.0/24\n dir out priority 1 action block
src 10.9.0.0/16 dst 10.0.0.0/8 proto udp\n dir in tmpl reqid 2\n",
    );
    policies.unwrap().policies.into_iter().for_each(|policy| table.add_policy(policy));
    let packet = |source: [u8; 4], destination: [u8; 4], protocol: u8| {
        let mut packet = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, protocol, 0, 0];
        packet.extend(source.into_iter().chain(destination));
        packet
    };
    let leaves = |to| table.for_leaving(&packet([10, 1, 0, 1], to, 6)).map(|sa| sa.facts().spi & 3);
    assert_eq!(leaves([10, 9, 1, 1]), Ok(1));
    assert_eq!(leaves([10, 9, 9, 1]), Err(Fate::Policy));
    assert_eq!(leaves([10, 8, 9, 1]), Err(Fate::NoSa));
    // The other end seals what the policy admits, and what it does not.
    let peer = out(&other, 1);
    let sealed =
        seal(&peer, &[packet([10, 9, 1, 1], [10, 1, 0, 1], 17), packet([10, 9, 1, 1], [10, 1, 0, 1], 6)]);
    let opening = table.for_arrived(&sealed[0]).unwrap();
    let mut jobs: Vec<Job> = sealed
        .iter()
        .map(|packet| Job::open(opening, Packet::from_slice(packet), 0, None).unwrap())
        .collect();
    Lane::new(&Place::Here).run(&mut jobs);
    let ends: Vec<_> = jobs.iter_mut().map(|job| job.finish(|sa, flow| table.admits(sa, flow))).collect();
    assert_eq!(ends, [Ok(()), Err(Fate::Policy)]);
}
