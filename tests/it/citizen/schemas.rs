//! Every command, run with `--json`, prints what its published schema says, and every schema is printed by a command.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::process::Command;

use serde_json::Value;

use super::{commands, words};
use crate::support::{Output, PROGRAM, World, schema::faults};

/// Command lines in one repository, one after the other. A new command needs a line here; several show more members of
/// its schema. A line that begins with `$` is for the shell; `?` allows any exit code, otherwise it is 0. `{sleep}` is the
/// process of a `sleep 1`, `{token}` a secret of a known form.
const STORY: &str = "
status
? show
start auth --task 'move login' --agent opus
$ echo changed >README.md; echo new >new.txt; git add new.txt; mkfifo pipe
save -m 'parser done' --next 'refresh tests' -d 'keep v1' -b 'needs access' --todo 'docs' --name before-merge
save
save --dry-run --allow-empty
save -m 'with a key' --no-files --key k1
save -m 'with a key' --no-files --key k1
save -m 'a token {token}' --no-files
list
log
log -1
search 'parser done' --all
log -p
log -- README.md
log -p -- README.md
blame README.md
blame -L 1,1 auth README.md
why README.md:1
? bisect log
bisect start
? bisect skip
bisect log
? bisect good
? bisect bad
bisect reset
bisect run -- sh -c 'test ! -e new.txt'
? search nowhere
show
show auth@before-merge
diff
diff auth~1 auth
diff auth~1 auth --patch
$ echo more >>README.md; git mv src/main.txt src/renamed.txt
status
? status --exit-code
restore auth@before-merge --dry-run
restore auth@before-merge
undo
redo
$ echo other >>README.md
apply auth@before-merge --dry-run
? restore nowhere
? restore --continue
fork auth --name try --worktree ../try --dry-run
fork auth --name try --worktree ../try
fork auth --name try2
diff --range auth try
compare try try2
compare auth try
phase 1/5 first
save -m 'phase one'
switch auth
phase 2/5 second
merge try2 --dry-run
? merge try2
conflict list
conflict resolve 1 --theirs
switch try2
claim auth --for 1h
release auth
list --state blocked
switch auth --dry-run
switch auth
step start design --objective 'types first'
step done design --context 'a type' --created made.txt=it --check lint=pass
step start parser --uses design
step fail parser --error 'it loops'
replay --correction 'count the depth'
replay --format prompt
step retry parser --correction 'count the depth'
step invalidate design --reason 'no type after all'
? step run --title build -- false
? step run -- sh -c 'echo made >made.txt'
step list
step show build
replay
replay --run --dry-run
? replay --run
export --format json
export --format handoff
export --format handoff --into HANDOFF.md
export --format markdown -o session.md
export --format folder -o session-folder --dry-run
export --format folder -o session-folder
rename try2 tried --dry-run
rename try2 tried
pin auth@before-merge --dry-run
pin auth@before-merge
unpin auth@before-merge --dry-run
unpin auth@before-merge
verify --all
repair
delete tried --dry-run
delete tried
pause --next 'go on'
save --amend -m 'amended' --dry-run
save --amend -m 'amended'
$ git commit -qam 'went on'; git switch -qc side
resume
resume --list
resume --format prompt
resume auth@before-merge
? resume --fail-on-drift
finish -m 'merged'
? finish --status failed -m again
$ git config checkpoint.maxfilesiz 3
status
start record --task 'port the parser' --dry-run
start record --task 'port the parser'
task add 'read the grammar' --agent claude --issue 7
task add 'write it'
task start 1
task edit 2 --notes 'after the grammar'
task done 1
task block 2
task reopen 2
task drop 2
task list
task remove 2
todo add 'docs'
todo done 1
todo reopen 1
todo list
todo remove 1
decision add 'keep v1' --reason 'callers'
decision list
decision remove 1
blocker add 'no access' --needs 'a token'
blocker list
blocker clear 1
question add 'which port?'
question answer 1 8080
question reopen 1
question list
question remove 1
approval ask 'deploy?' --provider slack --channel ops
approval answer 1 approve --by ana
approval reopen 1
approval list
approval remove 1
phase 2/5 'port the queries'
phase
delegation add claude --issue 7 --tokens 1200
delegation edit 1 --status done
delegation list
delegation remove 1
partition set claude src/a
partition set codex src/a
partition list
partition clear codex
instruction add 'run the tests first'
instruction list
instruction remove 1
memory add notes.md
memory list
memory remove 1
open-file README.md:3
open-file
note 'switched to staging'
log --notes
state set '{\"queue\": [\"a\"]}'
state patch '{\"turn\": 3}'
state get /turn
? state get /nowhere
state get
check tests fail --text '3 failed'
check list
check remove 1
check
iteration next
iteration
fork-point add 'Which parser?' --option nom:combinators --option winnow:successor
fork-point list
? fork-point explore 1 --dry-run
fork --list
? fork --remove try
save -m 'with files'
export --commit exported
fork-point decide 1 nom --reason fast
fork-point reopen 1
fork-point remove 1
agent note 'read it' --agent claude
agent list
agent remove 1
open-file --close README.md
status
$ git config checkpoint.saveOn task-complete
task add 'port it'
task done 2
$ git config --unset checkpoint.saveOn
$ printf '[{\"role\":\"user\",\"content\":\"a\"}]' >../old.json; echo '{' >../broken.json
import ../old.json --dry-run
import ../old.json
import ../old.json
? import ../broken.json
? import --all --dry-run
start talk
$ printf '{\"role\":\"user\",\"content\":\"a\",\"x\":1}\\n{\"role\":\"tool\",\"content\":\"\\\\ud800\"}\\nnot json' >chat.jsonl; echo context >context.md
message add --role user hello
message add --role assistant --meta '{\"model\":\"m\"}' 'a token {token}'
message import chat.jsonl
message list
message show 1
tokens
tokens context.md --model claude-opus-4-6
context set context.md
context show
agent describe context.md
request hello --preview
request hello
compact
compact --dry-run --force
compact --force
message list --full
status
clear --messages --dry-run
clear --messages --yes
clear --messages --yes
watch --once
hooks install --dry-run
hooks install
? hooks status
hooks uninstall
prune --keep-last 1 --dry-run
setup --dry-run
start steps --task 'port the parser'
$ echo 'write it' >../prompt; echo out >../output
step start 'write the parser' --prompt ../prompt --objective 'a parser' --issue 7
step list
? step done 1 --context 'it parses' --output 'done'
? step retry 1
? step fail 1 --error 'it does not compile' --output 'error[E0308]'
? step invalidate 1 --reason 'wrong file'
step run --title lint -- true
? step run --title tests -- false
step list
? step show 1 --all
save -m 'steps'
? replay
? replay --step 1
? replay --run --dry-run
? replay --run
watch --once
$ echo more >>README.md
watch --once
watch --interval 1s --until-exit {sleep}
status
resume
export --format json auth
export --format handoff auth -o ../handoff.md
bundle ../auth.bundle auth
unbundle ../auth.bundle
purge --dry-run -- new.txt
purge --yes -- new.txt
enable claude-code codex --dry-run
enable claude-code pi --mcp --dry-run
disable --mcp --dry-run
enable claude-code codex
? agents
? agents doctor claude-code
$ printf '{\"type\":\"user\",\"uuid\":\"u1\",\"sessionId\":\"s1\",\"promptId\":\"p1\",\"cwd\":\"%s\",\"timestamp\":\"2026-11-28T10:00:00Z\",\"message\":{\"role\":\"user\",\"content\":\"port it\"}}\\n' \"$PWD\" >../s1.jsonl
$ printf '{\"session_id\":\"s1\",\"cwd\":\"%s\",\"prompt\":\"port it\",\"prompt_id\":\"p1\",\"transcript_path\":\"%s/../s1.jsonl\"}' \"$PWD\" \"$PWD\" >../event.json
$ export CHECKPOINT_AGENT_HOOK=worker; git checkpoint hook claude-code UserPromptSubmit <../event.json; echo ported >ported; git checkpoint hook claude-code Stop <../event.json
turns
resume --agent
rewind --dry-run
rewind
disable --all
hooks install
hooks status
hooks uninstall
prune --dry-run
prune --keep-last 1 --force
undo
$ git init -q --bare ../origin.git; git remote add origin ../origin.git
push origin --dry-run --all
push origin --all
$ git config checkpoint.autoPush origin
push --queued
$ git config --unset checkpoint.autoPush
remote status
fetch origin --dry-run
fetch origin
list --remote
pull origin steps --dry-run
pull origin steps
$ git clone -q ../origin.git ../clone 2>/dev/null; git -C ../clone checkpoint fetch -q origin; git -C ../clone checkpoint pull -q origin steps
$ git -C ../clone checkpoint save -q -m 'there' --no-files --session steps; git -C ../clone checkpoint push -q origin steps
switch steps
save -m 'here' --no-files
? push origin steps
fetch origin
remote status
remote prune --dry-run
pull origin steps
delete --remote origin talk --dry-run
remote delete talk --dry-run
delete --remote origin talk
status --prompt
start gone
delete gone
list --trash
list --autosaves
list --all-repos --size
search 'parser done' --all-repos
stats
stats --by day
undelete gone --dry-run
$ ssh-keygen -q -t ed25519 -N '' -f ../reader; git config checkpoint.encryptTo \"$(cat ../reader.pub)\"
$ git config checkpoint.identity \"$PWD/../reader\"
rekey steps --dry-run
$ git config --unset checkpoint.encryptTo
undelete gone
help
help save
help exit-codes
help schemas
$ echo '{\"id\": 1, \"args\": [\"list\"]}' >../requests.jsonl
batch ../requests.jsonl
mcp
serve --until-exit {sleep}
? ui
$ test -n \"$(git rev-parse refs/checkpoints/auth)\" && echo 0123456789012345678901234567890123456789 >.git/refs/checkpoints/broken
list
? verify broken
? show broken
? repair broken --dry-run
";

