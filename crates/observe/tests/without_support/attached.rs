//! Tests of attaching to running programs, and of looking at them while they run.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use millstream_observe::capability::Withheld;
use millstream_observe::process::{
    AttachError, Began, Followed, Launch, Obstacle, Processes, Thread, Tracer, Watcher,
};
use millstream_observe::without::{Masker, Why};
use rustix::process::Pid;

use crate::{hard, launch, started, state, text, without};

/// Looks at the process from time to time, and finishes when it has seen enough ([`Visitor::satisfied`]).
#[derive(Default)]
struct Visitor {
    began: usize,
    births: usize,
    visits: usize,
    seen: usize,
    left: usize,
    next: Option<Instant>,
}

impl Visitor {
    /// The number of visits after which it finishes anyway. On a busy machine, the process may not run
    /// between two visits.
    const PATIENCE: usize = 5000;

    /// Returns true after twenty visits, as many looks at a thread, and the birth of a thread.
    fn satisfied(&self) -> bool {
        self.visits >= 20 && self.seen >= 20 && self.births > 0
    }
}

impl Watcher for Visitor {
    fn began(&mut self, _: &mut Thread, how: Began) -> std::io::Result<()> {
        assert_eq!(how, Began::Attached);
        self.began += 1;
        self.next = Some(Instant::now());
        Ok(())
    }

    fn forked(&mut self, _: Pid, _: &mut Thread, shares_memory: bool) -> std::io::Result<()> {
        assert!(shares_memory);
        self.births += 1;
        Ok(())
    }

    fn leaving(&mut self, _: &mut Thread) -> std::io::Result<()> {
        self.left += 1;
        Ok(())
    }

    fn tick(&mut self, processes: &mut Processes) -> std::io::Result<()> {
        self.visits += 1;
        self.next = Some(Instant::now() + Duration::from_millis(2));
        for pid in processes.pids() {
            processes.stopped(pid, |thread| {
                self.seen += 1;
                thread.registers().map(|registers| assert_ne!(registers.pc(), 0))
            })?;
        }
        if self.satisfied() || self.visits == Visitor::PATIENCE {
            processes.finish();
        }
        Ok(())
    }

    fn next_tick(&self) -> Option<Instant> {
        self.next
    }
}

pub fn attached_and_let_go() -> Result<(), Failed> {
    let mut command = Command::new(hard());
    command.arg("spin");
    let (mut child, program) = started(command);
    for _ in 0..3 {
        let mut visitor = Visitor::default();
        let mut tracer = Tracer::attach(program)?;
        assert_eq!(tracer.follow(&mut visitor)?, Followed::Finished);
        tracer.detach_all(&mut visitor)?;
        assert!(
            visitor.satisfied(),
            "{} births, {} visits, {} looks",
            visitor.births,
            visitor.visits,
            visitor.seen
        );
        assert_eq!(visitor.began, 1);
        assert!((1..=2).contains(&visitor.left), "{}", visitor.left);
        let status = std::fs::read_to_string(format!("/proc/{program}/status"))?;
        assert!(status.contains("TracerPid:\t0\n"));
        assert!(matches!(state(program), Some('R' | 'S')));
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Stops all threads every millisecond.
#[derive(Default)]
struct Pry {
    next: Option<Instant>,
    seen: usize,
}

impl Watcher for Pry {
    fn began(&mut self, _: &mut Thread, _: Began) -> std::io::Result<()> {
        self.next = self.next.or(Some(Instant::now()));
        Ok(())
    }

    fn tick(&mut self, processes: &mut Processes) -> std::io::Result<()> {
        for pid in processes.pids() {
            processes.stopped(pid, |thread| {
                self.seen += 1;
                thread.registers().map(drop)
            })?;
        }
        self.next = Some(Instant::now() + Duration::from_millis(1));
        Ok(())
    }

    fn next_tick(&self) -> Option<Instant> {
        self.next
    }
}

/// Threads wait for a vfork child, are born, or end, while they are being stopped.
pub fn looked_at_all_the_time() -> Result<(), Failed> {
    for mode in ["execs", "threads", "forks", "thread_exec", "killed", "stop", "segv", "storm"] {
        let arguments = if mode == "execs" { vec![mode, "20", "print"] } else { vec![mode] };
        let plain = Command::new(hard()).args(&arguments).output()?;
        let (mut tracer, read) = launch(&arguments, Launch { kill_with_us: true, ..Launch::default() });
        let mut both = (Masker::new(Withheld::without("aes")?), Pry::default());
        tracer.run(&mut both)?;
        // Some children whose parents were killed hold the pipe.
        tracer.outlast(&mut both)?;
        assert_eq!(read(tracer), text(&plain.stdout).replace("aes 1", "aes 0"), "{mode}");
        assert!(both.1.seen > 3, "{mode} {}", both.1.seen);
    }
    Ok(())
}

pub fn attached_and_let_go_amid_signals() -> Result<(), Failed> {
    let mut visits = 0;
    for mode in ["storm", "threads", "trap", "segv", "stop"] {
        let plain = Command::new(hard()).arg(mode).output()?;
        let child = Command::new(hard()).arg(mode).stdout(Stdio::piped()).spawn()?;
        let pid = Pid::from_child(&child);
        loop {
            // The loop ends when the program has: a zombie has no program.
            let Ok(mut tracer) = Tracer::attach(pid) else { break };
            let mut pry = Pry { next: Some(Instant::now()), seen: 0 };
            for _ in 0..3 {
                tracer.processes().finish();
                match tracer.follow(&mut pry)? {
                    Followed::Finished => visits += 1,
                    _ => break,
                }
            }
            tracer.detach_all(&mut pry)?;
            // The program needs time to get to its end.
            std::thread::sleep(Duration::from_millis(10));
        }
        let output = child.wait_with_output();
        // A tracer in this process that sees the end has reaped the child.
        if let Ok(output) = output {
            assert_eq!(text(&output.stdout), text(&plain.stdout), "{mode}");
            assert!(output.status.success(), "{mode} {}", output.status);
        }
    }
    // Some of these programs end before anybody can look.
    assert!(visits > 20, "{visits}");
    Ok(())
}

pub fn who_can_not_be_traced() -> Result<(), Failed> {
    let obstacle = |pid: Pid| {
        let error = Tracer::attach(pid).err().unwrap();
        error.get_ref().unwrap().downcast_ref::<AttachError>().unwrap().obstacle.clone()
    };
    assert_eq!(obstacle(Pid::from_raw(i32::MAX).unwrap()), Obstacle::Gone);
    assert_eq!(obstacle(rustix::process::getpid()), Obstacle::Ourselves);
    let mut command = without("aes", hard());
    command.arg("hang");
    let (mut tracer, program) = started(command);
    let by = tracer.id() as i32;
    assert!(matches!(obstacle(program), Obstacle::Traced { by: tracer, .. } if tracer == by));
    tracer.kill()?;
    tracer.wait()?;
    Ok(())
}

pub fn running_programs_are_noted() -> Result<(), Failed> {
    let mut command = Command::new(hard());
    command.arg("spin");
    let (mut child, program) = started(command);
    let mut both = (Masker::new(Withheld::without("aes")?), Visitor::default());
    let mut tracer = Tracer::attach(program)?;
    tracer.follow(&mut both)?;
    tracer.detach_all(&mut both)?;
    assert_eq!(both.0.report().notes[0].why, Why::Running);
    child.kill()?;
    child.wait()?;
    Ok(())
}
