//! The associations and policies that a daemon of IKE has given to the kernel, followed through `NETLINK_XFRM`.
//!
//! Events are asked for before the lists are, so nothing is missed in between. If the kernel had to drop events, the lists are read again. The kernel's messages have
//! keys in them, which are wiped behind their reading, and only the kernel itself is listened to.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use millstream_esp::{
    Description, Direction, KERNEL_GROUPS, KernelList, KernelMessage, KernelState, Policy, Sa, ask_kernel,
    kernel_messages,
};
use rustix::io::Errno;
use rustix::net::netlink::{SocketAddrNetlink, XFRM};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, sendto, socket_with,
    sockopt,
};
use zeroize::{Zeroize, Zeroizing};

use super::add;
use super::changes::Changes;
use super::plane::Plane;
use crate::error::{Error, plain};

/// Says something to the user, from any thread.
pub(crate) type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// The longest datagram: the kernel makes lists of 32 KiB at most.
const LONGEST: usize = 1 << 17;

/// The bytes of events that wait while this process is busy.
const KEPT: usize = 4 << 20;

/// The times that a list is read again because it changed meanwhile.
const TRIES: usize = 100;

/// The time in which packets under way end before an association is replaced.
const UNDER_WAY: Duration = Duration::from_secs(1);

/// A connection to the kernel's IPsec.
pub(super) struct Kernel {
    socket: OwnedFd,
    room: Zeroizing<Vec<u8>>,
}

impl Kernel {
    /// Connects, and asks for events.
    ///
    /// # Errors
    /// [`Error::Serve`]: this kernel has no such socket, or this process no right to it.
    pub(super) fn open() -> Result<Self, Error> {
        Kernel::connect(KERNEL_GROUPS)
    }

    /// Takes over what the kernel has, and follows its changes in a thread of its own.
    ///
    /// # Errors
    /// As for [`Kernel::open`].
    pub(super) fn follow(self, plane: &Arc<Plane>, say: &Say) -> Result<(), Error> {
        let follower =
            Follower { plane: plane.clone(), say: say.clone(), states: HashSet::new(), policies: Vec::new() };
        let mut following = Following { kernel: self, follower };
        following.read_lists()?;
        let thread = thread::Builder::new().name("esp-kernel".to_owned());
        let started = thread.spawn(move || following.go_on());
        started.map_err(|source| Error::Write { name: "threads".to_owned(), source })?;
        Ok(())
    }

    fn connect(groups: u32) -> Result<Self, Error> {
        let connect = || {
            let socket =
                socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(XFRM))?;
            let _ = sockopt::set_socket_recv_buffer_size(&socket, KEPT);
            bind(&socket, &SocketAddrNetlink::new(0, groups))?;
            Ok(socket)
        };
        match connect() {
            Ok(socket) => Ok(Kernel { socket, room: Zeroizing::new(vec![0; LONGEST]) }),
            Err(error) => Err(refused(error)),
        }
    }

    /// Asks for a list, and hands everything that comes up to its end to `take`. Returns false if the list changed meanwhile.
    fn list(
        &mut self,
        list: KernelList,
        mut take: impl FnMut(Result<KernelMessage, String>),
    ) -> Result<bool, Error> {
        let to = SocketAddrNetlink::new(0, 0);
        sendto(&self.socket, &ask_kernel(list, 1), SendFlags::empty(), &to).map_err(refused)?;
        let mut is_whole = true;
        loop {
            let mut ended = None;
            self.receive(|message| match message {
                Ok(KernelMessage::End { whole }) => ended = Some(Ok(whole)),
                Ok(KernelMessage::Refused(number)) => {
                    ended = Some(Err(refused(Errno::from_raw_os_error(number))));
                }
                message => take(message),
            })
            .or_else(|error| match error {
                // Some events were dropped, and parts of the list perhaps.
                Errno::NOBUFS => {
                    is_whole = false;
                    Ok(())
                }
                error => Err(refused(error)),
            })?;
            if let Some(ended) = ended {
                return Ok(ended? && is_whole);
            }
        }
    }

    /// Waits for a datagram, and hands its messages to `take`.
    fn receive(&mut self, mut take: impl FnMut(Result<KernelMessage, String>)) -> Result<(), Errno> {
        let (_, len, from) = match recvfrom(&self.socket, &mut self.room[..], RecvFlags::TRUNC) {
            Err(Errno::INTR) => return Ok(()),
            received => received?,
        };
        let from_kernel = from.and_then(|from| SocketAddrNetlink::try_from(from).ok());
        if from_kernel.is_some_and(|from| from.pid() == 0) {
            let datagram = self.room.get(..len).unwrap_or_default();
            if datagram.is_empty() {
                take(Err("a message of the kernel that is too long".to_owned()));
            }
            kernel_messages(datagram).for_each(|message| take(message.map_err(|error| error.to_string())));
        }
        self.room[..len.min(LONGEST)].zeroize();
        Ok(())
    }
}

