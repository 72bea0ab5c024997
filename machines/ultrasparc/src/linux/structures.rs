//! Structures that programs and the kernel share: the widths of their fields, as most differ from the host's only in
//! the order of bytes, and the few whose layout is SPARC's own.
//! Ref. Linux `arch/sparc/include/uapi/asm/{stat,termbits,posix_types}.h`.

/// The widths of a structure's fields, including padding.
pub type Widths = &'static [usize];

/// `struct timespec`.
pub const TIMESPEC: Widths = &[8, 8];
/// `struct itimerspec`.
pub const ITIMERSPEC: Widths = &[8; 4];
/// `struct rlimit64`.
pub const RLIMIT: Widths = &[8, 8];
/// `struct iovec`.
pub const IOVEC: Widths = &[8, 8];
/// `struct pollfd`.
pub const POLLFD: Widths = &[4, 2, 2];
/// `fd_set`: 1024 bits in words of 64.
pub const FD_SET: Widths = &[8; 16];
/// `struct tms`.
pub const TMS: Widths = &[8; 4];
/// `struct winsize`.
pub const WINSIZE: Widths = &[2; 4];
/// `struct flock`.
pub const FLOCK: Widths = &[2, 2, 4, 8, 8, 4, 4];
/// `struct f_owner_ex`, and a pair of descriptors.
pub const TWO_INTS: Widths = &[4, 4];
/// `struct statfs`.
pub const STATFS: Widths = &[8, 8, 8, 8, 8, 8, 8, 4, 4, 8, 8, 8, 8, 8, 8, 8];
/// `struct sysinfo`.
pub const SYSINFO: Widths = &[8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 2, 2, 4, 8, 8, 4, 4];
/// `struct statx`.
pub const STATX: Widths = &[
    4, 4, 8, 4, 4, 4, 2, 2, 8, 8, 8, 8, // up to the mask of attributes
    8, 4, 4, 8, 4, 4, 8, 4, 4, 8, 4, 4, // times
    4, 4, 4, 4, 8, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8,
];
/// The fixed part of `struct linux_dirent64`: inode, offset, length, type.
pub const DIRENT64: Widths = &[8, 8, 2, 1];
/// `struct ipc64_perm`, in which SPARC has the sequence number and the space beside it the other way round.
const IPC_PERM: Widths = &[4, 4, 4, 4, 4, 4, 2, 2, 4, 8, 8];
/// The fields after it in `struct shmid64_ds`, where SPARC has the size after the times.
const SHMID_REST: Widths = &[8, 8, 8, 8, 4, 4, 8, 8, 8];
/// The fields after it in `struct msqid64_ds`.
const MSQID_REST: Widths = &[8, 8, 8, 8, 8, 8, 4, 4, 8, 8];
/// `struct shminfo64`.
pub const SHMINFO: Widths = &[8; 9];
/// `struct shm_info`.
pub const SHM_INFO: Widths = &[4, 4, 8, 8, 8, 8, 8];
/// `struct seminfo`.
pub const SEMINFO: Widths = &[4; 10];
/// `struct msginfo`.
pub const MSGINFO: Widths = &[4, 4, 4, 4, 4, 4, 4, 2];
/// `struct sembuf`.
pub const SEMBUF: Widths = &[2, 2, 2];
/// `struct mq_attr`.
pub const MQ_ATTR: Widths = &[8; 8];
/// `struct inotify_event` without its name.
pub const INOTIFY_EVENT: Widths = &[4, 4, 4, 4];

/// Turns big-endian fields into the host's, or back.
pub fn swap(bytes: &mut [u8], widths: Widths) {
    let mut rest = bytes;
    for width in widths {
        let Some((field, after)) = rest.split_at_mut_checked(*width) else { return };
        swap_word(field);
        rest = after;
    }
}

/// Swaps the fields of each structure of an array.
pub fn swap_each(bytes: &mut [u8], widths: Widths) {
    for one in bytes.chunks_exact_mut(widths.iter().sum()) {
        swap(one, widths);
    }
}

/// Swaps one field.
pub fn swap_word(field: &mut [u8]) {
    if cfg!(target_endian = "little") {
        field.reverse();
    }
}

/// The big-endian fields of a structure, written one after another.
#[derive(Default)]
pub struct Fields(Vec<u8>);

impl Fields {
    /// An empty structure.
    #[must_use]
    pub fn new() -> Fields {
        Fields::default()
    }

