//! `millstream token migrate`: the keys of a token of SoftHSM2, brought into a token.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use millstream_cpu::Features;
use millstream_engines::hash::{Hash, Hasher};
use millstream_files::key::{Form, Key, PublicKey};
use millstream_files::softhsm::{self, Class, Contents, Object, Use};
use millstream_store::{Attributes, ObjectId, Role, usage};

use crate::commands::key::forms::usage_names;
use crate::commands::{Context, print};
use crate::error::Error;
use crate::hex;
use crate::shown;
use crate::tokens::pins::{self, UserPin, prompt};
use crate::tokens::{Open, Place};

/// The most bytes of a label or an identifier in a token.
const MOST_BYTES: usize = 255;

/// Bring the keys of a token of SoftHSM2 into a token
///
/// All keys are brought, or none; where the command was killed in the middle, --resume goes on. Labels, identifiers and usages stay as they are. A key can be exported afterwards if it was extractable and not
/// sensitive. What is no key, and keys of kinds that tokens don't have, are listed with the reason. The folder is read and never written; remove it when
/// the keys are to be nowhere else.
#[derive(clap::Args)]
pub(super) struct Migrate {
    /// The folder that directories.tokendir in softhsm2.conf names, or that of one token in there
    folder: PathBuf,
    /// The label of the token in SoftHSM2, if the folder has several
    #[arg(long, value_name = "LABEL")]
    softhsm_token: Option<String>,
    /// Read the user PIN in SoftHSM2 from the first line of a file or a descriptor [default: ask at the terminal]
    #[arg(long, value_name = "FILE")]
    softhsm_pin_file: Option<PathBuf>,
    /// The label of the token
    #[arg(short = 'T', long, value_name = "TOKEN")]
    token: String,
    /// Go on after this command was interrupted: keys that it brought before are compared, and stay
    #[arg(long, conflicts_with = "dry_run")]
    resume: bool,
    /// List what would be brought, and change nothing; this does not take the PIN of the token
    #[arg(long, conflicts_with = "pin_file")]
    dry_run: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pin: UserPin,
    #[command(flatten)]
    place: Place,
}

impl Migrate {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let features = Features::active()?;
        let source = softhsm::Token::find(&self.folder, self.softhsm_token.as_deref())?;
        let mut store = if self.dry_run { self.place.look()? } else { self.place.open()? };
        store.find(&self.token)?;
        let pin = pins::get(self.softhsm_pin_file.as_deref(), &prompt::SOFTHSM, false)?;
        let mut plan = Plan::new(features, source.objects(features, &pin)?)?;
        let labels = plan.labels()?;
        if !self.resume {
            store.are_free(&self.token, &labels)?;
        }
        if !self.dry_run {
            let pin = self.pin.get()?;
            let mut token = store.token(&self.token, Role::User, &pin)?;
            if self.resume {
                plan.pass_over(features, &mut token)?;
            }
            plan.carry_out(&mut token)?;
        }
        for key in plan.keys.iter().filter(|key| !key.restrictions.is_empty()) {
            let label = shown::text(&key.asked.label);
            let lost = key.restrictions.join(", ");
            context.warn(format!("key {label} had restrictions that a token does not keep: {lost}"));
        }
        if self.json {
            let text = plan.json(self.dry_run, source.label());
            return print(format!("{text:#}\n"));
        }
        print(plan.text(self.dry_run))
    }
}

/// A key to be brought.
struct Coming {
    key: Key,
    bits: usize,
    asked: Attributes,
    restrictions: Vec<&'static str>,
}

impl Coming {
    /// Returns true if a key of the token is this one, as this command brings it.
    fn is(
        &self,
        features: Features,
        token: &mut Open<'_>,
        object: ObjectId,
        there: &Attributes,
    ) -> Result<bool, Error> {
        let facts = |is: &Attributes| (is.kind.clone(), is.id.clone(), is.usages, is.exportable);
        if facts(there) != facts(&self.asked) || there.bits as usize != self.bits || there.never_outside {
            return Ok(false);
        }
        if self.key.kind().is_pair() {
            let public = self.key.public(features).and_then(|public| public.write(Form::Der));
            let public = public.map_err(|error| Error::in_format(error, &self.asked.label, ""))?;
            return Ok(public == there.public_key);
        }
        // Digests are compared in place of keys, since that takes no longer where more bytes are the same.
        let digest = |key: &[u8]| {
            let mut hasher = Hasher::new(features, Hash::Sha256);
            hasher.update(key);
            hasher.finish()
        };
        match token {
            Open::Service(_) if !there.exportable => Ok(false),
            token => Ok(digest(&token.export(object)?)[..] == digest(self.key.secret())[..]),
        }
    }
}

