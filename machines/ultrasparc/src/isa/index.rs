//! Finding the row of a word.
//!
//! The fields of an instruction form a tree: `op` says which format it has, `op2` or `op3` which group it belongs to,
//! and within a group another field (`cond`, `opf`, ...) tells the rows apart. The first two are the same for all.
//! The third is found for each group by trying, so a new row needs no change here.
//! Ref. SPARC V9 §6.2, appendix E.

use std::sync::LazyLock;

use super::{Decode, FAMILIES, Instruction, Word};
use crate::cpu::Op;
use crate::processor::Features;

/// Groups: 8 by `op2`, 1 for `call`, 64 by `op3` for each of arithmetic and memory.
const GROUPS: usize = 8 + 1 + 64 + 64;

/// The widest field that a group is split by.
const WIDEST: u32 = 9;

/// All rows, and for each word the place to look for its own.
pub(super) struct Index {
    rows: Vec<&'static Instruction>,
    groups: Vec<Group>,
    /// For each value of each group's field, the place in `candidates` of its first candidate, and their number.
    places: Vec<(u16, u16)>,
    /// Indices of rows.
    candidates: Vec<u16>,
}

/// Words of the same `op`, and `op2` or `op3`.
#[derive(Clone, Copy, Default)]
struct Group {
    field: Field,
    /// The index in `places` of the field's value 0.
    first: usize,
}

/// Some bits beside one another.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Field {
    shift: u32,
    width: u32,
}

impl Field {
    fn of(self, word: u32) -> usize {
        (word >> self.shift) as usize & self.mask()
    }

    fn mask(self) -> usize {
        (1 << self.width) - 1
    }

    /// The bits of a word that the field covers.
    #[cfg(test)]
    fn bits(self) -> u32 {
        (self.mask() as u32) << self.shift
    }
}

static INDEX: LazyLock<Index> = LazyLock::new(Index::new);

/// The group of a word.
fn group(word: u32) -> usize {
    match word >> 30 {
        0 => (word >> 22 & 7) as usize,
        1 => 8,
        op => 9 + ((op as usize & 1) << 6) + (word >> 19 & 63) as usize,
    }
}

/// A word of the group whose other fields are zero, and the mask of the bits that make it one of the group.
fn head(group: usize) -> (u32, u32) {
    match group {
        0..8 => ((group as u32) << 22, 0xc1c0_0000),
        8 => (1 << 30, 0xc000_0000),
        _ => {
            let (op, op3) = ((group - 9) >> 6, (group - 9) & 63);
            ((2 | op as u32) << 30 | (op3 as u32) << 19, 0xc1f8_0000)
        }
    }
}

/// True if some word has both the row's fixed bits and these.
fn meets(row: &Instruction, (value, mask): (u32, u32)) -> bool {
    (row.value ^ value) & row.mask & mask == 0
}

impl Index {
    fn new() -> Index {
        let rows: Vec<&'static Instruction> = FAMILIES.iter().flat_map(|family| family.iter()).collect();
        let mut index =
            Index { rows, groups: vec![Group::default(); GROUPS], places: vec![], candidates: vec![] };
        for group in 0..GROUPS {
            let members: Vec<u16> = (0..index.rows.len() as u16)
                .filter(|&row| meets(index.rows[usize::from(row)], head(group)))
                .collect();
            index.split(group, &members);
        }
        index
    }

    /// Gives each value of the group's best field its candidates.
    fn split(&mut self, group: usize, members: &[u16]) {
        let field = self.best_field(members);
        self.groups[group] = Group { field, first: self.places.len() };
        for value in 0..1 << field.width {
            let fixed = ((value << field.shift) as u32, (field.mask() << field.shift) as u32);
            let first = self.candidates.len();
            let candidates = members.iter().filter(|&&row| meets(self.rows[usize::from(row)], fixed));
            self.candidates.extend(candidates);
            self.places.push((first as u16, (self.candidates.len() - first) as u16));
        }
    }

    /// The field whose fullest value has the fewest candidates; of several such, the narrowest.
    fn best_field(&self, members: &[u16]) -> Field {
        if members.len() < 2 {
            return Field::default();
        }
        let fields = (0..=WIDEST).flat_map(|width| (0..29 - width).map(move |shift| Field { shift, width }));
        let most = |field: &Field| {
            let mut counts = [0u16; 1 << WIDEST];
            for row in members.iter().map(|&row| self.rows[usize::from(row)]) {
                let (fixed, free) = (field.of(row.value), field.of(!row.mask));
                // The loop visits each subset of the free bits, the whole first.
                let mut subset = free;
                loop {
                    counts[fixed | subset] += 1;
                    if subset == 0 {
                        break;
                    }
                    subset = (subset - 1) & free;
                }
            }
            counts.into_iter().max()
        };
        fields.min_by_key(|field| (most(field), field.width)).unwrap_or_default()
    }

    /// The number of a word's row.
    #[inline]
    fn find(&self, word: u32) -> Option<u16> {
        let group = &self.groups[group(word)];
        let (first, count) = self.places[group.first + group.field.of(word)];
        let candidates = &self.candidates[usize::from(first)..][..usize::from(count)];
        candidates.iter().copied().find(|&row| {
            let row = self.rows[usize::from(row)];
            word & row.mask == row.value
        })
    }
}

/// All rows, in the order of [`FAMILIES`]: a row's number is its place here.
#[must_use]
pub fn rows() -> &'static [&'static Instruction] {
    &INDEX.rows
}

/// The number of a word's row, on any processor.
#[must_use]
pub fn find_number(word: u32) -> Option<u16> {
    INDEX.find(word)
}

