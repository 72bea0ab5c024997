//! The report of a data plane: as JSON, and as text for people.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream_esp::{Counters, Direction, Place, Sa};
use serde_json::{Map, Value, json};

use super::paths::Path;
use super::plane::Plane;

/// Makes the report. It has no key.
pub(super) fn json(plane: &Plane) -> Value {
    let table = plane.table();
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    json!({
        "device": plane.tun.name(),
        "workers": plane.worker_count,
        "isolated": matches!(plane.place, Place::Worker(_)),
        "associations": table.all().map(|sa| association(plane, sa)).collect::<Vec<_>>(),
        "policies": table.policies().len(),
        "sockets": plane.outer.count(),
        "not_followed": count(&plane.events.not_followed),
        "dropped": dropped(&plane.dropped),
        "ike": count(&plane.events.ike),
        "keepalives": { "in": count(&plane.events.keepalives_in), "out": count(&plane.events.keepalives_out) },
        "refused": count(&plane.events.refused),
        "long_packets": { "in": count(&plane.events.long_in), "out": count(&plane.events.long_out) },
        "path_mtus": { "learned": count(&plane.events.path_mtus), "ignored": count(&plane.events.icmp_ignored) },
        "peers_moved": count(&plane.events.moves),
        "service_losses": count(&plane.events.service_losses),
    })
}

fn association(plane: &Plane, sa: &Sa) -> Value {
    let facts = sa.facts();
    let suite = facts.suite;
    let path = Path::of(facts, sa.direction());
    // The address to which packets go now.
    let peer = (sa.direction() == Direction::Out).then(|| plane.peer(&path));
    let (cipher, auth) =
        (suite.cipher().name(), suite.auth().map(|auth| format!("hmac-{}", auth.hash_name())));
    json!({
        "spi": format!("{:#010x}", facts.spi),
        "direction": if sa.direction() == Direction::In { "in" } else { "out" },
        "source": facts.source.to_string(),
        "destination": facts.destination.to_string(),
        "reqid": facts.reqid,
        "cipher": cipher,
        "auth": auth,
        "tag_bits": 8 * suite.tag_len(),
        "extended": facts.extended,
        "window": facts.window,
        "ports": facts.encapsulation.map(|ports| [ports.source_port, ports.destination_port]),
        "moved_to": peer.filter(|peer| *peer != path.peer).map(|peer| peer.to_string()),
        "path_mtu": peer.and_then(|peer| plane.path_mtus.told(peer.ip())),
        "longest": peer.map(|_| plane.longest(facts)),
        "number": sa.highest(),
        "packets": sa.counters().packets(),
        "bytes": sa.counters().bytes(),
        "dropped": dropped(sa.counters()),
        "soft_limit_reached": sa.is_soft(),
        "hard_limit_reached": sa.is_over(),
        "has_keys": sa.is_bound(),
    })
}

fn dropped(counters: &Counters) -> Value {
    Value::Object(
        counters
            .all_dropped()
            .map(|(fate, count)| (fate.name().to_owned(), count.into()))
            .collect::<Map<_, _>>(),
    )
}

/// Formats a report for people.
pub(crate) fn text(report: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let isolated = if report["isolated"] == true { ", keys in the service" } else { "" };
    let mut text = format!("{}: {} workers{isolated}\n", word(&report["device"]), report["workers"]);
    for sa in report["associations"].as_array().into_iter().flatten() {
        let auth = sa["auth"].as_str().map_or(String::new(), |auth| format!(" {auth}"));
        let moved = sa["moved_to"].as_str().map_or(String::new(), |peer| format!(" (now at {peer})"));
        let narrow = sa["path_mtu"].as_u64().map_or(String::new(), |mtu| format!(", path MTU {mtu}"));
        let _ = writeln!(
            text,
            "{} {} {} -> {}{moved} {}{auth}: {} packets, {} bytes, number {}{narrow}{}",
            word(&sa["spi"]),
            word(&sa["direction"]),
            word(&sa["source"]),
            word(&sa["destination"]),
            word(&sa["cipher"]),
            sa["packets"],
            sa["bytes"],
            sa["number"],
            state(sa),
        );
        drops(&mut text, "  dropped", &sa["dropped"]);
    }
    drops(&mut text, "without an association", &report["dropped"]);
    for (name, what) in [
        ("ike", "packets of IKE"),
        ("refused", "packets that the kernel refused"),
        ("not_followed", "messages of the kernel that are not followed"),
    ] {
        if report[name].as_u64().is_some_and(|count| count > 0) {
            let _ = writeln!(text, "{what}: {}", report[name]);
        }
    }
    text
}

fn state(sa: &Value) -> &'static str {
    if sa["has_keys"] == false {
        ", without keys"
    } else if sa["hard_limit_reached"] == true {
        ", its lifetime is over"
    } else if sa["soft_limit_reached"] == true {
        ", to be replaced"
    } else {
        ""
    }
}

fn drops(text: &mut String, what: &str, dropped: &Value) {
    let all: Vec<String> =
        dropped.as_object().into_iter().flatten().map(|(name, count)| format!("{name} {count}")).collect();
    if !all.is_empty() {
        let _ = writeln!(text, "{what}: {}", all.join(", "));
    }
}
