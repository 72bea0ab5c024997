//! Addresses of backups, as in `s3://bucket/pool/now` and `/srv/backups/pool/now`.

use std::path::PathBuf;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;

use crate::error::Error;

/// The place of a backup in its store: all of its objects have this name in front of theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The address as it was given.
    pub address: String,
    /// The name in the store.
    pub(crate) path: Path,
}

impl Location {
    /// Returns a name in a store of this process's memory.
    pub fn in_memory(name: &str) -> Self {
        Location { address: name.to_owned(), path: Path::from(name) }
    }

    /// Parses an address, and returns it with the store and true for a folder of this machine.
    ///
    /// # Errors
    /// [`Error::Location`] for an address that no store has, and where the store's settings do not suffice.
    pub fn parse(address: &str) -> Result<(Self, Arc<dyn ObjectStore>, bool), Error> {
        let bad = |why: String| Error::Location(format!("{address}: {why}"));
        let Some((scheme, rest)) = address.split_once("://") else { return local(address, address) };
        if scheme == "file" {
            return local(address, rest);
        }
        let (bucket, name) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(bad("names no bucket; write it as in s3://bucket/name".into()));
        }
        let store = cloud(scheme, bucket).map_err(bad)?;
        Ok((Location { address: address.to_owned(), path: Path::from(name) }, store, false))
    }

    /// Refuses the address of a whole bucket or of the root folder where a backup is to be made or removed.
    ///
    /// # Errors
    /// [`Error::Location`].
    pub fn check_named(&self) -> Result<(), Error> {
        if self.path.is_root() {
            let why =
                format!("{}: names no backup; write a name behind the bucket or the folder", self.address);
            return Err(Error::Location(why));
        }
        Ok(())
    }

    /// Returns the place of a backup under this one's name.
    pub(crate) fn below(&self, path: Path) -> Self {
        let rest: Vec<String> = path
            .prefix_match(&self.path)
            .into_iter()
            .flatten()
            .map(|part| part.as_ref().to_owned())
            .collect();
        let address = match self.address.strip_suffix('/').unwrap_or(&self.address) {
            address if rest.is_empty() => address.to_owned(),
            address => format!("{address}/{}", rest.join("/")),
        };
        Location { address, path }
    }

    /// Returns the path of an object of the backup.
    pub(crate) fn object(&self, parts: &[&str]) -> Path {
        parts.iter().fold(self.path.clone(), |path, part| path.join(*part))
    }

    pub(crate) fn manifest(&self) -> Path {
        self.object(&["manifest"])
    }

    pub(crate) fn draft(&self) -> Path {
        self.object(&["draft"])
    }
}

fn local(address: &str, folder: &str) -> Result<(Location, Arc<dyn ObjectStore>, bool), Error> {
    let bad = |why: String| Error::Location(format!("{address}: {why}"));
    let absolute = std::path::absolute(PathBuf::from(folder)).map_err(|error| bad(error.to_string()))?;
    let path = Path::from_absolute_path(&absolute).map_err(|error| bad(error.to_string()))?;
    let store = LocalFileSystem::new().with_fsync(true);
    Ok((Location { address: address.to_owned(), path }, Arc::new(store), true))
}

/// Makes the store of a scheme. Its settings come from the environment, under the names of each provider's own tools.
#[cfg(feature = "cloud")]
fn cloud(scheme: &str, bucket: &str) -> Result<Arc<dyn ObjectStore>, String> {
    use std::time::Duration;

    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
    use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
    use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
    use object_store::{ClientOptions, RetryConfig};

    // A segment takes minutes on a slow line. A connection on which nothing moves ends by the limit of reading.
    let options = || {
        ClientOptions::new()
            .with_timeout_disabled()
            .with_read_timeout(Duration::from_secs(120))
            .with_connect_timeout(Duration::from_secs(20))
    };
    // `Store` asks again by itself, and more patiently.
    let retry = || RetryConfig { max_retries: 2, ..RetryConfig::default() };
    // An endpoint without TLS is that of a server on this machine, as a rule, and only a variable asks for it.
    let is_plain = |end: Option<String>| end.is_some_and(|url| url.starts_with("http://"));
    let store: Result<Arc<dyn ObjectStore>, _> = match scheme {
        "s3" | "s3a" => {
            let builder = AmazonS3Builder::from_env();
            // A variable of S3's own goes before that of all services.
            let end = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint]
                .iter()
                .find_map(|key| builder.get_config_value(key));
            let is_here = end.as_ref().is_some_and(|end| {
                ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"]
                    .iter()
                    .any(|own| end.starts_with(own))
            });
            let is_plain = is_plain(end);
            let options = options().with_allow_http(is_plain);
            let store = builder
                .with_bucket_name(bucket)
                .with_client_options(options)
                .with_retry(retry())
                // TLS authenticates what is sent, so the signature need not, and nobody is in between on this machine. Else it must.
                .with_unsigned_payload(is_here || !is_plain);
            store.build().map(|store| Arc::new(store) as _)
        }
        "gs" => {
            let builder = GoogleCloudStorageBuilder::from_env();
            let is_plain = is_plain(builder.get_config_value(&GoogleConfigKey::BaseUrl));
            let store = builder
                .with_bucket_name(bucket)
                .with_client_options(options().with_allow_http(is_plain))
                .with_retry(retry());
            store.build().map(|store| Arc::new(store) as _)
        }
        "az" | "azure" => {
            let builder = MicrosoftAzureBuilder::from_env();
            let is_plain = is_plain(builder.get_config_value(&AzureConfigKey::Endpoint));
            let store = builder
                .with_container_name(bucket)
                .with_client_options(options().with_allow_http(is_plain))
                .with_retry(retry());
            store.build().map(|store| Arc::new(store) as _)
        }
        _ => return Err(unknown(scheme)),
    };
    store.map_err(|error| error.to_string())
}

#[cfg(not(feature = "cloud"))]
fn cloud(scheme: &str, _bucket: &str) -> Result<Arc<dyn ObjectStore>, String> {
    Err(match scheme {
        "s3" | "s3a" | "gs" | "az" | "azure" => {
            "this millstream was built without stores in the network; build it with the feature cloud".into()
        }
        _ => unknown(scheme),
    })
}

fn unknown(scheme: &str) -> String {
    format!("no store has the scheme {scheme}; there are s3, gs, az, file, and folders")
}
