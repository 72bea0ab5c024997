use super::layout::Layout;
use super::*;
use crate::checksum::fold;
use crate::fate::Fate;
use crate::packet::Packet;

/// Makes a whole packet with right checksums.
fn whole(is_v4: bool, is_tcp: bool, sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = if is_v4 {
        let mut header = vec![0x45, 0x02, 0, 0, 0x12, 0x34, 0x40, 0, 64, if is_tcp { 6 } else { 17 }, 0, 0];
        header.extend_from_slice(&[10, 1, 0, 1, 10, 2, 0, 1]);
        header
    } else {
        let mut header = vec![0x60, 0x01, 0x23, 0x45, 0, 0, if is_tcp { 6 } else { 17 }, 64];
        header.extend((0..32).map(|byte| byte | 0x20));
        header
    };
    packet.extend_from_slice(&[0x12, 0x34, 0x56, 0x78]);
    if is_tcp {
        packet.extend_from_slice(&sequence.to_be_bytes());
        // An acknowledgement, 32 bytes of header, a window, and an option with the time.
        packet.extend_from_slice(&[9, 9, 9, 9, 0x80, flags, 1, 0, 0, 0, 0, 0]);
        packet.extend_from_slice(&[1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8]);
    } else {
        packet.extend_from_slice(&[0; 4]);
    }
    packet.extend_from_slice(payload);
    let len = packet.len();
    if is_v4 {
        packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    } else {
        packet[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes());
    }
    let layout = Layout::read(&packet).unwrap();
    layout.set_len(&mut packet, len);
    layout.set_checksum(&mut packet);
    assert!(layout.has_right_checksums(&packet));
    packet
}

fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 253) as u8).collect()
}

/// The packets of a stretch or of a row of datagrams, as a network has them.
fn row(is_v4: bool, is_tcp: bool, len: usize, each: usize) -> Vec<Vec<u8>> {
    let payload = payload(len);
    let count = len.div_ceil(each);
    let part = |(number, part): (usize, &[u8])| {
        let sequence = 0xffff_f000_u32.wrapping_add((number * each) as u32);
        let flags = if number + 1 == count { 0x18 } else { 0x10 };
        let mut packet = whole(is_v4, is_tcp, sequence, flags, part);
        if is_v4 {
            packet[4..6].copy_from_slice(&(0x1234 + number as u16).to_be_bytes());
            let len = packet.len();
            Layout::read(&packet).unwrap().set_len(&mut packet, len);
        }
        packet
    };
    payload.chunks(each).enumerate().map(part).collect()
}

fn divided(offload: Offload, packet: &[u8]) -> Result<Vec<Vec<u8>>, Fate> {
    let mut packet = packet.to_vec();
    let mut divided = Divided::new(offload, &mut packet)?;
    let next = || divided.next(Packet::with_room).map(|packet| packet.data().to_vec());
    Ok(std::iter::from_fn(next).collect())
}

/// Returns the packet that a train is for the kernel.
fn joined(train: &Train, packets: &[&[u8]]) -> (Offload, Vec<u8>) {
    let (header, lead) = train.lead().split_first_chunk().unwrap();
    let rest = packets[..train.count].iter().flat_map(|packet| &packet[train.from..]);
    (Offload::from_bytes(*header), lead.iter().chain(rest).copied().collect())
}

const SORTS: [(bool, bool); 4] = [(true, true), (false, true), (true, false), (false, false)];

#[test]
fn what_is_gathered_comes_out_as_it_was() {
    for (is_v4, is_tcp) in SORTS {
        for (len, each) in [(2, 1), (64, 32), (1000, 999), (10_000, 1400), (60_000, 1348), (65_000, 30_000)] {
            let row = row(is_v4, is_tcp, len, each);
            let packets: Vec<&[u8]> = row.iter().map(Vec::as_slice).collect();
            let train = train(&packets, true);
            assert_eq!(train.count, packets.len(), "{is_v4} {is_tcp} {len} {each}");
            let (offload, long) = joined(&train, &packets);
            let layout = Layout::read(&long).unwrap();
            assert_eq!(usize::from(offload.header_len), layout.payload_at);
            assert_eq!(long[layout.payload_at..], payload(len));
            // The checksum is the sum of the pseudo header, not its complement.
            let place = &long[layout.checksum_at()..][..2];
            assert_eq!(place, fold(layout.pseudo_sum(&long, long.len())).to_ne_bytes());
            assert_eq!(Offload::from_bytes(offload.to_bytes()), offload);
            assert!(divided(offload, &long).unwrap() == row, "{is_v4} {is_tcp} {len} {each}");
        }
    }
}

