//! Queues as their users have them: inline, with the accelerator on a thread, and isolated.

use std::time::Duration;

use millstream::aead::Aead;
use millstream::cwq::{Algorithm, Status};
use millstream::hash::{Hash, HashKernel, Hasher};
use millstream::hmac::HmacKey;
use millstream::queue::{
    AcceleratorThread, Buffer, Config, Done, KeyHandle, Piece, Queue, Refusal, Request, RequestKey,
    ThreadConfig,
};
use millstream::{Checksum, Features, InOut, Operation, Unit, aes, crc, des, gcm, kasumi};
use millstream_double::Double;
use millstream_testkit::Random;

const SMALL: Config = Config { depth: 16, arena_bytes: 1 << 20, key_slots: 8, weight: 1 };

fn features() -> Features {
    millstream::features().unwrap()
}

/// The same test on an inline queue, on one whose accelerator has a thread, and on one of a service.
fn on_all(test: impl Fn(&mut Queue)) {
    test(&mut Queue::inline(features(), SMALL).unwrap());
    let thread = AcceleratorThread::spawn(features(), ThreadConfig::default()).unwrap();
    test(&mut thread.queue(SMALL).unwrap());
    test(&mut Double::start().attach().queue().unwrap());
}

fn filled(queue: &Queue, bytes: &[u8]) -> Buffer {
    let mut buffer = queue.buffer(bytes.len()).unwrap();
    buffer.copy_from_slice(bytes);
    buffer
}

/// A source with these bytes and a destination as long.
fn pair(queue: &Queue, bytes: &[u8]) -> (Buffer, Buffer) {
    (filled(queue, bytes), queue.buffer(bytes.len()).unwrap())
}

/// Submits a request and waits for its end.
fn run(queue: &mut Queue, request: Request<'_>) -> Done {
    let ticket = queue.submit(request).unwrap();
    let done = queue.wait().unwrap();
    assert_eq!(done.ticket, ticket);
    assert!(queue.wait().is_none(), "nothing else is in flight");
    done
}

fn output(done: &Done) -> &[u8] {
    done.result.unwrap();
    done.buffers.destination.as_ref().unwrap()
}

/// A key that lives as long as the test.
fn kept<T>(key: T) -> &'static T {
    Box::leak(Box::new(key))
}

/// Returns what an operation on borrowed bytes writes, and its tag.
fn expected(data: &[u8], make: impl for<'a> FnOnce(InOut<'a>) -> Operation<'a>) -> (Vec<u8>, Vec<u8>) {
    let mut out = vec![0; data.len()];
    let mut operation = make(InOut::separate(data, &mut out).unwrap());
    Unit::new(features()).run_one(&mut operation);
    operation.result().unwrap();
    let tag = operation.tag().to_vec();
    (out, tag)
}

