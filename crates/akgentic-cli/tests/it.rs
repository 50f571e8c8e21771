//! The program as a person or another program runs it.

#[cfg(test)]
mod akgentic {
    use std::fs;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output, Stdio};

    use serde_json::{Value, json};

    struct World {
        dir: tempfile::TempDir,
        cards: PathBuf,
    }

    /// A workspace with one file, and cards for it.
    fn world() -> World {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("notes");
        fs::create_dir(&root).expect("made");
        fs::write(root.join("todo.md"), "buy milk\n").expect("written");
        let cards = dir.path().join("cards.yaml");
        let text = format!(
            "- __model__: akgentic.tool.workspace.WorkspaceTool\n  root: {}\n\
             - __model__: akgentic.tool.team.TeamTool\n",
            root.display()
        );
        fs::write(&cards, text).expect("written");
        World { dir, cards }
    }

    fn program(arguments: &[&str], cards: &Path) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_akgentic"));
        let (task, rest) = arguments.split_first().expect("a task");
        program.arg(task).arg(cards).args(rest).env_remove("RUST_LOG");
        program
    }

    fn run(arguments: &[&str], cards: &Path) -> Output {
        program(arguments, cards).output().expect("it runs")
    }

    fn lines(cards: &Path, input: &[u8]) -> Vec<Value> {
        let mut child = program(&["call", "--jsonl"], cards)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut stdin = child.stdin.take().expect("an input");
        stdin.write_all(input).expect("written");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let answers = text(&output.stdout);
        answers.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).expect("text")
    }

    #[test]
    fn tools_are_listed_for_people_and_programs() {
        let world = world();
        let shown = text(&run(&["tools"], &world.cards).stdout);
        for line in ["workspace_read\n", "  - path (string)", "/hire_member role: string", "roster"]
        {
            assert!(shown.contains(line), "{line:?} is missing in {shown}");
        }
        let output = run(&["tools", "--json"], &world.cards);
        let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let names: Vec<&str> = listed["tools"]
            .as_array()
            .expect("tools")
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert!(names.contains(&"workspace_read") && names.contains(&"hire_members"), "{names:?}");
        assert_eq!(listed["tools"][0]["parameters"]["additionalProperties"], json!(false));
    }

    #[test]
    fn objects_within_lists_are_listed_with_their_fields() {
        let shown = text(&run(&["tools"], &world().cards).stdout);
        assert!(shown.contains("  - edits (array of object) The replacements"), "{shown}");
        assert!(shown.contains("\n    - replace_all (boolean, optional) Replace"), "{shown}");
    }

    #[test]
    fn keys_of_cards_that_mean_nothing_are_told() {
        let world = world();
        let path = world.dir.path().join("typo.yaml");
        let cards = text(&fs::read(&world.cards).expect("cards"));
        fs::write(&path, cards.replace("  root:", "  git_jornal: true\n  root:")).expect("written");
        let told = "card 1 of {path}: git_jornal is no setting and changes nothing"
            .replace("{path}", &path.display().to_string());
        for task in [&["tools"][..], &["call", "workspace_list"], &["call", "--jsonl"]] {
            let mut program = program(task, &path);
            let output = program.stdin(Stdio::null()).output().expect("it runs");
            assert!(output.status.success());
            assert_eq!(text(&output.stderr), format!("note: {told}\n"), "{task:?}");
        }
        let output = run(&["tools", "--json"], &path);
        let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(listed["warnings"], json!([told]));
    }

    #[test]
    fn one_call_runs_a_command_as_well() {
        let world = world();
        let output = run(&["call", "/team_members"], &world.cards);
        assert!(text(&output.stdout).contains("@host (role: ToolHost) - [you]"));
        assert!(output.status.success());
        for (arguments, told) in [
            (&["call", "/hire_member"][..], "missing: role"),
            (&["call", "/team_membres"], "the commands are: /hire_member, "),
            (&["call", "/hire_member", "{}"], "a command is written in one"),
        ] {
            let output = run(arguments, &world.cards);
            assert_eq!(output.status.code(), Some(1));
            let error = text(&output.stderr);
            assert!(error.contains(told), "{told} is missing in {error}");
        }
    }

    #[test]
    fn cards_come_from_standard_input_in_either_language() {
        let world = world();
        let yaml = fs::read(&world.cards).expect("cards");
        let root = world.dir.path().join("notes");
        let marker = "akgentic.tool.workspace.WorkspaceTool";
        let json = json!([{"__model__": marker, "root": root}]).to_string().into_bytes();
        let fed = |arguments: &[&str], input: &[u8]| {
            let mut child = program(arguments, Path::new("-"))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("it runs");
            // A program that refuses its arguments reads nothing.
            let _unread = child.stdin.take().expect("an input").write_all(input).is_err();
            child.wait_with_output().expect("it ends")
        };
        for cards in [&yaml, &json] {
            let output = fed(&["call", "workspace_list"], cards);
            assert_eq!(text(&output.stdout), "todo.md (9 bytes)\n", "{}", text(&output.stderr));
        }
        let output = fed(&["tools"], b" \n");
        assert_eq!(
            text(&output.stderr),
            "akgentic: standard input is empty: write a list of cards\n"
        );
        let output = fed(&["call", "--jsonl"], &yaml);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("put the cards into a file"));
    }

    #[test]
    fn one_call_prints_what_the_tool_gives() {
        let world = world();
        let output = run(&["call", "workspace_read", r#"{"path": "todo.md"}"#], &world.cards);
        assert_eq!(text(&output.stdout), "1     buy milk\n");
        assert!(output.status.success());
        let output = run(&["call", "workspace_read", r#"{"pth": 1}"#], &world.cards);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("path: Field required"), "{}", text(&output.stderr));
        let output = run(&["call", "workspace_read", "{"], &world.cards);
        assert_eq!(output.status.code(), Some(1));
        let output = run(&["call"], &world.cards);
        assert_eq!(output.status.code(), Some(2));
    }

    #[test]
    fn every_line_gets_one_answer_in_order() {
        let world = world();
        let requests = [
            r#"{"agent": "a", "tool": "workspace_write", "arguments": {"path": "b.txt", "content": "x"}}"#,
            r#"{"agent": "b", "tool": "workspace_read", "arguments": {"path": "b.txt"}}"#,
            "",
            r#"{"agent": "b", "command": "/team_members"}"#,
            "nonsense",
            r#"{"agent": "a", "tool": "workspace_read", "arguments": {"path": "../todo.md"}}"#,
            r#"{"agent": "a", "tool": "no_such_tool"}"#,
            r#"{"agent": "a", "command": "/no_such_command"}"#,
            r#"{"agent": "a", "command": "/fire_member @Nobody"}"#,
            r#"{"agent": "a"}"#,
        ];
        let answers = lines(&world.cards, requests.join("\n").as_bytes());
        assert_eq!(answers.len(), 9);
        assert_eq!(answers[0]["ok"], json!(true));
        assert_eq!(answers[1], json!({"ok": true, "content": ["1     x"]}));
        let members = answers[2]["content"][0].as_str().expect("text");
        assert!(members.contains("a (role: ToolHost)\nb (role: ToolHost) - [you]"), "{members}");
        let kinds: Vec<&str> =
            answers[3..].iter().map(|answer| answer["kind"].as_str().expect("a kind")).collect();
        assert_eq!(
            kinds,
            ["request", "retriable", "retriable", "unknown_command", "command", "request"]
        );
        assert!(world.dir.path().join("notes/b.txt").exists());
    }

    #[test]
    fn a_line_without_end_is_bounded() {
        let world = world();
        let mut input = vec![b'x'; 17 * 1024 * 1024];
        input.extend_from_slice(b"\n{\"tool\": \"workspace_list\"}");
        let answers = lines(&world.cards, &input);
        assert_eq!(answers.len(), 2);
        assert_eq!(answers[0]["kind"], json!("request"));
        assert_eq!(answers[1]["ok"], json!(true));
    }

    #[test]
    fn agents_are_bounded() {
        let world = world();
        let request = |agent: &str| {
            let list = json!({"agent": agent, "tool": "workspace_list"});
            format!("{list}\n")
        };
        let mut input: String = (0..1026).map(|number| request(&number.to_string())).collect();
        input += &request("0");
        input += &request(&"n".repeat(1000));
        let answers = lines(&world.cards, input.as_bytes());
        let refused: Vec<usize> =
            (0..answers.len()).filter(|at| answers[*at]["ok"] == json!(false)).collect();
        assert_eq!(refused, [1024, 1025, 1027]);
        let message = answers[1024]["message"].as_str().expect("a message");
        assert!(message.contains("at most 1024 agents"), "{message}");
    }

    /// Who stops reading holds up the answers, and nobody who wants an end.
    #[test]
    fn serial_a_reader_that_stalls_does_not_hold_up_the_end() {
        let world = world();
        let long = "x".repeat(100_000);
        fs::write(world.dir.path().join("notes/long"), format!("{long}\n").repeat(10)).expect("it");
        let mut child = program(&["call", "--jsonl"], &world.cards)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
        let mut input = child.stdin.take().expect("an input");
        let request =
            r#"{"tool": "workspace_grep", "arguments": {"pattern": "x", "path": "long"}}"#;
        for _ in 0..64 {
            writeln!(input, "{request}").expect("written");
        }
        // Some of the first answer is there, and the pipe is soon full.
        let mut output = child.stdout.take().expect("an output");
        std::io::Read::read_exact(&mut output, &mut [0; 10]).expect("an answer");
        let told = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(told.expect("kill").success());
        let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let code = loop {
            if let Some(status) = child.try_wait().expect("asked") {
                break status.code();
            }
            assert!(std::time::Instant::now() < end, "it goes on");
            std::thread::park_timeout(std::time::Duration::from_millis(10));
        };
        assert_eq!(code, Some(143));
    }

    /// Each line that is no request is answered as such, and the next one as if nothing had been.
    #[test]
    fn hostile_lines_are_answered_one_by_one() {
        let world = world();
        let deep = "[".repeat(200_000);
        let deep_arguments = format!(
            r#"{{"tool": "workspace_read", "arguments": {}1{}}}"#,
            "[".repeat(5000),
            "]".repeat(5000)
        );
        let many = format!(
            r#"{{"tool": "workspace_read", "arguments": {{"path": "{}"}}}}"#,
            "x/".repeat(100_000)
        );
        let name = "x".repeat(1_000_000);
        let long_tool = format!(r#"{{"tool": "{name}"}}"#);
        let long_command = format!(r#"{{"command": "/{name}"}}"#);
        let long_role = format!(r#"{{"command": "/hire_member {name}"}}"#);
        let cases: [(&[u8], &str); 23] = [
            (long_tool.as_bytes(), "retriable"),
            (long_command.as_bytes(), "unknown_command"),
            (long_role.as_bytes(), "command"),
            (b"null", "request"),
            (b"[]", "request"),
            (b"{}", "request"),
            (b"\"workspace_read\"", "request"),
            (b"{\"tool\": 1}", "request"),
            (b"{\"tool\": \"workspace_read\", \"tool\": \"x\"}", "request"),
            (b"{\"tool\": \"workspace_read\"} {}", "request"),
            (b"{\"tool\": \"workspace_read\", \"more\": 1}", "request"),
            (b"{\"agent\": null, \"tool\": \"workspace_read\"}", "request"),
            (b"{\"tool\": \"workspace_read\", \"command\": \"/x\"}", "request"),
            (b"\xff\xfe{\"tool\": \"workspace_read\"}", "request"),
            (b"{\"tool\": \"work\xe2\x94space_read\"}", "request"),
            (b"{\"tool\": \"\\ud800\"}", "request"),
            (b"\0", "request"),
            (deep.as_bytes(), "request"),
            (deep_arguments.as_bytes(), "request"),
            (b"{\"tool\": \"workspace_read\", \"arguments\": \"todo.md\"}", "retriable"),
            (
                b"{\"tool\": \"workspace_read\", \"arguments\": {\"path\": \"a\\u0000b\"}}",
                "retriable",
            ),
            (b"{\"tool\": \"\", \"arguments\": {}}", "retriable"),
            (many.as_bytes(), "retriable"),
        ];
        let good = br#"{"tool": "workspace_read", "arguments": {"path": "todo.md"}}"#;
        let mut input = Vec::new();
        for (line, _) in &cases {
            input.extend([line, good.as_slice(), b""].join(&b'\n'));
        }
        let answers = lines(&world.cards, &input);
        assert_eq!(answers.len(), 2 * cases.len());
        for (pair, (line, kind)) in answers.chunks(2).zip(&cases) {
            let shown = String::from_utf8_lossy(line.get(..60).unwrap_or(line));
            assert_eq!(pair[0]["kind"], json!(kind), "{shown}: {}", pair[0]);
            let told = pair[0]["message"].as_str().expect("a message");
            assert!(!told.contains("expected struct"), "{shown}: {told} is no text for users");
            assert!(!told.is_empty() && told.len() < 2000, "{shown}: {} bytes", told.len());
            assert_eq!(pair[1], json!({"ok": true, "content": ["1     buy milk"]}), "{shown}");
        }
    }

    #[test]
    fn input_that_ends_in_the_middle_of_a_line_is_answered() {
        let world = world();
        for (input, count) in [
            (&b""[..], 0),
            (b"\n\r\n  \n", 0),
            (b"{\"tool\": \"workspace_list\"", 1),
            (b"{\"tool\": \"workspace_list\"}\r\n{\"tool\": \"work\xe2", 2),
        ] {
            let answers = lines(&world.cards, input);
            assert_eq!(answers.len(), count, "{answers:?}");
            if let Some(last) = answers.last() {
                assert_eq!(last["kind"], json!("request"), "{answers:?}");
            }
        }
    }

    #[test]
    fn each_answer_comes_before_the_next_request() {
        let world = world();
        let mut child = program(&["call", "--jsonl"], &world.cards)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut input = child.stdin.take().expect("an input");
        let mut output = BufReader::new(child.stdout.take().expect("an output"));
        for number in 0..3 {
            let path = format!("n{number}");
            let request =
                json!({"tool": "workspace_write", "arguments": {"path": path, "content": "x"}});
            writeln!(input, "{request}").expect("written");
            let mut answer = String::new();
            output.read_line(&mut answer).expect("an answer");
            let answer: Value = serde_json::from_str(&answer).expect("JSON");
            assert_eq!(answer, json!({"ok": true, "content": [format!("Written: {path}")]}));
        }
        drop(input);
        assert!(child.wait().expect("it ends").success());
    }

    #[test]
    fn nobody_who_reads_the_answers_ends_it() {
        let world = world();
        let mut child = program(&["call", "--jsonl"], &world.cards)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        drop(child.stdout.take());
        let mut input = child.stdin.take().expect("an input");
        // The program goes while more is written, which is what this is about.
        let _gone = (0..100).any(|_| writeln!(input, r#"{{"tool": "workspace_list"}}"#).is_err());
        // Its input stays open: it is the output that ends it.
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            text(&output.stderr),
            "akgentic: nobody reads the answers: Broken pipe (os error 32)\n"
        );
        drop(input);
    }

    /// A command that runs, and all that was made for it, goes with the program.
    #[cfg(target_os = "linux")]
    #[test]
    fn serial_a_signal_ends_what_runs_in_order() {
        let world = world();
        let root = world.dir.path().join("notes");
        let card = json!([{"__model__": "akgentic.tool.workspace.WorkspaceTool", "root": root,
            "workspace_exec": {"mode": "local", "timeout_s": 120}}]);
        let cards = world.dir.path().join("exec.json");
        fs::write(&cards, card.to_string()).expect("written");
        let temporary = world.dir.path().join("tmp");
        fs::create_dir(&temporary).expect("made");
        for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
            let mut child = program(&["call", "--jsonl"], &cards)
                .env("TMPDIR", &temporary)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .expect("it runs");
            let mut input = child.stdin.take().expect("an input");
            let command = json!({"tool": "workspace_exec",
                "arguments": {"cmd": "bash -c 'echo $$ >pid.new; mv pid.new pid; sleep 100; true'"}});
            writeln!(input, "{command}").expect("written");
            let pid = root.join("pid");
            let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
            while !pid.exists() {
                if child.try_wait().expect("asked").is_some() {
                    let told = child.wait_with_output().expect("an output");
                    panic!("{}", text(&told.stderr));
                }
                assert!(std::time::Instant::now() < end, "the command did not start");
                std::thread::yield_now();
            }
            let running = fs::read_to_string(&pid).expect("a number");
            fs::remove_file(&pid).expect("removed");
            let told = Command::new("kill").args([signal, &child.id().to_string()]).status();
            assert!(told.expect("kill").success());
            let output = child.wait_with_output().expect("it ends");
            assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
            assert!(!Path::new("/proc").join(running.trim()).exists(), "the command is gone");
            assert_eq!(fs::read_dir(&temporary).expect("a folder").count(), 0, "nothing is left");
            drop(input);
        }
    }

    #[test]
    fn cards_that_do_not_load_are_named() {
        let world = world();
        for (cards, told) in [
            (json!([{"__model__": "akgentic.tool.planning.PlanningTool"}]), "akgentic-planning"),
            (json!([{"__model__": "subprocess.Popen", "args": ["true"]}]), "card 1"),
            (
                json!([{"__model__": "akgentic.tool.team.TeamTol"}]),
                "there are akgentic.tool.mailbox.mailbox.MailboxTool, ",
            ),
            (json!([{"workspace_id": "x"}]), "__model__"),
            (json!({"__model__": "x"}), "list of cards"),
        ] {
            let path = world.dir.path().join("bad.json");
            fs::write(&path, cards.to_string()).expect("written");
            let output = run(&["tools"], &path);
            assert_eq!(output.status.code(), Some(1));
            let error = text(&output.stderr);
            assert!(error.contains(told), "{told} is missing in {error}");
        }
    }
}
