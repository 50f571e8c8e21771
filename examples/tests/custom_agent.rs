//! The program as a person runs it.

#[cfg(test)]
mod custom_agent {
    use std::process::Command;

    #[test]
    fn an_incident_is_handed_off_to_a_member_and_to_somebody_hired() {
        let mut program = Command::new(env!("CARGO_BIN_EXE_custom_agent"));
        program.args(["The oven is down.", "--reporter", "Ann"]).env_remove("RUST_LOG");
        let output = program.output().expect("it runs");
        let shown = String::from_utf8(output.stdout).expect("text");
        let told = String::from_utf8(output.stderr).expect("text");
        assert!(output.status.success(), "{shown}{told}");
        for line in [
            "@Human reports: The oven is down.",
            "@Triage → @Ops [request]: Make room",
            "(Writer) joins, below @Triage",
            "@Ops → @Human [response]: Room was made",
            "→ @Human [response]: Notice:",
        ] {
            assert!(shown.contains(line), "{line} is missing in {shown}");
        }
    }
}
