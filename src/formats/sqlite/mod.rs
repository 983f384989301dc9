//! The tables of an SQLite database that another program may have open, read by SQLite itself from a copy in memory.
//!
//! The copy takes the committed pages of the write-ahead log, so nothing is locked, written or waited for where the other
//! program works. A database comes from anywhere, so nothing of it runs: views, triggers, virtual tables and indexes are
//! left alone, and computed columns are not computed. What is read has limits by the size of the file.

mod table;
#[cfg(test)]
mod tests;
mod wal;

use std::{cell::Cell, collections::BTreeMap};

use rusqlite::{Connection, config::DbConfig, limits::Limit, types::ValueRef};

pub use table::TableRows;

/// The first bytes of every database.
pub const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Bytes of the header, which begins the first page.
const HEADER: usize = 100;

/// Bytes of rows that a database of any size may have: default values are not in its pages.
const LEAST_BUDGET: usize = 1 << 20;

/// The longest value, of which SQLite makes UTF-8 of up to twice the size: that must not be more than it allocates.
const LONGEST: usize = 512 << 20;

/// Steps of SQLite between two calls that count them.
const STEPS: i32 = 1000;

/// Such calls for a database of any size, and the bytes of the file that allow one more.
const LEAST_CALLS: usize = 100_000;
const BYTES_A_CALL: usize = 10;

/// The schema, whose entries are those of tables, indexes, views and triggers.
const ENTRIES: &str = "SELECT type, name, sql FROM sqlite_schema";

/// Why not all is read.
#[derive(Debug, thiserror::Error)]
enum Damage {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("it has more rows than the file can hold")]
    TooManyRows,
    #[error("its rows are out of order")]
    Order,
    #[error("its definition is damaged")]
    Definition,
    #[error("the name of a column is not valid Unicode")]
    ColumnName,
}

/// A database in memory.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    tables: Vec<String>,
    virtual_tables: Vec<String>,
    damage: Option<String>,
    /// Bytes of rows that may still be read. Tables of a hostile file can share pages.
    budget: Cell<usize>,
}

impl Database {
    /// Opens a database, with the content of its `-wal` file if there is one.
    pub fn open(bytes: &[u8], log: Option<&[u8]>) -> Result<Self, String> {
        if !bytes.starts_with(MAGIC) {
            return Err("it is no SQLite database".to_owned());
        }
        if bytes.len() < HEADER {
            return Err("the database is truncated in its header".to_owned());
        }
        let mut copy = bytes.to_vec();
        if let Some(log) = log {
            wal::apply(&mut copy, log);
        }
        shorten(&mut copy);
        // The versions that its writers and readers need: 2 asks for a log, which a database in memory has not.
        copy[18..20].fill(1);
        let mut database = Self {
            connection: load(&copy).map_err(|error| refused(&error.into()))?,
            tables: Vec::new(),
            virtual_tables: Vec::new(),
            damage: None,
            budget: Cell::new(copy.len().saturating_mul(2).max(LEAST_BUDGET)),
        };
        database.read_schema()?;
        Ok(database)
    }

    /// The names of the tables, without SQLite's own and virtual ones.
    pub fn tables(&self) -> &[String] {
        &self.tables
    }

    /// The names of virtual tables, whose content only the program that made them can read.
    pub fn virtual_tables(&self) -> &[String] {
        &self.virtual_tables
    }

    /// Why tables may be missing.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    fn read_schema(&mut self) -> Result<(), String> {
        let mut damage = self.connection.prepare(ENTRIES).err().map(Damage::from);
        if damage.is_some() {
            // Passes over the damaged entries from the second statement on. SQLite still compares type and name of the
            // others with their text, since the database stays a defensive one.
            self.connection
                .set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, true)
                .map_err(|error| refused(&error.into()))?;
            let _ = self.connection.prepare(ENTRIES);
        }
        let mut entries = Vec::new();
        if let Err(error) = self.read_entries(&mut entries) {
            damage = Some(error);
        }
        if let Some(error) = damage {
            if entries.is_empty() {
                return Err(refused(&error));
            }
            self.damage = Some(format!("the database is damaged: {error}"));
        }
        // SQLite takes the first of two things with a name, so neither may be read as a table.
        let mut named = BTreeMap::<String, u32>::new();
        for [kind, name, _] in &entries {
            if ["table", "view"].contains(&kind.as_str()) {
                *named.entry(name.to_ascii_lowercase()).or_default() += 1;
            }
        }
        for [kind, name, sql] in entries {
            let lower = name.to_ascii_lowercase();
            if kind != "table" || lower.starts_with("sqlite_") {
                continue;
            }
            // SQLite writes these words so, whatever the statement was.
            if sql.starts_with("CREATE TABLE ") && named.get(&lower) == Some(&1) {
                self.tables.push(name);
            } else {
                self.virtual_tables.push(name);
            }
        }
        Ok(())
    }

    /// Adds the entries of the schema, each with its type, its name and the statement that made it.
    fn read_entries(&self, out: &mut Vec<[String; 3]>) -> Result<(), Damage> {
        let mut statement = self.connection.prepare(ENTRIES)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mut entry = [const { String::new() }; 3];
            for (n, text) in entry.iter_mut().enumerate() {
                if let ValueRef::Text(found) = row.get_ref(n)? {
                    *text = String::from_utf8_lossy(found).into_owned();
                }
            }
            self.charge(entry.iter().map(String::len).sum())?;
            out.push(entry);
        }
        Ok(())
    }

    /// Takes the bytes of a row from the budget.
    fn charge(&self, size: usize) -> Result<(), Damage> {
        let rest = self.budget.get().checked_sub(size.saturating_add(table::LEAST_ROW));
        self.budget.set(rest.ok_or(Damage::TooManyRows)?);
        Ok(())
    }

    /// The rows of one of the tables, as far as they can be read.
    pub fn rows(&self, table: &str) -> TableRows {
        if self.tables.iter().any(|name| name == table) {
            return table::read(self, table);
        }
        TableRows::default()
    }
}

/// Makes the header of a truncated database say how many pages there are. SQLite refuses the file otherwise; so it reads what
/// is there, and rows that continue in a page that is missing are damage.
fn shorten(database: &mut Vec<u8>) {
    let page_size = wal::page_size(database);
    let Ok(count) = u32::try_from(database.len().checked_div(page_size).unwrap_or_default()) else {
        return;
    };
    if count == 0 || page_size < wal::LEAST_PAGE || wal::be32(database, 28).is_none_or(|pages| pages <= count) {
        return;
    }
    database.truncate(count as usize * page_size);
    database[28..32].copy_from_slice(&count.to_be_bytes());
    // The count holds if this is the change counter.
    database.copy_within(24..28, 92);
}

fn load(bytes: &[u8]) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    connection.deserialize_read_exact("main", bytes, bytes.len(), true)?;
    for (config, value) in [
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        // A name in quotes is never a text.
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
    ] {
        connection.set_db_config(config, value)?;
    }
    let longest = bytes.len().clamp(1 << 16, LONGEST);
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_LENGTH, i32::try_from(longest).unwrap_or(i32::MAX)),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, value)?;
    }
    let mut calls = LEAST_CALLS.saturating_add(bytes.len() / BYTES_A_CALL);
    let is_over = move || {
        calls = calls.saturating_sub(1);
        calls == 0
    };
    connection.progress_handler(STEPS, Some(is_over))?;
    Ok(connection)
}

fn refused(error: &Damage) -> String {
    format!("the database cannot be read: {error}")
}
