//! `millstream man`: manual pages, generated from the definitions of options and the sections of `pages`.

use std::io;
use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::commands::pages::{self, Section};
use crate::commands::{Cli, decrypt, digest, encrypt, mac, standalone};
use crate::error::Error;

/// Write the manual pages into a directory
#[derive(clap::Args)]
pub(super) struct Man {
    /// The directory, which must exist
    directory: PathBuf,
}

impl Man {
    pub(super) fn run(self) -> Result<(), Error> {
        let mut cli = Cli::command().disable_help_subcommand(true);
        cli.build();
        self.page(clap::Command::clone(&cli), "millstream", &[])?;
        for command in cli.get_subcommands() {
            let name = format!("millstream-{}", command.get_name());
            // These four have pages of their own names.
            if ["digest", "mac", "encrypt", "decrypt"].contains(&command.get_name()) {
                continue;
            }
            let sections = match command.get_name() {
                "doctor" => pages::DOCTOR,
                "keygen" => pages::KEYGEN,
                "token" => pages::TOKEN,
                "key" => pages::KEY,
                "seal" => pages::SEAL,
                "open" => pages::OPEN,
                "backup" => pages::BACKUP,
                "speed" => pages::SPEED,
                "run" => pages::RUN,
                "compare" => pages::COMPARE,
                "sparc" => pages::SPARC,
                "trace" => pages::TRACE,
                "openssl-conf" => pages::OPENSSL_CONF,
                "serve" => pages::SERVE,
                "status" => pages::STATUS,
                "revoke" => pages::REVOKE,
                "move" => pages::MOVE,
                "reload" => pages::RELOAD,
                _ => &[],
            };
            for inner in command.get_subcommands() {
                let name = format!("{name}-{}", inner.get_name());
                self.page(inner.clone().display_name(name.clone()).name(name.clone()), &name, &[])?;
            }
            // The sections are the same text as the help's end.
            let command = command.clone().after_long_help(None::<&str>);
            self.page(command.display_name(name.clone()).name(name.clone()), &name, sections)?;
        }
        self.own::<digest::Digest>("digest", pages::DIGEST)?;
        self.own::<mac::Mac>("mac", pages::MAC)?;
        self.own::<encrypt::Encrypt>("encrypt", pages::ENCRYPT)?;
        self.own::<decrypt::Decrypt>("decrypt", pages::DECRYPT)
    }

    /// Writes a page named like the subcommand, as `millstream-digest`, so that it does not hide another
    /// program's page.
    fn own<A: Args>(&self, name: &'static str, sections: &[Section]) -> Result<(), Error> {
        let page = format!("millstream-{name}");
        let command = standalone::<A>(name.to_owned()).after_long_help(None::<&str>);
        self.page(command.display_name(page.clone()).name(page.clone()), &page, sections)
    }

    fn page(&self, command: clap::Command, name: &str, sections: &[Section]) -> Result<(), Error> {
        let path = self.directory.join(format!("{name}.1"));
        let failed = |source| Error::Write { name: path.display().to_string(), source };
        let text = render(command, name, sections).map_err(failed)?;
        std::fs::write(&path, text).map_err(failed)
    }
}

fn render(command: clap::Command, name: &str, sections: &[Section]) -> io::Result<Vec<u8>> {
    let subcommands = command.has_subcommands();
    let page = clap_mangen::Man::new(command).title(name.to_uppercase()).section("1").manual("Millstream");
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if subcommands {
        page.render_subcommands_section(&mut text)?;
    }
    for (title, body) in sections {
        text.extend_from_slice(roff(title, body).as_bytes());
    }
    let others: Vec<String> = related(name).iter().map(|page| page.replace('-', "\\-")).collect();
    text.extend_from_slice(format!(".SH \"SEE ALSO\"\n{}\n", others.join(",\n")).as_bytes());
    Ok(text)
}

/// Returns the pages that a reader of one may want next.
fn related(name: &str) -> &'static [&'static str] {
    match name.trim_start_matches("millstream-") {
        "keygen" => &["millstream(1)", "millstream-encrypt(1)", "millstream-mac(1)"],
        "encrypt" => &["millstream(1)", "millstream-decrypt(1)", "millstream-keygen(1)", "openssl(1)"],
        "decrypt" => &["millstream(1)", "millstream-encrypt(1)", "openssl(1)"],
        "digest" => &["millstream(1)", "millstream-mac(1)", "sha256sum(1)"],
        "mac" => &["millstream(1)", "millstream-digest(1)", "millstream-keygen(1)", "millstream-serve(1)"],
        "token" | "key" => &["millstream(1)", "millstream-key(1)", "millstream-token(1)", "openssl-pkey(1)"],
        name if name.starts_with("token-") => &["millstream-token(1)"],
        name if name.starts_with("key-") => &["millstream-key(1)", "millstream-token(1)"],
        "seal" | "open" => &["millstream(1)", "millstream-backup(1)", "millstream-keygen(1)", "age(1)"],
        "backup" => {
            &["millstream(1)", "millstream-keygen(1)", "millstream-seal(1)", "zfs-send(8)", "btrfs-send(8)"]
        }
        name if name.starts_with("backup-") => &["millstream-backup(1)"],
        "caps" => &["millstream(1)", "millstream-check(1)", "millstream-speed(1)"],
        "check" => &["millstream(1)", "millstream-caps(1)"],
        "speed" => &["millstream(1)", "millstream-caps(1)", "millstream-compare(1)"],
        "run" => {
            &["millstream(1)", "millstream-compare(1)", "millstream-openssl-conf(1)", "millstream-trace(1)"]
        }
        "compare" => &["millstream(1)", "millstream-run(1)", "millstream-trace(1)"],
        "trace" => &["millstream(1)", "millstream-compare(1)", "millstream-run(1)"],
        "openssl-conf" => &["millstream(1)", "millstream-run(1)", "config(5)"],
        "serve" => &["millstream(1)", "millstream-reload(1)", "millstream-status(1)", "systemd.socket(5)"],
        "status" | "revoke" | "move" | "reload" => {
            &["millstream(1)", "millstream-serve(1)", "millstream-status(1)"]
        }
        "millstream" => &["millstream-encrypt(1)", "millstream-run(1)", "millstream-serve(1)", "openssl(1)"],
        _ => &["millstream(1)"],
    }
}

/// Formats a section in roff. An indented line after a plain one is its item, others are kept as they are.
fn roff(title: &str, body: &str) -> String {
    let escape = |line: &str| {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
    };
    let mut text = format!(".SH \"{title}\"\n");
    let examples = title == "EXAMPLES";
    let mut lines = body.lines().peekable();
    while let Some(line) = lines.next() {
        let item = !examples && lines.peek().is_some_and(|next| next.starts_with("  "));
        text += &match line.strip_prefix("  ") {
            Some(example) if examples => format!(".EX\n    {}\n.EE\n", escape(example)),
            Some(definition) => format!("{}\n", escape(definition)),
            None if item => format!(".TP\n\\fB{}\\fR\n", escape(line)),
            None if line.is_empty() => ".PP\n".to_owned(),
            None => format!("{}\n", escape(line)),
        };
    }
    text
}
