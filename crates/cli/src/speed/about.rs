//! The circumstances of a measurement, without which a figure is worth nothing.

use millstream::Way;
use millstream_cpu::{FeatureSet, processor_name};
use millstream_measure::calendar;
use millstream_measure::disturbance::Disturbance;
use serde_json::{Value, json};

/// The circumstances that stand above the tables.
pub struct About {
    /// The processor's name.
    pub processor: String,
    /// The features that were taken away.
    pub masked: FeatureSet,
    /// The number of threads.
    pub threads: u32,
    /// The seconds for each figure.
    pub seconds: f64,
    /// The ways that call a library, and its version.
    pub libraries: Vec<(&'static str, String)>,
    /// The reason why OpenSSL was not measured.
    pub absent: Option<String>,
}

impl About {
    /// Formats the circumstances, a fact a line.
    pub fn text(&self) -> String {
        let mut text = format!("Processor  {}\n", self.processor);
        if !self.masked.is_empty() {
            text += &format!("Masked     {}\n", self.masked);
        }
        if on_general_way() {
            text += "Queues     on the general way (MILLSTREAM_QUEUE)\n";
        }
        let mut told: Vec<&str> = Vec::new();
        for (way, library) in &self.libraries {
            if !told.contains(&library.as_str()) {
                let who = match *way {
                    "pkcs11" => "PKCS #11",
                    "openssl" | "openssl-oneshot" => "OpenSSL",
                    way => way,
                };
                text += &format!("{who:11}{library}\n");
                told.push(library);
            }
        }
        if let Some(absent) = &self.absent {
            text += &format!("OpenSSL    not measured: {absent}\n");
        }
        let threads =
            if self.threads == 1 { "one thread".to_owned() } else { format!("{} threads", self.threads) };
        text + &format!("Measured   {threads}, {} s a figure, results compared before\n", self.seconds)
    }

    /// Returns the same for other programs.
    pub fn json(&self, disturbed: &[Disturbance]) -> Value {
        let masked: Vec<&str> = self.masked.iter().map(|feature| feature.name()).collect();
        let libraries: serde_json::Map<String, Value> =
            self.libraries.iter().map(|(way, library)| (way.to_string(), json!(library))).collect();
        json!({
            "version": 1,
            "processor": self.processor,
            "masked": masked,
            "queues": if on_general_way() { "general" } else { "fast" },
            "threads": self.threads,
            "seconds": self.seconds,
            "libraries": libraries,
            "disturbed": disturbances(disturbed),
        })
    }
}

/// Returns true when `MILLSTREAM_QUEUE` has queues take the general way. A queue says so if the variable can't be understood.
fn on_general_way() -> bool {
    Way::active() == Ok(Way::General)
}

/// Returns what disturbed a measurement, for other programs.
pub fn disturbances(disturbed: &[Disturbance]) -> Value {
    disturbed.iter().map(|what| json!({ "kind": what.kind(), "text": what.to_string() })).collect()
}

/// Returns the line below a picture: the processor, the date, and this program.
pub fn line() -> String {
    format!("{}, {}, millstream {}", processor_name(), calendar::today(), env!("CARGO_PKG_VERSION"))
}
