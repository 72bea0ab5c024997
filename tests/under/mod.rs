//! A service with a policy, and a library context in this process whose provider is configured to use it.
// Each test program uses a part of this file.
#![allow(dead_code)]

use millstream_tests::{Place, Provider, Service, Side};

use crate::support::Library;

/// A service whose policy has these lines, and programs that use it.
pub struct Under {
    // The fields are dropped in this order.
    pub library: Library,
    pub side: Side,
    pub service: Service,
    _place: Place,
}

impl Under {
    pub fn policy(lines: &str) -> Under {
        let place = Place::new();
        let policy = place.write("policy.toml", format!("[default]\n{lines}\n"));
        let service = Service::start(&place, &["--policy", policy.to_str().unwrap()]);
        let side = Side::new(&place, "isolated", Provider::Isolated(&service));
        let library = Library::with(&[]);
        library.configure(side.configuration());
        Under { library, side, service, _place: place }
    }

    /// Returns how many keys each grant holds.
    pub fn keys(&self) -> Vec<u64> {
        let status = self.service.status().expect("it answers");
        let status: serde_json::Value = serde_json::from_str(&status).expect("it is JSON");
        let grants = status["grants"].as_array().expect("there is a list");
        grants.iter().map(|grant| grant["keys"].as_u64().expect("a number")).collect()
    }
}
