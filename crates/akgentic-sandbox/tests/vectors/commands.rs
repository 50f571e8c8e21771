//! Topics `allowlist` and `argv`.

use std::time::Duration;

use akgentic_sandbox::{
    AllowedCommand, CommandError, CommandPolicy, FolderError, Limit, Limits, RelFolder, Run,
    bwrap_command_line, split,
};
use akgentic_testkit::{Case, known_keys, same};
use serde_json::json;

pub(crate) fn allowlist(case: &Case) -> Result<(), String> {
    known_keys("input", &case.input, &["cmd"])?;
    let line = case.input["cmd"].as_str().expect("a command");
    let posix = &case.expect["posix"];
    let operators = posix["operators"].as_array().expect("operators");
    if posix["error"]
        .as_str()
        .is_none_or(|error| !error.starts_with("un") && !error.starts_with("tr"))
    {
        let found = split(line).map_err(|error| error.to_string())?;
        same("operators", &json!(found.operator_set()), &posix["operators"])?;
        if let Some(argv) = posix.get("argv") {
            same("words", &json!(found.words), argv)?;
        }
    }
    let checked = CommandPolicy::default().check(line);
    let wanted = match posix["error"].as_str() {
        _ if !operators.is_empty() => Some("shell_operator"),
        error => error,
    };
    match (checked, wanted) {
        (Ok(command), None) => same("argv", &json!(command.argv()), &posix["argv"]),
        (Ok(command), Some(wanted)) => Err(format!("{wanted} expected, got {command:?}")),
        (Err(error), wanted) => {
            same("error", &Some(error.code()), &wanted)?;
            match error {
                CommandError::NotAllowed { program, .. } => {
                    same("program", &json!(program), &posix["argv"][0])
                }
                _ => Ok(()),
            }
        }
    }
}

pub(crate) fn argv(case: &Case) -> Result<(), String> {
    let Case { input, expect, .. } = case;
    if input["fn"] == "limits" {
        return limits(case);
    }
    known_keys("input", input, &["mode", "workspace", "container", "cmd", "cwd", "timeout"])?;
    let mode = input["mode"].as_str().expect("mode");
    let workspace = input["workspace"].as_str().expect("workspace");
    let inside = match mode {
        "bwrap" | "docker" => "/workspace",
        "local" | "seatbelt" => workspace,
        other => return Err(format!("unknown mode {other}")),
    };
    let folder = match RelFolder::parse(input["cwd"].as_str().expect("cwd"), Some(inside)) {
        Ok(folder) => folder,
        Err(FolderError::Escapes(_)) => {
            return same("error", &json!("cwd_escapes_workspace"), &expect["error"]);
        }
        Err(error) => return Err(error.to_string()),
    };
    if let Some(error) = expect.get("error") {
        return Err(format!("{error} expected"));
    }
    let command = CommandPolicy::default().check(input["cmd"].as_str().expect("cmd"));
    let command: AllowedCommand = command.map_err(|error| error.to_string())?;
    let mut run = Run::new(command);
    if let Some(seconds) = input["timeout"].as_f64() {
        run = run.within_seconds(seconds).map_err(|error| error.to_string())?;
    }
    let timeout = expect["timeout"].as_f64().expect("timeout");
    same("timeout", &run.timeout, &Duration::from_secs_f64(timeout))?;
    let wanted: Vec<&str> = expect["argv"]
        .as_array()
        .expect("argv")
        .iter()
        .map(|word| word.as_str().expect("word"))
        .collect();
    let words = run.command.argv();
    let tail = wanted.len() - words.len();
    same(
        "command words",
        &words,
        &wanted[tail..].iter().map(ToString::to_string).collect::<Vec<_>>().as_slice(),
    )?;
    let wanted_folder = match mode {
        "bwrap" => wanted[tail - 1],
        "docker" => wanted[wanted.iter().position(|word| *word == "-w").expect("-w") + 1],
        _ => expect["cwd"].as_str().expect("cwd"),
    };
    same("folder", &folder.below(inside), &plain(wanted_folder))?;
    if mode == "bwrap" {
        let (argv, chdir, env) = bwrap_command_line(folder.as_str(), words);
        same("words inside", &argv.as_slice(), &words)?;
        same("folder inside", &chdir, &plain(wanted_folder))?;
        let path = env.iter().find(|(name, _)| *name == "PATH").expect("a path").1;
        same("path", &json!(path), &expect["env"]["PATH"])?;
    }
    Ok(())
}

/// The same folder without empty parts and dots.
fn plain(path: &str) -> String {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    parts.fold(String::new(), |path, part| format!("{path}/{part}"))
}

/// The limits that the vectors know, as they are set; the one on address space may be absent.
fn limits(case: &Case) -> Result<(), String> {
    let ours = Limits::default().inherited(true);
    for wanted in case.expect.as_array().expect("limits") {
        let value = || wanted[1][0].as_u64().expect("a limit");
        let found = match wanted[0].as_str().expect("a name") {
            "cpu_s" => ours.contains(&Limit::Cpu(value())),
            "file_size_bytes" => ours.contains(&Limit::FileSize(value())),
            "address_space_bytes" | "new_process_group" => true,
            other => return Err(format!("unknown limit {other}")),
        };
        if !found {
            return Err(format!("{wanted} is not among {ours:?}"));
        }
    }
    known_keys("input", &case.input, &["fn", "platform"])
}