fn refused(error: Errno) -> Error {
    let what = match error {
        Errno::PROTONOSUPPORT | Errno::AFNOSUPPORT => {
            "this kernel has no NETLINK_XFRM (CONFIG_XFRM_USER); give associations with --sa or millstream esp add"
        }
        Errno::PERM | Errno::ACCESS => {
            "this process may not see the associations of this network namespace, which needs CAP_NET_ADMIN there; start it as root, or in the namespace of the daemon"
        }
        _ => return Error::Serve(format!("the kernel's IPsec: {}", plain(&error.into()))),
    };
    Error::Serve(format!("the kernel's IPsec: {what}"))
}

/// Returns the associations that the kernel has now, for their keys.
///
/// # Errors
/// As for [`Kernel::open`].
pub(super) fn states() -> Result<Vec<Description>, Error> {
    let mut all = Vec::new();
    Kernel::connect(0)?.list(KernelList::States, |message| {
        if let Ok(KernelMessage::State(state)) = message {
            all.push(*state);
        }
    })?;
    Ok(all)
}

struct Following {
    kernel: Kernel,
    follower: Follower,
}

impl Following {
    fn go_on(mut self) {
        loop {
            let Following { kernel, follower } = &mut self;
            match kernel.receive(|message| follower.take(message)) {
                Ok(()) => follower.set_policies(),
                // Some events were dropped.
                Err(Errno::NOBUFS) => {
                    if let Err(error) = self.read_lists() {
                        (self.follower.say)(&error.to_string());
                    }
                }
                Err(error) => {
                    (follower.say)(&format!("the kernel's IPsec is not followed any more: {error}"));
                    return;
                }
            }
        }
    }

    /// Reads both lists, and removes what is in neither.
    fn read_lists(&mut self) -> Result<(), Error> {
        let Following { kernel, follower } = self;
        for _ in 0..TRIES {
            let before = std::mem::take(&mut follower.states);
            follower.policies.clear();
            // An association that is there still is found in the plane when it is told.
            let mut is_whole = kernel.list(KernelList::States, |message| follower.take(message))?;
            is_whole &= kernel.list(KernelList::Policies, |message| follower.take(message))?;
            if is_whole {
                before.difference(&follower.states.clone()).for_each(|gone| follower.remove(*gone));
                follower.set_policies();
                return Ok(());
            }
            follower.states.extend(before);
        }
        Err(Error::Serve("the kernel's associations change faster than they can be read".to_owned()))
    }
}

/// The associations and policies of a data plane that are the kernel's.
struct Follower {
    plane: Arc<Plane>,
    say: Say,
    states: HashSet<KernelState>,
    /// The policies, and whether each is one for packets that are forwarded.
    policies: Vec<(Policy, bool)>,
}

