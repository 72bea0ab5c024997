//! The objects in flight: their memory, and the rows' view of it.

use millstream_engines::InOut;
use millstream_testkit::Random;

use super::work::{Keys, Sizes, Work};
use crate::case::Placed;

/// Room for the longest digest.
pub type Tag = [u8; 64];

/// One object.
pub struct Object<'a> {
    pub data: Data<'a>,
    /// The initialisation vector, nonce or counter block, in the first bytes.
    pub iv: [u8; 16],
    /// The number of its key.
    pub key: usize,
}

/// An object's bytes.
pub enum Data<'a> {
    InPlace(&'a mut [u8]),
    /// For opened objects, because an object that was opened in place could not be opened again.
    Apart(&'a [u8], &'a mut [u8]),
}

impl Data<'_> {
    #[inline(always)]
    pub fn input(&self) -> &[u8] {
        match self {
            Data::InPlace(data) => data,
            Data::Apart(input, _) => input,
        }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.input().len()
    }

    #[inline(always)]
    pub fn pass(&mut self) -> InOut<'_> {
        match self {
            Data::InPlace(data) => InOut::in_place(data),
            Data::Apart(input, output) => InOut::separate(input, output).expect("of one length"),
        }
    }

    /// Returns where to read, where to write, and the number of bytes.
    #[inline(always)]
    pub fn parts(&mut self) -> (*const u8, *mut u8, usize) {
        match self {
            Data::InPlace(data) => (data.as_ptr(), data.as_mut_ptr(), data.len()),
            Data::Apart(input, output) => (input.as_ptr(), output.as_mut_ptr(), input.len()),
        }
    }

    /// Returns the output.
    pub fn output(&self) -> &[u8] {
        match self {
            Data::InPlace(data) => data,
            Data::Apart(_, output) => output,
        }
    }

    /// Copies an input in place, or clears the output.
    fn refill(&mut self, input: &[u8]) {
        match self {
            Data::InPlace(data) => data.copy_from_slice(input),
            Data::Apart(_, output) => output.fill(0),
        }
    }
}

/// All objects in flight. Tags lie apart, so that jobs can borrow the objects while tags are written.
pub struct Objects<'a> {
    pub list: Vec<Object<'a>>,
    /// The results beside the data; for `open` the expected tags, which stay.
    pub tags: Vec<Tag>,
}

/// The memory of a cell.
///
/// Objects begin on cache lines (or a chosen number of bytes after), and one line further apart than they are
/// long. Without that line, objects of 4 KB would all compete for the same few lines of the first-level
/// cache.
pub struct Memory {
    work: Work,
    input: Placed,
    output: Placed,
    original: Vec<Vec<u8>>,
    lens: Vec<usize>,
    keys: Keys,
    tags: Vec<Tag>,
}

const LINE: usize = 64;

fn stride(len: usize) -> usize {
    len.next_multiple_of(LINE) + LINE
}

impl Memory {
    /// Makes random objects; for `open`, sealed ones.
    pub fn new(work: Work, sizes: Sizes, depth: usize, keys: Keys, offset: usize) -> Memory {
        let lens = sizes.of(depth);
        let total = lens.iter().map(|&len| stride(len)).sum();
        let apart = if work.opens() { total } else { 0 };
        let object = |i| {
            let mut object = Random::new(0x4000 + i as u64).bytes(lens[i]);
            work.cipher_case().shape(&mut object);
            object
        };
        let original = (0..depth).map(object).collect();
        let (input, output) = (Placed::new(total, offset), Placed::new(apart, LINE + offset));
        let mut memory = Memory { work, input, output, original, lens, keys, tags: vec![[0; 64]; depth] };
        if work.opens() {
            memory.seal();
        }
        memory
    }

    fn seal(&mut self) {
        let (work, keys) = (self.work, self.keys);
        for (i, object) in self.original.iter_mut().enumerate() {
            let key = work.key(i % keys.count(self.lens.len()));
            super::rows::ours::seal(work, &key, &work.iv(i), object, &mut self.tags[i]);
        }
        for (place, object) in places(self.input.bytes_mut(), &self.lens).into_iter().zip(&self.original) {
            place.copy_from_slice(object);
        }
    }

    /// Returns the objects as rows see them, and their original contents.
    pub fn objects(&mut self) -> (Objects<'_>, Originals<'_>) {
        let (work, count) = (self.work, self.keys.count(self.lens.len()));
        let inputs = places(self.input.bytes_mut(), &self.lens);
        let data: Vec<Data<'_>> = if work.opens() {
            let outputs = places(self.output.bytes_mut(), &self.lens);
            inputs.into_iter().zip(outputs).map(|(input, output)| Data::Apart(input, output)).collect()
        } else {
            inputs.into_iter().map(Data::InPlace).collect()
        };
        let object = |(i, data)| Object { data, iv: work.iv(i), key: i % count };
        let list = data.into_iter().enumerate().map(object).collect();
        (
            Objects { list, tags: self.tags.clone() },
            Originals { work, inputs: &self.original, tags: &self.tags },
        )
    }
}

/// Cuts a memory into objects.
fn places<'a>(mut memory: &'a mut [u8], lens: &[usize]) -> Vec<&'a mut [u8]> {
    let mut places = Vec::with_capacity(lens.len());
    for &len in lens {
        let (place, rest) = memory.split_at_mut(stride(len));
        places.push(&mut place[..len]);
        memory = rest;
    }
    places
}

/// The contents of the objects before any row touched them.
pub struct Originals<'a> {
    work: Work,
    inputs: &'a [Vec<u8>],
    tags: &'a [Tag],
}

impl Originals<'_> {
    /// Restores everything.
    pub fn restore(&self, objects: &mut Objects<'_>) {
        for (object, input) in objects.list.iter_mut().zip(self.inputs) {
            object.data.refill(input);
        }
        objects.tags.copy_from_slice(self.tags);
    }

    /// Returns an object's output and its tag.
    pub fn result<'o>(&self, objects: &'o Objects<'_>, object: usize) -> (&'o [u8], &'o [u8]) {
        let output = if self.work.has_output() { objects.list[object].data.output() } else { &[] };
        (output, &objects.tags[object][..self.work.tag_len()])
    }
}
