//! Patterns with `*`, for names of cases and peers.

/// Returns true when `name` matches any of the patterns; no pattern matches everything.
pub fn any(patterns: &[impl AsRef<str>], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern.as_ref(), name))
}

/// Returns true when `name` matches `pattern`, in which `*` stands for any run of characters.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| {
            rest.char_indices().map(|(i, _)| i).chain([rest.len()]).any(|i| matches(tail, &rest[i..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars() {
        assert!(any(&["aes-*-gcm*"], "aes-128-gcm-seal"));
        assert!(any(&["*"], "") && any(&["a*"], "a") && any(&["*c"], "abc"));
        assert!(!any(&["aes-*-gcm"], "aes-128-gcm-seal"));
        assert!(!any(&["aes"], "aes-128-ctr"));
        assert!(any(&[] as &[&str], "anything"));
    }
}
