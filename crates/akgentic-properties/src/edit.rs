//! Finding a text and replacing it.

use std::ops::Range;

use akgentic_workspace::edit::{Found, Miss, Strategy, find, substitute};
use akgentic_workspace::text::LineEnding;

use crate::parts::texts;

/// Longest text that is looked through, which keeps a run quick.
const LENGTH_MAX: usize = 4096;

/// Whatever finds a text gives places in it, a replacement changes nothing outside of them, and a miss
/// is told for what it is.
pub fn edit(data: &[u8]) {
    let [content, anchor, replacement] = texts(data);
    if content.len() > LENGTH_MAX || anchor.len() > LENGTH_MAX {
        return;
    }
    for strategy in Strategy::ALL {
        if let Some(found) = strategy.find(&content, &anchor) {
            assert_eq!(found.strategy, strategy);
            places_are_in(&found, &content);
        }
    }
    let found = find(&content, &anchor, false);
    match substitute(&content, &anchor, &replacement, false, false) {
        Ok(edited) => {
            let found = found.as_ref().map(Found::range).unwrap_or_default();
            assert_eq!(edited.replaced, 1);
            only_places_change(&content, &edited.text, &[found], &replacement);
        }
        Err(Miss::NotFound | Miss::Blank) => assert_eq!(found, None),
        Err(Miss::Ambiguous { count, .. }) => {
            assert_eq!(found.as_ref().map(|found| found.count), Some(count));
            assert!(count > 1);
        }
        Err(other) => unreachable!("{other}"),
    }
    if let (Some(found), Ok(edited)) =
        (&found, substitute(&content, &anchor, &replacement, true, false))
        && found.count == found.places.len()
        && edited.replaced == found.count
    {
        only_places_change(&content, &edited.text, &found.places, &replacement);
    }
    if let Some(exact) = find(&content, &anchor, true) {
        assert_eq!(content.get(exact.range()), Some(anchor.as_str()));
    }
}

fn places_are_in(found: &Found, content: &str) {
    assert!(found.count >= found.places.len() && !found.places.is_empty());
    for place in &found.places {
        assert!(content.get(place.clone()).is_some(), "{found:?} in {content:?}");
    }
}

/// Whether the text after is the text before with the places replaced and nothing else.
fn only_places_change(before: &str, after: &str, places: &[Range<usize>], replacement: &str) {
    let mut places = places.to_vec();
    places.sort_by_key(|place| place.start);
    let (mut kept, mut rest) = (0, after);
    for place in places {
        let mut start = place.start;
        let text = before.get(kept..start).unwrap_or_else(|| unreachable!("places overlap"));
        // A place that begins in the middle of `\r\n` takes the whole of it.
        if text.ends_with('\r')
            && before.get(place.clone()).is_some_and(|text| text.starts_with('\n'))
        {
            start -= 1;
        }
        rest = behind(rest, before.get(kept..start).unwrap_or_default(), before, after);
        let endings = [LineEnding::Lf, LineEnding::Crlf].map(|ending| ending.apply(replacement));
        let fits = |text: &&std::borrow::Cow<'_, str>| rest.starts_with(text.as_ref());
        let Some(longest) = endings.iter().filter(fits).max_by_key(|text| text.len()) else {
            unreachable!("{replacement:?} is not in {after:?}, from {before:?}");
        };
        rest = behind(rest, longest, before, after);
        kept = place.end;
    }
    assert_eq!(Some(rest), before.get(kept..), "{before:?} became {after:?}");
}

fn behind<'t>(text: &'t str, start: &str, before: &str, after: &str) -> &'t str {
    let rest = text.strip_prefix(start);
    rest.unwrap_or_else(|| unreachable!("{start:?} changed: {before:?} became {after:?}"))
}
