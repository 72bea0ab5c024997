//! A device whose keys are behind a queue computes what one with keys here does, for every algorithm, both ways. The accelerator is on a
//! thread of this process; real workers are behind the same queue in `tests/dpdk.rs`.

mod support;

use std::ptr::null_mut;
use std::time::{Duration, Instant};

use millstream::isolated::{Attach, Fallback};
use millstream_dpdk::*;
use support::*;

/// A device with one lane on it.
struct Fixture {
    device: *mut Device,
    lane: *mut Lane,
}

impl Fixture {
    fn new() -> Self {
        Fixture::with(2048)
    }

    /// Makes a device whose lane has so many descriptors.
    fn with(descriptors: u32) -> Self {
        let nowhere = Some("/nonexistent/socket".into());
        let attach = Attach {
            socket: nowhere,
            depth: 2048,
            arena_bytes: 16 << 20,
            key_slots: 64,
            fallback: Fallback::InProcess,
            ..Attach::default()
        };
        let device = Box::into_raw(Box::new(Device::new(attach.attach().unwrap())));
        let (mut lane, mut text) = (null_mut(), [0_u8; 200]);
        let message = Message { text: text.as_mut_ptr().cast(), room: text.len() };
        // SAFETY: everything is as long as it says.
        assert_eq!(unsafe { millstream_dpdk_lane_new(device, descriptors, &mut lane, &message) }, 0);
        Fixture { device, lane }
    }

    /// Runs an operation in the worker.
    fn run(&self, session: &Bound, parts: &Parts, lie: Lie) -> (Status, Vec<u8>, Vec<u8>) {
        run_by(session, parts, lie, |packet| {
            // SAFETY: the packet is as the function before makes it.
            assert_eq!(unsafe { millstream_dpdk_submit(self.lane, packet, 1) }, 1);
            self.poll(packet);
        })
    }

    #[track_caller]
    fn poll(&self, packet: &mut Packet) {
        let begin = Instant::now();
        // SAFETY: there is room for one.
        while unsafe { millstream_dpdk_poll(self.lane, packet, 1) } == 0 {
            assert!(begin.elapsed() < Duration::from_secs(20), "nothing comes back");
        }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // SAFETY: nobody uses them any more.
        unsafe {
            millstream_dpdk_lane_free(self.lane);
            millstream_dpdk_detach(self.device);
        }
    }
}

/// Returns a key that no algorithm finds weak.
fn key(len: u16) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + 1) as u8).collect()
}

/// Returns the transform of a row, with the longest key and tag but for those that are as long as one likes.
fn of_row(row: &Row, forward: bool, key: &[u8]) -> GivenTransform {
    let aad = row.aad.max.min(20);
    let tag = row.digest.max.min(64);
    transform(row.class, row.number, forward, key, [row.iv.max, tag, aad])
}

/// Returns an operation for a row: 96 bytes at a distance from the span's begin, or as many bits.
fn parts(row: &Row) -> Parts {
    let unit = if row.in_bits != 0 { 8 } else { 1 };
    let mut span: Vec<u8> = (0..128).map(|i| (i * 5 + 3) as u8).collect();
    // The end of a frame of KASUMI F9.
    span[111] = 0x60;
    let region = (16 * unit, 96 * unit);
    let tag = vec![0; row.digest.max.min(64).into()];
    Parts {
        span,
        cipher: region,
        auth: region,
        iv: vec![1; row.iv.max.into()],
        aad: vec![2; row.aad.max.min(20).into()],
        tag,
    }
}

/// Runs an operation here and in the worker, there and back, and with a wrong tag. All has to be the same.
#[track_caller]
fn agree(fixture: &Fixture, out: &[GivenTransform], back: &[GivenTransform], parts: &Parts, has_tag: bool) {
    let (here, there) = (bind(out).unwrap(), bind_in(fixture.device, out).unwrap());
    let (here_back, there_back) = (bind(back).unwrap(), bind_in(fixture.device, back).unwrap());
    for lie in LIES {
        let local = run(&here, parts, lie);
        assert_eq!(local.0, Status::Good, "{lie:?}");
        assert_eq!(fixture.run(&there, parts, lie), local, "{lie:?}");
        let (_, span, tag) = local;
        let mut made = Parts { span, tag, ..parts.clone() };
        let local = run(&here_back, &made, lie);
        assert_eq!(local.0, Status::Good, "back, {lie:?}");
        assert_eq!(fixture.run(&there_back, &made, lie), local, "back, {lie:?}");
        if has_tag {
            made.tag[1] ^= 4;
            let local = run(&here_back, &made, lie);
            assert_eq!(local.0, Status::Authentication, "wrong, {lie:?}");
            assert_eq!(fixture.run(&there_back, &made, lie).0, local.0, "wrong, {lie:?}");
        }
    }
}

#[test]
fn algorithms_agree() {
    let fixture = Fixture::new();
    let mut count = 0;
    for row in rows() {
        let key = key(row.key.max.min(64));
        let null = row.number == 1 && row.class != Class::Aead;
        let has_tag = row.class != Class::Cipher && !null;
        println!("{:?} {}", row.class, row.number);
        let one = |forward| [of_row(row, forward, &key)];
        agree(&fixture, &one(true), &one(false), &parts(row), has_tag);
        count += 1;
    }
    assert_eq!(count, 35, "algorithms");
}

