//! Queues and their buffers.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use std::time::Duration;

use millstream::queue::{AcceleratorThread, Config, Queue as Inner, ThreadConfig};

use super::batch::{Kind, KindCode};
use super::lent::{Buffer, Lent};
use super::{In, free, guard, guard_value, make, object, object_mut, put};
use crate::algorithm::AlgorithmCode;
use crate::queue::{Ended, Loan, Plan, Queue, Work, key};
use crate::status::{Failure, Status, StatusCode, of_operation};

/// For a time of looking before sleeping: none at all.
pub const MILLSTREAM_NO_SPIN: u32 = u32::MAX;

/// How big a queue is, 32 bytes. Where a number is 0 it is what is usual.
#[derive(Debug)]
#[repr(C)]
pub struct QueueOptions {
    /// How many operations may be in flight; rounded up to a power of two, at most 65536. Usual: 256.
    pub depth: u32,
    /// Bytes of arena for buffers. Usual: 8 MiB.
    pub arena_bytes: u32,
    /// How many keys it may hold. Usual: 64.
    pub key_slots: u32,
    /// Its share of an accelerator that serves several queues. Usual: 1.
    pub weight: u32,
    /// 0.
    pub reserved: [u32; 4],
}

/// How an accelerator's thread behaves, 32 bytes. Where a number is 0 it is what is usual.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadOptions {
    /// Not 0: it is pinned to the processor `cpu`.
    pub pin: u32,
    /// Which processor.
    pub cpu: u32,
    /// Microseconds that it looks at empty rings before it sleeps. Usual: 50. MILLSTREAM_NO_SPIN: none.
    pub spin_us: u32,
    /// Microseconds that an operation may wait for others to fill lanes with. Usual: 0.
    pub flush_deadline_us: u32,
    /// 0.
    pub reserved: [u32; 4],
}

/// One operation for a queue, 128 bytes. Set all of it to 0, then the fields that its kind uses. What is small (iv,
/// aad, tag) is copied when it is submitted. Output never goes over input: source and destination are two buffers.
#[derive(Debug)]
#[repr(C)]
pub struct Request {
    /// What to do.
    pub kind: KindCode,
    /// The hash or checksum, where there is no key.
    pub algorithm: AlgorithmCode,
    /// The key: from millstream_queue_import_key() or of the accelerator.
    pub key: u64,
    /// The key of the HMAC, where a cipher and an HMAC are combined.
    pub mac_key: u64,
    /// The input.
    pub source: *mut Buffer,
    /// The output, as long as the input; NULL where there is none.
    pub destination: *mut Buffer,
    /// More input, read after the source as if it were one with it: `more_count` buffers.
    pub more: *const *mut Buffer,
    /// How many, at most 63.
    pub more_count: usize,
    /// Initialisation vector, first counter block, tweak, or nonce.
    pub iv: *const u8,
    /// Bytes of it, at most 255.
    pub iv_length: usize,
    /// Associated data, or the mid-state before.
    pub aad: *const u8,
    /// Bytes of it: as many as the arena has room for.
    pub aad_length: usize,
    /// The tag to compare with.
    pub tag: *const u8,
    /// Bytes of it, at most 64.
    pub tag_length: usize,
    /// Bytes in front that are authenticated and not encrypted, where a cipher and an HMAC are combined.
    pub clear_length: u32,
    /// Of KASUMI: how many bits of the last byte are no part of the message, 0 to 7.
    pub unused_bits: u8,
    /// Of KASUMI F9: DIRECTION, 0 or 1.
    pub direction: u8,
    /// 0.
    pub reserved: [u8; 2],
    /// The caller's own: it comes back with the end.
    pub user: u64,
    /// 0.
    pub reserved_too: u64,
}

/// The end of an operation, 128 bytes.
#[derive(Debug)]
#[repr(C)]
pub struct Done {
    /// Which it was: what millstream_queue_submit() gave.
    pub ticket: u64,
    /// The request's `user`.
    pub user: u64,
    /// What came of it.
    pub status: StatusCode,
    /// The checksum, if it was to take one.
    pub value: u32,
    /// Bytes of `tag`.
    pub tag_length: u32,
    /// Bytes of the nonce that the accelerator made, which follow those of the tag in `tag`; 0 where it made none.
    pub nonce_length: u32,
    /// The request's source, which can be used again; NULL where it had none.
    pub source: *mut Buffer,
    /// The request's destination, which can be used again; NULL where it had none.
    pub destination: *mut Buffer,
    /// The mid-state after a piece of a message, until the queue is next polled or waited for; else NULL.
    pub state: *const u8,
    /// Bytes of it.
    pub state_length: usize,
    /// The digest, MAC or tag, and after it the nonce that was made.
    pub tag: [u8; 64],
}

