//! Following other processes: their starts, forks, threads, execs, signals and ends.
//!
//! A [`Tracer`] launches a program, or attaches to one that runs, and follows all that comes from it. What happens is
//! told to a [`Watcher`], which looks at the stopped thread, changes it, and decides which signals the program gets.
//! Programs need not be prepared in any way, and no privilege is needed beyond that of sending them a signal.
//!
//! # Life after the first process
//! [`Tracer::run`] returns when the program that was launched has ended, as a shell's prompt does. What it left running
//! (a daemon, say) is traced still, and nobody else can take that over. Either [`Tracer::outlast`] stays for it, or
//! [`Tracer::detach_all`] lets it go, and then it runs as if it had never been traced.
//!
//! # Terminal
//! The program is in this process's group and has its terminal. What a key sends, both get, and only the program heeds; what
//! somebody sends to this process alone is passed on. When the program is stopped from the terminal this process can stop
//! itself as well ([`Launch::stop_with_it`]), so that the shell has its prompt, and both go on together.
//!
//! # Threads of this process
//! All is done by one thread: the kernel takes requests from none but the one that attached. Other threads of this process
//! may start programs of their own: their children are not waited for here.
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

pub use attach::{AttachError, Obstacle};
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
