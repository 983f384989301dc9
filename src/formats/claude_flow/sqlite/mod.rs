//! Reads the tables of an SQLite database, and nothing else: no SQL, no indexes, no writing.
//!
//! Own code of a few hundred lines, because the crates that read the format without C are unkept or bring a whole
//! database engine of a pre-release, and the usual one compiles 250,000 lines of C into every build. What is needed here
//! is small and the format is fixed: table b-trees with overflow pages, and the write-ahead log. Every page is visited
//! at most once and every length is checked, so a damaged or hostile file ends in a message. Figures and layouts are
//! from the published description of the file format.

mod schema;
mod wal;

use std::collections::{BTreeMap, BTreeSet};

pub use schema::SqlTable;

/// The first bytes of every database.
pub const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue {
    /// NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// A row: its number and its values in the order of the columns. Columns that were added later may be missing.
#[derive(Clone, Debug, PartialEq)]
pub struct SqlRow {
    /// The row's number.
    pub id: i64,
    /// The values.
    pub cells: Vec<SqlValue>,
}

/// The rows of a table, and what is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The rows that could be read, in the order of their numbers.
    pub rows: Vec<SqlRow>,
    /// Descriptions of damaged parts.
    pub damage: Vec<String>,
}

/// A database that was opened.
#[derive(Debug)]
pub struct Database<'a> {
    bytes: &'a [u8],
    /// Newer pages, from the write-ahead log.
    newer: BTreeMap<u32, &'a [u8]>,
    page_size: usize,
    /// Bytes of a page that hold data.
    usable: usize,
    encoding: u32,
}

fn be16(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A number of one to nine bytes, and how many.
fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for n in 0..8 {
        let byte = *bytes.get(at + n)?;
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, n + 1));
        }
    }
    Some(((value << 8) | u64::from(*bytes.get(at + 8)?), 9))
}

impl<'a> Database<'a> {
    /// Opens a database, with the content of its `-wal` file if there is one.
    pub fn open(bytes: &'a [u8], log: Option<&'a [u8]>) -> Result<Self, String> {
        if !bytes.starts_with(MAGIC) {
            return Err("it is no SQLite database".to_owned());
        }
        let header = bytes.get(..100).ok_or("the database is truncated in its header")?;
        let page_size = match be16(header, 16) {
            Some(1) => 65_536,
            Some(size @ 512..=32_768) if size.is_power_of_two() => size,
            _ => return Err("the database has no valid page size".to_owned()),
        };
        let usable = page_size - usize::from(header[20]);
        if usable < 480 {
            return Err("the pages of the database have no room".to_owned());
        }
        Ok(Self {
            bytes,
            newer: log.map(|log| wal::pages(log, page_size)).unwrap_or_default(),
            page_size,
            usable,
            encoding: be32(header, 56).unwrap_or(1),
        })
    }