/// An accelerator on a thread of its own.
pub struct Thread(AcceleratorThread);

/// That is what lets C use one from many threads, and hand queues from one to another.
const _: () = {
    const fn both<T: Send + Sync>() {}
    both::<Thread>();
    const fn send<T: Send>() {}
    send::<Queue>();
};

impl QueueOptions {
    fn config(&self) -> Result<Config, Failure> {
        none_reserved(&self.reserved)?;
        let usual = Config::default();
        let or = |given: u32, usual: usize| if given == 0 { usual } else { given as usize };
        Ok(Config {
            depth: or(self.depth, usual.depth),
            arena_bytes: if self.arena_bytes == 0 { usual.arena_bytes } else { self.arena_bytes },
            key_slots: or(self.key_slots, usual.key_slots),
            weight: if self.weight == 0 { usual.weight } else { self.weight },
        })
    }
}

impl ThreadOptions {
    fn config(&self) -> Result<ThreadConfig, Failure> {
        none_reserved(&self.reserved)?;
        let usual = ThreadConfig::default();
        Ok(ThreadConfig {
            cpu: (self.pin != 0).then_some(self.cpu as usize),
            spin: spin(self.spin_us, usual.spin),
            flush_deadline: Duration::from_micros(self.flush_deadline_us.into()),
        })
    }
}

/// A time of looking, as C says it.
pub(super) fn spin(given_us: u32, usual: Duration) -> Duration {
    match given_us {
        0 => usual,
        MILLSTREAM_NO_SPIN => Duration::ZERO,
        given => Duration::from_micros(given.into()),
    }
}

/// What is reserved is 0.
pub(super) fn none_reserved(words: &[u32]) -> Result<(), Failure> {
    if words.iter().any(|word| *word != 0) {
        return Err(Failure::Reserved("reserved"));
    }
    Ok(())
}

/// The queue's options; the usual ones for NULL.
///
/// # Safety
/// NULL, or options.
unsafe fn config(options: *const QueueOptions) -> Result<Config, Failure> {
    // SAFETY: as the caller says.
    unsafe { options.as_ref() }.map_or(Ok(Config::default()), QueueOptions::config)
}

/// Makes a queue whose accelerator works on the thread that polls or waits, with the options given or, for NULL, the
/// usual ones. Its handle goes to *made, to be freed with millstream_queue_free().
///
/// A queue and its buffers are used by one thread at a time. They may be handed from one thread to another.
///
/// Fails, with NULL in *made, with MILLSTREAM_STATUS_ARENA_FULL (arena and depth together are more than 4 GiB),
/// MILLSTREAM_STATUS_MEMORY, MILLSTREAM_STATUS_FEATURES, MILLSTREAM_STATUS_RESERVED, MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_inline(
    options: *const QueueOptions,
    made: *mut *mut Queue,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe {
        make("made", made, || Ok(Queue::new(Inner::inline(millstream::features()?, config(options)?)?)))
    })
}

/// Starts an accelerator on a thread of its own, which serves any number of queues, with the options given or, for NULL,
/// the usual ones. Its handle goes to *made, to be freed with millstream_thread_free(). Any number of threads may use it
/// at once.
///
/// Fails, with NULL in *made, with MILLSTREAM_STATUS_THREAD (it can't be started or pinned), MILLSTREAM_STATUS_FEATURES,
/// MILLSTREAM_STATUS_RESERVED, MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_thread_start(
    options: *const ThreadOptions,
    made: *mut *mut Thread,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe {
        make("made", made, || {
            let config = options.as_ref().map_or(Ok(ThreadConfig::default()), ThreadOptions::config)?;
            Ok(Thread(AcceleratorThread::spawn(millstream::features()?, config)?))
        })
    })
}

