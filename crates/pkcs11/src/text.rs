//! The bytes of messages, which may be secret and long.

use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use zeroize::{Zeroizing, optimization_barrier};

/// The bytes of a message. Dropping them zeroes all memory that they were in, by wide stores: `zeroize` writes one byte at a time, and takes longer over
/// sixteen kilobytes than AES-GCM does.
#[derive(Clone, Default)]
pub struct Text(Vec<u8>);

impl Text {
    /// Makes an empty one, with room for so many bytes.
    pub fn with_room(len: usize) -> Self {
        Text(Vec::with_capacity(len))
    }

    /// Makes one of so many zeros.
    pub fn zeros(len: usize) -> Self {
        Text(vec![0; len])
    }

    /// Adds bytes at the end. Where there is no room, the old place is zeroed.
    pub fn add(&mut self, bytes: &[u8]) {
        self.make_room(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    /// Adds a byte so many times.
    pub fn add_times(&mut self, times: usize, byte: u8) {
        self.make_room(times);
        self.0.resize(self.0.len() + times, byte);
    }

    fn make_room(&mut self, more: usize) {
        if more > self.0.capacity() - self.0.len() {
            // Twice the room, so that many small parts are not moved again and again.
            let mut roomier = Text::with_room((self.0.len() + more).max(2 * self.0.len()));
            roomier.0.extend_from_slice(&self.0);
            *self = roomier;
        }
    }

    /// Takes off what comes after so many bytes.
    pub fn split_off(&mut self, at: usize) -> Text {
        let rest = Text(self.0[at..].to_vec());
        self.0.truncate(at);
        rest
    }

    /// Keeps so many bytes.
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Makes a secret of the bytes, which is short.
    pub fn into_secret(mut self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(std::mem::take(&mut self.0))
    }

    /// Takes away so many bytes at the beginning.
    pub fn drop_first(&mut self, len: usize) {
        if len > 0 {
            self.0.drain(..len);
        }
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Text(bytes.to_vec())
    }
}

impl From<Zeroizing<Vec<u8>>> for Text {
    fn from(mut secret: Zeroizing<Vec<u8>>) -> Self {
        Text(std::mem::take(&mut *secret))
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Text {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        self.0.clear();
        let memory = self.0.spare_capacity_mut();
        memory.fill(MaybeUninit::new(0));
        optimization_barrier(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_in_order_however_they_come() {
        let mut text = Text::default();
        let mut expected = Vec::new();
        for len in 0..100 {
            let part: Vec<u8> = (0..len).map(|i| (i * 7 + len) as u8).collect();
            text.add(&part);
            expected.extend(part);
        }
        text.add_times(3, 9);
        expected.extend([9; 3]);
        assert_eq!(text[..], expected);
        let rest = text.split_off(1000);
        assert_eq!([&text[..], &rest].concat(), expected);
        text.drop_first(0);
        text.drop_first(10);
        text.truncate(100);
        assert_eq!(text[..], expected[10..110]);
        assert_eq!(Text::from(Zeroizing::new(vec![5; 4]))[..], [5; 4]);
        assert_eq!(Text::from(&expected[..7]).clone()[..], expected[..7]);
    }
}
