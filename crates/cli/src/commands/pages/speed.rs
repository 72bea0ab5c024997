//! The page of `speed`.

use super::Section;

pub const SPEED: &[Section] = &[
    (
        "WAYS",
        "direct
  One call for each object, with the key kept.
batch
  One call for as many objects as --depth says, side by side in vector lanes where that pays.
queue
  As many operations in flight as --depth says, with their objects in the queue's arena. The thread that \
polls for results computes them.
queue-thread
  The same, computed by a second thread. It is measured only when named, because it takes another core.
isolated
  The same, with the accelerator in a worker of the service, so that keys are out of this process's reach. It is measured \
only with --isolated. If no service runs, one is started for the run.
openssl
  OpenSSL 3, with everything fetched and every key set beforehand.
openssl-oneshot
  The same, but everything is fetched, made and freed for each object.
getrandom
  The kernel's random bytes, with a system call for each object. For rng only, whose bytes nobody can compare: they must be new.
pkcs11
  Two calls of the module for each object, with a session and a key kept. The key is sensitive and not extractable.
softhsm
  The same with SoftHSM, loaded into the process, and a token that is made for the run. It is measured only with \
--against softhsm.
p11-kit
  The same with SoftHSM in another process, behind the server of p11-kit. It is measured only with --against p11-kit. The \
version in Debian 12 can't carry the parameters of CBC, CTR and GCM, so only ECB, digests and HMACs are measured there.",
    ),
    (
        "FIGURES",
        "Bytes are those of the data, without tags. GB are 10^9 bytes. The ways take about 200 short turns \
each. A figure is what the fastest tenth of the turns reached, because the machine was busy with something else in the others. \
With several threads, GB and operations a second are the sum over all threads; ns and cycles are the time that one \
thread spends on an object. Cycles follow from the core's clock, which is measured in each turn. Latencies are those of \
single operations, from submission to result; all objects of a batch have the same. With isolated keys, a last table gives \
the ratio of the isolated queue's operations a second to those of the other ways that keep keys out of reach, and to those \
of the queue in this process.",
    ),
    (
        "WARNINGS",
        "A warning on standard error says when something disturbed the measurement: a hypervisor that kept the processors for \
others (more than 1 % of the time), other programs (more than a tenth of all processors), waiting for a processor (more than \
2 % of the time), or turns of one figure that differ by more than a factor of 1.25. The ways take turns, so ratios within a run suffer \
less than the figures. With --json the warnings are the member disturbed, an array of objects with kind (stolen, others, waited or \
spread) and text.",
    ),
    (
        "EXIT STATUS",
        "0
  when everything was measured.
1
  when results differ, an algorithm is unknown or a library can't be used. Nothing is printed then.
2
  when the command was called wrongly.",
    ),
    (
        "EXAMPLES",
        "AES-GCM as openssl speed would show it, then packets of a mix of lengths, opened:

  millstream speed --show kb aes-128-gcm
  millstream speed --bytes imix --decrypt aes-128-gcm chacha20-poly1305

The cost of isolation, beside the cost of the usual ways of isolation:

  millstream speed --isolated --against softhsm,p11-kit aes-128-ecb hmac-sha256

A curve over packet lengths, and the cost of the same through SoftHSM:

  millstream speed --bytes 64-1500:4 --plot cbc.svg aes-128-cbc
  millstream speed --pkcs11 /usr/lib/softhsm/libsofthsm2.so --pin-file pin aes-128-cbc",
    ),
];
