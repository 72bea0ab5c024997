//! Follows other processes: their starts, forks, threads, execs, signals and ends.
//!
//! A [`Tracer`] launches a program, or attaches to a running one, and follows all of its descendants. It
//! reports events to a [`Watcher`], which may inspect and change the stopped thread, and decides which
//! signals the program gets. Programs need no preparation, and the tracer needs no privilege beyond that of
//! sending them a signal.
//!
//! # Life after the first process
//! [`Tracer::run`] returns when the launched program has ended, as a shell's prompt does. Processes that it
//! left running, such as daemons, are still traced, and nobody else can take that over. [`Tracer::outlast`]
//! stays for them; [`Tracer::detach_all`] lets them go, and then they run as if they had never been traced.
//!
//! # Terminal
//! The program is in this process's group and has its terminal. Signals from a key reach both, and only the
//! program heeds them. Signals that somebody sends to this process alone are forwarded. When the program is
//! stopped from the terminal, this process can stop itself as well ([`Launch::stop_with_it`]), so that the
//! shell has its prompt, and both go on together.
//!
//! # Threads of this process
//! One thread does all of it, as the kernel takes requests only from the thread that attached. Other threads
//! of this process may start programs of their own, and their children are not waited for here.
//!
//! ```
//! use std::process::Command;
//! use millstream_observe::process::{Began, Launch, Thread, Tracer, Watcher};
//!
//! #[derive(Default)]
//! struct Images(usize);
//!
//! impl Watcher for Images {
//!     fn began(&mut self, _: &mut Thread, _: Began) -> std::io::Result<()> {
//!         self.0 += 1;
//!         Ok(())
//!     }
//! }
//!
//! let mut command = Command::new("/bin/sh");
//! command.args(["-c", "/bin/true; exit 3"]);
//! let mut images = Images::default();
//! let status = Tracer::launch(&mut command, Launch::default())?.run(&mut images)?;
//! assert_eq!((status.code(), images.0), (Some(3), 2));
//! # Ok::<(), std::io::Error>(())
//! ```

mod attach;
#[cfg(target_arch = "x86_64")]
mod call;
mod detach;
mod events;
pub(crate) mod files;
mod filter;
mod inject;
mod kin;
mod launch;
pub mod maps;
mod memory;
mod processes;
mod registers;
mod siginfo;
mod signals;
mod status;
mod sys;
mod thread;
mod tracer;
mod watcher;

pub use attach::{AttachError, Obstacle, forbidden_by_yama};
pub use inject::Stepped;
pub use kin::kin;
pub use launch::Launch;
pub use memory::ProcessMemory;
pub use processes::Processes;
pub use registers::Registers;
pub use rustix::process::Pid;
pub use siginfo::{SI_KERNEL, SigInfo};
pub use signals::{Answer, Signal};
pub(crate) use status::Status;
pub(crate) use sys::has_more_rights;
pub use thread::{Began, Thread};
pub use tracer::{Followed, Tracer};
pub use watcher::Watcher;
