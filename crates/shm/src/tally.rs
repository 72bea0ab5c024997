//! Counters in a small file that many processes add to at once.
//!
//! A tally has one [row](Row) for each place, algorithm and kernel, which counts operations and their bytes.
//! Adding to a row takes two atomic additions in shared memory: no lock and no system call. It is allowed in
//! a signal handler and after `fork`, and nothing that was added before a process was killed is lost. The
//! first process to count something claims its row.
//!
//! ```
//! use millstream_shm::tally::{Place, Tally};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("tally");
//! let (here, there) = (Tally::create(&path)?, Tally::open(&path)?);
//! there.row(Place::InProcess, "AES-256-GCM", "x86_64-vaes512-by32").add(1, 4096);
//! assert_eq!(here.read()[0].bytes, 4096);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Anybody who may write to the file may write anything: the counters are worth as much as the processes that
//! add to them, and nothing else depends on them. Everything that is read from the file is checked.
//! Shortening the file ends the processes that count in it with SIGBUS, so it belongs where only they can
//! find it.

mod claim;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::forever;
use crate::plain;
use crate::sync::{AtomicU64, Ordering};
use claim::{NAMES, READY, STATE};

/// `mstally` and a zero as a word, which differs on a machine of the other byte order.
const MAGIC: u64 = u64::from_ne_bytes(*b"mstally\0");
/// The version of the layout.
const VERSION: u64 = 1;

/// The number of words in the header, and in a row: two cache lines, so that the counters of no two rows
/// share one.
const ROW_WORDS: usize = 16;
/// The number of rows, including the two that take everything without a row of its own. Miri gets few, so
/// that it finishes in a second.
const ROWS: usize = if cfg!(miri) { 8 } else { 256 };
const WORDS: usize = ROW_WORDS * (1 + ROWS);
const FILE_BYTES: usize = 8 * WORDS;

/// The offsets within a row, after its state.
const OPERATIONS: usize = 1;
const BYTES: usize = 2;
const LENGTHS: usize = NAMES;
const ALGORITHM: usize = 4;
const KERNEL: usize = 10;
/// The longest name that fits; a longer one is cut off.
const NAME_BYTES: usize = 8 * (KERNEL - ALGORITHM);

/// The name under which everything is counted when no row is left.
const OTHER: &str = "other";

/// The place of a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The process that asked for it.
    InProcess,
    /// A worker of the service, which holds the key.
    Isolated,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Place::InProcess => "in process",
            Place::Isolated => "isolated",
        })
    }
}

/// The contents of one row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// The place of the computation.
    pub place: Place,
    /// The algorithm, or `other` where there were more than a tally has rows for.
    pub algorithm: String,
    /// The kernel that computed it.
    pub kernel: String,
    /// Messages or records; for streams, updates.
    pub operations: u64,
    /// The number of bytes in all of them.
    pub bytes: u64,
}

/// Counters that many processes add to. They stay mapped until the process ends, so a [`Row`] may be kept
/// anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    words: &'static [AtomicU64],
}

/// The two counters of one row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    operations: &'static AtomicU64,
    bytes: &'static AtomicU64,
}