/// Ends what was submitted and flushed, then the thread, and frees the handle. Its queues remain to be freed; what is
/// submitted to them later is refused with MILLSTREAM_STATUS_GONE. NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_thread_free(thread: *mut Thread) {
    // SAFETY: the caller's promise; see the module. It came from `make`.
    unsafe { free(thread) }
}

/// Makes a queue that an accelerator's thread serves, as millstream_queue_inline() makes one. Fails as that does, and
/// with MILLSTREAM_STATUS_GONE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_thread_queue(
    thread: *const Thread,
    options: *const QueueOptions,
    made: *mut *mut Queue,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe {
        make("made", made, || Ok(Queue::new(object("thread", thread)?.0.queue(config(options)?)?)))
    })
}

/// Frees a queue. Operations in flight are taken back or end first; their buffers are lost, and can only be freed. Other
/// buffers keep their bytes until they are freed. NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_free(queue: *mut Queue) {
    // SAFETY: the caller's promise; see the module. It came from `make`.
    unsafe { free(queue) }
}

/// How many operations may be in flight in a queue; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_depth(queue: *const Queue) -> usize {
    // SAFETY: the caller's promise; see the module.
    guard_value(0, || Ok(unsafe { object("queue", queue) }?.inner().depth()))
}

/// How many operations are in flight in a queue; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_in_flight(queue: *const Queue) -> usize {
    // SAFETY: the caller's promise; see the module.
    guard_value(0, || Ok(unsafe { object("queue", queue) }?.inner().in_flight()))
}

/// Expands a key of `key_length` bytes into a slot of the queue's accelerator and writes its number, never 0, to *made. The
/// bytes are not needed any more after. A key of a hash is one for HMAC.
///
/// Fails, with 0 in *made, with MILLSTREAM_STATUS_KEY_SLOTS, MILLSTREAM_STATUS_KEY_LENGTH, MILLSTREAM_STATUS_WEAK_KEY,
/// MILLSTREAM_STATUS_ALGORITHM (it takes no key), MILLSTREAM_STATUS_ARGUMENT, MILLSTREAM_STATUS_NULL,
/// MILLSTREAM_STATUS_SIZE; of a queue of a service also as millstream_accelerator_import_key().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_import_key(
    queue: *mut Queue,
    algorithm: AlgorithmCode,
    key: *const u8,
    key_length: usize,
    made: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; see the module.
        unsafe {
            put("made", made, 0)?;
            let (queue, key) = (object_mut("queue", queue)?, In::new("key", key, key_length)?.get());
            put("made", made, queue.inner_mut().import_key(algorithm.keyed()?, key)?.to_bits())
        }
    })
}

/// Zeroises a key. Operations under it that have not begun end with MILLSTREAM_STATUS_NO_SUCH_KEY. Where a grant has
/// several queues it is gone for all of them.
///
/// Fails with MILLSTREAM_STATUS_NO_SUCH_KEY, MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_remove_key(queue: *mut Queue, handle: u64) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; see the module.
        let found = unsafe { object_mut("queue", queue)? }.inner_mut().remove_key(key(handle)?);
        if found { Ok(()) } else { Err(millstream::cwq::Status::Key.into()) }
    })
}

/// Makes a buffer of `length` bytes, all 0, in the queue's arena. Its handle goes to *made, to be freed with
/// millstream_buffer_free(). Buffers are handed out in powers of two, and 128 bytes of each are the library's own.
///
/// Fails, with NULL in *made, with MILLSTREAM_STATUS_ARENA_FULL, MILLSTREAM_STATUS_REVOKED, MILLSTREAM_STATUS_GONE,
/// MILLSTREAM_STATUS_FORKED, MILLSTREAM_STATUS_SIZE, MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_buffer_new(
    queue: *mut Queue,
    length: usize,
    made: *mut *mut Buffer,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe {
        make("made", made, || {
            let queue = object("queue", queue.cast_const())?;
            if length > u32::MAX as usize {
                return Err(Failure::Size("buffer", length));
            }
            Ok(Buffer::new(queue.inner().buffer(length)?))
        })
    })
}

/// Wipes and frees a buffer; NULL is fine. It may outlive its queue.
///
/// Fails, with nothing freed, with MILLSTREAM_STATUS_IN_FLIGHT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_buffer_free(buffer: *mut Buffer) -> Status {
    guard(|| {
        if buffer.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's promise; it came from `make`, and no operation in flight refers to it.
        unsafe {
            object("buffer", buffer.cast_const())?.may_go()?;
            free(buffer);
        }
        Ok(())
    })
}

