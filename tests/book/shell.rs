//! A small parser for shell command lines.

/// Returns the commands of one or more lines, each as its words. Redirections and assignments are dropped. A
/// substitution, `$(…)` or `<(…)`, becomes the word `substituted`, and its own commands follow. Of a loop, only the
/// commands in it are returned.
pub fn commands(text: &str) -> Vec<Vec<String>> {
    let mut found = Found::default();
    let mut rest = text.char_indices().peekable();
    while let Some((at, letter)) = rest.next() {
        let next = rest.peek().map(|&(_, letter)| letter);
        match letter {
            '\\' if next == Some('\n') => drop(rest.next()),
            '\\' => found.word.get_or_insert_default().extend(rest.next().map(|(_, letter)| letter)),
            '\'' | '"' => {
                let word = found.word.get_or_insert_default();
                word.extend(rest.by_ref().map(|(_, inner)| inner).take_while(|inner| *inner != letter));
            }
            '#' if found.word.is_none() => while rest.next_if(|(_, letter)| *letter != '\n').is_some() {},
            '$' | '<' if next == Some('(') => {
                let length = closed(&text[at + 2..]);
                found.inner.extend(commands(&text[at + 2..at + 2 + length]));
                while rest.next_if(|&(inner, _)| inner <= at + 2 + length).is_some() {}
                found.word.get_or_insert_default().push_str("substituted");
            }
            '>' | '<' => found.redirect(),
            '&' if found.is_redirection => {}
            ';' | '|' | '&' | '\n' | '(' | ')' => found.end_command(),
            _ if letter.is_whitespace() => found.end_word(),
            _ => found.word.get_or_insert_default().push(letter),
        }
    }
    found.end_command();
    found.commands.append(&mut found.inner);
    found.commands
}

/// Returns the number of bytes before the bracket that closes an open one.
fn closed(text: &str) -> usize {
    let mut depth = 1;
    for (at, letter) in text.char_indices() {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

#[derive(Default)]
struct Found {
    commands: Vec<Vec<String>>,
    inner: Vec<Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
    is_redirection: bool,
}

impl Found {
    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let is_assignment = self.words.is_empty() && word.split_once('=').is_some_and(|(name, _)| is_name(name));
        if !std::mem::take(&mut self.is_redirection) && !is_assignment {
            self.words.push(word);
        }
    }

    /// The next word is a file, and a number before the operator is not an argument.
    fn redirect(&mut self) {
        self.word.take_if(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        self.end_word();
        self.is_redirection = true;
    }

    fn end_command(&mut self) {
        self.end_word();
        self.is_redirection = false;
        let mut words = std::mem::take(&mut self.words);
        if words.first().is_some_and(|word| word == "do") {
            words.remove(0);
        }
        if words.first().is_some_and(|word| !matches!(word.as_str(), "for" | "done")) {
            self.commands.push(words);
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[test]
fn a_line_falls_into_commands() {
    let line =
        "A=1 profbridge merge *.x -o 'a b' 2>&1 > log | jq .; ln -s $(which profbridge) x && cat <(zcat y) # end";
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut merge = words("profbridge merge *.x -o");
    merge.push("a b".to_owned());
    let expected = [
        merge,
        words("jq ."),
        words("ln -s substituted x"),
        words("cat substituted"),
        words("which profbridge"),
        words("zcat y"),
    ];
    assert_eq!(commands(line), expected);
}

#[test]
fn the_commands_of_a_loop_are_found() {
    let found = commands("for run in 1 2; do profbridge info $run > $run.txt; done\nls");
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(found, [words("profbridge info $run"), words("ls")]);
}
