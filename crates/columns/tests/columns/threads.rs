//! The number of threads: it changes no result, and a variable that is no number is refused.

use std::process::{Command, Output};

use arrow_schema::DataType;
use millstream::hash::Hash;
use millstream_columns::{Encoding, Siv, digest, threads};

use super::layouts::{plain, read, rows};

/// The variable that tells this test that it is a process of the other one.
const CHILD: &str = "MILLSTREAM_COLUMNS_TEST_CHILD";

/// Prints a digest of many results, in a process with a number of threads.
#[test]
fn prints_results() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let column = plain(&DataType::Utf8, &rows(50_000, |i| if i == 30_000 { 1 << 20 } else { i % 40 }));
    match digest(Hash::Sha256, &column, Encoding::Hex) {
        Ok(digests) => {
            let key = Siv::new(&[5; 64]).unwrap();
            let sealed = key.seal(&digests, millstream_columns::Parameter::None, Encoding::Base64).unwrap();
            let all: Vec<u8> = read(&sealed).into_iter().flatten().flatten().collect();
            let all = plain(&DataType::Binary, &vec![Some(all)]);
            let sum = read(&digest(Hash::Sha256, &all, Encoding::Hex).unwrap());
            println!("sum {}", String::from_utf8(sum[0].clone().unwrap()).unwrap());
            println!("on {} threads", threads().unwrap());
        }
        Err(error) => println!("refused: {error}"),
    }
}

fn child(given: Option<&str>) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "threads::prints_results", "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    match given {
        Some(given) => child.env("MILLSTREAM_THREADS", given),
        None => child.env_remove("MILLSTREAM_THREADS"),
    };
    let Output { status, stdout, .. } = child.output().unwrap();
    assert!(status.success());
    String::from_utf8(stdout).unwrap()
}

#[test]
fn any_number_of_threads_gives_the_same() {
    let sum = |output: &str| output.lines().find(|line| line.contains("sum ")).map(str::to_owned);
    let one = child(Some("1"));
    assert!(one.contains("on 1 threads"), "{one}");
    let all = child(None);
    let processors = std::thread::available_parallelism().unwrap();
    assert!(all.contains(&format!("on {processors} threads")), "{all}");
    assert!(sum(&one).is_some());
    assert_eq!(sum(&one), sum(&all));
    assert_eq!(sum(&one), sum(&child(Some(" 3 "))));
    for wrong in ["0", "many", "-1", ""] {
        let refused = child(Some(wrong));
        assert!(refused.contains("refused: MILLSTREAM_THREADS is"), "{refused}");
    }
}