/// More than a packet of IP holds goes in several.
#[test]
fn no_more_is_gathered_than_a_packet_holds() {
    let row = row(true, true, 130_000, 1400);
    let packets: Vec<&[u8]> = row.iter().map(Vec::as_slice).collect();
    let train = train(&packets, true);
    assert_eq!(train.count, (65_535 - 52) / 1400);
    assert!(joined(&train, &packets).1.len() <= 65_535);
}

#[test]
fn only_what_follows_is_gathered() {
    for (is_v4, is_tcp) in SORTS {
        let row = row(is_v4, is_tcp, 4000, 1000);
        let count = |packets: &[Vec<u8>]| {
            let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
            train(&packets, true).count
        };
        assert_eq!(count(&row), 4);
        assert_eq!(count(&row[..1]), 1);
        let transport = if is_v4 { 20 } else { 40 };
        let options = if is_tcp { transport + 20 } else { transport };
        // The class, an address, a port, a time to live, the first byte of options, and the payload: with a checksum that is wrong, or
        // with one that is right where another field has changed.
        for at in [1, if is_v4 { 8 } else { 7 }, transport - 1, transport + 1, options, options + 20] {
            let mut wrong = row.clone();
            wrong[2][at] ^= 0x10;
            assert_eq!(count(&wrong), 2, "{is_v4} {is_tcp} {at}");
            if at < options + 20 && Layout::read(&wrong[2]).is_some() {
                let layout = Layout::read(&wrong[2]).unwrap();
                let len = wrong[2].len();
                layout.set_len(&mut wrong[2], len);
                layout.set_checksum(&mut wrong[2]);
                assert_eq!(count(&wrong), 2, "{is_v4} {is_tcp} {at}");
            }
        }
        // The first one is wrong, so nothing stands behind it.
        let mut wrong = row.clone();
        *wrong[0].last_mut().unwrap() ^= 1;
        assert_eq!(count(&wrong), 1);
        // A shorter one is the last.
        let mut short = row.clone();
        short[1] = whole(is_v4, is_tcp, 0xffff_f000_u32.wrapping_add(1000), 0x10, &payload(999));
        assert_eq!(count(&short), 2);
        short.swap(0, 1);
        assert_eq!(count(&short), 1);
        if is_tcp {
            // A gap, what was sent before, and flags that end a stretch or are no stretch's.
            assert_eq!(count(&[row[0].clone(), row[2].clone()]), 1);
            assert_eq!(count(&[row[1].clone(), row[0].clone()]), 1);
            for (flags, expected) in
                [(0x18, 2), (0x11, 1), (0x12, 1), (0x14, 1), (0x30, 1), (0x90, 1), (0x50, 1)]
            {
                let next = whole(is_v4, true, 0xffff_f000_u32.wrapping_add(1000), flags, &payload(1000));
                assert_eq!(count(&[row[0].clone(), next.clone(), row[2].clone()]), expected, "{flags:x}");
                assert_eq!(count(&[next, row[2].clone()]), 1, "{flags:x}");
            }
            // Nothing but an acknowledgement.
            assert_eq!(count(&[whole(is_v4, true, 1, 0x10, &[]), whole(is_v4, true, 1, 0x10, &[])]), 1);
        } else {
            let packets: Vec<&[u8]> = row.iter().map(Vec::as_slice).collect();
            assert_eq!(train(&packets, false).count, 1, "the kernel takes none");
            // No checksum.
            let mut without = row.clone();
            without[1][transport + 6..transport + 8].fill(0);
            assert_eq!(count(&without), 1);
        }
        // Another sort of packet, a fragment, and bytes that are no packet.
        for other in [whole(!is_v4, is_tcp, 0, 0x10, &payload(1000)), payload(70), Vec::new()] {
            assert_eq!(count(&[row[0].clone(), other.clone()]), 1);
            assert_eq!(count(&[other, row[0].clone()]), 1);
        }
    }
    let mut may_be_cut = row(true, true, 3000, 1000);
    for (number, packet) in may_be_cut.iter_mut().enumerate() {
        packet[6] = 0;
        packet[5] = [1, 2, 9][number];
        let len = packet.len();
        Layout::read(packet).unwrap().set_len(packet, len);
    }
    let packets: Vec<&[u8]> = may_be_cut.iter().map(Vec::as_slice).collect();
    assert_eq!(train(&packets, true).count, 2, "its identification counts");
}

