//! The fast path: a page with a queue for the process, and the registers of its doorbell.
//!
//! The process calls the kernel once. The kernel maps one page of 4 MB, with the queue at its beginning, and has the
//! hypervisor tie queue, page and process together (`ncs_ulqconf`). From then on the process writes words and stores
//! their tail with an address space identifier of ours ([`crate::hypervisor::ASI_USER_QUEUE`]), without any further
//! call.

use super::{CPU, Kernel, Units};
use crate::cpu::{Device, Trap};
use crate::hypervisor::{ASI_USER_QUEUE, function, user_register};
use crate::linux::Errno;
use crate::memory::{Memory, Protection};
use crate::timing::parameters as p;

/// Bytes of the page.
pub const GRANT_BYTES: u64 = 4 << 20;
/// The page's size as a code of `ncs_ulqconf`.
const SIZE_CODE: u64 = 3;

/// The page and the queue that a process was granted.
pub(super) struct Grant {
    handle: u64,
    page: u64,
}

impl Kernel {
    /// Maps a page and grants a queue of that many entries in it; answers the page's address.
    pub(super) fn grant(&mut self, memory: &mut Memory, entries: u64) -> Result<u64, Errno> {
        if self.grant.is_some() {
            return Err(Errno(libc::EBUSY));
        }
        // Twice the size always contains an aligned page.
        let span = memory.free_span(2 * GRANT_BYTES).ok_or(Errno(libc::ENOMEM))?;
        let page = span.next_multiple_of(GRANT_BYTES);
        memory.map(page, GRANT_BYTES, Protection::DATA);
        match self.call(memory, function::ULQCONF, [page, SIZE_CODE, entries]) {
            Ok([handle, ..]) => {
                self.grant = Some(Grant { handle, page });
                Ok(page)
            }
            Err(error) => {
                memory.unmap(page, GRANT_BYTES);
                Err(error)
            }
        }
    }

    /// Takes the grant back: the operation under way is aborted, and the page is unmapped.
    pub(super) fn revoke(&mut self, memory: &mut Memory) -> Result<u64, Errno> {
        let Grant { handle, page } = self.grant.take().ok_or(Errno(libc::EINVAL))?;
        self.call(memory, function::ULQCONF, [handle, 0, 0])?;
        memory.unmap(page, GRANT_BYTES);
        Ok(0)
    }
}

/// The fast path's registers, at the processor that executes the process.
pub(super) struct Registers(pub(super) Units);

impl Device for Registers {
    fn load(&mut self, memory: &mut Memory, asi: u8, address: u64) -> Result<u64, Trap> {
        let mut kernel = self.0.kernel();
        kernel.accounts.looks += 1;
        // The registers are as far away as L2; the unit works in that time.
        kernel.advance(memory, p::T2_L2_LATENCY.value as u64);
        let value = if asi == ASI_USER_QUEUE { kernel.machine.user_load(CPU, address) } else { None };
        value.ok_or(Trap::PrivilegedAction)
    }

    fn store(&mut self, _: &mut Memory, asi: u8, address: u64, value: u64) -> Result<(), Trap> {
        let mut kernel = self.0.kernel();
        kernel.accounts.doorbells += u64::from(address == user_register::TAIL);
        let known = asi == ASI_USER_QUEUE && kernel.machine.user_store(CPU, address, value);
        if known { Ok(()) } else { Err(Trap::PrivilegedAction) }
    }
}
