//! The programs as a person runs them.

#[cfg(test)]
mod simple_team {
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::path::Path;
    use std::process::{Command, Output, Stdio};

    fn run(arguments: &[&Path]) -> Output {
        let mut program = Command::new(env!("CARGO_BIN_EXE_simple_team"));
        program.args(arguments).env_remove("RUST_LOG");
        program.output().expect("it runs")
    }

    /// Runs it with these lines as standard input.
    fn typed(folder: &Path, lines: &[&str]) -> Output {
        let mut program = Command::new(env!("CARGO_BIN_EXE_simple_team"));
        program.arg(folder).env_remove("RUST_LOG");
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = program.spawn().expect("it runs");
        let mut input = running.stdin.take().expect("its input");
        input.write_all(lines.join("\n").as_bytes()).expect("typed");
        drop(input);
        running.wait_with_output().expect("it ends")
    }

    /// What a program that ended well printed.
    fn printed(output: &Output) -> String {
        let shown = text(&output.stdout);
        assert!(output.status.success(), "{shown}{}", text(&output.stderr));
        shown
    }

    /// The parts are there in this order.
    fn in_order(shown: &str, parts: &[&str]) {
        let mut rest = shown;
        for part in parts {
            let at = rest.find(part);
            let at = at.unwrap_or_else(|| panic!("{part} is missing, or comes too early: {shown}"));
            rest = rest.get(at + part.len()..).expect("a boundary");
        }
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
        let shown = printed(&run(&[dir.path()]));
        let report = fs::read_to_string(dir.path().join("team-report.md")).expect("a report");
        for name in ["apples.txt", "two words.md", "inner/", "green"] {
            assert!(report.contains(name), "{name} is missing in {report}");
        }
        assert!(!report.contains("rotten"), "only the first lines are shown");
        let judged = "# What is in this folder\n\nJudged by the expert: 2 file(s) and 1 folder(s)";
        assert!(report.starts_with(judged), "{report}");
        let steps = [
            "+ @Human (Human) joined\n",
            "+ @Manager (Manager) joined\n",
            "+ @Assistant (Assistant) joined, hired by @Manager\n",
            "+ @Expert (Expert) joined, hired by @Manager\n",
            "@Human → @Manager [request]\n",
            "@Manager → @Assistant [request]\n",
            "@Assistant calls workspace_read",
            "@Assistant calls workspace_write",
            "@Assistant → @Expert [request]\n",
            "@Expert calls workspace_edit",
            "@Expert → @Assistant [response]\n",
            "@Assistant → @Manager [response]\n",
            "@Manager → @Human [response]\n",
            "agent ",
            "@Assistant ",
            "@Expert ",
            "@Manager ",
            "total ",
        ];
        in_order(&shown, &steps);
        // A second look replaces its own report and does not report on it.
        fs::write(dir.path().join("pears.txt"), "soft\n").expect("written");
        printed(&run(&[dir.path()]));
        let again = fs::read_to_string(dir.path().join("team-report.md")).expect("a report");
        assert!(!again.contains("## team-report.md") && again.contains("pears.txt"), "{again}");
        assert_eq!(again.matches("Judged by").count(), 1, "{again}");
    }

    #[test]
    fn lines_go_to_the_member_they_name_and_to_the_manager() {
        let dir = tempfile::tempdir().expect("a folder");
        let lines = [
            "@Expert what do you think?",
            "@Nobody are you there?",
            "@Human hello",
            "@Expert",
            "",
            "look at it",
            "@Expert and now?",
            "/unknown command",
        ];
        let shown = printed(&typed(dir.path(), &lines));
        let steps = [
            "@Human → @Expert [request]\nwhat do you think?\n",
            "@Expert → @Human [response]\nThere is nothing to judge",
            "There is no @Nobody to write to; nothing was sent. Members: @Manager, @Assistant, @Expert\n",
            "There is no @Human to write to; nothing was sent.",
            "Write behind the name",
            "@Human → @Manager [request]\nlook at it\n",
            "@Manager → @Human [response]\n",
            "@Human → @Expert [request]\nand now?\n",
            "@Expert → @Human [response]\nMy judgement of the report is this",
            "@Human → @Manager [request]\n/unknown command\n",
            "@Manager → @Human [response]\nI know no such command",
        ];
        in_order(&shown, &steps);
        assert_eq!(shown.matches("@Human →").count(), 4, "{shown}");
    }

