//! Stories: what a user does with the program, told command by command and checked with git.

mod bad_input;
mod broken;
mod damage;
mod documents;
mod feature;
mod fork;
mod history;
mod interrupted;
mod many;
mod neutral;
mod property;
mod purge;
mod restore;
mod save;
mod session;
mod steps;
