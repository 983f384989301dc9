//! The rows of a table: what its own pages hold, nothing computed. Behind a damaged row they are read from the end.

use std::cmp::Ordering;

use rusqlite::{
    Rows,
    types::{Value, ValueRef},
};

use super::{Damage, Database};

/// Least bytes of a row in a page: its place, length, number and the length of its header.
pub(super) const LEAST_ROW: usize = 5;

/// The largest whole number that a column of floating-point numbers keeps as an integer: six bytes with a sign.
const LARGEST_WHOLE: f64 = 140_737_488_355_327.0;

/// The rows of a table, and what is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct TableRows {
    /// The names of the columns that are stored.
    pub columns: Vec<String>,
    /// The rows that could be read, in the order of their numbers or keys. NULL at the end of a row is left out.
    pub rows: Vec<Vec<Value>>,
    /// Why rows are missing.
    pub damage: Option<String>,
}

/// A column that is stored.
struct Column {
    name: String,
    /// Whether its numbers are floating-point ones, of which the file keeps whole ones as integers.
    is_real: bool,
}

/// Rows with their numbers.
type NumberedRows = Vec<(i64, Vec<Value>)>;

/// The rows of a table, as far as they can be read.
pub(super) fn read(database: &Database, table: &str) -> TableRows {
    let table = quoted(table);
    let (mut out, mut rows) = (TableRows::default(), NumberedRows::new());
    let read = columns(database, &table).and_then(|columns| {
        let read = read_rows(database, &table, &columns, &mut rows);
        out.columns = columns.into_iter().map(|column| column.name).collect();
        read
    });
    out.damage = read.err().map(|why| format!("the table is damaged: {why}"));
    out.rows = rows.into_iter().map(|(_, cells)| cells).collect();
    out
}

fn columns(database: &Database, table: &str) -> Result<Vec<Column>, Damage> {
    let query = format!("PRAGMA main.table_xinfo({table})");
    let mut statement = database.connection.prepare(&query)?;
    let mut rows = statement.query([])?;
    let mut columns = Vec::new();
    while let Some(row) = rows.next()? {
        // The others are computed when they are asked for, or are those of virtual tables.
        if !matches!(row.get_ref(6)?, ValueRef::Integer(0 | 3)) {
            continue;
        }
        let (ValueRef::Text(name), ValueRef::Text(kind)) = (row.get_ref(1)?, row.get_ref(2)?) else {
            return Err(Damage::Definition);
        };
        columns.push(Column {
            name: str::from_utf8(name).map_err(|_| Damage::ColumnName)?.to_owned(),
            is_real: is_real(kind),
        });
    }
    if columns.is_empty() {
        return Err(Damage::Definition);
    }
    Ok(columns)
}

/// Whether SQLite takes this type for one of floating-point numbers.
fn is_real(kind: &[u8]) -> bool {
    let kind = kind.to_ascii_uppercase();
    let has = |word: &[u8]| kind.windows(word.len()).any(|part| part == word);
    let is_other = [b"INT".as_slice(), b"CHAR", b"CLOB", b"TEXT", b"BLOB"]
        .into_iter()
        .any(has);
    !is_other && [b"REAL".as_slice(), b"FLOA", b"DOUB"].into_iter().any(has)
}

fn read_rows(database: &Database, table: &str, columns: &[Column], out: &mut NumberedRows) -> Result<(), Damage> {
    // An index may say something else than the table, and one on an expression computes it.
    let select = |number: &str, rest: &str| {
        let list: Vec<String> = columns
            .iter()
            .map(|column| format!("t.{}", quoted(&column.name)))
            .collect();
        format!(
            "SELECT {}{number} FROM main.{table} AS t NOT INDEXED {rest}",
            list.join(", ")
        )
    };
    let prepare = |query: String| database.connection.prepare(&query);
    // A column may have the name of the number.
    let number = ["rowid", "_rowid_", "oid"].into_iter().find(|word| {
        let is_it = |column: &Column| column.name.eq_ignore_ascii_case(word);
        !columns.iter().any(is_it)
    });
    let numbered = number.and_then(|name| {
        let number = format!(", t.{name}");
        let all = prepare(select(&number, "")).ok()?;
        let back = format!("WHERE t.{name} > ?1 ORDER BY t.{name} DESC");
        Some((all, select(&number, &back)))
    });
    let Some((mut all, back)) = numbered else {
        // A table without row numbers, or which has all three names.
        let mut all = prepare(select("", ""))?;
        return scan(database, columns, all.query([])?, None, out);
    };
    let Err(damage) = scan(database, columns, all.query([])?, Some(Ordering::Greater), out) else {
        return Ok(());
    };
    let last = out.last().map_or(i64::MIN, |(number, _)| *number);
    let mut behind = NumberedRows::new();
    if let Ok(mut back) = prepare(back)
        && let Ok(rows) = back.query([last])
    {
        // Where this ends is where the other ended, or more damage.
        let _ = scan(database, columns, rows, Some(Ordering::Less), &mut behind);
    }
    out.extend(behind.into_iter().rev());
    Err(damage)
}

/// Adds the rows of a query, which end where their numbers, if they have any, are not in order: pages that lead in a circle
/// repeat them.
fn scan(
    database: &Database,
    columns: &[Column],
    mut rows: Rows<'_>,
    order: Option<Ordering>,
    out: &mut NumberedRows,
) -> Result<(), Damage> {
    while let Some(row) = rows.next()? {
        let mut cells = Vec::with_capacity(columns.len());
        for (n, column) in columns.iter().enumerate() {
            cells.push(value(row.get_ref(n)?, column));
        }
        while cells.last() == Some(&Value::Null) {
            cells.pop();
        }
        cells.shrink_to_fit();
        database.charge(cells.iter().map(|cell| 1 + length(cell)).sum())?;
        let mut number = 0;
        if let Some(order) = order {
            number = row.get_ref(columns.len())?.as_i64().map_err(|_| Damage::Order)?;
            if out.last().is_some_and(|(before, _)| number.cmp(before) != order) {
                return Err(Damage::Order);
            }
        }
        out.push((number, cells));
    }
    Ok(())
}

/// A value as a person sees it in the file. Texts need not be valid Unicode.
fn value(value: ValueRef<'_>, column: &Column) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of 48 bits")]
        ValueRef::Real(number) if column.is_real && number.fract() == 0.0 && number.abs() <= LARGEST_WHOLE => {
            Value::Integer(number as i64)
        }
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

fn length(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Integer(_) | Value::Real(_) => 1,
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
    }
}

/// A name in a statement.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
