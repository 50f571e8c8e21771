//! Random inputs and kept ones.

#[cfg(test)]
mod inputs {
    use std::fs;
    use std::path::Path;

    use akgentic_properties::ALL;
    use proptest::prelude::*;

    /// Bytes of which much means something to one parser or another.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            6 => "[a-c ]{1,4}".prop_map(String::into_bytes),
            4 => prop::sample::select(vec![
                "\n", "\n", "\r\n", "\t", "  ", "'", "\"", "\\", "$(", "`", "|", "&&", ">", "*", "**/",
                "?", "[a-c]", "[!", "{a,b}", "{", "}", "/", "..", "!!", "!!\"", "@@ -1 +1 @@\n",
                "@@ -1,2 +1,3 @@\n", "--- a/f\n+++ b/f\n", "--- /dev/null\n", "+++ /dev/null\n", "+", "-",
                "\\ No newline at end of file\n", "diff --git a/f b/f\n", "é", "─", "\u{2028}", "\0",
            ])
            .prop_map(|text| text.as_bytes().to_vec()),
            2 => Just(vec![0xFF]),
            1 => any::<Vec<u8>>(),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn hold_for_random_bytes(data in bytes()) {
            for (_, property) in ALL {
                property(&data);
            }
        }

        #[test]
        fn hold_for_a_text_and_one_like_it(
            data in bytes(), cut in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            // A part of the text, and once more with one byte of it gone.
            let (from, to) = (cut.0.index(data.len() + 1), cut.1.index(data.len() + 1));
            let part = data.get(from.min(to)..from.max(to)).unwrap_or_default();
            let mut less = part.to_vec();
            if !less.is_empty() {
                less.remove(less.len() / 2);
            }
            for like in [part, &less] {
                let whole = [data.as_slice(), like, data.as_slice()].join(&0xFF);
                for (_, property) in ALL {
                    property(&whole);
                }
            }
        }
    }

    #[test]
    fn hold_for_every_kept_input() {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
        for (name, property) in ALL {
            let kept = fs::read_dir(seeds.join(name)).expect(name);
            let mut count = 0;
            for entry in kept {
                let path = entry.expect("an entry").path();
                println!("{}", path.display());
                property(&fs::read(&path).expect("a seed"));
                count += 1;
            }
            assert!(count >= 5, "{name} has {count} seeds");
        }
    }
}
