use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, chown, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;

use super::super::carry_less::CarryLess;
use super::super::classes::{Class, Counts};
use super::super::known::Library;
use super::super::sites::Site;
use super::*;

/// A folder with a file that is old enough, and a cache next to it.
struct Place {
    directory: tempfile::TempDir,
    file: PathBuf,
}

const BUILD_ID: &[u8] = &[7; 20];

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("program");
        fs::write(&file, "some code").unwrap();
        wait();
        Place { directory, file }
    }

    fn folder(&self) -> PathBuf {
        self.directory.path().join("millstream")
    }

    fn cache(&self) -> Cache {
        Cache::in_folder(&self.folder()).unwrap()
    }

    fn open(&self) -> File {
        File::open(&self.file).unwrap()
    }

    /// Returns the file's entry in a cache that was opened anew.
    fn entry(&self) -> Entry {
        self.cache().entry(&self.open(), BUILD_ID).expect("its times say enough")
    }

    fn keep(&self) {
        self.entry().write(&self.open(), &record());
        assert_eq!(self.entry().read(), Some(record()));
    }

    /// Returns the cache's only file.
    fn kept(&self) -> PathBuf {
        let all: Vec<_> = fs::read_dir(self.folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }
}

fn wait() {
    sleep(RECENT + Duration::from_millis(100));
}

fn record() -> Record {
    let (mut proven, mut unproved) = (Counts::default(), Counts::default());
    (0..300).for_each(|_| proven.add(Class::Aes));
    unproved.add(Class::Rdrand);
    let classes = [Class::Aes, Class::Rdrand].into_iter().collect();
    Record {
        functions: u64::MAX - 3,
        has_go_table: true,
        reached: vec![0, 1, 0x40_0000, u64::MAX],
        entered: vec![0x1000],
        sites: vec![
            Site::of_run(0x1000, classes, 300, 70_000, &[0x66, 0x0F, 0x38, 0xDC, 0xC1]),
            Site::of_run(0x20_0000, Class::Aes.into(), 1, 15, &[0x66; 15]),
        ],
        proven,
        unproved,
        carry_less: vec![(0x1000, CarryLess::Cipher), (0x2000, CarryLess::Checksum)],
        libraries: vec![
            Library { name: "OpenSSL", version: Some("3.0.19".into()) },
            Library { name: "nettle", version: None },
        ],
    }
}

#[test]
fn what_was_found_is_kept() {
    let place = Place::new();
    assert_eq!(place.entry().read(), None);
    place.keep();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!([mode(place.folder()), mode(place.kept())], [0o700, 0o600]);
    let other = place.cache().entry(&place.open(), &[8; 20]).unwrap();
    assert_eq!(other.read(), None, "that is another build");
}

#[test]
fn what_changed_in_place_is_another_file() {
    let place = Place::new();
    place.keep();
    let before = fs::metadata(&place.file).unwrap();
    let (entry, old) = (place.entry(), place.open());
    let file = File::options().write(true).open(&place.file).unwrap();
    file.write_all_at(b"other", 0).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    let after = fs::metadata(&place.file).unwrap();
    assert_eq!((before.len(), before.modified().unwrap()), (after.len(), after.modified().unwrap()));
    assert!(place.cache().entry(&place.open(), BUILD_ID).is_none(), "it has just changed");
    // A search that began before the change keeps nothing.
    fs::remove_file(place.kept()).unwrap();
    entry.write(&old, &record());
    assert_eq!(fs::read_dir(place.folder()).unwrap().count(), 0);
    wait();
    assert_eq!(place.entry().read(), None, "its size and time of change are what they were");
    assert_ne!(place.entry().key.changed, entry.key.changed);
    place.keep();
}

#[test]
fn files_that_were_just_made_are_not_kept() {
    let place = Place::new();
    fs::write(&place.file, "a new one").unwrap();
    assert!(place.cache().entry(&place.open(), BUILD_ID).is_none());
}

