//! The images that a process has mapped, and where.

use std::sync::Arc;

use super::image::Image;

/// An image, mapped.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its first address.
    pub start: u64,
    /// Behind its last.
    pub end: u64,
    /// What to add to the image's addresses: [`Image::bias`].
    pub bias: u64,
    /// What people call it: the file's name.
    pub name: Arc<str>,
    /// What is in it.
    pub image: Arc<Image>,
}

/// The modules of a process.
#[derive(Clone, Debug, Default)]
pub struct Modules {
    list: Vec<Module>,
}

impl Modules {
    /// Puts one in. What it overlaps is there no longer.
    pub fn insert(&mut self, module: Module) {
        self.list.retain(|old| old.end <= module.start || module.end <= old.start);
        let at = self.list.partition_point(|old| old.start < module.start);
        self.list.insert(at, module);
    }

    /// That which holds an address.
    pub fn at(&self, address: u64) -> Option<&Module> {
        let next = self.list.partition_point(|module| module.start <= address);
        self.list[..next].last().filter(|module| address < module.end)
    }

    /// They themselves, ordered by address.
    pub fn iter(&self) -> impl Iterator<Item = &Module> {
        self.list.iter()
    }
}