    /// Adds eight bytes.
    #[must_use]
    pub fn u64(mut self, value: u64) -> Fields {
        self.0.extend(value.to_be_bytes());
        self
    }

    /// Adds four bytes.
    #[must_use]
    pub fn u32(mut self, value: u32) -> Fields {
        self.0.extend(value.to_be_bytes());
        self
    }

    /// Adds two bytes.
    #[must_use]
    pub fn u16(mut self, value: u16) -> Fields {
        self.0.extend(value.to_be_bytes());
        self
    }

    /// Adds zeros up to that many bytes in all.
    #[must_use]
    pub fn pad(mut self, length: usize) -> Fields {
        self.0.resize(length.max(self.0.len()), 0);
        self
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(self) -> Vec<u8> {
        self.0
    }
}

/// The host's 64-bit word at an offset.
#[must_use]
pub fn host_u64(bytes: &[u8], offset: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_ne_bytes(word)
}

/// The host's 32-bit word at an offset.
#[must_use]
pub fn host_u32(bytes: &[u8], offset: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_ne_bytes(word)
}

/// A program's 64-bit word at an offset.
#[must_use]
pub fn guest_u64(bytes: &[u8], offset: usize) -> u64 {
    u64::from_be(host_u64(bytes, offset))
}

/// A program's 32-bit word at an offset.
#[must_use]
pub fn guest_u32(bytes: &[u8], offset: usize) -> u32 {
    u32::from_be(host_u32(bytes, offset))
}

/// `struct timeval` from the host's, with SPARC's microseconds, which are an `int`.
#[must_use]
pub fn timeval_of_host(host: &[u8]) -> Vec<u8> {
    Fields::new().u64(host_u64(host, 0)).u32(host_u64(host, 8) as u32).u32(0).bytes()
}

/// The host's `struct timeval`.
#[must_use]
pub fn timeval_of_guest(guest: &[u8]) -> [u8; 16] {
    let microseconds = i64::from(guest_u32(guest, 8) as i32);
    let mut host = [0; 16];
    host[..8].copy_from_slice(&guest_u64(guest, 0).to_ne_bytes());
    host[8..].copy_from_slice(&microseconds.to_ne_bytes());
    host
}

/// `struct rusage` from the host's.
#[must_use]
pub fn rusage_of_host(host: &[u8]) -> Vec<u8> {
    let mut guest = timeval_of_host(&host[..16]);
    guest.extend(timeval_of_host(&host[16..32]));
    let rest = guest.len();
    guest.extend_from_slice(&host[32..144]);
    swap_each(&mut guest[rest..], &[8]);
    guest
}

/// The answer of `statx`, from which the older structures are made.
pub struct Stat<'a>(pub &'a [u8]);

impl Stat<'_> {
    fn u64(&self, offset: usize) -> u64 {
        host_u64(self.0, offset)
    }

    fn u32(&self, offset: usize) -> u32 {
        host_u32(self.0, offset)
    }

    fn mode(&self) -> u32 {
        u32::from(u16::from_ne_bytes([self.0[28], self.0[29]]))
    }

    /// True for a regular file.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.mode() & libc::S_IFMT == libc::S_IFREG
    }

    /// True for `/dev/zero`, a mapping of which is memory.
    #[must_use]
    pub fn is_zero_device(&self) -> bool {
        self.mode() & libc::S_IFMT == libc::S_IFCHR && (self.u32(128), self.u32(132)) == (1, 5)
    }

    /// The file's size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.u64(40)
    }

    /// A device's number, as the kernel gives it to programs.
    fn device(&self, offset: usize) -> u64 {
        let (major, minor) = (u64::from(self.u32(offset)), u64::from(self.u32(offset + 4)));
        minor & 0xff | major << 8 | (minor & !0xff) << 12
    }

    /// `struct stat64`.
    #[must_use]
    pub fn stat64(&self) -> Vec<u8> {
        let fields = Fields::new().u64(self.device(136)).u64(self.u64(32)).u64(u64::from(self.u32(16)));
        let fields = fields.u32(self.mode()).u32(self.u32(20)).u32(self.u32(24)).u32(0);
        let fields =
            fields.u64(self.device(128)).u64(self.u64(40)).u64(u64::from(self.u32(4))).u64(self.u64(48));
        let times = [64, 112, 96].into_iter();
        let fields =
            times.fold(fields, |fields, at| fields.u64(self.u64(at)).u64(u64::from(self.u32(at + 8))));
        fields.pad(144).bytes()
    }

    /// `struct stat`.
    #[must_use]
    pub fn stat(&self) -> Vec<u8> {
        let fields = Fields::new().u32(self.device(136) as u32).u32(0).u64(self.u64(32)).u32(self.mode());
        let fields = fields.u16(self.u32(16) as u16).u16(0).u32(self.u32(20)).u32(self.u32(24));
        let fields = fields.u32(self.device(128) as u32).u32(0).u64(self.u64(40));
        let fields = fields.u64(self.u64(64)).u64(self.u64(112)).u64(self.u64(96));
        fields.u64(u64::from(self.u32(4))).u64(self.u64(48)).pad(104).bytes()
    }
}

