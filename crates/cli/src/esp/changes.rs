//! Changes of the associations of a running data plane, of which there is one at a time.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use millstream_esp::{Direction, Sa};

use super::arriving;
use super::outer;
use super::paths::Path;
use super::plane::Plane;
use super::sockets::Local;

/// The right to change associations. When this is dropped, sockets that no association uses are closed, and the threads that read from them end: those of
/// associations that were removed, and of those that could not be added after all.
pub(super) struct Changes<'p> {
    plane: &'p Arc<Plane>,
    outer: outer::Change<'p>,
}

impl<'p> Changes<'p> {
    /// Begins to change associations, after whoever does so now.
    pub(super) fn begin(plane: &'p Arc<Plane>) -> Self {
        Changes { plane, outer: plane.outer.change() }
    }

    /// Returns the data plane.
    pub(super) fn plane(&self) -> &'p Arc<Plane> {
        self.plane
    }

    /// Opens the socket of a local end, and begins to read from it, unless it is open.
    ///
    /// # Errors
    /// The system's, or too many sockets are open.
    pub(super) fn open(&mut self, local: Local) -> io::Result<()> {
        self.outer.open(local, |socket| arriving::start(self.plane, socket))
    }

    /// Removes the association with this SPI, and this destination where one is named. Returns false if there is none.
    pub(super) fn remove(&mut self, spi: u32, destination: Option<IpAddr>) -> bool {
        let removed = self.plane.table_mut().remove(spi, destination);
        let Some(sa) = removed else { return false };
        // Numbers are taken while the table is held, so nobody takes one any more, and packets don't wait for the disk. Nor can somebody add
        // another association with this key meanwhile, whose numbers begin where the record says. Reserved numbers are lost if this fails,
        // and nothing else.
        let _ = sa.settle();
        self.forget(&sa);
        if sa.direction() == Direction::In {
            // One that is added with the same key accepts nothing of this again. If this fails the next look at records tries again.
            let _ = self.plane.write_records();
        }
        true
    }

    /// Forgets where a peer is when the last association that heard from it was removed.
    fn forget(&self, removed: &Sa) {
        let Some(moved) = self.plane.moved.as_ref().filter(|_| removed.direction() == Direction::In) else {
            return;
        };
        let path = Path::of(removed.facts(), Direction::In);
        let hears =
            |sa: &Arc<Sa>| sa.direction() == Direction::In && Path::of(sa.facts(), Direction::In) == path;
        if !self.plane.table().all().any(hears) {
            moved.forget(&path);
        }
    }
}

impl Drop for Changes<'_> {
    fn drop(&mut self) {
        let local = |sa: &Arc<Sa>| Path::of(sa.facts(), sa.direction()).local;
        // Readers take the table, and have to end.
        let used = self.plane.table().all().map(local).collect();
        self.outer.close_unused(&used);
    }
}
