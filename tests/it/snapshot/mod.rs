//! Snapshots of the work tree, checked with git's own word for what the files are.

mod child;
mod held;
mod hooks;
mod known;
mod large;
mod memory;
mod moving;
mod ordinary;
mod random;
mod seen;
mod shapes;
mod word;
