//! `millstream backup list`.

use std::fmt::Write;

use millstream_backup::list::{self, Found};
use millstream_backup::manifest;
use millstream_measure::calendar;
use serde_json::json;

use super::{At, features};
use crate::commands::print;
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
    pub(super) fn run(self) -> Result<(), Error> {
        let (store, location) = self.at.open()?;
        let found = list::list(&store, &location, features()?)?;
        print(table(&found, self.json))
    }
}

/// Formats a line for each backup.
pub(super) fn table(found: &[Found], json: bool) -> String {
    let mut text = String::new();
    for Found { location, index } in found {
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
            None if json => json!({ "name": name, "whole": false }).to_string(),
            Some(index) => {
                format!("{}  {:>16}  {}", calendar::moment(index.created), index.bytes, shown::text(name))
            }
            None => format!("{:20}  {:>16}  {}", "interrupted", "", shown::text(name)),
        };
        let _ = writeln!(text, "{line}");
    }
    text
}
