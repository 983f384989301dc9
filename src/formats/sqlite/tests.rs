//! Databases that SQLite makes here, whole, damaged and hostile.

use rusqlite::{Connection, types::Value};

use super::*;

/// The bytes of a database that these statements make.
fn database(statements: &str) -> Vec<u8> {
    let mut connection = Connection::open_in_memory().expect("a database");
    connection.execute_batch(statements).expect("valid statements");
    connection.serialize("main").expect("its bytes").to_vec()
}

/// One whose schema is written by hand as well.
fn forged(statements: &str, schema: &str) -> Vec<u8> {
    let bytes = database(statements);
    let mut connection = Connection::open_in_memory().expect("a database");
    connection
        .deserialize_read_exact("main", bytes.as_slice(), bytes.len(), false)
        .expect("its bytes");
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, true)
        .expect("a setting");
    connection.execute_batch(schema).expect("valid statements");
    connection.serialize("main").expect("its bytes").to_vec()
}

fn open(bytes: &[u8]) -> Database {
    Database::open(bytes, None).expect("a database")
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// 300 rows on many pages of 512 bytes, some of which continue on other pages.
fn many_rows() -> Vec<u8> {
    database(
        "PRAGMA page_size = 512;
         CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT);
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
         INSERT INTO t SELECT i, printf('row %d ', i) || CASE WHEN i % 50 = 0 THEN hex(zeroblob(900)) ELSE '' END FROM n;",
    )
}

/// The numbers of the rows of [`many_rows`] that were read.
fn numbers(read: &TableRows) -> Vec<i64> {
    let number = |row: &Vec<Value>| match row[0] {
        Value::Integer(number) => number,
        _ => panic!("a number"),
    };
    read.rows.iter().map(number).collect()
}

#[test]
fn tables_of_every_form_are_read() {
    let bytes = database(
        "CREATE TABLE \"a \"\"b\" (id INTEGER PRIMARY KEY, [c d] TEXT, r REAL, x BLOB, twice INT AS (id * 2), kept INT AS (id + 1) STORED);
         INSERT INTO \"a \"\"b\" VALUES (7, 'é', 1.5, x'00ff'), (9, NULL, NULL, NULL);
         ALTER TABLE \"a \"\"b\" ADD COLUMN later TEXT DEFAULT 'none';
         ALTER TABLE \"a \"\"b\" ADD COLUMN unset TEXT;
         CREATE TABLE keyed (name TEXT PRIMARY KEY, n INT) WITHOUT ROWID;
         INSERT INTO keyed VALUES ('z', 1), ('a', 2);
         CREATE TABLE numbered (rowid TEXT, _rowid_ TEXT, oid TEXT);
         INSERT INTO numbered VALUES ('1', '2', '3');
         CREATE VIEW seen AS SELECT 1;
         CREATE INDEX i ON \"a \"\"b\" (r);",
    );
    let database = open(&bytes);
    assert_eq!(database.tables(), ["a \"b", "keyed", "numbered"]);
    assert!(database.virtual_tables().is_empty());
    assert_eq!(database.damage(), None);
    let read = database.rows("a \"b");
    assert_eq!(read.columns, ["id", "c d", "r", "x", "kept", "later", "unset"]);
    let (blob, real) = (Value::Blob(vec![0, 255]), Value::Real(1.5));
    let first = [
        Value::Integer(7),
        text("é"),
        real,
        blob,
        Value::Integer(8),
        text("none"),
    ];
    assert_eq!(read.rows[0], first);
    assert_eq!(read.rows.len(), 2);
    assert_eq!(read.damage, None);
    let keyed = database.rows("keyed").rows;
    assert_eq!(keyed, [[text("a"), Value::Integer(2)], [text("z"), Value::Integer(1)]]);
    assert_eq!(database.rows("numbered").rows, [[text("1"), text("2"), text("3")]]);
}

#[test]
fn whole_numbers_are_those_that_the_file_keeps_as_such() {
    let bytes = database(
        "CREATE TABLE t (a REAL, b DOUBLE PRECISION, c, d REAL, e REAL);
         INSERT INTO t VALUES (0, -3.0, 2.0, 1e300, 0.5);",
    );
    let row = [
        Value::Integer(0),
        Value::Integer(-3),
        Value::Real(2.0),
        Value::Real(1e300),
        Value::Real(0.5),
    ];
    assert_eq!(open(&bytes).rows("t").rows, [row]);
}

