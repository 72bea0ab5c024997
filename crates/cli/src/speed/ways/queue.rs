//! Operations kept in flight in a queue, whose accelerator works on the polling thread, on one of its own or
//! in another process. Objects lie in the queue's arena.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};

use millstream::cwq;
use millstream::isolated::{Accelerator, Attach, Service};
use millstream::queue::{
    AcceleratorThread, Buffer, Config, Done, KeyHandle, Queue as OneQueue, Request, ThreadConfig,
};
use millstream::{Checksum, Features, hash::Hash};
use millstream_files::cipher::{Cipher, Family, Mode};

use super::batch::{call, put_value};
use crate::codes::hash_code;
use crate::error::Error;
use crate::speed::algorithm::{AAD, Algorithm, Case, kasumi};
use crate::speed::objects::Objects;
use crate::speed::{Prepared, Runner, Way};

/// The place where the accelerator works.
pub enum Place {
    /// The thread that polls.
    Inline,
    /// A thread of its own.
    Thread,
    /// A worker of a service.
    Isolated(Isolated),
}

/// A service that is running.
pub struct Isolated {
    socket: PathBuf,
    about: String,
}

impl Isolated {
    /// Finds the service at `socket`, or this user's or the machine's.
    ///
    /// # Errors
    /// Fails when there is none, or when it does not answer.
    pub fn find(socket: Option<&Path>) -> Result<Isolated, Error> {
        let mut service = Service::connect(socket)?;
        let workers = service.status()?.workers;
        let mut about = service.socket().display().to_string();
        if let Some(worker) = workers.first() {
            let (count, plural) = (workers.len(), if workers.len() == 1 { "" } else { "s" });
            let (keys, sandbox) = (&worker.key_memory, &worker.sandbox);
            about += &format!(", {count} worker{plural}, keys in {keys}, sandbox: {sandbox}");
        }
        Ok(Isolated { socket: service.socket().to_owned(), about })
    }
}

/// The accelerator of a queue, if it is not the queue itself.
enum Server {
    None,
    Thread { _thread: AcceleratorThread },
    Isolated { _accelerator: Accelerator },
}

/// Queues, one for each thread that computes.
pub struct Queue {
    /// The features that the kernels may use.
    pub features: Features,
    /// The place where the accelerator works.
    pub place: Place,
}

impl Way for Queue {
    fn name(&self) -> &'static str {
        match self.place {
            Place::Inline => "queue",
            Place::Thread => "queue-thread",
            Place::Isolated(_) => "isolated",
        }
    }

    fn about(&self) -> Option<String> {
        match &self.place {
            Place::Isolated(isolated) => Some(isolated.about.clone()),
            _ => None,
        }
    }

    fn has_depth(&self) -> bool {
        true
    }

    fn prepare(&self, case: &Case, objects: &mut Objects, depth: usize) -> Result<Option<Prepared>, Error> {
        let most = cwq::ControlWord::MOST_RANDOM_BYTES as usize;
        if case.algorithm == Algorithm::Random && (0..objects.len()).any(|i| objects.input(i).len() > most) {
            return Ok(None);
        }
        let config = Config { depth, arena_bytes: arena_bytes(case, objects)?, ..Config::default() };
        let (server, queue) = match &self.place {
            Place::Inline => (Server::None, OneQueue::inline(self.features, config)?),
            Place::Thread => {
                let thread = AcceleratorThread::spawn(self.features, ThreadConfig::default())?;
                let queue = thread.queue(config)?;
                (Server::Thread { _thread: thread }, queue)
            }
            Place::Isolated(Isolated { socket, .. }) => {
                let accelerator = attach(socket, &config)?;
                let queue = accelerator.queue()?;
                (Server::Isolated { _accelerator: accelerator }, queue)
            }
        };
        let call = match (case.algorithm, &self.place) {
            (Algorithm::Random, Place::Isolated(_)) => "the worker's generator".to_owned(),
            (Algorithm::Random, _) => "getrandom".to_owned(),
            _ => call(self.features, case.algorithm),
        };
        let runner = InFlight::new(case, objects, queue, server, depth)?;
        Ok(Some(Prepared { call, runner: Box::new(runner) }))
    }
}

