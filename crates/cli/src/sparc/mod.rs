//! What `millstream sparc` shows.

pub mod history;
