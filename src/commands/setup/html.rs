//! The pages as HTML, for `git help --web checkpoint` and for systems where that is what `--help` does: git opens
//! `git-checkpoint.html` in the directory of its own HTML pages, and nowhere else.
//!
//! A command's page is its long help as it is; guides have their headings, lists and tables. No script, no style from
//! elsewhere, nothing that is loaded.

use std::fmt::Write as _;

use clap::Command;

use super::install::MARK;
use super::man::Page;
use crate::{
    commands::help::{GUIDES, Guide, manual_name},
    render::guide::{GuideBlock, LinePiece, blocks, pieces},
};

const STYLE: &str = "body{max-width:52em;margin:2em auto;padding:0 1em;font-family:sans-serif;line-height:1.5}\
    pre{white-space:pre-wrap;background:#8881;padding:.7em}td{padding:.2em 1em .2em 0;vertical-align:top}";

/// The pages of the program, of its commands that are not hidden, and of the guides.
pub(super) fn pages(command: &Command) -> Vec<Page> {
    let mut command = command.clone();
    command.build();
    let subs: Vec<&Command> = command.get_subcommands().filter(|sub| !sub.is_hide_set()).collect();
    let mut links = String::from("<p>Commands: ");
    for sub in &subs {
        let name = sub.get_name();
        let _ = write!(links, "<a href=\"git-checkpoint-{name}.html\">{name}</a> ");
    }
    links.push_str("</p>\n<p>Guides: ");
    for guide in GUIDES {
        let _ = write!(links, "<a href=\"{}.html\">{}</a> ", manual_name(guide), guide.name);
    }
    links.push_str("</p>\n");
    let mut out = vec![page("git-checkpoint", &(pre(&help_of(&command)) + &links))];
    for sub in subs {
        let mut body = pre(&help_of(sub));
        for below in sub.get_subcommands().filter(|below| !below.is_hide_set()) {
            body.push_str(&pre(&help_of(below)));
        }
        let name = format!("git-checkpoint-{}", sub.get_name());
        out.push(page(&name, &(body + BACK)));
    }
    out.extend(
        GUIDES
            .iter()
            .map(|guide| page(&manual_name(guide), &(prose(guide) + BACK))),
    );
    out
}

const BACK: &str = "<p><a href=\"git-checkpoint.html\">git-checkpoint</a></p>\n";

fn help_of(command: &Command) -> String {
    command.clone().render_long_help().to_string()
}

fn page(name: &str, body: &str) -> Page {
    Page {
        file: format!("{name}.html"),
        text: format!(
            "<!DOCTYPE html>\n<!-- {MARK} -->\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{name}</title>\
             <style>{STYLE}</style></head><body>\n<h1>{name}</h1>\n{body}</body></html>\n"
        ),
    }
}

fn pre(text: &str) -> String {
    format!("<pre>{}</pre>\n", escaped(text.trim_end()))
}

fn prose(guide: &Guide) -> String {
    let mut out = String::new();
    // Which element is open: a list or a table.
    let mut open = "";
    for block in blocks(guide.source) {
        let wanted = match block {
            GuideBlock::Item(_) => "ul",
            GuideBlock::Row(_) => "table",
            _ => "",
        };
        if wanted != open {
            close(&mut out, open);
            if !wanted.is_empty() {
                let _ = writeln!(out, "<{wanted}>");
            }
            open = wanted;
        }
        let _ = match block {
            // The title is the page's.
            GuideBlock::Heading(1, _) => Ok(()),
            GuideBlock::Heading(level, text) => {
                let level = level.min(4);
                writeln!(out, "<h{level}>{}</h{level}>", inline(&text))
            }
            GuideBlock::Paragraph(text) => writeln!(out, "<p>{}</p>", inline(&text)),
            GuideBlock::Item(text) => writeln!(out, "<li>{}</li>", inline(&text)),
            GuideBlock::Code(lines) => writeln!(out, "<pre>{}</pre>", escaped(&lines.join("\n"))),
            GuideBlock::Row(cells) => {
                let cells: Vec<_> = cells.iter().map(|cell| inline(cell)).collect();
                writeln!(out, "<tr><td>{}</td></tr>", cells.join("</td><td>"))
            }
        };
    }
    close(&mut out, open);
    out
}

fn close(out: &mut String, open: &str) {
    if !open.is_empty() {
        let _ = writeln!(out, "</{open}>");
    }
}

fn inline(text: &str) -> String {
    let piece = |piece| match piece {
        LinePiece::Plain(text) => escaped(&text),
        LinePiece::Code(text) => format!("<code>{}</code>", escaped(&text)),
        LinePiece::Strong(text) => format!("<strong>{}</strong>", escaped(&text)),
    };
    pieces(text).into_iter().map(piece).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_and_guide_has_its_page() {
        let command = Command::new("git-checkpoint")
            .about("a <b> & \"c\"")
            .disable_help_subcommand(true)
            .subcommand(Command::new("save"))
            .subcommand(Command::new("internal").hide(true));
        let pages = pages(&command);
        let files: Vec<_> = pages.iter().map(|page| page.file.as_str()).collect();
        assert_eq!(files[..2], ["git-checkpoint.html", "git-checkpoint-save.html"]);
        assert!(files.contains(&"gitcheckpoint-tutorial.html") && files.len() == 2 + GUIDES.len());
        assert!(pages[0].text.contains("a &lt;b&gt; &amp; &quot;c&quot;"));
        for page in &pages {
            assert!(page.text.lines().nth(1).is_some_and(|line| line.contains(MARK)));
            for element in ["ul", "table", "pre", "p", "li", "tr", "h2"] {
                let count = |text: &str| page.text.matches(text).count();
                assert_eq!(
                    count(&format!("<{element}>")),
                    count(&format!("</{element}>")),
                    "{}",
                    page.file
                );
            }
        }
    }
}