#[test]
fn ciphers_and_aeads_go_there_and_back() {
    let data = Random::new(1).bytes(960);
    let (iv, nonce, aad) = ([3; 16], [4; 12], [5; 300]);
    on_all(|queue| {
        let key = queue.import_key(Algorithm::AesCbc, &[7; 24]).unwrap();
        let cbc = kept(aes::Cbc::new(features(), &[7; 24]).unwrap());
        let (cipher, _) = expected(&data, |pass| Operation::encrypt(cbc, &[3; 16], pass));
        let (source, destination) = pair(queue, &data);
        let done = run(queue, Request::encrypt(key, &iv, source, destination));
        assert_eq!(output(&done), cipher);
        assert_eq!(**done.buffers.source.as_ref().unwrap(), *data, "the input is intact");
        let (source, destination) = pair(queue, &cipher);
        assert_eq!(output(&run(queue, Request::decrypt(key, &iv, source, destination))), data);

        let key = queue.import_key(Algorithm::AesGcm, &[8; 32]).unwrap();
        let gcm = kept(gcm::Gcm::new(features(), &[8; 32]).unwrap());
        let (cipher, tag) = expected(&data, |pass| Operation::seal(gcm, &[4; 12], &[5; 300], pass));
        let (source, destination) = pair(queue, &data);
        let done = run(queue, Request::seal(key, &nonce, &aad, source, destination));
        assert_eq!((output(&done), done.tag()), (&cipher[..], &tag[..]));
        let (source, destination) = pair(queue, &cipher);
        let done = run(queue, Request::open_cut(key, &nonce, &aad, source, destination, &tag[..12], 12));
        assert_eq!(output(&done), data);
        // A sender that cuts the tag does not choose how much of it is compared.
        for given in [&tag[..4], &tag[..8], &tag[..16], &[]] {
            let (source, destination) = pair(queue, &cipher);
            let request = Request::open_cut(key, &nonce, &aad, source, destination, given, 12);
            assert_eq!(run(queue, request).result, Err(Status::MacLength));
        }
        let (source, destination) = pair(queue, &cipher);
        let done = run(
            queue,
            Request::open(key, &nonce, &aad[1..], source, destination, tag[..].try_into().unwrap()),
        );
        assert_eq!(done.result, Err(Status::Authentication));
        assert!(done.buffers.destination.unwrap().iter().all(|b| *b == 0), "no plaintext");

        let f8 = kasumi::F8::new(features(), &[9; 16]).unwrap();
        let mut wanted = data.clone();
        f8.apply(77, 5, 1, InOut::in_place(&mut wanted), 8 * 960 - 3).unwrap();
        let start = (77_u64 << 32 | 5 << 27 | 1 << 26).to_be_bytes();
        let carried = RequestKey::Carried(Algorithm::KasumiF8, &[9; 16]);
        let (source, destination) = pair(queue, &data);
        let done = run(queue, Request::encrypt(carried, &start, source, destination).with_parameter(3, 0));
        assert_eq!(output(&done), wanted);
    });
}

/// An object of an AEAD in pieces of so many bytes: what becomes of its data, and the last request's end.
fn in_pieces(
    queue: &mut Queue,
    (key, opens): (KeyHandle, bool),
    (nonce, aad): (&[u8], &[u8]),
    data: &[u8],
    len: usize,
    tag: &[u8],
) -> (Vec<u8>, Done) {
    let (first, rest) = aad.split_at(aad.len() / 2);
    let (source, destination) = pair(queue, &[]);
    let began = Request::partial_seal(key, Piece::First(nonce), first, source, destination);
    let mut state = run(queue, began).state().to_vec();
    let (mut out, mut aad) = (vec![], rest);
    let (most, last) = data.split_at((data.len() - 1) / len * len);
    for piece in most.chunks(len) {
        let (source, destination) = pair(queue, piece);
        let request = if opens { Request::partial_open } else { Request::partial_seal };
        let done = run(queue, request(key, Piece::Next(&state), aad, source, destination));
        out.extend_from_slice(output(&done));
        (state, aad) = (done.state().to_vec(), &[]);
    }
    let (source, destination) = pair(queue, last);
    let done = run(
        queue,
        match opens {
            true => Request::last_open(key, Piece::Next(&state), aad, source, destination, tag),
            false => Request::last_seal(key, Piece::Next(&state), aad, source, destination),
        },
    );
    out.extend_from_slice(done.buffers.destination.as_ref().unwrap());
    (out, done)
}

