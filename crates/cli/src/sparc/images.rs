//! The files that a program's code is from, and their addresses.

use millstream_ultrasparc::counts::Image;
use millstream_ultrasparc::linux::Process;
use millstream_ultrasparc::program::Program;

/// Returns the program and the libraries that were loaded. A file that can't be read any more is left out.
pub fn of(process: &Process) -> Vec<Image> {
    let mut images = Vec::<Image>::new();
    for mapped in process.code() {
        let Ok(bytes) = std::fs::read(&mapped.file) else { continue };
        let Ok(program) = Program::parse(&bytes) else { continue };
        let Some(bias) = program.bias(mapped.offset, mapped.address) else { continue };
        let name = mapped.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !images.iter().any(|image| image.name == name && image.bias == bias) {
            images.push(Image { name, program, bias });
        }
    }
    images
}