impl Row {
    /// Adds to both counters. Allowed in a signal handler, and in a forked child before `exec`.
    #[inline]
    pub fn add(&self, operations: u64, bytes: u64) {
        self.operations.fetch_add(operations, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Tally {
    /// Makes the file, which must not exist. The file appears complete or not at all, and only its owner can
    /// open it until its permissions are changed.
    ///
    /// # Errors
    /// Fails when there is a file of that name already, and with the system's errors.
    pub fn create(path: &Path) -> Result<Self, TallyError> {
        let fail = |source| TallyError::Create { path: path.to_owned(), source };
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(format!(".{}", std::process::id()));
        let unfinished = PathBuf::from(unfinished);
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&unfinished);
        let mut file = file.map_err(fail)?;
        // Every byte is written, because setting the length alone would leave pages without a place on the
        // disk: the kernel would look for one when somebody counts, and fault when the disk is full. The
        // finished file then gets its name by a link, which, unlike a rename, fails where the name is taken.
        let made = file
            .write_all(&image())
            .and_then(|()| forever::words(&file, WORDS))
            .and_then(|words| std::fs::hard_link(&unfinished, path).map(|()| Tally { words }));
        let removed = std::fs::remove_file(&unfinished);
        let tally = made.map_err(fail)?;
        removed.map_err(fail)?;
        Ok(tally)
    }

    /// Opens a tally that another process made.
    ///
    /// # Errors
    /// Fails when the file is not a tally of this version, or can't be opened for reading and writing.
    pub fn open(path: &Path) -> Result<Self, TallyError> {
        let fail = |source| TallyError::Open { path: path.to_owned(), source };
        // Opening a pipe must not wait for a process that reads from it.
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
        let flags = i32::try_from(flags).unwrap_or(0);
        let file: File =
            OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        let not = |why| TallyError::NotATally { path: path.to_owned(), why };
        if !metadata.is_file() {
            return Err(not(Fault::Kind));
        }
        if metadata.len() != FILE_BYTES as u64 {
            return Err(not(Fault::Length(metadata.len())));
        }
        let words = forever::words(&file, WORDS).map_err(fail)?;
        if words[0].load(Ordering::Relaxed) != MAGIC {
            return Err(not(Fault::Magic));
        }
        match words[1].load(Ordering::Relaxed) {
            VERSION => Ok(Tally { words }),
            other => Err(not(Fault::Version(other))),
        }
    }

    /// Makes a tally for this process only, in 32 KiB of memory that are never given back. A forked child has
    /// a copy.
    pub fn private() -> Self {
        let words: Vec<AtomicU64> = blank().into_iter().map(AtomicU64::new).collect();
        Tally { words: words.leak() }
    }

    /// Returns the row for these names, claiming a free one if there is none yet. When no row is left, it is
    /// the one that all others of that place share.
    pub fn row(&self, place: Place, algorithm: &str, kernel: &str) -> Row {
        let wanted = Names::new(place, algorithm, kernel);
        let rows = (0..ROWS - 2).map(|at| self.at(at));
        counters(claim::row_of(rows, &wanted.0).unwrap_or_else(|| self.at(other(place))))
    }

    /// Returns what was counted until now, sorted by place, algorithm and kernel. Rows that counted nothing
    /// are left out.
    pub fn read(&self) -> Vec<Counted> {
        let mut all: Vec<Counted> = (0..ROWS).filter_map(|at| counted(self.at(at))).collect();
        all.sort();
        all.dedup_by(|next, kept| {
            let same =
                (next.place, &next.algorithm, &next.kernel) == (kept.place, &kept.algorithm, &kept.kernel);
            if same {
                kept.operations = kept.operations.saturating_add(next.operations);
                kept.bytes = kept.bytes.saturating_add(next.bytes);
            }
            same
        });
        all
    }

    fn at(&self, row: usize) -> &'static [AtomicU64] {
        &self.words[ROW_WORDS * (1 + row)..][..ROW_WORDS]
    }
}

/// Returns the index of the row for everything without a row of its own.
fn other(place: Place) -> usize {
    match place {
        Place::InProcess => ROWS - 2,
        Place::Isolated => ROWS - 1,
    }
}

fn counters(row: &'static [AtomicU64]) -> Row {
    Row { operations: &row[OPERATIONS], bytes: &row[BYTES] }
}

fn counted(row: &[AtomicU64]) -> Option<Counted> {
    if row[STATE].load(Ordering::Acquire) != READY {
        return None;
    }
    let [operations, bytes] = [OPERATIONS, BYTES].map(|at| row[at].load(Ordering::Relaxed));
    let (place, algorithm, kernel) = Names::read(row).text()?;
    (operations != 0 || bytes != 0).then_some(Counted { place, algorithm, kernel, operations, bytes })
}

/// Returns the words of a tally in which nothing was counted.
fn blank() -> Vec<u64> {
    let mut words = vec![0; WORDS];
    words[..2].copy_from_slice(&[MAGIC, VERSION]);
    for place in [Place::InProcess, Place::Isolated] {
        let row = &mut words[ROW_WORDS * (1 + other(place))..][..ROW_WORDS];
        row[STATE] = READY;
        row[LENGTHS..].copy_from_slice(&Names::new(place, OTHER, "").0);
    }
    words
}

fn image() -> Vec<u8> {
    blank().into_iter().flat_map(u64::to_ne_bytes).collect()
}

/// The names of a row as they lie in it: place and lengths in the bytes of one word, then both names.
struct Names([u64; ROW_WORDS - LENGTHS]);

impl Names {
    fn new(place: Place, algorithm: &str, kernel: &str) -> Self {
        let mut words = [0; ROW_WORDS - LENGTHS];
        let (algorithm, kernel) = (fitting(algorithm), fitting(kernel));
        let place = match place {
            Place::InProcess => 0,
            Place::Isolated => 1,
        };
        // Both lengths fit a byte, because neither name is longer than 48.
        words[0] = u64::from_le_bytes([place, algorithm.len() as u8, kernel.len() as u8, 0, 0, 0, 0, 0]);
        for (at, name) in [(ALGORITHM, algorithm), (KERNEL, kernel)] {
            for (word, bytes) in words[at - LENGTHS..].iter_mut().zip(name.as_bytes().chunks(8)) {
                let mut padded = [0; 8];
                padded[..bytes.len()].copy_from_slice(bytes);
                *word = u64::from_ne_bytes(padded);
            }
        }
        Names(words)
    }

