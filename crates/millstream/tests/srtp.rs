//! Sessions against libsrtp2, the library that others use: each accepts what the other protects, and protects it in the same way.
#[path = "../examples/support/libsrtp.rs"]
mod libsrtp;

use libsrtp::Theirs;
use millstream::srtp::{Error, Incoming, Outgoing, Place, Profile, Receiver, Sender, protect_many};
use millstream_testkit::Random;

fn key(profile: Profile, random: &mut Random) -> Vec<u8> {
    random.bytes(profile.key_len() + profile.salt_len())
}

/// A packet with contributing sources and an extension now and then.
fn packet(random: &mut Random, sequence: u16, source: u32) -> Vec<u8> {
    let (sources, extended) = (random.below(3), random.below(3) == 0);
    let mut packet = vec![0x80 | u8::from(extended) << 4 | sources as u8, 96];
    packet.extend(sequence.to_be_bytes());
    packet.extend(random.bytes(4));
    packet.extend(source.to_be_bytes());
    packet.extend(random.bytes(4 * sources));
    if extended {
        let words = random.below(4);
        packet.extend([0xbe, 0xde, 0, words as u8]);
        packet.extend(random.bytes(4 * words));
    }
    let body = random.below(1300);
    packet.extend(random.bytes(body));
    packet
}

#[test]
fn both_protect_and_accept_the_same() {
    for profile in Profile::ALL {
        let mut random = Random::new(11);
        let key = key(profile, &mut random);
        let (mut sender, mut receiver) =
            (Sender::new(profile, &key).unwrap(), Receiver::new(profile, &key).unwrap());
        let (their_sender, their_receiver) =
            (Theirs::new(profile, &key, true), Theirs::new(profile, &key, false));
        // Sequence numbers turn over twice.
        let mut sequence = 65_000_u16;
        for i in 0..3000 {
            sequence = sequence.wrapping_add(1 + random.below(60) as u16);
            let plain = packet(&mut random, sequence, 7 + i % 2);
            let (mut ours, mut theirs) = (plain.clone(), plain.clone());
            sender.protect(&mut ours).unwrap();
            their_sender.rtp(&mut theirs).unwrap();
            assert!(ours == theirs, "{profile:?}, packet {i} of {} bytes", plain.len());
            let len = receiver.unprotect(&mut theirs).unwrap();
            assert!(theirs[..len] == plain);
            their_receiver.rtp(&mut ours).unwrap();
            assert!(ours == plain);
        }
        for i in 0..200 {
            let mut plain = vec![0x80, 200, 0, 6];
            plain.extend(7_u32.to_be_bytes());
            plain.extend(random.bytes(4 * (1 + i % 20)));
            let (mut ours, mut theirs) = (plain.clone(), plain.clone());
            sender.protect_rtcp(&mut ours).unwrap();
            their_sender.rtcp(&mut theirs).unwrap();
            // libsrtp2 begins to count at one, so only what each accepts can be compared.
            let len = receiver.unprotect_rtcp(&mut theirs).unwrap();
            assert!(theirs[..len] == plain);
            if i > 0 {
                their_receiver.rtcp(&mut ours).unwrap();
                assert!(ours == plain);
            }
        }
    }
}

/// One packet for many receivers, and many packets of many streams: each is as if it had been alone.
#[test]
fn many_are_as_one_at_a_time() {
    let mut random = Random::new(12);
    let sets: Vec<(Profile, Vec<u8>)> =
        (0..70).map(|i| Profile::ALL[i % 5]).map(|profile| (profile, key(profile, &mut random))).collect();
    let make =
        || -> Vec<Sender> { sets.iter().map(|(profile, key)| Sender::new(*profile, key).unwrap()).collect() };
    let (mut together, mut alone) = (make(), make());
    for round in 0..40 {
        let same = packet(&mut random, round, 9);
        let packets: Vec<Vec<u8>> = (0..sets.len())
            .map(|_| if round % 2 == 0 { same.clone() } else { packet(&mut random, round, 9) })
            .collect();
        let mut places = vec![vec![1, 2, 3]; sets.len()];
        let mut outgoing: Vec<_> = together
            .iter_mut()
            .zip(&packets)
            .zip(&mut places)
            .map(|((sender, packet), place)| Outgoing::new(sender, packet, place))
            .collect();
        protect_many(&mut outgoing).unwrap();
        assert!(outgoing.iter().all(|outgoing| outgoing.result() == Ok(())));
        for ((sender, mut packet), place) in alone.iter_mut().zip(packets).zip(places) {
            sender.protect(&mut packet).unwrap();
            assert!(packet == place);
        }
    }
}

