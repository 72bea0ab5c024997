//! A reader of TAP, the Test Anything Protocol, with subtests.
//!
//! A result is a line such as `ok 3 - name` or `not ok 3 - name`; the text behind a `#` may be a directive. A subtest's
//! results are indented by four spaces and stand before the result that they are parts of.

use std::path::Path;
use std::str::FromStr;

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Passed,
    Failed,
    Skipped,
    /// A test that is known to fail, and whose result does not count.
    Todo,
}

impl Verdict {
    /// Returns the word for people.
    pub fn shown(self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
            Verdict::Skipped => "skipped",
            Verdict::Todo => "to do",
        }
    }
}

/// A test with its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The test's number among its neighbours.
    pub number: u32,
    pub name: String,
    pub verdict: Verdict,
    pub parts: Vec<Test>,
}

impl Test {
    /// Returns the number of tests without parts in this one.
    pub fn count(&self) -> usize {
        if self.parts.is_empty() { 1 } else { self.parts.iter().map(Test::count).sum() }
    }
}

/// Reads a program's output as one test whose name is `name`. The test has failed if one of its parts has, if it has
/// fewer or more than the program announced, or if the program announced none.
pub fn parse(name: &str, text: &str) -> Test {
    // For each depth, the results that do not belong to another one yet.
    let mut open: Vec<Vec<Test>> = vec![Vec::new()];
    let mut plan = None;
    for line in text.lines() {
        let content = line.trim_start_matches(' ');
        let spaces = line.len() - content.len();
        if spaces == 0 && plan.is_none() {
            plan = Plan::from_str(content).ok();
        }
        if spaces % INDENT != 0 {
            continue;
        }
        let depth = spaces / INDENT;
        if open.len() < depth + 2 {
            open.resize_with(depth + 2, Vec::new);
        }
        if let Some(test) = result(content) {
            // Results that are deeper still belong to a test that was cut off.
            open.truncate(depth + 2);
            let parts = std::mem::take(&mut open[depth + 1]);
            open[depth].push(Test { parts, ..test });
        } else if let Some(vector) = vector(content) {
            open[depth + 1].push(vector);
        }
    }
    let parts = open.swap_remove(0);
    let failed = parts.iter().any(|part| part.verdict == Verdict::Failed);
    let verdict = match plan {
        Some(Plan { tests: 0, skipped: true }) if parts.is_empty() => Verdict::Skipped,
        Some(Plan { tests, .. }) if tests == parts.len() && !failed => Verdict::Passed,
        _ => Verdict::Failed,
    };
    Test { number: 0, name: name.to_owned(), verdict, parts }
}

/// A subtest's indentation.
const INDENT: usize = 4;

/// The announced number of results.
struct Plan {
    tests: usize,
    skipped: bool,
}

impl FromStr for Plan {
    type Err = ();

    fn from_str(line: &str) -> Result<Plan, ()> {
        let rest = line.strip_prefix("1..").ok_or(())?;
        let (tests, comment) = rest.split_once('#').unwrap_or((rest, ""));
        let skipped = starts_with_word(comment, "skip");
        Ok(Plan { tests: tests.trim().parse().map_err(|_| ())?, skipped })
    }
}

/// Reads the result on a line, if it is one.
fn result(line: &str) -> Option<Test> {
    let (rest, passed) = match line.strip_prefix("not ") {
        Some(rest) => (rest, false),
        None => (line, true),
    };
    let rest = rest.strip_prefix("ok ")?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = rest.split_at(digits);
    let (name, directive) = rest.split_once(" # ").unwrap_or((rest, ""));
    let verdict = match passed {
        _ if starts_with_word(directive, "todo") => Verdict::Todo,
        true if starts_with_word(directive, "skip") => Verdict::Skipped,
        true => Verdict::Passed,
        false => Verdict::Failed,
    };
    let name = name.trim_start().trim_start_matches("- ").trim();
    Some(Test { number: number.parse().ok()?, name: name.to_owned(), verdict, parts: Vec::new() })
}

/// Reads a failed test vector of OpenSSL: a comment that begins with a file and a line of it. The vector is a part of
/// the result that follows.
fn vector(line: &str) -> Option<Test> {
    let place = line.strip_prefix("# ")?.split_whitespace().next()?.trim_end_matches(':');
    let (file, number) = place.rsplit_once(':')?;
    let number = number.parse().ok()?;
    let name = Path::new(file).file_name()?.to_str()?;
    let is_data = name.ends_with(".txt");
    is_data.then(|| Test {
        number,
        name: format!("{name}:{number}"),
        verdict: Verdict::Failed,
        parts: Vec::new(),
    })
}

