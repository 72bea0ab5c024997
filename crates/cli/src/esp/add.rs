//! New associations: from the file, and from other processes.

use std::path;
use std::sync::Arc;

use millstream_esp::{Description, Direction, Numbers, Parsed, Policy, Sa, Side, parse};

use super::changes::Changes;
use super::paths::Path;
use super::plane::Plane;
use super::sockets::is_local;
use crate::error::{Error, plain};
use crate::secret::{self, Secret};
use crate::shown;

/// Adds what the text of a file describes.
///
/// # Errors
/// [`Error`], with the line that is at fault.
pub(super) fn from_file(plane: &Arc<Plane>, path: &path::Path, text: &[u8]) -> Result<(), Error> {
    let failed = |what: String| Error::Serve(format!("{}: {what}", shown::path(path)));
    let parsed = parse(text_of(text).map_err(failed)?).map_err(|error| failed(error.to_string()))?;
    let mut changes = Changes::begin(plane);
    let made = make_all(&mut changes, parsed.states).map_err(failed)?;
    put(plane, &made, parsed.policies).map_err(failed)
}

/// Returns the associations of a file.
///
/// # Errors
/// The reason in words.
pub(super) fn states_of(path: &path::Path) -> Result<Vec<Description>, String> {
    let text = read(path).map_err(|error| error.to_string())?;
    Ok(parse(text_of(&text)?).map_err(|error| error.to_string())?.states)
}

/// Reads a file of associations, which others may not read.
///
/// # Errors
/// [`Error`]; it names the file, and the remedy.
pub(super) fn read(path: &path::Path) -> Result<Secret, Error> {
    const EMPTY: &str = "the file is empty; write associations into it as 'ip xfrm state' prints them, or leave --sa out and name --state";
    const TOO_LONG: &str = "more than a megabyte, which is no file of associations; if it is one, add a part of them later with 'millstream esp add'";
    let (text, everyone) = secret::file_of_keys(path, EMPTY, TOO_LONG)?;
    match everyone {
        // Whoever reads the keys can read and forge all packets.
        Some(warning) => Err(Error::Serve(warning)),
        None => Ok(text),
    }
}

fn text_of(text: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(text).map_err(|_| "the text is not UTF-8".to_owned())
}

/// Adds what a text describes to a data plane that is at work: all of it, or nothing. Returns the number of associations.
///
/// # Errors
/// The reason in words, with the line.
pub(super) fn add(plane: &Arc<Plane>, text: &str) -> Result<usize, String> {
    let Parsed { states, policies } = parse(text).map_err(|error| error.to_string())?;
    let mut changes = Changes::begin(plane);
    let made = make_all(&mut changes, states)?;
    made.iter().for_each(reserve);
    put(plane, &made, policies).inspect_err(|_| {
        // Nobody uses what was reserved. If that can't be stored, it is lost.
        made.iter().for_each(|sa| drop(sa.settle()));
    })?;
    Ok(made.len())
}

/// Adds one association.
///
/// # Errors
/// The reason in words.
pub(super) fn one(changes: &mut Changes<'_>, state: Description) -> Result<(), String> {
    let sa = make(changes, state)?;
    reserve(&sa);
    changes.plane().table_mut().add(sa).map_err(|error| error.to_string())
}

/// Reserves the first sequence numbers, so that packets of a stream that is there already don't wait for that.
fn reserve(sa: &Arc<Sa>) {
    // If this fails, the first packet tries again.
    let _ = sa.reserve_ahead();
}

fn make_all(changes: &mut Changes<'_>, states: Vec<Description>) -> Result<Vec<Arc<Sa>>, String> {
    let with_line = |state: Description| {
        let line = state.line;
        make(changes, state).map_err(|what| format!("line {line}: {what}"))
    };
    states.into_iter().map(with_line).collect()
}

/// Puts associations and policies into the table, or none of them.
fn put(plane: &Plane, made: &[Arc<Sa>], policies: Vec<Policy>) -> Result<(), String> {
    let mut table = plane.table_mut();
    for (at, sa) in made.iter().enumerate() {
        if let Err(error) = table.add(sa.clone()) {
            for sa in &made[..at] {
                table.remove(sa.facts().spi, Some(sa.facts().destination));
            }
            return Err(format!("line {}: {error}", sa.facts().line));
        }
    }
    policies.into_iter().for_each(|policy| table.add_policy(policy));
    Ok(())
}

/// Makes an association: finds its record, opens its socket, and binds its keys.
fn make(changes: &mut Changes<'_>, state: Description) -> Result<Arc<Sa>, String> {
    let plane = changes.plane();
    let direction = direction(&state)?;
    let fingerprint = state.keys.fingerprint(state.suite).map_err(|error| error.to_string())?;
    // Before a second one has the record of the same key.
    plane.table().check(&state, direction, fingerprint).map_err(|error| error.to_string())?;
    let (kept, record) = plane.records.find(fingerprint, direction).map_err(|error| error.to_string())?;
    let local = Path::of(&state, direction).local;
    changes.open(local).map_err(|error| match local.port {
        Some(port) => format!("UDP {}, port {port}: {}", local.address, plain(&error)),
        None => format!(
            "a raw socket for ESP at {}: {}; with 'encap type espinudp' none is needed",
            local.address,
            plain(&error)
        ),
    })?;
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
