//! The words of an entry, each with its line.

use super::fault::TextError;

/// A word of an entry.
#[derive(Clone, Copy)]
pub struct Token<'t> {
    pub word: &'t str,
    pub line: usize,
}

/// The words of an entry, and the place up to which they were read.
pub struct Entry<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
}

impl<'t> Entry<'t> {
    /// Splits a text into its entries. A comment begins with `#`.
    ///
    /// # Errors
    /// [`TextError`] for an indented line before the first entry.
    pub fn split(text: &'t str) -> Result<Vec<Self>, TextError> {
        let mut entries: Vec<Entry<'t>> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let indented = line.starts_with([' ', '\t']);
            let line_number = i + 1;
            let line = line.split('#').next().unwrap_or_default();
            let mut words = words(line).map(|word| Token { word, line: line_number }).peekable();
            if words.peek().is_none() {
                continue;
            }
            match entries.last_mut() {
                Some(entry) if indented => entry.tokens.extend(words),
                None if indented => {
                    let what = "an indented line belongs to the entry above it, and there is none".to_owned();
                    return Err(TextError { line: line_number, what });
                }
                _ => entries.push(Entry { tokens: words.collect(), at: 0 }),
            }
        }
        Ok(entries)
    }

    /// Returns the entry's first line.
    pub fn line(&self) -> usize {
        self.tokens.first().map_or(0, |token| token.line)
    }

    /// Returns all words.
    pub fn words(&self) -> impl Iterator<Item = &'t str> + '_ {
        self.tokens.iter().map(|token| token.word)
    }

    /// Takes the next word.
    pub fn next(&mut self) -> Option<Token<'t>> {
        let token = self.tokens.get(self.at).copied();
        self.at += usize::from(token.is_some());
        token
    }

    /// Returns the next word without taking it.
    pub fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at).copied()
    }

    /// Takes the next word if it is this one.
    pub fn skip(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.word == word);
        self.at += usize::from(found);
        found
    }

    /// Takes all further words of a line.
    pub fn skip_line(&mut self, line: usize) {
        while self.peek().is_some_and(|token| token.line == line) {
            self.at += 1;
        }
    }

    /// Takes the word behind another one.
    ///
    /// # Errors
    /// [`TextError`] where the entry ends.
    pub fn after(&mut self, token: Token<'_>) -> Result<Token<'t>, TextError> {
        self.next().ok_or_else(|| token.error(format!("{} needs a value", token.word)))
    }
}

impl Token<'_> {
    /// Makes an error about this word's line.
    pub fn error(&self, what: impl Into<String>) -> TextError {
        TextError { line: self.line, what: what.into() }
    }
}

/// Splits a line at blanks. Quotes keep blanks together and are taken off, as a shell does.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let quote = rest.chars().next().filter(|first| matches!(first, '\'' | '"'));
        if let Some(quote) = quote
            && let Some((word, after)) = rest[1..].split_once(quote)
        {
            rest = after;
            return Some(word);
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let word;
        (word, rest) = rest.split_at(end);
        (!word.is_empty()).then_some(word)
    })
}