/// Bytes of `struct ipc64_perm`.
const IPC_PERM_BYTES: usize = 48;

/// Bytes of `struct semid64_ds` on SPARC.
pub const SEMID_BYTES: usize = 88;

fn swap_permissions(bytes: &mut [u8]) {
    swap(bytes, IPC_PERM);
    bytes[24..28].rotate_left(2);
}

/// `struct shmid64_ds` from the host's, in its place.
pub fn shmid_of_host(bytes: &mut [u8]) {
    swap_permissions(bytes);
    swap(&mut bytes[IPC_PERM_BYTES..], SHMID_REST);
    bytes[IPC_PERM_BYTES..IPC_PERM_BYTES + 32].rotate_left(8);
}

/// The host's `struct shmid64_ds`, in its place.
pub fn shmid_to_host(bytes: &mut [u8]) {
    swap_permissions(bytes);
    swap(&mut bytes[IPC_PERM_BYTES..], SHMID_REST);
    bytes[IPC_PERM_BYTES..IPC_PERM_BYTES + 32].rotate_right(8);
}

/// `struct msqid64_ds` from the host's or back, in its place.
pub fn swap_msqid(bytes: &mut [u8]) {
    swap_permissions(bytes);
    swap(&mut bytes[IPC_PERM_BYTES..], MSQID_REST);
}

/// The offsets of the two times and of the number of semaphores in the host's `struct semid64_ds`.
const SEMID: [usize; 3] = [
    std::mem::offset_of!(libc::semid_ds, sem_otime),
    std::mem::offset_of!(libc::semid_ds, sem_ctime),
    std::mem::offset_of!(libc::semid_ds, sem_nsems),
];

/// The number of semaphores in the host's `struct semid64_ds`.
#[must_use]
pub fn semaphores(host: &[u8]) -> u64 {
    host_u64(host, SEMID[2])
}

/// `struct semid64_ds` from the host's.
#[must_use]
pub fn semid_of_host(host: &[u8]) -> Vec<u8> {
    let mut bytes = host[..IPC_PERM_BYTES].to_vec();
    swap_permissions(&mut bytes);
    for at in SEMID {
        bytes.extend(host_u64(host, at).to_be_bytes());
    }
    bytes.resize(SEMID_BYTES, 0);
    bytes
}

/// The host's `struct semid64_ds`, with the fields that a program may set, which are all in its beginning.
#[must_use]
pub fn semid_to_host(guest: &[u8]) -> [u8; std::mem::size_of::<libc::semid_ds>()] {
    let mut host = [0; std::mem::size_of::<libc::semid_ds>()];
    host[..IPC_PERM_BYTES].copy_from_slice(&guest[..IPC_PERM_BYTES]);
    swap_permissions(&mut host);
    host
}

/// Swaps the entries of a directory, as the host wrote them.
pub fn dirents_of_host(bytes: &mut [u8]) {
    let mut rest = bytes;
    while rest.len() >= 19 {
        let length = usize::from(u16::from_ne_bytes([rest[16], rest[17]])).max(19);
        swap(rest, DIRENT64);
        let Some((_, after)) = rest.split_at_mut_checked(length) else { return };
        rest = after;
    }
}

/// The index on SPARC of each of the terminal's control characters, in the order of the host's: VINTR, VQUIT, VERASE,
/// VKILL, VEOF, VTIME, VMIN, VSWTC, VSTART, VSTOP, VSUSP, VEOL, VREPRINT, VDISCARD, VWERASE, VLNEXT, VEOL2. VMIN and
/// VTIME share places with VEOF and VEOL.
const CONTROL: [usize; 17] = [0, 1, 2, 3, 4, 5, 4, 7, 8, 9, 10, 5, 12, 13, 14, 15, 6];

/// The indices, in the host's order, of the characters that share places.
const VEOF: usize = 4;
const VTIME: usize = 5;
const VMIN: usize = 6;
const VEOL: usize = 11;