#[test]
fn files_that_others_serve_are_not_kept() {
    let place = Place::new();
    let file = File::open("/proc/self/status").unwrap();
    assert!(place.cache().entry(&file, BUILD_ID).is_none());
    // These are FUSE, NFS, 9p, CIFS and SMB2.
    for kind in [0x6573_5546, 0x6969, 0x0102_1997, 0xFF53_4D42, 0xFE53_4D42] {
        assert!(!is_local(kind), "{kind:x}");
    }
}

#[test]
fn damage_is_noticed_and_written_over() {
    let place = Place::new();
    place.keep();
    let path = place.kept();
    let whole = fs::read(&path).unwrap();
    let mut damaged: Vec<Vec<u8>> = (0..whole.len())
        .map(|at| {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            bytes
        })
        .collect();
    damaged.extend((0..whole.len()).map(|length| whole[..length].to_vec()));
    damaged.push([&whole[..], b"more"].concat());
    for bytes in damaged {
        fs::write(&path, bytes).unwrap();
        assert_eq!(place.entry().read(), None);
    }
    place.keep();
    assert_eq!(fs::read(&path).unwrap(), whole);
}

/// Such bytes have a right checksum and hold no record.
#[test]
fn numbers_are_doubted() {
    let bytes = record().to_bytes();
    for length in 0..bytes.len() {
        assert_eq!(Record::from_bytes(&bytes[..length]), None, "{length}");
    }
    for at in 0..bytes.len() {
        for byte in [0, 1, 0x7F, 0x80, 0xFF] {
            let mut changed = bytes.clone();
            changed[at] = byte;
            // The bytes are another record or none, and no list is read past its end.
            let _ = Record::from_bytes(&changed);
        }
    }
    let huge = [&[0xFF; 9][..], &[0x01, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]].concat();
    assert_eq!(Record::from_bytes(&huge), None, "a list that is longer than the file");
}

#[test]
fn entries_of_other_searches_and_other_files_are_none() {
    let place = Place::new();
    place.keep();
    let path = place.kept();
    let whole = fs::read(&path).unwrap();
    let with_sum = |mut bytes: Vec<u8>| {
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    };
    let body = &whole[..whole.len() - 8];
    assert_eq!(with_sum(body.to_vec()), whole);
    // The key's numbers are: the search, device, inode, size, four of the times, the length of the build id,
    // and the build id.
    for number in 0..10 {
        let mut other = body.to_vec();
        other[MARK.len() + number * 8] ^= 1;
        fs::write(&path, with_sum(other)).unwrap();
        assert_eq!(place.entry().read(), None, "{number}");
    }
    // A whole entry of another file stands under this file's name.
    let other = Key { inode: place.entry().key.inode ^ 1, ..place.entry().key.clone() };
    fs::write(&path, other.entry(&record().to_bytes())).unwrap();
    assert_eq!(place.entry().read(), None);
    place.keep();
}

#[test]
fn entries_that_others_may_have_written_are_none() {
    let place = Place::new();
    place.keep();
    let path = place.kept();
    for mode in [0o620, 0o602, 0o666] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        assert_eq!(place.entry().read(), None, "{mode:o}");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(place.entry().read(), Some(record()));
    if rustix::process::geteuid().is_root() {
        chown(&path, Some(65534), None).unwrap();
        assert_eq!(place.entry().read(), None);
    } else {
        println!("SKIPPED an entry of another user's: only root can give one away");
    }
}

