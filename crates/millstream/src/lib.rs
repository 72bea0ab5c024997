//! Cryptographic acceleration for Linux: the public Rust API.