#[test]
fn texts_of_every_encoding_are_read() {
    for encoding in ["UTF-8", "UTF-16le", "UTF-16be"] {
        let bytes = database(&format!(
            "PRAGMA encoding = '{encoding}'; CREATE TABLE t (a); INSERT INTO t VALUES ('grüße \u{1f600}');"
        ));
        let rows = open(&bytes).rows("t").rows;
        assert_eq!(rows, [[text("grüße \u{1f600}")]], "{encoding}");
    }
}

#[test]
fn a_log_counts_up_to_its_last_commit() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.db");
    let connection = Connection::open(&path).expect("a database");
    connection
        .execute_batch(
            "PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
             CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT);
             INSERT INTO t VALUES (1, 'one'); INSERT INTO t VALUES (2, 'two');",
        )
        .expect("valid statements");
    let bytes = std::fs::read(&path).expect("the file");
    let log = std::fs::read(directory.path().join("a.db-wal")).expect("the log");
    // A file without a page yet is no database by itself.
    let rows = |log: &[u8]| Database::open(&bytes, Some(log)).map_or(0, |database| database.rows("t").rows.len());
    assert_eq!(rows(&log), 2);
    assert_eq!(rows(&log[..log.len() - 1]), 1, "the last commit is torn");
    let mut other = log.clone();
    let end = other.len() - 10;
    other[end] ^= 1;
    assert_eq!(rows(&other), 1, "its checksum is wrong");
    assert_eq!(rows(b"no log"), 0);
}

#[test]
fn nothing_of_a_database_runs() {
    let slow = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    let tables = format!(
        "CREATE TABLE t (a INT, b AS (zeroblob(a)), c AS (printf('%*d', a, 1)));
         INSERT INTO t (a) VALUES (1), (9000000);
         CREATE INDEX computed ON t (abs(a));
         CREATE TABLE other (a);
         CREATE VIEW endless AS {slow};
         CREATE VIRTUAL TABLE words USING fts5 (body);
         CREATE TRIGGER never AFTER INSERT ON t BEGIN DELETE FROM t; END;"
    );
    let plain = database(&tables);
    let database = open(&plain);
    assert_eq!(database.virtual_tables(), ["words"]);
    assert!(
        !database
            .tables()
            .iter()
            .any(|name| ["words", "endless"].contains(&name.as_str()))
    );
    let read = database.rows("t");
    assert_eq!((read.columns, read.damage), (vec!["a".to_owned()], None));
    assert_eq!(read.rows, [[Value::Integer(1)], [Value::Integer(9_000_000)]]);
    // Views and virtual tables that say they are tables, by themselves and under the name of one.
    for forgery in [
        "UPDATE sqlite_schema SET type = 'table', rootpage = 2 WHERE name = 'endless';",
        "UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'words';",
        "UPDATE sqlite_schema SET type = 'table', name = 'other', tbl_name = 'other' WHERE name = 'endless';",
        "UPDATE sqlite_schema SET sql = replace(sql, 'endless', 'other') WHERE name = 'endless';
         UPDATE sqlite_schema SET sql = replace(sql, 'TABLE other', 'TABLE else') WHERE name = 'other';",
        "UPDATE sqlite_schema SET sql = replace(sql, 'VIEW endless', 'TABLE endless'), type = 'table', rootpage = 2 WHERE name = 'endless';",
        "UPDATE sqlite_schema SET sql = replace(sql, 'TABLE words', 'TABLE other') WHERE name = 'words';
         UPDATE sqlite_schema SET sql = replace(sql, 'TABLE other (', 'TABLE else (') WHERE name = 'other';",
    ] {
        let bytes = forged(&tables, forgery);
        let Ok(database) = Database::open(&bytes, None) else {
            continue;
        };
        for name in ["endless", "words", "other"] {
            let read = database.rows(name);
            assert!(read.rows.is_empty(), "{forgery}: {name}: {:?}", read.rows.len());
        }
    }
}

