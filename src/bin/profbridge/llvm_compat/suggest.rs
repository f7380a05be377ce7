//! Suggestions for misspelt options, by edit distance.

use super::options::{COMMANDS, Command, OptionSpec, OptionValue};

/// Returns the number of insertions, deletions and replacements between two words.
pub(crate) fn edit_distance(from: &[u8], to: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, a) in from.iter().enumerate() {
        let mut diagonal = above;
        row[0] = above + 1;
        for (at, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

/// Returns the option nearest to `argument`, both without dashes; of several the first.
pub(super) fn nearest_option(command: &Command, argument: &[u8]) -> Option<Vec<u8>> {
    if argument.is_empty() {
        return None;
    }
    let (name, value) = split_value(argument);
    let mut best: Option<(usize, Vec<u8>)> = None;
    for option in command.options {
        let takes_value = takes_value(command, option);
        let wanted = if takes_value { name } else { argument };
        let distance = edit_distance(option.name.as_bytes(), wanted);
        if best.as_ref().is_none_or(|(least, _)| distance < *least) {
            let suffix = value.filter(|value| takes_value && !value.is_empty()).map(|value| [b"=", value].concat());
            best = Some((distance, [option.name.as_bytes(), &suffix.unwrap_or_default()].concat()));
        }
    }
    best.map(|(_, text)| text)
}

/// Returns the subcommand with an edit distance of 1.
pub(super) fn nearest_command(name: &[u8]) -> Option<&'static str> {
    COMMANDS.iter().map(|command| command.name).find(|known| edit_distance(known.as_bytes(), name) < 2)
}

fn split_value(argument: &[u8]) -> (&[u8], Option<&[u8]>) {
    match argument.iter().position(|b| *b == b'=') {
        Some(at) => (&argument[..at], Some(&argument[at + 1..])),
        None => (argument, None),
    }
}

fn takes_value(command: &Command, option: &OptionSpec) -> bool {
    match option.takes {
        OptionValue::Member(_) | OptionValue::Action(_) => false,
        OptionValue::Alias(of) => command.find(of).is_some_and(|of| takes_value(command, of)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::{MERGE, ORDER, SHOW};
    use super::*;

    #[test]
    fn distances_count_single_edits() {
        assert_eq!(edit_distance(b"sprase", b"sparse"), 2);
        assert_eq!(edit_distance(b"", b"abc"), 3);
        assert_eq!(edit_distance(b"same", b"same"), 0);
    }

    #[test]
    fn suggestions_are_those_of_the_genuine_tool() {
        let cases: [(&Command, &str, &str); 12] = [
            (&MERGE, "bogus", "gcc"),
            (&MERGE, "sprase", "sparse"),
            (&MERGE, "zz", "h"),
            (&MERGE, "zz=3", "r=3"),
            (&MERGE, "ox", "o"),
            (&MERGE, "sprse=1", "sparse=1"),
            (&MERGE, "txet=1", "text"),
            (&MERGE, "gc=1", "gcc"),
            (&MERGE, "covered", "instr"),
            (&SHOW, "sparse", "sample"),
            (&SHOW, "bogus", "counts"),
            (&ORDER, "sparse", "h"),
        ];
        for (command, argument, expected) in cases {
            let found = nearest_option(command, argument.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(found).unwrap(), expected, "{argument}");
        }
        assert_eq!(nearest_option(&MERGE, b""), None);
        assert_eq!(nearest_command(b"merg"), Some("merge"));
        assert_eq!(nearest_command(b"bogus"), None);
    }
}
