//! Pages of the book that are made from other generated files: the functions of the C library, and the manual.

/// The line above every page that is made as a whole.
const NOTE: &str = "<!-- Made by `cargo xtask generate`: change what it is made from. -->\n";

/// Lists the functions and the structures of the C header, each with the first sentence of its comment.
pub fn c_api(header: &str) -> String {
    let (mut functions, mut structures) = (String::new(), String::new());
    for (comment, declaration) in documented(header) {
        let sentence = first_sentence(&comment);
        if let Some(name) = function(&declaration) {
            functions += &format!("| `{name}` | {sentence} |\n");
        } else if let Some(name) = structure(&declaration) {
            structures += &format!("| `{name}` | {sentence} |\n");
        }
    }
    format!(
        "{NOTE}# The C API\n\nEvery function and structure of [millstream.h](../crates/capi/include/millstream.h), in its order. The header has the whole \
         description of each: what it takes, in which units, and every status with which it fails. [C](c.md) has complete programs.\n\n\
         ## Functions\n\n| function | what it does |\n|---|---|\n{functions}\n\
         ## Structures\n\n| structure | what it is |\n|---|---|\n{structures}"
    )
}

/// Returns the comments of a header with the first line of what follows each.
fn documented(header: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in header.split("\n/**\n").skip(1) {
        let Some((comment, rest)) = part.split_once("\n */\n") else { continue };
        let words = comment.lines().map(|line| line.trim_start().trim_start_matches('*').trim());
        let declaration = rest.split([';', '{']).next().unwrap_or_default();
        found.push((words.collect::<Vec<_>>().join(" "), declaration.to_owned()));
    }
    found
}

fn function(declaration: &str) -> Option<&str> {
    let (before, _) = declaration.split_once('(')?;
    let name = before.rsplit([' ', '*']).next()?;
    (name.starts_with("millstream_") && !declaration.starts_with("typedef")).then_some(name)
}

fn structure(declaration: &str) -> Option<&str> {
    let name = declaration.trim().strip_prefix("typedef struct ")?.trim();
    let name = name.rsplit(' ').next()?;
    name.starts_with("millstream_").then_some(name)
}

/// Returns a text up to its first full stop, in the form of a cell of a table.
fn first_sentence(text: &str) -> String {
    let sentence = match text.split_once(". ") {
        Some((sentence, _)) => format!("{sentence}."),
        None => text.to_owned(),
    };
    sentence.trim().replace('|', "\\|").replace('*', "\\*")
}

/// Lists the pages of the manual, each with the line of its name. The pages come as their file names and texts.
///
/// # Errors
/// Names the page that has no such line.
pub fn manual(pages: &[(String, String)]) -> Result<String, String> {
    let mut table = String::new();
    for (file, text) in pages {
        let mut lines = text.lines();
        let name = lines.by_ref().find(|line| *line == ".SH NAME").and_then(|_| lines.next());
        let name = name.and_then(|line| line.split_once(" \\- ")).map(|(_, what)| plain(what));
        let what = name.ok_or_else(|| format!("{file}: there is no line with the name"))?;
        let title = file.trim_end_matches(".1");
        table += &format!("| [{title}](man/{file}) | {what} |\n");
    }
    Ok(format!(
        "{NOTE}# The manual\n\nEvery command has a page of the manual, which `man millstream-encrypt` shows after an installation, and `millstream \
         encrypt --help` at any time. The files, for `man -l`:\n\n| page | what the command does |\n|---|---|\n{table}"
    ))
}

/// Returns text without the escapes of a manual page.
fn plain(text: &str) -> String {
    text.replace("\\*(Aq", "'").replace("\\-", "-").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "\n/**\n * A status. More.\n */\ntypedef struct millstream_key millstream_key;\n\
        \n/**\n * Makes a *key*\n * of bytes. Fails\n * never.\n */\nmillstream_status millstream_key_new(int a,\n    int b);\n\
        \n/**\n * The socket\n */\nconst char *millstream_socket(void);\n\n/**\n * One\n */\n#define MILLSTREAM_ONE 1\n";

    #[test]
    fn functions_and_structures_with_a_sentence() {
        let page = c_api(HEADER);
        assert!(page.contains("| `millstream_key_new` | Makes a \\*key\\* of bytes. |\n"), "{page}");
        assert!(page.contains("| `millstream_socket` | The socket |\n"), "{page}");
        assert!(page.contains("| `millstream_key` | A status. |\n"), "{page}");
        assert!(!page.contains("MILLSTREAM_ONE"));
    }

    /// Each name that is followed by a parenthesis on a line of its own declaration.
    #[test]
    fn no_function_of_the_header_is_left_out() {
        let header = std::fs::read_to_string(crate::run::root().join(super::super::HEADER)).unwrap();
        let page = c_api(&header);
        let declared = header.lines().filter(|line| !line.trim_start().starts_with(['*', '/', '#']));
        let mut functions = 0;
        for line in declared.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase())) {
            let Some((before, _)) = line.split_once('(') else { continue };
            let name = before.rsplit([' ', '*']).next().unwrap();
            assert!(page.contains(&format!("| `{name}` | ")), "{name}");
            functions += 1;
        }
        assert!(functions > 60, "{functions}");
    }

    #[test]
    fn pages_of_the_manual_with_their_line() {
        let text = ".TH A\n.SH NAME\na\\-b \\- Show it\\*(Aqs name\n.SH SYNOPSIS\n".to_owned();
        let page = manual(&[("a-b.1".to_owned(), text)]).unwrap();
        assert!(page.contains("| [a-b](man/a-b.1) | Show it's name |\n"), "{page}");
        assert!(manual(&[("x.1".to_owned(), ".SH NAME\n".to_owned())]).is_err());
    }
}
