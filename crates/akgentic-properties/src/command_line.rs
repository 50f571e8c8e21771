//! Splitting a command line into words.

use akgentic_sandbox::{CommandPolicy, split};

use crate::parts::texts;

/// Words hold nothing that is not in their line, quoting them gives them back, and a policy lets
/// through exactly lines of words without operators.
pub fn command_line(data: &[u8]) {
    let [line] = texts(data);
    let Ok(found) = split(&line) else {
        assert!(CommandPolicy::default().check(&line).is_err(), "{line:?} is let through");
        return;
    };
    let mut rest = line.chars();
    for letter in found.words.iter().flat_map(|word| word.chars()) {
        assert!(rest.any(|own| own == letter), "{letter:?} is not in {line:?} at its place");
    }

    let quoted: Vec<String> = found.words.iter().map(|word| quote(word)).collect();
    let again = split(&quoted.join(" "));
    let again = again.unwrap_or_else(|error| unreachable!("{quoted:?} is not split: {error}"));
    assert_eq!(again.words, found.words, "quoted words are the words");
    assert!(again.operators.is_empty(), "quoted words hold no operators: {again:?}");

    let Some(program) = found.words.first() else { return };
    let checked = CommandPolicy::new([program.as_str()]).check(&line);
    assert_eq!(checked.is_ok(), found.operators.is_empty(), "{line:?}: {found:?}");
    if let Ok(command) = checked {
        assert_eq!(command.argv(), found.words);
    }
    assert!(CommandPolicy::new(Vec::<String>::new()).check(&line).is_err(), "nothing is allowed");
}

/// A word as it has to be written to be one.
fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
