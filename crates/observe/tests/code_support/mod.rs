//! Processes and files for the tests.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use millstream_observe::code::Image;
use millstream_observe::code::unwind::{Module, Modules};
use millstream_observe::memory::Memory;

/// A directory that is removed with the value.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("millstream-code-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The memory of another process.
pub struct ProcessMemory(File);

impl Memory for ProcessMemory {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(buffer, address)
    }
}

/// A program that prints a line when it is ready.
pub struct Program {
    child: Child,
    pub output: BufReader<ChildStdout>,
}

impl Program {
    pub fn start(command: &mut Command) -> Program {
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "ready");
        Program { child, output }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn memory(&self) -> ProcessMemory {
        ProcessMemory(File::open(format!("/proc/{}/mem", self.pid())).unwrap())
    }

    /// Returns the images that it has mapped executable.
    pub fn modules(&self) -> Modules {
        let mut modules = Modules::default();
        for line in fs::read_to_string(format!("/proc/{}/maps", self.pid())).unwrap().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [range, rights, offset, _, _, path] = words[..] else { continue };
            if !rights.contains('x') || !path.starts_with('/') {
                continue;
            }
            let hexadecimal = |text: &str| u64::from_str_radix(text, 16).unwrap();
            let (start, end) = range.split_once('-').unwrap();
            let Ok(image) =
                File::open(path).map_err(drop).and_then(|file| Image::of_file(&file).map_err(drop))
            else {
                continue;
            };
            let start = hexadecimal(start);
            modules.insert(Module {
                start,
                end: hexadecimal(end),
                bias: image.bias(start, hexadecimal(offset)).unwrap(),
                name: path.rsplit('/').next().unwrap().into(),
                image: Arc::new(image),
            });
        }
        modules
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns true when a program is installed, and prints a line when it isn't.
pub fn has(program: &str) -> bool {
    let found =
        Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        eprintln!("SKIPPED {program} is not installed");
    }
    found
}

impl Program {
    /// Sends it a line, and waits for its answer.
    pub fn say_and_wait(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
    }
}

/// Reads the image in a file.
pub fn image(path: impl AsRef<Path>) -> Image {
    Image::of_file(&File::open(path).unwrap()).unwrap()
}
