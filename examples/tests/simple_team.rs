//! The programs as a person runs them.

#[cfg(test)]
mod simple_team {
    use std::fs;
    use std::path::Path;
    use std::process::{Command, Output};

    fn run(arguments: &[&Path]) -> Output {
        let mut program = Command::new(env!("CARGO_BIN_EXE_simple_team"));
        program.args(arguments).env_remove("RUST_LOG");
        program.output().expect("it runs")
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).expect("text")
    }

    #[test]
    fn the_report_names_the_real_files() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("apples.txt"), "red\ngreen\nyellow\nrotten\n").expect("written");
        fs::write(dir.path().join("two words.md"), "# Title\n").expect("written");
        fs::create_dir(dir.path().join("inner")).expect("made");
        let output = run(&[dir.path()]);
        let shown = text(&output.stdout);
        assert!(output.status.success(), "{shown}{}", text(&output.stderr));
        let report = fs::read_to_string(dir.path().join("team-report.md")).expect("a report");
        for name in ["apples.txt", "two words.md", "inner/", "green"] {
            assert!(report.contains(name), "{name} is missing in {report}");
        }
        assert!(!report.contains("rotten"), "only the first lines are shown");
        for line in ["@Manager", "hired by @Manager", "workspace_read", "tokens in", "total"] {
            assert!(shown.contains(line), "{line} is missing in {shown}");
        }
        // A second look replaces its own report and does not report on it.
        fs::write(dir.path().join("pears.txt"), "soft\n").expect("written");
        assert!(run(&[dir.path()]).status.success());
        let again = fs::read_to_string(dir.path().join("team-report.md")).expect("a report");
        assert!(!again.contains("## team-report.md") && again.contains("pears.txt"), "{again}");
    }

    #[test]
    fn an_empty_folder_is_reported_as_such() {
        let dir = tempfile::tempdir().expect("a folder");
        let output = run(&[dir.path()]);
        assert!(output.status.success(), "{}", text(&output.stdout));
        assert!(text(&output.stdout).contains("There is no file to read"));
    }

    #[test]
    fn files_that_cannot_be_shown_do_not_stop_the_team() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("image.bin"), [0_u8, 159, 146, 150]).expect("written");
        fs::write(dir.path().join("quote ' \" {{ x }}.txt"), "fine\n").expect("written");
        let output = run(&[dir.path()]);
        assert!(output.status.success(), "{}", text(&output.stdout));
        let report = fs::read_to_string(dir.path().join("team-report.md")).expect("a report");
        assert!(report.contains("Could not be read"), "{report}");
        assert!(report.contains("quote ' \" {{ x }}.txt"), "{report}");
    }

    #[test]
    fn a_report_that_cannot_be_written_is_told() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join("team-report.md")).expect("made");
        fs::write(dir.path().join("a.txt"), "x\n").expect("written");
        let output = run(&[dir.path()]);
        let shown = text(&output.stdout);
        assert!(shown.contains("The report could not be written"), "{shown}");
        assert!(!shown.contains("The report is in"), "{shown}");
    }

    #[test]
    fn a_missing_folder_and_a_file_are_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("file.txt");
        fs::write(&file, "x").expect("written");
        for path in [dir.path().join("nowhere"), file] {
            let output = run(&[&path]);
            assert!(!output.status.success());
            assert!(text(&output.stderr).contains("folder"), "{}", text(&output.stderr));
        }
    }

    #[test]
    fn the_records_are_kept_when_asked_for() {
        let dir = tempfile::tempdir().expect("a folder");
        let log = dir.path().join("records.jsonl");
        let work = dir.path().join("work");
        fs::create_dir(&work).expect("made");
        let output = run(&[&work, Path::new("--log"), &log]);
        assert!(output.status.success(), "{}", text(&output.stdout));
        let records = akgentic::core::log::LogContents::read(&log).expect("a log");
        assert!(records.bad_lines.is_empty());
        assert_eq!(records.profiles.len(), 2);
    }
}
