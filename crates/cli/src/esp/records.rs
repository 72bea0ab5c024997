//! The records of keys: how far their sequence numbers went, in files that outlive the process.
//!
//! A record of a key that seals has the first number that was never reserved, and what is added to numbers to make vectors. One of a key that opens
//! has the highest number that was accepted. The file's name is the key's fingerprint, which tells nothing else of the key. A record is
//! replaced as a whole, after the new one is on the disk. One process at a time has a folder.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use millstream_esp::{Direction, Reserve};
use rustix::fs::{FlockOperation, flock, fstatfs};

/// The folder of the records.
pub(super) struct Records {
    folder: PathBuf,
    /// The folder's lock is held as long as this is open.
    lock: File,
}

/// The contents of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// The first number that was not reserved, or the highest that was accepted; 0 of a key that is new.
    pub(super) number: u64,
    /// A number that is added to sequence numbers to make vectors.
    pub(super) vectors: u64,
}

/// The first line of a record.
const FORMAT: &str = "millstream-esp-1";

/// The numbers by which statfs(2) tells file systems in memory.
const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6_u32 as i64];

impl Records {
    /// Opens the folder, and makes it where it is not there.
    ///
    /// # Errors
    /// The system's; `ResourceBusy` while another process has it.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(folder.join("lock"))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
            rustix::io::Errno::WOULDBLOCK => io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another process uses these keys: a second one would repeat sequence numbers",
            ),
            error => error.into(),
        })?;
        Ok(Records { folder: folder.to_owned(), lock })
    }

    /// Returns true if the folder is in memory, so that it does not outlive the machine's next start.
    pub(super) fn is_volatile(&self) -> bool {
        fstatfs(&self.lock).is_ok_and(|found| IN_MEMORY.contains(&found.f_type))
    }

    /// Returns the record of a key, and its place. A key that is new gets numbers from the beginning, and a random number for its vectors.
    ///
    /// # Errors
    /// The system's; `InvalidData` for a file that is no record, since a guess might repeat numbers.
    pub(super) fn find(&self, fingerprint: [u8; 16], direction: Direction) -> io::Result<(Kept, Record)> {
        let digits: String = fingerprint.iter().map(|byte| format!("{byte:02x}")).collect();
        let end = match direction {
            Direction::In => "in",
            Direction::Out => "out",
        };
        let path = self.folder.join(format!("{digits}.{end}"));
        let kept = match fs::read_to_string(&path) {
            Ok(text) => read(&text).ok_or_else(|| {
                let what = format!("{} is no record of sequence numbers", path.display());
                io::Error::new(io::ErrorKind::InvalidData, what)
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut vectors = [0; 8];
                millstream::random(&mut vectors).map_err(io::Error::other)?;
                Kept { number: 0, vectors: u64::from_le_bytes(vectors) }
            }
            Err(error) => return Err(error),
        };
        Ok((kept, Record { folder: self.folder.clone(), path, vectors: kept.vectors }))
    }
}

fn read(text: &str) -> Option<Kept> {
    let rest = text.strip_prefix(FORMAT)?.strip_suffix('\n')?;
    let (number, vectors) = rest.trim_start().split_once(' ')?;
    Some(Kept { number: number.parse().ok()?, vectors: vectors.parse().ok()? })
}

/// The place of one record.
#[derive(Clone)]
pub(super) struct Record {
    folder: PathBuf,
    path: PathBuf,
    vectors: u64,
}

impl Record {
    /// Replaces the record. It is on the disk when this returns.
    ///
    /// # Errors
    /// The system's; the old record is there then.
    pub(super) fn write(&self, number: u64) -> io::Result<()> {
        let new = self.path.with_extension(match self.path.extension() {
            Some(end) if end == "in" => "in.new",
            _ => "out.new",
        });
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        writeln!(file, "{FORMAT} {number} {}", self.vectors)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        File::open(&self.folder)?.sync_all()
    }
}

impl Reserve for Record {
    fn reserve(&mut self, end: u64) -> io::Result<()> {
        self.write(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_kept_and_a_broken_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let records = Records::open(&path).unwrap();
        let (kept, record) = records.find([7; 16], Direction::Out).unwrap();
        assert_eq!(kept.number, 0);
        record.write(1 << 20).unwrap();
        let (again, _) = records.find([7; 16], Direction::Out).unwrap();
        assert_eq!(again, Kept { number: 1 << 20, vectors: kept.vectors });
        assert_eq!(records.find([7; 16], Direction::In).unwrap().0.number, 0);
        let other = records.find([8; 16], Direction::Out).unwrap().0;
        assert_ne!(other.vectors, kept.vectors);
        assert_eq!(Records::open(&path).err().unwrap().kind(), io::ErrorKind::ResourceBusy);
        drop(records);
        let records = Records::open(&path).unwrap();
        for broken in
            ["", "millstream-esp-1", "millstream-esp-1 5", "millstream-esp-1 5 6", "millstream-esp-1 -5 6\n"]
        {
            fs::write(&record.path, broken).unwrap();
            let error = records.find([7; 16], Direction::Out).err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{broken:?}");
        }
    }
}
