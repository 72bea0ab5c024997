//! The page of `millstream doctor`.

use super::Section;

pub const DOCTOR: &[Section] = &[
    (
        "CHECKS",
        "machine
  The processor's name and the kernels in use, with what MILLSTREAM_HWCAP masks; whether every kernel gives the published \
answers; the version of Linux; whether the time-stamp counter is constant, by which millstream speed measures; the load.
isolation
  The limit of locked memory beside what a worker takes. A service is started for a moment, and its worker says where keys \
lie (memfd_secret, or locked memory that root can read) and what its sandbox has.
service
  Whether a service answers, whose it is, whether this user gets a grant, and whether the policy file can be used.
openssl
  The version of libcrypto and of the program openssl; the provider's module, and whether OpenSSL loads it.
tracing
  Whether programs can be traced that run already, and whether features can be withheld from programs.",
    ),
    (
        "STATES",
        "ok
  Everything is as it should be.
warn
  Something works less well than it could, or is not there and nobody asked for it.
fail
  Something does not work, or is not there although it was asked for: by its part, by --socket, by MILLSTREAM_SOCKET or by \
--module.",
    ),
    (
        "JSON",
        "--json writes one object: version, and checks with part, check, state, found and remedy. The version changes only when a \
field goes or changes its meaning; the words in found and remedy are for people.",
    ),
    (
        "EXIT STATUS",
        "0
  when nothing failed; warnings don't count.
1
  when something failed.
2
  when it was called wrongly.",
    ),
    (
        "EXAMPLES",
        "Everything, and in a script that needs the service:

  millstream doctor
  millstream doctor service --socket /run/millstream/millstream.sock",
    ),
];
