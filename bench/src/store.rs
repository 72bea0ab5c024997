//! The token store with ten thousand keys: finding, opening, and making a key that is on the disk.
//!
//! A key that is made is compared with the least that a disk can do for it: as many bytes, written and synced as often. The other peer
//! is the way of tokens that have a file for each object: a temporary file, synced, renamed, and its folder synced.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use millstream_cpu::Features;
use millstream_measure::clock;
use millstream_measure::statistics::{median, quantile};
use millstream_store::vault::{Cost, LocalVault};
use millstream_store::{Attributes, DeviceSecret, File as Store, ObjectId, Role, Token, token};
use serde_json::json;

use crate::record::{self, Circumstances, Recording};

/// The goals: microseconds to find a key, seconds to open the store, and milliseconds to make a key beyond the syncs.
const FIND_US: f64 = 10.0;
const OPEN_S: f64 = 1.0;
const MAKE_MS: f64 = 5.0;

/// Syncs of a commit in two phases.
const SYNCS: usize = 2;

const PIN: &[u8] = b"1234";

#[derive(clap::Args)]
pub struct Arguments {
    /// Number of keys
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    keys: u32,
    /// The folder for the store, on the disk that is to be measured
    #[arg(long, default_value = "target")]
    dir: PathBuf,
    /// Number of keys that are made durably, in turns with the peers
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    #[command(flatten)]
    recording: Recording,
}

/// Measures and reports.
///
/// # Errors
/// Fails when the folder can't be written, or a key is not what was stored.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.recording.wanted()?;
    let features = Features::active().map_err(|e| e.to_string())?;
    let about = Circumstances::now(features, Vec::new(), Vec::new());
    about.lines().iter().for_each(|line| println!("{line}"));
    let folder =
        tempfile::tempdir_in(&arguments.dir).map_err(|e| format!("{}: {e}", arguments.dir.display()))?;
    let vault = LocalVault::with_cost(
        features,
        DeviceSecret::new(&[7; 32]).expect("32 bytes are enough"),
        Cost { memory_kib: 64, passes: 1, lanes: 1 },
    );
    let figures = measure(arguments, folder.path(), &vault).map_err(|e| e.to_string())?;
    figures.iter().for_each(|figure| println!("{}", figure.line()));
    about.warn();
    if arguments.recording.wanted()? {
        let mut text = String::from("# The token store\n\n");
        about.lines().iter().for_each(|line| text += &format!("- {line}\n"));
        text += &format!("- {} keys\n\n```text\n", arguments.keys);
        figures.iter().for_each(|figure| text += &(figure.line().trim_end().to_owned() + "\n"));
        text += "```\n";
        let figures: Vec<_> = figures.iter().map(Figure::json).collect();
        let value = json!({ "about": about.json(), "keys": arguments.keys, "figures": figures });
        record::keep(&about, "-store", &value, text)?;
    }
    Ok(())
}

/// A quantity, its median and its 99th percentile, and a goal for the median.
struct Figure {
    what: &'static str,
    unit: &'static str,
    median: f64,
    high: f64,
    goal: Option<f64>,
}

impl Figure {
    fn new(what: &'static str, unit: &'static str, mut values: Vec<f64>, goal: Option<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let high = quantile(&values, 0.99);
        Figure { what, unit, median: median(values), high, goal }
    }

    fn line(&self) -> String {
        let word = match self.goal {
            None => String::new(),
            Some(goal) if self.median < goal => format!("met: below {goal}"),
            Some(goal) => format!("missed: {goal}"),
        };
        let Figure { what, unit, median, high, .. } = self;
        format!("{what:<52} median {median:>9.3} {unit}, 99 % {high:>9.3} {unit}  {word}")
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "what": self.what, "unit": self.unit, "median": self.median, "quantile_99": self.high, "goal": self.goal,
        })
    }
}

fn measure(
    arguments: &Arguments,
    folder: &Path,
    vault: &LocalVault,
) -> Result<Vec<Figure>, Box<dyn std::error::Error>> {
    let path = folder.join("tokens.redb");
    let objects = fill(&path, vault, arguments.keys)?;
    let mut figures = vec![opening(&path, vault, objects.len())?];
    let mut file = Store::open(&path)?;
    figures.extend(finding(&mut file, vault, &objects)?);
    figures.extend(making(&mut file, vault, folder, arguments.rounds)?);
    Ok(figures)
}

fn attributes(i: usize) -> Attributes {
    Attributes {
        label: format!("server key {i}"),
        id: i.to_be_bytes().to_vec(),
        kind: "p-256".into(),
        bits: 256,
        public_key: vec![i as u8; 91],
        ..Attributes::default()
    }
}

/// Makes a store with so many keys. It grows in memory, so that no disk is waited for.
fn fill(path: &Path, vault: &LocalVault, keys: u32) -> Result<Vec<ObjectId>, Box<dyn std::error::Error>> {
    let memory = tempfile::tempdir_in("/dev/shm")?;
    let place = memory.path().join("tokens.redb");
    let mut file = Store::create(&place)?;
    token::make(&mut file, vault, "bench", b"officer's PIN", Some(PIN))?;
    let mut token = Token::open(&mut file, vault, "bench", Role::User, PIN)?;
    let objects =
        (0..keys as usize).map(|i| token.add(&attributes(i), &[i as u8; 32])).collect::<Result<_, _>>()?;
    drop(file);
    std::fs::copy(&place, path)?;
    Ok(objects)
}

