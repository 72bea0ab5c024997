//! Queues and their buffers.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

mod request;
pub mod structures;

use std::mem::MaybeUninit;
use std::time::Duration;

use millstream::queue::{AcceleratorThread, Config, Queue as Inner, ThreadConfig};

pub use self::structures::{Done, MILLSTREAM_NO_SPIN, QueueOptions, Request, ThreadOptions};
use super::lent::Buffer;
use super::{In, free, guard, guard_value, make, object, object_mut, put};
use crate::algorithm::AlgorithmCode;
use crate::failure::Failure;
use crate::queue::{Queue, key};
use crate::status::Status;

/// An accelerator on a thread of its own.
pub struct Thread(AcceleratorThread);

/// These traits are what lets C use one from many threads, and hand queues from one to another.
const _: () = {
    const fn both<T: Send + Sync>() {}
    both::<Thread>();
    const fn send<T: Send>() {}
    send::<Queue>();
};

/// Returns the queue's options; the usual ones for NULL.
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

/// Completes the operations that were submitted and flushed, ends the thread, and frees the handle. Its queues remain
/// to be freed; operations that are submitted to them later are refused with MILLSTREAM_STATUS_GONE. NULL is fine.
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

/// The most operations in flight in a queue; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_depth(queue: *const Queue) -> usize {
    // SAFETY: the caller's promise; see the module.
    guard_value(0, || Ok(unsafe { object("queue", queue) }?.inner().depth()))
}

/// The number of operations in a queue whose end was not taken yet; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_in_flight(queue: *const Queue) -> usize {
    // SAFETY: the caller's promise; see the module.
    guard_value(0, || Ok(unsafe { object("queue", queue) }?.in_flight()))
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

/// The address of a buffer's bytes; NULL while it is in flight, when it is lost, and for NULL. They stay there for as
/// long as the buffer lives, but from millstream_queue_submit() until millstream_queue_poll() or
/// millstream_queue_wait() has given it back they must be neither read nor written.
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

/// Makes a buffer `length` bytes long, at most its capacity. Bytes that are added are those that were there before, or
/// 0.
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
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { submit(queue, request, None, ticket) })
}

/// Puts an operation in flight as millstream_queue_submit() does, but waits first for room in a full queue, for
/// `timeout_ns` nanoseconds at most, or without a limit for UINT64_MAX. Operations that end meanwhile make room and are
/// kept, in that order, for the next millstream_queue_poll() and millstream_queue_wait().
///
/// Fails as millstream_queue_submit() does: with MILLSTREAM_STATUS_FULL when there was no room in time, and at once when
/// as many operations as the queue is deep have ended and wait to be taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_submit_wait(
    queue: *mut Queue,
    request: *const Request,
    timeout_ns: u64,
    ticket: *mut u64,
) -> Status {
    let limit = if timeout_ns == u64::MAX { Duration::MAX } else { Duration::from_nanos(timeout_ns) };
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { submit(queue, request, Some(limit), ticket) })
}

/// # Safety
/// As for the two functions before.
#[inline(always)]
unsafe fn submit(
    queue: *mut Queue,
    request: *const Request,
    wait: Option<Duration>,
    ticket: *mut u64,
) -> Result<(), Failure> {
    // SAFETY: as the caller says.
    unsafe {
        let (queue, request) = (object_mut("queue", queue)?, object("request", request)?);
        if let Some(limit) = wait {
            // A request that can't be submitted must not wait for room.
            request::check(request)?;
            queue.await_room(limit)?;
        }
        let bits = request::submit(queue, request)?;
        if !ticket.is_null() {
            ticket.write(bits);
        }
    }
    Ok(())
}

/// Puts many operations in flight, in the order of `requests`, as millstream_queue_submit() does with each. Stops at the
/// first that is refused, and writes how many were submitted to *submitted if that is not NULL; the others and their buffers are
/// the caller's still. Writes the tickets of those that were to `tickets` if that is not NULL.
///
/// Returns MILLSTREAM_STATUS_OK when all were submitted. Fails as millstream_queue_submit() does, with the reason for
/// which the first of the others was refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_submit_many(
    queue: *mut Queue,
    requests: *const Request,
    count: usize,
    tickets: *mut u64,
    submitted: *mut usize,
) -> Status {
    let mut done = 0;
    let status = guard(|| {
        while done < count {
            let ticket = if tickets.is_null() { tickets } else { tickets.wrapping_add(done) };
            // SAFETY: the caller's promise; see the module. There are `count` requests, and as many places for tickets.
            unsafe { submit(queue, requests.wrapping_add(done), None, ticket)? };
            done += 1;
        }
        Ok(())
    });
    if !submitted.is_null() {
        // SAFETY: the caller's promise; see the module.
        unsafe { submitted.write(done) };
    }
    status
}

/// Takes the next operation that has ended: *done gives its result, and its buffers are the caller's again. An inline
/// accelerator executes the submitted operations first; one that sleeps elsewhere is woken. It never waits.
///
/// Returns MILLSTREAM_STATUS_NOTHING when none has ended. The operation's own result is in *done. Fails with
/// MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_poll(queue: *mut Queue, done: *mut Done) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { next::<false>(queue, done) })
}

/// Waits for the next operation to end, however long that takes, and takes it as millstream_queue_poll() does. It looks
/// for a bounded time, then sleeps.
///
/// Returns MILLSTREAM_STATUS_NOTHING when none is in flight. Fails with MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_wait(queue: *mut Queue, done: *mut Done) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { next::<true>(queue, done) })
}

/// # Safety
/// As for the two functions before.
#[inline(always)]
unsafe fn next<const WAIT: bool>(queue: *mut Queue, done: *mut Done) -> Result<(), Failure> {
    // SAFETY: as the caller says.
    let queue = unsafe { object_mut("queue", queue)? };
    if done.is_null() {
        return Err(Failure::Null("done"));
    }
    // SAFETY: as the caller says; not NULL, and room for one.
    queue.next::<WAIT>(unsafe { &mut *done.cast::<MaybeUninit<Done>>() })
}

/// Takes operations that have ended, as millstream_queue_poll() does: `capacity` at most, in order, into `done`. Writes how many to *count.
/// It never waits. An operation that comes with a mid-state is the last that a call takes, because the next would end the mid-state's life.
///
/// Returns MILLSTREAM_STATUS_NOTHING, with 0 in *count, when none has ended. Fails with MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_drain(
    queue: *mut Queue,
    done: *mut Done,
    capacity: usize,
    count: *mut usize,
) -> Status {
    guard(|| {
        // Nothing is taken whose number could not be told.
        // SAFETY: the caller's promise; see the module.
        unsafe { put("count", count, 0)? };
        let mut taken = 0;
        let mut ended = Ok(());
        while taken < capacity {
            let place = done.wrapping_add(taken);
            // SAFETY: the caller's promise; see the module. There is room for `capacity` ends.
            ended = unsafe { next::<false>(queue, place) };
            if ended.is_err() {
                break;
            }
            taken += 1;
            // SAFETY: as above: it was just written.
            if unsafe { !(*place).state.is_null() } {
                break;
            }
        }
        // SAFETY: the caller's promise; see the module.
        unsafe { put("count", count, taken)? };
        if taken > 0 { Ok(()) } else { ended }
    })
}

/// Makes sure that all submitted operations are under way, without waiting for any of them: for a thread that submits
/// and then does something else for long. An accelerator that sleeps is woken; an inline one executes them now.
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

/// Takes an operation back if it has not begun: it ends with MILLSTREAM_STATUS_CANCELLED all the same. The ticket of an
/// operation that has ended is no fault.
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
