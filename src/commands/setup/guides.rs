//! Guides as manual pages, and the part of the program's own page that lists the settings.

use std::io;

use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use super::man::{MARK, Page};
use crate::{
    commands::help::{GUIDES, Guide, manual_name},
    render::guide::{GuideBlock, LinePiece, blocks, pieces, plain},
    store::config::SETTINGS,
};

/// The pages of all guides.
pub(super) fn pages(version: &str) -> Vec<Page> {
    GUIDES.iter().map(|guide| page(guide, version)).collect()
}

/// One page. Writing to memory cannot fail, hence the `expect`.
fn page(guide: &Guide, version: &str) -> Page {
    let (name, section) = (manual_name(guide), guide.section.to_string());
    let title = name.to_uppercase();
    let head =
        format!("{MARK}\n.TH \"{title}\" \"{section}\" \"\" \"git-checkpoint {version}\" \"Git-checkpoint Manual\"\n");
    let mut out = head.into_bytes();
    let mut roff = Roff::new();
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("{name} - {}", guide.about))]);
    let mut all = blocks(guide.source).into_iter().peekable();
    // The title is in the head of the page.
    all.next_if(|block| matches!(block, GuideBlock::Heading(1, _)));
    if !matches!(all.peek(), Some(GuideBlock::Heading(..))) {
        roff.control("SH", ["DESCRIPTION"]);
    }
    write(&mut roff, all);
    roff.control("SH", ["SEE ALSO"])
        .text([bold("git-checkpoint"), roman("(1)")]);
    roff.to_writer(&mut out).expect("writing to memory cannot fail");
    Page {
        file: format!("{name}.{section}"),
        text: String::from_utf8_lossy(&out).into_owned(),
    }
}

/// The settings, as a section of a page.
pub(super) fn configuration(out: &mut dyn io::Write) -> io::Result<()> {
    let mut roff = Roff::new();
    roff.control("SH", ["CONFIGURATION"]);
    roff.text([roman(
        "Ordinary configuration of git, also with includeIf and 'git -c'.",
    )]);
    for setting in SETTINGS {
        roff.control("TP", [])
            .text([bold(format!("checkpoint.{}", setting.name))]);
        let default = match setting.default {
            "" => String::new(),
            default => format!(" Default: {default}"),
        };
        roff.text([roman(format!("{}.{default}", setting.doc))]);
    }
    roff.to_writer(out)
}

fn write(roff: &mut Roff, all: impl Iterator<Item = GuideBlock>) {
    for block in all {
        match block {
            GuideBlock::Heading(..=2, title) => drop(roff.control("SH", [title.to_uppercase().as_str()])),
            GuideBlock::Heading(_, title) => drop(roff.control("SS", [title.as_str()])),
            GuideBlock::Paragraph(text) => drop(roff.control("PP", []).text(inline(&text))),
            GuideBlock::Item(text) => drop(roff.control("IP", ["\\(bu", "2"]).text(inline(&text))),
            GuideBlock::Code(lines) => {
                roff.control("PP", []).control("RS", ["4"]).control("nf", []);
                for line in lines {
                    if line.is_empty() {
                        roff.control("sp", []);
                    } else {
                        roff.text([roman(line)]);
                    }
                }
                roff.control("fi", []).control("RE", []);
            }
            GuideBlock::Row(cells) => {
                let (first, rest) = cells.split_first().map_or(("", &[][..]), |(f, r)| (f.as_str(), r));
                roff.control("TP", []).text([bold(plain(first))]);
                let rest: Vec<&str> = rest
                    .iter()
                    .map(String::as_str)
                    .filter(|cell| !cell.is_empty())
                    .collect();
                roff.text(inline(&rest.join("; ")));
            }
        }
    }
}

fn inline(text: &str) -> Vec<Inline> {
    let word = |piece| match piece {
        LinePiece::Plain(text) => roman(text),
        LinePiece::Code(text) => bold(text),
        LinePiece::Strong(text) => italic(text),
    };
    pieces(text).into_iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_guide_has_its_page() {
        let pages = pages("1.0");
        let files: Vec<_> = pages.iter().map(|page| page.file.as_str()).collect();
        assert!(files.contains(&"git-checkpoint-format.5"), "{files:?}");
        for page in &pages {
            assert!(page.text.starts_with(MARK));
            assert!(page.text.contains(".SH NAME\n"), "{}", page.text);
            // What begins with a dot would be taken for a request.
            let odd = page
                .text
                .lines()
                .find(|line| line.starts_with("..") || line.starts_with(".git"));
            assert_eq!(odd, None, "{}", page.file);
        }
    }
}
