//! `millstream speed`: the table of `openssl speed`, for every way of computing.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueEnum;
use millstream::isolated::Service;
use millstream_cpu::{Features, processor_name};
use millstream_engines::modes::Direction;
use millstream_measure::disturbance::{Disturbance, Watch};
use millstream_measure::plot::{self, Panel};
use zeroize::Zeroizing;

use crate::commands::{Context, cautions, pages, print};
use crate::error::{Error, exit};
use crate::output::Output;
use crate::progress::Progress;
use crate::secret;
use crate::speed::about::{self, About};
use crate::speed::algorithm::{self, Algorithm, Case};
use crate::speed::measure::{self, Measured, Setting};
use crate::speed::report::{self, Measure};
use crate::speed::sizes::{self, Size};
use crate::speed::surroundings::{self, LABEL, PIN, Surroundings};
use crate::speed::ways::batch::Batch;
use crate::speed::ways::direct::Direct;
use crate::speed::ways::kernel::Kernel;
use crate::speed::ways::openssl::{self, OpenSsl};
use crate::speed::ways::pkcs11::Pkcs11;
use crate::speed::ways::queue::{Isolated, Place, Queue};
use crate::speed::{Way, history, panels};

/// Measure how fast objects are computed, beside OpenSSL and PKCS #11 modules
///
/// All ways of computing an algorithm take turns on the same objects, after their results were compared with
/// those of the direct calls. A difference is an error. Without an ALGORITHM, the most used ones are
/// measured; `all` means all, and a name may have * in it.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::SPEED))]
pub(super) struct Speed {
    /// The algorithms, as in aes-128-gcm, sha256, hmac-sha256, 3des-cbc+hmac-md5, 'aes-*-cbc'
    #[arg(value_name = "ALGORITHM")]
    algorithms: Vec<String>,
    /// List the algorithms
    #[arg(short = 'l', long)]
    list: bool,
    /// Decrypt, verify and decrypt, or open
    #[arg(short = 'd', long)]
    decrypt: bool,
    /// Lengths of objects: 16,64,1024, ranges as 64-1500:4 or 16-16384:x2, or imix
    #[arg(long, value_name = "LENGTHS", default_value = sizes::USUAL)]
    bytes: String,
    /// Objects in flight, for the ways that can have several [default: 64; 1,32 beside isolated keys]
    #[arg(long, value_name = "N", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=65536))]
    depth: Vec<u32>,
    /// Threads that compute at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Seconds for each way at each length
    #[arg(long, value_name = "S", default_value_t = 0.2, value_parser = seconds)]
    seconds: f64,
    /// Measure only these ways [default: all available ones except queue-thread]
    #[arg(long, value_name = "WAY", value_delimiter = ',')]
    ways: Vec<Name>,
    /// The figures to show [default: all but kb]
    #[arg(long, value_name = "MEASURE", value_delimiter = ',')]
    show: Vec<Measure>,
    /// The libcrypto of OpenSSL 3 to measure [default: libcrypto.so.3 if it is there]
    #[arg(long, value_name = "PATH")]
    openssl: Option<PathBuf>,
    /// Measure the isolated queue too, in the running service or else in one that is started for this run
    #[arg(short = 'I', long)]
    isolated: bool,
    /// The service's socket [default: what MILLSTREAM_SOCKET names, else this user's or the machine's]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Measure an existing way of keeping keys elsewhere too, set up for this run
    #[arg(long, value_name = "PEER", value_delimiter = ',')]
    against: Vec<Peer>,
    /// A PKCS #11 module to measure
    #[arg(long, value_name = "PATH")]
    pkcs11: Option<PathBuf>,
    /// The label of its token [default: the only one]
    #[arg(long, value_name = "LABEL", requires = "pkcs11")]
    token: Option<String>,
    /// The token's PIN, which everyone on this machine can see; a file is better
    #[arg(long, value_name = "PIN", requires = "pkcs11", conflicts_with = "pin_file")]
    pin: Option<String>,
    /// The file whose first line is the token's PIN
    #[arg(long, value_name = "FILE", requires = "pkcs11")]
    pin_file: Option<PathBuf>,
    /// Repeat the experiments of 2008 to 2012 and print their figures beside ours
    #[arg(long, conflicts_with_all = ["algorithms", "decrypt", "bytes", "depth", "threads", "ways", "show", "csv"])]
    history: bool,
    /// Write JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Write comma-separated values
    #[arg(long)]
    csv: bool,
    /// Draw throughput over length into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Show no progress
    #[arg(short = 'q', long)]
    quiet: bool,
}