/// Where a buffer's bytes are; NULL while it is in flight, when it is lost, and for NULL. They stay there for as long as the
/// buffer lives, but from millstream_queue_submit() until millstream_queue_poll() or millstream_queue_wait() has
/// given it back they must be neither read nor written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_buffer_data(buffer: *mut Buffer) -> *mut u8 {
    guard_value(std::ptr::null_mut(), || {
        // SAFETY: the caller's promise; see the module.
        Ok(unsafe { object_mut("buffer", buffer) }?.here_mut("buffer")?.as_mut_ptr())
    })
}

/// Bytes in a buffer; 0 while it is in flight, when it is lost, and for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_buffer_length(buffer: *const Buffer) -> usize {
    // SAFETY: the caller's promise; see the module.
    guard_value(0, || Ok(unsafe { object("buffer", buffer) }?.here().map_or(0, |bytes| bytes.len())))
}

/// The most bytes a buffer can have, which may be more than it was made with; 0 while it is in flight, when it is lost, and for
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_buffer_capacity(buffer: *const Buffer) -> usize {
    // SAFETY: the caller's promise; see the module.
    guard_value(0, || Ok(unsafe { object("buffer", buffer) }?.here().map_or(0, |bytes| bytes.capacity())))
}

/// Makes a buffer `length` bytes long, at most its capacity. What comes to it is what was there before, or 0.
///
/// Fails, with nothing changed, with MILLSTREAM_STATUS_OUTPUT_LENGTH (more than its capacity),
/// MILLSTREAM_STATUS_IN_FLIGHT, MILLSTREAM_STATUS_LOST, MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_buffer_set_length(buffer: *mut Buffer, length: usize) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; see the module.
        let bytes = unsafe { object_mut("buffer", buffer)? }.here_mut("buffer")?;
        if length > bytes.capacity() {
            let (given, needed) = (bytes.capacity(), length);
            return Err(millstream::EngineError::OutputLength { given, needed }.into());
        }
        bytes.set_len(length);
        Ok(())
    })
}

/// Puts an operation in flight and writes its ticket to *ticket if that is not NULL. It never blocks. The request and what it
/// points to are not needed any more after, but for the buffers: they are with the operation until it has ended. An
/// accelerator that sleeps is woken, and the last few of many operations are begun, by the next
/// millstream_queue_poll(), millstream_queue_wait() or millstream_queue_flush().
///
/// Fails, with nothing submitted and the buffers the caller's still, with MILLSTREAM_STATUS_FULL (take what has ended, then submit
/// again), MILLSTREAM_STATUS_DESTINATION_LENGTH, MILLSTREAM_STATUS_FOREIGN_BUFFER, MILLSTREAM_STATUS_TOO_LONG,
/// MILLSTREAM_STATUS_ARENA_FULL (long associated data needs room), MILLSTREAM_STATUS_IN_FLIGHT,
/// MILLSTREAM_STATUS_LOST, MILLSTREAM_STATUS_OVERLAP (source and destination are one buffer),
/// MILLSTREAM_STATUS_NO_SUCH_KEY (not the number of a key), MILLSTREAM_STATUS_ALGORITHM, MILLSTREAM_STATUS_ARGUMENT,
/// MILLSTREAM_STATUS_RESERVED (also a buffer that the kind does not use), MILLSTREAM_STATUS_GONE,
/// MILLSTREAM_STATUS_REVOKED, MILLSTREAM_STATUS_FORKED, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_submit(
    queue: *mut Queue,
    request: *const Request,
    ticket: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; see the module.
        unsafe {
            let (queue, request) = (object_mut("queue", queue)?, object("request", request)?);
            let kind = request.kind.get()?;
            let plan = plan(request, kind)?;
            let bits = queue.submit(plan, loan(request, kind)?)?;
            if !ticket.is_null() {
                ticket.write(bits);
            }
        }
        Ok(())
    })
}

