//! From the words of the command line to the command they mean.

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Subcommand};

use super::{Cli, Command, GlobalArgs, environment::Environment, program};

/// Understands the arguments.
///
/// To define sixty commands takes a millisecond and a half and a megabyte, and one of them is meant. So a definition
/// that has only those whose names are among the arguments is asked first, without the options of every command where
/// no argument could mean one. What it takes, the whole one takes in the same way, since the parser compares arguments
/// with names and does nothing else with the commands and options there are. Whatever it does not take (a mistake, an
/// alias, a wish for help) is for the whole one to judge.
///
/// Where the process ends with the command, `is_last`, the definitions are left to the system.
pub(super) fn parse(env: &Environment, args: &[OsString], is_last: bool) -> Result<Cli, clap::Error> {
    match quick(args, is_last) {
        Ok(cli) => Ok(cli),
        Err(_) => understood(&matches(program(env), Vec::new(), args, is_last)?),
    }
}

fn understood(found: &clap::ArgMatches) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(found)
}

/// The program with the inherited facts in the command of this name, which it has alone; in all commands where there is none.
/// To build one takes a twentieth of the time of all.
pub(super) fn built(program: &clap::Command, name: Option<&str>) -> clap::Command {
    let mut built = match name.and_then(|name| program.find_subcommand(name)) {
        Some(named) => Cli::<NoCommand>::command().subcommand(named.clone()),
        None => program.clone(),
    };
    built.build();
    built
}

/// Understands the arguments by the few definitions that they name.
fn quick(args: &[OsString], is_last: bool) -> Result<Cli, clap::Error> {
    let named = definitions(args);
    if args.iter().skip(1).any(is_for_all) {
        return understood(&matches(Cli::<NoCommand>::command(), named, args, is_last)?);
    }
    let bare = matches(BareValueParser::<NoCommand>::command(), named, args, is_last)?;
    Ok(Cli {
        globals: GlobalArgs::default(),
        command: BareValueParser::<Command>::from_arg_matches(&bare)?.command,
    })
}

fn matches(
    program: clap::Command,
    named: Vec<clap::Command>,
    args: &[OsString],
    is_last: bool,
) -> Result<clap::ArgMatches, clap::Error> {
    let mut program = program.subcommands(named);
    let found = program.try_get_matches_from_mut(args);
    if is_last {
        // To take it apart again is for nothing.
        std::mem::forget(program);
    }
    found
}

/// The commands whose names are among the arguments.
fn definitions(args: &[OsString]) -> Vec<clap::Command> {
    let mut named: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    named.sort_unstable();
    named.dedup();
    named.into_iter().filter_map(Command::definition).collect()
}

/// Names of the options of every command.
const FOR_ALL: [&str; 9] = [
    "json",
    "color",
    "no-pager",
    "verbose",
    "quiet",
    "progress",
    "no-progress",
    "advice",
    "no-advice",
];

/// Whether an argument could mean an option of every command, wherever it is written: by a part of its name, or by a
/// letter among others.
fn is_for_all(arg: &OsString) -> bool {
    let arg = arg.as_encoded_bytes();
    if let Some(long) = arg.strip_prefix(b"--") {
        let name = long.split(|byte| *byte == b'=').next().unwrap_or_default();
        return !name.is_empty() && FOR_ALL.iter().any(|option| option.as_bytes().starts_with(name));
    }
    arg.starts_with(b"-") && arg.iter().any(|letter| matches!(letter, b'v' | b'q'))
}

/// The program without the options of every command.
#[derive(Debug, clap::Parser)]
#[command(
    name = "git-checkpoint",
    bin_name = "git checkpoint",
    version,
    infer_long_args = true,
    disable_help_subcommand = true
)]
struct BareValueParser<C: Subcommand> {
    #[command(subcommand)]
    command: Option<C>,
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

    /// Completes a line with the definition of the whole program.
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
    fn one_command_is_built_as_among_all() {
        let program = program(&Environment::unknown());
        let mut whole = program.clone();
        whole.build();
        let mut count = 0;
        for command in whole.get_subcommands() {
            let alone = built(&program, Some(command.get_name()));
            let below = command
                .get_subcommands()
                .map(|below| (vec![command.get_name(), below.get_name()], below));
            for (names, wanted) in below.chain([(vec![command.get_name()], command)]) {
                let found = names.iter().try_fold(&alone, |at, name| at.find_subcommand(name));
                let found = found.unwrap_or_else(|| panic!("{names:?}"));
                let page = |command: &clap::Command| command.clone().render_long_help().to_string();
                assert_eq!(page(found), page(wanted), "{names:?}");
                let usage = |command: &clap::Command| command.clone().render_usage().to_string();
                assert_eq!(usage(found), usage(wanted), "{names:?}");
                count += 1;
            }
        }
        assert!(count > 100, "{count}");
        // What names no command has them all.
        for name in [None, Some("nosuch")] {
            assert_eq!(
                built(&program, name).get_subcommands().count(),
                whole.get_subcommands().count()
            );
        }
    }

    #[test]
    fn options_of_every_command_are_known() {
        let mut names: Vec<String> = FOR_ALL.map(str::to_owned).into();
        names.sort_unstable();
        let program = Cli::<NoCommand>::command();
        let options: Vec<_> = program.get_arguments().filter(|arg| arg.is_global_set()).collect();
        let mut letters: Vec<char> = options.iter().filter_map(|arg| arg.get_short()).collect();
        letters.sort_unstable();
        assert_eq!(letters, ['q', 'v']);
        let aliases = options.iter().flat_map(|arg| arg.get_all_aliases().unwrap_or_default());
        let longs = options.iter().filter_map(|arg| arg.get_long()).chain(aliases);
        let mut longs: Vec<String> = longs.map(str::to_owned).collect();
        longs.sort_unstable();
        assert_eq!(longs, names);
        assert!(
            program.get_arguments().all(clap::Arg::is_global_set),
            "any other option"
        );
        for (arg, wanted) in [
            ("--json", true),
            ("--json=lines", true),
            ("--j", true),
            ("--no", true),
            ("--jsonx", false),
            ("--number", false),
            ("-n", false),
            ("-nv", true),
            ("-", false),
            ("--", false),
            ("v", false),
        ] {
            assert_eq!(is_for_all(&arg.into()), wanted, "{arg}");
        }
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
            "list --js",
            "list --no",
            "list --no-a",
            "list --col=never",
            "save --p",
            "save --q",
            "save -qm x",
            "save -mq",
            "save -m -q",
            "log -vn 3",
            "log -n3",
            "log --since -v",
            "note -- --json",
            "note -v",
            "step run -- ls -v --json",
            "step run x -v",
            "--color list",
            "setup completion --candidates 2 -- git-checkpoint save list",
        ];
        for line in lines {
            let found = parse(&Environment::unknown(), &words(line), false);
            let found = found.map(|cli| format!("{cli:?}")).map_err(|error| error.to_string());
            assert_eq!(found, whole(line), "{line}");
            if quick(&words(line), false).is_ok() {
                assert!(whole(line).is_ok(), "{line}");
            }
        }
        let is_quick = |line: &str| quick(&words(line), false).is_ok();
        assert!(is_quick("task add save") && is_quick("") && is_quick("-v list") && is_quick("log -n 3"));
        assert!(!is_quick("ls") && !is_quick("save -h"));
        assert_eq!(definitions(&words("task add --issue log x")).len(), 2);
    }
}
