//! Snapshots of the work tree, checked with git's own word for what the files are.

mod child;
mod ordinary;
mod shapes;
mod word;
