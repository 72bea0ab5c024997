//! The differences between the results without and with Millstream, and the list of those that were expected.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde_json::{Value, json};

use super::mode::Mode;
use super::tap::{Test, Verdict};

/// The results of one run: each recipe's, by its name.
pub type Results = BTreeMap<String, Test>;

/// A test that ended otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub recipe: String,
    /// The names on the way to the test within the recipe; none for the recipe as a whole.
    pub test: String,
    pub without: Option<Verdict>,
    pub with: Option<Verdict>,
}

impl Difference {
    /// Describes the difference for people.
    pub fn shown(&self) -> String {
        self.between("without", "with")
    }

    /// Describes the difference between two runs that have these names.
    pub fn between(&self, without: &str, with: &str) -> String {
        let verdict = |verdict: Option<Verdict>| verdict.map_or("not there", Verdict::shown);
        let test = if self.test.is_empty() { "as a whole" } else { &self.test };
        format!("{}: {test}: {} {without}, {} {with}", self.recipe, verdict(self.without), verdict(self.with))
    }

    /// Describes the difference for programs.
    pub fn json(&self) -> Value {
        let verdict = |verdict: Option<Verdict>| verdict.map(Verdict::shown);
        json!({
            "recipe": self.recipe,
            "test": self.test,
            "without": verdict(self.without),
            "with": verdict(self.with),
        })
    }
}

/// A line of the list of differences that are known and right.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub recipe: String,
    /// The recipe's tests that differ, as a pattern; all of them by default.
    #[serde(default = "any")]
    pub test: String,
    /// The number of tests that differ, if it is known. If there are more or fewer, no difference counts as expected.
    #[serde(default)]
    pub count: Option<usize>,
    /// The versions that the line is for, by their beginnings in whole numbers; all versions by default.
    #[serde(default)]
    pub versions: Vec<String>,
    /// The runs that the line is for; both by default.
    #[serde(default)]
    pub modes: Vec<Mode>,
    /// The reason for which the difference is right.
    pub reason: String,
}

fn any() -> String {
    "*".to_owned()
}

impl Expected {
    /// Returns true if the line is for such a run.
    fn is_of(&self, version: &str, mode: Mode) -> bool {
        let versions = self.versions.is_empty() || self.versions.iter().any(|start| begins(version, start));
        versions && (self.modes.is_empty() || self.modes.contains(&mode))
    }

    fn is(&self, difference: &Difference) -> bool {
        self.recipe == difference.recipe && matches(&self.test, &difference.test)
    }
}

/// The differences of a run, judged by the list.
#[derive(Debug, Default)]
pub struct Judged<'e> {
    /// The differences that no line of the list fits.
    pub unexpected: Vec<Difference>,
    pub expected: Vec<Difference>,
    /// The lines that no difference fits any more.
    pub outdated: Vec<&'e Expected>,
}

/// Judges the differences of a run in which all `recipes` ran, by the list.
pub fn judge<'e>(
    list: &'e [Expected],
    version: &str,
    mode: Mode,
    recipes: &[String],
    differences: Vec<Difference>,
) -> Judged<'e> {
    let (fit, outdated): (Vec<&Expected>, Vec<&Expected>) = list
        .iter()
        .filter(|line| line.is_of(version, mode) && recipes.contains(&line.recipe))
        .partition(|line| {
            let found = differences.iter().filter(|difference| line.is(difference)).count();
            found > 0 && line.count.is_none_or(|count| count == found)
        });
    let (expected, unexpected) =
        differences.into_iter().partition(|difference| fit.iter().any(|line| line.is(difference)));
    Judged { unexpected, expected, outdated }
}

/// Returns the differences between two runs of the same recipes.
pub fn differences(without: &Results, with: &Results) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut names: Vec<&String> = without.keys().chain(with.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        collect(name, &mut Vec::new(), without.get(name), with.get(name), &mut found);
    }
    found
}

/// Adds the differences of a test: those of its parts if there are any, else that of the test itself.
fn collect(
    recipe: &str,
    path: &mut Vec<String>,
    without: Option<&Test>,
    with: Option<&Test>,
    found: &mut Vec<Difference>,
) {
    let before = found.len();
    let parts = |test: Option<&'_ Test>| test.map(|test| test.parts.clone()).unwrap_or_default();
    // A test that is missing on one side is itself the difference, or one of its parts is.
    if with.is_some() {
        for (left, right) in pairs(&parts(without), &parts(with)) {
            let named = left.or(right).map_or("", |part| &part.name);
            path.push(named.to_owned());
            collect(recipe, path, left, right, found);
            path.pop();
        }
    }
    let verdicts = (without.map(|test| test.verdict), with.map(|test| test.verdict));
    if found.len() == before && is_worse(verdicts.0, verdicts.1) {
        let (without, with) = verdicts;
        found.push(Difference { recipe: recipe.to_owned(), test: path.join(" / "), without, with });
    }
}

