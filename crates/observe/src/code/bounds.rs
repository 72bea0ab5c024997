//! The bounds of functions, put together from every source that knows some.

use std::ops::Range;

use super::elf::Symbol;

/// The source that says where a function begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bounds {
    /// Proven code calls it or takes its address, and no table mentions it. The function ends at the latest
    /// where the next one begins.
    Reached,
    /// A symbol without a size. The function ends at the latest where the next one begins.
    Start,
    /// An entry of the unwinding tables.
    Frame,
    /// An entry of Go's function table.
    GoTable,
    /// A symbol with a size.
    Symbol,
    /// Code made at run time.
    Jit,
}

/// A function, or a part of one that the compiler put elsewhere.
#[derive(Clone, Debug)]
pub struct Function {
    /// The address of its first instruction.
    pub start: u64,
    /// The address behind its last instruction.
    pub end: u64,
    /// The symbol, as the table spells it.
    pub name: Option<Box<str>>,
    /// The source of `start` and `end`.
    pub bounds: Bounds,
    /// True when an instruction provably begins at `start`, so that a breakpoint may stand there. It is
    /// determined only for functions that hold an instruction of a class, and `false` for all others.
    pub entry_proven: bool,
}

impl Function {
    /// Returns true when no source gives the end, so that `end` is only an upper bound.
    pub fn is_endless(&self) -> bool {
        matches!(self.bounds, Bounds::Reached | Bounds::Start)
    }
}

/// A stretch of code, and the innermost function that holds it.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    end: u64,
    function: usize,
}

/// The functions, ordered by their start, with an index from addresses to them.
#[derive(Debug, Default)]
pub(super) struct Functions {
    pub list: Vec<Function>,
    pieces: Vec<Piece>,
}

/// A function as one source describes it, before the sources are merged.
pub(super) struct Found {
    pub range: Range<u64>,
    pub bounds: Bounds,
    pub name: Option<Box<str>>,
}

/// Splits symbols into functions and labels. A label may stand on data, so it gives a name and nothing else.
/// Among several names for one function, exported ones and those without leading underscores come first.
pub(super) fn of_symbols(mut symbols: Vec<Symbol>) -> (Vec<Found>, Vec<Symbol>) {
    symbols.sort_by_cached_key(|symbol| {
        let decoration = symbol.name.len() - symbol.name.trim_start_matches('_').len();
        (symbol.address, symbol.is_local, decoration, symbol.name.len())
    });
    let (functions, labels): (Vec<_>, Vec<_>) = symbols.into_iter().partition(Symbol::is_function);
    let functions = functions.into_iter().map(|symbol| Found {
        range: symbol.address..symbol.address.saturating_add(symbol.size),
        bounds: if symbol.size == 0 { Bounds::Start } else { Bounds::Symbol },
        name: Some(symbol.name),
    });
    let labels = labels.into_iter().filter(Symbol::is_label).collect();
    (functions.collect(), labels)
}

impl Functions {
    /// Merges what the sources found into one function for each start, all inside `executable`.
    pub fn new(mut found: Vec<Found>, labels: Vec<Symbol>, executable: &[Range<u64>]) -> Functions {
        found.retain_mut(|found| match around(executable, found.range.start) {
            Some(code) => {
                found.range.end = found.range.end.min(code.end);
                true
            }
            None => false,
        });
        found.sort_by(|a, b| {
            let key = |found: &Found| (found.range.start, std::cmp::Reverse((found.bounds, found.range.end)));
            key(a).cmp(&key(b))
        });
        let mut list: Vec<Function> = Vec::with_capacity(found.len());
        for found in found {
            match list.last_mut().filter(|last| last.start == found.range.start) {
                Some(last) => {
                    last.end = last.end.max(found.range.end);
                    last.name = last.name.take().or(found.name);
                }
                None => list.push(Function {
                    start: found.range.start,
                    end: found.range.end,
                    name: found.name,
                    bounds: found.bounds,
                    entry_proven: false,
                }),
            }
        }
        end_the_endless(&mut list, executable);
        list.retain(|function| function.start < function.end);
        name_by_labels(&mut list, labels);
        let pieces = pieces_of(&list);
        Functions { list, pieces }
    }

    /// Adds functions whose start alone is known.
    pub fn add(&mut self, starts: impl IntoIterator<Item = u64>, executable: &[Range<u64>]) {
        // The new starts may cut functions with unknown ends shorter, so all of these ends are computed
        // again.
        self.list
            .iter_mut()
            .filter(|function| function.is_endless())
            .for_each(|function| function.end = function.start);
        self.list.extend(starts.into_iter().map(|start| Function {
            start,
            end: start,
            name: None,
            bounds: Bounds::Reached,
            entry_proven: false,
        }));
        self.list.sort_by_key(|function| function.start);
        self.list.dedup_by_key(|function| function.start);
        end_the_endless(&mut self.list, executable);
        self.list.retain(|function| function.start < function.end);
        self.pieces = pieces_of(&self.list);
    }

