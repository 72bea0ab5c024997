//! `millstream key list`, `show`, `public` and `remove`.

use std::path::PathBuf;

use millstream_files::certificate::Certificate;
use millstream_files::key::Form as FileForm;
use millstream_store::{Attributes, Role};

use super::forms::{Form, usage_names};
use super::options::{InToken, Seen, Source};
use crate::commands::token::tell_damage;
use crate::commands::{Context, print};
use crate::error::Error;
use crate::hex;
use crate::output::Output;
use crate::shown;
use crate::tokens::Place;

/// List the keys of a token; this takes no PIN
///
/// A list is not authenticated: who can write to the store's file could have changed it. With a PIN, show tells what was sealed.
#[derive(clap::Args)]
pub(super) struct List {
    /// The label of the token
    #[arg(short = 'T', long, value_name = "TOKEN")]
    token: String,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

impl List {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let mut store = self.place.look()?;
        tell_damage(&store, context);
        let mut keys = store.objects(&self.token)?;
        keys.sort_by(|(_, a), (_, b)| a.label.cmp(&b.label));
        if self.json {
            let keys = keys.iter().map(|(object, attributes)| {
                let mut json = json(attributes);
                json["object"] = object.to_string().into();
                json
            });
            return print(format!("{:#}\n", serde_json::Value::from_iter(keys)));
        }
        let lines = keys.iter().map(|(object, key)| {
            let exportable = if key.exportable { "exportable" } else { "stays" };
            let (kind, label) = (shown::text(&key.kind), shown::text(&key.label));
            format!("{object}  {kind:<17}  {:>4} bits  {exportable:<10}  {label}\n", key.bits)
        });
        print(lines.collect::<String>())
    }
}

/// Show what is known of a key, and its public part, or a certificate
#[derive(clap::Args)]
pub(super) struct Show {
    #[command(flatten)]
    source: Source,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let Seen { attributes, public, is_public, .. } = self.source.see(context)?;
        let failed = |error| Error::in_format(error, "the key", "");
        let public = public.map(|public| public.write(FileForm::Pem)).transpose().map_err(failed)?;
        let public = public.map(|pem| String::from_utf8_lossy(&pem).into_owned());
        let certificate = attributes.certificate().map(Certificate::to_pem);
        let certificate = certificate.map(|pem| String::from_utf8_lossy(&pem).into_owned());
        if self.json {
            let mut json = json(&attributes);
            json["certificate"] = certificate.into();
            json["public_key"] = public.into();
            json["is_public"] = is_public.into();
            return print(format!("{json:#}\n"));
        }
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            if !value.is_empty() {
                text.push_str(&format!("{name:<11} {value}\n"));
            }
        };
        line("label", &shown::text(&attributes.label));
        line("id", &hex::write(&attributes.id));
        line("kind", &format!("{}{}", attributes.kind, if is_public { ", public" } else { "" }));
        if !is_public && certificate.is_none() {
            line("bits", &attributes.bits.to_string());
        }
        if !attributes.label.is_empty() && certificate.is_none() {
            line("usages", &usage_names(attributes.usages));
            line("exportable", if attributes.exportable { "yes" } else { "no" });
            line("made inside", if attributes.never_outside { "yes" } else { "no" });
        }
        // A certificate has its public key in it.
        text.push_str(&certificate.or(public).unwrap_or_default());
        print(text)
    }
}

fn json(attributes: &Attributes) -> serde_json::Value {
    serde_json::json!({
        "label": attributes.label,
        "id": hex::write(&attributes.id),
        "kind": attributes.kind,
        "bits": attributes.bits,
        "usages": usage_names(attributes.usages).split(',').collect::<Vec<_>>(),
        "exportable": attributes.exportable,
        "made_inside": attributes.never_outside,
        "created": attributes.created,
    })
}

/// Write the public part of a key
///
/// The public part of an identity file of age is a line with its recipient.
#[derive(clap::Args)]
pub(super) struct Public {
    #[command(flatten)]
    source: Source,
    /// The file to write; without it, standard output
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The form of the file
    #[arg(long, value_enum, default_value_t = Form::Pem)]
    form: Form,
}

impl Public {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let bytes = self.source.public(context, self.form.into())?;
        match crate::commands::cautions::file(self.output.as_deref()) {
            Some(path) => Output::named(path)?.save(bytes),
            None => print(bytes),
        }
    }
}

/// Remove a key from a token
#[derive(clap::Args)]
pub(super) struct Remove {
    #[command(flatten)]
    key: InToken,
}

impl Remove {
    pub(super) fn run(self) -> Result<(), Error> {
        let mut store = self.key.place.open()?;
        let mut token = store.token(&self.key.token, Role::User, &self.key.pin.get()?)?;
        let object = token.find(&self.key.key)?;
        token.remove(object)
    }
}
