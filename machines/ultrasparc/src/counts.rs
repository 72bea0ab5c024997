//! Counts of executed instructions: by instruction, by kind, by function.
//!
//! All of it follows from [`Cpu::blocks`](crate::cpu::Cpu::blocks), which tells how often words were executed. While
//! the program runs, only each block's executions are counted.

use std::collections::{BTreeMap, HashMap};

use crate::cpu::block::Executed;
use crate::isa::{self, Class, Instruction};
use crate::program::Program;

/// The number of times that each instruction was executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The counts by the number of the row.
    by_row: BTreeMap<u16, u64>,
}

impl Counts {
    /// Counts the instructions of these blocks.
    #[must_use]
    pub fn of<'a>(blocks: impl IntoIterator<Item = Executed<'a>>) -> Counts {
        let mut counts = Counts::default();
        for block in blocks {
            counts.add(block);
        }
        counts
    }

    /// Counts one more run of words.
    pub fn add(&mut self, block: Executed<'_>) {
        for (index, &word) in block.words.iter().enumerate() {
            if let Some(row) = isa::find_number(word) {
                *self.by_row.entry(row).or_default() += executions(&block, index);
            }
        }
    }

    /// Returns the count of all instructions.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_row.values().sum()
    }

    /// The count of all rows with that name, in every condition or format.
    #[must_use]
    pub fn named(&self, name: &str) -> u64 {
        self.rows().filter(|(row, _)| row.name == name).map(|(_, count)| count).sum()
    }

    /// The count of a kind of work.
    #[must_use]
    pub fn of_class(&self, class: Class) -> u64 {
        self.rows().filter(|(row, _)| row.class == class).map(|(_, count)| count).sum()
    }

    /// The count of the crypto instructions.
    #[must_use]
    pub fn crypto(&self) -> u64 {
        self.rows().filter(|(row, _)| row.class.is_crypto()).map(|(_, count)| count).sum()
    }

    /// The instructions that were executed, and how often.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Instruction, u64)> + '_ {
        let rows = self.by_row.iter().map(|(&row, &count)| (isa::rows()[usize::from(row)], count));
        rows.filter(|(_, count)| *count > 0)
    }

    /// The kinds of work that were done, and how often.
    #[must_use]
    pub fn classes(&self) -> BTreeMap<Class, u64> {
        let mut classes = BTreeMap::new();
        for (row, count) in self.rows() {
            *classes.entry(row.class).or_default() += count;
        }
        classes
    }
}

impl std::ops::AddAssign<&Counts> for Counts {
    fn add_assign(&mut self, other: &Counts) {
        for (&row, count) in &other.by_row {
            *self.by_row.entry(row).or_default() += count;
        }
    }
}

/// The number of times that a block's word was executed.
fn executions(block: &Executed<'_>, index: usize) -> u64 {
    let annulled = if index + 1 == block.words.len() { block.annulled } else { 0 };
    block.executions.saturating_sub(annulled)
}

/// A program or library in memory.
#[derive(Clone, Debug)]
pub struct Image {
    /// The name for people: the last part of its path.
    pub name: String,
    /// The image's code and functions.
    pub program: Program,
    /// The number that is added to the file's addresses.
    pub bias: u64,
}

/// A function of an image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The image's name.
    pub library: String,
    /// The symbol.
    pub function: String,
}

/// Counts how often functions were entered, which is how often their first instructions were executed.
///
/// `pattern` is a glob on a function's name, or on `library:name`. A function with several names is counted under
/// the first that matches. A function that jumps back to its first instruction is counted each time, as it was by
/// DTrace, which put its probe there.
#[must_use]
pub fn entries<'a>(
    blocks: impl IntoIterator<Item = Executed<'a>>,
    images: &[Image],
    pattern: &str,
) -> BTreeMap<Name, u64> {
    let mut found = BTreeMap::new();
    for block in blocks {
        let length = 4 * block.words.len() as u64;
        for image in images {
            let start = block.start.wrapping_sub(image.bias);
            let mut last = None;
            for function in image.program.beginning_in(start, start.wrapping_add(length)) {
                if last == Some(function.address) || !matches(pattern, &image.name, &function.name) {
                    continue;
                }
                last = Some(function.address);
                let count = executions(&block, (function.address - start) as usize / 4);
                let name = Name { library: image.name.clone(), function: function.name.clone() };
                *found.entry(name).or_default() += count;
            }
        }
    }
    found.retain(|_, count| *count > 0);
    found
}

/// True if a glob matches a function's name, alone or with its library's.
fn matches(pattern: &str, library: &str, function: &str) -> bool {
    match pattern.split_once(':') {
        Some((of_library, of_function)) => glob(of_library, library) && glob(of_function, function),
        None => glob(pattern, function),
    }
}