/// Returns true if the change of a test's result matters. More tests, because there are more ciphers or nothing is
/// missing for them, don't matter.
fn is_worse(without: Option<Verdict>, with: Option<Verdict>) -> bool {
    match with {
        Some(Verdict::Passed) => without == Some(Verdict::Failed),
        Some(Verdict::Skipped) => !matches!(without, None | Some(Verdict::Skipped)),
        _ => without != with,
    }
}

/// Returns the tests that are the same on both sides. First come those of one name, in their order. Then come the
/// others in their order, whose names contain something that is different each time.
fn pairs<'t>(without: &'t [Test], with: &'t [Test]) -> Vec<(Option<&'t Test>, Option<&'t Test>)> {
    let mut named: BTreeMap<&str, VecDeque<&Test>> = BTreeMap::new();
    for test in with {
        named.entry(&test.name).or_default().push_back(test);
    }
    let mut found: Vec<(Option<&Test>, Option<&Test>)> = without
        .iter()
        .map(|test| (Some(test), named.get_mut(&*test.name).and_then(VecDeque::pop_front)))
        .collect();
    // The remaining tests stay in their order.
    let left = |test: &&'t Test| {
        named.get(&*test.name).is_some_and(|left| left.iter().any(|other| std::ptr::eq(*other, *test)))
    };
    let mut left: VecDeque<&Test> = with.iter().filter(left).collect();
    for pair in found.iter_mut().filter(|(_, right)| right.is_none()) {
        pair.1 = left.pop_front();
    }
    found.extend(left.into_iter().map(|test| (None, Some(test))));
    found
}

/// Returns true if a version begins so, in whole numbers: `3.0` begins `3.0.20-1`, and not `3.01`.
fn begins(version: &str, start: &str) -> bool {
    let rest = version.strip_prefix(start);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
}

/// Returns true if a text fits a pattern, in which a `*` stands for any text.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| matches(rest, &text[at..]))
}

#[cfg(test)]
mod tests {
    use super::super::tap::parse;
    use super::*;

    const GOOD: &str = "1..2\n    1..2\n    ok 1 - a\n    ok 2 - b\nok 1 - first\nok 2 - second\n";

    fn results(said: &str) -> Results {
        [("10-x".to_owned(), parse("10-x", said))].into()
    }

    fn found(with: &str) -> Vec<(String, Option<Verdict>, Option<Verdict>)> {
        let all = differences(&results(GOOD), &results(with));
        all.into_iter().map(|found| (found.test, found.without, found.with)).collect()
    }

    #[test]
    fn equal_results_have_no_differences() {
        assert_eq!(found(GOOD), []);
    }

    #[test]
    fn the_innermost_test_is_named() {
        let with = "1..2\n    1..2\n    ok 1 - a\n    not ok 2 - b\nnot ok 1 - first\nok 2 - second\n";
        assert_eq!(found(with), [("first / b".into(), Some(Verdict::Passed), Some(Verdict::Failed))]);
        let with = "1..2\n    1..2\n    ok 1 - a\n    ok 2 - b\nnot ok 1 - first\nok 2 - second\n";
        assert_eq!(found(with), [("first".into(), Some(Verdict::Passed), Some(Verdict::Failed))]);
    }

    #[test]
    fn what_is_missing_or_skipped_or_fails_is_a_difference() {
        let with = "1..2\n    1..2\n    ok 1 - a # skip\nok 1 - first\nok 2 - second\n";
        let expected = [
            ("first / a".into(), Some(Verdict::Passed), Some(Verdict::Skipped)),
            ("first / b".into(), Some(Verdict::Passed), None),
        ];
        assert_eq!(found(with), expected);
        let with = GOOD.replace("    ok 2 - b", "    ok 2 - b\n    not ok 3 - c");
        assert_eq!(found(&with), [("first / c".into(), None, Some(Verdict::Failed))]);
    }

    #[test]
    fn what_is_tested_in_addition_is_none() {
        let with =
            GOOD.replace("    ok 1 - a", "    ok 1 - more\n    ok 2 - a").replace("ok 2 - b", "ok 3 - b");
        assert_eq!(found(&with), []);
        let skipped = GOOD.replace("ok 2 - b", "ok 2 - b # skip");
        assert_eq!(differences(&results(&skipped), &results(GOOD)), []);
    }

    #[test]
    fn names_may_be_in_another_order_or_differ() {
        let with = GOOD.replace("ok 1 - a", "ok 1 - b").replace("ok 2 - b", "not ok 2 - a");
        assert_eq!(found(&with), [("first / a".into(), Some(Verdict::Passed), Some(Verdict::Failed))]);
        assert_eq!(found(&GOOD.replace("- a", "- /tmp/Gx1")), []);
        let with = GOOD.replace("ok 1 - a", "not ok 1 - /tmp/Gx1");
        assert_eq!(found(&with), [("first / a".into(), Some(Verdict::Passed), Some(Verdict::Failed))]);
    }

