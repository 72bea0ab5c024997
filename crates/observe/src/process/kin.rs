//! Finds related processes: those that run the same program and are siblings, children, or the parent.

use std::os::unix::fs::MetadataExt;

use rustix::process::Pid;

use super::status::Status;

/// Returns the related processes of `pid`, such as the other workers of a server, in the order of their
/// numbers. Processes of other programs, or that can't be inspected, are left out.
pub fn kin(pid: Pid) -> Vec<Pid> {
    let Some((program, parent)) = program(pid).zip(parent(pid)) else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_kin = |other: &Pid| {
        let by_birth = |of: Pid| {
            // Orphans that init has adopted need have nothing else in common.
            (of == parent && parent != Pid::INIT) || of == pid
        };
        *other != pid
            && (*other == parent || self::parent(*other).is_some_and(by_birth))
            && self::program(*other) == Some(program)
    };
    let mut kin: Vec<Pid> = numbers.filter_map(Pid::from_raw).filter(is_kin).collect();
    kin.sort_unstable_by_key(|pid| pid.as_raw_pid());
    kin
}

/// Returns the identity of the file that a process runs.
fn program(pid: Pid) -> Option<(u64, u64)> {
    let file = std::fs::metadata(format!("/proc/{pid}/exe")).ok()?;
    Some((file.dev(), file.ino()))
}

fn parent(pid: Pid) -> Option<Pid> {
    Pid::from_raw(Status::of(pid)?.number("PPid")?.cast_signed())
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    #[test]
    fn those_of_one_program_and_one_parent_belong_together() {
        let directory = tempfile::tempdir().unwrap();
        let copy = |name: &str| {
            let path = directory.path().join(name);
            // Another process makes the copy. This one might fork while it has the file open for writing, and
            // then nobody could run it.
            assert!(Command::new("cp").arg("/bin/sleep").arg(&path).status().unwrap().success());
            path
        };
        let (program, other) = (copy("server"), copy("other"));
        let start = |path| Command::new(path).arg("60").stdout(Stdio::null()).spawn().unwrap();
        let mut all: Vec<Child> = [&program, &program, &program, &other].map(start).into();
        let pids: Vec<Pid> = all.iter().map(Pid::from_child).collect();
        assert_eq!(kin(pids[1]), [pids[0], pids[2]]);
        assert_eq!(kin(pids[3]), []);
        for child in &mut all {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(kin(pids[1]), []);
    }
}