#[test]
fn messages_under_keys_come_in_pieces() {
    let (data, aad) = (Random::new(7).bytes(1000), Random::new(8).bytes(300));
    on_all(|queue| {
        for (algorithm, nonce) in [
            (Algorithm::AesGcm, &[4; 12][..]),
            (Algorithm::AesGcm, &[4; 200]),
            (Algorithm::ChaCha20Poly1305, &[4; 12]),
        ] {
            let key = queue.import_key(algorithm, &[8; 32]).unwrap();
            let (source, destination) = pair(queue, &data);
            let whole = run(queue, Request::seal(key, nonce, &aad, source, destination));
            for len in [1, 100, 999, 2000] {
                let (sealed, done) = in_pieces(queue, (key, false), (nonce, &aad), &data, len, &[]);
                assert!((&sealed[..], done.tag()) == (output(&whole), whole.tag()), "{algorithm:?} by {len}");
                let (opened, done) = in_pieces(queue, (key, true), (nonce, &aad), &sealed, len, whole.tag());
                assert!(done.result == Ok(()) && opened == data, "{algorithm:?} by {len}");
                let (_, done) = in_pieces(queue, (key, true), (nonce, &aad), &sealed, len, &[1; 16]);
                assert_eq!(done.result, Err(Status::Authentication));
            }
            assert!(queue.remove_key(key));
        }
        for algorithm in [Algorithm::Md5, Algorithm::Sha256, Algorithm::Sha512, Algorithm::AesCmac] {
            let key = queue.import_key(algorithm, &[8; 32]).unwrap();
            let whole = run(queue, Request::mac(key, filled(queue, &data)));
            let first = run(queue, Request::partial_mac(key, None, filled(queue, &data[..333])));
            let next = filled(queue, &data[333..700]);
            let second = run(queue, Request::partial_mac(key, Some(first.state()), next));
            for _ in 0..2 {
                let last = filled(queue, &data[700..]);
                let done = run(queue, Request::last_mac(key, Some(second.state()), last));
                assert_eq!(done.tag(), whole.tag(), "{algorithm:?}");
            }
            let last = filled(queue, &data[700..]);
            let done = run(queue, Request::last_verify(key, Some(second.state()), last, whole.tag()));
            assert_eq!(done.result, Ok(()), "{algorithm:?}");
            let first = run(queue, Request::partial_verify(key, None, filled(queue, &data[..333])));
            for (tag, wanted) in [(whole.tag(), Ok(())), (&[1; 16], Err(Status::Authentication))] {
                let last = filled(queue, &data[333..]);
                let request = Request::last_verify(key, Some(first.state()), last, tag);
                assert_eq!(run(queue, request).result, wanted, "{algorithm:?}");
            }
            assert!(queue.remove_key(key));
        }
    });
}

#[test]
fn digests_macs_and_checksums() {
    let data = Random::new(2).bytes(1001);
    on_all(|queue| {
        for hash in Hash::ALL {
            let wanted = HashKernel::best(features(), hash).digest(&data);
            assert_eq!(run(queue, Request::digest(hash, filled(queue, &data))).tag(), &*wanted, "{hash}");

            // The same message in two pieces, the mid-state carried in between.
            let first = run(queue, Request::partial_hash(hash, None, filled(queue, &data[..333])));
            let mut hasher = Hasher::new(features(), hash);
            hasher.update(&data[..333]);
            assert_eq!(first.state(), &hasher.export()[..]);
            let last = run(queue, Request::last_hash(hash, Some(first.state()), filled(queue, &data[333..])));
            assert_eq!(last.tag(), &*wanted, "{hash}");

            let key = queue.import_key(millstream::algorithm_of(hash), b"key").unwrap();
            let tag = HmacKey::new(features(), hash, b"key").sign(&data);
            assert_eq!(run(queue, Request::mac(key, filled(queue, &data))).tag(), &*tag);
            assert_eq!(run(queue, Request::verify(key, filled(queue, &data), &tag[..8])).result, Ok(()));
            let other = run(queue, Request::verify(key, filled(queue, &data[1..]), &tag));
            assert_eq!(other.result, Err(Status::Authentication));
            assert!(queue.remove_key(key));
            let gone = run(queue, Request::mac(key, filled(queue, &data)));
            assert_eq!(gone.result, Err(Status::Key));
        }
        let cmac = aes::Cmac::new(features(), &[1; 16]).unwrap().mac(&data);
        let carried = RequestKey::Carried(Algorithm::AesCmac, &[1; 16]);
        assert_eq!(run(queue, Request::mac(carried, filled(queue, &data))).tag(), cmac);
        let f9 = kasumi::F9::new(features(), &[2; 16]).unwrap().mac(3, 4, 1, &data, 8 * 1001 - 5).unwrap();
        let carried = RequestKey::Carried(Algorithm::KasumiF9, &[2; 16]);
        let start = (3_u64 << 32 | 4).to_be_bytes();
        let request = Request::mac(carried, filled(queue, &data)).with_iv(&start).with_parameter(5, 1);
        assert_eq!(run(queue, request).tag(), f9);

        let crc = crc::Crc32c::of(features(), &data);
        assert_eq!(run(queue, Request::checksum(Checksum::Crc32c, filled(queue, &data))).value, crc);
        let (source, destination) = pair(queue, &data);
        let done = run(queue, Request::copy_checksum(Checksum::Crc32c, source, destination));
        assert_eq!((output(&done), done.value), (&data[..], crc));
        let (source, destination) = pair(queue, &data);
        assert_eq!(output(&run(queue, Request::copy(source, destination))), data);
    });
}

