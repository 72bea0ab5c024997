//! The module by its C functions alone, as a program calls them that knows the standard and no library.

#[path = "../support/mod.rs"]
mod support;
#[macro_use]
#[path = "../support/functions.rs"]
mod functions;
mod anything;
mod attributes;
mod codes;
mod disks;
mod lattices;
mod lengths;
mod logins;
mod messages;
mod ml_dsa;
mod profiles;
mod recovery;
mod refusals;
mod slh_dsa;
mod tls;
mod wrapping;
