//! Columns of every layout through every function, compared with the engines one value at a time and with other implementations.

mod c_data;
mod digests;
mod fernet;
#[cfg(feature = "ff1")]
mod fpe;
mod isolated;
mod keysets;
mod large;
mod layouts;
mod sealed;
mod threads;
