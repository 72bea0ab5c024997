//! Programs that are traced may be anybody's: any bytes as an image, and any bytes as the code of one function. Looking ends
//! without a panic, and what is said to be an instruction stands where it is said to.
#![cfg_attr(fuzzing, no_main)]

use libfuzzer_sys::fuzz_target;
use millstream_observe::code::Image;

/// Where the code is mapped.
const BASE: u64 = 0x1000;

/// An ELF file with `code` as its one segment, and one function that is all of it.
fn file(code: &[u8]) -> Vec<u8> {
    const HEADER: u64 = 64;
    const PROGRAM: u64 = 56;
    const SECTION: u64 = 64;
    let at = HEADER + PROGRAM;
    let symbols = at + code.len() as u64;
    let names = symbols + 48;
    let sections = names + 16;
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut put = |numbers: &[(u64, usize)]| {
        for (number, size) in numbers {
            file.extend_from_slice(&number.to_le_bytes()[..*size]);
        }
    };
    // ET_DYN for x86-64, with one program header and four section headers.
    put(&[
        (3, 2),
        (62, 2),
        (1, 4),
        (0, 8),
        (HEADER, 8),
        (sections, 8),
        (0, 4),
        (HEADER, 2),
        (PROGRAM, 2),
        (1, 2),
    ]);
    put(&[(SECTION, 2), (4, 2), (0, 2)]);
    let length = code.len() as u64;
    put(&[(1, 4), (5, 4), (at, 8), (BASE, 8), (BASE, 8), (length, 8), (length, 8), (1, 8)]);
    file.extend_from_slice(code);
    let mut put = |numbers: &[(u64, usize)]| {
        for (number, size) in numbers {
            file.extend_from_slice(&number.to_le_bytes()[..*size]);
        }
    };
    // No symbol, then a global function.
    put(&[(0, 8), (0, 8), (0, 8), (1, 4), (0x12, 1), (0, 1), (1, 2), (BASE, 8), (length, 8)]);
    file.extend_from_slice(b"\0.text\0.symtab\0\0");
    let mut section =
        |name: u64, kind: u64, flags: u64, address: u64, offset: u64, size: u64, link: u64, entry: u64| {
            for (number, size) in [
                (name, 4),
                (kind, 4),
                (flags, 8),
                (address, 8),
                (offset, 8),
                (size, 8),
                (link, 4),
                (1, 4),
                (1, 8),
                (entry, 8),
            ] {
                file.extend_from_slice(&number.to_le_bytes()[..size]);
            }
        };
    section(0, 0, 0, 0, 0, 0, 0, 0);
    section(1, 1, 6, BASE, at, length, 0, 0);
    section(7, 2, 0, 0, symbols, 48, 3, 24);
    section(7, 3, 0, 0, names, 16, 0, 0);
    file
}

fuzz_target!(|bytes: &[u8]| {
    // What is no image is refused; what is one is looked through.
    let _ = Image::of_bytes(bytes);
    if bytes.is_empty() {
        return;
    }
    let image = Image::of_bytes(&file(bytes)).expect("the headers are right");
    assert_eq!(image.functions().len(), 1);
    let mut end = 0;
    for site in image.sites() {
        let start = usize::try_from(site.address - BASE).expect("it is in the segment");
        assert!(start >= end, "two runs share a byte");
        assert_eq!(&bytes[start..start + site.bytes().len()], site.bytes());
        assert!(site.run as usize >= site.bytes().len() && !site.classes.is_empty());
        end = start + site.run as usize;
        assert!(end <= bytes.len());
    }
});
