//! The system calls that each thread may make: rules that are data, compiled for this processor.

use std::fmt;

use seccompiler::{BpfProgram, TargetArch};
use serde_json::Value;

/// The role of a thread. Each has rules of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Obeys the broker and answers clients about keys.
    Control,
    /// Looks at the rings and executes.
    Accelerator,
    /// Tries PINs and makes keys of tokens.
    Vault,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 3] = [Role::Control, Role::Accelerator, Role::Vault];

    /// Returns the role's name in the rules' file.
    pub fn name(self) -> &'static str {
        match self {
            Role::Control => "control",
            Role::Accelerator => "accelerator",
            Role::Vault => "vault",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Role::Control => include_str!("../../../sandbox/control.json"),
            Role::Accelerator => include_str!("../../../sandbox/accelerator.json"),
            Role::Vault => include_str!("../../../sandbox/vault.json"),
        }
    }
}

/// One rule, for who checks them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The rule's name for [`Config::deny`](crate::worker::Config::deny): `role:syscall`, and of several for one system
    /// call which, from 1, as in `control:fcntl:2`.
    pub name: String,
    /// Why it is there.
    pub comment: String,
    /// The circumstances that make it needed, if a test can't have them.
    pub when: Option<String>,
}

/// Why the rules can't be used. They are part of the program, so a test finds it first.
#[derive(Debug)]
pub struct BadRules(String);

impl fmt::Display for BadRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the sandbox's rules can't be used here: {}", self.0)
    }
}

fn bad(why: impl fmt::Display) -> BadRules {
    BadRules(why.to_string())
}

/// The rules of a thread that hold in this build, with what their file says of them.
fn rules(role: Role, processor: &str) -> Result<(Value, Vec<(Rule, Value)>), BadRules> {
    let mut file: Value = serde_json::from_str(role.text()).map_err(bad)?;
    let list = file.pointer_mut(&format!("/{}/filter", role.name())).and_then(Value::as_array_mut);
    let list = std::mem::take(list.ok_or_else(|| bad("no filter"))?);
    let text = |rule: &Value, field: &str| rule.get(field).and_then(Value::as_str).map(str::to_owned);
    let calls: Vec<_> = list.iter().map(|rule| text(rule, "syscall").unwrap_or_default()).collect();
    let mut rules = Vec::new();
    for (index, (mut rule, call)) in list.into_iter().zip(&calls).enumerate() {
        let (when, comment) = (text(&rule, "when"), text(&rule, "comment").unwrap_or_default());
        let fields = rule.as_object_mut().ok_or_else(|| bad("a rule that is none"))?;
        fields.remove("when");
        let only = fields.remove("only");
        let holds = only.as_ref().and_then(Value::as_array).is_none_or(|only| {
            only.iter().any(|only| *only == *processor || *only == "debug" && cfg!(debug_assertions))
        });
        if holds {
            let number = calls[..=index].iter().filter(|other| *other == call).count();
            let several = calls.iter().filter(|other| *other == call).count() > 1;
            let number = if several { format!(":{number}") } else { String::new() };
            let name = format!("{}:{call}{number}", role.name());
            rules.push((Rule { name, comment, when }, rule));
        }
    }
    Ok((file, rules))
}

/// All rules that hold in this build.
///
/// # Errors
/// [`BadRules`].
pub fn all_rules() -> Result<Vec<Rule>, BadRules> {
    let mut all = Vec::new();
    for role in Role::ALL {
        all.extend(rules(role, std::env::consts::ARCH)?.1.into_iter().map(|(rule, _)| rule));
    }
    Ok(all)
}

/// Compiles what the kernel is given for a thread, without the rules that are denied: a rule's name, or a system
/// call's.
pub(super) fn program(role: Role, processor: &str, deny: Option<&str>) -> Result<BpfProgram, BadRules> {
    let architecture = TargetArch::try_from(processor).map_err(bad)?;
    let (mut file, rules) = rules(role, processor)?;
    let denied = |rule: &(Rule, Value)| {
        deny.is_some_and(|deny| {
            rule.0.name == deny || rule.1.get("syscall").is_some_and(|call| *call == deny)
        })
    };
    let kept: Vec<_> = rules.into_iter().filter(|rule| !denied(rule)).map(|(_, rule)| rule).collect();
    file[role.name()]["filter"] = Value::Array(kept);
    let mut programs =
        seccompiler::compile_from_json(file.to_string().as_bytes(), architecture).map_err(bad)?;
    programs.remove(role.name()).ok_or_else(|| bad("no program"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_compile_for_every_processor() {
        for processor in ["x86_64", "aarch64"] {
            for role in Role::ALL {
                assert!(!program(role, processor, None).unwrap().is_empty());
            }
        }
    }

    #[test]
    fn every_rule_says_why_and_has_a_name_of_its_own() {
        let rules = all_rules().unwrap();
        for rule in &rules {
            assert!(!rule.comment.is_empty(), "{}", rule.name);
            assert_eq!(rules.iter().filter(|other| other.name == rule.name).count(), 1, "{}", rule.name);
        }
    }

    /// A rule without conditions beside one with conditions for the same call would be forgotten by the compiler.
    #[test]
    fn several_rules_for_a_call_all_have_conditions() {
        for role in Role::ALL {
            let (_, rules) = rules(role, "x86_64").unwrap();
            for (rule, value) in &rules {
                let several =
                    rules.iter().filter(|(_, other)| other["syscall"] == value["syscall"]).count() > 1;
                assert!(!several || value.get("args").is_some(), "{}", rule.name);
            }
        }
    }

    #[test]
    fn what_is_denied_is_left_out() {
        let len = |deny| program(Role::Control, "x86_64", deny).unwrap().len();
        assert!(len(Some("control:mmap")) < len(None) && len(Some("futex")) < len(None));
        assert_eq!(len(Some("accelerator:mmap")), len(None));
    }
}
