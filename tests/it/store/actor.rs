//! The test binary as a process that saves, to be raced, killed and starved by other tests.
//!
//! Started by them with `CHECKPOINT_ACTOR` set; an ignored test otherwise, which does nothing.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use git_checkpoint::store::objects::{self, Writer};
use git_checkpoint::store::refs::{self, ExpectedValue};
use git_checkpoint::store::{Error, OpenEnvironment, Repository, git};

use super::{WAIT, edit, now, save, write_commit};
use crate::support::{World, own_program};

/// A process at work.
pub struct Started(Child);

/// Starts a process that does `task` in the world's repository: see [`perform`].
pub fn start(world: &World, task: &str) -> Started {
    start_under(world, &[], task)
}

/// The same under another program, such as strace with its options.
pub fn start_under(world: &World, program: &[&str], task: &str) -> Started {
    let words = [
        own_program(),
        "--ignored",
        "--exact",
        "store::actor::actor",
        "--nocapture",
        "--test-threads=1",
    ];
    let words: Vec<_> = program.iter().copied().chain(words).collect();
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .current_dir(world.repo())
        .env_clear()
        .envs(world.environment());
    command
        .env("CHECKPOINT_ACTOR", task)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Started(command.spawn().unwrap())
}

impl Started {
    /// Its output when it was done; `Err` with all its output if it failed or was killed.
    pub fn finish(self) -> Result<String, String> {
        let output = self.0.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let done = said.split_once("done ").and_then(|(_, rest)| rest.lines().next());
        match done {
            Some(done) if output.status.success() => Ok(done.to_owned()),
            _ => Err(format!(
                "{}\n{said}\n{}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            )),
        }
    }
}

#[test]
#[ignore = "a process that other tests start"]
fn actor() {
    let Some(task) = std::env::var_os("CHECKPOINT_ACTOR") else {
        return;
    };
    let environment = OpenEnvironment {
        cwd: std::env::current_dir().unwrap(),
        // A child's environment may be made to mislead it; the repository is the one here even so.
        vars: if task == "child" {
            [].into()
        } else {
            std::env::vars_os().collect()
        },
        ..Default::default()
    };
    let words: Vec<_> = task.to_str().unwrap().split(' ').collect();
    let done = git_checkpoint::store::open(&environment).and_then(|repo| perform(&repo, &words));
    match done {
        // Straight to the descriptor: the harness has the standard streams.
        Ok(said) => writeln!(std::io::stdout(), "done {said}").unwrap(),
        Err(error) => {
            writeln!(std::io::stdout(), "failed {error}").unwrap();
            panic!("{error}");
        }
    }
}

/// `save SESSION COUNT TAG`, `times` (the same, giving milliseconds), `rename FROM TO`, `delete SESSION`, `large MIB`, `read SESSION`, `child`, `who`.
fn perform(repo: &Repository, words: &[&str]) -> Result<String, Error> {
    let who = git_checkpoint::store::who(repo, now(0));
    match words {
        ["save", session, count, tag] => {
            let mut last = String::new();
            for round in 0..count.parse::<usize>().unwrap() {
                last = save(repo, session, format!("{tag} {round}").as_bytes())?.to_string();
            }
            Ok(last)
        }
        ["times", session, count, tag] => {
            let mut times = Vec::new();
            for round in 0..count.parse::<usize>().unwrap() {
                let started = std::time::Instant::now();
                // As a command does it: nobody else works on the session meanwhile.
                let held = git_checkpoint::store::lock::session(repo, session, WAIT)?;
                save(repo, session, format!("{tag} {round}").as_bytes())?;
                times.push(format!("{:.1}", started.elapsed().as_secs_f64() * 1000.0));
                drop(held);
                // A command of its own would have to start first.
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            Ok(times.join(" "))
        }
        ["rename", from, to] => {
            let (from, to) = (format!("refs/checkpoints/{from}"), format!("refs/checkpoints/{to}"));
            refs::recover(repo, WAIT)?;
            let Some(id) = refs::read(repo, &from)? else {
                return Ok("nothing".to_owned());
            };
            let edits = [
                edit(&from, ExpectedValue::Is(id), None),
                edit(&to, ExpectedValue::Absent, Some(id)),
            ];
            refs::update(repo, &edits, &who, WAIT)?;
            Ok(id.to_string())
        }
        ["delete", session] => {
            let name = format!("refs/checkpoints/{session}");
            refs::update(repo, &[edit(&name, ExpectedValue::Any, None)], &who, WAIT)?;
            Ok(String::new())
        }
        ["large", mib] => {
            let mib: u64 = mib.parse().unwrap();
            objects::sweep(repo)?;
            let writer = Writer::durable(repo)?;
            let noise = Noise(mib);
            let blob = writer.write_stream(
                git_checkpoint::store::Kind::Blob,
                mib << 20,
                &mut std::io::Read::take(noise, mib << 20),
            );
            let blob = blob.map_err(|error| match error {
                objects::StreamError::Store(error) => error,
                other => panic!("{other}"),
            })?;
            let id = write_commit(&writer, blob.to_string().as_bytes(), None)?;
            let sealed = writer.finish()?;
            refs::update(
                repo,
                &[edit("refs/checkpoints/large", ExpectedValue::Any, Some(id))],
                &who,
                WAIT,
            )?;
            drop(sealed.release());
            Ok(id.to_string())
        }
        ["read", session] => {
            let id = refs::read(repo, &format!("refs/checkpoints/{session}"))?;
            Ok(id.map_or_else(|| "nothing".to_owned(), |id| id.to_string()))
        }
        ["child"] => {
            // The variables that would mislead are in this process's environment, not in the environment it opened with.
            let dir = git(repo).args(["rev-parse", "--absolute-git-dir"]).text()?;
            let setting = git(repo).args(["config", "x.y"]).accept([1]).text()?;
            Ok(format!("{dir} {setting}"))
        }
        ["who"] => Ok(format!("{} <{}>", who.name, who.email)),
        _ => panic!("{words:?}"),
    }
}

/// Bytes that do not compress, the same each time.
pub struct Noise(pub u64);

impl std::io::Read for Noise {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        for chunk in buffer.chunks_mut(8) {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            chunk.copy_from_slice(&self.0.to_le_bytes()[..chunk.len()]);
        }
        Ok(buffer.len())
    }
}
