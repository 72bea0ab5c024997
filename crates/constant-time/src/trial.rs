//! One operation of a row on secrets.

use millstream_engines::Kernel;

/// The bytes behind each object's data, for its tag or digest and, in the last byte, a verdict.
pub const TAIL: usize = 65;

/// One object of a trial.
#[derive(Debug)]
pub struct Part<'a> {
    /// The object.
    pub data: &'a mut [u8],
    /// Room for the operation's results beside the data.
    pub tail: &'a mut [u8; TAIL],
}

impl Part<'_> {
    /// Keeps a tag or a digest.
    pub(crate) fn put(&mut self, tag: &[u8]) {
        self.tail[..tag.len()].copy_from_slice(tag);
    }

    /// Keeps a verdict on authenticity. There is no branch, because the verdict may be undefined.
    pub(crate) fn verdict<T, E>(&mut self, result: &Result<T, E>) {
        self.tail[TAIL - 1] = u8::from(result.is_ok());
    }
}

/// The operation on the keys and the objects.
pub(crate) type Run = Box<dyn FnMut(&[u8], &mut [Part<'_>])>;

/// An operation of a row on secrets: keys and objects in one buffer, changed in place.
pub struct Trial {
    algorithm: &'static str,
    kernel: &'static Kernel,
    what: String,
    keys: usize,
    parts: Vec<usize>,
    rejects: bool,
    prepare: Option<Run>,
    run: Run,
}

impl Trial {
    /// Makes a trial with `keys` bytes of keys and an object of each of the lengths.
    pub(crate) fn new(
        algorithm: &'static str,
        kernel: &'static Kernel,
        what: impl Into<String>,
        keys: usize,
        parts: &[usize],
        run: impl FnMut(&[u8], &mut [Part<'_>]) + 'static,
    ) -> Trial {
        let (what, parts) = (what.into(), parts.to_vec());
        let run = Box::new(run);
        Trial { algorithm, kernel, what, keys, parts, rejects: false, prepare: None, run }
    }

    /// Says that the operation draws public values until they fit, from a seed that the secrets give: its time tells of what is public.
    #[must_use]
    pub(crate) fn rejecting(mut self) -> Trial {
        self.rejects = true;
        self
    }

    /// Adds a preparation of the buffer that is not judged, such as sealing an object that is then opened.
    #[must_use]
    pub(crate) fn prepared(mut self, prepare: impl FnMut(&[u8], &mut [Part<'_>]) + 'static) -> Trial {
        self.prepare = Some(Box::new(prepare));
        self
    }

    /// Returns the algorithm's name.
    pub fn algorithm(&self) -> &'static str {
        self.algorithm
    }

    /// Returns the kernel.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// Returns the operation, with the key's length.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Returns true where equal times can't be expected: the operation draws public values until they fit.
    pub fn rejects(&self) -> bool {
        self.rejects
    }

    /// Returns the bytes of the buffer. All of them are secret.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.keys + self.parts.iter().map(|len| len + TAIL).sum::<usize>()
    }

    /// Prepares the buffer before it becomes secret.
    ///
    /// # Panics
    /// When the buffer is not [`Trial::len`] bytes.
    pub fn prepare(&mut self, buffer: &mut [u8]) {
        if let Some(prepare) = &mut self.prepare {
            act(self.keys, &self.parts, prepare, buffer);
        }
    }

    /// Performs the operation that is judged.
    ///
    /// # Panics
    /// When the buffer is not [`Trial::len`] bytes.
    pub fn run(&mut self, buffer: &mut [u8]) {
        act(self.keys, &self.parts, &mut self.run, buffer);
    }
}

fn act(keys: usize, lens: &[usize], action: &mut Run, buffer: &mut [u8]) {
    let (keys, mut rest) = buffer.split_at_mut(keys);
    let mut parts = Vec::with_capacity(lens.len());
    for len in lens {
        let (data, more) = rest.split_at_mut(*len);
        let (tail, more) = more.split_first_chunk_mut().expect("as long as the trial says");
        parts.push(Part { data, tail });
        rest = more;
    }
    assert!(rest.is_empty(), "the buffer is longer than the trial says");
    action(keys, &mut parts);
}
