//! Tests of the cache of searches, with real files.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use millstream_observe::code::cache::Cache;
use millstream_observe::code::{Bounds, CarryLess, Class, Function, Image, Site, known};

use crate::support::{Directory, image};

/// Builds a library with a megabyte of code. Its function `secret` holds an instruction, and `said` describes
/// the function.
fn large(directory: &Path, said: &str, instruction: &str, options: &[&str]) -> PathBuf {
    let (source, library) = (directory.join("large.s"), directory.join("large.so"));
    let text = format!(
        ".text\n.globl f\n.type f,@function\nf:\ncall secret\nret\n.size f,.-f\n.space 1<<20,0xCC\n{said}\nsecret:\n{instruction}\nret\n"
    );
    std::fs::write(&source, text).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-nostdlib", "-o"]).arg(&library).arg(&source).args(options);
    assert!(cc.status().unwrap().success());
    library
}

const AES: &str = "aesenc %xmm1,%xmm0";

#[test]
fn what_a_cache_knows_is_what_a_search_finds() {
    let directory = Directory::new("cached");
    let cache = Cache::in_folder(&directory.path().join("cache")).unwrap();
    let own = large(directory.path(), "", AES, &["-Wl,--build-id", "-s"]);
    std::thread::sleep(Duration::from_millis(2100));
    let installed =
        ["/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/lib64/libcrypto.so.3", "/usr/bin/node"];
    let own = own.to_str().unwrap();
    for path in [own].into_iter().chain(installed).filter(|path| Path::new(path).exists()) {
        let file = File::open(path).unwrap();
        let searched = Image::of_file(&file).unwrap();
        let known: Vec<Image> =
            (0..2).map(|_| Image::of_file_or_cache(&file, Some(&cache)).unwrap()).collect();
        assert_eq!([known[0].was_known(), known[1].was_known()], [false, true], "{path}");
        let [searched, first, second] = [&searched, &known[0], &known[1]].map(all_of);
        assert!(searched == first && searched == second, "{path}");
        assert!(!searched.sites.is_empty(), "{path}");
    }
}

/// Everything that an image reveals.
#[derive(PartialEq)]
struct All {
    sites: Vec<Site>,
    functions: Vec<(u64, u64, String, Bounds, bool, CarryLess)>,
    counts: Vec<(Class, u32)>,
    libraries: Vec<String>,
}

fn all_of(image: &Image) -> All {
    let function = |(index, function): (usize, &Function)| {
        let Function { start, end, bounds, entry_proven, .. } = *function;
        (start, end, image.name(index), bounds, entry_proven, image.carry_less(index))
    };
    All {
        sites: image.sites().to_vec(),
        functions: image.functions().iter().enumerate().map(function).collect(),
        counts: image.proven().iter().chain(image.unproved().iter()).collect(),
        libraries: known::libraries("", image).iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_file_that_changes_under_its_build_id_is_searched_again() {
    let directory = Directory::new("changed");
    let cache = Cache::in_folder(&directory.path().join("cache")).unwrap();
    let look = |path: &Path| {
        std::thread::sleep(Duration::from_millis(2100));
        let image = Image::of_file_or_cache(&File::open(path).unwrap(), Some(&cache)).unwrap();
        (image.was_known(), image.proven().of(Class::Aes), image.build_id().unwrap().to_vec())
    };
    let id = "-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567";
    let path = large(directory.path(), "", "nop; nop; nop; nop; nop", &[id, "-s"]);
    let before = std::fs::metadata(&path).unwrap();
    let (known, count, build) = look(&path);
    assert_eq!((known, count), (false, 0));
    assert_eq!(look(&path), (true, 0, build.clone()));
    // Five bytes are changed in place, and the time of change is set back.
    let bytes = std::fs::read(&path).unwrap();
    let place = bytes.windows(6).position(|bytes| bytes == [0x90, 0x90, 0x90, 0x90, 0x90, 0xC3]).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(&[0x66, 0x0F, 0x38, 0xDC, 0xC1], place as u64).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!(
        (before.len(), before.ino(), before.mtime_nsec()),
        (after.len(), after.ino(), after.mtime_nsec())
    );
    assert_eq!(look(&path), (false, 1, build.clone()));
    assert_eq!(look(&path), (true, 1, build));
}

#[test]
fn what_other_files_say_of_functions_is_a_reason_to_search_again() {
    let directory = Directory::new("named");
    let cache = Cache::in_folder(&directory.path().join("cache")).unwrap();
    let said = ".globl secret\n.type secret,@function\n.size secret,6";
    let path = large(directory.path(), said, AES, &["-Wl,--build-id"]);
    let names = directory.path().join("names");
    let id: String = image(&path).build_id().unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    std::fs::create_dir_all(names.join(".build-id").join(&id[..2])).unwrap();
    let strip = |options: &[&str], to: &Path| {
        assert!(Command::new("strip").args(options).arg("-o").arg(to).arg(&path).status().unwrap().success());
    };
    let bare = directory.path().join("bare.so");
    strip(&["-s", "-R", ".dynsym"], &bare);
    std::thread::sleep(Duration::from_millis(2100));
    let look = || {
        let image = Image::with_debug_files(&File::open(&bare).unwrap(), &names, Some(&cache)).unwrap();
        let function =
            image.functions().iter().position(|function| function.name.as_deref() == Some("secret"));
        (image.was_known(), function.is_some())
    };
    assert_eq!([look(), look()].map(|(known, _)| known), [false, true]);
    strip(
        &["--only-keep-debug"],
        &names.join(".build-id").join(&id[..2]).join(format!("{}.debug", &id[2..])),
    );
    assert_eq!([look(), look()], [(false, true), (true, true)]);
}

#[test]
fn small_files_and_those_without_a_build_id_are_not_kept() {
    let directory = Directory::new("not-kept");
    let folder = directory.path().join("cache");
    let cache = Cache::in_folder(&folder).unwrap();
    let path = large(directory.path(), "", AES, &["-Wl,--build-id=none"]);
    std::thread::sleep(Duration::from_millis(2100));
    for path in [path.as_path(), Path::new("/bin/true")] {
        for _ in 0..2 {
            let image = Image::of_file_or_cache(&File::open(path).unwrap(), Some(&cache)).unwrap();
            assert!(!image.was_known(), "{}", path.display());
        }
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
}
