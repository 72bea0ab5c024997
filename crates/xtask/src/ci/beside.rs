//! Steps that run beside the others, each as a process of its own whose output goes to a file.

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::pipeline::{Pipeline, is_result};
use super::times::{Times, said};
use crate::run::root;

/// A step that has ended.
struct Ended {
    step: &'static str,
    took: Duration,
    result: Result<(), String>,
}

/// The steps under way. Dropping this value early ends them.
pub struct Beside {
    /// The steps that were not collected yet.
    open: VecDeque<&'static str>,
    ended: Receiver<Ended>,
    running: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The state that the thread shares, and the signal that it has changed.
#[derive(Default)]
struct Shared {
    running: Mutex<Running>,
    changed: Condvar,
}

/// The step that the thread runs, the others that have ended, and a request to stop.
#[derive(Default)]
struct Running {
    others: Vec<&'static str>,
    child: Option<u32>,
    stop: bool,
    /// The processor time of the steps that have ended.
    used: Duration,
}

impl Beside {
    /// Starts the first of the steps; each of the others follows the one before it. A step in `later` waits for the other one of its
    /// pair, which [`Beside::has_ended`] names.
    ///
    /// # Errors
    /// When the folder for their output can't be made.
    pub fn start(
        steps: impl Iterator<Item = &'static str>,
        later: &'static [(&'static str, &'static str)],
        deep: bool,
    ) -> Result<Self, String> {
        let steps: VecDeque<&'static str> = steps.collect();
        let folder = root().join("target/ci");
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let (sender, ended) = channel();
        let running = Arc::<Shared>::default();
        let (all, shared) = (steps.clone(), running.clone());
        let thread = thread::spawn(move || run_all(&all, later, deep, &shared, &sender));
        Ok(Beside { open: steps, ended, running, thread: Some(thread) })
    }

    /// Notes the end of a step that is not one of these.
    pub fn has_ended(&self, step: &'static str) {
        lock(&self.running.running).others.push(step);
        self.running.changed.notify_all();
    }

    /// Reports the steps that have ended, and waits for those up to `until`.
    pub fn collect(&mut self, until: Option<&str>, pipeline: &mut Pipeline, times: &mut Times) {
        loop {
            let wait = until.is_some_and(|step| self.open.contains(&step));
            let ended = if wait { self.ended.recv().ok() } else { self.ended.try_recv().ok() };
            let Some(Ended { step, took, result }) = ended else {
                if wait {
                    pipeline.note("beside", Err(format!("not run: {:?}", std::mem::take(&mut self.open))));
                }
                break;
            };
            self.open.retain(|other| *other != step);
            println!("\n==== {step}, beside the others");
            let log = log(step);
            let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap_or_default()).into_owned();
            let result = match result {
                Ok(()) => {
                    text.lines().filter(|line| is_result(line)).for_each(|line| println!("{line}"));
                    pipeline.count(text.lines())
                }
                Err(why) => {
                    println!("{text}");
                    // The step's own reason is what counts, so a line that is not understood is not.
                    let _ = pipeline.count(text.lines());
                    Err(format!("{why}; all it said stands above and in {}", log.display()))
                }
            };
            pipeline.note(step, result);
            times.add(step, took, said(step, &text));
        }
    }

    /// Returns the processor time of the steps that have ended.
    pub fn used(&self) -> Duration {
        lock(&self.running.running).used
    }

    /// Waits for all steps.
    pub fn collect_all(&mut self, pipeline: &mut Pipeline, times: &mut Times) {
        while let Some(last) = self.open.back().copied() {
            self.collect(Some(last), pipeline, times);
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let mut running = lock(&self.running.running);
        running.stop = true;
        self.running.changed.notify_all();
        if let Some(child) = running.child {
            // The step leads a process group, so the programs that it has started end with it.
            let group = format!("-{child}");
            let _ = Command::new("kill").args(["-TERM", "--", &group]).status();
        }
        drop(running);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock(running: &Mutex<Running>) -> MutexGuard<'_, Running> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

fn log(step: &str) -> PathBuf {
    root().join("target/ci").join(format!("{step}.log"))
}

/// Runs the steps one after another. A failed one does not keep the next from running.
fn run_all(
    steps: &VecDeque<&'static str>,
    later: &[(&str, &str)],
    deep: bool,
    shared: &Shared,
    ended: &Sender<Ended>,
) {
    for step in steps.iter().copied() {
        let first = later.iter().find(|(later, _)| *later == step).map(|(_, first)| *first);
        let waits = |running: &mut Running| {
            !running.stop && first.is_some_and(|first| !running.others.contains(&first))
        };
        drop(shared.changed.wait_while(lock(&shared.running), waits));
        let begin = Instant::now();
        let result = match start(step, deep, &shared.running) {
            Ok(Some(child)) => finish(step, child, &shared.running),
            Ok(None) => return,
            Err(why) => Err(why),
        };
        if ended.send(Ended { step, took: begin.elapsed(), result }).is_err() {
            return;
        }
    }
}

/// Starts a step, unless the steps are to stop.
fn start(step: &str, deep: bool, running: &Mutex<Running>) -> Result<Option<Child>, String> {
    let path = log(step);
    let fail = |e: std::io::Error| format!("{}: {e}", path.display());
    let output = File::create(&path).map_err(fail)?;
    let mut command = Command::new(std::env::current_exe().map_err(fail)?);
    command.args(["ci", "--only", step]).args(deep.then_some("--deep")).current_dir(root());
    command.stdin(Stdio::null()).stdout(output.try_clone().map_err(fail)?).stderr(output).process_group(0);
    let mut running = lock(running);
    if running.stop {
        return Ok(None);
    }
    let child = command.spawn().map_err(fail)?;
    running.child = Some(child.id());
    Ok(Some(child))
}

fn finish(step: &str, mut child: Child, running: &Mutex<Running>) -> Result<(), String> {
    let status = child.wait().map_err(|e| e.to_string());
    let text = std::fs::read(log(step)).unwrap_or_default();
    let mut running = lock(running);
    running.child = None;
    running.used += said(step, &String::from_utf8_lossy(&text)).unwrap_or_default();
    drop(running);
    let status = status?;
    match (status.success(), status.signal()) {
        (true, _) => Ok(()),
        (false, Some(signal)) => Err(format!("ended by signal {signal}")),
        (false, None) => Err(status.to_string()),
    }
}
