//! The functions of pipelines.
//!
//! # Safety
//! As at the [border](super) everywhere. Arrays have as many entries as there are pipes, and no two pipes share memory.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uchar, c_void};
use std::slice;

use millstream::modes::Direction;

use super::guard;
use crate::abi::OsslParam;
use crate::cipher::pipeline::Pipelined;
use crate::cipher::{self, LAST};
use crate::error::Reason;
use crate::exchange::{Exchange, bytes, bytes_mut};
use crate::params::Params;

/// The most pipes that OpenSSL has.
const MOST: usize = 32;

pub type Init = unsafe extern "C" fn(
    *mut c_void,
    *const c_uchar,
    usize,
    usize,
    *const *const c_uchar,
    usize,
    *const OsslParam,
) -> c_int;
pub type Update = unsafe extern "C" fn(
    *mut c_void,
    usize,
    *const *mut c_uchar,
    *mut usize,
    *const usize,
    *const *const c_uchar,
    *const usize,
) -> c_int;
pub type Final =
    unsafe extern "C" fn(*mut c_void, usize, *const *mut c_uchar, *mut usize, *const usize) -> c_int;

/// Begins messages.
unsafe fn init<C: cipher::Context>(
    direction: Direction,
    context: *mut c_void,
    (key, key_len): (*const c_uchar, usize),
    (ivs, pipes, iv_len): (*const *const c_uchar, usize, usize),
    params: *const OsslParam,
) -> c_int {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<Pipelined<C>>() };
    let provider = context.provider();
    guard(
        || Some(provider),
        || {
            if pipes > MOST {
                return Err(Reason::CIPHER_OPERATION_FAILED.with("there may be at most 32 pipes"));
            }
            let mut vectors = [None; MOST];
            for (i, vector) in vectors[..pipes].iter_mut().enumerate() {
                // SAFETY: as many vectors as pipes, if there are any, each as long as it says or not there.
                let iv = if ivs.is_null() { std::ptr::null() } else { unsafe { *ivs.add(i) } };
                // SAFETY: as above.
                *vector = (!iv.is_null()).then(|| unsafe { bytes(iv, iv_len) });
            }
            // SAFETY: the key is as long as it says, or not there; a terminated array.
            let (key, params) =
                unsafe { ((!key.is_null()).then(|| bytes(key, key_len)), Params::new(params)) };
            context.begin(direction, key, &vectors[..pipes], params)
        },
    )
}

pub unsafe extern "C" fn encrypt_init<C: cipher::Context>(
    context: *mut c_void,
    key: *const c_uchar,
    key_len: usize,
    pipes: usize,
    ivs: *const *const c_uchar,
    iv_len: usize,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: OpenSSL's own arguments.
    unsafe { init::<C>(Direction::Encrypt, context, (key, key_len), (ivs, pipes, iv_len), params) }
}

pub unsafe extern "C" fn decrypt_init<C: cipher::Context>(
    context: *mut c_void,
    key: *const c_uchar,
    key_len: usize,
    pipes: usize,
    ivs: *const *const c_uchar,
    iv_len: usize,
    params: *const OsslParam,
) -> c_int {
    // SAFETY: OpenSSL's own arguments.
    unsafe { init::<C>(Direction::Decrypt, context, (key, key_len), (ivs, pipes, iv_len), params) }
}

pub unsafe extern "C" fn update<C: cipher::Context>(
    context: *mut c_void,
    pipes: usize,
    outs: *const *mut c_uchar,
    out_lens: *mut usize,
    rooms: *const usize,
    inputs: *const *const c_uchar,
    lens: *const usize,
) -> c_int {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<Pipelined<C>>() };
    let provider = context.provider();
    guard(
        || Some(provider),
        || {
            if inputs.is_null() || (!outs.is_null() && rooms.is_null()) {
                return Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
            }
            if outs.is_null() {
                // SAFETY: as many inputs as there are pipes, each as long as it says.
                let data: Vec<_> =
                    unsafe { (0..pipes).map(|i| bytes(*inputs.add(i), *lens.add(i))).collect() };
                context.associate_pipes(&data)?;
                for (i, data) in data.iter().enumerate() {
                    // SAFETY: as many places as pipes.
                    unsafe { *out_lens.add(i) = data.len() };
                }
                return Ok(());
            }
            let contexts = context.pipes(pipes)?;
            // SAFETY: as many of each as there are pipes.
            let (outs, rooms, inputs, lens, out_lens) = unsafe {
                (
                    slice::from_raw_parts(outs, pipes),
                    slice::from_raw_parts(rooms, pipes),
                    slice::from_raw_parts(inputs, pipes),
                    slice::from_raw_parts(lens, pipes),
                    slice::from_raw_parts_mut(out_lens, pipes),
                )
            };
            let mut pieces = Vec::with_capacity(pipes);
            for (i, pipe) in contexts.iter().enumerate() {
                let needed = pipe.update_len(lens[i])?;
                if needed > rooms[i] {
                    return Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
                }
                // SAFETY: so many bytes of input, and room for as many as will be written.
                pieces.push(unsafe { Exchange::new(inputs[i], lens[i], outs[i], needed) });
            }
            context.update_pipes(pieces, out_lens)
        },
    )
}

pub unsafe extern "C" fn finish<C: cipher::Context>(
    context: *mut c_void,
    pipes: usize,
    outs: *const *mut c_uchar,
    out_lens: *mut usize,
    rooms: *const usize,
) -> c_int {
    // SAFETY: a context of ours.
    let context = unsafe { &mut *context.cast::<Pipelined<C>>() };
    let provider = context.provider();
    guard(
        || Some(provider),
        || {
            context.pipes(pipes)?;
            let mut all = [[0; LAST]; MOST];
            let (last, mut written) = (&mut all[..pipes], [0; MOST]);
            let mut outcome = context.finish_pipes(last, &mut written[..pipes]);
            for i in 0..pipes {
                // SAFETY: as many of each as there are pipes, and so much room in each.
                unsafe {
                    if outcome.is_ok() && written[i] > *rooms.add(i) {
                        outcome = Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
                    }
                    if outcome.is_ok() {
                        bytes_mut(*outs.add(i), written[i]).copy_from_slice(&last[i][..written[i]]);
                        *out_lens.add(i) = written[i];
                    }
                }
            }
            last.fill([0; LAST]);
            // Without the barrier the compiler would leave the stores out. Volatile stores go only eight bytes at a time.
            zeroize::optimization_barrier(&all);
            outcome
        },
    )
}