/// A way of computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// One object per call
    Direct,
    /// Many objects per call, side by side in lanes
    Batch,
    /// Operations in flight, computed on the thread that polls for results
    Queue,
    /// Operations in flight, computed on a second thread
    QueueThread,
    /// Operations in flight, computed by the service, which has the keys
    Isolated,
    /// OpenSSL, with everything fetched and set up beforehand
    Openssl,
    /// OpenSSL, with everything fetched and set up for each object
    OpensslOneshot,
    /// The kernel's random bytes, for rng
    Getrandom,
    /// The PKCS #11 module
    Pkcs11,
    /// SoftHSM, loaded into the process
    Softhsm,
    /// SoftHSM in another process, behind the server of p11-kit
    P11Kit,
}

/// An existing way of keeping keys elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Peer {
    /// SoftHSM, loaded into the process
    Softhsm,
    /// SoftHSM in another process, behind the server of p11-kit
    P11Kit,
}

impl Peer {
    fn name(self) -> Name {
        match self {
            Peer::Softhsm => Name::Softhsm,
            Peer::P11Kit => Name::P11Kit,
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 3600.0 => Ok(seconds),
        _ => Err("more than 0 and at most 3600 seconds".to_owned()),
    }
}

impl Speed {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        if self.list {
            return print(algorithm::names().join("\n") + "\n");
        }
        if self.plot.is_some() {
            cautions::spare_secrets(self.plot.as_deref(), &[("PIN file", self.pin_file.as_deref())])?;
        }
        let features = Features::active()?;
        let cases = self.cases()?;
        let sizes = sizes::parse(&self.bytes).map_err(Error::Usage)?;
        if !surroundings::are_there()
            && let Some(mut around) = self.surroundings()?
        {
            let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
            let code = around.run(&arguments)?;
            return if code == exit::SUCCESS { Ok(()) } else { Err(Error::Reported(code)) };
        }
        let ways = Ways::load(&self, features, context)?;
        // A file that can't be written should be noticed before minutes of work.
        let picture = self.plot.as_deref().map(Output::named).transpose()?;
        let Done { text, panels, disturbed } = if self.history {
            self.history(features, &ways)?
        } else {
            self.tables(features, &ways, &cases, &sizes)?
        };
        // Programs find them in the JSON.
        disturbed.iter().filter(|_| !self.json).for_each(|what| context.say(format!("warning: {what}")));
        let picture = match picture {
            Some(output) => {
                let name = output.name();
                let svg = plot::svg(&panels, &about::line()).map_err(Error::Usage)?;
                let write = |source| Error::Write { name, source };
                std::io::Write::write_all(&mut output.file(), svg.as_bytes()).map_err(write)?;
                Some(output)
            }
            None => None,
        };
        print(text)?;
        picture.map_or(Ok(()), Output::finish)
    }

    /// Returns true when a way is wanted that is not always available.
    fn wants(&self, name: Name) -> bool {
        let asked = self.ways.contains(&name) || self.against.iter().any(|peer| peer.name() == name);
        asked || name == Name::Isolated && (self.isolated || self.socket.is_some())
    }

    /// Returns the services that must run before the ways can be loaded, if any.
    fn surroundings(&self) -> Result<Option<Surroundings>, Error> {
        let serves = self.wants(Name::Isolated) && !self.finds_service()?;
        let [softhsm, p11_kit] = [Name::Softhsm, Name::P11Kit].map(|name| self.wants(name));
        if !(serves || softhsm || p11_kit) {
            return Ok(None);
        }
        let mut around = Surroundings::new()?;
        if softhsm || p11_kit {
            around.token()?;
        }
        if p11_kit {
            around.p11_kit()?;
        }
        if serves {
            around.serve()?;
        }
        Ok(Some(around))
    }

