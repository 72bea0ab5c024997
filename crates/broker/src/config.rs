//! The configuration of a broker.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use crate::metrics::MetricsConfig;

/// The configuration of a broker.
#[derive(Debug)]
pub struct Config {
    /// The path at which clients connect.
    pub socket: PathBuf,
    /// A socket that somebody else bound and listens at, as systemd does. Nothing is bound at `socket` then.
    pub listener: Option<OwnedFd>,
    /// The policy file. Without one, only this process's own user and root get grants.
    pub policy: Option<PathBuf>,
    /// The number of workers. Each has one accelerator.
    pub accelerators: usize,
    /// The number of workers for private keys, which come after those. They serve grants for private keys only, and the others
    /// serve all the rest, so that no signature stands in the way of a packet.
    pub private_accelerators: usize,
    /// The processors that workers are pinned to, in turn. When empty, workers are not pinned.
    pub pin: Vec<usize>,
    /// The time that an idle accelerator polls for work before it sleeps.
    pub spin: Duration,
    /// The time for which operations may be held back so that others can join them, but for those with private keys.
    pub flush: Duration,
    /// The time for which operations with private keys may be held back so that others can join them.
    pub gather: Duration,
    /// The program that becomes a worker.
    pub worker: WorkerCommand,
    /// Bytes of memory for keys of each worker, where the policy does not say. They are not taken before they
    /// are needed.
    pub key_memory: usize,
    /// The way metrics are served, if at all.
    pub metrics: Option<MetricsConfig>,
    /// True to have the workers keep their warnings to themselves.
    pub quiet: bool,
    /// True to ask the kernel to refuse descriptors that clients send (Linux 6.16 and later can). When false,
    /// the broker and its workers behave as on older kernels, so that both ways can be tested.
    pub refuse_descriptors: bool,
    /// The time after which a worker that has orders, but neither answers one nor shows progress, is taken
    /// for dead and replaced.
    pub stuck: Duration,
}

impl Config {
    /// The usual configuration: one worker that is not pinned, and a socket at that path.
    pub fn new(socket: PathBuf, worker: WorkerCommand) -> Self {
        Config {
            socket,
            listener: None,
            policy: None,
            accelerators: 1,
            private_accelerators: 0,
            pin: Vec::new(),
            spin: Duration::from_micros(50),
            flush: Duration::ZERO,
            gather: Duration::ZERO,
            worker,
            key_memory: crate::worker::KEY_MEMORY,
            metrics: None,
            quiet: false,
            refuse_descriptors: true,
            stuck: crate::crew::STUCK,
        }
    }
}

/// A program that becomes a worker. Its standard input is the control socket. The arguments that [`Config`]
/// implies follow the ones given here.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// The first arguments of the program.
    pub arguments: Vec<OsString>,
}

impl WorkerCommand {
    /// Runs this program with the argument `worker`.
    pub fn this_program() -> Self {
        WorkerCommand { program: "/proc/self/exe".into(), arguments: vec!["worker".into()] }
    }
}
