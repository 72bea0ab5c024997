//! The names of the outputs of several files.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use millstream_engines::modes::Direction;

use super::options::Options;
use crate::commands::cautions;
use crate::error::Error;
use crate::shown;

/// The end of encrypted files' names.
const SUFFIX: &str = ".enc";

/// The remedy for an output that is there already.
const REMEDY: &str = "replace it with --force, or choose another folder with --output-dir";

/// The outputs of some inputs.
pub(super) struct Outputs<'a> {
    inputs: &'a [&'a Path],
    /// The path of each output, or the number of the input before that has the same, or nothing if it can't be made.
    paths: Vec<Result<PathBuf, Unnamed>>,
    suffix: &'a OsStr,
    /// The inputs, by device and inode, if outputs may replace files.
    replaced: Option<HashMap<(u64, u64), usize>>,
    secrets: [(&'static str, Option<&'a Path>); 3],
}

/// The reason why an input has no output.
#[derive(Clone, Copy)]
enum Unnamed {
    /// Standard input has no name.
    Standard,
    /// The name does not end as those of encrypted files do.
    Suffix,
    /// An input before has that output.
    Taken(usize),
}

impl Options {
    /// Returns true when outputs are named after their inputs. Fails on options that then have no use.
    pub(super) fn are_outputs_named(&self, inputs: usize) -> Result<bool, Error> {
        let many = &self.many;
        let given = many.output_dir.is_some() || many.suffix.is_some() || many.force;
        let named = given || inputs > 1 || !many.files.is_empty() && self.output.is_none();
        let why = match (&self.output, inputs) {
            (Some(_), _) if given => {
                "-o names the only output, and replaces the file of that name; leave out --output-dir, --suffix and --force"
            }
            (Some(_), 2..) => {
                "-o names one output for several inputs; leave it out, and each has its own: see --output-dir and --suffix"
            }
            (None, 0) if given => "--output-dir, --suffix and --force need files to name outputs after",
            _ => return Ok(named),
        };
        Err(Error::Usage(why.into()))
    }

    /// Names the output of each input.
    pub(super) fn outputs<'a>(
        &'a self,
        inputs: &'a [&'a Path],
        direction: Direction,
    ) -> Result<Outputs<'a>, Error> {
        let suffix = self.many.suffix.as_deref().unwrap_or(OsStr::new(SUFFIX));
        if suffix.as_bytes().contains(&b'/') {
            let suffix = shown::path(Path::new(suffix));
            return Err(Error::Usage(format!("--suffix {suffix}: ends names, so it has no /")));
        }
        if let Some(folder) = self.many.output_dir.as_deref().filter(|folder| !folder.is_dir()) {
            let folder = shown::path(folder);
            return Err(Error::Usage(format!(
                "--output-dir {folder}: there is no such folder; make it first"
            )));
        }
        let mut taken = HashMap::with_capacity(inputs.len());
        let mut name = |(index, input): (usize, &&Path)| {
            let path = named(input, self.many.output_dir.as_deref(), suffix, direction)?;
            match taken.entry(path.clone()) {
                Entry::Occupied(before) => Err(Unnamed::Taken(*before.get())),
                Entry::Vacant(place) => {
                    place.insert(index);
                    Ok(path)
                }
            }
        };
        let paths = inputs.iter().enumerate().map(&mut name).collect();
        let identity = |(index, input): (usize, &&Path)| {
            input.metadata().ok().map(|found| ((found.dev(), found.ino()), index))
        };
        let replaced = self.many.force.then(|| inputs.iter().enumerate().filter_map(identity).collect());
        Ok(Outputs { inputs, paths, suffix, replaced, secrets: self.secrets() })
    }
}

impl Outputs<'_> {
    /// Returns true when an output may replace a file.
    pub(super) fn replace(&self) -> bool {
        self.replaced.is_some()
    }

    /// Returns the path of an input's output, which may be written.
    ///
    /// # Errors
    /// Fails when it has none, when a file has that name that stays, and when the output would destroy a secret or
    /// another input.
    pub(super) fn path(&self, index: usize) -> Result<&Path, Error> {
        let path = self.name(index)?;
        match &self.replaced {
            Some(inputs) => self.spare(index, path, inputs)?,
            None if path.symlink_metadata().is_ok() => {
                return Err(Error::Exists { path: path.to_owned(), remedy: REMEDY });
            }
            None => {}
        }
        Ok(path)
    }

    /// Returns the path of an input's output.
    ///
    /// # Errors
    /// Fails when it has none.
    pub(super) fn name(&self, index: usize) -> Result<&Path, Error> {
        let input = shown::path(self.inputs[index]);
        let why = match &self.paths[index] {
            Ok(path) => return Ok(path),
            Err(Unnamed::Standard) => {
                "standard input has no name to name its output after; leave - out, or name the file"
                    .to_owned()
            }
            Err(Unnamed::Suffix) => {
                let suffix = shown::path(Path::new(self.suffix));
                format!(
                    "{input}: its name does not end in {suffix}; name its end with --suffix, or its output with -o"
                )
            }
            Err(Unnamed::Taken(before)) => {
                let before = shown::path(self.inputs[*before]);
                format!(
                    "{input}: its output would be that of {before}; choose another folder with --output-dir"
                )
            }
        };
        Err(Error::Usage(why))
    }

    /// Refuses to replace a secret or another input.
    fn spare(&self, index: usize, path: &Path, inputs: &HashMap<(u64, u64), usize>) -> Result<(), Error> {
        cautions::spare_secrets(Some(path), &self.secrets)?;
        let Ok(found) = path.metadata() else { return Ok(()) };
        match inputs.get(&(found.dev(), found.ino())) {
            Some(other) if *other != index => {
                let (input, path) = (shown::path(self.inputs[index]), shown::path(path));
                Err(Error::Usage(format!(
                    "{input}: its output {path} is another input; choose another folder with --output-dir"
                )))
            }
            _ => Ok(()),
        }
    }
}

fn named(
    input: &Path,
    folder: Option<&Path>,
    suffix: &OsStr,
    direction: Direction,
) -> Result<PathBuf, Unnamed> {
    if input.as_os_str() == "-" {
        return Err(Unnamed::Standard);
    }
    let name = match (folder, input.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        // A name like `..` is that of a directory, which the attempt to read it tells.
        _ => input.to_owned(),
    };
    if direction == Direction::Encrypt {
        let mut name = name.into_os_string();
        name.push(suffix);
        return Ok(name.into());
    }
    let bytes = name.as_os_str().as_bytes().strip_suffix(suffix.as_bytes()).ok_or(Unnamed::Suffix)?;
    if bytes.last().is_none_or(|last| *last == b'/') {
        return Err(Unnamed::Suffix);
    }
    Ok(OsStr::from_bytes(bytes).into())
}
