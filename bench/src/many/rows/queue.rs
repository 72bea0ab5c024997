//! Millstream's queue, with its accelerator on the polling thread. Every object is submitted, and then all
//! are taken back. Objects are in the queue's arena from the beginning, as a program would have them. Input
//! and output are separate buffers, which makes twice the memory of the rows that work in place.

use millstream::cwq::Algorithm as Code;
use millstream::queue::{Buffer, Config, Done, KeyHandle, Queue, Request};
use millstream::{Checksum, Features};

use super::ours::{engine_hash, put};
use super::{Cell, Row, Run};
use crate::case::{AAD, Algorithm, Cipher, Hash, Mode, kasumi};
use crate::many::objects::{Object, Objects, Tag};
use crate::many::work::Work;
use crate::measure::OURS;

/// Returns the row of a queue.
pub fn row(cell: &Cell, features: Features) -> Option<Row> {
    match cell.work {
        Work::Null => queue(cell, features, None, |_, _, _, _| Request::null()),
        Work::EncryptThenMac(cipher, _) => {
            let code = if matches!(cipher, Cipher::Aes(_)) { Code::AesCbc } else { Code::DesCbc };
            let iv = cell.work.iv_len();
            queue(cell, features, Some(code), move |key, object, buffers, _| {
                let (source, destination) = buffers.both();
                let mac = key.mac.expect("a key for the MAC");
                Request::encrypt_then_mac(key.cipher(), &object.iv[..iv], mac, 0, source, destination)
            })
        }
        Work::One(case) => one(cell, features, case.algorithm),
    }
}

fn one(cell: &Cell, features: Features, algorithm: Algorithm) -> Option<Row> {
    let cipher = |code| {
        let iv = if algorithm == Algorithm::KasumiF8 { 8 } else { cell.work.iv_len() };
        queue(cell, features, Some(code), move |key, object, buffers, _| {
            let (source, destination) = buffers.both();
            Request::encrypt(key.cipher(), &object.iv[..iv], source, destination)
        })
    };
    let aead = |code| {
        if cell.work.opens() {
            return queue(cell, features, Some(code), |key, object, buffers, tag| {
                let (source, destination) = buffers.both();
                Request::open(
                    key.cipher(),
                    &object.iv[..12],
                    &AAD,
                    source,
                    destination,
                    tag.first_chunk().expect("a whole tag"),
                )
            });
        }
        queue(cell, features, Some(code), |key, object, buffers, _| {
            let (source, destination) = buffers.both();
            Request::seal(key.cipher(), &object.iv[..12], &AAD, source, destination)
        })
    };
    let mac = |code| {
        queue(cell, features, Some(code), |key, _, buffers, _| Request::mac(key.cipher(), buffers.source()))
    };
    let checksum = |checksum| {
        queue(cell, features, None, move |_, _, buffers, _| Request::checksum(checksum, buffers.source()))
    };
    match algorithm {
        Algorithm::Cipher(Cipher::Aes(_), Mode::Cbc) => cipher(Code::AesCbc),
        Algorithm::Cipher(Cipher::Aes(_), Mode::Ctr) => cipher(Code::AesCtr),
        Algorithm::Cipher(Cipher::Aes(_), Mode::Cfb) => cipher(Code::AesCfb),
        Algorithm::Cipher(Cipher::Camellia(_), Mode::Cbc) => cipher(Code::CamelliaCbc),
        Algorithm::Cipher(Cipher::Des | Cipher::Tdes, Mode::Cbc) => cipher(Code::DesCbc),
        Algorithm::KasumiF8 => cipher(Code::KasumiF8),
        Algorithm::Gcm(_) => aead(Code::AesGcm),
        Algorithm::ChaCha20Poly1305 => aead(Code::ChaCha20Poly1305),
        Algorithm::Cmac(_) => mac(Code::AesCmac),
        Algorithm::Hmac(hash) => mac(hash_code(hash)),
        Algorithm::Digest(hash) => {
            let hash = engine_hash(hash);
            queue(cell, features, None, move |_, _, buffers, _| Request::digest(hash, buffers.source()))
        }
        Algorithm::KasumiF9 => queue(cell, features, Some(Code::KasumiF9), |key, object, buffers, _| {
            let request = Request::mac(key.cipher(), buffers.source()).with_iv(&object.iv[..8]);
            request.with_parameter(0, kasumi::DIRECTION)
        }),
        Algorithm::Crc32 => checksum(Checksum::Crc32),
        Algorithm::Crc32c => checksum(Checksum::Crc32c),
        _ => None,
    }
}

fn hash_code(hash: Hash) -> Code {
    match hash {
        Hash::Md5 => Code::Md5,
        Hash::Sha1 => Code::Sha1,
        Hash::Sha256 => Code::Sha256,
        Hash::Sha512 => Code::Sha512,
        Hash::Sha3_256 => Code::Sha3_256,
    }
}

