//! The options of a data plane.

use std::path::PathBuf;
use std::time::Duration;

use millstream::isolated::Attach;

/// The options of a data plane.
pub(crate) struct Options {
    /// The name of the device.
    pub(crate) tun: String,
    /// The file with associations and policies, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// True if the kernel's associations and policies are followed.
    pub(crate) from_kernel: bool,
    /// The folder of the records.
    pub(crate) state: PathBuf,
    /// The socket by which it is changed.
    pub(crate) control: PathBuf,
    /// The number of threads that compute.
    pub(crate) workers: usize,
    /// The most sockets for outer packets.
    pub(crate) most_sockets: usize,
    /// The longest outer packet.
    pub(crate) mtu: usize,
    /// The MTU below which no message of ICMP is believed; none if no message is.
    pub(crate) least_path_mtu: Option<usize>,
    /// The time without a packet after which a keep-alive is sent.
    pub(crate) keepalive: Option<Duration>,
    /// True if packets go to where a peer's newest authentic packet came from.
    pub(crate) follows: bool,
    /// The service that holds the keys, if one does.
    pub(crate) service: Option<Attach>,
}