#[test]
fn combined_operations_and_gathered_input() {
    let packet = Random::new(3).bytes(20 + 800);
    on_all(|queue| {
        let cipher = queue.import_key(Algorithm::DesCbc, &[6; 24]).unwrap();
        let mac = queue.import_key(Algorithm::Md5, b"integrity").unwrap();
        let des = kept(des::Cbc::new(features(), &[6; 24]).unwrap());
        let hmac = kept(HmacKey::new(features(), Hash::Md5, b"integrity"));
        let (wanted, tag) =
            expected(&packet, |pass| Operation::encrypt_then_mac(des, &[1; 8], hmac, 20, pass));

        // The packet comes in three pieces.
        let more = vec![filled(queue, &packet[20..333]), filled(queue, &packet[333..])];
        let (source, destination) = (filled(queue, &packet[..20]), queue.buffer(820).unwrap());
        let request = Request::encrypt_then_mac(cipher, &[1; 8], mac, 20, source, destination).and_then(more);
        let mut done = run(queue, request);
        assert_eq!((output(&done), done.tag()), (&wanted[..], &tag[..]));
        assert_eq!(done.buffers.take_more().len(), 2);

        let (source, destination) = pair(queue, &wanted);
        let request = Request::mac_then_decrypt(cipher, &[1; 8], mac, 20, source, destination, &tag);
        assert_eq!(output(&run(queue, request)), packet);
        let (mut source, destination) = pair(queue, &wanted);
        source[7] ^= 1;
        let request = Request::mac_then_decrypt(cipher, &[1; 8], mac, 20, source, destination, &tag);
        let done = run(queue, request);
        assert_eq!(done.result, Err(Status::Authentication));
        assert!(done.buffers.destination.unwrap().iter().all(|b| *b == 0));
    });
}

