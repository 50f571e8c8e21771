//! The program as a person runs it.

#[cfg(test)]
mod run_control {
    use std::process::Command;

    #[test]
    fn mail_is_taken_on_runs_are_cancelled_and_limits_are_told() {
        let mut program = Command::new(env!("CARGO_BIN_EXE_run_control"));
        let output = program.env_remove("RUST_LOG").output().expect("it runs");
        let shown = String::from_utf8(output.stdout).expect("text");
        let errors = String::from_utf8(output.stderr).expect("text");
        assert!(output.status.success(), "{shown}{errors}");
        let acts: Vec<&str> = shown.split("== ").skip(1).collect();
        let [mail, cancel, limit, budget] = acts[..] else { panic!("four acts: {shown}") };
        in_order(
            mail,
            &[
                "@Surveyor begins a turn",
                "@Surveyor calls survey",
                "@Human → @Surveyor [request] And the gate, how wide is it?",
                "@Surveyor calls read_mailbox",
                "@Surveyor takes a message out of its inbox",
                "@Surveyor → @Human [response] About the fence: the fence is 12 m long",
                "@Surveyor → @Human [response] About the gate: the gate is 12 m long",
            ],
        );
        assert_eq!(mail.matches("begins a turn").count(), 1, "one turn for both: {mail}");
        in_order(
            cancel,
            &[
                "@Human → @Surveyor [request] /stop it, please",
                "@Surveyor survey gave: the ground is 12 m long",
                "@Surveyor dig gave: stopped at half a metre",
                "@Surveyor → @Human [notification] Run interrupted.",
                "@Human → @Surveyor [request] /stop it, please",
                "@Surveyor begins a turn",
                "@Surveyor → @Human [notification] There is no run to cancel.",
            ],
        );
        assert!(cancel.contains("@Surveyor takes a message out of its inbox"), "{cancel}");
        in_order(
            limit,
            &["the fourth tree is 12 m long", "[response] I got as far as the fourth tree"],
        );
        in_order(budget, &["@Surveyor begins a turn", "[notification] @Surveyor reached its"]);
        assert!(!budget.contains("calls"), "no model is asked: {budget}");
    }

    /// Each line comes after the one before it.
    fn in_order(text: &str, lines: &[&str]) {
        let mut rest = text;
        for line in lines {
            let Some((_, after)) = rest.split_once(line) else {
                panic!("{line:?} is missing, or comes too early, in\n{text}");
            };
            rest = after;
        }
    }
}