/// Opens the store: every page is checked, and all attributes are read. The PIN's derivation, which is slow on purpose, is not in it.
fn opening(path: &Path, vault: &LocalVault, keys: usize) -> Result<Figure, Box<dyn std::error::Error>> {
    let mut seconds = Vec::new();
    for _ in 0..9 {
        let mut found = None;
        seconds.push(
            clock::elapsed_ns(|| {
                found = Some(Store::open(path).and_then(|mut file| {
                    Token::open(&mut file, vault, "bench", Role::User, PIN)?;
                    Ok(file)
                }));
            }) / 1e9,
        );
        let file = found.ok_or("the store was not opened")??;
        if file.tokens().map(|token| token.objects).sum::<usize>() != keys {
            return Err("keys are missing".into());
        }
    }
    Ok(Figure::new("opening the store and a token", "s", seconds, Some(OPEN_S)))
}

/// Finds keys by their labels and their identifiers, and reads them from the database.
fn finding(
    file: &mut Store,
    vault: &LocalVault,
    objects: &[ObjectId],
) -> Result<Vec<Figure>, Box<dyn std::error::Error>> {
    let token = file.find("bench")?;
    let (mut by_label, mut by_id, mut opened) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..20_000 {
        let i = i * 7919 % objects.len();
        let wanted = attributes(i);
        let mut found = None;
        by_label.push(
            clock::elapsed_ns(|| {
                let object =
                    file.labelled(token, &wanted.label).ok().and_then(|found| found.first().copied());
                found = object.map(|object| (object, file.get(token, object)));
            }) / 1e3,
        );
        let (object, stored) = found.ok_or("a label was not found")?;
        if object != objects[i] || Attributes::decode(&stored?.attributes)? != wanted {
            return Err("another key was found".into());
        }
        let mut found = None;
        by_id.push(
            clock::elapsed_ns(|| {
                let object = file.identified(token, &wanted.id).ok().and_then(|found| found.first().copied());
                found = object.map(|object| (object, file.get(token, object)));
            }) / 1e3,
        );
        if found.is_none_or(|(object, stored)| object != objects[i] || stored.is_err()) {
            return Err("another key was found".into());
        }
    }
    let mut token = Token::open(file, vault, "bench", Role::User, PIN)?;
    for i in 0..5_000 {
        let i = i * 7919 % objects.len();
        let mut read = None;
        opened.push(clock::elapsed_ns(|| read = Some(token.read(objects[i]))) / 1e3);
        if read.ok_or("no key was read")??.1[..] != [i as u8; 32] {
            return Err("another key was read".into());
        }
    }
    Ok(vec![
        Figure::new("finding a key by its label, with its record", "us", by_label, Some(FIND_US)),
        Figure::new("finding a key by its identifier, with its record", "us", by_id, Some(FIND_US)),
        Figure::new("reading a key by its object, and opening it", "us", opened, None),
    ])
}

/// Makes keys, in turns with the peers.
fn making(
    file: &mut Store,
    vault: &LocalVault,
    folder: &Path,
    rounds: u32,
) -> Result<Vec<Figure>, Box<dyn std::error::Error>> {
    let (mut made, mut synced, mut beyond, mut files) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut plain = OpenOptions::new().create_new(true).write(true).open(folder.join("plain"))?;
    plain.write_all(&vec![1; 1 << 20])?;
    plain.sync_all()?;
    let before = file.tokens().map(|token| token.objects).sum::<usize>();
    let mut token = Token::open(file, vault, "bench", Role::User, PIN)?;
    for round in 0..rounds as usize {
        let mut done = Vec::new();
        let key = clock::elapsed_ns(|| {
            done.push(token.add(&attributes(before + round), &[round as u8; 32]).map_err(|e| e.to_string()));
        });
        let sync = clock::elapsed_ns(|| {
            done.push(sync(&mut plain, round).map(|()| ObjectId([0; 16])).map_err(|e| e.to_string()))
        });
        let own = clock::elapsed_ns(|| {
            done.push(own_file(folder, round).map(|()| ObjectId([0; 16])).map_err(|e| e.to_string()));
        });
        done.into_iter().collect::<Result<Vec<_>, String>>()?;
        made.push(key / 1e6);
        synced.push(sync / 1e6);
        beyond.push((key - sync) / 1e6);
        files.push(own / 1e6);
    }
    Ok(vec![
        Figure::new("making a key, durably", "ms", made, None),
        Figure::new("peer: writing and syncing as often, nothing else", "ms", synced, None),
        Figure::new("making a key, beyond the syncs", "ms", beyond, Some(MAKE_MS)),
        Figure::new("peer: a file for each object, synced and renamed", "ms", files, None),
    ])
}

/// Writes a handful of pages and syncs, as often as a commit does.
fn sync(file: &mut File, round: usize) -> std::io::Result<()> {
    for phase in 0..SYNCS {
        file.seek(SeekFrom::Start((round % 100 * 4096) as u64))?;
        file.write_all(&vec![phase as u8; 8 * 4096])?;
        file.sync_data()?;
    }
    Ok(())
}

/// Writes an object into a file of its own.
fn own_file(folder: &Path, round: usize) -> std::io::Result<()> {
    let name = folder.join(format!("object-{round}"));
    let temporary = folder.join("object-new");
    let mut file = File::create(&temporary)?;
    file.write_all(&[round as u8; 300])?;
    file.sync_all()?;
    std::fs::rename(&temporary, &name)?;
    File::open(folder)?.sync_all()
}