/// Without a source the input lies in the destination, where the output then is; after a wrong tag it still lies there.
#[test]
fn what_has_no_source_is_done_in_place() {
    let data = Random::new(6).bytes(816);
    on_all(|queue| {
        let key = queue.import_key(Algorithm::AesGcm, &[8; 32]).unwrap();
        let gcm = kept(gcm::Gcm::new(features(), &[8; 32]).unwrap());
        let (cipher, tag) = expected(&data, |pass| Operation::seal(gcm, &[4; 12], &[5; 16], pass));
        let done = run(queue, Request::seal(key, &[4; 12], &[5; 16], None, filled(queue, &data)));
        assert_eq!((output(&done), done.tag()), (&cipher[..], &tag[..]));
        assert!(done.buffers.source.is_none());
        let tag = tag[..].try_into().unwrap();
        let sealed = done.buffers.destination.unwrap();
        let done = run(queue, Request::open(key, &[4; 12], &[6; 16], None, sealed, tag));
        assert_eq!(done.result, Err(Status::Authentication));
        let sealed = done.buffers.destination.unwrap();
        assert_eq!(*sealed, *cipher, "the input is intact");
        assert_eq!(output(&run(queue, Request::open(key, &[4; 12], &[5; 16], None, sealed, tag))), data);

        let cbc_key = queue.import_key(Algorithm::AesCbc, &[7; 24]).unwrap();
        let mac = queue.import_key(Algorithm::Sha1, b"integrity").unwrap();
        let cbc = kept(aes::Cbc::new(features(), &[7; 24]).unwrap());
        let hmac = kept(HmacKey::new(features(), Hash::Sha1, b"integrity"));
        let (cipher, tag) =
            expected(&data, |pass| Operation::encrypt_then_mac(cbc, &[3; 16], hmac, 16, pass));
        let request = Request::encrypt_then_mac(cbc_key, &[3; 16], mac, 16, None, filled(queue, &data));
        let done = run(queue, request);
        assert_eq!((output(&done), done.tag()), (&cipher[..], &tag[..]));
        let sealed = done.buffers.destination.unwrap();
        let request = Request::mac_then_decrypt(cbc_key, &[3; 16], mac, 16, None, sealed, &[0; 20]);
        let done = run(queue, request);
        assert_eq!(done.result, Err(Status::Authentication));
        let sealed = done.buffers.destination.unwrap();
        assert_eq!(*sealed, *cipher, "the input is intact");
        let request = Request::mac_then_decrypt(cbc_key, &[3; 16], mac, 16, None, sealed, &tag);
        assert_eq!(output(&run(queue, request)), data);

        let crc = crc::Crc32c::of(features(), &data);
        let done = run(queue, Request::copy_checksum(Checksum::Crc32c, None, filled(queue, &data)));
        assert_eq!((output(&done), done.value), (&data[..], crc));
        assert_eq!(output(&run(queue, Request::copy(None, filled(queue, &data)))), data);
        let done = run(queue, Request::encrypt(cbc_key, &[9; 16], None, filled(queue, &[1; 30])));
        said(&done, Status::DataLength, "aes-cbc: data of length 30; it takes whole blocks");
    });
}

/// Nonces, associated data and tags of all lengths find places that keep them apart.
#[test]
fn small_parts_of_any_length_lie_apart() {
    let data = Random::new(7).bytes(100);
    let small = Random::new(8).bytes(400);
    on_all(|queue| {
        let key = queue.import_key(Algorithm::AesGcm, &[8; 16]).unwrap();
        let gcm = kept(gcm::Gcm::new(features(), &[8; 16]).unwrap());
        for nonce in [1, 8, 12, 15, 16, 17, 48, 64, 65, 255].map(|len| &small[..len]) {
            for aad in [0, 1, 12, 16, 17, 47, 48, 49, 64, 65, 400].map(|len| &small[400 - len..]) {
                let mut wanted = data.clone();
                let mut tag = [0; 16];
                gcm.seal(nonce, aad, InOut::in_place(&mut wanted), &mut tag).unwrap();
                let (source, destination) = pair(queue, &data);
                let done = run(queue, Request::seal(key, nonce, aad, source, destination));
                assert_eq!((output(&done), done.tag()), (&wanted[..], &tag[..]));
                let sealed = done.buffers.destination.unwrap();
                let done = run(queue, Request::open(key, nonce, aad, None, sealed, &tag));
                assert_eq!(output(&done), data);
            }
        }
        let cbc_key = queue.import_key(Algorithm::AesCbc, &[7; 16]).unwrap();
        let cbc = kept(aes::Cbc::new(features(), &[7; 16]).unwrap());
        for (hash, algorithm) in [(Hash::Sha256, Algorithm::Sha256), (Hash::Sha384, Algorithm::Sha384)] {
            let mac = queue.import_key(algorithm, b"integrity").unwrap();
            let hmac = kept(HmacKey::new(features(), hash, b"integrity"));
            let (wanted, tag) =
                expected(&data[..96], |pass| Operation::encrypt_then_mac(cbc, &[3; 16], hmac, 0, pass));
            let buffer = filled(queue, &data[..96]);
            let done = run(queue, Request::encrypt_then_mac(cbc_key, &[3; 16], mac, 0, None, buffer));
            assert_eq!((output(&done), done.tag()), (&wanted[..], &tag[..]));
            assert!(queue.remove_key(mac));
        }
    });
}