/// The slots of an object's keys.
#[derive(Clone, Copy)]
struct Slots {
    cipher: Option<KeyHandle>,
    mac: Option<KeyHandle>,
}

impl Slots {
    #[inline(always)]
    fn cipher(&self) -> KeyHandle {
        self.cipher.expect("a key")
    }
}

/// An object's place in the arena, while it is not in flight.
struct Place {
    source: Option<Buffer>,
    destination: Option<Buffer>,
}

impl Place {
    #[inline(always)]
    fn source(&mut self) -> Buffer {
        self.source.take().expect("not in flight")
    }

    #[inline(always)]
    fn both(&mut self) -> (Buffer, Buffer) {
        (self.source(), self.destination.take().expect("not in flight"))
    }
}

struct InQueue<F> {
    queue: Queue,
    keys: Vec<Slots>,
    places: Vec<Place>,
    /// The object that is in flight under each ticket's index.
    objects: Vec<u32>,
    make: F,
    /// True when a checksum comes out, and no tag.
    value: bool,
    /// True when nothing but data comes out.
    silent: bool,
}

fn queue<F>(cell: &Cell, features: Features, key: Option<Code>, make: F) -> Option<Row>
where
    F: for<'a> Fn(&Slots, &'a Object<'_>, &mut Place, &'a Tag) -> Request<'a> + 'static,
{
    const SPACE: usize = 64;
    let work = cell.work;
    let lens = cell.sizes.of(cell.depth);
    let count = cell.keys.count(cell.depth);
    // The arena's heap may round buffers up to powers of two.
    let arena: usize = lens.iter().map(|len| 4 * (len + SPACE).next_power_of_two()).sum();
    let config = Config {
        depth: cell.depth,
        arena_bytes: u32::try_from(arena + (1 << 20)).ok()?,
        key_slots: 2 * count,
        ..Config::default()
    };
    let mut queue = Queue::inline(features, config).expect("a queue");
    let mut import = |code: Code, key: &[u8]| queue.import_key(code, key).expect("a slot and a key");
    let keys = cell.each_key(|k| Slots {
        cipher: key.map(|code| import(code, &work.key(k))),
        mac: match work {
            Work::EncryptThenMac(_, hash) => Some(import(hash_code(hash), &work.mac_key(k))),
            _ => None,
        },
    });
    // The buffers are a line longer than needed, so that they lie as far apart as the other rows' objects.
    let buffer = |len: usize| {
        let mut buffer = queue.buffer(len + SPACE).expect("the arena has room");
        buffer.set_len(len);
        buffer
    };
    let place = |&len: &usize| Place {
        source: Some(buffer(len)),
        destination: work.has_output().then(|| buffer(len)),
    };
    let places = lens.iter().map(place).collect();
    let value = matches!(work.cipher_case().algorithm, Algorithm::Crc32 | Algorithm::Crc32c);
    let silent = work == Work::Null || work.opens() || work.tag_len() == 0;
    let objects = vec![0; queue.depth()];
    Some(Row::new(
        OURS,
        "queue",
        "submit, poll",
        InQueue { queue, keys, places, objects, make, value, silent },
    ))
}

impl<F> InQueue<F> {
    #[inline(always)]
    fn take_back(&mut self, done: Done, tags: &mut [Tag]) {
        done.result.expect("nothing is wrong with it");
        let object = self.objects[done.ticket.index()] as usize;
        if !self.silent {
            match self.value {
                true => put(&mut tags[object], &done.value.to_le_bytes()),
                false => put(&mut tags[object], done.tag()),
            }
        }
        // A null operation takes no buffers with it.
        if let Some(source) = done.buffers.source {
            self.places[object].source = Some(source);
        }
        self.places[object].destination = done.buffers.destination;
    }
}

impl<F> Run for InQueue<F>
where
    F: for<'a> Fn(&Slots, &'a Object<'_>, &mut Place, &'a Tag) -> Request<'a>,
{
    fn load(&mut self, objects: &Objects<'_>) {
        for (place, object) in self.places.iter_mut().zip(&objects.list) {
            place.source.as_mut().expect("not in flight").copy_from_slice(object.data.input());
        }
    }

    fn batch(&mut self, objects: &mut Objects<'_>, times: u32) {
        for _ in 0..times {
            for (i, object) in objects.list.iter().enumerate() {
                let request =
                    (self.make)(&self.keys[object.key], object, &mut self.places[i], &objects.tags[i]);
                let ticket = self.queue.submit(request).expect("there is room");
                self.objects[ticket.index()] = i as u32;
            }
            while let Some(done) = self.queue.wait() {
                self.take_back(done, &mut objects.tags);
            }
        }
    }

    fn store(&self, objects: &mut Objects<'_>) {
        for (place, object) in self.places.iter().zip(&mut objects.list) {
            if let Some(destination) = &place.destination {
                object.data.pass().output().copy_from_slice(destination);
            }
        }
    }
}
