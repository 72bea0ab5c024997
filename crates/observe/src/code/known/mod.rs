//! Names the library at work, and tells work that nobody asked about from the rest. These are labels for
//! reports, never a proof.

pub(super) mod library;
mod noise;

use super::image::Image;
pub use library::{Library, library_of};
pub use noise::{Noise, is_field_arithmetic, noise, noise_among};

/// Returns the libraries that an image is or contains. `file` is the file's name without directories.
pub fn libraries(file: &str, image: &Image) -> Vec<Library> {
    let mut found = image.libraries.clone();
    let by_name = library::FILES.iter().find(|(start, _)| file.starts_with(start));
    if let Some((_, name)) = by_name.filter(|_| found.is_empty()) {
        found.push(Library { name, version: None });
    }
    found
}
