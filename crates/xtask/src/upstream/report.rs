//! The result of the runs, for people and as JSON.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::compare::{Difference, Expected, Judged};
use super::mode::Mode;
use super::product::Counted;
use super::suite::{Ended, Suite};

/// The data of the final report.
pub struct Report<'r> {
    pub suite: &'r Suite,
    pub version: &'r str,
    /// The folder that contains the runs' folders.
    pub place: &'r Path,
    pub recipes: usize,
    pub runs: &'r [Ended<'r>],
}

impl Report<'_> {
    /// Returns lines for people: the unexpected differences, and a table.
    pub fn text(&self) -> String {
        let mut text = format!("{} {}: {} recipes\n", self.suite.package, self.version, self.recipes);
        for run in self.runs {
            for difference in &run.judged.unexpected {
                let log = self.output(run.mode, difference);
                text += &format!("{}: {}; see {}\n", run.mode.name(), difference.shown(), log.display());
            }
            for line in &run.judged.outdated {
                let Expected { recipe, test, .. } = line;
                text += &format!(
                    "{}: {recipe}: {test}: does not differ any more: remove this line of the list\n",
                    run.mode.name()
                );
            }
        }
        text +=
            "MODE      FAILED   TESTS  EXPECTED  UNEXPECTED  OUTDATED  OPERATIONS          BYTES      TIME\n";
        for run in self.runs {
            let Judged { unexpected, expected, outdated } = &run.judged;
            let Counted { operations, bytes, .. } = run.counted.unwrap_or_default();
            text += &format!(
                "{:8}  {:6}  {:6}  {:8}  {:10}  {:8}  {operations:10}  {bytes:13}  {:6.0} s\n",
                run.mode.name(),
                run.failed(),
                run.tests(),
                expected.len(),
                unexpected.len(),
                outdated.len(),
                run.took.as_secs_f64()
            );
        }
        text
    }

    /// Returns the report for programs.
    pub fn json(&self) -> Value {
        let runs = self.runs.iter().map(|run| {
            let all = |differences: &[Difference]| -> Vec<Value> {
                differences.iter().map(Difference::json).collect()
            };
            let outdated = run.judged.outdated.iter();
            json!({
                "mode": run.mode.name(),
                "failed": run.failed(),
                "tests": run.tests(),
                "seconds": run.took.as_secs_f64(),
                "counted": run.counted.map(Counted::json),
                "expected": all(&run.judged.expected),
                "unexpected": all(&run.judged.unexpected),
                "outdated": outdated.map(|line| json!({ "recipe": line.recipe, "test": line.test })).collect::<Vec<_>>(),
            })
        });
        json!({
            "version": 1,
            "suite": { "package": self.suite.package, "version": self.version, "recipes": self.recipes },
            "runs": runs.collect::<Vec<_>>(),
        })
    }

    fn output(&self, mode: Mode, difference: &Difference) -> PathBuf {
        (self.suite.output)(&self.place.join(mode.name()), &difference.recipe)
    }

    /// Judges the runs.
    ///
    /// # Errors
    /// When there are unexpected differences or outdated lines.
    pub fn verdict(&self) -> Result<(), String> {
        let sum = |of: fn(&Judged) -> usize| self.runs.iter().map(|run| of(&run.judged)).sum::<usize>();
        let (unexpected, outdated) =
            (sum(|judged| judged.unexpected.len()), sum(|judged| judged.outdated.len()));
        match (unexpected, outdated) {
            (0, 0) => Ok(()),
            (0, _) => Err(format!("{outdated} lines of the list of differences are outdated")),
            (_, 0) => Err(format!("{unexpected} tests end otherwise with Millstream")),
            _ => Err(format!(
                "{unexpected} tests end otherwise with Millstream, and {outdated} lines of the list are outdated"
            )),
        }
    }
}
