//! All fuzz targets as tests, in one program: each alone would have to be compiled and linked with all that it is built on.

#[path = "../../fuzz_targets/backup.rs"]
mod backup;
#[path = "../../fuzz_targets/columns.rs"]
mod columns;
#[path = "../../fuzz_targets/control_words.rs"]
mod control_words;
#[path = "../../fuzz_targets/control_words_t2.rs"]
mod control_words_t2;
#[path = "../../fuzz_targets/esp.rs"]
mod esp;
#[path = "../../fuzz_targets/headers.rs"]
mod headers;
#[path = "../../fuzz_targets/images.rs"]
mod images;
#[path = "../../fuzz_targets/keys.rs"]
mod keys;
#[path = "../../fuzz_targets/messages.rs"]
mod messages;
#[path = "../../fuzz_targets/midstate.rs"]
mod midstate;
#[path = "../../fuzz_targets/openssl.rs"]
mod openssl;
#[path = "../../fuzz_targets/params.rs"]
mod params;
#[path = "../../fuzz_targets/policy.rs"]
mod policy;
#[path = "../../fuzz_targets/provider.rs"]
mod provider;
#[path = "../../fuzz_targets/ring.rs"]
mod ring;
#[path = "../../fuzz_targets/solaris.rs"]
mod solaris;
#[path = "../../fuzz_targets/tink.rs"]
mod tink;
#[path = "../../fuzz_targets/tokens.rs"]
mod tokens;

/// A target that is missing above would be run by libFuzzer only.
#[test]
fn every_target_is_here() {
    let here = include_str!("targets.rs");
    let folder =
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz_targets")).expect("the targets");
    for target in folder {
        let name = target.expect("a target").file_name().into_string().expect("a name in UTF-8");
        assert!(here.contains(&format!("fuzz_targets/{name}\"")), "{name} is not replayed");
    }
}
