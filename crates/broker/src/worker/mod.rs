//! The worker: the process that holds keys and runs the accelerator, and can do nothing else.
//!
//! Two threads work, and a third where the service keeps tokens. The *control* thread obeys the broker and answers clients about keys: it waits in one epoll for
//! all of them, and never for one. The *accelerator's* thread looks at the rings. They meet in a mailbox, between
//! two steps of the accelerator. An idle worker sleeps in two epolls and uses no processor time. The stacks of both, and
//! the heap, lie in memory for keys (`private.rs`); the process's first thread only waits for their end.
//!
//! The accelerator's thread looks at empty rings for [`Config::spin`] before it sleeps. Looking costs processor time.
//! Being woken costs its client a system call and both of them the time it takes: about 50 µs from one core to another
//! on a virtual machine, 5 µs without one. A thread that looks for as long as a wake takes never loses more than twice
//! what it would with foresight, and that is the default.

mod control;
mod descriptors;
mod doorbells;
mod grant;
mod handover;
mod key_socket;
mod keys;
mod memory;
mod moves;
mod pace;
mod presigning;
mod private;
mod sandbox;
mod seeding;
mod serving;
mod share;
mod tokens;
mod vault;
mod wrapping;

use std::ffi::CStr;
use std::fmt;
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use millstream_accelerator::{Reserve, Turns, Way, WayError};
use millstream_cpu::Features;
use millstream_host::{End, Pace};
use millstream_protocol::Report;
use millstream_shm::{Doorbell, SecretMemory, plain, spawn_on_secret_stack};

use control::Control;
use presigning::{Machine, Presigning};
use private::{Heap, Private};
use sandbox::Filter;
use serving::{Mailbox, Serving};
use tokens::Tokens;

pub use private::locked_bytes;
pub use sandbox::{BadRules, Role, Rule, SandboxError, all_rules};

/// Bytes of memory for keys, where nothing else is said: room for 65,536 slots. It is not taken before it is
/// needed.
pub const KEY_MEMORY: usize = 128 << 20;

/// The configuration of a worker.
#[derive(Clone, Debug)]
pub struct Config {
    /// The descriptor of the control socket: one end of a pair of sequenced packets whose other end the broker has.
    pub control: RawFd,
    /// The processor that the accelerator's thread is pinned to.
    pub cpu: Option<usize>,
    /// The time for which it looks at empty rings before it sleeps.
    pub spin: Duration,
    /// The time for which an operation may wait for others to fill lanes with.
    pub flush: Duration,
    /// The most bytes of memory for keys, of all grants together.
    pub key_memory: usize,
    /// True when it serves private keys and nothing else, so that its turns are longer.
    pub private_keys: bool,
    /// True when it is a vault of tokens, so that it has a thread for what takes long with them.
    pub tokens: bool,
    /// The user and group that root becomes.
    pub user: (u32, u32),
    /// A rule of the sandbox to leave out, for the test that each is needed: see [`Rule::name`].
    pub deny: Option<String>,
    /// An attempt that a thread makes when it has its filter, or the process before that, for the test of what they
    /// can't do.
    pub probe: Option<(Option<Role>, fn())>,
}

impl Config {
    /// The usual, for a control socket.
    pub fn new(control: RawFd) -> Self {
        Config {
            control,
            cpu: None,
            spin: Duration::from_micros(50),
            flush: Duration::ZERO,
            key_memory: KEY_MEMORY,
            private_keys: false,
            tokens: false,
            user: (65534, 65534),
            deny: None,
            probe: None,
        }
    }
}

