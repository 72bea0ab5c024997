//! Rust sources as items, and which items of the tiers' files an item mentions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use millstream_cpu::{Feature, FeatureSet};

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Mark(char),
}

use Token::{Mark, Text, Word};

impl Token {
    fn word(&self) -> Option<String> {
        if let Word(word) = self { Some(word.clone()) } else { None }
    }
}

/// The tokens of a source: without comments, lifetimes and characters.
fn tokens(source: &str) -> Vec<Token> {
    let letters: Vec<char> = source.chars().collect();
    let at = |i: usize| letters.get(i).copied().unwrap_or('\0');
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let end_of_word = |i: usize| (i..).find(|&i| !is_word(at(i))).unwrap_or(i);
    let (mut tokens, mut i) = (Vec::new(), 0);
    while i < letters.len() {
        match letters[i] {
            '/' if at(i + 1) == '/' => {
                i = (i..letters.len()).find(|&i| at(i) == '\n').unwrap_or(letters.len());
            }
            '"' => {
                let begin = i + 1;
                i = begin;
                while i < letters.len() && at(i) != '"' {
                    i += if at(i) == '\\' { 2 } else { 1 };
                }
                tokens.push(Text(letters[begin..i].iter().collect()));
                i += 1;
            }
            '\'' if at(i + 1) == '\\' => i = (i + 3..).find(|&i| at(i) == '\'').unwrap_or(i) + 1,
            '\'' if at(i + 2) == '\'' => i += 3,
            '\'' => i = end_of_word(i + 1),
            c if is_word(c) => {
                let end = end_of_word(i);
                tokens.push(Word(letters[i..end].iter().collect()));
                i = end;
            }
            c if c.is_whitespace() => i += 1,
            c => {
                tokens.push(Mark(c));
                i += 1;
            }
        }
    }
    tokens
}