fn starts_with_word(text: &str, word: &str) -> bool {
    text.trim_start().get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(number: u32, name: &str, verdict: Verdict, parts: Vec<Test>) -> Test {
        Test { number, name: name.into(), verdict, parts }
    }

    #[test]
    fn parts_belong_to_the_result_behind_them() {
        let said = "\
1..3
# The results of this test will end up in test-runs/test_evp
    # Subtest: ../../test/evp_test
    1..2
        # Subtest: run_file_tests
        1..2
        ok 1 - iteration 1
        # ERROR: (ptr) 'expected->err == NULL'
        not ok 2 - iteration 2
# ------------------------------------------------------------------------------
    not ok 1 - run_file_tests
    ok 2 - other # skipped: not in this build
../../util/wrap.pl ../../test/evp_test => 1
not ok 1 - running evp_test
ok 2 # skip no FIPS
not ok 3 - soon # TODO when there is time
";
        let iterations = vec![
            test(1, "iteration 1", Verdict::Passed, vec![]),
            test(2, "iteration 2", Verdict::Failed, vec![]),
        ];
        let programs = vec![
            test(1, "run_file_tests", Verdict::Failed, iterations),
            test(2, "other", Verdict::Skipped, vec![]),
        ];
        let all = vec![
            test(1, "running evp_test", Verdict::Failed, programs),
            test(2, "", Verdict::Skipped, vec![]),
            test(3, "soon", Verdict::Todo, vec![]),
        ];
        let parsed = parse("30-test_evp", said);
        assert_eq!(parsed, test(0, "30-test_evp", Verdict::Failed, all));
        assert_eq!(parsed.count(), 5);
    }

    #[test]
    fn a_vector_that_failed_is_a_part() {
        let said = "\
1..1
    1..1
        # skipping, 'fips' provider not available: ../data/evpmac.txt:9
        # INFO:  @ test/evp_test.c:3548
        # ../data/evpmac.txt:17: Source of above error; unexpected error MAC_INIT_ERROR
        # ../data/evprand.txt:20248 RAND error
        # Completed 2 tests with 2 errors and 0 skipped
        not ok 1 - iteration 1
    not ok 1 - run_file_tests
not ok 1 - all
";
        let iteration = &parse("x", said).parts[0].parts[0].parts[0];
        let names: Vec<&str> = iteration.parts.iter().map(|part| &*part.name).collect();
        assert_eq!((&*iteration.name, &*names), ("iteration 1", &["evpmac.txt:17", "evprand.txt:20248"][..]));
    }

    #[test]
    fn what_a_program_prints_is_no_result() {
        let said = "1..1\nok\nok then\n   ok 1 - three spaces\nnot a result\nok 1 - real\n";
        assert_eq!(parse("x", said).parts, [test(1, "real", Verdict::Passed, vec![])]);
    }

    #[test]
    fn a_recipe_keeps_its_plan() {
        assert_eq!(parse("x", "1..2\nok 1\nok 2\n").verdict, Verdict::Passed);
        assert_eq!(parse("x", "ok 1\nok 2\n1..2\n").verdict, Verdict::Passed);
        assert_eq!(parse("x", "1..2\nok 1\nnot ok 2\n").verdict, Verdict::Failed);
        assert_eq!(parse("x", "1..3\nok 1\nok 2\n").verdict, Verdict::Failed);
        assert_eq!(parse("x", "1..0 # SKIP not in this build\n").verdict, Verdict::Skipped);
        assert_eq!(parse("x", "1..0\n").verdict, Verdict::Passed);
        assert_eq!(parse("x", "").verdict, Verdict::Failed);
        // Only the outermost plan is the recipe's.
        assert_eq!(parse("x", "    1..7\n    ok 1 - a\nok 1 - b\n1..1\n").verdict, Verdict::Passed);
    }

    #[test]
    fn what_was_cut_off_does_not_move_to_the_next() {
        let said = "1..2\n        ok 1 - deep\nok 1 - first\n    ok 1 - part\nok 2 - second\n";
        let parts = parse("x", said).parts;
        assert!(parts[0].parts.is_empty(), "{parts:?}");
        assert_eq!(parts[1].parts, [test(1, "part", Verdict::Passed, vec![])]);
    }
}