    /// Returns true when a service is running already. If one was named, it must run.
    fn finds_service(&self) -> Result<bool, Error> {
        match Service::connect(self.socket.as_deref()) {
            Ok(_) => Ok(true),
            Err(_) if self.socket.is_none() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the numbers of objects in flight.
    fn depths(&self) -> Vec<usize> {
        let isolates = [Name::Isolated, Name::Softhsm, Name::P11Kit].iter().any(|&name| self.wants(name));
        match self.depth.is_empty() {
            true if isolates => vec![1, 32],
            true => vec![64],
            false => self.depth.iter().map(|&depth| depth as usize).collect(),
        }
    }

    /// Returns the cases that were named, once each.
    fn cases(&self) -> Result<Vec<Case>, Error> {
        let direction = if self.decrypt { Direction::Decrypt } else { Direction::Encrypt };
        let mut names: Vec<String> = Vec::new();
        for pattern in &self.algorithms {
            let found = algorithm::matching(pattern);
            if found.is_empty() {
                let (name, near) = (pattern.clone(), algorithm::nearest(pattern));
                return Err(Error::UnknownAlgorithm { name, command: "millstream speed", near });
            }
            names.extend(found);
        }
        if self.algorithms.is_empty() {
            names = algorithm::USUAL.iter().map(|name| name.to_string()).collect();
        }
        let mut cases: Vec<Case> = Vec::new();
        for name in names {
            let Some(algorithm) = Algorithm::from_name(&name) else { continue };
            let possible = !self.decrypt || algorithm.has_two_directions();
            if possible && !cases.iter().any(|case| case.name == name) {
                cases.push(Case { name, algorithm, direction });
            }
        }
        if cases.is_empty() {
            let what = self.algorithms.join(", ");
            return Err(Error::Usage(format!("nothing of {what} can be decrypted; leave out --decrypt")));
        }
        Ok(cases)
    }

    /// Measures every case at every length.
    fn tables(&self, features: Features, ways: &Ways, cases: &[Case], sizes: &[Size]) -> Result<Done, Error> {
        let setting = Setting {
            features,
            ways: ways.chosen(&self.ways),
            depths: self.depths(),
            threads: self.threads as usize,
            seconds: self.seconds,
        };
        let watch = self.watch();
        let cells = self.cells(&setting, cases, sizes)?;
        let disturbed: Vec<_> = watch.seen().into_iter().chain(measure::unsteady(&cells)).collect();
        let about = self.about(features, &setting.ways, ways);
        let panels = if self.plot.is_some() { panels::panels(&cells) } else { Vec::new() };
        let text = if self.json {
            let mut value = about.json(&disturbed);
            value["results"] = report::json(&cells);
            format!("{value:#}\n")
        } else if self.csv {
            report::csv(&cells)
        } else {
            let mut text = about.text();
            let all = Measure::value_variants().iter().copied().filter(|&measure| measure != Measure::Kb);
            let shown = if self.show.is_empty() { all.collect() } else { self.show.clone() };
            let by_case = cells.chunk_by(|a, b| (&a.algorithm, a.decrypts) == (&b.algorithm, b.decrypts));
            by_case.for_each(|cells| text += &format!("\n{}", report::tables(cells, &shown)));
            text
        };
        Ok(Done { text, panels, disturbed })
    }

    /// Measures the cells in turn.
    fn cells(&self, setting: &Setting<'_>, cases: &[Case], sizes: &[Size]) -> Result<Vec<Measured>, Error> {
        let takes = |case: &Case, size: Size| match size {
            Size::Bytes(bytes) => case.algorithm.takes(bytes),
            Size::Imix => true,
        };
        let todo: Vec<(&Case, Size)> = cases
            .iter()
            .flat_map(|case| sizes.iter().map(move |&size| (case, size)))
            .filter(|&(case, size)| takes(case, size))
            .collect();
        if todo.is_empty() {
            return Err(Error::Usage("no algorithm takes objects of these lengths; try --bytes 64".into()));
        }
        let progress = Progress::cells(todo.len() as u64, self.quiet);
        let mut cells: Vec<Measured> = Vec::new();
        for (case, size) in todo {
            progress.say(&format!("{}, {size} bytes", case.name));
            match measure::cell(setting, case, size) {
                Ok(lines) => cells.extend(lines),
                Err(error) => {
                    progress.finish(false);
                    return Err(error);
                }
            }
            progress.advance(1);
        }
        progress.finish(true);
        if cells.is_empty() {
            let what = "none of these ways knows any of these algorithms; try --ways direct";
            return Err(Error::Usage(what.into()));
        }
        Ok(cells)
    }

    fn history(&self, features: Features, ways: &Ways) -> Result<Done, Error> {
        let progress = Progress::cells(history::cells(), self.quiet);
        let watch = self.watch();
        let done =
            history::run(features, &ways.chosen(&[]), self.openssl.as_deref(), self.seconds, &progress);
        progress.finish(done.is_ok());
        let (experiments, disturbed) = (done?, watch.seen());
        let about = self.about(features, &ways.chosen(&[]), ways);
        let text = if self.json {
            let mut value = about.json(&disturbed);
            value["experiments"] = history::json(&experiments);
            format!("{value:#}\n")
        } else {
            about.text() + &history::text(&experiments)
        };
        Ok(Done { text, panels: history::panels(&experiments), disturbed })
    }

    /// Looks at the machine before the measurement. A worker or a server with the keys is part of what is measured.
    fn watch(&self) -> Watch {
        let served = self.wants(Name::Isolated) || self.wants(Name::P11Kit);
        Watch::start().beside(if served { 1.0 } else { 0.0 })
    }

    /// Returns the circumstances, without which a figure is worth nothing.
    fn about(&self, features: Features, chosen: &[&dyn Way], ways: &Ways) -> About {
        let masked = Features::hardware().set().difference(features.set());
        let libraries = chosen.iter().filter_map(|way| Some((way.name(), way.about()?))).collect();
        About {
            processor: processor_name(),
            masked,
            threads: self.threads,
            seconds: self.seconds,
            libraries,
            absent: ways.absent.clone(),
        }
    }
}

/// The results, as text and as curves, and what disturbed them.
struct Done {
    text: String,
    panels: Vec<Panel>,
    disturbed: Vec<Disturbance>,
}

/// All ways of computing.
struct Ways {
    direct: Direct,
    batch: Batch,
    kernel: Kernel,
    queues: [Queue; 2],
    openssl: Option<[OpenSsl; 2]>,
    isolated: Option<Queue>,
    modules: Vec<(Name, Pkcs11)>,
    /// The reason why there is no OpenSSL, where nobody insisted on it.
    absent: Option<String>,
}

impl Ways {
    fn load(speed: &Speed, features: Features, context: &Context) -> Result<Ways, Error> {
        let names = |name| speed.ways.contains(&name);
        let insisted = names(Name::Openssl) || names(Name::OpensslOneshot) || speed.openssl.is_some();
        let wanted = insisted || speed.ways.is_empty();
        let (mut openssl, mut absent) = (None, None);
        if wanted {
            match openssl::load(speed.openssl.as_deref()) {
                Ok(ways) => openssl = Some(ways),
                Err(error) if insisted => return Err(error),
                Err(error) => absent = Some(error.to_string()),
            }
        }
        let isolated = match speed.wants(Name::Isolated) {
            true => {
                Some(Queue { features, place: Place::Isolated(Isolated::find(speed.socket.as_deref())?) })
            }
            false => None,
        };
        let queues = [Place::Inline, Place::Thread].map(|place| Queue { features, place });
        let (direct, batch) = (Direct { features }, Batch { features });
        let modules = modules(speed, context)?;
        Ok(Ways { direct, batch, kernel: Kernel, queues, openssl, isolated, modules, absent })
    }

    /// Returns the ways of these names that are available, or all, and those that were asked for by other
    /// options.
    fn chosen(&self, names: &[Name]) -> Vec<&dyn Way> {
        let mut all: Vec<(Name, &dyn Way)> = vec![(Name::Direct, &self.direct), (Name::Batch, &self.batch)];
        all.extend(
            [Name::Queue, Name::QueueThread].into_iter().zip(self.queues.iter().map(|q| q as &dyn Way)),
        );
        all.extend(self.isolated.iter().map(|way| (Name::Isolated, way as &dyn Way)));
        if let Some([prefetched, one_shot]) = &self.openssl {
            all.push((Name::Openssl, prefetched));
            all.push((Name::OpensslOneshot, one_shot));
        }
        all.push((Name::Getrandom, &self.kernel));
        all.extend(self.modules.iter().map(|(name, way)| (*name, way as &dyn Way)));
        let usual = |name: &Name| names.is_empty() && *name != Name::QueueThread;
        // These are available only when they were asked for.
        let asked = |name: &Name| matches!(name, Name::Isolated | Name::Softhsm | Name::P11Kit);
        let chosen = all.into_iter().filter(|(name, _)| usual(name) || asked(name) || names.contains(name));
        chosen.map(|(_, way)| way).collect()
    }
}

/// Loads the PKCS #11 modules: the one that was named, and those that were set up.
fn modules(speed: &Speed, context: &Context) -> Result<Vec<(Name, Pkcs11)>, Error> {
    let mut modules = Vec::new();
    if let Some(path) = &speed.pkcs11 {
        let pin = pin(speed, context)?;
        let pin = pin.as_ref().map(|pin| pin.as_slice());
        modules.push((Name::Pkcs11, Pkcs11::open("pkcs11", path, speed.token.as_deref(), pin)?));
    } else if speed.ways.contains(&Name::Pkcs11) {
        return Err(Error::Usage("name the module with --pkcs11".into()));
    }
    let set_up = |name, path: PathBuf| Pkcs11::open(name, &path, Some(LABEL), Some(PIN));
    if speed.wants(Name::Softhsm) {
        modules.push((Name::Softhsm, set_up("softhsm", surroundings::softhsm()?)?));
    }
    if speed.wants(Name::P11Kit) {
        modules.push((Name::P11Kit, set_up("p11-kit", surroundings::p11_kit()?)?));
    }
    Ok(modules)
}

fn pin(speed: &Speed, context: &Context) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    let Some(path) = &speed.pin_file else {
        return Ok(speed.pin.as_ref().map(|pin| Zeroizing::new(pin.clone().into_bytes())));
    };
    let (pin, warning) = secret::pin_file(path)?;
    if let Some(warning) = warning {
        context.warn(warning);
    }
    Ok(Some(pin))
}