/// What a request says beside its buffers.
///
/// # Safety
/// What the request points to is valid for `'a`.
#[inline(always)]
unsafe fn plan<'a>(of: &Request, kind: Kind) -> Result<Plan<'a>, Failure> {
    if of.reserved != [0; 2] || of.reserved_too != 0 {
        return Err(Failure::Reserved("reserved"));
    }
    if of.unused_bits > 7 || of.direction > 1 {
        let number = u64::from(of.unused_bits) << 8 | u64::from(of.direction);
        return Err(Failure::Argument("number of unused bits and direction", number));
    }
    let work = match kind {
        Kind::Null => Work::Null,
        Kind::Copy => Work::Copy,
        Kind::CopyChecksum => Work::CopyChecksum(of.algorithm.checksum()?),
        Kind::Checksum => Work::Checksum(of.algorithm.checksum()?),
        Kind::Encrypt => Work::Encrypt(key(of.key)?),
        Kind::Decrypt => Work::Decrypt(key(of.key)?),
        Kind::Seal => Work::Seal(key(of.key)?),
        Kind::SealWithMadeNonce => {
            // A nonce that is given would not be the one that is used.
            if of.iv_length > 0 {
                return Err(Failure::Reserved("iv"));
            }
            Work::SealWithMadeNonce(key(of.key)?)
        }
        Kind::Open => Work::Open(key(of.key)?),
        Kind::Digest => Work::Digest(of.algorithm.hash()?),
        Kind::Mac => Work::Mac(key(of.key)?),
        Kind::Verify => Work::Verify(key(of.key)?),
        Kind::EncryptThenMac => Work::EncryptThenMac(key(of.key)?, key(of.mac_key)?, of.clear_length),
        Kind::MacThenDecrypt => Work::MacThenDecrypt(key(of.key)?, key(of.mac_key)?, of.clear_length),
        Kind::PartialDigest => Work::PartialDigest(of.algorithm.hash()?),
        Kind::LastDigest => Work::LastDigest(of.algorithm.hash()?),
    };
    // SAFETY: as the caller says; nothing of it is written.
    unsafe {
        Ok(Plan {
            work,
            iv: In::new("iv", of.iv, of.iv_length)?.get(),
            aad: In::new("aad", of.aad, of.aad_length)?.get(),
            tag: In::new("tag", of.tag, of.tag_length)?.get(),
            parameter: (of.unused_bits, of.direction),
            user: of.user,
        })
    }
}

/// The buffers of a request. If one can't be had C has the others back.
///
/// # Safety
/// They are handles, and the list is as long as the request says.
#[inline(always)]
unsafe fn loan(of: &Request, kind: Kind) -> Result<Loan, Failure> {
    let (source, destination) = kind.buffers();
    let unused = |name: &'static str| Err(Failure::Reserved(name));
    if !source && (!of.source.is_null() || of.more_count > 0) {
        return unused("source");
    }
    if !destination && !of.destination.is_null() {
        return unused("destination");
    }
    if source && of.source == of.destination {
        return Err(if of.source.is_null() {
            Failure::Null("source")
        } else {
            Failure::Overlap("source", "destination")
        });
    }
    let mut loan = Loan::default();
    // SAFETY: as the caller says.
    let taken = unsafe { take(of, &mut loan, source, destination) };
    match taken {
        Ok(()) => Ok(loan),
        Err(failure) => {
            loan.back();
            Err(failure)
        }
    }
}

/// # Safety
/// As for [`loan`].
#[inline(always)]
unsafe fn take(of: &Request, loan: &mut Loan, source: bool, destination: bool) -> Result<(), Failure> {
    // SAFETY: as the caller says.
    unsafe {
        if source {
            loan.source = Some(Lent::take("source", of.source)?);
        }
        if destination {
            loan.destination = Some(Lent::take("destination", of.destination)?);
        }
        if of.more_count == 0 {
            return Ok(());
        }
        if of.more.is_null() {
            return Err(Failure::Null("more"));
        }
        // More than that are refused: not looked at, either.
        if of.more_count > 63 {
            return Err(millstream::queue::Refusal::TooLong.into());
        }
        for i in 0..of.more_count {
            loan.more.push(Lent::take("more", *of.more.add(i))?);
        }
    }
    Ok(())
}

/// Takes the next operation that has ended: *done says what came of it, and its buffers are the caller's again. An inline
/// accelerator executes what was submitted first; one that sleeps elsewhere is woken. It never waits.
///
/// Returns MILLSTREAM_STATUS_NOTHING when none has ended. What came of the operation is in *done, not here. Fails with
/// MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_poll(queue: *mut Queue, done: *mut Done) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { next(queue, done, false) })
}

