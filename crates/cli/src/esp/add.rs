//! New associations: from the file, and from other processes.

use std::path;
use std::sync::Arc;

use millstream_esp::{Description, Direction, Numbers, Parsed, Sa, Side, parse};

use super::arriving;
use super::paths::Path;
use super::plane::Plane;
use super::sockets::is_local;
use crate::error::Error;
use crate::secret::{self, Secret};
use crate::shown;

/// Adds what the file describes.
///
/// # Errors
/// [`Error`], with the line that is at fault.
pub(super) fn from_file(plane: &Arc<Plane>) -> Result<(), Error> {
    let Some(path) = &plane.file else { return Ok(()) };
    let text = read(path)?;
    let failed = |what: String| Error::Serve(format!("{}: {what}", shown::path(path)));
    add(plane, text_of(&text).map_err(failed)?).map_err(failed)?;
    Ok(())
}

/// Returns the associations of a file.
///
/// # Errors
/// The reason in words.
pub(super) fn states_of(path: &path::Path) -> Result<Vec<Description>, String> {
    let text = read(path).map_err(|error| error.to_string())?;
    Ok(parse(text_of(&text)?).map_err(|error| error.to_string())?.states)
}

fn read(path: &path::Path) -> Result<Secret, Error> {
    let (text, everyone) = secret::key_file(path)?;
    match everyone {
        // Whoever reads the keys can read and forge all packets.
        Some(warning) => Err(Error::Serve(warning)),
        None => Ok(text),
    }
}

fn text_of(text: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(text).map_err(|_| "the text is not UTF-8".to_owned())
}

/// Adds what a text describes: all of it, or nothing. Returns the number of associations.
///
/// # Errors
/// The reason in words, with the line.
pub(super) fn add(plane: &Arc<Plane>, text: &str) -> Result<usize, String> {
    let Parsed { states, policies } = parse(text).map_err(|error| error.to_string())?;
    let mut made = Vec::new();
    for state in states {
        let line = state.line;
        made.push(make(plane, state).map_err(|what| format!("line {line}: {what}"))?);
    }
    let mut table = plane.table_mut();
    let mut added = Vec::new();
    for sa in &made {
        match table.add(sa.clone()) {
            Ok(()) => added.push((sa.facts().spi, sa.facts().destination)),
            Err(error) => {
                for (spi, destination) in added {
                    table.remove(spi, Some(destination));
                }
                return Err(format!("line {}: {error}", sa.facts().line));
            }
        }
    }
    policies.into_iter().for_each(|policy| table.add_policy(policy));
    Ok(made.len())
}

/// Adds one association.
///
/// # Errors
/// The reason in words.
pub(super) fn one(plane: &Arc<Plane>, state: Description) -> Result<(), String> {
    let sa = make(plane, state)?;
    plane.table_mut().add(sa).map_err(|error| error.to_string())
}

/// Makes an association: finds its record, binds its keys, and opens its socket.
fn make(plane: &Arc<Plane>, state: Description) -> Result<Arc<Sa>, String> {
    let direction = direction(&state)?;
    let fingerprint = state.keys.fingerprint(state.suite).map_err(|error| error.to_string())?;
    // Before a second one has the record of the same key.
    plane.table().check(&state, direction, fingerprint).map_err(|error| error.to_string())?;
    let (kept, record) = plane.records.find(fingerprint, direction).map_err(|error| error.to_string())?;
    let local = Path::of(&state, direction).local;
    let opened = plane.open(local).map_err(|error| match local.port {
        Some(port) => format!("UDP {}, port {port}: {}", local.address, crate::error::plain(&error)),
        None => format!(
            "a raw socket for ESP at {}: {}; with 'encap type espinudp' none is needed",
            local.address,
            crate::error::plain(&error)
        ),
    })?;
    if let Some(socket) = opened {
        arriving::start(plane, socket).map_err(|error| error.to_string())?;
    }
    let keys = plane.place.bind(state.suite, &state.keys).map_err(|error| error.to_string())?;
    let side = match direction {
        Direction::In => Side::In { top: kept.number },
        Direction::Out => {
            let first = kept.number.max(state.last_sent.saturating_add(1));
            let (extended, store) = (state.extended, Box::new(record.clone()));
            Side::Out { numbers: Numbers::new(first, extended, store), vectors: kept.vectors }
        }
    };
    let sa = Arc::new(Sa::new(state, keys, side).map_err(|error| error.to_string())?);
    if direction == Direction::In {
        plane.keep(sa.clone(), record);
    }
    Ok(sa)
}

/// Returns an association's direction: the one that it says, or the one that this machine's addresses tell.
fn direction(state: &Description) -> Result<Direction, String> {
    if let Some(direction) = state.direction {
        return Ok(direction);
    }
    match (is_local(state.source), is_local(state.destination)) {
        (true, false) => Ok(Direction::Out),
        (false, true) => Ok(Direction::In),
        (true, true) => Err("src and dst are both this machine's: say dir in or dir out".to_owned()),
        (false, false) => Err("neither src nor dst is an address of this machine".to_owned()),
    }
}