/// The row of a word, on any processor.
///
/// ```
/// use millstream_ultrasparc::isa;
/// assert_eq!(isa::find(0x8400_4003).map(|row| row.name), Some("add"));
/// assert!(isa::find(0xffff_ffff).is_none());
/// ```
#[must_use]
pub fn find(word: u32) -> Option<&'static Instruction> {
    find_number(word).map(|number| INDEX.rows[usize::from(number)])
}

/// The row of a word, and the instruction made ready; `None` if a processor with these features lacks it.
#[must_use]
pub fn decode(word: u32, address: u64, features: Features) -> Option<(&'static Instruction, Op)> {
    let row = find(word).filter(|row| features.has(row.needs))?;
    let (Decode::Plain(make) | Decode::Control(make)) = row.decode;
    Some((row, make(Word(word), address)))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// All words that agree in `mask`, and the rows that each of them might have.
    struct Cube {
        value: u32,
        mask: u32,
        rows: Vec<u16>,
    }

    impl Cube {
        /// Splits the cube until all words of each part have the same row, or none, and are looked up in the same
        /// place.
        ///
        /// The bits it splits by are all that any remaining row looks at, and all that [`Index::find`] looks at
        /// first. So a property of one word of a part holds for all of them.
        fn parts(self, field: Field, seen: &mut impl FnMut(Cube)) {
            let looked_at = self.rows.iter().fold(0, |bits, &row| bits | rows()[usize::from(row)].mask);
            let open =
                [field.bits(), looked_at].into_iter().map(|bits| bits & !self.mask).find(|&bits| bits != 0);
            let Some(open) = open else { return seen(self) };
            let bit = 1 << open.trailing_zeros();
            for value in [self.value, self.value | bit] {
                let mask = self.mask | bit;
                let kept = |row: &u16| meets(rows()[usize::from(*row)], (value, mask));
                let kept = self.rows.iter().copied().filter(kept).collect();
                Cube { value, mask, rows: kept }.parts(field, seen);
            }
        }

        fn words(&self) -> u64 {
            1 << self.mask.count_zeros()
        }
    }

    /// All 2^32 words, in parts.
    fn all_words(mut seen: impl FnMut(Cube)) {
        for group in 0..GROUPS {
            let (value, mask) = head(group);
            let members = 0..rows().len() as u16;
            let members = members.filter(|&row| meets(rows()[usize::from(row)], (value, mask))).collect();
            Cube { value, mask, rows: members }.parts(INDEX.groups[group].field, &mut seen);
        }
    }

    #[test]
    fn of_all_words_each_has_one_row_or_none_and_is_found_there() {
        let (mut of_rows, mut illegal) = (vec![0u64; rows().len()], 0u64);
        all_words(|cube| {
            let names: Vec<&str> = cube.rows.iter().map(|&row| rows()[usize::from(row)].name).collect();
            assert!(names.len() <= 1, "{:#010x} is {}", cube.value, names.join(" and "));
            let row = cube.rows.first().copied();
            for word in [cube.value, cube.value | !cube.mask] {
                assert_eq!(find_number(word), row, "{word:#010x} is {names:?}");
            }
            match row {
                Some(row) => of_rows[usize::from(row)] += cube.words(),
                None => illegal += cube.words(),
            }
        });
        for (row, words) in rows().iter().zip(&of_rows) {
            assert_eq!(
                *words,
                1 << row.mask.count_zeros(),
                "{} has other words than its mask says",
                row.name
            );
        }
        assert_eq!(of_rows.iter().sum::<u64>() + illegal, 1 << 32);
        let classes: BTreeSet<_> = rows().iter().map(|row| row.class).collect();
        assert_eq!(classes.len(), crate::isa::Class::Montsqr as usize + 1, "a class without instructions");
        println!("{}", table(&of_rows, illegal));
    }

    /// The number of rows and words of each class, as a table.
    fn table(of_rows: &[u64], illegal: u64) -> String {
        let mut classes = BTreeMap::<_, (usize, u64)>::new();
        for (row, words) in rows().iter().zip(of_rows) {
            let class = classes.entry(row.class).or_default();
            *class = (class.0 + 1, class.1 + words);
        }
        let lines = classes
            .iter()
            .map(|(class, (rows, words))| format!("{:14} {rows:4} {words:10}\n", format!("{class:?}")));
        let header = format!("{:14} {:>4} {:>10}\n", "Class", "Rows", "Words");
        format!("{header}{}{:14} {:4} {illegal:10}", lines.collect::<String>(), "(illegal)", "")
    }

    #[test]
    fn no_two_rows_share_a_word() {
        for (number, a) in rows().iter().enumerate() {
            assert_eq!(a.value & !a.mask, 0, "{}: a value outside its mask", a.name);
            for b in &rows()[number + 1..] {
                assert!(
                    !meets(a, (b.value, b.mask)),
                    "{} and {}: {:#010x}",
                    a.name,
                    b.name,
                    a.value | b.value
                );
            }
        }
    }

    #[test]
    fn few_rows_are_looked_at_for_a_word() {
        let most = INDEX.places.iter().map(|(_, count)| *count).max();
        assert!(most <= Some(8), "{most:?}");
        let places = INDEX.places.len();
        assert!(places < 8192, "{places}");
    }

    #[test]
    fn a_processor_without_the_feature_has_no_such_instruction() {
        use crate::processor::Processor;
        let features = Processor::T4.features();
        for row in rows() {
            assert!(decode(row.value, 0, features).is_some(), "{}", row.name);
            assert!(decode(row.value, 0, features.without(row.needs)).is_none(), "{}", row.name);
        }
    }
}