    fn read(row: &[AtomicU64]) -> Self {
        Names(claim::names(row))
    }

    /// Decodes the names into text that is fit for a terminal, whoever wrote them. Returns none where the
    /// numbers make no sense.
    fn text(&self) -> Option<(Place, String, String)> {
        let [place, algorithm, kernel, ..] = self.0[0].to_le_bytes();
        let place = match place {
            0 => Place::InProcess,
            1 => Place::Isolated,
            _ => return None,
        };
        let name = |at: usize, len: u8| {
            let bytes: Vec<u8> = self.0[at - LENGTHS..].iter().flat_map(|word| word.to_ne_bytes()).collect();
            let bytes = bytes.get(..usize::from(len)).filter(|name| name.len() <= NAME_BYTES)?;
            let text = String::from_utf8_lossy(bytes);
            Some(text.replace(char::is_control, "\u{fffd}"))
        };
        Some((place, name(ALGORITHM, algorithm)?, name(KERNEL, kernel)?))
    }
}

/// Cuts a name off where a row has no more room for it.
fn fitting(name: &str) -> &str {
    let end = (0..=name.len().min(NAME_BYTES)).rev().find(|&end| name.is_char_boundary(end));
    &name[..end.unwrap_or(0)]
}

/// The reason why a tally can't be made or opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum TallyError {
    /// The file can't be made.
    Create {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file can't be opened for reading and writing, or not be mapped.
    Open {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is something else.
    NotATally {
        /// The file.
        path: PathBuf,
        /// The mark that tells so.
        why: Fault,
    },
}

/// The mark by which a file is seen to be no tally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The file is a directory, a pipe or a device.
    Kind,
    /// The file has another length, in bytes.
    Length(u64),
    /// The file begins with other bytes.
    Magic,
    /// The file has the layout of another version.
    Version(u64),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Kind => f.write_str("it is not a regular file"),
            Fault::Length(bytes) => write!(f, "it has {bytes} bytes, not {FILE_BYTES}"),
            Fault::Magic => f.write_str("it begins with other bytes"),
            Fault::Version(version) => {
                write!(f, "its layout is version {version}, and this is version {VERSION}")
            }
        }
    }
}

impl fmt::Display for TallyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TallyError::Create { path, source } if source.kind() == io::ErrorKind::AlreadyExists => {
                write!(f, "{}: there is such a file already; remove it or name another", path.display())
            }
            TallyError::Create { path, source } => {
                write!(f, "{}: counters can't be kept there: {}", path.display(), plain(source))
            }
            TallyError::Open { path, source } => {
                write!(f, "{}: counters can't be added to: {}", path.display(), plain(source))
            }
            TallyError::NotATally { path, why } => {
                write!(f, "{}: not a file of counters: {why}; name one that millstream made", path.display())
            }
        }
    }
}

