//! The images that a process has mapped, and their addresses.

use std::sync::Arc;

use super::image::Image;

/// A mapped image.
#[derive(Clone, Debug)]
pub struct Module {
    /// The first address.
    pub start: u64,
    /// The address behind its last byte.
    pub end: u64,
    /// The number to add to the image's addresses, from [`Image::bias`].
    pub bias: u64,
    /// The name that people know it by: the file's name.
    pub name: Arc<str>,
    /// The contents.
    pub image: Arc<Image>,
}

/// The modules of a process.
#[derive(Clone, Debug, Default)]
pub struct Modules {
    list: Vec<Module>,
}

impl Modules {
    /// Inserts a module. Any module that it overlaps is removed.
    pub fn insert(&mut self, module: Module) {
        self.list.retain(|old| old.end <= module.start || module.end <= old.start);
        let at = self.list.partition_point(|old| old.start < module.start);
        self.list.insert(at, module);
    }

    /// Returns the module that holds an address.
    pub fn at(&self, address: u64) -> Option<&Module> {
        let next = self.list.partition_point(|module| module.start <= address);
        self.list[..next].last().filter(|module| address < module.end)
    }

    /// Returns the modules, ordered by address.
    pub fn iter(&self) -> impl Iterator<Item = &Module> {
        self.list.iter()
    }
}
