//! Tracing programs, and withholding features from them.

use millstream_observe::process::{Obstacle, forbidden_by_yama};
use millstream_observe::without;

use super::finding::Finding;

pub(super) fn examine() -> Vec<Finding> {
    vec![running(forbidden_by_yama()), withholding()]
}

fn running(obstacle: Option<Obstacle>) -> Finding {
    match obstacle {
        None => Finding::ok("trace", "programs that run already can be traced"),
        Some(Obstacle::Yama { scope: 1 }) => Finding::warn(
            "trace",
            "programs can be traced that 'trace' starts; those that run already by root only",
            "run it as root, or set 'sysctl kernel.yama.ptrace_scope=0'",
        ),
        Some(Obstacle::Yama { scope: 2 }) => Finding::warn(
            "trace",
            "root alone can trace",
            "run it as root, or set 'sysctl kernel.yama.ptrace_scope=1'",
        ),
        Some(_) => Finding::warn(
            "trace",
            "nobody can trace until the next boot",
            "kernel.yama.ptrace_scope was set to 3: boot without that",
        ),
    }
}

fn withholding() -> Finding {
    match without::supported() {
        Ok(()) => Finding::ok("withholding", "features can be withheld from programs"),
        Err(why) => {
            let remedy = "'run --without' reaches only libraries that read a variable";
            Finding::warn("withholding", why.to_string(), remedy)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    #[test]
    fn each_scope_has_its_remedy() {
        assert_eq!(running(None).state, State::Ok);
        for (scope, word) in [(1, "ptrace_scope=0"), (2, "ptrace_scope=1"), (3, "boot")] {
            let found = running(Some(Obstacle::Yama { scope }));
            assert!(found.state == State::Warn && found.remedy.unwrap().contains(word), "{scope}");
        }
    }
}