impl std::error::Error for TallyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TallyError::Create { source, .. } | TallyError::Open { source, .. } => Some(source),
            TallyError::NotATally { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use claim::CLAIMED;

    fn fresh() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tally");
        (folder, path)
    }

    fn entry(place: Place, algorithm: &str, kernel: &str, operations: u64, bytes: u64) -> Counted {
        Counted { place, algorithm: algorithm.into(), kernel: kernel.into(), operations, bytes }
    }

    #[test]
    fn what_one_adds_another_reads() {
        let (folder, path) = fresh();
        let here = Tally::create(&path).unwrap();
        let there = Tally::open(&path).unwrap();
        assert_eq!(here.read(), []);
        let gcm = there.row(Place::InProcess, "AES-128-GCM", "portable");
        gcm.add(3, 300);
        here.row(Place::InProcess, "AES-128-GCM", "portable").add(1, 1);
        here.row(Place::Isolated, "AES-128-GCM", "portable").add(1, 16);
        here.row(Place::InProcess, "AES-128-GCM", "x86_64-aesni-by8");
        let expected = [
            entry(Place::InProcess, "AES-128-GCM", "portable", 4, 301),
            entry(Place::Isolated, "AES-128-GCM", "portable", 1, 16),
        ];
        assert_eq!(here.read(), expected);
        assert_eq!(there.read(), expected);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left there");
    }

    #[test]
    fn a_file_that_exists_is_left_alone() {
        let (folder, path) = fresh();
        std::fs::write(&path, "mine").unwrap();
        let error = Tally::create(&path).unwrap_err().to_string();
        assert!(error.contains(path.to_str().unwrap()) && error.contains("remove it"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn other_files_are_refused() {
        let (folder, path) = fresh();
        let fault = |path: &Path| match Tally::open(path) {
            Err(TallyError::NotATally { why, .. }) => why,
            other => panic!("{other:?}"),
        };
        assert!(matches!(Tally::open(&path), Err(TallyError::Open { .. })), "there is none");
        assert!(matches!(Tally::open(folder.path()), Err(TallyError::Open { .. })), "a directory");
        assert_eq!(fault(Path::new("/dev/null")), Fault::Kind);
        std::fs::write(&path, [0; 100]).unwrap();
        assert_eq!(fault(&path), Fault::Length(100));
        std::fs::write(&path, [0; FILE_BYTES]).unwrap();
        assert_eq!(fault(&path), Fault::Magic);
        let mut newer = image();
        newer[8..16].copy_from_slice(&7_u64.to_ne_bytes());
        std::fs::write(&path, newer).unwrap();
        assert_eq!(fault(&path), Fault::Version(7));
        // A pipe that nobody writes to must not make it wait.
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .unwrap();
        assert_eq!(fault(&pipe), Fault::Kind);
    }

    #[test]
    fn a_full_table_counts_the_rest_together() {
        let tally = Tally::private();
        for number in 0..300 {
            tally.row(Place::InProcess, &format!("A{number:03}"), "k").add(1, 2);
        }
        tally.row(Place::Isolated, "B", "k").add(1, 5);
        let all = tally.read();
        assert_eq!(all.len(), ROWS);
        assert!(all.contains(&entry(Place::InProcess, OTHER, "", 300 - 254, 92)));
        assert!(all.contains(&entry(Place::Isolated, OTHER, "", 1, 5)));
        assert_eq!(all.iter().map(|row| row.operations).sum::<u64>(), 301);
    }

    #[test]
    fn a_claim_that_was_never_finished_costs_one_row() {
        let tally = Tally::private();
        tally.at(0)[STATE].store(CLAIMED, Ordering::Relaxed);
        tally.row(Place::InProcess, "A", "k").add(1, 1);
        tally.row(Place::InProcess, "A", "k").add(1, 1);
        assert_eq!(tally.read(), [entry(Place::InProcess, "A", "k", 2, 2)]);
    }

    #[test]
    fn two_rows_of_one_name_are_added_up() {
        let tally = Tally::private();
        let names = Names::new(Place::InProcess, "A", "k");
        for at in [3, 9] {
            assert!(claim::claim(tally.at(at), &names.0));
            counters(tally.at(at)).add(u64::MAX / 2 + 1, 10);
        }
        assert_eq!(tally.read(), [entry(Place::InProcess, "A", "k", u64::MAX, 20)]);
    }

    #[test]
    fn names_are_cut_between_characters() {
        let tally = Tally::private();
        let long = "é".repeat(100);
        tally.row(Place::InProcess, &format!("x{long}"), &long).add(1, 0);
        let all = tally.read();
        assert_eq!(all[0].algorithm, format!("x{}", "é".repeat(23)));
        assert_eq!(all[0].kernel, "é".repeat(24));
    }

    #[test]
    fn whatever_the_file_holds_it_can_be_read() {
        let mut random = 0x9E37_79B9_7F4A_7C15_u64;
        for _ in 0..50 {
            let tally = Tally::private();
            for word in &tally.words[ROW_WORDS..] {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let small = random >> 60;
                word.store(if random & 1 == 0 { small } else { random }, Ordering::Relaxed);
            }
            for at in 0..ROWS {
                tally.at(at)[STATE].store(READY, Ordering::Relaxed);
            }
            for row in tally.read() {
                assert!(!row.algorithm.contains(char::is_control), "{row:?}");
            }
            tally.row(Place::InProcess, "A", "k").add(1, 1);
        }
        let tally = Tally::private();
        tally.row(Place::InProcess, "A\x1b[31m\u{9b}", "k\n").add(1, 1);
        assert_eq!(tally.read()[0].algorithm, "A\u{fffd}[31m\u{fffd}");
    }

    /// Keeps the tallies reachable, which are never given back. Miri would report them as leaks otherwise.
    static KEPT: std::sync::Mutex<Vec<Tally>> = std::sync::Mutex::new(Vec::new());

    #[test]
    fn miri_threads_that_claim_at_once_agree() {
        for _ in 0..if cfg!(miri) { 2 } else { 200 } {
            let tally = Tally::private();
            KEPT.lock().unwrap().push(tally);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for name in ["A", "B", "C"] {
                            tally.row(Place::InProcess, name, "k").add(1, 7);
                        }
                    });
                }
            });
            let expected = ["A", "B", "C"].map(|name| entry(Place::InProcess, name, "k", 4, 28));
            assert_eq!(tally.read(), expected);
        }
    }
}