/// Attaches a grant of one such queue.
fn attach(socket: &Path, config: &Config) -> Result<Accelerator, Error> {
    let (socket, depth, arena_bytes) = (Some(socket.to_owned()), config.depth, config.arena_bytes);
    Ok(Attach { socket, depth, arena_bytes, name: "millstream speed".into(), ..Attach::default() }
        .attach()?)
}

/// Returns the room for every object's input and output, each of which takes a power of two.
fn arena_bytes(case: &Case, objects: &Objects) -> Result<u32, Error> {
    let room = |bytes: usize| bytes.max(64).next_power_of_two();
    let both = |i: usize| {
        let data = data_bytes(case, objects, i);
        room(data) + if case.algorithm.has_two_directions() { room(data) } else { 0 }
    };
    let bytes = (0..objects.len()).map(both).sum::<usize>();
    // The sum is doubled, because the arena's own places come first and a span begins at a multiple of its
    // size.
    u32::try_from(2 * bytes + (1 << 20)).map_err(|_| {
        Error::Usage("these objects don't fit into the arena of a queue; take fewer in flight".into())
    })
}

/// Returns the bytes of an object without its tag.
fn data_bytes(case: &Case, objects: &Objects, i: usize) -> usize {
    let tag = if case.decrypts() { case.algorithm.tag_bytes() } else { 0 };
    objects.input(i).len() - tag
}

/// The request of a case.
enum Work {
    Cipher { key: KeyHandle, iv: Iv },
    Aead { key: KeyHandle },
    CipherMac { key: KeyHandle, mac: KeyHandle, iv_bytes: usize },
    Digest(Hash),
    Mac { key: KeyHandle },
    KasumiF9 { key: KeyHandle, iv: [u8; 8] },
    Checksum(Checksum),
    Random,
}

/// An initialisation vector: that many bytes of each object's own, or the same for all.
enum Iv {
    Own(usize),
    Same([u8; 8]),
}

impl Work {
    fn new(case: &Case, queue: &mut OneQueue) -> Result<Work, Error> {
        let key = &case.algorithm.key();
        let mut import = |algorithm| queue.import_key(algorithm, key);
        Ok(match case.algorithm {
            Algorithm::Cipher(cipher) if cipher.is_aead() => Work::Aead { key: import(code(cipher))? },
            Algorithm::Cipher(cipher) => {
                Work::Cipher { key: import(code(cipher))?, iv: Iv::Own(cipher.iv_bytes()) }
            }
            Algorithm::CipherMac(cipher, hash) => {
                let key = import(code(cipher))?;
                let mac = queue.import_key(hash_code(hash), &case.algorithm.mac_key())?;
                Work::CipherMac { key, mac, iv_bytes: cipher.iv_bytes() }
            }
            Algorithm::Digest(hash) => Work::Digest(hash),
            Algorithm::Hmac(hash) => Work::Mac { key: import(hash_code(hash))? },
            Algorithm::Cmac(_) => Work::Mac { key: import(cwq::Algorithm::AesCmac)? },
            Algorithm::KasumiF8 => {
                // TS 35.201 §3.4: COUNT || BEARER || DIRECTION || 0...0.
                let low = u32::from(kasumi::BEARER) << 27 | u32::from(kasumi::DIRECTION) << 26;
                let iv = (u64::from(kasumi::COUNT) << 32 | u64::from(low)).to_be_bytes();
                Work::Cipher { key: import(cwq::Algorithm::KasumiF8)?, iv: Iv::Same(iv) }
            }
            Algorithm::KasumiF9 => {
                let iv = (u64::from(kasumi::COUNT) << 32 | u64::from(kasumi::FRESH)).to_be_bytes();
                Work::KasumiF9 { key: import(cwq::Algorithm::KasumiF9)?, iv }
            }
            Algorithm::Crc32 => Work::Checksum(Checksum::Crc32),
            Algorithm::Crc32c => Work::Checksum(Checksum::Crc32c),
            Algorithm::IpChecksum => Work::Checksum(Checksum::Ip),
            Algorithm::Random => Work::Random,
        })
    }

