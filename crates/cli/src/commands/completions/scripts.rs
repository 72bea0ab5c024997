//! The parts of scripts that the generator does not make: lists between commas, and the grants and workers of the
//! running service.

use clap::{Arg, Command};
use clap_complete::Shell;

/// An option whose value is a list.
struct List<'a> {
    command: &'a str,
    option: &'a str,
    names: Vec<String>,
}

/// The commands whose operands are grants and workers.
const RUNNING: [&str; 2] = ["revoke", "move"];

/// Completes a generated script for the whole command.
pub(super) fn completed(shell: Shell, command: &Command, script: String) -> String {
    let lists = lists(command);
    match shell {
        Shell::Bash => for_bash(&lists, &script),
        Shell::Zsh => for_zsh(&lists, &script),
        Shell::Fish => script + &operands_for_fish(command) + &for_fish(&lists),
        _ => script,
    }
}

fn lists(command: &Command) -> Vec<List<'_>> {
    let mut lists = Vec::new();
    for command in command.get_subcommands() {
        for argument in command.get_arguments() {
            let names = names(argument);
            if let (Some(','), Some(option), false) =
                (argument.get_value_delimiter(), argument.get_long(), names.is_empty())
            {
                lists.push(List { command: command.get_name(), option, names });
            }
        }
    }
    lists
}

fn names(argument: &Arg) -> Vec<String> {
    argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
}

/// The generated function completes a word behind the last comma as if it stood alone.
fn for_bash(lists: &[List<'_>], script: &str) -> String {
    let options: Vec<String> =
        lists.iter().map(|list| format!("{},--{}", list.command, list.option)).collect();
    let more = r#"
_millstream() {
    local before="$3"
    # The sign in --option=value is a word of its own.
    if [[ "$before" == = && $COMP_CWORD -ge 2 ]]; then
        before="${COMP_WORDS[COMP_CWORD-2]}"
    fi
    case "${COMP_WORDS[1]},$before" in
        @LISTS@)
            _millstream_words "$1" "${2##*,}" "$before"
            if [[ "$2" == *,* ]]; then
                COMPREPLY=("${COMPREPLY[@]/#/${2%,*},}")
            fi
            return
            ;;
        *,--socket) ;;
        revoke,* | move,*)
            if [[ "$2" != -* ]]; then
                COMPREPLY=($(compgen -W "$("$1" completions --running "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null | cut -f1)" -- "$2"))
                return
            fi
            ;;
    esac
    _millstream_words "$1" "$2" "$before"
}
"#;
    let more = more.replace("@LISTS@", &options.join(" | "));
    script.replacen("_millstream() {", "_millstream_words() {", 1) + &more
}

fn for_zsh(lists: &[List<'_>], script: &str) -> String {
    let mut lines = Vec::new();
    // A value with a description is a line of its own, up to the end of the option that they belong to.
    let mut inside = false;
    let mut command = "";
    for line in script.lines() {
        if let Some(name) = line.strip_prefix('(').and_then(|line| line.strip_suffix(')')) {
            command = name;
        }
        let list = lists
            .iter()
            .find(|list| list.command == command && line.contains(&format!("--{}=[", list.option)));
        if let Some((list, at)) = list.and_then(|list| Some((list, line.rfind("]:")?))) {
            let what = line[at + 2..].split(':').next().unwrap_or_default();
            lines.push(format!("{}]:{what}:_sequence compadd - {}' \\", &line[..at], list.names.join(" ")));
            inside = !line.ends_with("\\");
            continue;
        }
        if inside {
            inside = !line.ends_with("\\");
            continue;
        }
        let is_running = RUNNING.contains(&command)
            && ["'*::grants ", "':grant ", "':worker "].iter().any(|begin| line.starts_with(begin));
        if line.starts_with("if [ \"$funcstack[1]\"") {
            lines.push(RUNNING_FOR_ZSH.trim().to_owned() + "\n");
        }
        // With two colons, the command would not be among the words.
        lines.push(match is_running {
            true => line.replace("'*::", "'*:").replace(":_default'", ":_millstream_running'"),
            false => line.to_owned(),
        });
    }
    lines.join("\n") + "\n"
}

const RUNNING_FOR_ZSH: &str = r#"
(( $+functions[_millstream_running] )) ||
_millstream_running() {
    local -a running
    running=(${(f)"$(millstream completions --running "${(@)words[1,CURRENT-1]}" 2>/dev/null)"})
    running=(${running//:/\\:})
    running=(${running/$'\t'/:})
    _describe -V running running
}
"#;

fn for_fish(lists: &[List<'_>]) -> String {
    let list = |list: &List<'_>| {
        let List { command, option, names } = list;
        let names = names.join(" ");
        format!(
            "complete -c millstream -n \"__fish_millstream_using_subcommand {command}\" -l {option} -r -f \
             -a \"(__fish_complete_list , 'string split \\\" \\\" \\\"{names}\\\"')\"\n"
        )
    };
    let running = |command: &str| {
        format!(
            "complete -c millstream -n \"__fish_millstream_using_subcommand {command}\" -f \
             -a \"(millstream completions --running (commandline -opc)[2..-1] 2>/dev/null)\"\n"
        )
    };
    lists.iter().map(list).chain(RUNNING.into_iter().map(running)).collect()
}

/// Returns what fish is told about operands with names, which the generator leaves out.
fn operands_for_fish(command: &Command) -> String {
    let mut text = String::new();
    for command in command.get_subcommands() {
        let names: Vec<String> = command.get_positionals().flat_map(names).collect();
        if !names.is_empty() {
            let (command, names) = (command.get_name(), names.join(" "));
            text += &format!(
                "complete -c millstream -n \"__fish_millstream_using_subcommand {command}\" -f -a \"{names}\"\n"
            );
        }
    }
    text
}
