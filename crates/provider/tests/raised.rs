//! A set-user-ID program with keys in the service: what its caller says of sockets is not looked at. It needs root and a C compiler.
//!
//! # Safety
//! Sockets are opened by the C library's calls, with addresses that live as long as the call.
#![allow(unsafe_code)]

mod support;

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{libcrypto_path, modules};

/// The user who starts the program.
const NOBODY: u32 = 65534;

/// Much longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Loads a configuration, sets a key, and says what came of it. It declares what it calls, so no headers are needed.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <sys/auxv.h>
void *OSSL_LIB_CTX_new(void);
int OSSL_LIB_CTX_load_config(void *, const char *);
void *EVP_CIPHER_fetch(void *, const char *, const char *);
void *EVP_CIPHER_CTX_new(void);
int EVP_CipherInit_ex2(void *, void *, const unsigned char *, const unsigned char *, int, const void *);
unsigned long ERR_get_error_all(const char **, int *, const char **, const char **, int *);
int main(int argc, char **argv) {
    void *library = OSSL_LIB_CTX_new();
    int loaded = argc > 1 && OSSL_LIB_CTX_load_config(library, argv[1]);
    void *cipher = EVP_CIPHER_fetch(library, "AES-128-CBC", "millstream.isolated=yes");
    unsigned char iv[16] = {0};
    int set = cipher && EVP_CipherInit_ex2(EVP_CIPHER_CTX_new(), cipher,
        (const unsigned char *)"TOP-SECRET-KEY!!", iv, 1, NULL);
    printf("secure %d loaded %d fetched %d set %d\n", getauxval(AT_SECURE) != 0, loaded, cipher != NULL, set);
    const char *data = "";
    int flags = 0;
    while (ERR_get_error_all(NULL, NULL, NULL, &data, &flags)) printf("%s\n", data ? data : "");
    return 0;
}
"#;

#[test]
fn its_callers_socket_is_not_its_own() {
    // SAFETY: takes nothing.
    if unsafe { libc::geteuid() } != 0 || Command::new("cc").arg("--version").output().is_err() {
        println!("SKIPPED its_callers_socket_is_not_its_own: this needs root and a C compiler");
        return;
    }
    let stage = Stage::set();
    // A program with its caller's rights follows the variable, and asks that socket for a grant.
    let mut led = stage.program("plain").spawn().unwrap();
    let asked = stage.message();
    assert!(asked.is_some_and(|len| len > 0), "the socket is the one that is asked");
    led.wait().unwrap();
    // With root's rights it does not.
    let said = String::from_utf8(stage.program("raised").output().unwrap().stdout).unwrap();
    assert!(said.contains("secure 1 loaded 1 fetched 1"), "{said}");
    assert!(stage.accept().is_none(), "no connection: {said}");
    assert!(said.contains("/run/millstream/millstream.sock") || said.contains("set 1"), "{said}");
}

/// A folder with the program, plain and set-user-ID, a configuration, and a socket that is nobody's service.
struct Stage {
    path: PathBuf,
    listener: OwnedFd,
}

impl Stage {
    fn set() -> Self {
        let path = std::env::temp_dir().join(format!("millstream-raised-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        fs::write(path.join("program.c"), PROGRAM).unwrap();
        let module = path.join("millstream.so");
        fs::copy(fs::canonicalize(modules().join("millstream.so")).unwrap(), &module).unwrap();
        let lines = format!(
            "openssl_conf = all\n[all]\nproviders = providers\n[providers]\ndefault = theirs\nmillstream = ours\n\
             [theirs]\nactivate = 1\n[ours]\nmodule = {}\nactivate = 1\nisolated = yes\n",
            module.display()
        );
        fs::write(path.join("openssl.cnf"), lines).unwrap();
        let mut cc = Command::new("cc");
        cc.arg("-o").arg(path.join("plain")).arg(path.join("program.c")).args(libcrypto());
        let built = cc.output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        millstream_testkit::copy_program(&path.join("plain"), &path.join("raised"));
        fs::set_permissions(path.join("raised"), Permissions::from_mode(0o4755)).unwrap();
        let listener = listen(&path.join("socket"));
        fs::set_permissions(path.join("socket"), Permissions::from_mode(0o666)).unwrap();
        Stage { path, listener }
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.path.join(name));
        command.arg(self.path.join("openssl.cnf")).uid(NOBODY).gid(NOBODY).stdout(Stdio::piped());
        command.env_clear().env("MILLSTREAM_SOCKET", self.path.join("socket"));
        command
    }

    /// Accepts a client, if one has connected.
    fn accept(&self) -> Option<OwnedFd> {
        // SAFETY: no address is asked for; the descriptor is new.
        unsafe {
            let client = libc::accept(self.listener.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut());
            (client >= 0).then(|| OwnedFd::from_raw_fd(client))
        }
    }

    /// Returns the length of the first client's first message, and closes its connection.
    fn message(&self) -> Option<usize> {
        let until = Instant::now() + LONG;
        let client = loop {
            match self.accept() {
                Some(client) => break client,
                None if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
                None => return None,
            }
        };
        let mut bytes = [0u8; 4096];
        // SAFETY: the buffer is as long as is said.
        let got = unsafe { libc::recv(client.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        usize::try_from(got).ok()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Returns the arguments to link with the libcrypto that the other tests load, so that the program finds it when it
/// runs.
fn libcrypto() -> Vec<OsString> {
    let path = libcrypto_path();
    let Some(folder) = path.parent().filter(|_| path.is_absolute()) else {
        return vec![format!("-l:{}", path.display()).into()];
    };
    vec![format!("-Wl,-rpath,{}", folder.display()).into(), path.clone().into_os_string()]
}

/// A listening socket of sequenced packets, at which accepting does not wait.
fn listen(path: &Path) -> OwnedFd {
    // SAFETY: see the module.
    unsafe {
        let socket = libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_NONBLOCK, 0);
        assert!(socket >= 0);
        let socket = OwnedFd::from_raw_fd(socket);
        let mut address: libc::sockaddr_un = std::mem::zeroed();
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let path = path.as_os_str().as_bytes();
        assert!(path.len() < address.sun_path.len());
        for (place, byte) in address.sun_path.iter_mut().zip(path) {
            *place = *byte as libc::c_char;
        }
        let size = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        assert_eq!(libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size), 0);
        assert_eq!(libc::listen(socket.as_raw_fd(), 8), 0);
        socket
    }
}