    #[test]
    fn whoever_fails_without_and_passes_with_is_a_difference() {
        let failed = GOOD.replace("ok 2 - second", "not ok 2 - second");
        let found = differences(&results(&failed), &results(GOOD));
        assert_eq!((found.len(), &*found[0].test), (1, "second"));
    }

    #[test]
    fn a_recipe_that_ended_early_or_did_not_run_is_a_difference() {
        // One result is missing, and the recipe as a whole need not be reported again.
        let cut = GOOD.replace("ok 2 - second\n", "");
        assert_eq!(found(&cut), [("second".into(), Some(Verdict::Passed), None)]);
        let all = differences(&results(GOOD), &Results::new());
        assert_eq!((all.len(), all[0].test.as_str(), all[0].with), (1, "", None));
        // The recipe failed after its last result.
        let mut failed = results(GOOD);
        failed.get_mut("10-x").unwrap().verdict = Verdict::Failed;
        let all = differences(&results(GOOD), &failed);
        assert_eq!((all.len(), all[0].test.as_str(), all[0].with), (1, "", Some(Verdict::Failed)));
    }

    fn line(recipe: &str, test: &str, versions: &[&str], modes: &[Mode]) -> Expected {
        let versions = versions.iter().map(|version| (*version).to_owned()).collect();
        let (recipe, test) = (recipe.to_owned(), test.to_owned());
        Expected { recipe, test, count: None, versions, modes: modes.to_vec(), reason: "it is right".into() }
    }

    fn difference(recipe: &str, test: &str) -> Difference {
        let (recipe, test) = (recipe.to_owned(), test.to_owned());
        Difference { recipe, test, without: Some(Verdict::Passed), with: Some(Verdict::Failed) }
    }

    /// Judges differences of recipe 10-x, version 3.0.20, in process: how many are expected and not, and which lines
    /// are outdated.
    fn judged(list: &[Expected], tests: &[&str]) -> (usize, usize, Vec<usize>) {
        let differences = tests.iter().map(|test| difference("10-x", test)).collect();
        let judged = judge(list, "3.0.20-1", Mode::With, &["10-x".into()], differences);
        let index = |line: &&Expected| list.iter().position(|other| std::ptr::eq(other, *line)).unwrap();
        (judged.expected.len(), judged.unexpected.len(), judged.outdated.iter().map(index).collect())
    }

    #[test]
    fn the_list_decides_what_was_expected() {
        let list = [line("10-x", "first / *", &[], &[])];
        assert_eq!(judged(&list, &["first / a", "first / b"]), (2, 0, vec![]));
        assert_eq!(judged(&list, &["first / a", "second"]), (1, 1, vec![]));
        assert_eq!(judged(&[], &["second"]), (0, 1, vec![]));
    }

    #[test]
    fn a_line_that_nothing_fits_is_outdated() {
        let list = [line("10-x", "a", &[], &[]), line("10-x", "b", &["3.0"], &[Mode::With])];
        assert_eq!(judged(&list, &["a"]), (1, 0, vec![1]));
        assert_eq!(judged(&list, &[]), (0, 0, vec![0, 1]));
    }

    #[test]
    fn a_line_may_say_how_many_differ() {
        let list = [Expected { count: Some(2), ..line("10-x", "a *", &[], &[]) }];
        assert_eq!(judged(&list, &["a 1", "a 2"]), (2, 0, vec![]));
        assert_eq!(judged(&list, &["a 1"]), (0, 1, vec![0]));
        assert_eq!(judged(&list, &["a 1", "a 2", "a 3"]), (0, 3, vec![0]));
    }

    #[test]
    fn a_line_of_another_run_says_nothing() {
        let others = [
            line("10-x", "*", &["3.1", "4"], &[]),
            line("10-x", "*", &[], &[Mode::Isolated]),
            // This recipe was not chosen.
            line("11-y", "*", &[], &[]),
        ];
        assert_eq!(judged(&others, &["a"]), (0, 1, vec![]));
    }

    #[test]
    fn versions_begin_in_whole_numbers() {
        assert!(begins("3.0.20-1~deb12u2", "3.0") && begins("3.0.20-1", "3.0.20") && begins("4.0", "4.0"));
        assert!(!begins("3.01", "3.0") && !begins("3.0", "3.0.20") && !begins("13.0", "3"));
    }

    #[test]
    fn patterns_have_stars() {
        for (pattern, text) in [("*", ""), ("a*", "abc"), ("*c", "abc"), ("a*b*c", "aXbYbZc"), ("abc", "abc")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("*b", "abc"), ("b*", "abc"), ("a*a", "a"), ("", "a")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