/// Many packets of one stream in one call, more than go through lanes at a time: each is what libsrtp2 makes of it, and comes back.
#[test]
fn packets_of_one_stream_are_as_one_at_a_time() {
    for profile in Profile::ALL {
        let mut random = Random::new(15);
        let key = key(profile, &mut random);
        let (mut sender, mut receiver) =
            (Sender::new(profile, &key).unwrap(), Receiver::new(profile, &key).unwrap());
        let (their_sender, their_receiver) =
            (Theirs::new(profile, &key, true), Theirs::new(profile, &key, false));
        // Sequence numbers turn over in the middle of a call.
        let mut sequence = 65_400_u16;
        for count in [1, 2, 5, 64, 65, 200, 3] {
            let plain: Vec<Vec<u8>> = (0..count)
                .map(|i| {
                    sequence = sequence.wrapping_add(u16::from(i % 2 == 0));
                    packet(&mut random, sequence, 7 + i % 2)
                })
                .collect();
            let mut places = vec![vec![9; 5]; plain.len()];
            let pairs = plain.iter().map(Vec::as_slice).zip(&mut places);
            let mut outgoing: Vec<_> = sender.outgoing(pairs).collect();
            protect_many(&mut outgoing).unwrap();
            for (outgoing, plain) in outgoing.iter().zip(&plain) {
                assert_eq!(outgoing.result(), Ok(()));
                assert_eq!(outgoing.protected_len(), plain.len() + profile.tag_len());
            }
            let theirs: Vec<Vec<u8>> = plain
                .iter()
                .map(|plain| {
                    let mut theirs = plain.clone();
                    their_sender.rtp(&mut theirs).unwrap();
                    theirs
                })
                .collect();
            assert!(places == theirs, "{profile:?}, {count} packets");
            for (place, plain) in places.iter_mut().zip(&plain) {
                their_receiver.rtp(place).unwrap();
                assert!(place == plain);
            }
            let mut arrived = theirs;
            let mut incoming: Vec<_> = arrived.iter_mut().map(|packet| Incoming::new(packet)).collect();
            receiver.unprotect_many(&mut incoming).unwrap();
            let results: Vec<_> = incoming.iter().map(Incoming::result).collect();
            for ((result, arrived), plain) in results.into_iter().zip(&arrived).zip(&plain) {
                assert!(arrived[..result.unwrap()] == plain[..], "{profile:?}, {count} packets");
            }
        }
    }
}

/// Forged, cut, doubled, late and unknown packets between good ones: the same are accepted as one after another, once, and the others stay as they came.
#[test]
fn what_is_wrong_among_many_is_refused_and_left_alone() {
    for profile in Profile::ALL {
        let mut random = Random::new(16);
        let key = key(profile, &mut random);
        let mut sender = Sender::new(profile, &key).unwrap();
        let (mut together, mut alone) =
            (Receiver::new(profile, &key).unwrap(), Receiver::new(profile, &key).unwrap());
        let mut sequence = 64_000_u16;
        let mut accepted = Vec::new();
        for _ in 0..60 {
            let mut packets = Vec::new();
            for _ in 0..1 + random.below(100) {
                sequence = sequence.wrapping_add(1 + random.below(20) as u16);
                let source = 7 + u32::from(random.below(8) == 0) * random.below(5) as u32;
                let mut good = packet(&mut random, sequence, source);
                sender.protect(&mut good).unwrap();
                accepted.push(good.clone());
                let at = random.below(good.len());
                match random.below(8) {
                    0 => good[at] ^= 1 << random.below(8),
                    1 => good.truncate(at),
                    2 => packets.push(good.clone()),
                    3 => packets.push(accepted[random.below(accepted.len())].clone()),
                    _ => {}
                }
                packets.push(good);
            }
            let (mut many, mut one_by_one) = (packets.clone(), packets.clone());
            let mut incoming: Vec<_> = many.iter_mut().map(|packet| Incoming::new(packet)).collect();
            together.unprotect_many(&mut incoming).unwrap();
            let results: Vec<_> = incoming.iter().map(Incoming::result).collect();
            for (i, (result, one)) in results.into_iter().zip(&mut one_by_one).enumerate() {
                let expected = alone.unprotect(one);
                // A packet that is late because of another one in the call may be accepted with it.
                if expected != Err(Error::Old) {
                    assert_eq!(result, expected, "{profile:?}, packet {i} of {}", packets.len());
                    assert!(many[i] == *one);
                }
                assert!(result.is_ok() || many[i] == packets[i], "{profile:?}: it is as it came");
            }
            // None comes a second time.
            let mut again = packets.clone();
            let mut incoming: Vec<_> = again.iter_mut().map(|packet| Incoming::new(packet)).collect();
            together.unprotect_many(&mut incoming).unwrap();
            assert!(incoming.iter().all(|incoming| incoming.result().is_err()), "{profile:?}");
            assert!(again == packets);
        }
    }
}