#[test]
fn nothing_but_a_plain_file_is_an_entry() {
    let place = Place::new();
    place.keep();
    let (path, elsewhere) = (place.kept(), place.directory.path().join("elsewhere"));
    fs::rename(&path, &elsewhere).unwrap();
    symlink(&elsewhere, &path).unwrap();
    assert_eq!(place.entry().read(), None, "a link");
    fs::remove_file(&path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    // Opening a pipe does not block.
    assert_eq!(place.entry().read(), None, "a pipe");
    place.keep();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(place.entry().read(), None, "a directory");
    // The directory stays in place, and no temporary file is left over.
    place.entry().write(&place.open(), &record());
    assert_eq!(place.kept(), path);
}

#[test]
fn folders_that_others_may_write_to_are_refused() {
    let place = Place::new();
    place.keep();
    for mode in [0o770, 0o702, 0o777, 0o1777] {
        fs::set_permissions(place.folder(), Permissions::from_mode(mode)).unwrap();
        let refused = Cache::in_folder(&place.folder()).unwrap_err();
        assert!(matches!(refused, Refused::Writable(_)), "{mode:o}: {refused}");
    }
    fs::set_permissions(place.folder(), Permissions::from_mode(0o755)).unwrap();
    assert_eq!(place.entry().read(), Some(record()));
    let link = place.directory.path().join("link");
    symlink(place.folder(), &link).unwrap();
    assert!(matches!(Cache::in_folder(&link).unwrap_err(), Refused::System(..)));
    assert!(matches!(Cache::in_folder(&place.file).unwrap_err(), Refused::System(..)));
    let nowhere = place.directory.path().join("a/b/c");
    assert!(matches!(Cache::in_folder(&nowhere).unwrap_err(), Refused::System(..)));
    let in_home = place.directory.path().join(".cache/millstream");
    Cache::in_folder(&in_home).unwrap();
    assert_eq!(fs::metadata(in_home.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn folders_of_other_users_are_refused_and_none_is_made_there() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED a folder of another user's: only root can give one away");
        return;
    }
    let place = Place::new();
    place.keep();
    chown(place.folder(), Some(65534), None).unwrap();
    assert!(matches!(Cache::in_folder(&place.folder()).unwrap_err(), Refused::Foreign(_)));
    fs::remove_dir_all(place.folder()).unwrap();
    chown(place.directory.path(), Some(65534), None).unwrap();
    assert!(matches!(Cache::in_folder(&place.folder()).unwrap_err(), Refused::Foreign(_)));
    assert!(!place.folder().exists());
}

#[test]
fn the_oldest_go() {
    let place = Place::new();
    let folder = Folder::with_bound(&place.folder(), 10_000).unwrap_or_else(|_| {
        place.cache();
        Folder::with_bound(&place.folder(), 10_000).unwrap()
    });
    for name in ["a", "b", "c", "d"] {
        folder.write(name, &[0; 2400]).unwrap();
        sleep(Duration::from_millis(20));
    }
    // Reading an entry makes it young.
    assert!(folder.read("a").is_some());
    sleep(Duration::from_millis(20));
    folder.write("e", &[0; 2400]).unwrap();
    let there = |name: &&str| folder.read(name).is_some();
    assert_eq!(["a", "b", "c", "d", "e"].iter().copied().filter(there).collect::<String>(), "ade");
    // An entry above the bound is not written.
    folder.write("f", &[0; 10_001]).unwrap();
    assert!(folder.read("f").is_none() && folder.read("e").is_some());
}

#[test]
fn readers_see_whole_entries_while_others_write() {
    let place = Place::new();
    place.keep();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..200 {
                    place.entry().write(&place.open(), &record());
                }
                ended.store(true, Ordering::SeqCst);
            });
        }
        let entry = place.entry();
        while !ended.load(Ordering::SeqCst) {
            assert_eq!(entry.read(), Some(record()));
        }
    });
    place.kept();
}

/// A search's file that is missing from the digest would keep old entries alive.
#[test]
fn the_digest_is_of_all_that_searches() {
    // These say nothing about where the instructions of a file are.
    const OTHERS: &[&str] = &[
        "depth.rs",
        "error.rs",
        "known/mod.rs",
        "known/noise.rs",
        "mod.rs",
        "modules.rs",
        "names.rs",
        "unwind.rs",
    ];
    let code = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/code");
    for folder in ["", "known/"] {
        for entry in fs::read_dir(code.join(folder)).unwrap() {
            let name = format!("{folder}{}", entry.unwrap().file_name().into_string().unwrap());
            if name.ends_with(".rs") {
                let is_there = SOURCE.iter().any(|(source, _)| *source == name);
                assert_ne!(is_there, OTHERS.contains(&&*name), "{name}");
            }
        }
    }
}
