//! The block of a hand-off note: idempotent, the rest untouched, never guessed; and markup in texts that stays text.

use proptest::prelude::*;

use super::*;
use crate::model::document::tests::sample;

fn source(document: &Document) -> (Oid, Digest, Vec<Step>) {
    let id = Oid::new("a".repeat(40)).expect("digits");
    let digest = Digest::of(&document.to_bytes());
    (id, digest, vec![Step::new("aaaa", 1, document.created_at, "ana")])
}

#[test]
fn texts_are_no_markup_and_no_marker() {
    let mut document = sample();
    document.record.summary = Some(format!("# x | y\n{}\n{}\n<b>", block::BEGIN, block::END));
    document.session.task = Some("a | b\nc".into());
    let (id, digest, mut steps) = source(&document);
    steps[0].title = "x | `y`".into();
    steps[0].context = Some("```\nnot the end\n````".into());
    let mut contents = Contents::new(document.clone());
    contents.steps.clone_from(&steps);
    let source = DocumentSource {
        contents: &contents,
        id: &id,
        digest: &digest,
        session: "auth",
        selector: "auth",
        document: &document,
        steps: &steps,
    };
    for text in [markdown(&source), handoff(&source)] {
        assert!(
            !text.lines().any(|line| line == "# x | y" || line.trim() == block::END),
            "{text}"
        );
        let twice = block::put(Some(&block::put(None, &text).expect("whole")), &text).expect("whole");
        assert_eq!(twice, block::put(None, &text).expect("whole"));
    }
    assert!(markdown(&source).contains("\n`````text\n```\nnot the end\n````\n`````\n"));
    // All cells of a row are in one line.
    let rows: Vec<usize> = markdown(&source)
        .lines()
        .filter(|line| line.starts_with("| 1 |"))
        .map(|line| line.replace("\\|", "").matches('|').count())
        .collect();
    assert_eq!(rows, [10]);
}

#[test]
fn damaged_markers_are_told() {
    let (begin, end) = (block::BEGIN, block::END);
    for (file, error) in [
        (format!("a\n{begin}\nb\n"), block::BlockDamage::NoEnd(2)),
        (format!("{end}\n"), block::BlockDamage::NoBegin(1)),
        (format!("{begin}\n{end}\n{end}"), block::BlockDamage::NoBegin(3)),
        (format!("{begin}\n{begin}\n{end}\n"), block::BlockDamage::Twice(2)),
        (
            format!("{begin}\n{end}\n\n{begin}\n{end}\n"),
            block::BlockDamage::Twice(4),
        ),
    ] {
        assert_eq!(block::put(Some(file.as_bytes()), "x"), Err(error), "{file}");
    }
}

proptest! {
    #[test]
    fn a_block_is_idempotent_and_the_rest_stays(
        before in proptest::collection::vec(any::<u8>(), 0..40),
        after in proptest::collection::vec(any::<u8>(), 0..40),
        texts in proptest::collection::vec(prop_oneof![
            ".{0,20}", "[a\r\n]{0,9}", Just(block::BEGIN.to_owned()), Just(format!("x\n {}\r\n", block::END)),
        ], 2),
        crlf in any::<bool>(),
    ) {
        // As an append makes it, then with bytes of others before and after.
        let first = block::put(Some(&before), &texts[0]).expect("no markers");
        prop_assert!(first.starts_with(&before));
        prop_assert_eq!(&block::put(Some(&first), &texts[0]).expect("one block"), &first);
        let mut file = first.clone();
        if crlf {
            file.extend_from_slice(b"\r\n");
        }
        file.extend_from_slice(&after);
        let second = block::put(Some(&file), &texts[1]).expect("one block");
        prop_assert!(second.starts_with(&before) && second.ends_with(&after));
        prop_assert_eq!(&block::put(Some(&second), &texts[1]).expect("one block"), &second);
        let back = block::put(Some(&second), &texts[0]).expect("one block");
        let again = block::put(Some(&file), &texts[0]).expect("one block");
        prop_assert_eq!(back, again);
    }

    #[test]
    fn any_file_is_read_without_a_panic(file in proptest::collection::vec(prop_oneof![
        Just(block::BEGIN.as_bytes().to_vec()), Just(block::END.as_bytes().to_vec()), Just(b"\n".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..9),
    ], 0..12)) {
        let _ = block::put(Some(&file.concat()), "x");
    }
}