#[test]
fn a_full_queue_is_a_value_and_gives_the_buffers_back() {
    on_all(|queue| {
        let mut tickets = Vec::new();
        let refused = loop {
            let buffer = filled(queue, &[tickets.len() as u8; 40]);
            match queue.submit(Request::digest(Hash::Sha1, buffer)) {
                Ok(ticket) => tickets.push(ticket),
                Err(refused) => break refused,
            }
        };
        assert_eq!(refused.why, Refusal::Full);
        assert_eq!(**refused.buffers.source.as_ref().unwrap(), [16; 40]);
        assert_eq!((queue.in_flight(), tickets.len()), (16, 16));
        let mut ended: Vec<_> = std::iter::from_fn(|| queue.wait()).map(|done| done.ticket).collect();
        ended.sort_by_key(|ticket| tickets.iter().position(|t| t == ticket));
        assert_eq!(ended, tickets);
        queue.submit(Request::null()).unwrap();
        assert_eq!(queue.wait().unwrap().result, Ok(()));
    });
}

#[test]
fn what_cant_be_submitted_says_why() {
    on_all(|queue| {
        let other = Queue::inline(features(), SMALL).unwrap();
        let foreign = queue.submit(Request::digest(Hash::Sha1, other.buffer(4).unwrap())).unwrap_err();
        assert_eq!(foreign.why, Refusal::ForeignBuffer);
        let (source, destination) = (queue.buffer(64).unwrap(), queue.buffer(32).unwrap());
        assert_eq!(
            queue.submit(Request::copy(source, destination)).unwrap_err().why,
            Refusal::DestinationLength
        );
        let key = queue.import_key(Algorithm::AesGcm, &[0; 16]).unwrap();
        let (source, destination) = pair(queue, b"data");
        let long = queue.submit(Request::seal(key, &[0; 256], &[], source, destination)).unwrap_err();
        assert_eq!(long.why, Refusal::TooLong);
        // Neither in the place beside a buffer: each in a buffer of its own.
        let (nonce, aad) = ([3; 255], vec![5; 100_000]);
        let (source, destination) = pair(queue, b"data");
        queue.submit(Request::seal(key, &nonce, &aad, source, destination)).unwrap();
        let done = queue.wait().unwrap();
        let (mut expected, mut tag) = (*b"data", [0; 16]);
        let gcm = gcm::Gcm::new(millstream::features().unwrap(), &[0; 16]).unwrap();
        gcm.seal(&nonce, &aad, InOut::in_place(&mut expected), &mut tag).unwrap();
        assert_eq!((done.result, done.tag()), (Ok(()), &tag[..]));
        assert_eq!(done.buffers.destination.as_deref(), Some(&expected[..]));
        assert_eq!(queue.buffer(1 << 24).unwrap_err(), Refusal::ArenaFull);
        for given in [usize::MAX, usize::MAX - 127, u32::MAX as usize] {
            assert_eq!(queue.buffer(given).unwrap_err(), Refusal::BufferLength);
        }
        assert!(queue.import_key(Algorithm::AesGcm, &[0; 17]).unwrap_err().to_string().contains("17 bytes"));
        for _ in 1..SMALL.key_slots {
            queue.import_key(Algorithm::Sha256, b"k").unwrap();
        }
        assert_eq!(queue.import_key(Algorithm::Sha256, b"k"), Err(millstream::Error::KeySlots));
        // A wrong use of a key is that operation's result.
        let (source, destination) = pair(queue, &[0; 15]);
        let carried = RequestKey::Carried(Algorithm::AesCbc, &[0; 16]);
        let done = run(queue, Request::encrypt(carried, &[0; 16], source, destination));
        assert_eq!(done.result, Err(Status::DataLength));
        assert_eq!(queue.in_flight(), 0);
    });
}

