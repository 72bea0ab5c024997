//! Edits the auxiliary vector on a new program's stack.

use std::io;

use crate::capability::{Capabilities, HERE, Place, Withheld};
use crate::process::{self, Signal, Thread};
use crate::without::auxv::{self, Bits};
use crate::without::report::Report;

/// The bits that are cleared.
#[derive(Debug)]
pub(in crate::without) struct Kept(Bits);

impl Kept {
    pub(in crate::without) fn new(withheld: Withheld) -> Kept {
        Kept(Bits::of(withheld.all().iter()))
    }

    /// Clears the bits in the auxiliary vector.
    pub(in crate::without) fn hide(&mut self, thread: &mut Thread, report: &mut Report) -> io::Result<()> {
        let sp = thread.registers()?.sp();
        for edit in auxv::edits(thread.memory(), sp, self.0)? {
            thread.memory().write(edit.address, &edit.after.to_le_bytes())?;
            *report.answered.entry(thread.pid).or_default() += 1;
            let gone = edit.before & !edit.after;
            let lost = |place: &Place| matches!(place, Place::Hwcap { word, bit } if *word == edit.word && gone >> bit & 1 == 1);
            let lost = HERE.iter().filter(|capability| capability.places.iter().any(lost));
            let lost = lost.map(|capability| Capabilities::named(capability.name));
            report.hidden = lost.fold(report.hidden, Capabilities::union);
        }
        Ok(())
    }

    /// Does nothing, as a program keeps the vector that it was given.
    pub(in crate::without) fn show(&mut self, _: &mut Thread) -> io::Result<()> {
        Ok(())
    }

    /// Does nothing, as nothing faults on this architecture.
    pub(in crate::without) fn faulted(
        &mut self,
        _: &mut Thread,
        _: &Signal,
        _: &mut Report,
    ) -> io::Result<process::Answer> {
        Ok(process::Answer::NotMine)
    }
}
