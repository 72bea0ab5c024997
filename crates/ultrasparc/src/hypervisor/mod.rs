//! The hypervisor's side of the accelerators: the NCS calls.