/// Runs the story with further arguments and variables, and gives each line with what came of it, as long as it is asked
/// to go on.
pub fn story(
    world: &World,
    more: &[&str],
    variables: &[(&str, &str)],
    mut each: impl FnMut(&str, &Output) -> ControlFlow<()>,
) {
    for line in STORY.lines().filter(|line| !line.is_empty()) {
        if let Some(script) = line.strip_prefix("$ ") {
            world.command("sh", ["-e", "-c", script]).run().success();
            continue;
        }
        let (any, line) = line.strip_prefix("? ").map_or((false, line), |line| (true, line));
        let sleep = line
            .contains("{sleep}")
            .then(|| Command::new("sleep").arg("1").spawn().unwrap());
        // Spelled in two parts: no file of this project holds anything of such a form.
        let token = ["ghp", "0123456789abcdefghijklmnopqrstuvwxyz"].join("_");
        let pid = sleep.as_ref().map(|sleep| sleep.id().to_string()).unwrap_or_default();
        let mut args = words(&line.replace("{sleep}", &pid).replace("{token}", &token));
        // What follows two dashes is not ours.
        let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
        args.splice(end..end, more.iter().map(|arg| (*arg).to_owned()));
        let mut run = world.command(PROGRAM, args);
        for (name, value) in variables {
            run = run.env(name, value);
        }
        let out = run.run();
        if let Some(mut sleep) = sleep {
            sleep.wait().unwrap();
        }
        if !any {
            out.success();
        }
        if each(line, &out).is_break() {
            return;
        }
    }
}

