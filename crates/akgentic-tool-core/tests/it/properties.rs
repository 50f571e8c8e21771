//! Properties that hold for any input.

use akgentic_tool_core::context::{UpdateKind, highest_marker, marker_line};
use akgentic_tool_core::{Dependency, MarkerScan, OrderError, order_cards, tokenize};
use proptest::prelude::*;

fn single_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn escaped(word: &str) -> String {
    word.chars().flat_map(|c| ['\\', c]).collect()
}

fn double_quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', r"\\").replace('"', "\\\""))
}

proptest! {
    #[test]
    fn any_line_is_read_or_refused(line in any::<String>()) {
        if let Ok(words) = tokenize(&line) {
            prop_assert!(words.iter().map(String::len).sum::<usize>() <= line.len());
        }
    }

    #[test]
    fn quoted_words_come_back(words in prop::collection::vec(any::<String>(), 0..6), style in 0..3) {
        let quote = match style {
            0 => single_quoted,
            1 => double_quoted,
            // An escaped empty word is no word.
            _ => |word: &str| if word.is_empty() { "''".to_owned() } else { escaped(word) },
        };
        let line = words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" \t");
        prop_assert_eq!(tokenize(&format!("/{line}")), Ok(words));
    }

    #[test]
    fn a_followed_scan_agrees_with_a_full_one(
        messages in prop::collection::vec(
            prop::collection::vec("(x|\\*\\*Context update [0-9]{1,2}\\*\\*){0,3}", 0..3), 0..12,
        ),
        cuts in prop::collection::vec(0_usize..12, 0..6),
    ) {
        let texts = |length: usize| {
            messages[..length.min(messages.len())].iter().map(|texts| texts.iter().map(String::as_str))
        };
        let mut scan = MarkerScan::default();
        for cut in cuts {
            scan.follow(texts(cut));
            let all = texts(cut).flatten().map(highest_marker).max().unwrap_or(0);
            prop_assert_eq!(scan.highest(), all);
            prop_assert_eq!(&scan, &MarkerScan::over(texts(cut)));
        }
    }

    #[test]
    fn a_marker_is_found_in_any_text(before in "[^*]*", number in 1_i64.., after in any::<String>()) {
        let text = format!("{before}{}{after}", marker_line(number, UpdateKind::Snapshot));
        prop_assert!(highest_marker(&text) >= number);
    }

    #[test]
    fn cards_come_after_what_they_need(
        needs in prop::collection::vec(prop::collection::vec(0_usize..8, 0..4), 0..8),
    ) {
        let cards: Vec<_> = needs
            .iter()
            .enumerate()
            .map(|(card, needs)| {
                let needs = needs.iter().map(|need| Dependency::optional(need.to_string()));
                (card.to_string(), needs.collect::<Vec<_>>())
            })
            .collect();
        match order_cards(&cards) {
            Ok(order) => {
                let place = |card: usize| order.iter().position(|&at| at == card);
                for (card, needs) in needs.iter().enumerate() {
                    for &need in needs.iter().filter(|need| **need < cards.len()) {
                        prop_assert!(place(need) < place(card));
                    }
                }
            }
            Err(OrderError::Cycle { cycle, unordered }) => {
                prop_assert!(!cycle.is_empty());
                for (at, card) in cycle.iter().enumerate() {
                    let next = &cycle[(at + 1) % cycle.len()];
                    let needs = &needs[card.parse::<usize>().unwrap()];
                    prop_assert!(needs.iter().any(|need| need.to_string() == *next));
                    prop_assert!(unordered.contains(card));
                }
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
    }
}