/// An object that is left.
struct Left {
    class: Class,
    label: String,
    id: Vec<u8>,
    path: PathBuf,
    why: String,
}

/// The plan for the objects of a token.
struct Plan {
    keys: Vec<Coming>,
    /// The keys that were brought before.
    there: Vec<Coming>,
    left: Vec<Left>,
}

impl Plan {
    fn new(features: Features, objects: Vec<Object>) -> Result<Plan, Error> {
        let mut plan = Plan { keys: Vec::new(), there: Vec::new(), left: Vec::new() };
        let (publics, others): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(|object| matches!(object.contents, Contents::Public(_)));
        let mut privates = Vec::new();
        for object in others {
            match &object.contents {
                Contents::Key(key) => {
                    let key = key.clone();
                    let public = plan.add(features, object, key, &publics)?;
                    privates.extend(public);
                }
                Contents::Other(why) => {
                    let why = why.clone();
                    plan.leave(object, why);
                }
                Contents::Public(_) => {}
            }
        }
        for object in publics {
            let Contents::Public(key) = &object.contents else { continue };
            if !privates.contains(key) {
                plan.leave(object, "its private key does not come along".to_owned());
            }
        }
        plan.keys.sort_by(|a, b| a.asked.label.cmp(&b.asked.label));
        plan.left.sort_by(|a, b| a.label.cmp(&b.label));
        Ok(plan)
    }

    /// Adds a key, or leaves it; returns its public key if it comes along and has one.
    fn add(
        &mut self,
        features: Features,
        object: Object,
        key: Key,
        publics: &[Object],
    ) -> Result<Option<PublicKey>, Error> {
        let kind = key.kind();
        let failed = |error| Error::in_format(error, &object.path.to_string_lossy(), "");
        let public = kind.is_pair().then(|| key.public(features)).transpose().map_err(failed)?;
        let bits = key.bits(features).map_err(failed)?;
        // One key of a token does what the two halves do in PKCS #11.
        let half = publics.iter().find(|other| match &other.contents {
            Contents::Public(other) => Some(other) == public.as_ref(),
            _ => false,
        });
        let uses = object.uses.iter().chain(half.iter().flat_map(|half| &half.uses));
        let usages = uses.fold(0, |usages, each| usages | bit(*each)) & usage::of_kind(kind.name());
        if usages == 0 {
            let why = format!("it has none of the usages that keys of {kind} have in tokens");
            self.leave(object, why);
            return Ok(None);
        }
        if object.id.len() > MOST_BYTES {
            self.leave(object, format!("its identifier has more than {MOST_BYTES} bytes"));
            return Ok(None);
        }
        let asked = Attributes {
            label: label(&object),
            id: object.id,
            kind: kind.name().to_owned(),
            usages,
            exportable: object.exportable,
            ..Attributes::default()
        };
        self.keys.push(Coming { key, bits, asked, restrictions: object.restrictions });
        Ok(public)
    }

    fn leave(&mut self, object: Object, why: String) {
        let label = label(&object);
        self.left.push(Left { class: object.class, label, id: object.id, path: object.path, why });
    }

    /// Returns the labels of all keys, none of which may be there twice.
    fn labels(&self) -> Result<BTreeSet<&str>, Error> {
        let mut labels = BTreeSet::new();
        for key in &self.keys {
            if !labels.insert(&*key.asked.label) {
                let label = shown::text(&key.asked.label);
                return Err(Error::Key(format!(
                    "SoftHSM2 has several keys with the label {label}, and nothing was brought; give them different labels there, as with \
                     'p11tool --set-label'"
                )));
            }
        }
        Ok(labels)
    }

