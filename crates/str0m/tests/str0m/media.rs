//! Media both ways between a peer with Millstream's provider and one with str0m's own, with every profile.

use str0m::crypto::dtls::SrtpProfile;
use str0m::crypto::{CryptoProvider, from_feature_flags};
use str0m::media::MediaKind;

use crate::counted::{Counted, Counts};
use crate::peer::{Media, Pair, media};
use crate::profile::OnlyProfile;

const PROFILES: [SrtpProfile; 3] =
    [SrtpProfile::AES128_CM_SHA1_80, SrtpProfile::AEAD_AES_128_GCM, SrtpProfile::AEAD_AES_256_GCM];

/// The frames that each peer sends.
const FRAMES: usize = 100;

/// Makes a provider with Millstream's SRTP, whose packets are counted, and str0m's own, both for one profile.
fn providers(profile: SrtpProfile) -> ([CryptoProvider; 2], &'static Counts) {
    let only = |provider: CryptoProvider| {
        let dtls = Box::leak(Box::new(OnlyProfile { dtls: provider.dtls_provider, profile }));
        CryptoProvider { dtls_provider: dtls, ..provider }
    };
    let ours = millstream_str0m::provider(from_feature_flags()).unwrap();
    let counted = Counted::new(ours.srtp_provider);
    let ours = CryptoProvider { srtp_provider: counted, ..ours };
    ([only(ours), only(from_feature_flags())], counted.counts)
}

/// A frame that is told from all others, and of many lengths.
fn frame(from: usize, number: usize) -> Vec<u8> {
    let head = [0x10, from as u8, number as u8];
    head.into_iter().chain((0..11 * number).map(|i| (i * number) as u8)).collect()
}

#[test]
fn media_passes_both_ways_with_every_profile() {
    for profile in PROFILES {
        let (providers, counts) = providers(profile);
        let mut pair = Pair::connect(providers, MediaKind::Video);
        let clear: Vec<Vec<u8>> =
            [0, 1].iter().flat_map(|from| (1..FRAMES).map(|i| frame(*from, i))).collect();
        let mut seen = 0;
        let mut watch = |_: usize, packet: &mut Vec<u8>| {
            // No frame with something in it is on the wire as it is.
            let readable = clear.iter().any(|frame| packet.windows(frame.len()).any(|part| part == frame));
            assert!(!readable, "{profile:?}: media in clear");
            seen += 1;
        };
        for number in 0..FRAMES {
            pair.write(0, frame(0, number));
            pair.write(1, frame(1, number));
            pair.tick(&mut watch);
            if number == FRAMES / 2 {
                pair.ask(0);
                pair.ask(1);
            }
        }
        for _ in 0..400 {
            pair.tick(&mut watch);
        }
        let [ours, theirs] = &pair.peers;
        for (peer, from) in [(ours, 1), (theirs, 0)] {
            let expected: Vec<_> = (0..FRAMES).map(|number| frame(from, number)).collect();
            assert_eq!(peer.frames.len(), FRAMES, "{profile:?}");
            assert_eq!(peer.frames, expected, "{profile:?}");
            assert_eq!(peer.requests, 1, "{profile:?}");
            // Each has sent reports about what it received, too.
            assert!(peer.sent_to[Media::Rtp as usize] >= FRAMES && peer.sent_to[Media::Rtcp as usize] >= 3);
        }
        // Millstream protected every packet from its peer, and opened every one to it.
        let all = |packets: [usize; 2]| packets.iter().sum::<usize>();
        assert_eq!(counts.numbers(), [all(theirs.sent_to), all(ours.sent_to), 0], "{profile:?}");
        assert_eq!(seen, all(theirs.sent_to) + all(ours.sent_to));
    }
}

/// One bit is changed in some packets on the wire, in each direction: those are not taken, and all others are.
#[test]
fn a_packet_that_was_changed_is_refused() {
    for profile in PROFILES {
        let (providers, counts) = providers(profile);
        // Nobody asks again for lost packets of sound.
        let mut pair = Pair::connect(providers, MediaKind::Audio);
        let mut packets = [0; 2];
        let mut changed = [0; 2];
        let mut change = |to: usize, packet: &mut Vec<u8>| {
            if media(packet) != Some(Media::Rtp) {
                return;
            }
            packets[to] += 1;
            if packets[to] % 10 == 0 {
                // Behind the header, so that it is known whose packet it is; in turn in the payload and in the tag.
                let at = if packets[to] % 20 == 0 { packet.len() - 1 } else { packet.len() - 20 };
                packet[at] ^= 1 << (packets[to] % 8);
                changed[to] += 1;
            }
        };
        for number in 0..FRAMES {
            pair.write(0, frame(0, number % 20 + 80));
            pair.write(1, frame(1, number % 20 + 80));
            for _ in 0..4 {
                pair.tick(&mut change);
            }
        }
        for _ in 0..400 {
            pair.tick(&mut change);
        }
        assert_eq!((packets, changed), ([FRAMES; 2], [FRAMES / 10; 2]), "{profile:?}");
        for (peer, from) in pair.peers.iter().zip([1, 0]) {
            let expected: Vec<_> = (0..FRAMES)
                .filter(|number| (number + 1) % 10 != 0)
                .map(|number| frame(from, number % 20 + 80))
                .collect();
            assert_eq!(peer.frames.len(), expected.len(), "{profile:?}");
            assert_eq!(peer.frames, expected, "{profile:?}");
        }
        // With HMAC a packet is refused before it comes to the cipher.
        let refused = if profile == SrtpProfile::AES128_CM_SHA1_80 { 0 } else { FRAMES / 10 };
        assert_eq!(counts.numbers()[2], refused, "{profile:?}");
    }
}
