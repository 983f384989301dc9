//! From the words of the command line to the command they mean.

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Subcommand};

use super::{Cli, Command, environment::Environment, program};

/// Understands the arguments.
///
/// To define sixty commands takes a millisecond and a half and a megabyte, and one of them is meant. So a definition that
/// has only those whose names stand among the arguments is asked first. What it takes, the whole one takes in the same
/// way, since the parser compares arguments with names and does nothing else with the commands there are. Whatever it
/// does not take (a mistake, an alias, a wish for help) is for the whole one to judge.
pub(super) fn parse(env: &Environment, args: &[OsString]) -> Result<Cli, clap::Error> {
    let mut few = few(args);
    let quick = few.try_get_matches_from_mut(args);
    // To take it apart again is for nothing.
    std::mem::forget(few);
    if let Ok(cli) = quick.and_then(|found| understood(&found)) {
        return Ok(cli);
    }
    program(env)
        .try_get_matches_from(args)
        .and_then(|found| understood(&found))
}

fn understood(found: &clap::ArgMatches) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(found)
}

/// The program as if it had only the commands whose names stand among the arguments.
fn few(args: &[OsString]) -> clap::Command {
    let mut named: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    named.sort_unstable();
    named.dedup();
    let definitions = named.into_iter().filter_map(Command::definition);
    Cli::<NoCommand>::command().subcommands(definitions)
}

/// No command at all.
#[derive(Debug)]
enum NoCommand {}

impl clap::FromArgMatches for NoCommand {
    fn from_arg_matches(_: &clap::ArgMatches) -> Result<Self, clap::Error> {
        Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand))
    }

    fn update_from_arg_matches(&mut self, _: &clap::ArgMatches) -> Result<(), clap::Error> {
        match *self {}
    }
}

impl Subcommand for NoCommand {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        command
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        command
    }

    fn has_subcommand(_: &str) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        let words = std::iter::once("git-checkpoint").chain(line.split_whitespace());
        words.map(OsString::from).collect()
    }

    /// What the definition of the whole program takes a line for.
    fn whole(line: &str) -> Result<String, String> {
        let found = program(&Environment::unknown()).try_get_matches_from(words(line));
        let found = found.and_then(|found| understood(&found));
        found.map(|cli| format!("{cli:?}")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_command_alone_is_defined_as_among_the_others() {
        let program = program(&Environment::unknown());
        let mut count = 0;
        for command in program.get_subcommands() {
            let name = command.get_name();
            // Its place in the list is for the help, which is the whole program's.
            let alone = Command::definition(name).expect(name);
            let alone = alone.display_order(command.get_display_order());
            assert!(format!("{alone:?}") == format!("{command:?}"), "{name}");
            count += 1;
        }
        assert!(count >= 60, "{count}");
        assert!(Command::definition("ls").is_none() && Command::definition("").is_none());
    }

    #[test]
    fn lines_mean_the_same_whatever_commands_are_defined() {
        let lines = [
            "",
            "--json",
            "-v --no-pager status",
            "task add save",
            "task add --json save --issue log",
            "task save",
            "task save add",
            "ls",
            "ls -a",
            "list list",
            "--color=never list --remote",
            "list --remotes --all",
            "save -m status --name start",
            "save --mess x",
            "save --nonsense",
            "save -m",
            "sav",
            "nonsense save",
            "save nonsense",
            "-- save",
            "log -- save",
            "log -n 3 save --onel",
            "log --format x --graph",
            "step run -- save list",
            "help save",
            "help save list",
            "--help",
            "-h save",
            "save -h",
            "save --help",
            "task add --help",
            "--version",
            "message add --role user task",
            "fork @ --name list --name log",
            "compare save log",
            "--json --json list",
            "--color list",
            "setup completion --candidates 2 -- git-checkpoint save list",
        ];
        for line in lines {
            let found = parse(&Environment::unknown(), &words(line));
            let found = found.map(|cli| format!("{cli:?}")).map_err(|error| error.to_string());
            assert_eq!(found, whole(line), "{line}");
            let quick = few(&words(line)).try_get_matches_from(words(line));
            if quick.and_then(|found| understood(&found)).is_ok() {
                assert!(whole(line).is_ok(), "{line}");
            }
        }
        let quick = |line: &str| few(&words(line)).try_get_matches_from(words(line)).is_ok();
        assert!(quick("task add save") && quick("") && !quick("ls") && !quick("save -h"));
        assert_eq!(few(&words("task add --issue log x")).get_subcommands().count(), 2);
    }
}