/// A packet with only the sum of its pseudo header gets its checksum.
#[test]
fn checksums_are_completed() {
    for (is_v4, is_tcp) in SORTS {
        let right = whole(is_v4, is_tcp, 77, 0x18, &payload(333));
        let layout = Layout::read(&right).unwrap();
        let mut packet = right.clone();
        let sum = fold(layout.pseudo_sum(&packet, packet.len()));
        packet[layout.checksum_at()..][..2].copy_from_slice(&sum.to_ne_bytes());
        let offload = Offload {
            needs_checksum: true,
            checksum_start: layout.transport_at as u16,
            checksum_offset: layout.transport.checksum_at() as u16,
            ..Offload::default()
        };
        assert!(divided(offload, &packet).unwrap() == [&right[..]]);
        assert!(divided(Offload::default(), &right).unwrap() == [&right[..]]);
        // The place of the checksum is not in the packet.
        let len = packet.len() as u16;
        for (start, offset) in
            [(len, 0), (len - 1, 0), (0, len - 1), (u16::MAX, 0), (20, u16::MAX), (len + 1, 0)]
        {
            let offload = Offload { checksum_start: start, checksum_offset: offset, ..offload };
            assert_eq!(divided(offload, &packet), Err(Fate::Malformed), "{start} {offset}");
        }
    }
}

/// A header that does not fit its packet is refused, and a size that is long or short makes packets that are long or short.
#[test]
fn headers_that_lie_are_refused() {
    for (is_v4, is_tcp) in SORTS {
        let packets = row(is_v4, is_tcp, 5000, 1000);
        let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        let (good, long) = joined(&train(&packets, true), &packets);
        let refused = |offload: Offload, packet: &[u8]| divided(offload, packet) == Err(Fate::Malformed);
        assert!(!refused(good, &long));
        for kind in [Kind::TcpV4, Kind::TcpV6, Kind::Udp, Kind::Other] {
            assert_eq!(refused(Offload { kind, ..good }, &long), kind != good.kind, "{kind:?}");
        }
        assert!(refused(Offload { size: 0, ..good }, &long));
        assert!(refused(Offload { needs_checksum: false, ..good }, &long));
        for wrong in [0, good.checksum_start - 1, good.checksum_start + 1, u16::MAX] {
            assert!(refused(Offload { checksum_start: wrong, ..good }, &long), "{wrong}");
            assert!(refused(Offload { checksum_offset: wrong, ..good }, &long), "{wrong}");
        }
        // The length of the headers is only a hint.
        for hint in [0, u16::MAX] {
            assert_eq!(
                divided(Offload { header_len: hint, ..good }, &long).unwrap(),
                divided(good, &long).unwrap()
            );
        }
        // A packet that is cut, or longer than it says.
        for len in 0..long.len().min(200) {
            assert!(refused(good, &long[..len]), "{len}");
        }
        assert!(refused(good, &[&long[..], &[0]].concat()));
        let transport = usize::from(good.checksum_start);
        let mut changed = long.clone();
        changed[0] ^= 0x30;
        assert!(refused(good, &changed), "another version");
        if is_v4 {
            for (at, bit) in [(6, 0x20), (7, 1), (0, 1), (0, 4)] {
                let mut changed = long.clone();
                changed[at] ^= bit;
                assert!(refused(good, &changed), "a fragment, or another length of the header");
            }
        } else {
            // Options that say that they are as long as they can be.
            let mut changed = long.clone();
            (changed[6], changed[40], changed[41]) = (0, 0, 255);
            assert!(refused(good, &changed));
        }
        if is_tcp {
            for (at, value) in [(12, 0x40), (13, 0x12), (13, 0x14), (13, 0x30), (13, 0x90)] {
                let mut changed = long.clone();
                changed[transport + at] = value;
                assert!(refused(good, &changed), "{at}: {value:#x}");
            }
        }
        // One byte each, all in one, and the longest that can be said.
        for (size, count) in [(1, 5000), (4999, 2), (5000, 1), (5001, 1), (u16::MAX, 1)] {
            let all = divided(Offload { size, ..good }, &long).unwrap();
            assert_eq!(all.len(), count, "{size}");
            assert!(all.iter().all(|packet| Layout::read(packet).unwrap().has_right_checksums(packet)));
        }
        // No payload at all.
        let bare = whole(is_v4, is_tcp, 1, 0x10, &[]);
        assert_eq!(divided(good, &bare).unwrap(), [bare]);
    }
}

/// Headers of IPv6 with options are divided, too.
#[test]
fn options_of_ipv6_stay_in_each_packet() {
    let packets = row(false, true, 3000, 1000);
    let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let (good, long) = joined(&train(&packets, true), &packets);
    let mut with_options = long[..40].to_vec();
    with_options[6] = 60;
    with_options.extend_from_slice(&[6, 0, 1, 4, 0, 0, 0, 0]);
    with_options.extend_from_slice(&long[40..]);
    let len = (with_options.len() - 40) as u16;
    with_options[4..6].copy_from_slice(&len.to_be_bytes());
    let all = divided(Offload { checksum_start: 48, ..good }, &with_options).unwrap();
    assert_eq!(all.len(), 3);
    for packet in &all {
        assert!(packet[40..48] == [6, 0, 1, 4, 0, 0, 0, 0]);
        assert!(Layout::read(packet).unwrap().has_right_checksums(packet));
    }
}