#[test]
fn tables_that_share_pages_have_the_rows_of_the_file_together() {
    let mut schema = String::new();
    for n in 0..400 {
        schema.push_str(&format!(
            "INSERT INTO sqlite_schema SELECT type, 't{n}', 't{n}', rootpage, replace(sql, 'TABLE t', 'TABLE t{n}') FROM sqlite_schema WHERE name = 't';"
        ));
    }
    let bytes = forged(
        "CREATE TABLE t (a); INSERT INTO t VALUES (hex(zeroblob(40000)));",
        &schema,
    );
    let database = open(&bytes);
    assert_eq!(database.tables().len(), 401);
    let tables: Vec<TableRows> = database.tables().iter().map(|name| database.rows(name)).collect();
    let full = tables.iter().filter(|table| !table.rows.is_empty()).count();
    assert!((1..20).contains(&full), "{full}");
    assert!(tables.iter().any(|table| table.damage.is_some()));
}

#[test]
fn damage_in_the_middle_leaves_the_rows_before_and_behind() {
    let bytes = many_rows();
    assert_eq!(numbers(&open(&bytes).rows("t")), (1..=300).collect::<Vec<_>>());
    let pages = bytes.chunks_exact(512).enumerate();
    let leaves: Vec<usize> = pages.filter(|(_, page)| page[0] == 13).map(|(n, _)| n).collect();
    let page = leaves[leaves.len() / 2];
    let mut damaged = bytes.clone();
    damaged[page * 512..(page + 1) * 512].fill(0);
    let read = open(&damaged).rows("t");
    let found = numbers(&read);
    assert!(read.damage.is_some());
    assert!(
        found.is_sorted() && found.len() > 200 && found.len() < 300,
        "{}",
        found.len()
    );
    assert_eq!((found.first(), found.last()), (Some(&1), Some(&300)));
}

#[test]
fn a_truncated_database_is_read_as_far_as_it_goes() {
    let bytes = many_rows();
    let mut most = 0;
    for len in (512..bytes.len()).step_by(512) {
        let database = open(&bytes[..len]);
        let read = database.rows("t");
        assert!(database.damage().is_some() || read.damage.is_some(), "{len}");
        let found = numbers(&read);
        assert!(found.is_sorted() && found.len() < 300);
        most = most.max(found.len());
    }
    assert!(most > 200, "{most}");
}

#[test]
fn pages_in_a_circle_end() {
    let bytes = many_rows();
    // All children of a page inside of the tree but the last are its first one.
    let mut circle = bytes.clone();
    for page in circle.chunks_exact_mut(512).skip(1).filter(|page| page[0] == 5) {
        let cells = usize::from(u16::from_be_bytes([page[3], page[4]]));
        let first = usize::from(u16::from_be_bytes([page[12], page[13]]));
        let child: [u8; 4] = page[first..first + 4].try_into().expect("a page's number");
        for n in 0..cells {
            let at = usize::from(u16::from_be_bytes([page[12 + 2 * n], page[13 + 2 * n]]));
            page[at..at + 4].copy_from_slice(&child);
        }
    }
    let read = open(&circle).rows("t");
    assert!(read.damage.is_some());
    assert!(numbers(&read).len() < 300);
}

#[test]
fn a_name_that_is_no_text_is_damage() {
    let mut bytes = database("CREATE TABLE t (zzzz INT, b INT); INSERT INTO t VALUES (1, 2); CREATE TABLE xxxx (a);");
    for word in [b"zzzz", b"xxxx"] {
        while let Some(at) = bytes.windows(4).position(|part| part == word) {
            bytes[at..at + 4].fill(0xff);
        }
    }
    let database = open(&bytes);
    let read = database.rows("t");
    assert_eq!(
        read.damage.as_deref(),
        Some("the table is damaged: the name of a column is not valid Unicode")
    );
    assert_eq!(database.tables().len(), 2);
    assert!(database.rows(&database.tables()[1]).damage.is_some());
}

#[test]
fn what_is_no_database_is_an_error() {
    assert!(Database::open(b"", None).is_err());
    assert!(Database::open(MAGIC, None).is_err());
    let mut header = MAGIC.to_vec();
    header.resize(4096, 0);
    assert!(Database::open(&header, None).is_err());
    // Sizes of pages that there are none of, in files that are no longer than their header.
    for size in [1, 51, 99, 100, 511] {
        let mut header = header[..100].to_vec();
        header[16..18].copy_from_slice(&u16::to_be_bytes(size));
        header[28..32].fill(1);
        assert!(Database::open(&header, None).is_err(), "{size}");
    }
}

/// A small generator of numbers (SplitMix64, published constants).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end.max(1) as u64).expect("below an end of that kind")
    }
}

