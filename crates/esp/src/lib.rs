//! IPsec's ESP, in tunnel mode, for programs that have packets in memory: nothing here reads or writes a device or a socket.
//!
//! An association ([`Sa`]) seals or opens. A packet becomes a [`Job`], many jobs are computed at a time by a [`Lane`] in vector lanes, and what
//! comes out is a packet again. [`Workers`] do that on several threads and keep the order of packets. [`parse`] reads associations in the
//! syntax of `ip xfrm`, [`kernel_messages`] what Linux tells of its own, and a [`Table`] finds the one for a packet.
//!
//! ```
//! use std::sync::Arc;
//!
//! use millstream_esp::{FreshKey, Job, Lane, Numbers, Packet, Place, Sa, Side, parse};
//!
//! let text = "src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x101 mode tunnel
//!     aead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f10111213 128";
//! let here = Place::Here;
//! let sa = |side| -> Result<Arc<Sa>, Box<dyn std::error::Error>> {
//!     let description = parse(text)?.states.remove(0);
//!     let keys = here.bind(description.suite, &description.keys)?;
//!     Ok(Arc::new(Sa::new(description, keys, side)?))
//! };
//! // A key that nobody used before, so no store of its numbers is needed: see `Reserve`.
//! let numbers = Numbers::new(1, false, Box::new(FreshKey));
//! let sealing = sa(Side::Out { numbers, vectors: 7 })?;
//! let opening = sa(Side::In { top: 0 })?;
//!
//! // The shortest packet of IPv4, from 10.0.0.1 to 10.0.0.2.
//! let inner = [69, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
//! let mut lane = Lane::new(&here);
//! let mut jobs = vec![Job::seal(&sealing, Packet::from_slice(&inner)).map_err(|(_, fate)| fate)?];
//! lane.run(&mut jobs);
//! jobs[0].finish(|_, _| true)?;
//!
//! let arrived = Packet::from_slice(jobs[0].packet().data());
//! let mut jobs = vec![Job::open(&opening, arrived, jobs[0].class(), None).map_err(|(_, fate)| fate)?];
//! lane.run(&mut jobs);
//! jobs[0].finish(|sa, flow| sa.admits(flow))?;
//! assert_eq!(jobs[0].packet().data(), inner);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Ref. RFC 4303 (ESP), RFC 4301 (architecture), RFC 3948 (ESP in UDP), RFC 6040 (congestion through tunnels).
#![forbid(unsafe_code)]

mod checksum;
mod compute;
mod description;
mod fate;
mod held;
mod ip;
mod job;
mod keys;
mod numbers;
mod offload;
mod outbound;
mod packet;
mod place;
mod sa;
mod suite;
mod table;
mod task;
mod text;
mod window;
mod workers;
mod xfrm;

pub use compute::Lane;
pub use description::{
    Description, Direction, Encapsulation, KeyMaterial, Limit, Limits, Policy, PolicyDirection, Prefix,
    Selector, Template,
};
pub use fate::{Counters, Fate};
pub use held::Held;
pub use ip::{Flow, too_big};
pub use job::Job;
pub use keys::Keys;
pub use numbers::{BLOCK, FreshKey, Numbers, Reserve};
pub use offload::{Divided, Kind as OffloadKind, OFFLOAD_LEN, Offload, Train, train};
pub use packet::Packet;
pub use place::{Place, Service};
pub use sa::{Sa, Side};
pub use suite::{Auth, Cipher, Suite};
pub use table::{Table, TableError};
pub use text::{Parsed, TextError, parse};
pub use window::{MOST_WINDOW, Window};
pub use workers::{Line, Workers};
pub use xfrm::{
    KERNEL_GROUPS, KernelError, KernelList, KernelMessage, KernelState, ask_kernel, kernel_messages,
};