/// The index behind the bracket that closes the one at `open`.
fn behind(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Mark('(' | '[' | '{') => depth += 1,
            Mark(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    tokens.len()
}

/// A path in some tokens, and whether it may name a function: in a body one is called, or has a path before it.
struct Mention {
    path: Vec<String>,
    may_call: bool,
}

/// The paths in some tokens, but for names of methods and fields, and of what is defined there.
fn mentions(tokens: &[Token]) -> Vec<Mention> {
    let (mut mentions, mut i) = (Vec::new(), 0);
    while i < tokens.len() {
        let begin = i;
        let Word(first) = &tokens[i] else {
            i += 1;
            continue;
        };
        let mut path = vec![first.clone()];
        i += 1;
        while let [Mark(':'), Mark(':'), Word(next), ..] = &tokens[i..] {
            path.push(next.clone());
            i += 3;
        }
        let called = matches!(&tokens[i..], [Mark('('), ..] | [Mark(':'), Mark(':'), Mark('<'), ..]);
        let before = begin.checked_sub(1).map(|before| &tokens[before]);
        if !before.is_some_and(|token| *token == Mark('.') || *token == Word("fn".into())) {
            mentions.push(Mention { may_call: called || path.len() > 1, path });
        }
    }
    mentions
}

/// One item at the top of a file.
struct Item {
    names: Vec<String>,
    is_function: bool,
    /// Whether it is a function or several: where a word alone may as well be a variable.
    is_body: bool,
    tokens: Vec<Token>,
    /// The lists of features in it, of its functions or of what its rows require.
    lists: Vec<FeatureSet>,
}

#[derive(Default)]
struct File {
    items: Vec<Item>,
    /// What `use` brings, by the name it has here.
    uses: BTreeMap<String, Vec<String>>,
}

impl File {
    fn new(source: &str) -> File {
        let tokens = tokens(source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default());
        let (mut file, mut begin, mut i) = (File::default(), 0, 0);
        while i < tokens.len() {
            let token = &tokens[i];
            i = if matches!(token, Mark('(' | '[' | '{')) { behind(&tokens, i) } else { i + 1 };
            let goes_on = matches!(tokens.get(i), Some(Mark(';' | '.')));
            if *token == Mark(';') || *token == Mark('{') && !goes_on {
                file.add(&tokens[begin..i]);
                begin = i;
            }
        }
        file
    }

    fn add(&mut self, tokens: &[Token]) {
        let words = outer_words(tokens);
        if let Some(at) = tokens.iter().position(|token| *token == Word("use".into()))
            && words.contains(&"use")
        {
            return expand(&tokens[at + 1..], &[], &mut self.uses);
        }
        let kinds = ["fn", "macro_rules", "struct", "trait", "enum", "type", "static", "const"];
        let after = |kind: &&str| words.iter().position(|word| word == kind).and_then(|at| words.get(at + 1));
        let names = if words.contains(&"impl") {
            implementor(tokens).into_iter().collect()
        } else if let Some(name) = kinds.iter().find_map(after) {
            vec![(*name).to_owned()]
        } else {
            // The call of a macro goes by its name, and by the word that it is given first.
            let given = tokens.iter().skip(2).take(2);
            tokens.iter().take(1).chain(given).filter_map(Token::word).collect()
        };
        let is_function = words.contains(&"fn");
        let is_body = is_function || words.contains(&"impl");
        self.items.push(Item { names, is_function, is_body, tokens: tokens.to_vec(), lists: lists(tokens) });
    }
}

/// The words of an item that are in no brackets, up to its body or value.
fn outer_words(tokens: &[Token]) -> Vec<&str> {
    let (mut words, mut i) = (Vec::new(), 0);
    while i < tokens.len() && !matches!(tokens[i], Mark('{' | '=')) {
        if let Word(word) = &tokens[i] {
            words.push(word.as_str());
        }
        i = if matches!(tokens[i], Mark('(' | '[')) { behind(tokens, i) } else { i + 1 };
    }
    words
}

/// The type that an `impl` is for.
fn implementor(tokens: &[Token]) -> Option<String> {
    let header = &tokens[..tokens.iter().position(|token| *token == Mark('{'))?];
    let begin = match header.iter().rposition(|token| *token == Word("for".into())) {
        Some(at) => at + 1,
        None => {
            let mut at = header.iter().position(|token| *token == Word("impl".into()))? + 1;
            if header.get(at) == Some(&Mark('<')) {
                at = header.iter().position(|token| *token == Mark('>'))? + 1;
            }
            at
        }
    };
    mentions(&header[begin..]).first()?.path.last().cloned()
}

/// The names that a tree like `a::{b, c as d}` brings.
fn expand(tokens: &[Token], before: &[String], uses: &mut BTreeMap<String, Vec<String>>) {
    let mut path = before.to_vec();
    let mut i = 0;
    while i < tokens.len() {
        match &tokens[i] {
            Mark('{') => {
                let mut inside = &tokens[i + 1..behind(tokens, i) - 1];
                while !inside.is_empty() {
                    let mut end = 0;
                    while end < inside.len() && inside[end] != Mark(',') {
                        end = if inside[end] == Mark('{') { behind(inside, end) } else { end + 1 };
                    }
                    expand(&inside[..end], &path, uses);
                    inside = inside.get(end + 1..).unwrap_or_default();
                }
                return;
            }
            Word(word) if word == "as" => break,
            Word(word) if word == "self" && !path.is_empty() => {}
            Word(word) => path.push(word.clone()),
            _ => {}
        }
        i += 1;
    }
    let name = match tokens.get(i + 1) {
        Some(Word(alias)) => Some(alias.clone()),
        _ => path.last().cloned(),
    };
    if let Some(name) = name {
        uses.insert(name, path);
    }
}

/// The features of a text like `avx2,vaes`. Every x86-64 processor has SSE2.
fn list(text: &str) -> Option<FeatureSet> {
    text.split(',').filter(|name| *name != "sse2").try_fold(FeatureSet::EMPTY, |set, name| {
        let feature = Feature::ALL.iter().find(|feature| feature.compiler_name() == name)?;
        Some(set.union((*feature).into()))
    })
}

/// The lists in some tokens. A feature that is named by itself, because no list can name it, goes to each.
fn lists(tokens: &[Token]) -> Vec<FeatureSet> {
    let paths: Vec<_> = mentions(tokens).into_iter().map(|mention| mention.path).collect();
    let single = paths.iter().filter_map(|path| match path.as_slice() {
        [kind, name] if kind == "Feature" => Feature::ALL.iter().find(|f| format!("{f:?}") == *name).copied(),
        _ => None,
    });
    let single = single.fold(FeatureSet::EMPTY, |set, feature| set.union(feature.into()));
    let texts = tokens.iter().filter_map(|token| if let Text(text) = token { list(text) } else { None });
    let empty =
        paths.iter().filter(|path| path.as_slice() == ["FeatureSet", "EMPTY"]).map(|_| FeatureSet::EMPTY);
    texts.chain(empty).map(|list| list.union(single)).collect()
}

/// An item, by its file and its place in it.
type Place<'s> = (&'s str, usize);