#[test]
fn chains_agree() {
    let fixture = Fixture::new();
    let row = |class, number| *rows().find(|row| row.class == class && row.number == number).unwrap();
    // With HMAC-SHA1 one operation of the worker does both; with AES-CMAC there are two.
    for (cipher, auth) in [(5, 10), (6, 14), (6, 12), (6, 3), (2, 8), (5, 3), (1, 10), (5, 1)] {
        let (mut cipher, auth) = (row(Class::Cipher, cipher), row(Class::Auth, auth));
        // AES-CTR takes a nonce alone, too.
        if matches!(auth.number, 3 | 12) {
            cipher.iv.max = cipher.iv.min;
        }
        let (cipher_key, auth_key) = (key(cipher.key.max), key(auth.key.max.min(64)));
        let ciphers = |forward| of_row(&cipher, forward, &cipher_key);
        let auths = |forward| of_row(&auth, forward, &auth_key);
        let has_tag = auth.number != 1;
        let mut parts = Parts { tag: parts(&auth).tag, ..parts(&cipher) };
        for auth_region in [(0, 112), (8, 120), (16, 96)] {
            println!("cipher {}, auth {}, {auth_region:?}", cipher.number, auth.number);
            parts.auth = auth_region;
            agree(&fixture, &[ciphers(true), auths(true)], &[auths(false), ciphers(false)], &parts, has_tag);
            agree(&fixture, &[auths(true), ciphers(true)], &[ciphers(false), auths(false)], &parts, has_tag);
        }
    }
}

/// A tag in the place of the result, over which a cipher that changes nothing goes.
#[test]
fn a_tag_stays_where_nothing_is_encrypted() {
    let fixture = Fixture::new();
    let key = key(16);
    let cipher = |forward| transform(Class::Cipher, 1, forward, &[], [0; 3]);
    let mac = |forward| transform(Class::Auth, 3, forward, &key, [0, 16, 0]);
    let parts = Parts { span: (0..48).collect(), cipher: (0, 48), auth: (0, 32), ..Parts::default() };
    let tagged = |packet: &mut Packet| {
        // SAFETY: the place of the result has 48 bytes.
        packet.tag = unsafe { packet.destination.add(32) };
        packet.tag_at = 32;
    };
    for lie in [Lie::InPlace, Lie::Apart] {
        let (here, there) = ([mac(true), cipher(true)], [cipher(false), mac(false)]);
        let session = bind(&here).unwrap();
        let local = run_by(&session, &parts, lie, |packet| {
            tagged(packet);
            // SAFETY: everything is as long as it says.
            unsafe { millstream_dpdk_run(packet, 1) }
        });
        assert_eq!((local.0, &local.1[..32]), (Status::Good, &parts.span[..32]), "{lie:?}");
        assert_ne!(local.1[32..], parts.span[32..], "{lie:?}");
        let run = |session: &Bound, parts: &Parts| {
            run_by(session, parts, lie, |packet| {
                tagged(packet);
                // SAFETY: the packet is as the function before makes it.
                assert_eq!(unsafe { millstream_dpdk_submit(fixture.lane, packet, 1) }, 1);
                fixture.poll(packet);
            })
        };
        assert_eq!(run(&bind_in(fixture.device, &here).unwrap(), &parts), local, "{lie:?}");
        let back = bind_in(fixture.device, &there).unwrap();
        let mut made = Parts { span: local.1, ..parts.clone() };
        assert_eq!(run(&back, &made).0, Status::Good, "back, {lie:?}");
        made.span[40] ^= 1;
        assert_eq!(run(&back, &made).0, Status::Authentication, "wrong, {lie:?}");
    }
}

/// Describes a packet of 64 bytes for each place. Each third has a length that is none, and comes back in its turn.
fn packets(session: &Bound, places: &mut [[u8; 64]], iv: &[u8; 16]) -> Vec<Packet> {
    let parts = Parts { span: vec![0; 64], iv: iv.to_vec(), ..Parts::default() };
    let numbered = places.iter_mut().enumerate().map(|(i, bytes)| {
        let at = bytes.as_mut_ptr();
        Packet {
            user: i as *mut _,
            iv: iv.as_ptr(),
            tag: null_mut(),
            cipher_length: if i % 3 == 0 { 65 } else { 64 },
            ..packet(session, &parts, (at, at), (at.cast(), at.cast()), &mut [])
        }
    });
    numbered.collect()
}

#[test]
fn packets_come_back_in_their_order() {
    // With all the room there is, which more descriptors don't make more, and with fewer.
    for (descriptors, most) in [(2048, 256), (50, 50)] {
        let fixture = Fixture::with(descriptors);
        let key = key(16);
        let cipher = [transform(Class::Cipher, 6, true, &key, [16, 0, 0])];
        let session = bind_in(fixture.device, &cipher).unwrap();
        let (mut places, iv) = (vec![[0_u8; 64]; 1000], [1_u8; 16]);
        let packets = packets(&session, &mut places, &iv);
        let (mut given, mut come) = (0, 0);
        while come < packets.len() {
            // SAFETY: everything is as long as it says.
            let (room, taken) = unsafe {
                let room = millstream_dpdk_room(fixture.lane);
                let rest = &packets[given..];
                (room, millstream_dpdk_submit(fixture.lane, rest.as_ptr(), rest.len()))
            };
            assert_eq!(room, most - (given - come));
            assert_eq!(taken, room.min(packets.len() - given));
            given += taken;
            for _ in 0..taken.clamp(1, 40) {
                let mut packet = packets[0].clone();
                fixture.poll(&mut packet);
                let expected = if come % 3 == 0 { Status::Argument } else { Status::Good };
                assert_eq!((packet.user as usize, packet.status), (come, expected));
                come += 1;
            }
        }
    }
}