    fn page(&self, number: u32) -> Option<&'a [u8]> {
        if let Some(page) = self.newer.get(&number) {
            return Some(page);
        }
        let start = usize::try_from(number.checked_sub(1)?)
            .ok()?
            .checked_mul(self.page_size)?;
        self.bytes.get(start..start.checked_add(self.page_size)?)
    }

    /// The tables, without SQLite's own.
    pub fn tables(&self) -> Result<Vec<SqlTable>, String> {
        let mut rows = self.walk(1);
        if rows.rows.is_empty() && !rows.damage.is_empty() {
            return Err(rows.damage.swap_remove(0));
        }
        Ok(rows.rows.iter().filter_map(|row| schema::table(&row.cells)).collect())
    }

    /// The names of tables that are kept in another form: without row numbers, or virtual.
    pub fn others(&self) -> Vec<String> {
        let rows = self.walk(1).rows;
        rows.iter().filter_map(|row| schema::other(&row.cells)).collect()
    }

    /// All rows of a table.
    pub fn rows(&self, table: &SqlTable) -> Rows {
        let mut out = self.walk(table.root);
        let key = table.columns.iter().position(|column| column.is_row_id);
        for row in &mut out.rows {
            row.cells.truncate(table.columns.len());
            // The column that is the row's number is stored as NULL.
            if let Some(cell @ SqlValue::Null) = key.and_then(|at| row.cells.get_mut(at)) {
                *cell = SqlValue::Integer(row.id);
            }
        }
        out
    }

    fn walk(&self, root: u32) -> Rows {
        let log: usize = self.newer.values().map(|page| page.len()).sum();
        let mut walk = TableWalk {
            database: self,
            seen: BTreeSet::new(),
            budget: (self.bytes.len() + log) * 2,
            out: Rows::default(),
        };
        let mut pending = vec![root];
        while let Some(page) = pending.pop() {
            if !walk.seen.insert(page) {
                walk.damage(page, "it is part of the table twice");
            } else if let Err(why) = walk.visit(page, &mut pending) {
                walk.damage(page, why);
            }
        }
        walk.out
    }

    fn text(&self, bytes: &[u8]) -> String {
        let units =
            |of: fn([u8; 2]) -> u16| -> Vec<u16> { bytes.chunks_exact(2).map(|pair| of([pair[0], pair[1]])).collect() };
        match self.encoding {
            2 => String::from_utf16_lossy(&units(u16::from_le_bytes)),
            3 => String::from_utf16_lossy(&units(u16::from_be_bytes)),
            _ => String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}

/// A walk over one table's tree.
struct TableWalk<'d, 'a> {
    database: &'d Database<'a>,
    seen: BTreeSet<u32>,
    /// Bytes of rows that may still be read: overflow pages could be shared by rows of a hostile file.
    budget: usize,
    out: Rows,
}

impl TableWalk<'_, '_> {
    fn damage(&mut self, page: u32, why: &str) {
        if self.out.damage.len() < 100 {
            self.out
                .damage
                .push(format!("page {page} of the database is damaged: {why}"));
        }
    }

    fn visit(&mut self, number: u32, pending: &mut Vec<u32>) -> Result<(), &'static str> {
        const CUT: &str = "it is truncated";
        let page = self.database.page(number).ok_or("it is not in the file")?;
        let start = if number == 1 { 100 } else { 0 };
        let cells = be16(page, start + 3).ok_or(CUT)?;
        match page.get(start) {
            Some(0x05) => {
                // The right-most child comes last, so it is pushed first.
                let mut children = Vec::with_capacity(cells + 1);
                for n in 0..cells {
                    let at = be16(page, start + 12 + 2 * n).ok_or(CUT)?;
                    children.push(be32(page, at).ok_or(CUT)?);
                }
                children.push(be32(page, start + 8).ok_or(CUT)?);
                pending.extend(children.into_iter().rev());
                Ok(())
            }
            Some(0x0d) => {
                for n in 0..cells {
                    let at = be16(page, start + 8 + 2 * n).ok_or(CUT)?;
                    match self.row(page, at) {
                        Ok(row) => self.out.rows.push(row),
                        Err(why) => self.damage(number, why),
                    }
                }
                Ok(())
            }
            _ => Err("it is no page of a table"),
        }
    }

    fn row(&mut self, page: &[u8], at: usize) -> Result<SqlRow, &'static str> {
        const CUT: &str = "a row is truncated";
        let (size, first) = varint(page, at).ok_or(CUT)?;
        let (id, second) = varint(page, at + first).ok_or(CUT)?;
        let start = at + first + second;
        let size = usize::try_from(size).map_err(|_| CUT)?;
        if size > self.budget {
            return Err("a row is longer than the file");
        }
        self.budget -= size;
        let usable = self.database.usable;
        let most = usable - 35;
        let local = if size <= most {
            size
        } else {
            let least = (usable - 12) * 32 / 255 - 23;
            let wanted = least + (size - least) % (usable - 4);
            if wanted <= most { wanted } else { least }
        };
        let mut payload = page.get(start..start + local).ok_or(CUT)?.to_vec();
        if local < size {
            let next = be32(page, start + local).ok_or(CUT)?;
            self.overflow(next, size, &mut payload)?;
        }
        let cells = self.cells(&payload).ok_or(CUT)?;
        Ok(SqlRow {
            id: id.cast_signed(),
            cells,
        })
    }

    fn overflow(&self, mut next: u32, size: usize, payload: &mut Vec<u8>) -> Result<(), &'static str> {
        // Each page gives at least one byte, so the loop ends with the length.
        while payload.len() < size {
            let page = self
                .database
                .page(next)
                .ok_or("a row continues in a page that is not in the file")?;
            next = be32(page, 0).ok_or("a row is truncated")?;
            let more = (size - payload.len()).min(self.database.usable - 4);
            payload.extend_from_slice(&page[4..4 + more]);
        }
        Ok(())
    }

    fn cells(&self, payload: &[u8]) -> Option<Vec<SqlValue>> {
        let (head, mut at) = varint(payload, 0)?;
        let head = usize::try_from(head).ok()?;
        let mut body = head;
        let mut cells = Vec::new();
        while at < head {
            let (kind, size) = varint(payload, at)?;
            at += size;
            let length = match kind {
                0 | 8 | 9 => 0,
                1..=4 => usize::try_from(kind).ok()?,
                5 => 6,
                6 | 7 => 8,
                10 | 11 => return None,
                _ => usize::try_from((kind - 12) / 2).ok()?,
            };
            let bytes = payload.get(body..body.checked_add(length)?)?;
            body += length;
            cells.push(match kind {
                0 => SqlValue::Null,
                8 => SqlValue::Integer(0),
                9 => SqlValue::Integer(1),
                1..=6 => SqlValue::Integer(signed(bytes)),
                7 => SqlValue::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
                _ if kind % 2 == 0 => SqlValue::Blob(bytes.to_vec()),
                _ => SqlValue::Text(self.database.text(bytes)),
            });
        }
        Some(cells)
    }
}

/// A signed number of one to eight bytes, the highest first.
fn signed(bytes: &[u8]) -> i64 {
    let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let start = if negative { -1 } else { 0 };
    bytes.iter().fold(start, |value, byte| (value << 8) | i64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_lengths() {
        assert_eq!(varint(&[0x7f], 0), Some((127, 1)));
        assert_eq!(varint(&[0x81, 0x00], 0), Some((128, 2)));
        assert_eq!(varint(&[0xff; 9], 0), Some((u64::MAX, 9)));
        assert_eq!(varint(&[0x80], 0), None);
        assert_eq!(
            (signed(&[0xff]), signed(&[0x00, 0x80]), signed(&[0x80, 0])),
            (-1, 128, -32_768)
        );
    }

    #[test]
    fn what_is_no_database_is_told() {
        assert!(Database::open(b"", None).is_err());
        assert!(Database::open(MAGIC, None).is_err());
        let mut header = [0_u8; 100];
        header[..16].copy_from_slice(MAGIC);
        assert!(Database::open(&header, None).is_err(), "no page size");
        header[16..18].copy_from_slice(&512_u16.to_be_bytes());
        let database = Database::open(&header, None).expect("a header");
        assert!(database.tables().is_err(), "no first page");
    }
}
