//! Sessions: each with a slot and what is under way in it, found by handle without a lock for all.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use cryptoki_sys::*;

use crate::object::Object;
use crate::operation::Operations;
use crate::refusal::{Outcome, Refusal, demand};
use crate::token::{LoggedIn, Slot};

/// The parts of the table, so that threads with sessions of their own seldom meet.
const PARTS: usize = 64;

/// A session.
pub struct Session {
    /// The number by which the program names it. No other session of this process ever has it.
    pub handle: CK_SESSION_HANDLE,
    /// The slot of the session.
    pub slot: Arc<Slot>,
    /// True if it may change the token.
    pub writes: bool,
    /// True if its signatures are collected later.
    pub asynchronous: bool,
    operations: Mutex<Operations>,
}

impl Session {
    /// Returns what is under way, for one call at a time.
    pub fn operations(&self) -> MutexGuard<'_, Operations> {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state in the standard's numbers.
    pub fn state(&self) -> CK_STATE {
        match (self.slot.logged_in(), self.writes) {
            (LoggedIn::Nobody, false) => CKS_RO_PUBLIC_SESSION,
            (LoggedIn::Nobody, true) => CKS_RW_PUBLIC_SESSION,
            (LoggedIn::User, false) => CKS_RO_USER_FUNCTIONS,
            (LoggedIn::User, true) => CKS_RW_USER_FUNCTIONS,
            (LoggedIn::Officer, _) => CKS_RW_SO_FUNCTIONS,
        }
    }

    /// Refuses a change of the token in a session that only reads.
    ///
    /// # Errors
    /// `CKR_SESSION_READ_ONLY`.
    pub fn check_writes(&self, in_token: bool) -> Outcome {
        demand(self.writes || !in_token, CKR_SESSION_READ_ONLY)
    }

    /// Returns a key.
    ///
    /// # Errors
    /// `CKR_KEY_HANDLE_INVALID`.
    pub fn key(&self, handle: CK_OBJECT_HANDLE) -> Outcome<Arc<Object>> {
        self.slot.object(handle, CKR_KEY_HANDLE_INVALID)
    }
}

/// The sessions of a process.
pub struct Sessions {
    parts: [RwLock<HashMap<CK_SESSION_HANDLE, Arc<Session>>>; PARTS],
    next: AtomicU64,
}

impl Default for Sessions {
    fn default() -> Self {
        Sessions { parts: std::array::from_fn(|_| RwLock::default()), next: AtomicU64::new(1) }
    }
}

impl Sessions {
    fn part(&self, handle: CK_SESSION_HANDLE) -> &RwLock<HashMap<CK_SESSION_HANDLE, Arc<Session>>> {
        &self.parts[handle as usize % PARTS]
    }

    /// Opens a session.
    pub fn open(&self, slot: Arc<Slot>, writes: bool, asynchronous: bool) -> CK_SESSION_HANDLE {
        let handle = self.next.fetch_add(1, Ordering::Relaxed);
        slot.sessions.fetch_add(1, Ordering::AcqRel);
        if writes {
            slot.writing.fetch_add(1, Ordering::AcqRel);
        }
        let session = Session { handle, slot, writes, asynchronous, operations: Mutex::default() };
        let mut part = self.part(handle).write().unwrap_or_else(PoisonError::into_inner);
        part.insert(handle, Arc::new(session));
        handle
    }

    /// Returns a session.
    ///
    /// # Errors
    /// `CKR_SESSION_HANDLE_INVALID`.
    pub fn get(&self, handle: CK_SESSION_HANDLE) -> Outcome<Arc<Session>> {
        let part = self.part(handle).read().unwrap_or_else(PoisonError::into_inner);
        part.get(&handle).cloned().ok_or(Refusal(CKR_SESSION_HANDLE_INVALID))
    }

    /// Closes a session: its objects go.
    ///
    /// # Errors
    /// `CKR_SESSION_HANDLE_INVALID`.
    pub fn close(&self, handle: CK_SESSION_HANDLE) -> Outcome {
        let removed = self.part(handle).write().unwrap_or_else(PoisonError::into_inner).remove(&handle);
        let session = removed.ok_or(Refusal(CKR_SESSION_HANDLE_INVALID))?;
        if session.writes {
            session.slot.writing.fetch_sub(1, Ordering::AcqRel);
        }
        let before = session.slot.sessions.fetch_sub(1, Ordering::AcqRel);
        session.slot.end_session(handle, before == 1);
        Ok(())
    }

    /// Closes all sessions, or those of a slot.
    pub fn close_all(&self, slot: Option<CK_SLOT_ID>) {
        let of_slot = |session: &&Arc<Session>| slot.is_none_or(|slot| session.slot.id == slot);
        for part in &self.parts {
            let part_of = part.read().unwrap_or_else(PoisonError::into_inner);
            let handles: Vec<_> = part_of.values().filter(of_slot).map(|session| session.handle).collect();
            drop(part_of);
            for handle in handles {
                // Another thread may have closed it.
                let _ = self.close(handle);
            }
        }
    }
}
