//! Which repository is opened, how, and why not.