#[test]
fn lanes_wait_no_longer_than_the_deadline_and_cancels_find_what_waits() {
    let patient = ThreadConfig { flush_deadline: Duration::from_millis(200), ..ThreadConfig::default() };
    let thread = AcceleratorThread::spawn(features(), patient).unwrap();
    let mut queue = thread.queue(SMALL).unwrap();
    let tickets: Vec<_> = (0..8)
        .map(|i| queue.submit(Request::digest(Hash::Sha256, filled(&queue, &[i; 100]))).unwrap())
        .collect();
    for ticket in &tickets[..4] {
        queue.cancel(*ticket);
    }
    let mut cancelled = 0;
    while let Some(done) = queue.wait() {
        let index = tickets.iter().position(|t| *t == done.ticket).unwrap();
        match done.result {
            Ok(()) => assert_eq!(
                done.tag(),
                &*HashKernel::best(features(), Hash::Sha256).digest(&[index as u8; 100])
            ),
            Err(status) => {
                assert_eq!(status, Status::Cancelled);
                assert!(index < 4);
                cancelled += 1;
            }
        }
        assert_eq!(done.buffers.source.unwrap().len(), 100, "the input comes back either way");
    }
    assert_eq!(cancelled, 4, "they were held for other messages, so cancels found them");
    queue.cancel(tickets[0]);
    queue.submit(Request::null()).unwrap();
    assert_eq!(queue.wait().unwrap().result, Ok(()));
}

#[test]
fn queues_of_one_accelerator_are_served_side_by_side() {
    let config = ThreadConfig { cpu: Some(0), spin: Duration::ZERO, ..ThreadConfig::default() };
    let thread = AcceleratorThread::spawn(features(), config).unwrap();
    std::thread::scope(|scope| {
        for i in 0..4_u8 {
            let mut queue = thread.queue(SMALL).unwrap();
            scope.spawn(move || {
                let key = queue.import_key(Algorithm::AesCtr, &[i; 16]).unwrap();
                let ctr = aes::Ctr::new(features(), &[i; 16]).unwrap();
                for round in 0..200_u8 {
                    let (source, destination) = pair(&queue, &[round; 77]);
                    queue.submit(Request::encrypt(key, &[round; 16], source, destination)).unwrap();
                    if round % 8 == 7 {
                        while let Some(done) = queue.wait() {
                            let plain = done.buffers.source.as_ref().unwrap();
                            let mut wanted = plain.to_vec();
                            ctr.apply(&[plain[0]; 16], InOut::in_place(&mut wanted));
                            assert_eq!(output(&done), wanted);
                        }
                    }
                }
            });
        }
    });
    let error = AcceleratorThread::spawn(features(), ThreadConfig { cpu: Some(1023), ..config }).unwrap_err();
    assert!(error.to_string().contains("pinned"), "{error}");
}

#[test]
fn whatever_ends_first_nothing_dangles() {
    // A queue with operations in flight, inline and on a thread.
    on_all(|queue| {
        for i in 0..10 {
            let (source, destination) = pair(queue, &vec![i; 20_000]);
            queue.submit(Request::copy(source, destination)).unwrap();
        }
    });
    // The accelerator: what was submitted ends, what comes later is refused.
    let thread = AcceleratorThread::spawn(features(), ThreadConfig::default()).unwrap();
    let mut queue = thread.queue(SMALL).unwrap();
    for i in 0..10 {
        queue.submit(Request::digest(Hash::Sha512, filled(&queue, &[i; 3000]))).unwrap();
    }
    queue.flush();
    drop(thread);
    let ended: Vec<Done> = std::iter::from_fn(|| queue.wait()).collect();
    assert_eq!(ended.len(), 10);
    for done in &ended {
        let source = done.buffers.source.as_ref().unwrap();
        let digest = HashKernel::best(features(), Hash::Sha512).digest(source);
        assert_eq!((done.result, done.tag()), (Ok(()), &*digest));
    }
    assert_eq!(queue.submit(Request::null()).unwrap_err().why, Refusal::Gone);
    assert!(queue.import_key(Algorithm::AesCbc, &[0; 16]).is_err());
    // Buffers outlive everything.
    drop(queue);
    assert_eq!(ended[3].buffers.source.as_ref().unwrap()[..], [3; 3000]);
}