/// Something that requires features, and the lists of all that it reaches, each with a name for people.
pub struct Caller {
    pub place: String,
    pub requires: FeatureSet,
    pub reached: Vec<(String, FeatureSet)>,
}

/// The files of a crate, by their paths without the ending.
pub struct Sources(BTreeMap<String, File>);

impl Sources {
    pub fn of(files: &[(&str, &str)]) -> Sources {
        Sources(files.iter().map(|(name, source)| ((*name).to_owned(), File::new(source))).collect())
    }

    pub fn read(folder: &Path) -> Sources {
        let (mut files, mut open) = (BTreeMap::new(), vec![folder.to_owned()]);
        while let Some(path) = open.pop() {
            if path.is_dir() {
                let entries = std::fs::read_dir(&path).expect("a folder of the crate");
                open.extend(entries.map(|entry| entry.expect("an entry of it").path()));
            } else {
                let name = path.strip_prefix(folder).expect("a path in the crate").with_extension("");
                let source = std::fs::read_to_string(&path).expect("a source");
                files.insert(name.to_string_lossy().into_owned(), File::new(&source));
            }
        }
        Sources(files)
    }

    /// The file of a tier that a path goes through, seen from a file, and the name that it has there.
    fn tier<'s>(&'s self, from: &str, path: &[String]) -> Option<(&'s str, Option<String>)> {
        let mut engine = from.split('/').next().unwrap_or_default();
        for (i, part) in path.iter().enumerate() {
            if self.0.contains_key(&format!("{part}/arch/mod")) {
                engine = part;
            }
            if let Some((file, _)) = self.0.get_key_value(&format!("{engine}/arch/{part}")) {
                return Some((file, path.get(i + 1).cloned()));
            }
        }
        None
    }

    /// The items that a path means, seen from a file.
    fn meant<'s>(&'s self, from: &'s str, path: &[String]) -> Vec<Place<'s>> {
        let mut whole = self.0[from].uses.get(&path[0]).cloned().unwrap_or_else(|| vec![path[0].clone()]);
        whole.extend_from_slice(&path[1..]);
        let (file, name) = match self.tier(from, &whole) {
            Some((file, Some(name))) => (file, name),
            // A constant or function of a type: the type.
            None => (from, whole[0].clone()),
            Some((_, None)) => return Vec::new(),
        };
        let items = || self.0[file].items.iter().enumerate();
        let exact: Vec<_> =
            items().filter(|(_, item)| item.names.contains(&name)).map(|(i, _)| (file, i)).collect();
        // What a row requires is a constant that the macro with its functions defines.
        if !exact.is_empty() || file == from && !name.ends_with("REQUIRES") {
            return exact;
        }
        // A macro that was called there defines it. Where the name is a macro's own parameter, it may be anything.
        let is_call = |item: &Item| matches!(item.tokens.as_slice(), [Word(_), Mark('!'), ..]);
        items().filter(|(_, item)| is_call(item) || name.starts_with('$')).map(|(i, _)| (file, i)).collect()
    }

    /// The items with lists that some tokens reach. What those reach is checked against their own lists.
    fn reached<'s>(&'s self, from: &'s str, tokens: &[Token], is_body: bool) -> Vec<Place<'s>> {
        let mut open = self.mentioned(from, tokens, is_body);
        let mut seen = BTreeSet::new();
        while let Some((file, i)) = open.pop() {
            let item = &self.0[file].items[i];
            if seen.insert((file, i)) && item.lists.is_empty() {
                open.extend(self.mentioned(file, &item.tokens, item.is_body));
            }
        }
        seen.into_iter().filter(|(file, i)| !self.0[*file].items[*i].lists.is_empty()).collect()
    }

    /// The items that some tokens mention.
    fn mentioned<'s>(&'s self, from: &'s str, tokens: &[Token], is_body: bool) -> Vec<Place<'s>> {
        let mut places = Vec::new();
        for mention in mentions(tokens) {
            let meant = self.meant(from, &mention.path);
            let is_call =
                |(file, i): &Place<'s>| !is_body || mention.may_call || !self.0[*file].items[*i].is_function;
            places.extend(meant.into_iter().filter(is_call));
        }
        places
    }

    fn described(&self, places: Vec<Place<'_>>) -> Vec<(String, FeatureSet)> {
        let each = places.into_iter().flat_map(|(file, i)| {
            let item = &self.0[file].items[i];
            item.lists.iter().map(move |list| (format!("{file}: {}", item.names.join(" ")), *list))
        });
        each.collect()
    }

    /// Every item of the tiers' files that has a list.
    pub fn functions(&self) -> Vec<Caller> {
        let mut callers = Vec::new();
        for (file, content) in self.0.iter().filter(|(file, _)| file.contains("/arch/")) {
            for (i, item) in content.items.iter().enumerate().filter(|(_, item)| !item.lists.is_empty()) {
                let mut places = self.reached(file, &item.tokens, item.is_body);
                places.retain(|place| *place != (file.as_str(), i));
                callers.push(Caller {
                    place: format!("{file}: {}", item.names.join(" ")),
                    requires: union(&item.lists),
                    reached: self.described(places),
                });
            }
        }
        callers
    }

    /// Every `Row { kernel, ops }`.
    pub fn rows(&self) -> Vec<Caller> {
        let mut rows = Vec::new();
        for (file, content) in &self.0 {
            for item in &content.items {
                for (at, _) in item.tokens.windows(4).enumerate().filter(|(_, four)| {
                    matches!(four, [Word(row), Mark('{'), Word(kernel), Mark(':')] if row == "Row" && kernel == "kernel")
                }) {
                    rows.push(self.row(file, &item.names, &item.tokens[at + 2..behind(&item.tokens, at + 1) - 1]));
                }
            }
        }
        rows
    }

    fn row(&self, file: &str, names: &[String], fields: &[Token]) -> Caller {
        let is_ops = |two: &[Token]| two[0] == Word("ops".into()) && matches!(two[1], Mark(':' | ','));
        let named = fields.windows(2).position(is_ops);
        // At the end, a row may take functions that have the field's own name.
        let ops = named.unwrap_or(fields.len() - 1);
        let (kernel, ops) = fields.split_at(ops);
        let from = self.0.get_key_value(file).expect("a file of ours").0;
        let mut requires = union(&lists(kernel));
        for (_, list) in self.described(self.reached(from, kernel, false)) {
            requires = requires.union(list);
        }
        let mut reached = self.described(self.reached(from, ops, false));
        reached.extend(lists(ops).into_iter().map(|list| ("its functions".to_owned(), list)));
        Caller { place: format!("{file}: a row of {}", names.join(" ")), requires, reached }
    }
}

fn union(lists: &[FeatureSet]) -> FeatureSet {
    lists.iter().fold(FeatureSet::EMPTY, |all, list| all.union(*list))
}
