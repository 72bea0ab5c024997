//! Associations and policies from the kernel: the real one tells of what `ip xfrm` gives it.

use std::process::Command;

use crate::bed::{reports, run};
use crate::common::{MILLSTREAM, Place};

/// Policies come and go as they do in the kernel, and associations that have no keys yet are none. With a kernel that has ESP, associations
/// come and go, too, and packets go by them.
#[test]
fn what_the_kernel_has_is_followed() {
    let test = "what_the_kernel_has_is_followed";
    let place = Place::new();
    place.key("sa.conf", "# None.\n");
    let script = r#"
until_has() { until show a | grep -q "\"$1\": $2,"; do kill -0 $A; sleep 0.02; done; }
kill -TERM $A; wait $A
ends="src 192.0.2.1 dst 192.0.2.2"
template="tmpl $ends proto esp reqid 1 mode tunnel"
ip xfrm policy add src 10.1.0.0/24 dst 10.2.0.0/24 dir out $template
ip xfrm policy add src 10.2.0.0/24 dst 10.1.0.0/24 dir fwd $template
# A daemon does so before it has agreed on keys.
ip xfrm state allocspi $ends proto esp min 4096 max 8192 >/dev/null
FROM="--from-kernel"
begin_a
show a
ip xfrm policy add src 10.2.0.0/24 dst 10.1.0.0/24 dir in $template
until_has policies 3
ip xfrm policy update src 10.2.0.0/24 dst 10.1.0.0/24 dir in priority 7 $template
ip xfrm policy delete src 10.2.0.0/24 dst 10.1.0.0/24 dir fwd
until_has policies 2
ip xfrm policy add src 10.1.0.0/24 dst 10.9.0.0/24 dir out mark 7 $template
until_has not_followed 1
show a
ip xfrm policy flush
until_has policies 0
key=0x000102030405060708090a0b0c0d0e0f10111213
if ip xfrm state add $ends proto esp spi 0xc0de0001 mode tunnel replay-window 32 aead 'rfc4106(gcm(aes))' $key 128 2>/dev/null; then
    until show a | grep -q 0xc0de0001; do kill -0 $A; sleep 0.02; done
    ip xfrm state delete $ends proto esp spi 0xc0de0001
    while show a | grep -q 0xc0de0001; do kill -0 $A; sleep 0.02; done
else
    touch no-esp
fi
show a
cat a.log >&2
"#;
    let Some(out) = run(test, &place, ["", ""], "", script) else { return };
    let reports = reports(&out);
    let [begun, changed, last] = &reports[..] else { panic!("{out}") };
    assert_eq!((&begun["policies"], &begun["not_followed"]), (&2.into(), &0.into()), "{begun:#}");
    assert_eq!((&changed["policies"], &changed["not_followed"]), (&2.into(), &1.into()), "{changed:#}");
    for report in &reports {
        assert_eq!(report["associations"], serde_json::json!([]), "{report:#}");
    }
    assert_eq!(last["policies"], 0, "{last:#}");
    let said = std::fs::read_to_string(place.path("a.log")).unwrap();
    assert!(said.contains("from the kernel: a policy with a mark: not there"), "{said}");
    if place.path("no-esp").exists() {
        println!("SKIPPED {test}, associations: this kernel has no ESP (CONFIG_INET_ESP) to give them to");
    }
}

/// Without the right to see them there is an error that names the right, before anything is made.
#[test]
fn without_the_right_to_see_associations_nothing_begins() {
    let test = "without_the_right_to_see_associations_nothing_begins";
    let place = Place::new();
    let arguments = ["esp", "run", "--from-kernel", "--state", "state", "--control", "control"];
    // A user namespace without a network namespace has no rights over the network.
    let mut command = Command::new("unshare");
    command.args(["--user", MILLSTREAM]).args(arguments).current_dir(place.path("."));
    let ended = command.output();
    let said = ended.as_ref().map(|ended| String::from_utf8_lossy(&ended.stderr).into_owned());
    match said {
        Ok(said) if !said.contains("unshare") => {
            assert!(said.contains("CAP_NET_ADMIN") || said.contains("CONFIG_XFRM_USER"), "{said}");
            assert!(!place.path("state").exists());
        }
        _ => println!("SKIPPED {test}: this needs user namespaces"),
    }
}
