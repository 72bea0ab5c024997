//! Copies between private memory and memory that others write, and hints that move cache lines between cores.
//!
//! # Safety
//! Plain loads are wrong for memory that another process may write meanwhile: the compiler may read a byte
//! twice and expect the same value. The copies here are made by instructions that the compiler does not
//! look into, or by relaxed atomics, so nobody sees more than one value of a byte: that in the copy. The callers name ranges that
//! are mapped.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The length at which the string instruction starts to pay for its start-up cost.
#[cfg(target_arch = "x86_64")]
const STRING: usize = 256;

/// Copies bytes out of memory that others may write. Each byte of the copy has one of the values that were there.
///
/// # Safety
/// Both ranges are mapped and do not overlap. The source is only ever reached by atomics or copies like this
/// one, and the destination is the caller's alone.
#[inline]
pub(crate) unsafe fn copy_out(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: as the caller says.
    unsafe { copy::<true>(from, to, len) }
}

/// Copies bytes into memory that others may read and write.
///
/// # Safety
/// Both ranges are mapped and do not overlap. Nobody writes to the source meanwhile, and the destination is
/// only ever reached by atomics or copies like this one.
#[inline]
pub(crate) unsafe fn copy_in(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: as the caller says.
    unsafe { copy::<false>(from, to, len) }
}

/// Copies in one direction or the other.
///
/// # Safety
/// The same as for [`copy_out`] where `OUT`, else as for [`copy_in`].
#[inline(always)]
unsafe fn copy<const OUT: bool>(from: *const u8, to: *mut u8, len: usize) {
    // Miri executes no assembly.
    #[cfg(target_arch = "x86_64")]
    if len >= STRING && !cfg!(miri) {
        // SAFETY: as the caller says; the direction flag is clear, as the ABI has it.
        unsafe {
            std::arch::asm!(
                "rep movsb",
                inout("rcx") len => _, inout("rsi") from => _, inout("rdi") to => _,
                options(nostack, preserves_flags)
            );
        }
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if !cfg!(miri) {
        // SAFETY: as the caller says.
        return unsafe { copy_short(from, to, len) };
    }
    // SAFETY: as the caller says.
    unsafe { copy_words::<OUT>(from, to, len) }
}

/// Copies few bytes, however they are aligned. The last bytes of a length that is no multiple of 16 are copied with those before
/// them: where these were copied already, the second copy counts.
///
/// # Safety
/// The same as for [`copy`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn copy_short(from: *const u8, to: *mut u8, len: usize) {
    /// Copies a number of bytes at an offset by way of a register.
    macro_rules! step {
        ($class:ident, $load:literal, $store:literal, $at:expr) => {
            std::arch::asm!(
                $load, $store,
                from = in(reg) from.add($at), to = in(reg) to.add($at), by = out($class) _,
                options(nostack, preserves_flags)
            )
        };
    }
    // SAFETY: as the caller says: every step is inside both ranges.
    unsafe {
        match len {
            16.. => {
                let mut at = 0;
                while at + 16 <= len {
                    step!(xmm_reg, "movups {by}, [{from}]", "movups [{to}], {by}", at);
                    at += 16;
                }
                if at < len {
                    step!(xmm_reg, "movups {by}, [{from}]", "movups [{to}], {by}", len - 16);
                }
            }
            8.. => {
                step!(reg, "mov {by}, [{from}]", "mov [{to}], {by}", 0);
                step!(reg, "mov {by}, [{from}]", "mov [{to}], {by}", len - 8);
            }
            4.. => {
                step!(reg, "mov {by:e}, [{from}]", "mov [{to}], {by:e}", 0);
                step!(reg, "mov {by:e}, [{from}]", "mov [{to}], {by:e}", len - 4);
            }
            _ => {
                for at in 0..len {
                    step!(reg_byte, "mov {by}, [{from}]", "mov [{to}], {by}", at);
                }
            }
        }
    }
}

/// Copies by atomics: word by word where both sides are equally aligned, as objects in arenas are, else byte
/// by byte.
///
/// # Safety
/// The same as for [`copy`].
#[inline]
unsafe fn copy_words<const OUT: bool>(from: *const u8, to: *mut u8, len: usize) {
    let mut done = 0;
    if from.addr() % 8 == to.addr() % 8 {
        let head = (8 - from.addr() % 8) % 8;
        // SAFETY: inside both ranges.
        done = unsafe { copy_bytes::<OUT>(from, to, 0, head.min(len)) };
        while done + 8 <= len {
            // SAFETY: inside both ranges, and aligned to 8 bytes. A private source may be behind a shared
            // slice, which gives no right to write, so it is read plainly and not by atomics.
            unsafe {
                let from = from.add(done);
                let word = match OUT {
                    true => (*from.cast::<AtomicU64>()).load(Ordering::Relaxed),
                    false => from.cast::<u64>().read(),
                };
                (*to.add(done).cast::<AtomicU64>()).store(word, Ordering::Relaxed);
            }
            done += 8;
        }
    }
    // SAFETY: inside both ranges.
    unsafe { copy_bytes::<OUT>(from, to, done, len) };
}

/// # Safety
/// The same as for [`copy`].
#[inline]
unsafe fn copy_bytes<const OUT: bool>(from: *const u8, to: *mut u8, begin: usize, end: usize) -> usize {
    for i in begin..end {
        // SAFETY: as the caller says, and as above.
        unsafe {
            let byte = match OUT {
                true => (*from.add(i).cast::<AtomicU8>()).load(Ordering::Relaxed),
                false => from.add(i).read(),
            };
            (*to.add(i).cast::<AtomicU8>()).store(byte, Ordering::Relaxed);
        }
    }
    end
}

