use akgentic_core::wire::{dump, load};

use akgentic_testkit::{Case, same};

use super::rejection::same_rejection;

pub(crate) fn message_json(case: &Case) -> Result<(), String> {
    let loaded = load(case.input["json"].clone());
    let expected_ok = case.expect["ok"] == true;
    match loaded {
        Ok(value) if expected_ok => same("dump", &dump(&value).unwrap(), &case.expect["dump"]),
        Ok(value) => Err(format!("accepted as {value:?}")),
        Err(error) if expected_ok => Err(format!("rejected: {error}")),
        Err(error) => same_rejection(&error, &case.expect),
    }
}
