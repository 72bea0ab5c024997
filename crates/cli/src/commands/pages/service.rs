//! Pages of the service and of the commands that speak to it.

use super::Section;

pub const SERVE: &[Section] = &[
    (
        "READINESS",
        "The service is ready when clients can connect; a line of the log says where. With --ready-fd N, the socket's path and \
a newline are also written to that descriptor, which must be a pipe or a file. If NOTIFY_SOCKET is set, systemd is \
told when the service is ready, reads its policy again or ends, for units of Type=notify or notify-reload. A socket \
that systemd listens at is taken over: use ListenSequentialPacket= in the socket unit. Of several, the one \
named millstream is taken.",
    ),
    (
        "SIGNALS",
        "SIGTERM, SIGINT
  Submitted operations are finished, clients are told, workers end, and the socket is removed.
SIGHUP
  The policy file is read again. A file that can't be used changes nothing. 'millstream reload' does the same and reports \
whether it succeeded.",
    ),
    (
        "SPINNING",
        "An idle worker polls for work for as long as --spin-us says, and then sleeps until a doorbell \
rings. A longer time makes pauses cheaper for clients, but costs a processor's time. A sleeping worker costs none.",
    ),
    (
        "MEMORY",
        "Keys, and the heap and the stacks of workers, lie in memory that nobody else can read (memfd_secret), or in locked \
memory if the kernel has none. Both count as locked memory: for each worker, the limit (ulimit -l, LimitMEMLOCK= in a unit) \
should exceed --key-memory by 76 MiB. A worker that may lock less has less memory for keys, and grants that do not fit are \
refused; it also opens shorter objects only, as millstream status shows. With a still lower limit, a worker's heap is partly \
ordinary memory, which can be swapped. MemorySwapMax=0 in a unit prevents that, also for the memory that is shared with \
clients. A machine can't hibernate while a process uses memfd_secret.",
    ),
    (
        "LOG",
        "The log goes to standard error. Lines have the time only on a terminal, because the journal adds it itself. If a user \
causes more than 20 lines of a kind at once, or more than one a second after that, the others are left out; left_out= in the \
next line gives their number.",
    ),
    (
        "EXIT STATUS",
        "0
  when a signal ended it.
1
  when it could not start, or could not go on.
2
  when it was called wrongly.",
    ),
    (
        "ENVIRONMENT",
        "MILLSTREAM_SOCKET
  The socket, if --socket does not name one. Without both it is millstream.sock in XDG_RUNTIME_DIR, or in \
/run/user/UID; root's is /run/millstream/millstream.sock.
MILLSTREAM_QUEUE
  With general, workers have every word go the general way, to compare the fast one with. It makes no difference but time.",
    ),
    (
        "METRICS",
        "--metrics serves /metrics over HTTP, in the text format of Prometheus (version 0.0.4). The counts of queues are given for \
each user and each worker, with what was done under grants that have ended. Labels have uids, of at most 1024 users, and \
\"others\" for the rest. --metrics-names lists each grant, too, in series of their own (millstream_grant_...), with its number, its process and the client's name. Clients choose these names, and each makes a series that Prometheus keeps, \
so use it if you trust the clients, or to look for something.

Everybody who can connect to a port can read the metrics, including every user of the machine. A socket in the file system \
(unix:PATH) has mode 0660: the service's user and group can connect, as far as its directory lets them. A request at a port is \
refused (421) unless it is for localhost, a loopback address, the address that it came to or a --metrics-host, so that web pages \
can't make browsers read the metrics. A connection lasts at most 5 s. There are at most 32; one more closes the one that has \
been idle longest.",
    ),
    (
        "EXAMPLES",
        "For yourself, and for a machine, with two accelerators on processors of their own:

  millstream serve
  millstream serve --policy /etc/millstream/policy.toml -n 2 --pin 2,3 --user millstream",
    ),
];

const CONTROL_STATUS: Section = (
    "EXIT STATUS",
    "0
  when it was done.
1
  when no service answers, or it refused.
2
  when the command was called wrongly.",
);

pub const STATUS: &[Section] = &[
    (
        "WORKERS",
        "WORKER, PID, CPU
  Its number, its process, and the processor it is pinned to.
LANES
  The mean number of operations it computed together, for all of its grants.
SLEEPS
  The number of times it went to sleep for want of work, in all and per second.
RESTARTS
  The number of times it died and was started again.
FOR
  What it serves: data, or private keys, whose operations take so long that they would stand in the way of data.
KEYS IN, SANDBOX
  The kind of memory its keys are in, and the sandbox it is in.",
    ),
    (
        "GRANTS",
        "GRANT, USER, PID, PROGRAM
  Its number and its owner, as the kernel identified the client when it connected.
QUEUES, IN FLIGHT
  Its queues, and how many operations each takes; operations that are in flight now.
OPS, OPS/S, BYTES/S
  Operations since the grant began; operations, and bytes of their sources, per second.
BELLS/S, WAKES/S
  How often per second a sleeping worker, or the sleeping client, had to be woken.
KEYS
  Keys it holds, of the slots it has.
ERRORS
  Operations that failed. Below the table they are listed by the rule they broke.",
    ),
    (
        "LIMITS",
        "LIMITS OF
  The service, each worker and each user that holds anything: the amount that is charged, and after a slash the limit. \
Users who share an account are shown as the one with the lowest number. Users other than root, the service's own and operators see only what is theirs; the first line says so.
GRANTS, CONNECTIONS, DESCRIPTORS, QUEUES
  Grants until their worker has let go, connections without a grant, descriptors of the service, queues.
MEMORY, KEY MEMORY
  Bytes of arenas and rings; bytes that are reserved for keys, 2 KiB for a key slot.
ORDERS
  Orders to make or end grants that a worker has not answered.",
    ),
    ("RATES", "Rates are those of the interval of --watch; without it, of 0.2 seconds."),
    CONTROL_STATUS,
    (
        "EXAMPLES",
        "A live view, and the busiest grant's number:

  millstream status --watch
  millstream status --json | jq '.grants | max_by(.operations_per_s).grant'",
    ),
];

pub const REVOKE: &[Section] = &[
    CONTROL_STATUS,
    (
        "EXAMPLES",
        "Two grants, and all of them:

  millstream revoke 3 7
  millstream revoke --all",
    ),
];

pub const MOVE: &[Section] = &[
    CONTROL_STATUS,
    (
        "EXAMPLES",
        "Grant 7 to worker 1:

  millstream move 7 1",
    ),
];

pub const RELOAD: &[Section] = &[CONTROL_STATUS];