/// Why a worker could not begin, or ended before its time.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The control descriptor is no socket that it could be.
    Control(RawFd, io::Error),
    /// No memory for keys can be had.
    KeyMemory(io::Error),
    /// Descriptors can't be made or closed.
    Descriptors(io::Error),
    /// The kernel gives no random bytes.
    Seed(io::Error),
    /// The processor mask can't be read.
    Features(millstream_cpu::MaskError),
    /// The way of words can't be read.
    Way(WayError),
    /// A thread can't be started.
    Thread(io::Error),
    /// The processor can't be pinned to.
    Cpu(usize, io::Error),
    /// The worker can't be confined.
    Sandbox(SandboxError),
    /// The control thread can't wait.
    Wait(io::Error),
    /// The broker does not take reports.
    Broker(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Control(number, error) => write!(
                f,
                "descriptor {number} is not a worker's control socket ({}): workers are started by `millstream serve`",
                plain(error)
            ),
            Error::KeyMemory(error) => write!(
                f,
                "no memory for keys can be locked ({}): raise the limit of locked memory (`ulimit -l`, `LimitMEMLOCK=`)",
                plain(error)
            ),
            Error::Descriptors(error) => write!(f, "descriptors can't be made or closed: {}", plain(error)),
            Error::Seed(error) => {
                write!(f, "the kernel gives no random bytes (`getrandom`): {}", plain(error))
            }
            Error::Features(error) => error.fmt(f),
            Error::Way(error) => error.fmt(f),
            Error::Thread(error) => write!(
                f,
                "a thread can't be started on locked memory ({}): raise the limit of locked memory (`ulimit -l`, `LimitMEMLOCK=`)",
                plain(error)
            ),
            Error::Cpu(cpu, error) => {
                write!(f, "the worker can't be pinned to processor {cpu} ({}): choose another", plain(error))
            }
            Error::Sandbox(error) => write!(f, "the worker can't be confined: {error}"),
            Error::Wait(error) => write!(f, "the worker can't wait for orders: {}", plain(error)),
            Error::Broker(error) => write!(f, "the broker takes no reports: {}", plain(error)),
        }
    }
}

impl std::error::Error for Error {}

/// Serves until the broker says to stop, or is gone. It takes this process over: it closes its other descriptors and
/// gives up what it might do otherwise, for good. So nothing else may run in it.
///
/// # Errors
/// See [`Error`].
pub fn run(config: Config) -> Result<(), Error> {
    let socket =
        descriptors::control(config.control).map_err(|error| Error::Control(config.control, error))?;
    let limit = sandbox::hide(private::locked_bytes(config.key_memory)).map_err(Error::Sandbox)?;
    descriptors::close_others(&socket).map_err(Error::Descriptors)?;
    end_on_panic();
    descriptors::settle();
    let Private { heap, reserve, keys, key_bytes, accelerator, control: stack, vault } =
        Private::take(config.key_memory, limit, config.tokens)?;
    // The system zeroes it when the process ends, and that it is large would make the end long.
    std::mem::forget(keys.clone());
    let features = Features::active().map_err(Error::Features)?;
    let way = Way::active().map_err(Error::Way)?;
    // Presignatures lie on the heap, so that has to be memory for keys.
    let machine = (config.private_keys && heap == Heap::Secret).then(Machine::look_at);
    let presigning = Presigning::of(machine.as_ref());
    let filter = |role| Filter::new(role, config.deny.as_deref()).map_err(Error::Sandbox);
    let (filter, of_thread, of_vault) =
        (filter(Role::Control)?, filter(Role::Accelerator)?, filter(Role::Vault)?);
    let sandbox = sandbox::confine(config.user).map_err(Error::Sandbox)?;
    config.probe(None);

    let mailbox = Arc::new(Mailbox::new(Doorbell::new().map_err(Error::Descriptors)?));
    let doorbells = doorbells::new_epoll(mailbox.bell()).map_err(Error::Descriptors)?;
    let (key_memory, wipes) = (private::kind(keys.kind(), heap, reserve), !keys.is_hidden());
    let thread = spawn(
        &config,
        accelerator,
        of_thread,
        (features, way),
        reserve,
        wipes,
        machine,
        mailbox.clone(),
        doorbells.clone(),
    )?;
    let vault = vault.map(|stack| open_vault(&config, stack, of_vault, features, wipes)).transpose()?;
    let control = Control::new(socket, mailbox, doorbells, features, keys, wipes, presigning, vault)
        .map_err(Error::Descriptors)?;
    let filter = Arc::new(filter);
    let (of_thread, config) = (filter.clone(), config.clone());
    let (confined, begin) = sync_channel(1);
    let end = on_secret_stack(c"control", stack, move || {
        of_thread.apply().map_err(Error::Sandbox)?;
        config.probe(Some(Role::Control));
        // The report says that all threads are confined, so it waits for the one that is confined last.
        begin.recv().map_err(|_| Error::Thread(io::ErrorKind::Other.into()))?;
        obey(control, Report::Ready { sandbox, key_memory, key_bytes: key_bytes as u64 }, &thread)
    })?;
    filter.apply().map_err(Error::Sandbox)?;
    // If nobody waits, the control thread has said why.
    let _ = confined.send(());
    end.recv().unwrap_or_else(|_| Err(Error::Thread(io::ErrorKind::Other.into())))
}