impl Follower {
    fn take(&mut self, message: Result<KernelMessage, String>) {
        let ended = match message {
            Ok(KernelMessage::State(state)) => self.add(*state),
            Ok(KernelMessage::StateGone(state) | KernelMessage::Expired { state, hard: true }) => {
                self.remove(state);
                Ok(())
            }
            Ok(KernelMessage::StatesGone) => {
                self.states.clone().into_iter().for_each(|state| self.remove(state));
                Ok(())
            }
            Ok(KernelMessage::Expired { state, hard: false }) => {
                self.plane.table().get(state.spi, state.destination).into_iter().for_each(Sa::soften);
                Ok(())
            }
            Ok(KernelMessage::Policy { policy, forwarded }) => {
                self.forget_policy(&policy, forwarded);
                self.policies.push((policy, forwarded));
                Ok(())
            }
            Ok(KernelMessage::PolicyGone { policy, forwarded }) => {
                self.forget_policy(&policy, forwarded);
                Ok(())
            }
            Ok(KernelMessage::PoliciesGone) => {
                self.policies.clear();
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(what) => Err(what),
        };
        if let Err(what) = ended {
            self.plane.events.not_followed.fetch_add(1, Ordering::Relaxed);
            (self.say)(&format!("from the kernel: {what}"));
        }
    }

    /// Adds an association, or replaces it if it is another one now.
    fn add(&mut self, mut state: Description) -> Result<(), String> {
        let id = KernelState { spi: state.spi, destination: state.destination };
        let plane = self.plane.clone();
        // An association that replaces another one goes on with its socket.
        let mut changes = Changes::begin(&plane);
        let known = plane.table().get(id.spi, id.destination).cloned();
        if let Some(known) = known {
            let fingerprint = state.keys.fingerprint(state.suite).map_err(|error| error.to_string())?;
            let is_same_key = known.fingerprint() == fingerprint;
            if is_same_key && known.facts().is_alike(&state) {
                self.states.insert(id);
                return Ok(());
            }
            self.states.remove(&id);
            changes.remove(id.spi, Some(id.destination));
            if is_same_key && known.direction() == Direction::In {
                // Whatever the old window accepts until then, the new one does not accept again.
                end_packets(&known);
                state.last_accepted = state.last_accepted.max(known.highest());
            }
        }
        add::one(&mut changes, state).map_err(|what| format!("association {:#010x}: {what}", id.spi))?;
        self.states.insert(id);
        Ok(())
    }

    fn remove(&mut self, id: KernelState) {
        self.states.remove(&id);
        // One that could not be made is not there.
        Changes::begin(&self.plane).remove(id.spi, Some(id.destination));
    }

    fn forget_policy(&mut self, policy: &Policy, forwarded: bool) {
        self.policies.retain(|(other, of_forwarded)| {
            (other.direction, other.selector, *of_forwarded) != (policy.direction, policy.selector, forwarded)
        });
    }

    fn set_policies(&mut self) {
        let mut policies: Vec<Policy> = self.policies.iter().map(|(policy, _)| policy.clone()).collect();
        policies.sort_by_key(|policy| policy.priority);
        let is_new = self.plane.table().policies() != policies;
        if is_new {
            self.plane.table_mut().set_policies(policies);
        }
    }
}

/// Waits until no packet is under way in an association that was removed, but for a worker that is stuck.
fn end_packets(removed: &Arc<Sa>) {
    const STEP: Duration = Duration::from_millis(1);
    // The record has it, too, and so has the caller.
    let holders = 2;
    let mut waited = Duration::ZERO;
    while Arc::strong_count(removed) > holders && waited < UNDER_WAY {
        thread::sleep(STEP);
        waited += STEP;
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use millstream_esp::{Place, Workers, parse};

    use super::*;
    use crate::esp::options::Options;
    use crate::esp::records::Records;
    use crate::esp::tun::Tun;

    #[test]
    fn what_is_missing_is_said_with_the_remedy() {
        let text = |error: Errno| refused(error).to_string();
        assert!(text(Errno::PROTONOSUPPORT).contains("CONFIG_XFRM_USER"));
        assert!(text(Errno::PERM).contains("CAP_NET_ADMIN") && !text(Errno::IO).contains("CAP_NET_ADMIN"));
    }

    /// Says that this process is one in namespaces of its own.
    const INSIDE: &str = "MILLSTREAM_TEST_INSIDE";

    /// Runs itself again in a user namespace, where a TUN device may be made.
    #[test]
    fn associations_are_added_replaced_and_removed() {
        if std::env::var_os(INSIDE).is_some() {
            follow_messages();
            return;
        }
        const NAME: &str = "esp::kernel::tests::associations_are_added_replaced_and_removed";
        let inside =
            "ip link set lo up && ip tuntap add probe mode tun && echo can && exec \"$0\" --exact $NAME";
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "sh", "-c", inside]);
        command.arg(std::env::current_exe().unwrap()).env(INSIDE, "1").env("NAME", NAME);
        let Some(ended) = command.output().ok().filter(|ended| ended.stdout.starts_with(b"can")) else {
            println!("SKIPPED {NAME}: this needs user namespaces, TUN devices and iproute2");
            return;
        };
        let said = String::from_utf8_lossy(&ended.stdout);
        let error = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success() && said.contains("1 passed"), "{said}\n{error}");
    }

    fn state(spi: u32, direction: &str, more: &str) -> Description {
        let text = format!(
            "src 127.0.0.1 dst 127.0.0.2 proto esp spi {spi} mode tunnel dir {direction} replay-window 32 \
             aead rfc4106(gcm(aes)) 0x{spi:040x} 128 encap type espinudp sport 4500 dport 4500 {more}"
        );
        parse(&text).unwrap().states.remove(0)
    }

    fn follow_messages() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            tun: "esp0".to_owned(),
            file: None,
            from_kernel: true,
            state: folder.path().join("state"),
            control: folder.path().join("control"),
            workers: 0,
            most_sockets: 2,
            mtu: 1500,
            least_path_mtu: Some(1280),
            keepalive: None,
            follows: false,
            service: None,
        };
        let (tun, records) = (Tun::create("esp0").unwrap(), Records::open(&options.state).unwrap());
        let workers = Workers::start(Place::Here, 0).unwrap();
        let plane = Arc::new(Plane::new(tun, Place::Here, records, workers, &options));
        let mut follower = Follower {
            plane: plane.clone(),
            say: Arc::new(|_| {}),
            states: HashSet::new(),
            policies: Vec::new(),
        };
        let id = |spi| KernelState { spi, destination: [127, 0, 0, 2].into() };
        let get = |spi| plane.table().get(spi, id(spi).destination).cloned();
        let mut tell = |message| follower.take(Ok(message));
        let mut told = |state: Description| tell(KernelMessage::State(Box::new(state)));

        told(state(0x101, "out", ""));
        told(state(0x102, "in", "replay-seq 9"));
        let (first, opening) = (get(0x101).unwrap(), get(0x102).unwrap());
        assert_eq!((first.direction(), opening.direction()), (Direction::Out, Direction::In));
        // The numbers that the kernel has come to change nothing, and limits do.
        told(state(0x101, "out", "replay-oseq 5"));
        assert!(Arc::ptr_eq(&first, &get(0x101).unwrap()));
        drop(opening);
        told(state(0x102, "in", "limit packet-hard 5"));
        let replaced = get(0x102).unwrap();
        assert_eq!((replaced.facts().limits.hard.packets, replaced.highest()), (Some(5), 9));
        // The same key under another SPI would repeat vectors.
        told(Description { spi: 0x103, ..state(0x101, "out", "") });
        assert!(get(0x103).is_none());
        assert_eq!(plane.events.not_followed.load(Ordering::Relaxed), 1);

        tell(KernelMessage::Expired { state: id(0x101), hard: false });
        assert!(get(0x101).unwrap().is_soft() && !get(0x101).unwrap().is_over());
        tell(KernelMessage::Expired { state: id(0x101), hard: true });
        assert!(get(0x101).is_none() && get(0x102).is_some());
        tell(KernelMessage::StateGone(id(0x102)));
        tell(KernelMessage::StateGone(id(0x102)));
        assert!(get(0x102).is_none());
        // After it was removed, a key goes on behind the numbers that were reserved.
        tell(KernelMessage::State(Box::new(state(0x101, "out", ""))));
        tell(KernelMessage::StatesGone);
        assert_eq!((plane.table().all().count(), plane.outer.count()), (0, 0));
    }
}
