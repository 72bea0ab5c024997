//! The state of the module in a process, from `C_Initialize` to `C_Finalize`.
//!
//! A child of a fork starts anew: it has to initialise, and nothing that it does touches its parent. The module's own state is
//! never freed while a call may be in it, so a late call in another thread gets a return value and no freed memory.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};

use cryptoki_sys::*;
use millstream::Features;
use millstream::isolated::PerProcess;

use crate::operation::pending::Gathering;
use crate::refusal::{Outcome, Refusal, demand, refuse};
use crate::session::{Session, Sessions};
use crate::token::store::Store;
use crate::token::{Slot, config};

/// The module, once in each process.
static PROCESS: PerProcess<Process> = PerProcess::new();

#[derive(Default)]
struct Process {
    module: AtomicPtr<Module>,
    /// Held by who initialises or finalises.
    changing: Mutex<()>,
}

/// The initialised module.
pub struct Module {
    /// The instructions that it may use.
    pub features: Features,
    /// The sessions.
    pub sessions: Sessions,
    /// The signatures that asynchronous sessions wait for.
    pub gathering: Gathering,
    store: Arc<Store>,
    slots: RwLock<Vec<Arc<Slot>>>,
    handles: Arc<AtomicU64>,
    finalised: AtomicBool,
    event: (Mutex<()>, Condvar),
}

impl Module {
    /// Returns the module of this process.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_NOT_INITIALIZED`.
    #[allow(unsafe_code)]
    pub fn get() -> Outcome<&'static Module> {
        let module = PROCESS.get().module.load(Ordering::Acquire);
        // SAFETY: the pointer is null or came from `Box::leak`, and what it points to is never freed.
        unsafe { module.as_ref() }.ok_or(Refusal(CKR_CRYPTOKI_NOT_INITIALIZED))
    }

    /// Makes the module of this process.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_ALREADY_INITIALIZED`; `CKR_GENERAL_ERROR` for a configuration that can't be read.
    pub fn initialise() -> Outcome {
        let process = PROCESS.get();
        let _changing = process.changing.lock().unwrap_or_else(PoisonError::into_inner);
        demand(process.module.load(Ordering::Acquire).is_null(), CKR_CRYPTOKI_ALREADY_INITIALIZED)?;
        let features = millstream::features().map_err(|_| Refusal(CKR_GENERAL_ERROR))?;
        let store = Arc::new(Store::new(config::place()?, features));
        let module = Module {
            features,
            sessions: Sessions::default(),
            gathering: Gathering::default(),
            store,
            slots: RwLock::default(),
            handles: Arc::new(AtomicU64::new(1)),
            finalised: AtomicBool::new(false),
            event: Default::default(),
        };
        process.module.store(Box::leak(Box::new(module)), Ordering::Release);
        Ok(())
    }

    /// Ends the module of this process: all sessions, logins and open keys go. Who waits for an event is told.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_NOT_INITIALIZED`.
    pub fn finalise() -> Outcome {
        let process = PROCESS.get();
        let _changing = process.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let module = Module::get()?;
        process.module.store(std::ptr::null_mut(), Ordering::Release);
        module.finalised.store(true, Ordering::Release);
        module.sessions.close_all(None);
        let slots = std::mem::take(&mut *module.slots.write().unwrap_or_else(PoisonError::into_inner));
        drop(slots);
        module.store.disconnect();
        let _waiting = module.event.0.lock().unwrap_or_else(PoisonError::into_inner);
        module.event.1.notify_all();
        Ok(())
    }

    /// Returns a session.
    ///
    /// # Errors
    /// `CKR_SESSION_HANDLE_INVALID`.
    pub fn session(&self, handle: CK_SESSION_HANDLE) -> Outcome<Arc<Session>> {
        self.sessions.get(handle)
    }

    /// Looks for tokens that came since the last look, and returns all slots: one for each token, and one for a new token. A slot keeps its number and its
    /// token, whether there is such a token any more or not.
    ///
    /// # Errors
    /// Those of the store.
    pub fn look(&self) -> Outcome<Vec<Arc<Slot>>> {
        let tokens = match self.store.tokens() {
            // Without a service there is nothing to show that was not seen before. A file that is no store is in the slot for a new token, which says so.
            Err(Refusal(CKR_DEVICE_REMOVED | CKR_TOKEN_NOT_RECOGNIZED)) => Vec::new(),
            tokens => tokens?,
        };
        let takes_new = self.store.takes_new(&tokens);
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let add = |slots: &mut Vec<Arc<Slot>>, token| {
            let id = slots.len() as CK_SLOT_ID;
            let (store, handles) = (Arc::clone(&self.store), Arc::clone(&self.handles));
            slots.push(Arc::new(Slot::new(id, self.features, store, token, handles)));
        };
        for token in tokens.into_iter().map(|listed| listed.info.token) {
            if slots.iter().any(|slot| slot.token() == Ok(token)) {
                continue;
            }
            // A token that another program made takes the place that waited for one.
            match slots.iter().find(|slot| slot.token().is_err()) {
                Some(slot) => slot.holds(token),
                None => add(&mut slots, Some(token)),
            }
        }
        if takes_new && slots.iter().all(|slot| slot.token().is_ok()) {
            add(&mut slots, None);
        }
        Ok(slots.clone())
    }

    /// Returns a slot.
    ///
    /// # Errors
    /// `CKR_SLOT_ID_INVALID`.
    pub fn slot(&self, id: CK_SLOT_ID) -> Outcome<Arc<Slot>> {
        let find = || {
            let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
            slots.iter().find(|slot| slot.id == id).cloned()
        };
        if let Some(slot) = find() {
            return Ok(slot);
        }
        // A program may know the number from another run.
        self.look()?;
        find().ok_or(Refusal(CKR_SLOT_ID_INVALID))
    }

    /// Waits until the module ends: nobody puts tokens into slots or takes them out.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_NOT_INITIALIZED` when the wait ends; `CKR_NO_EVENT` for who does not wait.
    pub fn wait_for_event(&self, waits: bool) -> Outcome {
        demand(waits, CKR_NO_EVENT)?;
        let mut waiting = self.event.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.finalised.load(Ordering::Acquire) {
            waiting = self.event.1.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        refuse(CKR_CRYPTOKI_NOT_INITIALIZED)
    }
}
