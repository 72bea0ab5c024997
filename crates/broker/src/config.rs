//! What a broker is started with.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use crate::metrics::MetricsConfig;

/// What a broker is started with.
#[derive(Debug)]
pub struct Config {
    /// Where clients connect.
    pub socket: PathBuf,
    /// A socket that somebody else bound and listens at, as systemd does. Then nothing is made at `socket`.
    pub listener: Option<OwnedFd>,
    /// The policy; without one only this process's own user and root get grants.
    pub policy: Option<PathBuf>,
    /// How many workers, with one accelerator each.
    pub accelerators: usize,
    /// The processors that workers are pinned to, in turn; with none they are not pinned.
    pub pin: Vec<usize>,
    /// How long an accelerator that has nothing to do looks for more before it sleeps.
    pub spin: Duration,
    /// How long operations may be held for others to come.
    pub flush: Duration,
    /// What a worker is.
    pub worker: WorkerCommand,
    /// Bytes of memory for keys of each worker, where the policy does not say. It is not taken before it is needed.
    pub key_memory: usize,
    /// How metrics are served, if at all.
    pub metrics: Option<MetricsConfig>,
    /// Whether the workers keep their warnings to themselves.
    pub quiet: bool,
    /// Whether the kernel is asked to refuse descriptors that clients send (Linux 6.16 and later can). Without it the
    /// broker and its workers do what they do on older kernels: it is there so that both ways can be tested.
    pub refuse_descriptors: bool,
    /// How long a worker that has orders may neither answer one nor show that it gets on, before it is taken for dead and
    /// replaced.
    pub stuck: Duration,
}

impl Config {
    /// The usual: one worker that is not pinned, at that socket.
    pub fn new(socket: PathBuf, worker: WorkerCommand) -> Self {
        Config {
            socket,
            listener: None,
            policy: None,
            accelerators: 1,
            pin: Vec::new(),
            spin: Duration::from_micros(50),
            flush: Duration::ZERO,
            worker,
            key_memory: crate::worker::KEY_MEMORY,
            metrics: None,
            quiet: false,
            refuse_descriptors: true,
            stuck: crate::crew::STUCK,
        }
    }
}

/// A program that becomes a worker. Its standard input is the control socket; after the arguments here come those
/// that [`Config`] implies.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its first arguments.
    pub arguments: Vec<OsString>,
}

impl WorkerCommand {
    /// This program with the argument `worker`.
    pub fn this_program() -> Self {
        WorkerCommand { program: "/proc/self/exe".into(), arguments: vec!["worker".into()] }
    }
}