/// Damages a file here and there: bits, numbers, pages, its end.
fn damage(bytes: &mut Vec<u8>, page_size: usize, dice: &mut Dice) {
    for _ in 0..=dice.below(5) {
        let at = dice.below(bytes.len());
        match dice.below(8) {
            0 => bytes[at] ^= 1 << dice.below(8),
            1 => bytes[at] = [0, 1, 5, 13, 0x7f, 0x80, 0xff][dice.below(7)],
            2 => {
                let end = (at + 1 + dice.below(8)).min(bytes.len());
                bytes[at..end].fill([0, 0xff][dice.below(2)]);
            }
            3 => {
                let pages = bytes.len() / page_size;
                let (from, to) = (dice.below(pages) * page_size, dice.below(pages) * page_size);
                if from + page_size <= bytes.len() && to + page_size <= bytes.len() {
                    bytes.copy_within(from..from + page_size, to);
                }
            }
            // The head of a page: its type and the number of its cells.
            4 => {
                let at = dice.below(bytes.len() / page_size) * page_size + dice.below(16);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = u8::try_from(dice.below(256)).expect("a byte");
                }
            }
            // The header of the file.
            5 => {
                let at = 16 + dice.below(84);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = u8::try_from(dice.below(256)).expect("a byte");
                }
            }
            6 if dice.below(4) == 0 => bytes.truncate(at.max(1)),
            7 => {
                let end = (at + dice.below(300)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                let to = dice.below(bytes.len() - part.len() + 1);
                bytes[to..to + part.len()].copy_from_slice(&part);
            }
            _ => {}
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test has no environment that is handed down")]
fn no_bytes_make_it_fail() {
    // `scripts/transcripts mutations` asks for more than the suite has time for.
    let rounds = std::env::var("CHECKPOINT_TEST_MUTATIONS").ok();
    let rounds: usize = rounds.and_then(|count| count.parse().ok()).unwrap_or(300);
    let forms = database(
        "PRAGMA page_size = 1024; PRAGMA auto_vacuum = FULL;
         CREATE TABLE a (id INTEGER PRIMARY KEY, b TEXT NOT NULL, c REAL DEFAULT 0, d BLOB, e AS (length(b)));
         CREATE UNIQUE INDEX i ON a (b, c); CREATE TABLE k (x TEXT, y INT, PRIMARY KEY (x, y)) WITHOUT ROWID;
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
         INSERT INTO a (b, c, d) SELECT 'text ' || i, i / 3.0, zeroblob(i * 17 % 2000) FROM n;
         INSERT INTO k SELECT b, id FROM a; ALTER TABLE a ADD COLUMN late TEXT DEFAULT 'late';
         CREATE VIEW v AS SELECT * FROM a; CREATE VIRTUAL TABLE w USING fts5 (body);
         CREATE TRIGGER tr AFTER DELETE ON a BEGIN DELETE FROM k; END; ANALYZE;",
    );
    let opencode = include_bytes!("../../../fixtures/agents/opencode.db").to_vec();
    let hive = include_bytes!("../../../fixtures/formats/claude-flow/good-wal/input/hive.db").to_vec();
    let log = include_bytes!("../../../fixtures/formats/claude-flow/good-wal/input/hive.db-wal").to_vec();
    let samples = [(forms, None), (many_rows(), None), (opencode, None), (hive, Some(log))];
    let (mut dice, mut read, mut refused) = (Dice(22), 0, 0);
    for round in 0..rounds {
        let (mut bytes, mut log) = samples[round % samples.len()].clone();
        let page_size = wal::page_size(&bytes);
        damage(&mut bytes, page_size, &mut dice);
        if let Some(log) = &mut log
            && dice.below(2) == 0
        {
            damage(log, page_size, &mut dice);
        }
        let longest = bytes.len() + log.as_ref().map_or(0, Vec::len);
        let _ = crate::formats::opencode_database::sessions(&bytes, log.as_deref(), &mut Vec::new());
        let Ok(database) = Database::open(&bytes, log.as_deref()) else {
            refused += 1;
            continue;
        };
        let mut rows = 0;
        for table in database.tables() {
            rows += database.rows(table).rows.len();
        }
        assert!(rows <= longest.max(LEAST_BUDGET), "{round}");
        read += 1;
    }
    assert!(read > rounds / 4 && refused > 0, "{read} read, {refused} refused");
}
