//! What a line of the person asks for.

use crate::team::MANAGER;

/// What the person may write for a command of the manager.
pub(crate) const ALIASES: [(&str, &str); 4] = [
    ("/team", "/team_members"),
    ("/roles", "/team_roles"),
    ("/hire", "/hire_member"),
    ("/fire", "/fire_member"),
];

/// What is wanted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Nothing,
    Help,
    Usage,
    Exit,
    /// This is all the program can say to it.
    Told(&'static str),
    /// The member of this name is to be told this.
    Say {
        to: String,
        content: String,
    },
}

/// What a line asks for: the program answers `/help`, `/usage` and `/exit`, `@Name text` goes to that
/// member and everything else to the manager, other `/` text too.
pub(crate) fn wanted(line: &str) -> Wanted {
    let line = line.trim();
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim_start();
    match first {
        "" => Wanted::Nothing,
        "/help" => Wanted::Help,
        "/usage" => Wanted::Usage,
        "/exit" => Wanted::Exit,
        "/planning" | "/task" => Wanted::Told(
            "There is no planning yet: the team keeps no tasks. /help tells what there is.",
        ),
        name if name.starts_with('@') && rest.is_empty() => {
            Wanted::Told("Write behind the name what the member is to be told.")
        }
        name if name.starts_with('@') => {
            Wanted::Say { to: name.to_owned(), content: rest.to_owned() }
        }
        _ => {
            let command = ALIASES.iter().find(|(alias, _)| *alias == first);
            let content = command.map_or_else(
                || line.to_owned(),
                |(_, command)| format!("{command} {rest}").trim_end().to_owned(),
            );
            Wanted::Say { to: MANAGER.to_owned(), content }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(to: &str, content: &str) -> Wanted {
        Wanted::Say { to: to.to_owned(), content: content.to_owned() }
    }

    #[test]
    fn names_commands_and_the_rest_are_told_apart() {
        let cases = [
            ("", Wanted::Nothing),
            (" \t", Wanted::Nothing),
            ("/help", Wanted::Help),
            (" /usage now", Wanted::Usage),
            ("/exit", Wanted::Exit),
            ("@Expert  look at a.txt ", say("@Expert", "look at a.txt")),
            ("@Nobody hi", say("@Nobody", "hi")),
            ("@Assistant /stop", say("@Assistant", "/stop")),
            ("what is @Expert doing?", say(MANAGER, "what is @Expert doing?")),
            ("/team", say(MANAGER, "/team_members")),
            ("/roles", say(MANAGER, "/team_roles")),
            ("/hire Expert @Ann", say(MANAGER, "/hire_member Expert @Ann")),
            ("/fire @Ann", say(MANAGER, "/fire_member @Ann")),
            ("/firewall", say(MANAGER, "/firewall")),
            ("/stop", say(MANAGER, "/stop")),
            ("//", say(MANAGER, "//")),
        ];
        for (line, expected) in cases {
            assert_eq!(wanted(line), expected, "{line:?}");
        }
        for line in ["/planning", "/task add tests", "@Expert", "@Expert  ", "@"] {
            assert!(matches!(wanted(line), Wanted::Told(_)), "{line:?}");
        }
    }
}