/// The schema of this name, as the program publishes it.
fn schema(world: &World, name: &str) -> Option<Value> {
    let out = world.checkpoint(["help", "schemas", name]);
    out.is_success().then(|| out.stdout_json())
}

/// The name of the thing in `git-checkpoint.<thing>/1`.
fn thing(value: &Value) -> Option<&str> {
    value["schema"]
        .as_str()?
        .strip_prefix("git-checkpoint.")?
        .strip_suffix("/1")
}

#[test]
fn every_command_prints_what_is_published() {
    let world = World::with_commit();
    let all = commands(&world);
    let (mut run, mut printed, mut bad) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    let mut schemas = BTreeMap::new();
    let mut hold = |line: &str, name: &str, value: &Value| match schemas
        .entry(name.to_owned())
        .or_insert_with_key(|name| schema(&world, name))
    {
        None => bad.push(format!("{line}: no schema '{name}' in src/render/schemas")),
        Some(schema) => {
            printed.insert(name.to_owned());
            bad.extend(
                faults(schema, value)
                    .into_iter()
                    .map(|fault| format!("{line}: {name}{fault}")),
            );
        }
    };
    story(&world, &["--json"], &[], |line, out| {
        let name = all
            .iter()
            .filter(|name| line == **name || line.starts_with(&format!("{name} ")));
        run.extend(name.max_by_key(|name| name.len()).cloned());
        if !out.stdout().is_empty() {
            let value = out.stdout_json();
            match thing(&value) {
                Some(name) => hold(line, name, &value),
                None => panic!("'{line}' prints no member 'schema': {value}"),
            }
            if !value["document"].is_null() {
                hold(line, "document", &value["document"]);
            }
        }
        for message in out.stderr().lines() {
            let value: Value = serde_json::from_str(message).unwrap_or_else(|e| panic!("{line}: {message}: {e}"));
            let name = if value["error"].is_null() { "warning" } else { "error" };
            hold(line, name, &value);
        }
        ControlFlow::Continue(())
    });
    let missing: Vec<_> = all.iter().filter(|name| !run.contains(*name)).collect();
    assert!(missing.is_empty(), "no line of STORY runs: {missing:?}");
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    let published = world.checkpoint(["help", "schemas"]).success().stdout().to_owned();
    let published = published.lines().filter_map(|line| line.strip_prefix("  "));
    let published: BTreeSet<_> = published
        .filter(|name| !name.starts_with(' '))
        .map(str::to_owned)
        .collect();
    assert_eq!(published, printed, "published, and printed by a line of STORY");
}

#[test]
fn wrong_usage_of_every_command_is_told_as_json() {
    let world = World::new();
    let schema = schema(&world, "error").unwrap();
    for command in commands(&world) {
        let mut args = words(&command);
        args.extend(["--no-such-option".to_owned(), "--json".to_owned()]);
        let out = world.checkpoint(&args);
        let error = out.code(129).no_stdout().stderr_json();
        assert_eq!(faults(&schema, &error), Vec::<String>::new(), "{command}");
    }
}

#[test]
fn schemas_are_schemas() {
    let world = World::new();
    let json = world.checkpoint(["help", "schemas", "--json"]).success().stdout_json();
    assert!(json["text"].as_str().unwrap().contains("receipt"), "{json}");
    assert_eq!(
        schema(&world, "receipt").unwrap()["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    world
        .checkpoint(["help", "schemas", "nothing"])
        .code(3)
        .no_stdout()
        .stderr_has("no schema 'nothing'\nhint: ");
}
