//! Packets as the C side describes them, over bytes of a test: in one piece and in several, in place and not.
#![allow(dead_code)] // each test uses a part

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

use millstream_dpdk::*;

/// A session, which is freed when this is dropped.
pub struct Bound(pub *mut Session);

impl Drop for Bound {
    fn drop(&mut self) {
        // SAFETY: it was made by the function below.
        unsafe { millstream_dpdk_session_free(self.0) };
    }
}

/// Describes a transform. The lengths are those of initialisation vector, tag and associated data.
pub fn transform(class: Class, number: u32, forward: bool, key: &[u8], lengths: [u16; 3]) -> GivenTransform {
    let [iv_length, tag_length, aad_length] = lengths;
    GivenTransform {
        class: class as u32,
        number,
        forward: forward.into(),
        key_length: key.len() as u16,
        iv_length,
        tag_length,
        aad_length,
        key: key.as_ptr(),
    }
}

/// Makes a session, in this process or in a device's worker.
pub fn bind_in(device: *const Device, transforms: &[GivenTransform]) -> Result<Bound, (c_int, String)> {
    let (mut session, mut text) = (null_mut(), [0_u8; 200]);
    let message = Message { text: text.as_mut_ptr().cast(), room: text.len() };
    // SAFETY: everything is as long as it says.
    let result = unsafe {
        millstream_dpdk_session_new(device, transforms.as_ptr(), transforms.len(), &mut session, &message)
    };
    if result == 0 {
        return Ok(Bound(session));
    }
    let len = text.iter().position(|byte| *byte == 0).unwrap();
    Err((result, String::from_utf8(text[..len].to_vec()).unwrap()))
}

/// Makes a session in this process.
pub fn bind(transforms: &[GivenTransform]) -> Result<Bound, (c_int, String)> {
    bind_in(null(), transforms)
}

/// Bytes in pieces.
struct Pieces(Vec<Vec<u8>>);

impl Pieces {
    fn cut(bytes: &[u8]) -> Self {
        let (first, rest) = bytes.split_at(bytes.len() / 3);
        Pieces([&first[..1.min(first.len())], &first[1.min(first.len())..], rest].map(<[u8]>::to_vec).into())
    }

    fn joined(&self) -> Vec<u8> {
        self.0.concat()
    }
}

unsafe extern "C" fn read(pieces: *const c_void, offset: u32, to: *mut u8, len: u32) {
    // SAFETY: the tests below give pieces.
    let (pieces, to) =
        unsafe { (&*pieces.cast::<Pieces>(), std::slice::from_raw_parts_mut(to, len as usize)) };
    to.copy_from_slice(&pieces.joined()[offset as usize..][..len as usize]);
}

unsafe extern "C" fn write(pieces: *mut c_void, offset: u32, from: *const u8, len: u32) {
    // SAFETY: the tests below give pieces.
    let (pieces, from) =
        unsafe { (&mut *pieces.cast::<Pieces>(), std::slice::from_raw_parts(from, len as usize)) };
    let bytes = pieces.0.iter_mut().flatten().skip(offset as usize);
    bytes.zip(from).for_each(|(byte, new)| *byte = *new);
}

/// The access to pieces.
pub static ACCESS: Access = Access { read, write };

/// How the bytes of a packet lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// The result takes the place of the source.
    InPlace,
    /// The result has a place of its own.
    Apart,
    /// Its place begins within the source.
    Overlapping,
    /// Both are the same pieces.
    InPieces,
    /// The result has pieces of its own.
    PiecesApart,
}

/// Those that are allowed.
pub const LIES: [Lie; 4] = [Lie::InPlace, Lie::Apart, Lie::InPieces, Lie::PiecesApart];

/// The parts of an operation.
#[derive(Clone, Default)]
pub struct Parts {
    pub span: Vec<u8>,
    pub cipher: (u32, u32),
    pub auth: (u32, u32),
    pub iv: Vec<u8>,
    pub aad: Vec<u8>,
    pub tag: Vec<u8>,
}

/// Describes an operation: the places of its bytes where they lie in one piece, the pieces where they do not.
pub fn packet(
    session: &Bound,
    parts: &Parts,
    (source, destination): (*mut u8, *mut u8),
    (from, to): (*mut c_void, *mut c_void),
    tag: &mut [u8],
) -> Packet {
    Packet {
        session: session.0,
        user: null_mut(),
        source,
        destination,
        source_pieces: from,
        destination_pieces: to,
        access: &ACCESS,
        iv: parts.iv.as_ptr(),
        auth_iv: parts.iv.as_ptr(),
        aad: parts.aad.as_ptr(),
        tag: tag.as_mut_ptr(),
        offset: 0,
        length: parts.span.len() as u32,
        cipher_at: parts.cipher.0,
        cipher_length: parts.cipher.1,
        auth_at: parts.auth.0,
        auth_length: parts.auth.1,
        status: Status::Failed,
        tag_at: u32::MAX,
    }
}

/// Runs an operation. Returns its status, what is in the place for the result, and the tag.
pub fn run(session: &Bound, parts: &Parts, lie: Lie) -> (Status, Vec<u8>, Vec<u8>) {
    run_by(session, parts, lie, |packet| {
        // SAFETY: everything is as long as it says.
        unsafe { millstream_dpdk_run(packet, 1) }
    })
}

/// Runs an operation by a function that ends it.
pub fn run_by(
    session: &Bound,
    parts: &Parts,
    lie: Lie,
    end: impl FnOnce(&mut Packet),
) -> (Status, Vec<u8>, Vec<u8>) {
    let len = parts.span.len();
    let mut tag = parts.tag.clone();
    let (mut bytes, mut other) = (parts.span.clone(), vec![0xee; len]);
    // Of overlapping places the second begins in the middle of the first.
    bytes.resize(2 * len, 0xee);
    let (mut pieces, mut more) = (Pieces::cut(&parts.span), Pieces::cut(&other));
    let base = bytes.as_mut_ptr();
    let (source, destination) = match lie {
        Lie::InPlace => (base, base),
        Lie::Apart => (base, other.as_mut_ptr()),
        // SAFETY: there is room for it.
        Lie::Overlapping => (base, unsafe { base.add(len / 2) }),
        Lie::InPieces | Lie::PiecesApart => (null_mut(), null_mut()),
    };
    let from: *mut Pieces = &mut pieces;
    let to: *mut Pieces = if lie == Lie::PiecesApart { &mut more } else { from };
    let mut packet = packet(session, parts, (source, destination), (from.cast(), to.cast()), &mut tag);
    end(&mut packet);
    let result = match lie {
        Lie::InPlace => bytes[..len].to_vec(),
        Lie::Apart => other,
        Lie::Overlapping => bytes[len / 2..][..len].to_vec(),
        Lie::InPieces => pieces.joined(),
        Lie::PiecesApart => more.joined(),
    };
    (packet.status, result, tag)
}
