//! Linux for sparc64: programs, system calls and signals.
