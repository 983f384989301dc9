//! Snapshots of the working tree, checked with git's own word for what the files are.

mod child;
mod coarse;
mod flags;
mod foreign;
mod held_files;
mod hooks;
mod large;
mod memory;
mod moving;
mod ordinary;
mod random;
mod reference;
mod shapes;
mod unchanged;
mod untracked_cache;
mod watched;
