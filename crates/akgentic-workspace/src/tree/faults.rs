//! Replays the cases in which a step of a publication fails.

use rustix::io::Errno;

use crate::publish::faults::{Step, arm};

#[path = "../../tests/vectors/gate/script.rs"]
#[allow(clippy::disallowed_methods, reason = "tests stand outside of the root")]
mod script;

fn fault(kind: &str, nth: usize) {
    let (step, errno) = match kind {
        "publish_denied" => (Step::Publish, Errno::ACCESS),
        "publish_vanish" => (Step::Publish, Errno::NOENT),
        "unlink_denied" => (Step::Unlink, Errno::ACCESS),
        "unlink_vanish" => (Step::Unlink, Errno::NOENT),
        other => panic!("unknown fault {other}"),
    };
    arm(step, nth, errno);
}

#[test]
fn gate_faults() {
    let topic = akgentic_testkit::vectors().join("workspace-gate/gate_faults.json");
    let mut failures = Vec::new();
    for case in akgentic_testkit::cases(&topic) {
        if let Err(failure) = script::replay(&case, fault) {
            failures.push(format!("{}: {failure}", case.name));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