    /// Removes the functions that `add` added.
    pub fn forget_reached(&mut self, executable: &[Range<u64>]) {
        self.list.retain(|function| function.bounds != Bounds::Reached);
        self.add([], executable);
    }

    /// Returns the index of the innermost function that holds an address.
    pub fn at(&self, address: u64) -> Option<usize> {
        let next = self.pieces.partition_point(|piece| piece.start <= address);
        let piece = self.pieces[..next].last()?;
        (address < piece.end).then_some(piece.function)
    }

    /// Returns true when a function begins at `address`.
    pub fn starts_at(&self, address: u64) -> bool {
        self.list.binary_search_by_key(&address, |function| function.start).is_ok()
    }

    /// Returns the stretches that overlapping functions cover without a hole, each with the range of its
    /// functions.
    pub fn regions(&self) -> Vec<(Range<u64>, Range<usize>)> {
        let mut regions: Vec<(Range<u64>, Range<usize>)> = Vec::new();
        for (index, function) in self.list.iter().enumerate() {
            match regions.last_mut().filter(|(range, _)| function.start < range.end) {
                Some((range, members)) => {
                    range.end = range.end.max(function.end);
                    members.end = index + 1;
                }
                None => regions.push((function.start..function.end, index..index + 1)),
            }
        }
        regions
    }
}

pub(super) fn around(ranges: &[Range<u64>], address: u64) -> Option<&Range<u64>> {
    let next = ranges.partition_point(|range| range.start <= address);
    ranges[..next].last().filter(|range| address < range.end)
}

/// Ends each function of unknown length where the next one begins or the code ends.
fn end_the_endless(list: &mut [Function], executable: &[Range<u64>]) {
    for index in 0..list.len() {
        if list[index].end == list[index].start {
            let next = list.get(index + 1).map_or(u64::MAX, |next| next.start);
            let code = around(executable, list[index].start).map_or(0, |code| code.end);
            list[index].end = next.min(code);
        }
    }
}

fn name_by_labels(list: &mut [Function], labels: Vec<Symbol>) {
    for label in labels {
        if let Ok(index) = list.binary_search_by_key(&label.address, |function| function.start) {
            let function = &mut list[index];
            if function.name.is_none() {
                function.name = Some(label.name);
            }
        }
    }
}

/// Cuts functions, some of which may lie in others, into pieces that do not overlap.
fn pieces_of(list: &[Function]) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(list.len());
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    let mut put = |start: u64, end: u64, function: usize| {
        if start < end {
            pieces.push(Piece { start, end, function });
        }
    };
    for (index, function) in list.iter().enumerate() {
        // Functions that end before this one begins are finished, from the innermost outwards.
        while let Some(inner) = open.pop_if(|inner| list[*inner].end <= function.start) {
            put(at.max(list[inner].start), list[inner].end, inner);
            at = at.max(list[inner].end);
        }
        if let Some(outer) = open.last() {
            put(at.max(list[*outer].start), function.start, *outer);
        }
        at = at.max(function.start);
        open.push(index);
    }
    while let Some(inner) = open.pop() {
        put(at.max(list[inner].start), list[inner].end, inner);
        at = at.max(list[inner].end);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(start: u64, end: u64, bounds: Bounds, name: &str) -> Found {
        Found { range: start..end, bounds, name: (!name.is_empty()).then(|| name.into()) }
    }

    #[test]
    fn the_innermost_function_holds_an_address() {
        let all = vec![
            found(0, 100, Bounds::Frame, ""),
            found(40, 60, Bounds::Symbol, "inner"),
            found(50, 55, Bounds::Symbol, "innermost"),
            found(0, 90, Bounds::Symbol, "outer"),
            found(200, 200, Bounds::Start, "endless"),
            found(220, 240, Bounds::Frame, ""),
            found(900, 950, Bounds::Symbol, "outside"),
        ];
        let functions = Functions::new(all, Vec::new(), std::slice::from_ref(&(0..300)));
        let name = |address| functions.at(address).and_then(|index| functions.list[index].name.as_deref());
        assert_eq!(name(0), Some("outer"));
        assert_eq!(name(45), Some("inner"));
        assert_eq!(name(52), Some("innermost"));
        assert_eq!(name(57), Some("inner"));
        assert_eq!(name(95), Some("outer"));
        assert_eq!(functions.at(150), None);
        assert_eq!(name(210), Some("endless"));
        assert_eq!(functions.list[functions.at(219).unwrap()].end, 220);
        assert_eq!(functions.at(920), None);
        let regions: Vec<_> = functions.regions().into_iter().map(|(range, _)| range).collect();
        assert_eq!(regions, [0..100, 200..220, 220..240]);
    }

    #[test]
    fn functions_that_cross_are_cut() {
        let all = vec![found(0, 50, Bounds::Symbol, "a"), found(40, 80, Bounds::Symbol, "b")];
        let functions = Functions::new(all, Vec::new(), std::slice::from_ref(&(0..100)));
        assert_eq!([10, 45, 60].map(|address| functions.at(address).unwrap()), [0, 1, 1]);
    }
}