    #[test]
    fn slash_text_is_answered_by_the_program_or_run_by_the_manager() {
        let dir = tempfile::tempdir().expect("a folder");
        let lines = [
            "/help",
            "/usage",
            "/team",
            "/roles",
            "/hire Expert @Ann",
            "@Ann what do you think?",
            "/usage",
            "/fire @Ann",
            "@Ann are you there?",
            "/hire Manager",
            "/planning",
            "/task read the folder",
            "/stop",
            "/exit",
            "@Expert this comes too late",
        ];
        let shown = printed(&typed(dir.path(), &lines));
        let steps = [
            "/hire         /hire_member\n",
            "  /hire_member role=",
            "No model was asked so far.\n",
            "@Human → @Manager [request]\n/team_members\n",
            "@Assistant (role: Assistant)\n@Expert (role: Expert)\n",
            "@Human → @Manager [request]\n/team_roles\n",
            "Assistant: Reads and writes files (Skills: files, reports)\nExpert: Judges",
            "@Human → @Manager [request]\n/hire_member Expert @Ann\n",
            "+ @Ann (Expert) joined, hired by @Manager\n",
            "Hired @Ann (role: Expert)\n",
            "@Human → @Ann [request]\n",
            "agent ",
            " input     output   requests       cost      total\n@Ann ",
            "total ",
            "Member @Ann has been fired.\n",
            "There is no @Ann to write to",
            "Command 'hire_member' failed: your role may not hire \"Manager\"",
            "There is no planning yet",
            "There is no planning yet",
            "@Human → @Manager [request]\n/stop\n",
            "There is no run to cancel.",
        ];
        in_order(&shown, &steps);
        assert!(!shown.contains("too late"), "{shown}");
        assert!(!shown.contains("! "), "nothing fails: {shown}");
    }

    #[test]
    fn a_member_that_is_gone_is_told() {
        let dir = tempfile::tempdir().expect("a folder");
        let shown = printed(&typed(dir.path(), &["/fire @Assistant", "look at it"]));
        let steps = [
            "Member @Assistant has been fired.\n",
            "! @Manager: not sent:\n- @Assistant: there is no such member",
            "Nobody answered.\n",
        ];
        in_order(&shown, &steps);
    }

    #[test]
    fn a_question_of_the_command_line_is_the_only_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let shown = printed(&run(&[dir.path(), Path::new("--ask"), Path::new("Is it big?")]));
        in_order(&shown, &["@Human → @Manager [request]\nIs it big?\n", "@Manager → @Human"]);
        assert_eq!(shown.matches("@Human →").count(), 1, "{shown}");
    }

    #[test]
    fn a_line_of_the_command_line_is_read_like_any_other() {
        let dir = tempfile::tempdir().expect("a folder");
        let ask = |line: &str| run(&[dir.path(), Path::new("--ask"), Path::new(line)]);
        for (line, told) in [
            ("/roles", "@Human → @Manager [request]\n/team_roles\n"),
            ("/help", "/usage        what the agents consumed"),
        ] {
            let shown = printed(&ask(line));
            assert!(shown.contains(told), "{line}: {shown}");
        }
        for (line, told) in [("@Nobody hi", "nothing was sent"), (" ", "the line is empty")] {
            let output = ask(line);
            assert!(!output.status.success(), "{line}");
            assert_eq!(text(&output.stderr), format!("simple_team: {told}\n"));
        }
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
        assert!(asked.contains("workspace_read"), "{asked}");
        assert!(!asked.contains("planning") && !asked.contains("search_"), "{asked}");
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
        assert_eq!(records.profiles.len(), 3);
    }
}
