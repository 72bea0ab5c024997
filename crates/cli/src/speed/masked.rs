//! OpenSSL without some of the processor's features. libcrypto reads its mask once, as it is loaded, so this takes
//! another process: this program again, with the variable set.

use std::path::Path;
use std::process::Stdio;

use millstream_observe::capability::Withheld;
use millstream_observe::{knobs, processor};
use serde_json::Value;

use super::surroundings::this_program;

/// A measurement of OpenSSL with fewer features.
pub struct Masked<'a> {
    /// The features to withhold, as in `aes`.
    pub without: &'a str,
    pub algorithm: &'a str,
    /// The lengths of objects.
    pub sizes: &'a [usize],
    pub seconds: f64,
    /// The libcrypto to load, if it is not the usual one.
    pub library: Option<&'a Path>,
}

impl Masked<'_> {
    /// Returns the speed in GB/s for each length. A failure says in words why there are none.
    ///
    /// # Errors
    /// When OpenSSL can't be told to leave the features unused, or the child process fails.
    pub fn gb_per_s(&self) -> Result<Vec<f64>, String> {
        let withheld = Withheld::without(self.without).map_err(|error| error.to_string())?;
        let settings = knobs::settings(withheld, processor::capabilities(), &|name| std::env::var_os(name));
        let mut settings = settings.iter().filter(|setting| setting.variable.starts_with("OPENSSL_"));
        let Some(mask) = settings.next() else {
            return Err(format!("OpenSSL has no mask for {} on this processor", self.without));
        };
        let sizes: Vec<String> = self.sizes.iter().map(usize::to_string).collect();
        let mut command = this_program();
        command.args(["speed", "--quiet", "--json", "--ways", "openssl", self.algorithm]);
        command.args(["--bytes", &sizes.join(","), "--seconds", &self.seconds.to_string()]);
        if let Some(library) = self.library {
            command.arg("--openssl").arg(library);
        }
        command.env(mask.variable, &mask.value).stdin(Stdio::null());
        let output = command.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        self.read(&output.stdout).ok_or_else(|| "its process printed no figures".to_owned())
    }

    /// Returns the speeds of a report in JSON, or nothing if a length is missing.
    fn read(&self, json: &[u8]) -> Option<Vec<f64>> {
        let report: Value = serde_json::from_slice(json).ok()?;
        let results = report["results"].as_array()?;
        let speed = |&bytes: &usize| {
            let result = results.iter().find(|result| result["bytes"].as_u64() == Some(bytes as u64))?;
            result["gb_per_s"].as_f64()
        };
        self.sizes.iter().map(speed).collect()
    }
}
