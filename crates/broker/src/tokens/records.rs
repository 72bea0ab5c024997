//! A token's records and the entries of its objects, as they pass from the broker to a worker: in memory whose size is sealed, since a
//! token with thousands of objects fits no message.
//!
//! | bytes | meaning |
//! | ---: | --- |
//! | 4 | length of the header, little-endian |
//! | 4 | length of the index, little-endian |
//! | 4 | number of objects, little-endian |
//! | | header, index |
//! | 40 each | identifier of an object, its version (big-endian), its tag |

use std::io;
use std::os::fd::OwnedFd;

use millstream_shm::{Mapping, Memory};
use millstream_store::ObjectId;
use millstream_store::vault::{Entry, Records};

/// The most bytes that a worker maps: those of 400,000 objects.
const MOST_BYTES: usize = 16 << 20;

/// Puts records and entries into memory.
///
/// # Errors
/// The system's: memory or descriptors have run out.
pub(crate) fn pack(
    records: &Records,
    objects: impl Iterator<Item = (ObjectId, Entry)>,
) -> io::Result<Memory> {
    let bytes = bytes(records, objects);
    if bytes.len() > MOST_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let memory = Memory::new("millstream token", bytes.len())?;
    memory.commit()?;
    Mapping::shared(&memory)?.write(0, &bytes);
    memory.seal()?;
    Ok(memory)
}

/// Returns records and entries as one worker after another reads them.
pub fn bytes(records: &Records, objects: impl Iterator<Item = (ObjectId, Entry)>) -> Vec<u8> {
    let mut entries = Vec::new();
    for (object, entry) in objects {
        entries.extend(object.0);
        entries.extend(entry.version.to_be_bytes());
        entries.extend(entry.tag);
    }
    let lengths = [records.header.len(), records.index.len(), entries.len() / ENTRY];
    let mut bytes: Vec<u8> = lengths.iter().flat_map(|len| (*len as u32).to_le_bytes()).collect();
    bytes.extend(&records.header);
    bytes.extend(&records.index);
    bytes.extend(entries);
    bytes
}

const ENTRY: usize = 40;

/// Takes records and entries from memory that a broker sent.
///
/// # Errors
/// The system's; [`io::ErrorKind::InvalidData`] when it is no such memory.
pub(crate) fn unpack(memory: OwnedFd) -> io::Result<(Records, Vec<(ObjectId, Entry)>)> {
    let memory = Memory::received(memory)?;
    if memory.len() > MOST_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; memory.len()];
    Mapping::read_only(&memory)?.read(0, &mut bytes);
    parse(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Reads records and entries; none where a length is longer than what is there. What follows the last entry is ignored.
pub fn parse(bytes: &[u8]) -> Option<(Records, Vec<(ObjectId, Entry)>)> {
    let (lengths, rest) = bytes.split_first_chunk::<12>()?;
    let length = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| lengths[at + byte])) as usize;
    let (header, rest) = rest.split_at_checked(length(0))?;
    let (index, rest) = rest.split_at_checked(length(4))?;
    let (entries, _) = rest.split_at_checked(length(8).checked_mul(ENTRY)?)?;
    let entry = |bytes: &[u8]| {
        let (object, rest) = bytes.split_first_chunk()?;
        let (version, tag) = rest.split_first_chunk()?;
        let entry = Entry { version: u64::from_be_bytes(*version), tag: tag.try_into().ok()? };
        Some((ObjectId(*object), entry))
    };
    let entries = entries.chunks_exact(ENTRY).map(entry).collect::<Option<_>>()?;
    Some((Records { header: header.to_vec(), index: index.to_vec() }, entries))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn records_come_back_and_cut_ones_do_not() {
        let records = Records { header: vec![1; 300], index: vec![2; 69] };
        let entries: Vec<_> =
            (0..300_u64).map(|i| (ObjectId([i as u8; 16]), Entry { version: i, tag: [7; 16] })).collect();
        let memory = pack(&records, entries.iter().copied()).unwrap();
        let sent = memory.as_fd().try_clone_to_owned().unwrap();
        assert_eq!(unpack(sent).unwrap(), (records, entries));
        let mut bytes = vec![0; memory.len()];
        Mapping::shared(&memory).unwrap().read(0, &mut bytes);
        for len in [0, 11, 12, 100, bytes.len() - 1] {
            assert!(parse(&bytes[..len]).is_none(), "{len}");
        }
    }
}
