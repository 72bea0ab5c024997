//! Keys for associations whose service was lost.

use super::plane::Plane;
use super::{add, kernel};

/// Binds the keys of the file, or of the kernel, again, after the service that had them was lost. Associations that are not there stay without.
///
/// # Errors
/// The reason in words.
pub(super) fn rebind(plane: &Plane) -> Result<(), String> {
    let states = match &plane.file {
        Some(path) => add::states_of(path)?,
        None if plane.from_kernel => kernel::states().map_err(|error| error.to_string())?,
        None => return Ok(()),
    };
    for state in &states {
        let fingerprint = state.keys.fingerprint(state.suite).map_err(|error| error.to_string())?;
        let table = plane.table();
        let of_key = table.all().find(|sa| sa.facts().spi == state.spi && sa.fingerprint() == fingerprint);
        if let Some(sa) = of_key {
            sa.rebind(plane.place.bind(state.suite, &state.keys).map_err(|error| error.to_string())?);
        }
    }
    Ok(())
}
