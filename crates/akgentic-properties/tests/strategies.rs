//! Edits found by every strategy there is.

#[cfg(test)]
mod edits {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use akgentic_properties::edit;
    use akgentic_workspace::edit::Strategy as Found;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestRunner};

    /// Lines that look like code; some are alike.
    fn content() -> impl Strategy<Value = Vec<String>> {
        let word =
            prop::sample::select(vec!["alpha", "beta(x)", "γ = 1", "x\\ty", "a  b", "return", "}"]);
        let line = ("[ \t]{0,6}", prop::collection::vec(word, 0..4), "[ \t]{0,2}");
        let line =
            line.prop_map(|(indent, words, end)| format!("{indent}{}{end}", words.join(" ")));
        prop::collection::vec(line, 8..30)
    }

    /// The lines as somebody writes them who does not remember them well.
    fn written(lines: &[String], how: u8) -> Vec<String> {
        let each = |change: &dyn Fn(&String) -> String| lines.iter().map(change).collect();
        match how {
            1 => each(&|line| format!("  {}", line.trim())),
            2 => each(&|line| collapsed(line)),
            3 => each(&|line| format!("        {line}")),
            4 => [vec![String::new(); 2], lines.to_vec(), vec![String::new(); 2]].concat(),
            5 => each(&|line| line.replace("\\t", "\t").replace('\t', "\\t")),
            6 => {
                let mut lines = lines.to_vec();
                let middle = lines.len() / 2;
                lines[middle].push_str(" changed");
                lines
            }
            _ => lines.to_vec(),
        }
    }

    fn collapsed(line: &str) -> String {
        let mut text = String::new();
        for letter in line.replace('\t', " ").chars() {
            if letter != ' ' || !text.ends_with(' ') {
                text.push(letter);
            }
        }
        text
    }

    /// Nothing outside of the place changes, whatever strategy finds it, and all of them do.
    #[test]
    fn change_nothing_outside_of_the_place() {
        let tally: RefCell<BTreeMap<&str, usize>> = RefCell::default();
        let mut runner = TestRunner::new(Config { cases: 2000, ..Config::default() });
        let drawn = (content(), any::<(prop::sample::Index, u8, bool, bool)>(), 1usize..12);
        let outcome = runner.run(&drawn, |(lines, (from, how, crlf, open), length)| {
            let from = from.index(lines.len());
            let part = lines.get(from..(from + length).min(lines.len())).unwrap_or_default();
            let ending = if crlf { "\r\n" } else { "\n" };
            let text = lines.join(ending) + ending;
            let anchor = written(part, how % 7).join("\n") + if open { "" } else { "\n" };
            for strategy in Found::ALL.iter().filter(|own| own.find(&text, &anchor).is_some()) {
                *tally.borrow_mut().entry(strategy.as_str()).or_default() += 1;
            }
            edit(&[text.as_bytes(), anchor.as_bytes(), b"new\n  text"].join(&0xFF));
            Ok(())
        });
        outcome.expect("edits stay in their places");
        let tally = tally.into_inner();
        println!("{tally:?}");
        for strategy in Found::ALL {
            let name = strategy.as_str();
            assert!(tally.get(name).is_some_and(|count| *count >= 3), "{name}: {tally:?}");
        }
    }
}
