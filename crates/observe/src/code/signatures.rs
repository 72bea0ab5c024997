//! Recognises known functions in assembly language by their first bytes, for programs where no table and no
//! visible call leads to them.
//!
//! Most programs have the same few: OpenSSL's, which BoringSSL, AWS-LC and ring have taken over, nettle's and
//! libgcrypt's. A function is known by its first 48 bytes at a multiple of 16. The linker fills in some of
//! these bytes, but at least 32 are fixed, so a match is no accident. The code reached from there must still
//! be possible.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

use super::parallel;

/// The alignment that assemblers give such functions.
const ALIGNMENT: u64 = 16;
/// The mark of functions that are called through pointers, which builds may omit.
const MARK: [u8; 4] = [0xF3, 0x0F, 0x1E, 0xFA];
/// The first bytes of an ELF file for x86-64.
const FILE: [u8; 7] = [0x7F, b'E', b'L', b'F', 2, 1, 1];

/// The signatures, which `examples/signatures.rs` made from Debian 12's libcrypto, libnettle and libgcrypt,
/// ring 0.17.14 and aws-lc-sys 0.47: two digits for each byte, dots for what the linker fills in, and a
/// function's name.
const TEXT: &str = include_str!("signatures.txt");

/// The first bytes of a function, without the mark. `None` matches any byte.
type Signature = Vec<Option<u8>>;

struct Table {
    /// The signatures by their first four bytes.
    by_head: HashMap<[u8; 4], Vec<Signature>>,
    /// One bit for each hash of such four bytes, which rules most places out.
    heads: Vec<u64>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table { by_head: HashMap::new(), heads: vec![0; 1 << 10] };
    for signature in TEXT.lines().filter_map(parse) {
        let Some([Some(a), Some(b), Some(c), Some(d)]) = signature.first_chunk() else { continue };
        let head = [*a, *b, *c, *d];
        table.heads[hash(head) / 64] |= 1 << (hash(head) % 64);
        table.by_head.entry(head).or_default().push(signature);
    }
    table
});

fn hash(head: [u8; 4]) -> usize {
    (u32::from_le_bytes(head).wrapping_mul(0x9E37_79B1) >> 16) as usize
}

fn parse(line: &str) -> Option<Signature> {
    let (bytes, _) = line.split_once(' ')?;
    let digits = bytes.as_bytes().chunks_exact(2);
    digits
        .map(|pair| match pair {
            b".." => Some(None),
            pair => u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok().map(Some),
        })
        .collect()
}

impl Table {
    fn begins(&self, code: &[u8]) -> bool {
        let code = code.strip_prefix(&MARK).unwrap_or(code);
        let Some(head) = code.first_chunk() else { return false };
        let bit = hash(*head);
        self.heads[bit / 64] >> (bit % 64) & 1 == 1
            && self.by_head.get(head).is_some_and(|known| known.iter().any(|known| is_of(code, known)))
    }
}

fn is_of(code: &[u8], known: &Signature) -> bool {
    let same = |(byte, known): (&u8, &Option<u8>)| known.is_none_or(|known| known == *byte);
    code.len() >= known.len() && code.iter().zip(known).all(same)
}

/// Returns the addresses at which known functions begin, in code that is at `start`.
pub(super) fn entries(start: u64, code: &[u8]) -> Vec<u64> {
    // An ELF file inside the code is data, however much it looks like code.
    if memmem::find_iter(code, &FILE).any(|at| at > 0) {
        return Vec::new();
    }
    let end = start + code.len() as u64;
    const BATCH: u64 = 1 << 20;
    let first = start.next_multiple_of(ALIGNMENT);
    let parts: Vec<Range<u64>> =
        (first..end).step_by(BATCH as usize).map(|place| place..end.min(place + BATCH)).collect();
    let found = parallel::map(&parts, 4, |part| {
        let starts = part.clone().step_by(ALIGNMENT as usize);
        starts.filter(|place| TABLE.begins(&code[(place - start) as usize..])).collect::<Vec<u64>>()
    });
    found.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_long_and_each_stands_once() {
        let all: Vec<Signature> = TEXT.lines().map(|line| parse(line).expect("a signature")).collect();
        assert!(all.len() > 120, "{}", all.len());
        for signature in &all {
            let fixed: Vec<u8> = signature.iter().copied().flatten().collect();
            assert!(fixed.len() >= 32 && signature.len() <= 48, "{signature:02x?}");
            assert!(signature[..4].iter().all(Option::is_some), "{signature:02x?}");
            // A signature must not repeat the same few bytes.
            let kinds: std::collections::HashSet<u8> = fixed.iter().copied().collect();
            assert!(kinds.len() >= 10, "{signature:02x?}");
        }
        let distinct: std::collections::HashSet<&Signature> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn a_function_is_known_where_it_is_aligned_and_whole() {
        let signature =
            TEXT.lines().map(|line| parse(line).unwrap()).find(|known| known.contains(&None)).unwrap();
        let body: Vec<u8> = signature.iter().map(|byte| byte.unwrap_or(0xA5)).collect();
        let with = |before: usize, body: &[u8]| {
            let bytes = [&vec![0xCC; before], body, &[0xCC; 16]].concat();
            entries(0x1000 - 4, &bytes)
        };
        assert_eq!(with(4, &body), [0x1000]);
        assert_eq!(with(20, &[&MARK, &body[..]].concat()), [0x1010]);
        assert!(with(5, &body).is_empty(), "it is not aligned");
        for at in (0..body.len()).filter(|at| signature[*at].is_some()) {
            let mut other = body.clone();
            other[at] ^= 1;
            assert!(with(4, &other).is_empty(), "{at}");
        }
        assert!(with(4, &body[..body.len() - 1]).is_empty());
        assert!(with(4, &[&FILE[..], &[0; 9], &body].concat()).is_empty(), "that is a file");
    }
}
