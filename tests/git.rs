//! `git clone`, `push` and `fetch` over https: nginx in front of git's own server program.
//!
//! Debian links git's https client with GnuTLS, which does not use OpenSSL. The server's side uses Millstream
//! there, which its counters prove. If the client is linked with OpenSSL, it counts too.

use std::path::Path;
use std::process::{Command, Stdio};

use millstream_tests::{Nginx, OpenSsl, Place, Provider, Running, Side, bytes, eventually, program, run};

/// A repository behind https.
struct Server {
    nginx: Nginx,
    /// git's server program, by FastCGI.
    _fcgiwrap: Running,
}

impl Server {
    #[track_caller]
    fn start(place: &Place, side: &Side) -> Server {
        let repositories = place.make("repositories");
        git(place, None, &["init", "--quiet", "--bare", "repositories/project.git"]);
        // Everybody who reaches this server may push.
        git(place, None, &["-C", "repositories/project.git", "config", "http.receivepack", "true"]);
        let socket = place.path("fcgiwrap");
        let mut fcgiwrap = Command::new(program("fcgiwrap"));
        fcgiwrap.args(["-c", "2", "-s"]).arg(format!("unix:{}", socket.display()));
        // git must accept the repository whoever runs the test.
        fcgiwrap.env("GIT_CONFIG_GLOBAL", place.write("server.gitconfig", "[safe]\ndirectory = *\n"));
        fcgiwrap.stdin(Stdio::null()).stdout(Stdio::null());
        let fcgiwrap = Running::start(&mut fcgiwrap);
        eventually("fcgiwrap listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
        let backend = program("git-http-backend");
        let location = format!(
            "location ~ ^/git(/.*)$ {{ fastcgi_pass unix:{}; fastcgi_param SCRIPT_FILENAME {}; \
             fastcgi_param GIT_PROJECT_ROOT {}; fastcgi_param GIT_HTTP_EXPORT_ALL 1; fastcgi_param PATH_INFO $1; \
             fastcgi_param QUERY_STRING $query_string; fastcgi_param REQUEST_METHOD $request_method; \
             fastcgi_param CONTENT_TYPE $content_type; fastcgi_param CONTENT_LENGTH $content_length; \
             fastcgi_param HTTP_CONTENT_ENCODING $http_content_encoding; fastcgi_param GIT_PROTOCOL $http_git_protocol; }}",
            socket.display(),
            backend.display(),
            repositories.display(),
        );
        let nginx = Nginx::start(place, side, &OpenSsl::system(), 1, &location);
        Server { nginx, _fcgiwrap: fcgiwrap }
    }

    fn url(&self) -> String {
        self.nginx.url("git/project.git")
    }
}

/// Runs git in the test's folder, without anybody's settings, and with a server's certificate if there is
/// one.
#[track_caller]
fn git(place: &Place, as_client: Option<(&Side, &Path)>, words: &[&str]) -> String {
    let mut git = Command::new(program("git"));
    if let Some((side, certificate)) = as_client {
        side.apply(&mut git);
        git.env("GIT_SSL_CAINFO", certificate);
    }
    git.args(["-c", "user.name=A", "-c", "user.email=a@localhost", "-c", "init.defaultBranch=main"]);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0");
    run(git.args(words).current_dir(place.folder()), b"").text()
}

/// Pushes several megabytes, clones them, pushes from the clone and fetches that.
fn round(place: &Place, server: &Server, client: &Side) {
    let as_client = Some((client, &*server.nginx.certificate.certificate));
    let url = server.url();
    git(place, None, &["init", "--quiet", "first"]);
    for (number, len) in [10, 70_000, 3_000_000].into_iter().enumerate() {
        place.write(&format!("first/file{number}"), bytes(len));
        git(place, None, &["-C", "first", "add", "."]);
        git(place, None, &["-C", "first", "commit", "--quiet", "-m", "more"]);
    }
    git(place, as_client, &["-C", "first", "push", "--quiet", &url, "main"]);
    git(place, as_client, &["clone", "--quiet", &url, "second"]);
    assert!(place.read("second/file2") == bytes(3_000_000));
    place.write("second/file3", bytes(200_000));
    git(place, None, &["-C", "second", "add", "."]);
    git(place, None, &["-C", "second", "commit", "--quiet", "-m", "from the clone"]);
    git(place, as_client, &["-C", "second", "push", "--quiet", "origin", "main"]);
    git(place, as_client, &["-C", "first", "pull", "--quiet", "--ff-only", &url, "main"]);
    assert!(place.read("first/file3") == bytes(200_000));
    git(place, None, &["-C", "first", "fsck", "--strict"]);
}

#[test]
fn push_clone_and_fetch() {
    let place = Place::new();
    let server_side = Side::new(&place, "server", Provider::Millstream);
    let client_side = Side::new(&place, "client", Provider::Millstream);
    let server = Server::start(&place, &server_side);
    round(&place, &server, &client_side);
    server.nginx.finish();
    let counted = server_side.counted();
    // The client's preferred suite is one of those.
    let (operations, total) = ["aes-*-gcm", "chacha20-poly1305"]
        .map(|cipher| counted.of(cipher))
        .into_iter()
        .fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
    assert!(operations >= 6_000_000 / 16_384 && total >= 6_000_000, "{counted}");
    counted.require("sha*", 5, 1000);

    let linked = run(Command::new(program("ldd")).arg(program("git-remote-http")), b"").text();
    if linked.contains("libssl.so") {
        client_side.counted().require("aes-*-gcm", 6_000_000 / 16_384, 6_000_000);
    } else {
        assert!(linked.contains("libgnutls.so"), "{linked}");
        client_side.counted().require_none();
    }
}

#[test]
fn counts_nothing_without_the_provider() {
    let place = Place::new();
    let default = Side::new(&place, "default", Provider::Default);
    let server = Server::start(&place, &default);
    round(&place, &server, &default);
    server.nginx.finish();
    default.counted().require_none();
}