/// Runs the control thread, from its first report to its last.
fn obey(mut control: Control, ready: Report, accelerator: &Receiver<()>) -> Result<(), Error> {
    control.report(&ready)?;
    let end = control.run()?;
    control.mailbox.end(end);
    // Had it panicked, the process would have ended.
    let _ = accelerator.recv();
    if end == End::Finish {
        // A broker that is gone meanwhile need not know.
        let _ = control.report(&Report::Done {});
    }
    Ok(())
}

impl Config {
    fn probe(&self, role: Option<Role>) {
        if let Some((of, probe)) = self.probe
            && of == role
        {
            probe();
        }
    }
}

/// Starts a thread whose stack lies in memory for keys. What it returns comes through the channel. The thread stays, and
/// ends with the process: so it needs none of the system calls that a thread's end takes.
fn on_secret_stack<T: Send + 'static>(
    name: &'static CStr,
    stack: SecretMemory,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<Receiver<T>, Error> {
    let (send, receive) = sync_channel(1);
    let body = move || {
        // When nobody waits any more, the process ends.
        let _ = send.send(body());
        loop {
            thread::park();
        }
    };
    spawn_on_secret_stack(name, stack, body).map_err(Error::Thread)?;
    Ok(receive)
}

/// Starts the accelerator's thread, and waits until it has begun. It has ended when the channel says so.
fn spawn(
    config: &Config,
    stack: SecretMemory,
    filter: Filter,
    (features, way): (Features, Way),
    reserve: Reserve,
    wipes: bool,
    machine: Option<Machine>,
    mailbox: Arc<Mailbox>,
    doorbells: Arc<OwnedFd>,
) -> Result<Receiver<()>, Error> {
    let (ready, begun) = sync_channel(1);
    let (config, pace) = (config.clone(), Pace { spin: config.spin, flush: config.flush });
    let body = move || {
        let turns = if config.private_keys { Turns::of_private_keys() } else { Turns::default() };
        let mut serving = Serving::new(features, pace, turns, wipes, reserve, doorbells);
        serving.accelerator.set_way(way);
        if let Some(machine) = machine {
            serving.accelerator.keep_presignatures(Box::new(machine));
        }
        let begun = pin(config.cpu)
            .and_then(|()| filter.apply().map_err(Error::Sandbox))
            .and_then(|()| serving.seed().map_err(Error::Seed));
        if begun.is_ok() {
            config.probe(Some(Role::Accelerator));
        }
        let may = begun.is_ok();
        if ready.send(begun).is_ok() && may {
            serving.run(&mailbox);
        }
    };
    let thread = on_secret_stack(c"accelerator", stack, body)?;
    match begun.recv() {
        Ok(Ok(())) => Ok(thread),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::Thread(io::ErrorKind::Other.into())),
    }
}

/// Starts the vault's thread, and waits until it is confined.
fn open_vault(
    config: &Config,
    stack: SecretMemory,
    filter: Filter,
    features: Features,
    wipes: bool,
) -> Result<Tokens, Error> {
    let (tokens, work) = Tokens::new(features, Doorbell::new().map_err(Error::Descriptors)?, wipes);
    let (ready, begun) = sync_channel(1);
    let config = config.clone();
    on_secret_stack(c"vault", stack, move || {
        work.give_way();
        let confined = filter.apply().map_err(Error::Sandbox);
        let may = confined.is_ok();
        if may {
            config.probe(Some(Role::Vault));
        }
        if ready.send(confined).is_ok() && may {
            work.run();
        }
    })?;
    begun.recv().unwrap_or_else(|_| Err(Error::Thread(io::ErrorKind::Other.into())))?;
    Ok(tokens)
}

fn pin(cpu: Option<usize>) -> Result<(), Error> {
    cpu.map_or(Ok(()), |cpu| millstream_shm::pin(cpu).map_err(|error| Error::Cpu(cpu, error)))
}

/// A panic of either thread ends the process, with a message: half a worker would leave its clients waiting. No
/// backtrace is made, which would want to read files.
fn end_on_panic() {
    std::panic::set_hook(Box::new(|info| {
        eprintln!("millstream worker: {info}");
        std::process::exit(101);
    }));
}