/// The way in which written cache lines are moved towards the core that reads them next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handing {
    /// The processor has no instruction for it.
    Nothing,
    /// `cldemote` moves the line towards the cache that all cores share.
    #[cfg(target_arch = "x86_64")]
    Demote,
    /// `clwb` writes the line back and keeps it.
    #[cfg(target_arch = "x86_64")]
    WriteBack,
}

fn handing() -> Handing {
    static HANDING: OnceLock<Handing> = OnceLock::new();
    *HANDING.get_or_init(|| {
        // Miri can't execute CPUID.
        #[cfg(target_arch = "x86_64")]
        if !cfg!(miri) {
            use std::arch::x86_64::__cpuid_count;
            let leaf = __cpuid_count(7, 0);
            if leaf.ecx >> 25 & 1 == 1 {
                return Handing::Demote;
            }
            if leaf.ebx >> 24 & 1 == 1 {
                return Handing::WriteBack;
            }
        }
        Handing::Nothing
    })
}

/// Returns the name of the instruction that [`share`] uses: `cldemote`, `clwb` or `none`.
pub fn copy_name() -> &'static str {
    match handing() {
        Handing::Nothing => "none",
        #[cfg(target_arch = "x86_64")]
        Handing::Demote => "cldemote",
        #[cfg(target_arch = "x86_64")]
        Handing::WriteBack => "clwb",
    }
}

/// Moves the cache lines of freshly written bytes towards another core that will read them next. This is a
/// hint: it only changes how long that read takes.
#[inline]
pub fn share(bytes: &[u8]) {
    share_range(bytes.as_ptr(), bytes.len());
}

/// Does the same for a range that need not be a slice. Nothing is read or written.
#[inline]
pub(crate) fn share_range(at: *const u8, len: usize) {
    let handing = handing();
    if handing == Handing::Nothing || len == 0 {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    {
        const LINE: usize = 64;
        let first = at.addr() / LINE;
        let last = (at.addr() + len - 1) / LINE;
        for i in 0..=last - first {
            let line = at.wrapping_add(i * LINE);
            // SAFETY: the bytes are mapped; the instructions change no contents.
            unsafe {
                if handing == Handing::Demote {
                    std::arch::asm!("cldemote [{}]", in(reg) line, options(nostack, preserves_flags));
                } else {
                    std::arch::asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags));
                }
            }
        }
    }
    let _ = at;
}

impl crate::Mapping {
    /// Does what [`share`] does for a part of the mapping. A part that is not all inside is ignored.
    #[inline]
    pub fn share(&self, at: usize, len: usize) {
        if at <= self.len() && len <= self.len() - at {
            share_range(self.base().as_ptr().wrapping_add(at), len);
        }
    }

    /// Does what [`prefetch`] and [`prefetch_write`] do for a part of the mapping. A part that is not all
    /// inside is ignored.
    #[inline]
    pub fn prefetch(&self, at: usize, len: usize, write: bool) {
        if at <= self.len() && len <= self.len() - at {
            prefetch_range(self.base().as_ptr().wrapping_add(at), len, write);
        }
    }
}

/// Prefetches bytes that another core has written and this one will soon read. Only the first few lines are
/// asked for; after them the processor's own prefetcher sees the pattern.
#[inline(always)]
pub fn prefetch(bytes: &[u8]) {
    prefetch_range(bytes.as_ptr(), bytes.len(), false);
}

/// Prefetches bytes that will soon be written.
#[inline(always)]
pub fn prefetch_write(bytes: &[u8]) {
    prefetch_range(bytes.as_ptr(), bytes.len(), true);
}

/// Prefetches words that others may write, for writing.
#[inline(always)]
pub fn prefetch_words(words: &[AtomicU64]) {
    prefetch_range(words.as_ptr().cast(), size_of_val(words), true);
}

#[inline(always)]
fn prefetch_range(first: *const u8, len: usize, write: bool) {
    #[cfg(target_arch = "x86_64")]
    if len > 0 && !cfg!(miri) {
        const LINES: usize = 4;
        let lines = (first.addr() % 64 + len).div_ceil(64).min(LINES);
        for i in 0..lines {
            let line = first.wrapping_add(64 * i);
            // SAFETY: a hint that changes no contents; any address is allowed.
            unsafe {
                if write {
                    std::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags));
                } else {
                    std::arch::asm!("prefetcht0 [{}]", in(reg) line, options(nostack, preserves_flags));
                }
            }
        }
    }
    let _ = (first, len, write);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_any_length_and_alignment_are_whole_and_touch_nothing_else() {
        let source: Vec<u8> = (0..400).map(|i| (i * 7 + 1) as u8).collect();
        for len in (0..=80).chain(250..=260) {
            for (read, write) in (0..=17).flat_map(|read| [(read, 0), (read, 5), (0, read)]) {
                for out in [true, false] {
                    let mut target = vec![0_u8; 400];
                    let (from, to) = (source[read..].as_ptr(), target[write..].as_mut_ptr());
                    // SAFETY: both ranges are inside the vectors, which nobody else has.
                    unsafe { if out { copy_out(from, to, len) } else { copy_in(from, to, len) } }
                    let mut expected = vec![0_u8; 400];
                    expected[write..write + len].copy_from_slice(&source[read..read + len]);
                    assert!(target == expected, "{len} bytes from {read} to {write}");
                }
            }
        }
    }
}
