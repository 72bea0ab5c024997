//! Room that is cleared.

/// The work of one call, which is cleared when it is over.
pub(crate) struct Work<T: Copy> {
    values: Vec<T>,
    zero: T,
}

impl<T: Copy> Work<T> {
    pub(crate) fn new(zero: T, len: usize) -> Self {
        Work { values: vec![zero; len], zero }
    }
}

impl<T: Copy> std::ops::Deref for Work<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T: Copy> std::ops::DerefMut for Work<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

impl<T: Copy> Drop for Work<T> {
    fn drop(&mut self) {
        wipe(&mut self.values, self.zero);
    }
}

/// Clears values in whole vectors.
pub(crate) fn wipe<T: Copy>(values: &mut [T], zero: T) {
    values.fill(zero);
    zeroize::optimization_barrier(&*values);
}
