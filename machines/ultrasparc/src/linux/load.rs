//! Loading a program: its file and its interpreter into memory, and all that a process begins with.

use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::cpu::Cpu;
use crate::linux::elf::{Image, LoadError, Placed};
use crate::linux::kept::{After, Kept, Mapped};
use crate::linux::process::{Process, Settings, under};
use crate::linux::signals::{Actions, Signals};
use crate::linux::stack::Start;
use crate::linux::threads::Thread;
use crate::linux::{host, syscalls};
use crate::memory::PAGE_BYTES;

/// The address of a program that can lie anywhere.
const MOVABLE_BASE: u64 = 1 << 30;

impl Process {
    /// Loads a program. `arguments` begin with the name it was called by.
    ///
    /// # Errors
    /// The file is no program for this machine, or can't be read or placed.
    pub fn new(
        settings: Settings,
        file: &Path,
        arguments: &[OsString],
        environment: &[OsString],
    ) -> Result<Process, LoadError> {
        let mut cpu = Cpu::new(settings.features).map_err(LoadError::Memory)?;
        let hwcap = settings.processor.linux_hwcap(settings.features);
        let mut mapped = Vec::new();
        let (program, interpreter) = load(&mut cpu, file, settings.sysroot.as_deref(), &mut mapped)?;
        Start { arguments, environment, file, program, interpreter, hwcap }.set_up(&mut cpu)?;
        host::attend(&cpu.attention);
        let mut actions = Actions::inherited();
        if settings.witnessed {
            actions.witness();
        }
        let end = program.end.next_multiple_of(PAGE_BYTES);
        Ok(Process {
            cpu,
            driver: None,
            settings: Arc::new(settings),
            file: std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned()),
            kept: Kept {
                mapped,
                data_end: end,
                break_end: end,
                actions,
                has_special: syscalls::are_inherited(),
                ..Kept::default()
            },
            signals: Signals::inherited(),
            after: After::Return,
            threads: None,
            thread: Thread::first(),
        })
    }
}

/// Puts a program and its interpreter into memory.
fn load(
    cpu: &mut Cpu,
    file: &Path,
    sysroot: Option<&Path>,
    mapped: &mut Vec<Mapped>,
) -> Result<(Placed, Option<Placed>), LoadError> {
    let image = Image::read(file)?;
    let base = if image.is_movable() { MOVABLE_BASE } else { 0 };
    let program = image.place(&mut cpu.memory, base)?;
    mapped.push(Mapped { file: file.to_owned(), offset: 0, address: base + image.addresses()?.start });
    let Some(name) = image.interpreter()? else { return Ok((program, None)) };
    let found = under(sysroot, &name).unwrap_or_else(|| name.clone());
    let interpreter = match Image::read(&found) {
        Ok(interpreter) => interpreter,
        Err(LoadError::Read { .. }) => {
            let (path, sysroot) = (file.to_owned(), sysroot.map(Path::to_owned));
            return Err(LoadError::NoInterpreter { path, interpreter: name, sysroot });
        }
        Err(other) => return Err(other),
    };
    let Range { start, end: length } = interpreter.addresses()?;
    let base = if interpreter.is_movable() { cpu.memory.free_span(length) } else { Some(0) };
    let base = base.ok_or_else(|| LoadError::Memory(std::io::ErrorKind::OutOfMemory.into()))?;
    mapped.push(Mapped { file: found, offset: 0, address: base + start });
    Ok((program, Some(interpreter.place(&mut cpu.memory, base)?)))
}
