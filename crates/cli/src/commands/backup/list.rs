//! `millstream backup list`.

use std::fmt::Write;

use millstream_backup::list::{self, Found};
use millstream_backup::{self as backup, manifest};
use millstream_measure::calendar;
use serde_json::json;

use super::{At, features};
use crate::commands::{Context, print};
use crate::error::Error;
use crate::shown;

/// List the backups under a name; this takes no key
#[derive(clap::Args)]
pub(super) struct List {
    #[command(flatten)]
    at: At,
    /// Write an object of JSON in a line for each
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let (store, location) = self.at.open()?;
        let found = list::list(&store, &location, features()?)?;
        if found.is_empty() {
            context.say(format!("there are no backups under {}", shown::text(&self.at.address)));
        }
        print(table(&found, self.json))?;
        let faults = found.iter().filter(|found| found.fault.is_some()).count();
        if faults > 0 {
            let why = format!("those of {faults} of the names above; the others are as they are listed");
            return Err(backup::Error::Manifest(why).into());
        }
        Ok(())
    }
}

/// Formats a line for each backup.
pub(super) fn table(found: &[Found], json: bool) -> String {
    let mut text = String::new();
    for Found { location, index, fault } in found {
        let name = &location.address;
        let line = match index {
            Some(index) if json => json!({
                "name": name,
                "whole": true,
                "created": calendar::moment(index.created),
                "bytes": index.bytes,
                "segments": index.segments.len(),
                "verifier": manifest::hex(&index.verifier),
            })
            .to_string(),
            None if json => json!({ "name": name, "whole": false, "fault": fault }).to_string(),
            Some(index) => {
                format!("{}  {:>16}  {}", calendar::moment(index.created), index.bytes, shown::text(name))
            }
            None => {
                let state = if fault.is_some() { "unreadable" } else { "interrupted" };
                let why = fault.as_ref().map(|why| format!(": {}", shown::text(why))).unwrap_or_default();
                format!("{state:20}  {:>16}  {}{why}", "", shown::text(name))
            }
        };
        let _ = writeln!(text, "{line}");
    }
    text
}