/// True if a pattern with `*` and `?` matches all of a text.
#[must_use]
pub fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // The place of the last star, and the end of the text that it has taken so far.
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match &mut star {
                Some((at, taken)) => {
                    *taken += 1;
                    (p, t) = (*at + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// A function's crypto instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// The number of them in its code.
    pub present: u64,
    /// The number of these that were executed.
    pub reached: u64,
    /// The number of executions.
    pub executions: u64,
    /// The names of those that were never executed.
    pub unreached: BTreeMap<&'static str, u64>,
}

/// The crypto instructions in the images' functions, executed or not.
///
/// Words outside of functions are left out, because they belong to tables.
#[must_use]
pub fn crypto_paths<'a>(
    blocks: impl IntoIterator<Item = Executed<'a>>,
    images: &[Image],
) -> BTreeMap<Name, Paths> {
    let executed = crypto_executions(blocks);
    let mut found = BTreeMap::<Name, Paths>::new();
    for image in images {
        for section in &image.program.sections {
            for (address, &word) in (section.address..).step_by(4).zip(&section.words) {
                let Some(row) = isa::find(word).filter(|row| row.class.is_crypto()) else { continue };
                let Some(function) = image.program.function_at(address) else { continue };
                let name = Name { library: image.name.clone(), function: function.name.clone() };
                let paths = found.entry(name).or_default();
                let executions = executed.get(&address.wrapping_add(image.bias)).copied().unwrap_or(0);
                paths.present += 1;
                paths.executions += executions;
                match executions {
                    0 => *paths.unreached.entry(row.name).or_default() += 1,
                    _ => paths.reached += 1,
                }
            }
        }
    }
    found
}

/// Counts how often crypto instructions were executed, by their addresses.
fn crypto_executions<'a>(blocks: impl IntoIterator<Item = Executed<'a>>) -> HashMap<u64, u64> {
    let mut executed = HashMap::new();
    for block in blocks {
        for (index, &word) in block.words.iter().enumerate() {
            if isa::find(word).is_some_and(|row| row.class.is_crypto()) {
                *executed.entry(block.start + 4 * index as u64).or_default() += executions(&block, index);
            }
        }
    }
    executed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Code, Function};

    const ADD: u32 = 0x8400_4003;

    fn image(name: &str, bias: u64) -> Image {
        let function = |name: &str, address, size| Function { name: name.into(), address, size };
        let functions =
            vec![function("main", 0x100, 16), function("twice", 0x110, 8), function("twice_too", 0x110, 8)];
        let code = Code { name: ".text".into(), address: 0x100, words: vec![ADD; 6] };
        Image {
            name: name.into(),
            program: Program { sections: vec![code], functions, ..Program::default() },
            bias,
        }
    }

    fn executed(start: u64, words: &[u32], executions: u64, annulled: u64) -> Executed<'_> {
        Executed { start, words, executions, annulled }
    }

    #[test]
    fn words_count_as_often_as_their_block_but_for_an_annulled_last_one() {
        let blocks = [executed(0x100, &[ADD, ADD], 5, 2), executed(0x200, &[ADD], 1, 1)];
        let counts = Counts::of(blocks);
        assert_eq!((counts.named("add"), counts.total()), (8, 8));
        assert_eq!(counts.classes(), BTreeMap::from([(Class::Integer, 8)]));
        let mut twice = counts.clone();
        twice += &counts;
        assert_eq!(twice.of_class(Class::Integer), 16);
    }

    #[test]
    fn entries_are_by_library_and_under_one_name() {
        let images = [image("program", 0), image("libc.so.6", 0x10000)];
        let blocks = || [executed(0x100, &[ADD; 6], 3, 1), executed(0x10110, &[ADD], 7, 0)];
        let count = |pattern: &str| -> Vec<(String, u64)> {
            let entries = entries(blocks(), &images, pattern).into_iter();
            entries.map(|(name, count)| (format!("{}:{}", name.library, name.function), count)).collect()
        };
        let own = |name: &str, count| (format!("program:{name}"), count);
        let twice = ("libc.so.6:twice".to_owned(), 7);
        assert_eq!(count("*"), [twice.clone(), own("main", 3), own("twice", 3)]);
        assert_eq!(count("lib*:tw?ce"), [twice]);
        assert_eq!(count("*_too"), [("libc.so.6:twice_too".to_owned(), 7), own("twice_too", 3)]);
        assert_eq!(count("none"), []);
    }

    #[test]
    fn globs_match_all_of_a_text() {
        for (pattern, text) in
            [("*", ""), ("a*b*c", "aXbbYc"), ("a?c", "abc"), ("*_t4_*", "aes_t4_cbc"), ("", "")]
        {
            assert!(glob(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("a?c", "ac"), ("*b", "abc"), ("", "a"), ("a*b*c", "acb")] {
            assert!(!glob(pattern, text), "{pattern} {text}");
        }
    }
}
