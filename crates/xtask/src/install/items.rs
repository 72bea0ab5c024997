//! The files of an installation: where each will be, what is in it, and the package that it belongs to.

use std::fs;
use std::path::{Path, PathBuf};

use super::build::{Built, SHARED, SONAME};
use crate::generate::HEADER;
use crate::run::root;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The folders of an installation.
#[derive(Clone)]
pub struct Layout {
    /// The folder from which the files will be used: an absolute path.
    pub prefix: PathBuf,
    /// The folder for libraries: below the prefix, or absolute.
    pub libdir: PathBuf,
    /// The folder of zsh's functions, below the prefix.
    pub zsh: &'static str,
}

/// A file to be installed.
pub struct Item {
    /// The path from which programs will use the file.
    pub at: PathBuf,
    pub what: What,
    pub part: Part,
}

/// The content of a file.
pub enum What {
    Program(PathBuf),
    Library(PathBuf),
    Archive(PathBuf),
    Data(PathBuf),
    Text(String),
    Link(&'static str),
    /// A file that belongs to the machine's administrator, and is never replaced.
    Configuration(PathBuf),
}

/// The package that a file belongs to where there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Command,
    Library,
    Development,
    Provider,
    Pkcs11,
    Srtp,
}

impl Layout {
    /// Returns the layout that programs of every distribution look into.
    pub fn new(prefix: PathBuf, libdir: PathBuf) -> Self {
        Layout { prefix, libdir, zsh: "share/zsh/site-functions" }
    }

    /// Returns the folder for libraries.
    pub fn libraries(&self) -> PathBuf {
        self.prefix.join(&self.libdir)
    }

    /// Returns the path of the PKCS #11 module, where p11-kit and others look for modules.
    fn pkcs11(&self) -> PathBuf {
        self.libraries().join("pkcs11/libmillstream-pkcs11.so")
    }

    /// Returns the folder in which a program below this prefix looks for its configuration.
    fn configuration(&self) -> PathBuf {
        if self.prefix == Path::new("/usr") { PathBuf::from("/etc") } else { self.prefix.join("etc") }
    }

    /// Lists all files.
    ///
    /// # Errors
    /// Names the file of the workspace that can't be read.
    pub fn items(&self, built: &Built) -> Result<Vec<Item>, String> {
        let mut items = self.programs(built);
        for page in files(&root().join("docs/man"))? {
            let name = page.file_name().unwrap_or_default();
            let at = self.prefix.join("share/man/man1").join(name);
            items.push(Item { at, what: What::Data(page), part: Part::Command });
        }
        for (from, folder, name) in [
            ("millstream.bash", "share/bash-completion/completions", "millstream"),
            ("millstream.fish", "share/fish/vendor_completions.d", "millstream.fish"),
            ("millstream.zsh", self.zsh, "_millstream"),
        ] {
            let what = What::Data(root().join("docs/completions").join(from));
            items.push(Item { at: self.prefix.join(folder).join(name), what, part: Part::Command });
        }
        self.service(&mut items)?;
        Ok(items)
    }

    /// Lists the files that were built, and the others that a program is compiled and linked with.
    fn programs(&self, built: &Built) -> Vec<Item> {
        let (prefix, libraries) = (&self.prefix, self.libraries());
        let shared = concat!("libmillstream.so.", env!("CARGO_PKG_VERSION"));
        let item = |at, part, what| Item { at, what, part };
        vec![
            item(prefix.join("bin/millstream"), Part::Command, What::Program(built.cli.clone())),
            item(libraries.join("libmillstream.a"), Part::Development, What::Archive(built.library.clone())),
            item(libraries.join(shared), Part::Library, What::Library(built.shared.clone())),
            item(libraries.join(SONAME), Part::Library, What::Link(shared)),
            item(libraries.join(SHARED), Part::Development, What::Link(SONAME)),
            item(
                libraries.join("pkgconfig/millstream.pc"),
                Part::Development,
                What::Text(self.pkg_config(&built.private_libraries())),
            ),
            item(prefix.join("include/millstream.h"), Part::Development, What::Data(root().join(HEADER))),
            item(
                libraries.join("ossl-modules/millstream.so"),
                Part::Provider,
                What::Library(built.provider.clone()),
            ),
            item(self.pkcs11(), Part::Pkcs11, What::Library(built.pkcs11.clone())),
            item(
                prefix.join("share/p11-kit/modules/millstream.module"),
                Part::Pkcs11,
                What::Text(format!("module: {}\n", self.pkcs11().display())),
            ),
            item(
                libraries.join("millstream/libmillstream-srtp.so"),
                Part::Srtp,
                What::Library(built.srtp.clone()),
            ),
        ]
    }

    /// Adds the units of systemd, with the paths of this prefix, and the policy that they name.
    fn service(&self, items: &mut Vec<Item>) -> Result<(), String> {
        let policy = self.configuration().join("millstream/policy.toml");
        for name in ["millstream.service", "millstream.socket"] {
            let path = root().join("dist").join(name);
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let program = self.prefix.join("bin/millstream").display().to_string();
            let text = text.replace("/usr/bin/millstream", &program);
            let text = text.replace("/etc/millstream/policy.toml", &policy.display().to_string());
            let at = self.prefix.join("lib/systemd/system").join(name);
            items.push(Item { at, what: What::Text(text), part: Part::Command });
        }
        let what = What::Configuration(root().join("dist/policy.toml"));
        items.push(Item { at: policy, what, part: Part::Command });
        Ok(())
    }

    fn pkg_config(&self, private: &str) -> String {
        let libdir = if self.libdir.is_absolute() {
            self.libdir.display().to_string()
        } else {
            format!("${{prefix}}/{}", self.libdir.display())
        };
        format!(
            "prefix={}\n\
             libdir={libdir}\n\
             includedir=${{prefix}}/include\n\
             \n\
             Name: millstream\n\
             Description: Cryptographic acceleration for Linux\n\
             Version: {VERSION}\n\
             Libs: -L${{libdir}} -lmillstream\n\
             Libs.private: {private}\n\
             Cflags: -I${{includedir}}\n",
            self.prefix.display()
        )
    }
}

/// Returns the files of a folder, in order.
///
/// # Errors
/// Names the folder if it can't be read.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.map_while(Result::ok).map(|entry| entry.path()).collect();
    files.sort();
    Ok(files)
}