/// Waits for the next operation to end, and takes it as millstream_queue_poll() does. It looks for a bounded time, then
/// sleeps.
///
/// Returns MILLSTREAM_STATUS_NOTHING when none is in flight. Fails with MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_wait(queue: *mut Queue, done: *mut Done) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { next(queue, done, true) })
}

/// # Safety
/// As for the two functions before.
#[inline(always)]
unsafe fn next(queue: *mut Queue, done: *mut Done, wait: bool) -> Result<(), Failure> {
    // SAFETY: as the caller says.
    let queue = unsafe { object_mut("queue", queue)? };
    if done.is_null() {
        return Err(Failure::Null("done"));
    }
    let Ended { done: ended, source, destination, user, tag, nonce } = queue.next(wait)?;
    let state = queue.state();
    let status = match ended.result {
        Ok(()) => Status::Ok,
        Err(status) => of_operation(status),
    };
    let ended = Done {
        ticket: ended.ticket.to_bits(),
        user,
        status: status.into(),
        value: ended.value,
        tag_length: tag.1 as u32,
        nonce_length: nonce as u32,
        source,
        destination,
        state: if state.is_empty() { std::ptr::null() } else { state.as_ptr() },
        state_length: state.len(),
        tag: tag.0,
    };
    // SAFETY: as the caller says.
    unsafe { put("done", done, ended) }
}

/// Sees to it that all that was submitted is under way, without waiting for any of it: for a thread that submits and then does
/// something else for long. An accelerator that sleeps is woken; an inline one executes it now.
///
/// Fails with MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_flush(queue: *mut Queue) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; see the module.
        unsafe { object_mut("queue", queue)? }.inner_mut().flush();
        Ok(())
    })
}

/// Takes an operation back if it has not begun: it ends all the same, with MILLSTREAM_STATUS_CANCELLED. The ticket of one that
/// has ended is no fault.
///
/// Fails with MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_cancel(queue: *mut Queue, ticket: u64) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; see the module.
        unsafe { object_mut("queue", queue)? }.cancel(ticket);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of};

    use super::*;

    /// C programs are compiled against these.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn every_field_has_its_place() {
        assert_eq!((size_of::<Request>(), align_of::<Request>()), (128, 8));
        assert_eq!((size_of::<Done>(), align_of::<Done>()), (128, 8));
        assert_eq!((size_of::<QueueOptions>(), align_of::<QueueOptions>()), (32, 4));
        assert_eq!((size_of::<ThreadOptions>(), align_of::<ThreadOptions>()), (32, 4));
        let request = [
            (offset_of!(Request, kind), 0),
            (offset_of!(Request, algorithm), 4),
            (offset_of!(Request, key), 8),
            (offset_of!(Request, mac_key), 16),
            (offset_of!(Request, source), 24),
            (offset_of!(Request, destination), 32),
            (offset_of!(Request, more), 40),
            (offset_of!(Request, more_count), 48),
            (offset_of!(Request, iv), 56),
            (offset_of!(Request, iv_length), 64),
            (offset_of!(Request, aad), 72),
            (offset_of!(Request, aad_length), 80),
            (offset_of!(Request, tag), 88),
            (offset_of!(Request, tag_length), 96),
            (offset_of!(Request, clear_length), 104),
            (offset_of!(Request, unused_bits), 108),
            (offset_of!(Request, direction), 109),
            (offset_of!(Request, reserved), 110),
            (offset_of!(Request, user), 112),
            (offset_of!(Request, reserved_too), 120),
        ];
        let done = [
            (offset_of!(Done, ticket), 0),
            (offset_of!(Done, user), 8),
            (offset_of!(Done, status), 16),
            (offset_of!(Done, value), 20),
            (offset_of!(Done, tag_length), 24),
            (offset_of!(Done, source), 32),
            (offset_of!(Done, destination), 40),
            (offset_of!(Done, state), 48),
            (offset_of!(Done, state_length), 56),
            (offset_of!(Done, tag), 64),
        ];
        for (i, (is, should)) in request.into_iter().chain(done).enumerate() {
            assert_eq!(is, should, "field {i}");
        }
    }
}
