//! Codes that the service computes. Files go into the arena of a grant, several at a time, and the key goes
//! to a worker, or is one of a token that the worker opens.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use millstream::cwq;
use millstream::isolated::Attach;
use millstream::isolated::token::Pin;
use millstream::queue::{Buffer, Done, KeyHandle, KeyOptions, Queue, Refusal, Request, Ticket};

use crate::commands::crypt::Held;
use crate::commands::lines::{Style, line};
use crate::commands::{Context, print};
use crate::error::{Error, exit};
use crate::input::Input;

/// The room for files, in bytes. A longer file can't be computed by the service.
const ARENA: u32 = 128 << 20;
/// The number of files in flight.
const DEPTH: usize = 64;

/// The key of the codes.
pub(super) enum Key<'a> {
    /// The bytes of the key, which go to the worker.
    Bytes(&'a [u8]),
    /// One that is there.
    OfToken(&'a Held),
}

/// Prints the code of each file in order, or of standard input where there is none. Errors are handled as in
/// `sum::files`.
pub(super) fn files(
    context: &Context,
    style: &Style<'_>,
    files: &[OsString],
    socket: Option<&Path>,
    (algorithm, key): (cwq::Algorithm, Key<'_>),
) -> Result<(), Error> {
    let (socket, name) = (socket.map(PathBuf::from), context.name.clone());
    let attach = Attach { socket, name, depth: DEPTH, arena_bytes: ARENA, key_slots: 1, ..Attach::default() };
    let accelerator = attach.attach()?;
    // The command makes codes and verifies none.
    let options = KeyOptions { usages: Some(cwq::Usages::SIGN), ..KeyOptions::default() };
    let key = match key {
        Key::Bytes(key) => accelerator.import_key_with(algorithm, key, options)?,
        Key::OfToken(Held { token, object, pin, .. }) => {
            accelerator.open_token(*token, Pin::User(pin))?.load(*object, algorithm, options)?
        }
    };
    let mut codes = Codes { queue: accelerator.queue()?, key, begun: VecDeque::new() };
    let mut code = exit::SUCCESS;
    let mut tell = |which: Option<usize>, result: Result<Vec<u8>, Error>| match result {
        Ok(sum) => print(line(style, which.map(|i| files[i].as_os_str()), files.len() > 1, &sum)),
        Err(error) if which.is_none() => Err(error),
        Err(error) => {
            context.fail(&error);
            code = if matches!(error, Error::Open { .. }) { exit::USAGE } else { error.exit_code() };
            Ok(())
        }
    };
    if files.is_empty() {
        codes.begin(None, Input::standard());
    }
    for (i, file) in files.iter().enumerate() {
        codes.begin(Some(i), Input::operand(file));
        while let Some((which, result)) = codes.next_done() {
            tell(which, result)?;
        }
    }
    while codes.take_one() {}
    while let Some((which, result)) = codes.next_done() {
        tell(which, result)?;
    }
    if code == exit::SUCCESS { Ok(()) } else { Err(Error::Reported(code)) }
}

/// The files in flight, in their order.
struct Codes {
    queue: Queue,
    key: KeyHandle,
    begun: VecDeque<Begun>,
}

/// A file's place in the list, if it is not standard input, and its code.
type Told = (Option<usize>, Result<Vec<u8>, Error>);

struct Begun {
    which: Option<usize>,
    ticket: Option<Ticket>,
    result: Option<Result<Vec<u8>, Error>>,
}

impl Codes {
    /// Puts a file in flight.
    fn begin(&mut self, which: Option<usize>, input: Result<Input, Error>) {
        let submitted = input.and_then(|input| {
            let source = self.read(input)?;
            self.queue.submit(Request::mac(self.key, source)).map_err(|refused| queue(refused.why))
        });
        self.begun.push_back(match submitted {
            Ok(ticket) => Begun { which, ticket: Some(ticket), result: None },
            Err(error) => Begun { which, ticket: None, result: Some(Err(error)) },
        });
    }

    /// Reads all of the input into a buffer, when the queue has room for it.
    fn read(&mut self, mut input: Input) -> Result<Buffer, Error> {
        let failed = |source| Error::Read { name: input.name.clone(), source };
        let mut streamed = Vec::new();
        if input.len.is_none() {
            // One byte more than fits tells that the input is too long.
            (&input.file).take(u64::from(ARENA) + 1).read_to_end(&mut streamed).map_err(failed)?;
        }
        let bytes = input.len.unwrap_or(streamed.len() as u64);
        // On targets with 32-bit addresses, a file may be longer than any buffer.
        let Some(len) = usize::try_from(bytes).ok().filter(|len| *len <= ARENA as usize) else {
            return Err(Error::TooLong { name: input.name, most: ARENA });
        };
        while self.queue.in_flight() >= DEPTH && self.take_one() {}
        let mut buffer = loop {
            match self.queue.buffer(len) {
                Ok(buffer) => break buffer,
                Err(Refusal::ArenaFull) if self.take_one() => {}
                Err(Refusal::ArenaFull) => return Err(Error::TooLong { name: input.name, most: ARENA }),
                Err(why) => return Err(queue(why)),
            }
        };
        match input.len {
            None => buffer.copy_from_slice(&streamed),
            Some(_) => match input.file.read_exact(&mut buffer) {
                Ok(()) if input.is_unchanged() => {}
                Ok(()) => return Err(Error::Changed(input.name)),
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                    return Err(Error::Changed(input.name));
                }
                Err(source) => return Err(Error::Read { name: input.name, source }),
            },
        }
        Ok(buffer)
    }

    /// Waits for an operation in flight. Returns false when there was none.
    fn take_one(&mut self) -> bool {
        let Some(done) = self.queue.wait() else { return false };
        let begun = self.begun.iter_mut().find(|begun| begun.ticket == Some(done.ticket));
        if let Some(begun) = begun {
            begun.result = Some(code_of(&done));
        }
        true
    }

    /// Takes the first file's code, if it is there, because codes are printed in order.
    fn next_done(&mut self) -> Option<Told> {
        let first = self.begun.front_mut()?;
        let result = first.result.take()?;
        let which = first.which;
        self.begun.pop_front();
        Some((which, result))
    }
}

fn code_of(done: &Done) -> Result<Vec<u8>, Error> {
    match done.result {
        Ok(()) => Ok(done.tag().to_vec()),
        Err(status) => Err(Error::Queue(millstream::Error::Operation(status))),
    }
}

fn queue(why: Refusal) -> Error {
    Error::Queue(why.into())
}
