//! The tables of a database and their columns, from the text that made them.

use super::SqlValue;

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlTable {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<SqlColumn>,
    /// The page its tree begins with.
    pub root: u32,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlColumn {
    /// Its name.
    pub name: String,
    /// Whether it is another name for the row's number.
    pub is_row_id: bool,
}

/// The table that a row of the schema describes; `None` for an index, a view, a virtual table, one of SQLite's own, and
/// one without row numbers, whose tree has another form.
pub(super) fn table(cells: &[SqlValue]) -> Option<SqlTable> {
    let [
        SqlValue::Text(kind),
        SqlValue::Text(name),
        _,
        SqlValue::Integer(root),
        SqlValue::Text(sql),
        ..,
    ] = cells
    else {
        return None;
    };
    if kind != "table" || name.starts_with("sqlite_") {
        return None;
    }
    let sql = without_comments(sql);
    let upper = sql.to_uppercase();
    if !upper.trim_start().starts_with("CREATE TABLE") || upper.trim_end().ends_with("WITHOUT ROWID") {
        return None;
    }
    let inner = &sql[sql.find('(')? + 1..];
    let mut columns = Vec::new();
    for part in parts(inner) {
        let Some((column, rest)) = first_word(&part) else {
            continue;
        };
        let word = column.to_uppercase();
        let quoted = part.trim_start().starts_with(['"', '`', '[']);
        if !quoted && ["PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "CONSTRAINT"].contains(&word.as_str()) {
            continue;
        }
        let kind: Vec<String> = rest.to_uppercase().split_whitespace().map(str::to_owned).collect();
        let is_row_id = kind.first().is_some_and(|kind| kind == "INTEGER")
            && kind
                .windows(2)
                .any(|pair| pair[0] == "PRIMARY" && pair[1].starts_with("KEY"));
        columns.push(SqlColumn {
            name: column,
            is_row_id,
        });
    }
    let root = u32::try_from(*root).ok()?;
    Some(SqlTable {
        name: name.clone(),
        columns,
        root,
    })
}

/// The name of a table that [`table`] does not read, if the row is one's: SQLite's own and those that a virtual table
/// keeps its content in are passed over.
pub(super) fn other(cells: &[SqlValue]) -> Option<String> {
    let [SqlValue::Text(kind), SqlValue::Text(name), ..] = cells else {
        return None;
    };
    (kind == "table" && !name.starts_with("sqlite_") && table(cells).is_none()).then(|| name.clone())
}

fn without_comments(sql: &str) -> String {
    let mut out = String::new();
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.find("*/").map_or("", |end| &comment[end + 2..]);
        } else if matches!(c, '\'' | '"' | '`') {
            let end = rest[1..].find(c).map_or(rest.len(), |end| end + 2);
            out.push_str(&rest[..end]);
            rest = &rest[end..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// The parts between commas, up to the bracket that closes the list.
fn parts(inner: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let (mut depth, mut quote) = (0_u32, None);
    for c in inner.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '[') => quote = Some(']'),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => break,
            (None, ')') => depth -= 1,
            (None, ',') if depth == 0 => {
                out.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = out.last_mut() {
            part.push(c);
        }
    }
    out
}

/// The first word of a part, unquoted, and what follows.
fn first_word(part: &str) -> Option<(String, &str)> {
    let part = part.trim();
    let close = match part.chars().next()? {
        '"' => '"',
        '`' => '`',
        '[' => ']',
        _ => {
            let end = part.find(|c: char| c.is_whitespace() || c == '(').unwrap_or(part.len());
            return Some((part[..end].to_owned(), &part[end..]));
        }
    };
    let end = part[1..].find(close)? + 1;
    Some((part[1..end].to_owned(), &part[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(sql: &str) -> Option<Vec<(String, bool)>> {
        let cells = ["table", "t", "t"].map(|text| SqlValue::Text(text.to_owned()));
        let cells = [
            cells.as_slice(),
            &[SqlValue::Integer(2), SqlValue::Text(sql.to_owned())],
        ]
        .concat();
        Some(
            table(&cells)?
                .columns
                .into_iter()
                .map(|column| (column.name, column.is_row_id))
                .collect(),
        )
    }

    #[test]
    fn columns_are_read_from_the_text_of_their_table() {
        let sql = "CREATE TABLE t (\n id INTEGER PRIMARY KEY AUTOINCREMENT, -- a, b\n \"a b\" TEXT DEFAULT ',)', [c] REAL(1,2),\n\
                   `key` TEXT /* x, */, n INT PRIMARY KEY, FOREIGN KEY (x) REFERENCES y(z), UNIQUE(a, b))";
        let expected = [("id", true), ("a b", false), ("c", false), ("key", false), ("n", false)];
        assert_eq!(
            columns(sql),
            Some(expected.map(|(name, id)| (name.to_owned(), id)).to_vec())
        );
        assert_eq!(columns("CREATE TABLE t (a TEXT PRIMARY KEY) WITHOUT ROWID"), None);
        assert_eq!(columns("CREATE VIRTUAL TABLE t USING fts5(a)"), None);
        assert_eq!(columns("CREATE TABLE t"), None);
    }
}