#[test]
fn bytes_of_the_caller_are_a_place() {
    for profile in Profile::ALL {
        let key = vec![7; profile.key_len() + profile.salt_len()];
        let (mut sender, mut other) =
            (Sender::new(profile, &key).unwrap(), Sender::new(profile, &key).unwrap());
        let mut random = Random::new(17);
        let plain = packet(&mut random, 5, 1);
        let (mut room, mut short) = (vec![1; plain.len() + 16], vec![1; plain.len() + 15]);
        let places = [Place::from(&mut short[..]), Place::from(&mut room[..])];
        let mut outgoing: Vec<_> =
            sender.outgoing(places.into_iter().map(|place| (&plain[..], place))).collect();
        protect_many(&mut outgoing).unwrap();
        assert!(matches!(outgoing[0].result(), Err(Error::Engine(_))) && outgoing[0].protected_len() == 0);
        let len = outgoing[1].protected_len();
        let mut expected = plain.clone();
        other.protect(&mut expected).unwrap();
        assert!(room[..len] == expected);
        assert!(short.iter().all(|byte| *byte == 1), "nothing was written there");
    }
}

#[test]
fn one_that_fails_concerns_no_other() {
    let key = [7; 30];
    let mut senders: Vec<_> =
        (0..4).map(|_| Sender::new(Profile::Aes128CmSha1Tag80, &key).unwrap()).collect();
    let mut random = Random::new(13);
    let good = packet(&mut random, 5, 1);
    senders[2].protect(&mut good.clone()).unwrap();
    let packets = [&good[..], &good[..7], &good[..], &good[..]];
    let mut places = vec![Vec::new(); 4];
    let mut outgoing: Vec<_> = senders
        .iter_mut()
        .zip(packets)
        .zip(&mut places)
        .map(|((sender, packet), place)| Outgoing::new(sender, packet, place))
        .collect();
    protect_many(&mut outgoing).unwrap();
    let results: Vec<_> = outgoing.iter().map(Outgoing::result).collect();
    assert_eq!(results, [Ok(()), Err(Error::Malformed), Err(Error::Replayed), Ok(())]);
    assert!(places[0] == places[3] && places[0].len() == good.len() + 10);
    assert!(places[1].is_empty() && places[2].is_empty());
}

/// A packet that was changed in any byte, cut, or sent twice is refused, and stays as it came.
#[test]
fn what_is_wrong_is_refused_and_left_alone() {
    for profile in Profile::ALL {
        let mut random = Random::new(14);
        let key = key(profile, &mut random);
        let mut sender = Sender::new(profile, &key).unwrap();
        let mut receiver = Receiver::new(profile, &key).unwrap();
        let mut good = [&[0x80, 96, 0, 1][..], &[0; 8], &[0x55; 20]].concat();
        sender.protect(&mut good).unwrap();
        for at in 0..good.len() {
            let mut changed = good.clone();
            changed[at] ^= 1;
            let before = changed.clone();
            assert!(receiver.unprotect(&mut changed).is_err(), "{profile:?}: byte {at}");
            assert!(changed == before);
        }
        for len in 0..good.len() {
            assert!(receiver.unprotect(&mut good[..len].to_vec()).is_err(), "{profile:?}: {len} bytes");
        }
        let mut once = good.clone();
        receiver.unprotect(&mut once).unwrap();
        assert_eq!(receiver.unprotect(&mut good), Err(Error::Replayed));
        let given = key.len() - 1;
        assert_eq!(
            Receiver::new(profile, &key[1..]).err(),
            Some(Error::KeyLength { given, takes: key.len() })
        );
    }
}
