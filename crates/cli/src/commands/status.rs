//! `millstream status`: shows who uses the service, and how much.

use std::io::{self, IsTerminal};
use std::time::Duration;

use millstream::isolated::Service;

use crate::commands::{At, pages, print};
use crate::error::Error;
use crate::status::live::{History, Screen};
use crate::status::{Look, View, json, table};

/// The time between the two looks that one view needs.
const MOMENT: Duration = Duration::from_millis(200);

/// Show the workers and grants of the running service
///
/// For each grant: its owner, its queues, the operations in flight, operations and bytes per second,
/// doorbells, keys, and the rules that its operations broke. Users other than root and the service's own see
/// only their own grants.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::STATUS))]
pub(super) struct Status {
    #[command(flatten)]
    at: At,
    /// Write JSON; with --watch an object a line
    #[arg(long)]
    json: bool,
    /// Update the view periodically, in place on a terminal; q ends it
    #[arg(short = 'w', long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1", value_parser = interval)]
    watch: Option<Duration>,
}

fn interval(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=86400.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("at least 0.1 and at most 86400 seconds".to_owned()),
    }
}

impl Status {
    pub(super) fn run(self) -> Result<(), Error> {
        let mut service = Service::connect(self.at.socket.as_deref())?;
        let before = Look::take(&mut service)?;
        if let Some(interval) = self.watch {
            return self.watch(&mut service, before, interval);
        }
        std::thread::sleep(MOMENT);
        let view = Look::take(&mut service)?.since(&before);
        print(match self.json {
            true => format!("{:#}\n", json::json(&view, service.socket())),
            false => table::text(&view, service.socket(), ("", &|_| String::new())),
        })
    }

    /// Shows a view each interval, until q is pressed, a signal comes or the service ends.
    fn watch(&self, service: &mut Service, mut before: Look, interval: Duration) -> Result<(), Error> {
        let mut history = History::default();
        let mut screen = if self.json { None } else { Screen::open() };
        // The first view comes before the first interval is over.
        let mut pause = interval.min(MOMENT);
        loop {
            let ended = match &screen {
                Some(screen) => screen.wait_for_end(pause),
                None => {
                    std::thread::sleep(pause);
                    false
                }
            };
            if ended {
                return Ok(());
            }
            pause = interval;
            let look = Look::take(service)?;
            let view = look.since(&before);
            before = look;
            history.add(&view);
            self.show(service, &view, &history, screen.as_mut())?;
        }
    }

    fn show(
        &self,
        service: &Service,
        view: &View,
        history: &History,
        screen: Option<&mut Screen>,
    ) -> Result<(), Error> {
        if self.json {
            return print(format!("{}\n", json::json(view, service.socket())));
        }
        let picture = |grant: &_| history.picture(grant);
        match screen {
            Some(screen) => {
                let end = if io::stdin().is_terminal() { "\nq ends\n" } else { "" };
                screen.show(&(table::text(view, service.socket(), ("RECENT OPS/S", &picture)) + end))
            }
            None => print(table::text(view, service.socket(), ("", &|_| String::new())) + "\n"),
        }
    }
}
