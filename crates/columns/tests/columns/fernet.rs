//! Fernet tokens. (The engine's own tests have the specification's vectors.)

use arrow_schema::DataType;
use millstream::fernet::Fernet as FernetKey;
use millstream_columns::{Error, Fault, Fernet, OnError, Token};

use super::layouts::{Rows, all, plain, read, rows, sets};

const KEY: &str = "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=";

#[test]
fn tokens_of_every_layout_are_opened_by_the_engine_and_the_other_way_round() {
    let (key, engine) =
        (Fernet::new(KEY).unwrap(), FernetKey::new(millstream::features().unwrap(), KEY).unwrap());
    for rows in sets() {
        for (name, column) in all(&rows) {
            let tokens = key.encrypt(&column, Some(1_000_000)).unwrap();
            let alone: Rows = read(&tokens)
                .iter()
                .map(|token| {
                    Some(engine.open(std::str::from_utf8(token.as_ref()?).unwrap(), None).unwrap().to_vec())
                })
                .collect();
            assert_eq!(alone, rows, "{name}");
            assert_eq!(read(&key.decrypt(&tokens, &Token::default()).unwrap()), rows, "{name}");
        }
        let tokens: Rows = rows
            .iter()
            .enumerate()
            .map(|(i, row)| Some(engine.seal(i as u64, &[i as u8; 16], row.as_ref()?).into_bytes()))
            .collect();
        for (name, column) in all(&tokens) {
            let opened = key.decrypt(&column, &Token { text: true, ..Token::default() }).unwrap();
            assert_eq!(read(&opened), rows, "{name}");
        }
    }
}

#[test]
fn what_is_no_token_is_named_or_null() {
    let key = Fernet::new(KEY).unwrap();
    let rows = rows(5000, |i| i % 30);
    let mut tokens = read(&key.encrypt(&plain(&DataType::Utf8, &rows), None).unwrap());
    let wrong = [4200, 17, 600];
    for row in wrong {
        assert!(rows[row].is_some());
        tokens[row].as_mut().unwrap()[row % 70] ^= 1;
    }
    tokens[1000] = Some(b"\xff".to_vec());
    let column = plain(&DataType::Binary, &tokens);
    let error = key.decrypt(&column, &Token::default()).unwrap_err();
    assert_eq!(error, Error::Row { row: 17, fault: Fault::Authentication });
    let opened = key.decrypt(&column, &Token { on_error: OnError::Null, ..Token::default() }).unwrap();
    let expected: Rows = rows
        .iter()
        .enumerate()
        .map(|(i, row)| row.clone().filter(|_| i != 1000 && !wrong.contains(&i)))
        .collect();
    assert_eq!(read(&opened), expected);
}

#[test]
fn old_tokens_are_refused_where_they_have_a_time_to_live() {
    let key = Fernet::new(KEY).unwrap();
    let column = plain(&DataType::Utf8, &rows(3, |_| 5));
    let old = key.encrypt(&column, Some(1_000_000)).unwrap();
    assert!(key.decrypt(&old, &Token::default()).is_ok());
    let error = key.decrypt(&old, &Token { ttl: Some(3600), ..Token::default() }).unwrap_err();
    assert!(error.to_string().contains("row 0: fernet: the token's time is 1000000"), "{error}");
    let fresh = key.encrypt(&column, None).unwrap();
    assert!(key.decrypt(&fresh, &Token { ttl: Some(3600), ..Token::default() }).is_ok());
    assert!(Fernet::new("short").is_err());
}
