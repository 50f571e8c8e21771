//! The program as a person or another program runs it.

#[cfg(test)]
mod akgentic {
    use std::fs;
    use std::io::Write as _;
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
    fn cards_that_do_not_load_are_named() {
        let world = world();
        for (cards, told) in [
            (json!([{"__model__": "akgentic.tool.planning.PlanningTool"}]), "akgentic-planning"),
            (json!([{"__model__": "subprocess.Popen", "args": ["true"]}]), "card 1"),
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
