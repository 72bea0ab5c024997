//! The common parts of `encrypt` and `decrypt`.

use std::path::Path;

use millstream_cpu::Features;
use millstream_engines::modes::Direction;

use crate::commands::Context;
use crate::error::Error;

mod call;
mod formats;
mod keys;
mod list;
mod many;
mod one;
mod options;
mod outputs;
mod secrets;
mod source;
mod token;

use call::Run;
pub(super) use list::{LIST_HEAD, list_line, names};
pub(super) use one::{Whole, whole};
pub(super) use options::Options;
use secrets::Secrets;
pub(super) use token::{Held, Named, Token};

/// Does what the command line asks.
pub(super) fn run(options: &Options, context: &Context, direction: Direction) -> Result<(), Error> {
    if options.list {
        return if options.stands_alone() {
            list::list()
        } else {
            Err(Error::Usage("-l allows no other option or file".into()))
        };
    }
    options.token.check(options.key_file.is_some(), options.passphrase_file.is_some())?;
    let features = Features::active()?;
    let asked = options.format_asked(direction)?;
    options.check(asked)?;
    let run = Run { context, features, direction, asked, secrets: Secrets::default() };
    let mut inputs: Vec<&Path> = options.inputs().collect();
    // The last of repeated options counts on Solaris.
    if context.solaris && options.many.files.is_empty() {
        inputs.drain(..inputs.len().saturating_sub(1));
    }
    match (&inputs[..], options.are_outputs_named(inputs.len())?) {
        (inputs, true) => many::run(options, &run, inputs),
        ([], false) => one::run(options, &run, None),
        ([input, ..], false) => one::run(options, &run, Some(input)),
    }
}
