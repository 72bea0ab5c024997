//! The sections of the manual pages behind the options: the same text ends a command's `--help`.

mod backup;
mod columns;
mod doctor;
mod esp;
mod files;
mod keys;
mod programs;
mod service;
mod speed;

pub use backup::{BACKUP, OPEN, SEAL};
pub use columns::COLUMNS;
pub use doctor::DOCTOR;
pub use esp::ESP;
pub use files::{DECRYPT, DIGEST, ENCRYPT, KEYGEN, MAC};
pub use keys::{AGENT, KEY, TOKEN};
pub use programs::{COMPARE, OPENSSL_CONF, RUN, SPARC, TRACE};
pub use service::{MOVE, RELOAD, REVOKE, SERVE, STATUS};
pub use speed::SPEED;

/// A section of a page: paragraphs, and indented lines that are kept as they are.
pub type Section = (&'static str, &'static str);

/// Formats the sections as `--help` shows them.
pub fn help(sections: &[Section]) -> String {
    let section = |(title, text): &Section| {
        let mut name = title.to_lowercase();
        name[..1].make_ascii_uppercase();
        let lines =
            text.lines().map(|line| if line.is_empty() { String::new() } else { format!("  {line}") });
        format!("{name}:\n{}", lines.collect::<Vec<_>>().join("\n"))
    };
    sections.iter().map(section).collect::<Vec<_>>().join("\n\n")
}
