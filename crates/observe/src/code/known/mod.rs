//! Which library is at work, and what of its work is none that anybody asked about. Labels for reports: never a proof.

pub(super) mod library;
mod noise;

use super::image::Image;
pub use library::{Library, library_of};
pub use noise::{Noise, is_field_arithmetic, noise, noise_among};

/// The libraries that an image says it is or holds. `file` is the file's name, without directories.
pub fn libraries(file: &str, image: &Image) -> Vec<Library> {
    let mut found = image.libraries.clone();
    let by_name = library::FILES.iter().find(|(start, _)| file.starts_with(start));
    if let Some((_, name)) = by_name.filter(|_| found.is_empty()) {
        found.push(Library { name, version: None });
    }
    found
}