    /// The request for an object: forwards, or back with the tag that is expected.
    #[inline(always)]
    fn request<'a>(&'a self, buffers: Pair, iv: &'a [u8; 16], back: Option<&'a [u8]>) -> Request<'a> {
        const TWO: &str = "what has output has a buffer for it";
        let Pair { source, destination } = buffers;
        match self {
            Work::Cipher { key, iv: which } => {
                let iv = match which {
                    Iv::Own(bytes) => &iv[..*bytes],
                    Iv::Same(iv) => iv,
                };
                match back {
                    None => Request::encrypt(*key, iv, source, destination.expect(TWO)),
                    Some(_) => Request::decrypt(*key, iv, source, destination.expect(TWO)),
                }
            }
            Work::Aead { key } => match back {
                None => Request::seal(*key, &iv[..12], &AAD, source, destination.expect(TWO)),
                Some(tag) => {
                    let tag = tag.try_into().expect("a whole tag");
                    Request::open(*key, &iv[..12], &AAD, source, destination.expect(TWO), tag)
                }
            },
            Work::CipherMac { key, mac, iv_bytes } => {
                let iv = &iv[..*iv_bytes];
                match back {
                    None => Request::encrypt_then_mac(*key, iv, *mac, 0, source, destination.expect(TWO)),
                    Some(tag) => {
                        Request::mac_then_decrypt(*key, iv, *mac, 0, source, destination.expect(TWO), tag)
                    }
                }
            }
            Work::Digest(hash) => Request::digest(*hash, source),
            Work::Mac { key } => Request::mac(*key, source),
            Work::KasumiF9 { key, iv } => {
                Request::mac(*key, source).with_iv(iv).with_parameter(0, kasumi::DIRECTION)
            }
            Work::Checksum(checksum) => Request::checksum(*checksum, source),
            // `InFlight::submit` makes its request, which has no source.
            Work::Random => Request::null(),
        }
    }
}

fn code(cipher: Cipher) -> cwq::Algorithm {
    use cwq::Algorithm as Code;
    match (cipher.family(), cipher.mode()) {
        (Family::Aes, Mode::Ecb) => Code::AesEcb,
        (Family::Aes, Mode::Cbc) => Code::AesCbc,
        (Family::Aes, Mode::Ctr) => Code::AesCtr,
        (Family::Aes, Mode::Cfb) => Code::AesCfb,
        (Family::Aes, Mode::Xts) => Code::AesXts,
        (Family::Aes, _) => Code::AesGcm,
        (Family::ChaCha20Poly1305, _) => Code::ChaCha20Poly1305,
        (Family::Camellia, Mode::Ecb) => Code::CamelliaEcb,
        (Family::Camellia, Mode::Cbc) => Code::CamelliaCbc,
        (Family::Camellia, _) => Code::CamelliaCtr,
        (Family::Sm4, Mode::Ecb) => Code::Sm4Ecb,
        (Family::Sm4, Mode::Cbc) => Code::Sm4Cbc,
        (Family::Sm4, _) => Code::Sm4Ctr,
        (Family::Des | Family::TripleDes, Mode::Ecb) => Code::DesEcb,
        (Family::Des | Family::TripleDes, Mode::Cbc) => Code::DesCbc,
        (Family::Des | Family::TripleDes, _) => Code::DesCfb,
        (Family::Rc4, _) => Code::Rc4,
    }
}

/// The buffers of an object.
struct Pair {
    source: Buffer,
    destination: Option<Buffer>,
}

/// A queue that is kept as full as was asked for.
struct InFlight {
    // This field comes before the server, so that the queue is dropped first.
    queue: OneQueue,
    _server: Server,
    work: Work,
    depth: usize,
    decrypts: bool,
    /// The buffers of every object that is not in flight. They are kept one by one, so that each is read as it was written.
    here: Vec<(Option<Buffer>, Option<Buffer>)>,
    /// The object whose source begins on a cache line of the arena, by lines from the first.
    by_line: Vec<u32>,
    first_line: usize,
    /// The objects whose turn comes next.
    next: VecDeque<usize>,
}

fn line(buffer: &Buffer) -> usize {
    buffer.as_ptr().addr() / 64
}