/// A report that prints an error and then its sources says nothing twice.
#[test]
fn no_source_says_what_the_message_said() {
    let refused = Queue::inline(features(), SMALL)
        .unwrap()
        .submit(Request::digest(Hash::Sha256, Queue::inline(features(), SMALL).unwrap().buffer(1).unwrap()));
    let refused = refused.expect_err("a buffer of another queue");
    let wrapped = [
        millstream::Error::from(Refusal::Full),
        Status::Key.into(),
        millstream::EngineError::Authentication.into(),
    ];
    let errors = wrapped.iter().map(|error| error as &dyn std::error::Error);
    for error in errors.chain([&refused as &dyn std::error::Error]) {
        let said = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            assert!(!said.contains(&cause.to_string()), "{said}");
            source = cause.source();
        }
    }
}

/// What a completion can only give a number for is told in the engine's words, wherever the accelerator is.
#[test]
fn failures_say_what_was_given_and_what_is_taken() {
    on_all(|queue| {
        let key = queue.import_key(Algorithm::AesCbc, &[7; 16]).unwrap();
        let gcm = queue.import_key(Algorithm::AesGcm, &[7; 16]).unwrap();
        let mac = queue.import_key(Algorithm::Sha256, b"k").unwrap();

        let (source, destination) = pair(queue, &[1; 30]);
        let done = run(queue, Request::encrypt(key, &[9; 16], source, destination));
        said(&done, Status::DataLength, "aes-cbc: data of length 30; it takes whole blocks");

        let (source, more) = (filled(queue, &[1; 16]), vec![filled(queue, &[2; 7])]);
        let destination = queue.buffer(23).unwrap();
        let done = run(queue, Request::encrypt(key, &[9; 16], source, destination).and_then(more));
        said(&done, Status::DataLength, "aes-cbc: data of length 23; it takes whole blocks");

        let (source, destination) = pair(queue, &[1; 32]);
        let done = run(queue, Request::encrypt(key, &[9; 12], source, destination));
        said(&done, Status::IvLength, "aes-cbc: a nonce of 12 bytes; it takes 16 bytes");

        let (source, destination) = pair(queue, &[1; 32]);
        let carried = RequestKey::Carried(Algorithm::AesCbc, &[7; 17]);
        let done = run(queue, Request::encrypt(carried, &[9; 16], source, destination));
        said(&done, Status::KeyLength, "aes-cbc: a key of 17 bytes; it takes 16, 24 or 32 bytes");

        let done = run(queue, Request::verify(mac, filled(queue, b""), &[0; 3]));
        said(&done, Status::MacLength, "a tag of 3 bytes");

        // Nothing is known of others but their status.
        let (source, destination) = pair(queue, &[1; 32]);
        let done = run(queue, Request::open(gcm, &[9; 12], b"", source, destination, &[0; 16]));
        said(&done, Status::Authentication, "authentication failed");
        for key in [key, gcm, mac] {
            queue.remove_key(key);
        }
    });
}

fn said(done: &Done, status: Status, sentence: &str) {
    let error = done.check().unwrap_err();
    assert_eq!(done.result, Err(status), "{error}");
    assert!(error.to_string().contains(sentence), "{error}");
}
