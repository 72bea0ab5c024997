//! The findings of a trace as JSON.

use std::time::Duration;

use millstream_measure::figures::rounded;
use millstream_observe::code::{Bounds, Classes, Counts};
use millstream_observe::trace::findings::{
    At, Counter, Findings, Function, Module, Note, Process, Question, Verdict,
};
use serde_json::{Map, Value, json};

use super::purpose;
use crate::exact;

/// Returns all findings for programs. The version changes only when a field goes or changes its meaning.
pub fn json(findings: &Findings) -> Value {
    let counter = |counter: &Counter| {
        json!({
            "classes": classes(counter.classes),
            "event": counter.event,
            "count": counter.count,
            "speculative": counter.speculative,
        })
    };
    let cost = &findings.cost;
    json!({
        "version": 1,
        "mode": findings.mode.name(),
        "seconds": time(findings.duration),
        "samples": findings.samples,
        "answers": Question::ALL.iter().map(|question| question_json(findings, *question)).collect::<Vec<_>>(),
        "processes": findings.processes.iter().map(process_json).collect::<Vec<_>>(),
        "modules": findings.modules.iter().map(module_json).collect::<Vec<_>>(),
        "counters": findings.counters.iter().map(counter).collect::<Vec<_>>(),
        "notes": findings.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "unreadable": findings.notes.iter().filter_map(unreadable).collect::<Vec<_>>(),
        "cost": {
            "images": cost.images,
            "known": cost.known,
            "scanning_s": time(cost.scanning),
            "armed": cost.armed,
            "fired": cost.fired,
            "stopped_s": time(cost.stopped),
            "looking_s": time(cost.looking),
        },
    })
}

/// Returns the file that a note is about, if it is in no other part of the findings.
fn unreadable(note: &Note) -> Option<Value> {
    let Note::Unreadable { path, why } = note else { return None };
    let mut value = json!({ "why": why });
    exact::put(&mut value, "path", path);
    Some(value)
}

fn question_json(findings: &Findings, question: Question) -> Value {
    let verdict = findings.verdict(question);
    let (answer, by) = match &verdict {
        Verdict::Yes(at) => ("yes", &at[..]),
        Verdict::OnlyNoise(at, _) => ("noise", &at[..]),
        Verdict::Unused(at) => ("unused", &at[..]),
        Verdict::Absent => ("absent", &[][..]),
        Verdict::Unknown(_) => ("unknown", &[][..]),
    };
    let function = |at: &At| {
        let mut function = json!({ "function": findings.function(*at).name });
        exact::put(&mut function, "module", &findings.modules[at.module].path);
        function
    };
    json!({
        "question": question.label(),
        "classes": classes(question.classes()),
        "answer": answer,
        "perhaps_checksum": answer == "yes" && findings.is_perhaps_checksum(question, by),
        "functions": by.iter().map(function).collect::<Vec<_>>(),
    })
}

fn process_json(process: &Process) -> Value {
    let mut value = json!({
        "pid": process.pid,
        "began_s": time(process.began),
        "watched_s": time(process.watched),
        "attached": process.attached,
        "ended": process.ended,
        "modules": process.modules,
    });
    exact::put(&mut value, "command", &process.command);
    value
}

fn module_json(module: &Module) -> Value {
    let mut value = json!({
        "library": module.library,
        "build_id": module.build_id,
        "present": classes(module.present),
        "watched": counts(&module.watched),
        "unproved": counts(&module.unproved),
        "unwatchable": module.unwatchable,
        "functions": module.functions.iter().map(function_json).collect::<Vec<_>>(),
    });
    exact::put(&mut value, "path", &module.path);
    value
}

fn function_json(function: &Function) -> Value {
    let by_process =
        function.by_process.iter().map(|(pid, entries)| json!({ "pid": pid, "entries": entries }));
    json!({
        "name": function.name,
        "symbol": function.symbol,
        "address": function.address,
        "bounds": match function.bounds {
            Bounds::Reached => "reached",
            Bounds::Start => "start",
            Bounds::Frame => "frame",
            Bounds::GoTable => "go",
            Bounds::Symbol => "symbol",
            Bounds::Jit => "generated",
        },
        "present": classes(function.present),
        "ran": classes(function.ran),
        "worked": classes(function.worked),
        "entries": function.entries,
        "samples": function.samples,
        "entries_per_s": function.rate.map(|rate| rounded(rate as f64)),
        "hits": function.hits,
        "first_s": function.first.map(time),
        "callers": function.callers,
        "origins": function.origins.iter().map(|origin| purpose(*origin)).collect::<Vec<_>>(),
        "by_process": by_process.collect::<Vec<_>>(),
    })
}

fn classes(classes: Classes) -> Vec<&'static str> {
    classes.iter().map(|class| class.name()).collect()
}

fn counts(counts: &Counts) -> Map<String, Value> {
    counts.iter().map(|(class, number)| (class.name().to_owned(), json!(number))).collect()
}

fn time(time: Duration) -> f64 {
    rounded(time.as_secs_f64())
}