impl InFlight {
    fn new(
        case: &Case,
        objects: &Objects,
        mut queue: OneQueue,
        server: Server,
        depth: usize,
    ) -> Result<InFlight, Error> {
        let work = Work::new(case, &mut queue)?;
        let mut here = Vec::with_capacity(objects.len());
        for i in 0..objects.len() {
            let bytes = data_bytes(case, objects, i);
            if let Work::Random = work {
                here.push((None, Some(queue.buffer(bytes).map_err(millstream::Error::from)?)));
                continue;
            }
            let mut source = queue.buffer(bytes).map_err(millstream::Error::from)?;
            source.copy_from_slice(&objects.input(i)[..bytes]);
            let destination = match case.algorithm.has_two_directions() {
                true => Some(queue.buffer(bytes).map_err(millstream::Error::from)?),
                false => None,
            };
            here.push((Some(source), destination));
        }
        let lines: Vec<usize> =
            here.iter().filter_map(|pair| pair.0.as_ref().or(pair.1.as_ref())).map(line).collect();
        let first_line = lines.iter().copied().min().unwrap_or(0);
        let last_line = lines.iter().copied().max().unwrap_or(0);
        let mut by_line = vec![0; last_line - first_line + 1];
        for (i, line) in lines.iter().enumerate() {
            by_line[line - first_line] = i as u32;
        }
        let (decrypts, next) = (case.decrypts(), VecDeque::with_capacity(objects.len()));
        Ok(InFlight { queue, _server: server, work, depth, decrypts, here, by_line, first_line, next })
    }

    /// Puts an object in flight.
    #[inline(always)]
    fn submit(&mut self, objects: &Objects, i: usize) -> bool {
        let here = &mut self.here[i];
        let (source, destination) = match (here.0.take(), here.1.take()) {
            (Some(source), destination) => (source, destination),
            (None, Some(destination)) => return self.queue.submit(Request::random(destination)).is_ok(),
            (None, None) => return false,
        };
        let tag = &objects.input(i)[source.len()..];
        let pair = Pair { source, destination };
        let request = self.work.request(pair, objects.iv(i), self.decrypts.then_some(tag));
        self.queue.submit(request).is_ok()
    }

    /// Takes an object's result, and its buffers back. Returns which object it was, if it succeeded.
    #[inline(always)]
    fn finish(&mut self, objects: &mut Objects, done: Done) -> Option<usize> {
        let home = done.buffers.source.as_ref().or(done.buffers.destination.as_ref())?;
        let i = self.by_line[line(home) - self.first_line] as usize;
        done.result.ok()?;
        let made = objects.io(i).result;
        let data = done.buffers.destination.as_ref().map_or(0, |data| data.len());
        match (&mut made[data..], done.tag()) {
            (place, tag) if place.len() == tag.len() => place.copy_from_slice(tag),
            (place, _) => put_value(done.value, place),
        }
        let (source, destination) = (done.buffers.source, done.buffers.destination);
        let here = &mut self.here[i];
        // Their places are empty while an object is in flight: nothing is dropped, which the compiler can't know.
        std::mem::forget(std::mem::replace(&mut here.0, source));
        std::mem::forget(std::mem::replace(&mut here.1, destination));
        Some(i)
    }
}

impl Runner for InFlight {
    fn run(&mut self, objects: &mut Objects, which: Range<usize>, times: usize) -> bool {
        let mut to_submit = which.len() * times;
        let mut to_finish = to_submit;
        self.next.clear();
        self.next.extend(which);
        while to_finish > 0 {
            while to_submit > 0
                && self.queue.in_flight() < self.depth
                && let Some(i) = self.next.pop_front()
            {
                if !self.submit(objects, i) {
                    return false;
                }
                to_submit -= 1;
            }
            let Some(done) = self.queue.wait() else { return false };
            let Some(i) = self.finish(objects, done) else { return false };
            self.next.push_back(i);
            to_finish -= 1;
        }
        true
    }

    /// Copies the data from the arena. Tags were stored when they came.
    fn collect(&mut self, objects: &mut Objects) {
        for (i, pair) in self.here.iter().enumerate() {
            if let Some(data) = &pair.1 {
                objects.io(i).result[..data.len()].copy_from_slice(data);
            }
        }
    }
}
