//! The objects of one cell and their memory, which all ways of computing them share.

use std::ops::Range;

use super::algorithm::{Case, fill};
use super::sizes::Size;

const LINE: usize = 64;
const PAGE: usize = 4096;

/// The bytes that results are overwritten with.
pub const FORGOTTEN: [u8; 16] = [0xee; 16];

/// The input of one operation, and the place of its result.
pub struct Io<'a> {
    /// The initialisation vector, nonce or tweak. Bytes that the algorithm doesn't need are unused.
    pub iv: &'a [u8; 16],
    /// Data, followed by the tag where one is verified.
    pub input: &'a [u8],
    /// Room for data, followed by room for the tag where one is made.
    pub result: &'a mut [u8],
}

/// Objects beside each other.
///
/// Each begins on a cache line. A line between one and the next keeps objects of whole pages from all falling
/// on the same sets of the cache. Results begin half a page further than inputs, so that a store to a result
/// does not look like a store to the input that is loaded next.
pub struct Objects {
    spans: Vec<Span>,
    input: Vec<u8>,
    result: Vec<u8>,
}

struct Span {
    iv: [u8; 16],
    input: Range<usize>,
    result: Range<usize>,
}

impl Objects {
    /// Makes `count` objects with random inputs.
    pub fn new(case: &Case, size: Size, count: usize) -> Objects {
        let lengths = size.pattern(case.algorithm.block_bytes()).into_iter().cycle().take(count);
        let mut spans = Vec::with_capacity(count);
        let (mut input_end, mut result_end) = (LINE, PAGE / 2 + LINE);
        for (i, bytes) in lengths.enumerate() {
            let mut iv = [0; 16];
            fill(3 + i as u64, &mut iv);
            let input = input_end..input_end + case.input_bytes(bytes);
            let result = result_end..result_end + case.result_bytes(bytes);
            (input_end, result_end) = (after(&input), after(&result));
            spans.push(Span { iv, input, result });
        }
        // The spans are counted from the beginning of a page in memory.
        let (mut input, result) = (vec![0; input_end + PAGE], vec![0; result_end + PAGE]);
        fill(0, &mut input);
        let (to_page, result_to_page) =
            (input.as_ptr().align_offset(PAGE), result.as_ptr().align_offset(PAGE));
        for span in &mut spans {
            span.input = shifted(&span.input, to_page);
            span.result = shifted(&span.result, result_to_page);
        }
        Objects { spans, input, result }
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns one of them.
    #[inline(always)]
    pub fn io(&mut self, i: usize) -> Io<'_> {
        let span = &self.spans[i];
        Io {
            iv: &span.iv,
            input: &self.input[span.input.clone()],
            result: &mut self.result[span.result.clone()],
        }
    }

    /// Returns those of `which`, so that several can be held at the same time.
    #[inline(always)]
    pub fn ios(&mut self, which: Range<usize>) -> impl Iterator<Item = Io<'_>> {
        let (input, mut rest, mut at) = (&self.input, &mut self.result[..], 0);
        self.spans[which].iter().map(move |span| {
            let from_here = std::mem::take(&mut rest).split_at_mut(span.result.start - at).1;
            let (result, after) = from_here.split_at_mut(span.result.len());
            (rest, at) = (after, span.result.end);
            Io { iv: &span.iv, input: &input[span.input.clone()], result }
        })
    }

    /// Returns the result of one of them.
    pub fn result(&self, i: usize) -> &[u8] {
        &self.result[self.spans[i].result.clone()]
    }

    /// Returns the initialisation vector of one of them.
    pub fn iv(&self, i: usize) -> &[u8; 16] {
        &self.spans[i].iv
    }

    /// Returns the input of one of them.
    pub fn input(&self, i: usize) -> &[u8] {
        &self.input[self.spans[i].input.clone()]
    }

    /// Takes the results of other objects, which were computed in the other direction, as inputs.
    pub fn take_inputs(&mut self, from: &Objects) {
        for (i, span) in self.spans.iter().enumerate() {
            self.input[span.input.clone()].copy_from_slice(from.result(i));
        }
    }

    /// Overwrites the results, so that none stays from before.
    pub fn forget_results(&mut self) {
        self.result.fill(FORGOTTEN[0]);
    }
}

fn after(span: &Range<usize>) -> usize {
    span.end.next_multiple_of(LINE) + LINE
}

fn shifted(span: &Range<usize>, by: usize) -> Range<usize> {
    span.start + by..span.end + by
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::algorithm::Algorithm;
    use millstream_engines::modes::Direction;

    fn case(direction: Direction) -> Case {
        let name = "aes-128-gcm";
        Case { name: name.to_owned(), algorithm: Algorithm::from_name(name).unwrap(), direction }
    }

    #[test]
    fn objects_begin_on_lines_of_their_own() {
        let mut objects = Objects::new(&case(Direction::Encrypt), Size::Imix, 13);
        assert_eq!(objects.len(), 13);
        let starts: Vec<usize> = (0..13).map(|i| objects.io(i).input.as_ptr().addr()).collect();
        assert!(starts.iter().all(|start| start % LINE == 0) && starts.is_sorted());
        assert_eq!(objects.io(6).input.len(), 1500);
        assert_eq!(objects.io(6).result.len(), 1516);
        let iv = *objects.io(1).iv;
        assert_ne!(&iv, objects.io(2).iv);
    }

    #[test]
    fn several_at_once_are_the_same_as_one_after_another() {
        let mut objects = Objects::new(&case(Direction::Encrypt), Size::Imix, 24);
        let several: Vec<Io<'_>> = objects.ios(3..20).collect();
        for (i, io) in several.into_iter().enumerate() {
            io.result.fill(i as u8 + 1);
        }
        for i in 3..20 {
            assert!(objects.io(i).result.iter().all(|&byte| byte == i as u8 - 2));
        }
    }

    #[test]
    fn results_become_inputs_with_their_tags() {
        let mut sealed = Objects::new(&case(Direction::Encrypt), Size::Bytes(7), 2);
        sealed.io(1).result.fill(9);
        let mut opened = Objects::new(&case(Direction::Decrypt), Size::Bytes(7), 2);
        opened.take_inputs(&sealed);
        let io = opened.io(1);
        assert_eq!((io.input, io.result.len()), (&[9; 23][..], 7));
    }
}
