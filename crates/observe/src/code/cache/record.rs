//! The record of a search as bytes: numbers in groups of seven bits, lists after their length, addresses as
//! distances.

use super::super::carry_less::CarryLess;
use super::super::classes::{Class, Classes, Counts};
use super::super::known::library::{self, Library};
use super::super::sites::Site;

/// The results of a search that the file's tables don't give.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super) struct Record {
    /// A digest of the functions that the tables gave ([`super::digest`]). With other functions, the search
    /// would have had other results.
    pub functions: u64,
    /// True when the file has a Go table.
    pub has_go_table: bool,
    /// Starts of functions that other code leads to, in order.
    pub reached: Vec<u64>,
    /// Starts of examined functions where an instruction is proven to begin, in order.
    pub entered: Vec<u64>,
    pub sites: Vec<Site>,
    pub proven: Counts,
    pub unproved: Counts,
    /// The purposes of carry-less multiplication, by the function's start.
    pub carry_less: Vec<(u64, CarryLess)>,
    pub libraries: Vec<Library>,
}

/// The purposes by the number that stands for them in a record.
const CARRY_LESS: [CarryLess; 3] = [CarryLess::Unknown, CarryLess::Checksum, CarryLess::Cipher];

impl Record {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.number(self.functions);
        out.number(self.has_go_table.into());
        out.addresses(self.reached.iter().copied());
        out.addresses(self.entered.iter().copied());
        out.addresses(self.sites.iter().map(|site| site.address));
        for site in &self.sites {
            let classes = site.classes.iter().fold(0, |bits, class| bits | 1_u64 << class as u32);
            [classes, site.instructions.into(), site.run.into()].into_iter().for_each(|n| out.number(n));
            out.bytes(site.bytes());
        }
        for counts in [&self.proven, &self.unproved] {
            Class::ALL.iter().for_each(|class| out.number(counts.of(*class).into()));
        }
        out.addresses(self.carry_less.iter().map(|(start, _)| *start));
        for (_, what) in &self.carry_less {
            out.number(CARRY_LESS.iter().position(|known| known == what).unwrap_or(0) as u64);
        }
        out.number(self.libraries.len() as u64);
        for library in &self.libraries {
            out.bytes(library.name.as_bytes());
            out.number(library.version.is_some().into());
            out.bytes(library.version.as_deref().unwrap_or_default().as_bytes());
        }
        out.0
    }

    /// Returns `None` for a damaged record.
    pub fn from_bytes(bytes: &[u8]) -> Option<Record> {
        let mut from = Reader(bytes);
        let functions = from.number()?;
        let has_go_table = from.flag()?;
        let (reached, entered) = (from.addresses()?, from.addresses()?);
        let sites =
            from.addresses()?.into_iter().map(|address| site(&mut from, address)).collect::<Option<_>>()?;
        let mut counts = || {
            let mut counts = Counts::default();
            for class in Class::ALL {
                counts.set(*class, from.small()?);
            }
            Some(counts)
        };
        let (proven, unproved) = (counts()?, counts()?);
        let starts = from.addresses()?.into_iter();
        let carry_less = starts
            .map(|start| Some((start, *CARRY_LESS.get(from.small()? as usize)?)))
            .collect::<Option<_>>()?;
        let libraries = (0..from.length()?).map(|_| library(&mut from)).collect::<Option<_>>()?;
        let whole = from.0.is_empty();
        whole.then_some(Record {
            functions,
            has_go_table,
            reached,
            entered,
            sites,
            proven,
            unproved,
            carry_less,
            libraries,
        })
    }
}

fn site(from: &mut Reader<'_>, address: u64) -> Option<Site> {
    let bits = from.number()?;
    let classes: Classes =
        Class::ALL.iter().copied().filter(|class| bits >> *class as u32 & 1 == 1).collect();
    let (instructions, run) = (from.small()?, from.small()?);
    let head = from.bytes().filter(|head| (1..=15).contains(&head.len()) && head.len() <= run as usize)?;
    (instructions > 0 && !classes.is_empty()).then(|| Site::of_run(address, classes, instructions, run, head))
}

fn library(from: &mut Reader<'_>) -> Option<Library> {
    let name = library::name_of(std::str::from_utf8(from.bytes()?).ok()?)?;
    let has_version = from.flag()?;
    let version = std::str::from_utf8(from.bytes()?).ok()?;
    Some(Library { name, version: has_version.then(|| version.into()) })
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, mut number: u64) {
        while number > 0x7F {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend(bytes);
    }

    /// Writes ascending addresses.
    fn addresses(&mut self, addresses: impl ExactSizeIterator<Item = u64>) {
        self.number(addresses.len() as u64);
        let mut last = 0;
        for address in addresses {
            self.number(address.wrapping_sub(last));
            last = address;
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn flag(&mut self) -> Option<bool> {
        self.number().filter(|flag| *flag < 2).map(|flag| flag == 1)
    }

    /// Reads the length of a list. Each item takes a byte at least, which bounds the length.
    fn length(&mut self) -> Option<usize> {
        let length = usize::try_from(self.number()?).ok()?;
        (length <= self.0.len()).then_some(length)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(bytes)
    }

    fn addresses(&mut self) -> Option<Vec<u64>> {
        let mut last = None;
        (0..self.length()?)
            .map(|_| {
                let distance = self.number()?;
                let next = match last {
                    None => distance,
                    // Addresses ascend, and none stands twice.
                    Some(last) => u64::checked_add(last, distance).filter(|_| distance > 0)?,
                };
                last = Some(next);
                last
            })
            .collect()
    }
}
