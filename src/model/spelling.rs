//! Names that are written almost like another word, and the article before a word.

/// A word with its indefinite article: `an am`, `a merge`.
pub fn with_article(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {word}")
}

/// The name that `word` most likely was meant to be: at most a third of its letters are wrong.
pub fn similar<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let word = word.to_lowercase();
    names
        .map(|name| (slips(&word, &name.to_lowercase()), name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| distance * 3 <= name.chars().count().max(3))
        .map(|(_, name)| name)
}

/// How many letters have to be put in, left out, changed or swapped with their neighbour.
pub fn slips(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before_last = vec![0; other.len() + 1];
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for i in 1..=one.len() {
        let mut row = vec![i; other.len() + 1];
        for j in 1..=other.len() {
            let change = last[j - 1] + usize::from(one[i - 1] != other[j - 1]);
            row[j] = change.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        let names = ["reason", "text", "next_steps"];
        for (word, near) in [
            ("reson", Some("reason")),
            ("Raeson", Some("reason")),
            ("next_step", Some("next_steps")),
            ("why", None),
            ("", None),
        ] {
            assert_eq!(similar(word, names.into_iter()), near, "{word}");
        }
    }
}