    /// Takes the keys out of the plan that the token has already, after all of them were compared.
    fn pass_over(&mut self, features: Features, token: &mut Open<'_>) -> Result<(), Error> {
        let there: HashMap<String, (ObjectId, Attributes)> =
            token.keys()?.into_iter().map(|(object, is)| (is.label.clone(), (object, is))).collect();
        let mut others = Vec::new();
        for coming in std::mem::take(&mut self.keys) {
            match there.get(&coming.asked.label) {
                None => self.keys.push(coming),
                Some((object, is)) if coming.is(features, token, *object, is)? => self.there.push(coming),
                Some(_) => others.push(shown::text(&coming.asked.label)),
            }
        }
        if others.is_empty() {
            return Ok(());
        }
        Err(Error::Key(format!(
            "these keys of the token are others than those in SoftHSM2, or can't be compared since they stay in the service, and nothing was brought: {}; \
             remove them, or copy them to other labels with 'millstream key copy'",
            others.join(", ")
        )))
    }

    /// Puts the keys into a token. If one can't be, those before are taken out again.
    fn carry_out(&self, token: &mut Open<'_>) -> Result<(), Error> {
        for (before, Coming { key, asked, .. }) in self.keys.iter().enumerate() {
            let Err(error) = token.import(key.kind(), key.secret(), asked) else { continue };
            let mut remain = Vec::new();
            for Coming { asked, .. } in &self.keys[..before] {
                let removed = token.find(&asked.label).and_then(|object| token.remove(object));
                if removed.is_err() {
                    remain.push(shown::text(&asked.label));
                }
            }
            if remain.is_empty() {
                return Err(error);
            }
            let remain = remain.join(", ");
            return Err(Error::Key(format!(
                "{error}; these keys are in the token now, remove them: {remain}"
            )));
        }
        Ok(())
    }

    fn text(&self, is_dry: bool) -> String {
        let done = if is_dry { "to bring" } else { "brought" };
        let keys = self.keys.iter().map(|Coming { bits, asked, .. }| {
            let exportable = if asked.exportable { "exportable" } else { "stays" };
            let (kind, label) = (&asked.kind, shown::text(&asked.label));
            format!("{done:<8}  {kind:<17}  {bits:>4} bits  {exportable:<10}  {label}\n")
        });
        let there = self.there.iter().map(|Coming { asked, .. }| {
            format!("{:<8}  {:<17}  {}: was brought before\n", "there", asked.kind, shown::text(&asked.label))
        });
        let left = self.left.iter().map(|Left { class, label, why, .. }| {
            let (class, label, why) = (class.name(), shown::text(label), shown::text(why));
            format!("{:<8}  {class:<17}  {label}: {why}\n", "left")
        });
        keys.chain(there).chain(left).collect()
    }

    fn json(&self, is_dry: bool, source: &str) -> serde_json::Value {
        let keys = self.keys.iter().map(|Coming { bits, asked, restrictions, .. }| {
            serde_json::json!({
                "label": asked.label,
                "id": hex::write(&asked.id),
                "kind": asked.kind,
                "bits": bits,
                "usages": usage_names(asked.usages).split(',').collect::<Vec<_>>(),
                "exportable": asked.exportable,
                "restrictions_lost": restrictions,
            })
        });
        let left = self.left.iter().map(|Left { class, label, id, path, why }| {
            serde_json::json!({
                "class": class.name(),
                "label": label,
                "id": hex::write(id),
                "file": path.to_string_lossy(),
                "why": why,
            })
        });
        serde_json::json!({
            "dry_run": is_dry,
            "from": source,
            "keys": keys.collect::<Vec<_>>(),
            "there": self.there.iter().map(|coming| &coming.asked.label).collect::<Vec<_>>(),
            "left": left.collect::<Vec<_>>(),
        })
    }
}

/// Returns the bit of a use among the usages of a token's keys.
fn bit(each: Use) -> u32 {
    let place = usage::NAMES.iter().position(|name| *name == each.name());
    place.map_or(0, |place| 1 << place)
}

/// Returns the label of an object in a token: its own; else its identifier, or its file's name.
fn label(object: &Object) -> String {
    let fits = |label: &String| (1..=MOST_BYTES).contains(&label.len());
    let own = String::from_utf8(object.label.clone()).ok().filter(fits);
    let file = || object.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    own.or_else(|| Some(hex::write(&object.id)).filter(fits)).unwrap_or_else(file)
}
