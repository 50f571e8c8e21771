use akgentic_core::wire::{dump, load};

use crate::support::{replay, same, same_rejection};

#[test]
fn message_json() {
    replay("message_json", |case| {
        let loaded = load(case.input["json"].clone());
        let expected_ok = case.expect["ok"] == true;
        match loaded {
            Ok(value) if expected_ok => same("dump", &dump(&value).unwrap(), &case.expect["dump"]),
            Ok(value) => Err(format!("accepted as {value:?}")),
            Err(error) if expected_ok => Err(format!("rejected: {error}")),
            Err(error) => same_rejection(&error, &case.expect),
        }
    });
}
