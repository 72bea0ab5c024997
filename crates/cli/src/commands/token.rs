//! `millstream token`: makes and removes tokens, and sets their PINs.

use std::path::PathBuf;

use millstream_store::Role;

use crate::commands::{Context, pages, print};
use crate::error::Error;
use crate::shown;
use crate::tokens::pins::{self, OfficerPin, UserPin, prompt};
use crate::tokens::{self, Place, Store};

/// Make tokens, which keep keys, and set their PINs
///
/// A token holds keys that stay. Each is sealed, and the user PIN and this machine's secret together open them. The security
/// officer's PIN sets a new user PIN when that was forgotten, or was wrong ten times.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::TOKEN))]
pub(super) struct Command {
    #[command(subcommand)]
    which: Which,
}

#[derive(clap::Subcommand)]
enum Which {
    Init(Init),
    List(List),
    Pin(Pin),
    Remove(Remove),
    Seal(super::token_seal::Seal),
    Migrate(super::migrate::Migrate),
    Setup(super::setup::Setup),
}

/// Make a token
///
/// Makes the store and the device secret as well, if they are not there.
#[derive(clap::Args)]
struct Init {
    /// The label of the token
    token: String,
    #[command(flatten)]
    officer: OfficerPin,
    #[command(flatten)]
    user: UserPin,
    #[command(flatten)]
    place: Place,
}

/// List the tokens; this takes no PIN
#[derive(clap::Args)]
struct List {
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// Set a PIN
///
/// The user sets their own PIN; the security officer sets either.
#[derive(clap::Args)]
struct Pin {
    /// The label of the token
    token: String,
    /// Set the user PIN with the security officer's, when it was forgotten or is locked
    #[arg(long, conflicts_with_all = ["officer", "pin_file"])]
    reset: bool,
    /// Set the security officer's PIN
    #[arg(long, conflicts_with = "pin_file")]
    officer: bool,
    /// Read the new PIN from the first line of a file or a descriptor [default: ask at the terminal, twice]
    #[arg(long, value_name = "FILE")]
    new_pin_file: Option<PathBuf>,
    #[command(flatten)]
    officer_pin: OfficerPin,
    #[command(flatten)]
    user_pin: UserPin,
    #[command(flatten)]
    place: Place,
}

/// Remove a token with all of its keys
#[derive(clap::Args)]
struct Remove {
    /// The label of the token
    token: String,
    /// Remove it without a PIN
    #[arg(long, conflicts_with = "so_pin_file")]
    force: bool,
    #[command(flatten)]
    officer: OfficerPin,
    #[command(flatten)]
    place: Place,
}

impl Command {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        match self.which {
            Which::Init(command) => command.run(),
            Which::List(command) => command.run(context),
            Which::Pin(command) => command.run(),
            Which::Remove(command) => command.run(),
            Which::Seal(command) => command.run(),
            Which::Migrate(command) => command.run(context),
            Which::Setup(command) => command.run(),
        }
    }
}

impl Init {
    fn run(self) -> Result<(), Error> {
        let mut store = self.place.open_or_make()?;
        if store.tokens()?.iter().any(|token| token.label == self.token) {
            return Err(millstream_store::Error::TokenExists(self.token).into());
        }
        let officer = self.officer.choose()?;
        let user = self.user.choose()?;
        if officer == user {
            return Err(Error::Usage(
                "the two PINs are the same; choose another for the security officer".into(),
            ));
        }
        store.make(&self.token, &officer, &user)
    }
}

impl List {
    fn run(self, context: &Context) -> Result<(), Error> {
        let mut store = self.place.look()?;
        tell_damage(&store, context);
        let tokens = store.tokens()?;
        if self.json {
            let tokens = tokens.into_iter().map(|token| {
                serde_json::json!({
                    "label": token.label,
                    "serial": token.token.to_string(),
                    "keys": token.objects,
                    "user_pin": token.has_user_pin,
                    "user_tries_left": token.user_tries_left,
                    "officer_tries_left": token.officer_tries_left,
                })
            });
            return print(format!("{:#}\n", serde_json::Value::from_iter(tokens)));
        }
        let lines = tokens.into_iter().map(|token| {
            let pin = match (token.has_user_pin, token.user_tries_left) {
                (false, _) => "no user PIN",
                (true, 0) => "user PIN locked",
                (true, 10) => "ready",
                (true, _) => "wrong PINs were tried",
            };
            format!("{}  {:>5} keys  {pin:<21}  {}\n", token.token, token.objects, shown::text(&token.label))
        });
        print(lines.collect::<String>())
    }
}

impl Pin {
    fn run(self) -> Result<(), Error> {
        let mut store = self.place.open()?;
        let role = if self.reset || self.officer { Role::Officer } else { Role::User };
        let pin = if role == Role::Officer { self.officer_pin.get()? } else { self.user_pin.get()? };
        let mut token = store.token(&self.token, role, &pin)?;
        let (whose, prompt) = match self.officer {
            true => (Role::Officer, &prompt::NEW_OFFICER),
            false => (Role::User, &prompt::NEW_USER),
        };
        let new = pins::get(self.new_pin_file.as_deref(), prompt, true)?;
        token.set_pin(whose, &new)
    }
}

impl Remove {
    fn run(self) -> Result<(), Error> {
        if self.force {
            return self.place.look()?.remove_unopened(&self.token);
        }
        let mut store = self.place.open()?;
        store.find(&self.token)?;
        tokens::remove(&mut store, &self.token, &self.officer.get()?)
    }
}

/// Names the records of a store that can't be understood.
pub(super) fn tell_damage(store: &Store, context: &Context) {
    for damage in store.damage() {
        match damage.object {
            Some(object) => context.warn(format!("key {object} of token {}: {}", damage.token, damage.why)),
            None => context.warn(format!("token {}: {}", damage.token, damage.why)),
        }
    }
}
