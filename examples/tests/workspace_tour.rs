//! The tour as a person takes it.

#[cfg(test)]
mod serial {
    use std::fs;
    use std::path::Path;
    use std::process::{Command, Output};

    fn run(folder: &Path) -> Output {
        let mut program = Command::new(env!("CARGO_BIN_EXE_workspace_tour"));
        // Where no isolation can be had, the tour is taken without, and says so.
        program.arg(folder).env_remove("RUST_LOG").env("AKGENTIC_SANDBOX_ALLOW_LOCAL", "1");
        program.output().expect("it runs")
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).expect("text")
    }

    #[test]
    fn everything_it_promises_is_shown() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path().join("tour");
        let output = run(&folder);
        let shown = text(&output.stdout);
        assert!(output.status.success(), "{shown}{}", text(&output.stderr));
        for line in [
            // A stale write, with its diff.
            "It was last written by agent '@Ann'.",
            "    -2. Build twice",
            "    +3. Celebrate",
            // An edit that survives a change.
            "1     # Plan",
            "5     3. Celebrate",
            // A patch over three files.
            "Nothing was changed.",
            "    created: src/count.sh",
            "    created: notes.md",
            // A command, and what held it.
            "    exit_code: 0",
            "6 plan.md",
            "[... sandbox ",
            "network: ",
            // The journal.
            "@Ann  ",
            "@Bob  ",
            "notes.md",
        ] {
            assert!(shown.contains(line), "{line} is missing in {shown}");
        }
        assert!(!shown.contains("reached"), "{shown}");
        let plan = fs::read_to_string(folder.join("plan.md")).expect("the plan");
        let wanted = "# Plan\n\n1. Measure well\n2. Build twice\n3. Celebrate\n4. Write it down\n";
        assert_eq!(plan, wanted);
        let notes = fs::read_to_string(folder.join("notes.md")).expect("the notes");
        assert_eq!(notes, "Nothing yet.\ncounted\n");
        assert!(dir.path().join("tour.git").is_dir());

        let other = dir.path().join("other");
        let program = Command::new(env!("CARGO_BIN_EXE_workspace_tour"))
            .args([Path::new("--sandbox"), Path::new("nosuch"), &other])
            .env_remove("RUST_LOG")
            .output();
        let told = text(&program.expect("it runs").stderr);
        assert!(
            told.starts_with("workspace_tour: there is no sandbox backend \"nosuch\""),
            "{told}"
        );
        assert!(!other.exists(), "nothing is left behind");

        let again = run(&folder);
        assert!(!again.status.success() && text(&again.stderr).contains("is not empty"));
    }
}
