//! Finding things: `search`, the history of a file, `blame`, `bisect`, all repositories, `stats`.

mod bisect;
mod blame;
mod elsewhere;
mod figures;
mod files;
mod merged;
mod search;
