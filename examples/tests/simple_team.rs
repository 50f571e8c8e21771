//! The programs as a person runs them.

#[cfg(test)]
mod simple_team {
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
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
    fn a_real_model_needs_its_key() {
        let dir = tempfile::tempdir().expect("a folder");
        let run = |model: &str| {
            let mut program = Command::new(env!("CARGO_BIN_EXE_simple_team"));
            program.args(["--model", model]).arg(dir.path()).env_remove("MISTRAL_API_KEY");
            let output = program.output().expect("it runs");
            assert!(!output.status.success());
            text(&output.stderr)
        };
        let missing = run("mistral:mistral-large-latest");
        assert!(missing.contains("needs the environment variable MISTRAL_API_KEY"), "{missing}");
        let unknown = run("nope:x");
        assert!(unknown.contains("PROVIDER:MODEL") && unknown.contains("anthropic"), "{unknown}");
    }

    /// Answers one request with what a manager says to the person; gives the request.
    fn provider(listener: &TcpListener) -> String {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut received = Vec::new();
        let mut piece = [0; 4096];
        while serde_json::from_slice::<serde_json::Value>(body_of(&received)).is_err() {
            let count = stream.read(&mut piece).expect("a request");
            assert!(count > 0, "the request is cut");
            received.extend_from_slice(piece.get(..count).expect("what was read"));
        }
        let said = serde_json::json!({"messages": [
            {"message_type": "response", "message": "It is empty.", "recipient": "@Human"},
        ]});
        let reply = serde_json::json!({"model": "m", "choices": [
            {"finish_reason": "stop", "message": {"content": said.to_string()}},
        ], "usage": {"prompt_tokens": 12, "completion_tokens": 34}})
        .to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            reply.len()
        );
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(reply.as_bytes()))
            .expect("sent");
        text(&received)
    }

    fn body_of(request: &[u8]) -> &[u8] {
        let end = request.windows(4).position(|window| window == b"\r\n\r\n");
        end.and_then(|end| request.get(end + 4..)).unwrap_or_default()
    }

    #[test]
    fn a_real_model_is_asked_over_http() {
        let dir = tempfile::tempdir().expect("a folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let server = std::thread::spawn(move || provider(&listener));
        let mut program = Command::new(env!("CARGO_BIN_EXE_simple_team"));
        program.args(["--model", "openai-chat:gpt-4o"]).arg(dir.path());
        program.env("OPENAI_BASE_URL", base).env("OPENAI_API_KEY", "sk-test");
        let output = program.output().expect("it runs");
        let shown = text(&output.stdout);
        assert!(output.status.success(), "{shown}{}", text(&output.stderr));
        assert!(shown.contains("@Manager → @Human [response]\nIt is empty."), "{shown}");
        assert!(shown.contains("12") && shown.contains("34"), "{shown}");
        let asked = server.join().expect("it ends");
        assert!(asked.contains("authorization: Bearer sk-test"), "{asked}");
        assert!(
            asked.contains("You lead a team.") && asked.contains("StructuredOutput"),
            "{asked}"
        );
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