/// `ICANON`, which says which characters the shared places hold.
const CANONICAL: u32 = 2;

/// Bytes of `struct termios` on SPARC and on the host: four words, the line discipline, the control characters.
pub const TERMIOS_BYTES: (usize, usize) = (36, 36);

/// `struct termios` from the host's.
#[must_use]
pub fn termios_of_host(host: &[u8]) -> Vec<u8> {
    let canonical = host_u32(host, 12) & CANONICAL != 0;
    let mut guest = host[..17].to_vec();
    swap(&mut guest, &[4; 4]);
    guest.resize(TERMIOS_BYTES.0, 0);
    for (from, to) in CONTROL.iter().enumerate() {
        let hidden = if canonical { [VTIME, VMIN] } else { [VEOF, VEOL] };
        if !hidden.contains(&from) {
            guest[17 + to] = host[17 + from];
        }
    }
    guest
}

/// The host's `struct termios`; `before` is its former value, for fields that SPARC's structure does not give.
#[must_use]
pub fn termios_of_guest(guest: &[u8], before: &[u8]) -> Vec<u8> {
    let canonical = guest_u32(guest, 12) & CANONICAL != 0;
    let mut host = before.to_vec();
    host[..17].copy_from_slice(&guest[..17]);
    swap(&mut host, &[4; 4]);
    for (to, from) in CONTROL.iter().enumerate() {
        let hidden = if canonical { [VTIME, VMIN] } else { [VEOF, VEOL] };
        if !hidden.contains(&to) {
            host[17 + to] = guest[17 + from];
        }
    }
    host
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_kernel() {
        let length = |widths: Widths| widths.iter().sum::<usize>();
        assert_eq!(length(STATX), 256);
        assert_eq!(length(STATFS), 120);
        assert_eq!(length(SYSINFO), 112);
        assert_eq!(length(FLOCK), 32);
        assert_eq!(Stat(&[0; 256]).stat64().len(), 144);
        assert_eq!(Stat(&[0; 256]).stat().len(), 104);
        assert_eq!(rusage_of_host(&[0; 144]).len(), 144);
        assert_eq!((length(IPC_PERM), length(SHMID_REST), length(MSQID_REST)), (48, 64, 72));
        assert_eq!(semid_of_host(&[0; std::mem::size_of::<libc::semid_ds>()]).len(), 88);
    }

    #[test]
    fn a_segment_s_size_follows_its_times() {
        let host: Vec<u8> = (0..112).collect();
        let mut guest = host.clone();
        shmid_of_host(&mut guest);
        assert_eq!(guest_u64(&guest, 72), host_u64(&host, 48), "size");
        assert_eq!(guest_u64(&guest, 48), host_u64(&host, 56), "time of attaching");
        assert_eq!(guest_u32(&guest, 80), host_u32(&host, 80), "creator");
        assert_eq!(&guest[26..28], [25, 24], "sequence number");
        shmid_to_host(&mut guest);
        assert_eq!(guest, host);
    }

    #[test]
    fn a_program_sees_microseconds_in_an_int() {
        let mut host = [0; 16];
        host[..8].copy_from_slice(&5_u64.to_ne_bytes());
        host[8..].copy_from_slice(&7_u64.to_ne_bytes());
        let guest = timeval_of_host(&host);
        assert_eq!(guest, [0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 0]);
        assert_eq!(timeval_of_guest(&guest), host);
    }

    #[test]
    fn a_terminal_is_set_as_it_was_read() {
        let mut host: Vec<u8> = (100..136).collect();
        for canonical in [0, CANONICAL] {
            host[12..16].copy_from_slice(&canonical.to_ne_bytes());
            assert_eq!(termios_of_guest(&termios_of_host(&host), &host), host);
        }
    }

    #[test]
    fn each_entry_of_a_directory_is_turned_over() {
        let entry = |inode: u64, length: u16| {
            let mut bytes =
                [&inode.to_ne_bytes()[..], &9_u64.to_ne_bytes(), &length.to_ne_bytes(), &[4, b'a', 0]]
                    .concat();
            bytes.resize(usize::from(length), 0);
            bytes
        };
        let mut bytes = [entry(1, 24), entry(2, 32)].concat();
        dirents_of_host(&mut bytes);
        assert_eq!(guest_u64(&bytes, 0), 1);
        assert_eq!(guest_u64(&bytes, 24), 2);
        assert_eq!(bytes[24 + 16..24 + 20], [0, 32, 4, b'a']);
    }
}
